"""Test tools that we know: how each is asked to say what it ran, outside of the checkout.

Exit code 0 does not say that a test ran: a suite that skips everything, a settings file that only
collects, or code under test that calls `os._exit(0)` all end with it. So where a command is seen to
run a tool that we know, the tool is asked for a report, and the count in it has to agree.

The request travels in the environment and not on the command line: so it also reaches a tool that
`uv run`, `make test` or `npm test` starts, and the command stays what the person wrote. A command
or recipe that sets that variable, or asks for a report of its own, would undo the request; it is
left alone, and the exit code has to do. Which tool a recipe runs is read from the checkout, if it
is simple enough to be read: see `recipes.py`.

| tool | how | report |
|---|---|---|
| pytest | PYTEST_ADDOPTS | JUnit |
| unittest | our `sitecustomize`, by PYTHONPATH | JUnit, of one line |
| node --test | NODE_OPTIONS | JUnit, a `testcase` each |
| cargo test | a runner, by CARGO_TARGET_..._RUNNER | what each test program printed |

Both Python tools are also imported by our `sitecustomize`, before the checkout is on the path.
"""

from __future__ import annotations

import platform
import posixpath
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from dwindle.adapters.checks import pytest_run
from dwindle.adapters.checks.recipes import PACKAGE_MANAGERS, recipe_of
from dwindle.adapters.checks.shell_line import simple_commands, without_assignments
from dwindle.adapters.checks.tally import Tally, cargo_tally, case_tally, suite_tally

GATE = Path(__file__).with_name("gate")
"""Where our `sitecustomize` is."""
REPORT = "DWINDLE_TESTS"

_ISOLATED = re.compile(r"-[a-zA-Z]*[IES][a-zA-Z]*")
_SETS_PATH = re.compile(r"(?<!\S)PYTHONPATH=(?=(\S)?)")
_TEST_SCRIPT = (("test",), ("t",), ("tst",), ("run", "test"), ("run-script", "test"))
_RUNNER = """#!/bin/sh
said="$DWINDLE_TESTS/$$"
{ "$@"; echo $? >"$said.code"; } | tee "$said.txt"
exit "$(cat "$said.code")"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownTool:
    """One way to run tests, on one line."""

    name: str
    line: str
    """The command, with what it needs to find us."""
    says_no: int
    """The exit code by which it says that a test failed."""
    tally: Callable[[Path], Tally | None]
    given: Callable[[Mapping[str, str], Path], Mapping[str, str]]
    """What to add to an environment, for reports in a folder."""
    must_report: bool = True
    """False where something else may be behind the command, which knows no reports."""
    missing: bytes = b"\0"
    """What is printed if the tool is not installed."""
    readable: tuple[Path, ...] = ()


def known_tool(line: str, tree: Path | None = None) -> KnownTool | None:
    """The one tool that a `&&` list runs, if its count can be had.

    With a tree, also the one behind a recipe in it.
    """
    if not any(word in line for word in _SIGNS):  # to read one properly takes a while
        return None
    if not simple_commands(line):
        return None
    try:
        found = list(_runs(line, _Place(tree=tree, line=line)))
    except _NotSimple:
        return None
    if len(found) != 1:
        return None
    tool, told = found[0]
    return None if any(own in told for own in _OWN[tool.name]) else tool


_SIGNS = ("test", " t", "make", "just", *PACKAGE_MANAGERS, "sh", "/")
_TESTS = re.compile(r"(?:pytest|py\.test|unittest|--test|cargo)\b")
_DEEPEST = 4


class _NotSimple(Exception):
    """A tool is run in a way that only a shell could work out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where a line stands."""

    tree: Path | None
    line: str
    """The command that it all began with."""
    folder: str = ""
    told: str = ""
    """The text of the recipes that led here."""
    says_no: int | None = None
    must_report: bool = True
    depth: int = 0


def _runs(line: str, at: _Place) -> Iterator[tuple[KnownTool, str]]:
    """Each tool that a line runs, with all that was said on the way to it."""
    commands = () if "{{" in line else simple_commands(line)
    if not commands and _TESTS.search(line):
        raise _NotSimple
    folder = at.folder
    for words in commands:
        if words[0] == "cd" and len(words) == len(("cd", "folder")):
            folder = posixpath.join(folder, words[1])
        tool = _tool(words, at.line)
        try:
            inner = list(_behind(words, replace(at, folder=folder)))
        except _NotSimple:
            if tool is None:
                raise
            inner = []
        tool = None if inner else tool
        if tool is not None and at.depth and tool.name == "unittest" and _SETS_PATH.search(line):
            raise _NotSimple
        if tool is not None:
            must_report = tool.must_report and at.must_report
            tool = replace(tool, says_no=at.says_no or tool.says_no, must_report=must_report)
            inner = [(tool, f"{at.told}\n{line}")]
        yield from inner


def _behind(words: tuple[str, ...], at: _Place) -> Iterator[tuple[KnownTool, str]]:
    if at.tree is None or at.depth == _DEEPEST:
        return
    recipe = recipe_of(words, at.tree, at.folder)
    if recipe is None:
        return
    inside = replace(
        at,
        folder=recipe.folder,
        told=f"{at.told}\n{recipe.text}",
        says_no=at.says_no or recipe.says_no,
        must_report=at.must_report and recipe.is_whole,
        depth=at.depth + 1,
    )
    for line in recipe.lines:
        yield from _runs(line, inside)


_OWN = {
    "pytest": (pytest_run.ADDOPTS, "--junitxml", "--junit-xml"),
    "unittest": (REPORT,),
    "node": ("NODE_OPTIONS", "--test-reporter"),
    "cargo": ("CARGO_TARGET_", REPORT),
}
"""Words by which a command would undo the request."""


def _tool(words: tuple[str, ...], line: str) -> KnownTool | None:
    if pytest_run.runs_module(words, "pytest"):
        return _pytest(words, line)
    if pytest_run.runs_module(words, "unittest"):
        return None if _is_isolated(words) else _unittest(line)
    words = without_assignments(words)
    program, rest = (words[0].rpartition("/")[2], words[1:]) if words else ("", ())
    if program == "node" and "--test" in rest:
        return _node(line, must_report=True)
    if program in PACKAGE_MANAGERS and any(rest[: len(way)] == way for way in _TEST_SCRIPT):
        return _node(line, must_report=False)
    if program == "cargo":
        rest = rest[1:] if rest[:1] and rest[0].startswith("+") else rest
        return _cargo(line) if rest[:1] in (("test",), ("t",)) else None
    return None


def _is_isolated(words: tuple[str, ...]) -> bool:
    """Python was told not to look at its variables; then the current folder is not looked at."""
    return any(_ISOLATED.fullmatch(word) for word in words[: words.index("-m")])


# --- each of them --------------------------------------------------------------------------------


def _with_gate(line: str) -> str:
    """Where a command sets PYTHONPATH itself, we stand in front there too."""
    gate = shlex.quote(str(GATE))
    if gate != str(GATE) and re.search(r"[\"']", line):
        return line  # it may stand in quotes there, and cannot be quoted once more

    def put(found: re.Match[str]) -> str:
        between = ":" if found[1] else ""
        return f"{found[0]}{gate}{between}"

    return _SETS_PATH.sub(put, line)


def _gate(environment: Mapping[str, str]) -> dict[str, str]:
    before = environment.get("PYTHONPATH")
    return {"PYTHONPATH": f"{GATE}:{before}" if before else str(GATE)}


def _pytest(words: tuple[str, ...], line: str) -> KnownTool:
    is_gated = "-m" not in words or not _is_isolated(words)

    def given(environment: Mapping[str, str], reports: Path) -> Mapping[str, str]:
        before = environment.get(pytest_run.ADDOPTS, "")
        asked = {pytest_run.ADDOPTS: pytest_run.addopts(before, reports / "report.xml")}
        return asked | (_gate(environment) if is_gated else {})

    return KnownTool(
        name="pytest",
        line=_with_gate(line) if is_gated else line,
        says_no=pytest_run.SOME_FAILED,
        tally=lambda reports: suite_tally(reports / "report.xml"),
        given=given,
        missing=b"No module named pytest",
        readable=(GATE,),
    )


def _unittest(line: str) -> KnownTool:
    return KnownTool(
        name="unittest",
        line=_with_gate(line),
        says_no=1,
        tally=lambda reports: suite_tally(reports / "report.xml"),
        given=lambda env, reports: {**_gate(env), REPORT: str(reports / "report.xml")},
        readable=(GATE,),
    )


def _node(line: str, *, must_report: bool) -> KnownTool:
    def given(environment: Mapping[str, str], reports: Path) -> Mapping[str, str]:
        asked = (
            *(environment.get("NODE_OPTIONS", ""), "--test-reporter=spec"),
            *("--test-reporter-destination=stdout", "--test-reporter=junit"),
            f'"--test-reporter-destination={reports / "report.xml"}"',
        )
        return {"NODE_OPTIONS": " ".join(word for word in asked if word)}

    return KnownTool(
        name="node",
        line=line,
        says_no=1,
        tally=lambda reports: case_tally(reports / "report.xml"),
        given=given,
        must_report=must_report,
    )


def _cargo(line: str) -> KnownTool:
    def given(_: Mapping[str, str], reports: Path) -> Mapping[str, str]:
        runner = reports.parent / "runner"
        runner.write_text(_RUNNER, encoding="ascii")
        runner.chmod(0o755)
        machine = platform.machine().upper()
        systems = ("UNKNOWN_LINUX_GNU", "UNKNOWN_LINUX_MUSL", "APPLE_DARWIN")
        runners = {f"CARGO_TARGET_{machine}_{system}_RUNNER": str(runner) for system in systems}
        return {**runners, REPORT: str(reports)}

    return KnownTool(
        name="cargo",
        line=line,
        says_no=101,
        tally=cargo_tally,
        given=given,
        must_report=False,  # documentation may be all that is tested, by another program
    )
