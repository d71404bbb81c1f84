"""Fewer tests than at alignment are no pass."""

from __future__ import annotations

from dwindle.kernel.base_case import Verdict
from dwindle.kernel.model import Check, CheckType, Counted
from dwindle.ports.checks import CheckResult
from dwindle.runner.gate.test_count import counts_of, highest_counts, with_least

SUITE = Check(type=CheckType.COMMAND, value="pytest")
BROKEN = Check(type=CheckType.NOT_COMMAND, value="pytest")
OTHER = Check(type=CheckType.COMMAND, value="make")

ALLOW = " (If fewer are right, a person allows it: `dwindle redirect --set fewer_tests=N`.)"


def found(
    tests: int | None, verdict: Verdict = Verdict.PASSED, check: Check = SUITE
) -> CheckResult:
    return CheckResult(check=check, verdict=verdict, evidence="said", tests=tests)


def judged(result: CheckResult) -> CheckResult:
    return with_least(result, {"pytest": 5})


def test_as_many_or_more_pass_as_they_are() -> None:
    for tests in (5, 6):
        assert judged(found(tests)) == found(tests)


def test_fewer_or_an_unknown_number_is_a_failure() -> None:
    for tests, said in ((4, 4), (0, 0), (None, 0)):
        assert judged(found(tests)) == CheckResult(
            check=SUITE,
            verdict=Verdict.FAILED,
            evidence=f"Failed: {said} tests ran, and 5 when the plan was aligned.{ALLOW}\nsaid",
            tests=tests,
        )


def test_what_does_not_pass_or_was_not_counted_is_left_alone() -> None:
    assert judged(found(1, Verdict.COULD_NOT_RUN)).verdict is Verdict.COULD_NOT_RUN
    assert judged(found(None, check=OTHER)).verdict is Verdict.PASSED
    assert judged(found(1, check=BROKEN)).verdict is Verdict.PASSED


def test_what_ran_at_alignment_is_remembered_by_its_command() -> None:
    results = [
        CheckResult(check=SUITE, verdict=Verdict.FAILED, tests=3),
        CheckResult(check=OTHER, verdict=Verdict.PASSED),
        CheckResult(check=BROKEN, verdict=Verdict.PASSED, tests=9),
    ]
    assert counts_of(results) == (Counted(command="pytest", ran=3),)


def test_a_new_alignment_never_asks_for_less_of_the_same_command() -> None:
    before = (Counted(command="pytest", ran=5), Counted(command="gone", ran=1))
    now = (Counted(command="pytest", ran=2), Counted(command="new", ran=7))
    assert highest_counts(before, now) == (
        Counted(command="pytest", ran=5),
        Counted(command="new", ran=7),
    )
