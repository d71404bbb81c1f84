"""Which known test tool a command runs, if it is exactly one and its tests can be counted.

A tool is asked for a report by its environment and not on the command line: so the request also
reaches a tool that `uv run`, `make test` or `npm test` starts, and the command stays what the user
wrote. A command or recipe that sets that variable, or asks for a report of its own, would undo the
request; it is left alone, and only its exit code counts. The same goes for whatever is not simple
enough to be read for certain.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from dwindle.toolchains.recipes import Read, recipe_of, script_asked_for
from dwindle.toolchains.reports import REQUESTS
from dwindle.toolchains.shell import simple_commands, without_assignments
from dwindle.toolchains.tools import PACKAGE_MANAGERS, PYTEST, PYTHON, Tool

_HINTS: Final = ("test", " t", "make", "just", *PACKAGE_MANAGERS, "sh", "/")
"""One of them is in every line that runs a known tool; looking for them is quick."""
_TOOL_WORD: Final = re.compile(r"(?:pytest|py\.test|unittest|--test|cargo)\b")
_ISOLATED: Final = re.compile(r"-[a-zA-Z]*[IES][a-zA-Z]*")
_SETS_PYTHONPATH: Final = re.compile(r"(?<!\S)PYTHONPATH=")
_DEEPEST: Final = 4
_PREFIXES: Final = (
    *(("env",), ("exec",), ("nice",), ("time",)),
    *((tool, "run") for tool in ("hatch", "pdm", "pipenv", "pixi", "poetry", "rye", "uv")),
)
_OPTIONS_WITH_VALUE: Final = ("-W", "-X")


@dataclass(frozen=True, slots=True, kw_only=True)
class CountableRun:
    """One run of one known tool."""

    tool: Tool
    failure_code: int
    """The exit code of the command when a test fails."""
    must_report: bool = True
    """False where another tool, which writes no report, may be behind the command."""
    is_isolated: bool = False
    """Python ignores PYTHONPATH, and does not look for modules in the current folder either."""


def countable_run(line: str, read: Read) -> CountableRun | None:
    """`read` returns the recipe files and scripts of the checkout."""
    if not any(hint in line for hint in _HINTS) or not simple_commands(line):
        return None
    try:
        found = list(_runs(line, _Context(read=read)))
    except _NotSimple:
        return None
    if len(found) != 1:
        return None
    run, text = found[0]
    return None if any(word in text for word in REQUESTS[run.tool]) else run


class _NotSimple(Exception):
    """Only a shell could work out how the line runs a tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Context:
    """Where a line stands."""

    read: Read
    folder: str = ""
    text: str = ""
    """The text of the recipes that led to it."""
    failure_code: int | None = None
    must_report: bool = True
    depth: int = 0


def _runs(line: str, at: _Context) -> Iterator[tuple[CountableRun, str]]:
    """Each tool that a line runs, with the text of all recipes on the way to it."""
    commands = () if "{{" in line else simple_commands(line)
    if not commands and _TOOL_WORD.search(line):
        raise _NotSimple
    folder = at.folder
    for command in commands:
        if command[0] == "cd" and len(command) == len(("cd", "folder")):
            folder = posixpath.join(folder, command[1])
        run = _run_of(command)
        try:
            inner = list(_behind(command, replace(at, folder=folder)))
        except _NotSimple:
            if run is None:
                raise
            inner = []
        if inner or run is None:
            yield from inner
            continue
        if at.depth and run.tool is Tool.UNITTEST and _SETS_PYTHONPATH.search(line):
            raise _NotSimple
        must_report = run.must_report and at.must_report
        failure_code = at.failure_code or run.failure_code
        run = replace(run, failure_code=failure_code, must_report=must_report)
        yield run, f"{at.text}\n{line}"


def _behind(command: tuple[str, ...], at: _Context) -> Iterator[tuple[CountableRun, str]]:
    recipe = recipe_of(command, at.read, at.folder) if at.depth < _DEEPEST else None
    if recipe is None:
        return
    inside = replace(
        at,
        folder=recipe.folder,
        text=f"{at.text}\n{recipe.text}",
        failure_code=at.failure_code or recipe.failure_code,
        must_report=at.must_report and not recipe.includes_others,
        depth=at.depth + 1,
    )
    for line in recipe.lines:
        yield from _runs(line, inside)


def _run_of(command: tuple[str, ...]) -> CountableRun | None:
    is_isolated = _is_isolated(command)
    if _runs_module(command, "pytest"):
        return CountableRun(tool=Tool.PYTEST, failure_code=1, is_isolated=is_isolated)
    if _runs_module(command, "unittest"):
        return None if is_isolated else CountableRun(tool=Tool.UNITTEST, failure_code=1)
    command = without_assignments(command)
    program, rest = (command[0].rpartition("/")[2], command[1:]) if command else ("", ())
    if program == "node" and "--test" in rest:
        return CountableRun(tool=Tool.NODE, failure_code=1)
    if program in PACKAGE_MANAGERS and script_asked_for(rest)[:1] == ("test",):
        return CountableRun(tool=Tool.NODE, failure_code=1, must_report=False)
    if program == "cargo":
        rest = rest[1:] if rest[:1] and rest[0].startswith("+") else rest
        if rest[:1] in (("test",), ("t",)):  # maybe only of documentation, which is not counted
            return CountableRun(tool=Tool.CARGO, failure_code=101, must_report=False)
    return None


def _is_isolated(command: tuple[str, ...]) -> bool:
    options = command[: command.index("-m")] if "-m" in command else ()
    return any(_ISOLATED.fullmatch(word) for word in options)


def _runs_module(command: tuple[str, ...], name: str) -> bool:
    """As `pytest`, `python -m NAME`, `coverage run -m NAME`, or any of these behind `uv run`."""
    command = without_assignments(command)
    for prefix in _PREFIXES:
        if command[: len(prefix)] == prefix:
            rest = command[len(prefix) :]
            if prefix == ("env",) and rest[:1] and rest[0].startswith("-"):
                return False  # env -i and its like may drop the request
            while rest and rest[0].startswith("-"):
                rest = rest[1:]
            return _runs_module(rest, name)
    if not command:
        return False
    if PYTEST.fullmatch(command[0]):
        return name == "pytest"
    if command[:2] == ("coverage", "run"):
        return _module(command[2:]) == (name,)
    if not PYTHON.fullmatch(command[0]):
        return False
    module = _module(command[1:])
    return module == (name,) or (
        module == ("coverage",) and _runs_module(command[command.index("coverage") :], name)
    )


def _module(options: tuple[str, ...]) -> tuple[str, ...]:
    """What `-m` names, if only options stand before it."""
    index = 0
    while index < len(options) and options[index].startswith("-"):
        if options[index] == "-m":
            return options[index + 1 : index + 2]
        index += 2 if options[index] in _OPTIONS_WITH_VALUE else 1
    return ()
