"""Checks that are held to the number of tests that ran when the person agreed.

A test that is deleted, renamed away, skipped or never collected fails nobody. So a command whose
tests were counted at alignment does not pass with fewer of them; more are always welcome.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dwindle.kernel.aligned import Counted
from dwindle.kernel.base_case import Verdict
from dwindle.kernel.model import Check, CheckType, Plan
from dwindle.ports.checks import CheckResult, CheckRunner


class NoFewer:
    """A `CheckRunner` around another."""

    def __init__(self, checks: CheckRunner, counted: Sequence[Counted]) -> None:
        self._checks = checks
        self._least = {one.command: one.ran for one in counted}

    async def run(self, check: Check, tree: Path) -> CheckResult:
        result = await self._checks.run(check, tree)
        least = self._least.get(check.value or "", 0) if check.type is CheckType.COMMAND else 0
        ran = result.tests or 0
        if result.verdict is not Verdict.PASSED or ran >= least:
            return result
        what = f"Failed: {ran} tests ran, and {least} when the plan was aligned."
        return replace(result, verdict=Verdict.FAILED, evidence=f"{what}\n{result.evidence}")


def no_fewer(checks: CheckRunner, plan: Plan) -> CheckRunner:
    aligned = plan.control.aligned
    return NoFewer(checks, aligned.tests) if aligned is not None and aligned.tests else checks


def counted(results: Sequence[CheckResult]) -> tuple[Counted, ...]:
    """What ran, of commands whose tests could be counted and that want a yes."""
    found = {
        result.check.value: result.tests
        for result in results
        if result.check.type is CheckType.COMMAND and result.check.value and result.tests
    }
    return tuple(Counted(command=command, ran=ran) for command, ran in found.items())


def the_most(*counts: Sequence[Counted]) -> tuple[Counted, ...]:
    """Of several counts, the highest for each command of the last one."""
    most: dict[str, int] = {}
    for one in (one for count in counts for one in count):
        most[one.command] = max(one.ran, most.get(one.command, 0))
    return tuple(Counted(command=one.command, ran=most[one.command]) for one in counts[-1])
