"""A new objective: which files judge it, and what its base case says before any work on it.

The commit of alignment stays the one that pins are taken from: the run's branch begins there, and
what agents have made since is what has to be judged, not what judges. The base case is looked at
where the run stands now, at the tip of its branch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from dwindle import wiring
from dwindle.adapters.workspaces.checkouts import Checkouts
from dwindle.adapters.workspaces.message import branch_of
from dwindle.adapters.workspaces.repository import find
from dwindle.kernel.aligned import Aligned
from dwindle.kernel.base_case import Verdict
from dwindle.kernel.events import Redirected
from dwindle.kernel.model import CorrectionType, Plan
from dwindle.runner.alignment import Baseline, baseline_of, look_at
from dwindle.runner.no_fewer import counted, the_most
from dwindle.runner.redirecting import preview
from dwindle.runner.steering import steering_of
from dwindle.runner.verification import Round
from dwindle.surfaces.cli.problem_list import Unsound
from dwindle.surfaces.cli.text import listed, one_line
from dwindle.surfaces.running import pinned

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
        """For a person who has to say yes or no."""
        yield f"  pins: {listed(self.aligned.pins, width=70)}"
        yield f"  base case: {SAYS[self.baseline]}"
        for one in self.seen.findings:
            yield f"    {MARKS[one.result.verdict]}: {one_line(one.item)}"


async def realigned(
    root: Path, plan: Plan, events: tuple[Redirected, ...]
) -> tuple[tuple[Redirected, ...], Realignment | None]:
    """The same redirects, with new pins where the objective changes, and what was found out."""
    changing = next((e for e in events if e.type is CorrectionType.OBJECTIVE_CHANGE), None)
    if changing is None:
        return events, None
    found = await _looked(root, plan, preview(plan, changing))
    new = replace(changing, aligned=found.aligned)
    return tuple(new if event is changing else event for event in events), found


async def _looked(root: Path, plan: Plan, after: Plan) -> Realignment:
    repository = await find(root)
    read = wiring.settings_for(root)
    if read.settings is None:
        raise Unsound(wiring.SETTINGS_FILE, read.problems)
    around = wiring.surroundings(repository, read.settings)
    before = plan.control.aligned or await pinned(repository, plan)
    pins = around.pins_of(after.objective, await around.ground.tracked(before.commit))
    aligned = Aligned(commit=before.commit, pins=tuple(pins))
    assert isinstance(around.checkouts, Checkouts)  # noqa: S101 - wiring makes no others
    trees = replace(
        around.checkouts,
        aligned=aligned.commit,
        pins=aligned.pins,
        steering=lambda: steering_of(after.objective),
    )
    said = await repository.git.ask(
        "rev-parse", "--verify", "--quiet", f"{branch_of(plan.control.run_id or '')}^{{commit}}"
    )
    tip = aligned.commit if said.code else said.text
    seen = await look_at(after.objective.base_case, tip, replace(around, checkouts=trees))
    tests = counted([finding.result for finding in seen.findings])
    aligned = replace(aligned, tests=the_most(before.tests, tests))
    return Realignment(aligned=aligned, baseline=baseline_of(seen), seen=seen)
