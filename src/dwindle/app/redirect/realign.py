"""Realignment for a new objective: new pins, and what its base case says before any work.

Pins are still taken from the commit of alignment: the run's branch begins there, and what agents
have committed since is to be judged, not to judge. The base case is run at the tip of the branch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from dwindle.app.open_run.graph import pinned
from dwindle.app.open_run.shared import site_at
from dwindle.kernel.base_case import Verdict
from dwindle.kernel.events import Redirected
from dwindle.kernel.model import Aligned, CorrectionType, Plan
from dwindle.runner.alignment import Baseline, baseline_of, run_base_case
from dwindle.runner.gate.pins import pins_of
from dwindle.runner.gate.test_count import counts_of, highest_counts
from dwindle.runner.gate.verification import Round
from dwindle.runner.redirect import preview
from dwindle.text.terminal import listed, one_line

SAYS = {
    Baseline.RED: "red, as it should be before the work",
    Baseline.ALREADY_GREEN: "GREEN ALREADY: passing it would prove nothing",
    Baseline.COULD_NOT_RUN: "could not run, so that its failing proves nothing",
}
MARKS = {
    Verdict.PASSED: "passed",
    Verdict.FAILED: "failed",
    Verdict.COULD_NOT_RUN: "no run",
    Verdict.NOT_JUDGED: "later",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Realignment:
    aligned: Aligned
    baseline: Baseline
    seen: Round

    def lines(self) -> Iterator[str]:
        """For the user, who has to say yes or no."""
        yield f"  pins: {listed(self.aligned.pins, width=70)}"
        yield f"  base case: {SAYS[self.baseline]}"
        for one in self.seen.findings:
            yield f"    {MARKS[one.result.verdict]}: {one_line(one.item)}"


async def realign(
    root: Path, plan: Plan, events: tuple[Redirected, ...]
) -> tuple[tuple[Redirected, ...], Realignment | None]:
    """The redirects, with new pins if the objective changes, and the realignment."""
    changing = next((e for e in events if e.type is CorrectionType.OBJECTIVE_CHANGE), None)
    if changing is None:
        return events, None
    found = await _realignment(root, plan, preview(plan, changing))
    new = replace(changing, aligned=found.aligned)
    return tuple(new if event is changing else event for event in events), found


async def _realignment(root: Path, plan: Plan, after: Plan) -> Realignment:
    site = await site_at(root)
    before = plan.control.aligned or await pinned(site.repository, plan)
    pins = pins_of(after.objective, await site.repository.tracked(before.commit))
    aligned = Aligned(commit=before.commit, pins=tuple(pins))
    tip = await site.tip(plan.control.run_id) or aligned.commit
    around = site.surroundings(aligned, after.objective)
    seen = await run_base_case(after.objective.base_case, tip, around)
    tests = counts_of([finding.result for finding in seen.findings])
    aligned = replace(aligned, tests=highest_counts(before.tests, tests))
    return Realignment(aligned=aligned, baseline=baseline_of(seen), seen=seen)
