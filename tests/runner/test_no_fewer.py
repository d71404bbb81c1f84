"""Fewer tests than at alignment are no pass."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from dwindle.kernel.aligned import Counted
from dwindle.kernel.base_case import Verdict
from dwindle.kernel.model import Check, CheckType
from dwindle.ports.checks import CheckResult
from dwindle.runner.no_fewer import NoFewer, counted, the_most

SUITE = Check(type=CheckType.COMMAND, value="pytest")
BROKEN = Check(type=CheckType.NOT_COMMAND, value="pytest")
OTHER = Check(type=CheckType.COMMAND, value="make")


@dataclass(frozen=True)
class Found:
    """Every check comes to this."""

    tests: int | None
    verdict: Verdict = Verdict.PASSED

    async def run(self, check: Check, tree: Path) -> CheckResult:
        del tree
        return CheckResult(check=check, verdict=self.verdict, evidence="said", tests=self.tests)


def run(found: Found, check: Check = SUITE) -> CheckResult:
    checks = NoFewer(found, (Counted(command="pytest", ran=5),))
    return asyncio.run(checks.run(check, Path("/")))


def test_as_many_or_more_pass_as_they_are() -> None:
    for tests in (5, 6):
        assert run(Found(tests)) == asyncio.run(Found(tests).run(SUITE, Path("/")))


def test_fewer_or_nobody_knows_how_many_is_a_failure() -> None:
    for tests, said in ((4, 4), (0, 0), (None, 0)):
        assert run(Found(tests)) == CheckResult(
            check=SUITE,
            verdict=Verdict.FAILED,
            evidence=f"Failed: {said} tests ran, and 5 when the plan was aligned.\nsaid",
            tests=tests,
        )


def test_what_does_not_pass_or_was_not_counted_is_left_alone() -> None:
    assert run(Found(1, Verdict.COULD_NOT_RUN)).verdict is Verdict.COULD_NOT_RUN
    assert run(Found(None), OTHER).verdict is Verdict.PASSED
    assert run(Found(1), BROKEN).verdict is Verdict.PASSED


def test_what_ran_at_alignment_is_remembered_by_its_command() -> None:
    results = [
        CheckResult(check=SUITE, verdict=Verdict.FAILED, tests=3),
        CheckResult(check=OTHER, verdict=Verdict.PASSED),
        CheckResult(check=BROKEN, verdict=Verdict.PASSED, tests=9),
    ]
    assert counted(results) == (Counted(command="pytest", ran=3),)


def test_a_new_alignment_never_asks_for_less_of_the_same_command() -> None:
    before = (Counted(command="pytest", ran=5), Counted(command="gone", ran=1))
    now = (Counted(command="pytest", ran=2), Counted(command="new", ran=7))
    assert the_most(before, now) == (
        Counted(command="pytest", ran=5),
        Counted(command="new", ran=7),
    )
