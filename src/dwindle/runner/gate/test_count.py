"""Checks that need at least as many tests as ran at alignment.

A test that is deleted, renamed, skipped or not collected does not fail. So a command whose tests
were counted at alignment does not pass with fewer; more are fine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dwindle.kernel.base_case import Verdict
from dwindle.kernel.model import CheckType, Counted, Plan
from dwindle.ports.checks import CheckResult


def least_counts(plan: Plan) -> Mapping[str, int]:
    """How many tests each command has to run."""
    aligned = plan.control.aligned
    if aligned is None:
        return {}
    return {one.command: max(1, one.ran - plan.limits.fewer_tests) for one in aligned.tests}


def with_least(result: CheckResult, least: Mapping[str, int]) -> CheckResult:
    """The same result; failed, if the command passed with fewer tests than it has to run."""
    check, ran = result.check, result.tests or 0
    needed = least.get(check.value or "", 0) if check.type is CheckType.COMMAND else 0
    if result.verdict is not Verdict.PASSED or ran >= needed:
        return result
    what = (
        f"Failed: {ran} tests ran, and {needed} when the plan was aligned."
        " (If fewer are right, a person allows it: `dwindle redirect --set fewer_tests=N`.)"
    )
    return replace(result, verdict=Verdict.FAILED, evidence=f"{what}\n{result.evidence}")


def counts_of(results: Sequence[CheckResult]) -> tuple[Counted, ...]:
    """How many tests ran, for each `command` check whose tests could be counted."""
    found = {
        result.check.value: result.tests
        for result in results
        if result.check.type is CheckType.COMMAND and result.check.value and result.tests
    }
    return tuple(Counted(command=command, ran=ran) for command, ran in found.items())


def highest_counts(*counts: Sequence[Counted]) -> tuple[Counted, ...]:
    """The highest of several counts, for each command of the last one."""
    most: dict[str, int] = {}
    for one in (one for count in counts for one in count):
        most[one.command] = max(one.ran, most.get(one.command, 0))
    return tuple(Counted(command=one.command, ran=most[one.command]) for one in counts[-1])
