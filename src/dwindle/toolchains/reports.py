"""What a tool says about its run: how it is asked for a report, its count, its exit code.

Exit code 0 does not show that a test ran: a suite that skips everything, a settings file that only
collects, or code under test that calls `os._exit(0)` all end with it. So a known tool is asked for
a report outside of the checkout, and the count in it has to agree with the exit code.

| tool | asked by | report |
|---|---|---|
| pytest | PYTEST_ADDOPTS | JUnit |
| unittest | the gate, a `sitecustomize` of ours, by PYTHONPATH | JUnit, of one line |
| node --test | NODE_OPTIONS | JUnit, a `testcase` each |
| cargo test | a runner, by CARGO_TARGET_..._RUNNER | what each test program printed |

The gate also imports both Python tools before the checkout is on the path. The programs that write
a report are not trusted: no XML entities are expanded.
"""

from __future__ import annotations

import re
import shlex
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final
from xml.parsers import expat

from dwindle.toolchains.tools import Tool

_GATE_VARIABLE: Final = "DWINDLE_TESTS"
REQUESTS: Final[Mapping[Tool, tuple[str, ...]]] = {
    Tool.PYTEST: ("PYTEST_ADDOPTS", "--junitxml", "--junit-xml"),
    Tool.UNITTEST: (_GATE_VARIABLE,),
    Tool.NODE: ("NODE_OPTIONS", "--test-reporter"),
    Tool.CARGO: ("CARGO_TARGET_", _GATE_VARIABLE),
}
"""Words by which a tool is asked for a report; a command that has one would undo our request."""
_REPORT: Final = "report.xml"
REPORT_FILES: Final[Mapping[Tool, str]] = {
    **dict.fromkeys((Tool.PYTEST, Tool.UNITTEST, Tool.NODE), _REPORT),
    Tool.CARGO: "*.txt",
}
"""A pattern for the names of the reports in their folder."""
GATED: Final = (Tool.PYTEST, Tool.UNITTEST)
NOT_INSTALLED: Final = {Tool.PYTEST: b"No module named pytest"}
"""What is printed if the tool is missing."""
CARGO_RUNNER: Final = """#!/bin/sh
said="$DWINDLE_TESTS/$$"
{ "$@"; echo $? >"$said.code"; } | tee "$said.txt"
exit "$(cat "$said.code")"
"""
_CARGO_SYSTEMS: Final = ("UNKNOWN_LINUX_GNU", "UNKNOWN_LINUX_MUSL", "APPLE_DARWIN")
_PYTHONPATH: Final = re.compile(r"(?<!\S)PYTHONPATH=(?=(\S)?)")


# --- the request ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRequest:
    """Absolute paths, and the machine that cargo builds for."""

    reports: str
    """The folder for reports."""
    gate: str = ""
    """The folder of our `sitecustomize`; empty if Python would ignore it."""
    cargo_runner: str
    machine: str

    def variables(self, tool: Tool, environment: Mapping[str, str]) -> dict[str, str]:
        """What to set in an environment."""
        report = f"{self.reports}/{_REPORT}"
        match tool:
            case Tool.PYTEST:
                before = environment.get("PYTEST_ADDOPTS", "")
                options = f"{before} {shlex.quote(f'--junitxml={report}')}".strip()
                return {"PYTEST_ADDOPTS": options, **self._path(environment)}
            case Tool.UNITTEST:
                return {_GATE_VARIABLE: report, **self._path(environment)}
            case Tool.NODE:
                asked = (
                    *(environment.get("NODE_OPTIONS", ""), "--test-reporter=spec"),
                    *("--test-reporter-destination=stdout", "--test-reporter=junit"),
                    f'"--test-reporter-destination={report}"',
                )
                return {"NODE_OPTIONS": " ".join(filter(None, asked))}
            case Tool.CARGO:
                names = (f"CARGO_TARGET_{self.machine}_{name}_RUNNER" for name in _CARGO_SYSTEMS)
                return {**dict.fromkeys(names, self.cargo_runner), _GATE_VARIABLE: self.reports}
            case _:
                return {}

    def _path(self, environment: Mapping[str, str]) -> dict[str, str]:
        path = ":".join(filter(None, (self.gate, environment.get("PYTHONPATH"))))
        return {"PYTHONPATH": path} if self.gate else {}

    def line(self, line: str) -> str:
        """The command with the gate first wherever it sets PYTHONPATH itself."""
        gate = shlex.quote(self.gate) if self.gate else ""
        if not gate or (gate != self.gate and re.search(r"[\"']", line)):
            return line  # in quotes, the gate could not be quoted once more
        return _PYTHONPATH.sub(lambda found: f"{found[0]}{gate}{':' if found[1] else ''}", line)


# --- the count -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    tests: int
    skipped: int
    failed: int

    @property
    def ran(self) -> int:
        return self.tests - self.skipped


class ReportUnreadable(Exception):
    """The tool left a report that cannot be parsed."""


_CARGO: Final = re.compile(
    rb"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored;", re.MULTILINE
)


def counts_in(tool: Tool, reports: Sequence[bytes]) -> Counts | None:
    """None without a report, or if there is nothing to count in it."""
    if tool is Tool.CARGO:
        return _cargo_counts(reports)
    if not reports:
        return None
    return _case_counts(reports[0]) if tool is Tool.NODE else _suite_counts(reports[0])


def _suite_counts(report: bytes) -> Counts:
    """Sum up what the suites of a JUnit report say of themselves."""
    totals = dict.fromkeys(("tests", "skipped", "failures", "errors"), 0)

    def start(name: str, attributes: dict[str, str]) -> None:
        if name == "testsuite":
            for key in totals:
                totals[key] += int(attributes.get(key, "0"))

    _parse(report, start)
    failed = totals["failures"] + totals["errors"]
    return Counts(tests=totals["tests"], skipped=totals["skipped"], failed=failed)


def _case_counts(report: bytes) -> Counts:
    """Count the tests of a JUnit report, where not all of them are in a suite."""
    totals = dict.fromkeys(("testcase", "skipped", "failure", "error"), 0)

    def start(name: str, _: dict[str, str]) -> None:
        if name in totals:
            totals[name] += 1

    _parse(report, start)
    failed = totals["failure"] + totals["error"]
    return Counts(tests=totals["testcase"], skipped=totals["skipped"], failed=failed)


def _cargo_counts(reports: Sequence[bytes]) -> Counts | None:
    """Sum up the last line of each test program."""
    found = [lines[-1] for report in reports if (lines := _CARGO.findall(report))]
    passed, failed, ignored = (sum(int(line[column]) for line in found) for column in range(3))
    if not passed + failed + ignored:
        return None
    return Counts(tests=passed + failed + ignored, skipped=ignored, failed=failed)


def _parse(report: bytes, start: Callable[[str, dict[str, str]], None]) -> None:
    def refuse(*_: object) -> None:
        raise ValueError("declares an entity")

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(report, True)  # noqa: FBT003
    except (expat.ExpatError, ValueError) as problem:
        raise ReportUnreadable(str(problem)) from problem


# --- the exit code -------------------------------------------------------------------------------


class Reply(Enum):
    YES = auto()
    NO = auto()
    NONE = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExitMeaning:
    reply: Reply
    sentence: str


_ONE_MEANS_NO: Final = frozenset(
    ("[", "ack", "ag", "cmp", "diff", "egrep", "fgrep", "git", "grep", "rg", "test", "zgrep")
)
"""Programs that say no with 1 and use anything above it for trouble of their own."""


def answer_of(code: int, program: str = "") -> ExitMeaning:
    """What an exit code says; `program` is the one that decided it, where that is known.

    A command says yes with 0 and no with another code. Some codes are no answer: the shell's 126
    and 127 (it found nothing to run), 128 and a signal's number (the program was killed, and the
    shell or the sandbox passed it on) and, for some programs, everything above 1. Then the check
    has neither passed nor failed, whichever answer it wants.
    """
    if code == 0:
        return ExitMeaning(reply=Reply.YES, sentence="exited with 0")
    if code == 127:
        return no_answer("exited with 127: a command or its interpreter was not found")
    if code == 126:
        return no_answer("exited with 126: a command was found but could not be executed")
    if code > 128 and (name := signal_name(code - 128)).startswith("SIG"):
        return no_answer(f"exited with {code}: something in it was ended by {name}")
    if code > 1 and program in _ONE_MEANS_NO:
        return no_answer(f"exited with {code}, by which {program} reports trouble of its own")
    return ExitMeaning(reply=Reply.NO, sentence=f"exited with {code}")


def no_answer(sentence: str) -> ExitMeaning:
    return ExitMeaning(reply=Reply.NONE, sentence=sentence)


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
