"""Reading how many tests ran from what a tool has left.

The programs that wrote it are not trusted: no entities are expanded, and it is read once.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from xml.parsers import expat

REPORT_BYTES = 64 << 20
_CARGO = re.compile(
    rb"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored;", re.MULTILINE
)

OUTCOMES = ("skipped", "failure", "error")


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


def suite_tally(report: Path) -> Tally | None:
    """Sum up what the suites of a JUnit report say of themselves; None without a report."""
    totals = dict.fromkeys(("tests", "skipped", "failures", "errors"), 0)

    def start(name: str, attributes: dict[str, str]) -> None:
        if name == "testsuite":
            for key in totals:
                totals[key] += int(attributes.get(key, "0"))

    if not _parse(report, start):
        return None
    return Tally(
        tests=totals["tests"],
        skipped=totals["skipped"],
        failed=totals["failures"] + totals["errors"],
    )


def case_tally(report: Path) -> Tally | None:
    """Count the tests of a JUnit report, where not all of them are in a suite."""
    totals = dict.fromkeys(("testcase", *OUTCOMES), 0)

    def start(name: str, _: dict[str, str]) -> None:
        if name in totals:
            totals[name] += 1

    if not _parse(report, start):
        return None
    return Tally(
        tests=totals["testcase"],
        skipped=totals["skipped"],
        failed=totals["failure"] + totals["error"],
    )


def cargo_tally(reports: Path) -> Tally | None:
    """Sum up the last lines of all test programs; None if there was nothing in them to count."""
    passed = failed = ignored = 0
    for path in sorted(reports.glob("*.txt")):
        if found := _CARGO.findall(_content(path) or b""):
            numbers = [int(number) for number in found[-1]]
            passed, failed, ignored = (
                passed + numbers[0],
                failed + numbers[1],
                ignored + numbers[2],
            )
    if not passed + failed + ignored:
        return None
    return Tally(tests=passed + failed + ignored, skipped=ignored, failed=failed)


def _content(path: Path) -> bytes | None:
    try:
        with path.open("rb") as file:
            content = file.read(REPORT_BYTES + 1)
    except OSError:
        return None
    if len(content) > REPORT_BYTES:
        raise ReportUnreadable(f"is larger than {REPORT_BYTES} bytes")
    return content


def _parse(report: Path, start: Callable[[str, dict[str, str]], None]) -> bool:
    content = _content(report)
    if content is None:
        return False

    def refuse(*_: object) -> None:
        raise ValueError("declares an entity")

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(content, True)  # noqa: FBT003
    except (expat.ExpatError, ValueError) as problem:
        raise ReportUnreadable(str(problem)) from problem
    return True
