"""The rule of conftest.py on small suites: with DWINDLE_REQUIRE_ALL=1 nothing skips unseen."""

from __future__ import annotations

from pathlib import Path

import pytest

CONFTEST = Path(__file__).with_name("conftest.py").read_text(encoding="utf-8")

SUITE = """
import pytest

def test_runs():
    pass

def test_needs_a_tool(require_tool):
    require_tool("no-such-program")

@pytest.mark.skipif(True, reason="never here")
def test_marked():
    pass

@pytest.mark.xfail(reason="known")
def test_expected_to_fail():
    assert False
"""

NEEDS_A_MODULE = """
import pytest
pytest.importorskip("no_such_module", reason="no_such_module is not installed")

def test_uses_it():
    pass
"""


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeconftest(CONFTEST)
    allow(pytester)
    pytester.makepyfile(test_suite=SUITE)
    return pytester


def allow(pytester: pytest.Pytester, *lines: str) -> None:
    (pytester.path / "allowed_skips.txt").write_text("\n".join(["# none yet", *lines]))


def outcomes(pytester: pytest.Pytester, *options: str) -> dict[str, int]:
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", *options).parseoutcomes()


def test_a_missing_tool_skips_where_it_is_not_required(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DWINDLE_REQUIRE_ALL", raising=False)
    assert outcomes(suite) == {"passed": 1, "skipped": 2, "xfailed": 1}


def test_every_skip_is_a_failure_where_all_is_required(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DWINDLE_REQUIRE_ALL", "1")
    result = suite.runpytest_subprocess("-p", "no:cacheprovider")
    assert result.parseoutcomes() == {"passed": 1, "failed": 1, "errors": 1, "xfailed": 1}
    result.stdout.fnmatch_lines(
        [
            "skipped although DWINDLE_REQUIRE_ALL=1: never here",
            "skipped although DWINDLE_REQUIRE_ALL=1: no-such-program is not installed",
        ],
        consecutive=False,
    )
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_workers_in_other_processes_keep_the_rule(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DWINDLE_REQUIRE_ALL", "1")
    assert outcomes(suite, "-n", "1") == {"passed": 1, "failed": 1, "errors": 1, "xfailed": 1}


def test_a_module_that_skips_itself_is_a_failure_too(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DWINDLE_REQUIRE_ALL", "1")
    suite.makepyfile(test_suite="def test_runs(): pass", test_module=NEEDS_A_MODULE)
    result = suite.runpytest_subprocess("-p", "no:cacheprovider")
    assert result.parseoutcomes() == {"errors": 1}
    result.stdout.fnmatch_lines(["*DWINDLE_REQUIRE_ALL=1: no_such_module is not installed"])


def test_a_listed_skip_stays_a_skip_by_reason_or_by_test_id(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DWINDLE_REQUIRE_ALL", "1")
    allow(suite, "no-such-* -- cannot be had", "test_suite.py::test_marked -- only for elsewhere")
    assert outcomes(suite) == {"passed": 1, "skipped": 2, "xfailed": 1}


def test_a_pattern_covers_whole_texts_only(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DWINDLE_REQUIRE_ALL", "1")
    allow(suite, "never -- half of a reason", "no.such.program* -- dots are dots")
    assert outcomes(suite) == {"passed": 1, "failed": 1, "errors": 1, "xfailed": 1}


def test_an_entry_without_a_why_is_refused_before_any_test(suite: pytest.Pytester) -> None:
    allow(suite, "never here")
    result = suite.runpytest_subprocess("-p", "no:cacheprovider")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: allowed_skips.txt:2: expected*, got 'never here'"])
