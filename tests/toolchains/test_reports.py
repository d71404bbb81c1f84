"""How a tool is asked for a report, and what is read from it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dwindle.toolchains.reports import Counts, ReportRequest, ReportUnreadable, counts_in
from dwindle.toolchains.tools import Tool

REQUEST = ReportRequest(reports="/r", gate="/gate", cargo_runner="/runner", machine="X86_64")


def test_each_tool_is_asked_by_its_environment() -> None:
    before = {"PYTHONPATH": "src", "PYTEST_ADDOPTS": "-x", "NODE_OPTIONS": "--no-warnings"}
    runners = ("UNKNOWN_LINUX_GNU", "UNKNOWN_LINUX_MUSL", "APPLE_DARWIN")
    asked = {tool: REQUEST.variables(tool, before) for tool in Tool}
    assert {tool: variables for tool, variables in asked.items() if variables} == {
        Tool.PYTEST: {"PYTEST_ADDOPTS": "-x --junitxml=/r/report.xml", "PYTHONPATH": "/gate:src"},
        Tool.UNITTEST: {"DWINDLE_TESTS": "/r/report.xml", "PYTHONPATH": "/gate:src"},
        Tool.NODE: {
            "NODE_OPTIONS": "--no-warnings --test-reporter=spec --test-reporter-destination=stdout"
            ' --test-reporter=junit "--test-reporter-destination=/r/report.xml"'
        },
        Tool.CARGO: {
            "DWINDLE_TESTS": "/r",
            **{f"CARGO_TARGET_X86_64_{system}_RUNNER": "/runner" for system in runners},
        },
    }


def test_the_request_for_a_report_survives_spaces() -> None:
    request = replace(REQUEST, reports="/a b", gate="")
    assert request.variables(Tool.PYTEST, {}) == {"PYTEST_ADDOPTS": "'--junitxml=/a b/report.xml'"}


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("PYTHONPATH=src pytest", "PYTHONPATH=/gate:src pytest"),
        ('PYTHONPATH="a b" pytest', 'PYTHONPATH=/gate:"a b" pytest'),
        ("PYTHONPATH= pytest", "PYTHONPATH=/gate pytest"),
        ("pytest -k MYPYTHONPATH=1", "pytest -k MYPYTHONPATH=1"),
    ],
)
def test_a_command_that_sets_pythonpath_has_the_gate_first(line: str, asked: str) -> None:
    assert REQUEST.line(line) == asked
    assert replace(REQUEST, gate="").line(line) == line


def test_a_gate_that_needs_quotes_is_not_put_into_quotes() -> None:
    request = replace(REQUEST, gate="/a gate")
    assert request.line("PYTHONPATH=src pytest") == "PYTHONPATH='/a gate':src pytest"
    assert request.line("sh -c 'PYTHONPATH=src pytest'") == "sh -c 'PYTHONPATH=src pytest'"


# --- counts --------------------------------------------------------------------------------------


def test_suites_are_summed_up() -> None:
    report = (
        b'<testsuites><testsuite tests="5" skipped="1" failures="1" errors="1"/>'
        b'<testsuite tests="2"/></testsuites>'
    )
    assert counts_in(Tool.PYTEST, [report]) == Counts(tests=7, skipped=1, failed=2)
    assert counts_in(Tool.PYTEST, []) is None


@pytest.mark.parametrize(
    "report",
    [
        b"",
        b"<testsuites>",
        b'<testsuite tests="many"/>',
        b'<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><testsuite tests="1" name="&b;"/>',
    ],
)
def test_a_report_that_cannot_be_parsed_is_refused(report: bytes) -> None:
    with pytest.raises(ReportUnreadable):
        counts_in(Tool.UNITTEST, [report])


def test_cases_of_node_are_counted_outside_of_suites_too() -> None:
    report = (
        b"<testsuites><testcase/><testsuite tests='1'><testcase><failure/></testcase></testsuite>"
        b"<testcase><skipped/></testcase></testsuites>"
    )
    assert counts_in(Tool.NODE, [report]) == Counts(tests=3, skipped=1, failed=1)


def test_programs_that_cargo_ran_are_summed_up() -> None:
    said = b"test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n"
    reports = [said, said.replace(b"0 failed", b"1 failed"), b""]
    assert counts_in(Tool.CARGO, reports) == Counts(tests=7, skipped=2, failed=1)
    assert counts_in(Tool.CARGO, [b""]) is None
