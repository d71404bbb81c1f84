"""Pytest's own count of what it ran.

Exit code 0 does not say that a test ran: a suite that skips everything, `--collect-only` in a
settings file, or code under test that calls `os._exit(0)` all end with it. So where a command is
seen to be pytest, a JUnit report is asked for beside the tree, and the count in it has to agree.

The request travels in PYTEST_ADDOPTS and not on the command line: so it also reaches a pytest that
`uv run` or `coverage run` starts, and the command stays what the person wrote. A command that sets
that variable or asks for a report of its own would undo the request; there the count is unknown
and the exit code has to do.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from xml.parsers import expat

from dwindle.adapters.checks.shell_line import simple_commands, without_assignments

ADDOPTS = "PYTEST_ADDOPTS"
SOME_FAILED = 1
REPORT_BYTES = 64 << 20

_PYTEST = re.compile(r"(?:.*/)?(?:pytest(?:-?[0-9.]+)?|py\.test)")
_PYTHON = re.compile(r"(?:.*/)?(?:python[0-9.]*|pypy[0-9.]*)")
_PREFIXES = (
    *(("env",), ("exec",), ("nice",), ("time",)),
    *((tool, "run") for tool in ("hatch", "pdm", "pipenv", "pixi", "poetry", "rye", "uv")),
)
_WITH_VALUE = frozenset(("-W", "-X"))


def is_pytest(line: str) -> bool:
    """A `&&` list in which exactly one command is pytest, and its count can be had."""
    if "test" not in line:  # most lines; to read one properly takes a while
        return False
    commands = simple_commands(line)
    if sum(_runs_pytest(words) for words in commands) != 1:
        return False
    return not any(
        word.startswith((f"{ADDOPTS}=", "--junitxml", "--junit-xml"))
        for words in commands
        for word in words
    )


def _runs_pytest(words: tuple[str, ...]) -> bool:
    words = without_assignments(words)
    for prefix in _PREFIXES:
        if words[: len(prefix)] == prefix:
            rest = words[len(prefix) :]
            if prefix == ("env",) and rest[:1] and rest[0].startswith("-"):
                return False  # env -i and its like may drop the request
            while rest and rest[0].startswith("-"):
                rest = rest[1:]
            return _runs_pytest(rest)
    if not words:
        return False
    if _PYTEST.fullmatch(words[0]):
        return True
    if words[:2] == ("coverage", "run"):
        return _module(words[2:]) == ("pytest",)
    if not _PYTHON.fullmatch(words[0]):
        return False
    module = _module(words[1:])
    return module == ("pytest",) or (
        module == ("coverage",) and _runs_pytest(words[words.index("coverage") :])
    )


def _module(words: tuple[str, ...]) -> tuple[str, ...]:
    """What `-m` names, if only options stand before it."""
    index = 0
    while index < len(words) and words[index].startswith("-"):
        if words[index] == "-m":
            return words[index + 1 : index + 2]
        index += 2 if words[index] in _WITH_VALUE else 1
    return ()


def addopts(before: str, report: Path) -> str:
    return f"{before} {shlex.quote(f'--junitxml={report}')}".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    tests: int
    skipped: int
    failed: int

    @property
    def ran(self) -> int:
        return self.tests - self.skipped


class ReportUnreadable(Exception):
    """There is a report, and it is none."""


def tally(report: Path) -> Tally | None:
    """Sum up the suites; None without a report.

    The program that wrote it is not trusted: no entities are expanded, and it is read once.
    """
    try:
        with report.open("rb") as file:
            content = file.read(REPORT_BYTES + 1)
    except OSError:
        return None
    if len(content) > REPORT_BYTES:
        raise ReportUnreadable(f"is larger than {REPORT_BYTES} bytes")
    totals = dict.fromkeys(("tests", "skipped", "failures", "errors"), 0)

    def start(name: str, attributes: dict[str, str]) -> None:
        if name == "testsuite":
            for key in totals:
                totals[key] += int(attributes.get(key, "0"))

    def refuse(*_: object) -> None:
        raise ValueError("declares an entity")

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(content, True)  # noqa: FBT003
    except (expat.ExpatError, ValueError) as problem:
        raise ReportUnreadable(str(problem)) from problem
    return Tally(
        tests=totals["tests"],
        skipped=totals["skipped"],
        failed=totals["failures"] + totals["errors"],
    )
