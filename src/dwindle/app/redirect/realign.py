"""Realignment: new pins, and what the base case says before any more work.

For a new objective pins are still taken from the commit of alignment: the run's branch begins
there, and what agents have committed since is to be judged, not to judge. The base case is run at
the tip of the branch.

A user who wants something tried again has often fixed the cause and committed that. So the run
then begins at their HEAD, if that has the commit of alignment and nothing that agents of this run
made; pins are taken there, and the base case is run there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dwindle.adapters.git.commit_message import atom_in
from dwindle.app.open_run.graph import pinned
from dwindle.app.open_run.shared import Site, site_at
from dwindle.app.paths import PLAN_FILE
from dwindle.app.plans.plan_files import PlanPath
from dwindle.app.plans.problem_list import sound
from dwindle.app.refusal import Refused
from dwindle.kernel.base_case import Verdict
from dwindle.kernel.events import Redirected, Retry
from dwindle.kernel.model import Aligned, CorrectionType, Objective, Plan, PlanKind
from dwindle.runner.alignment import Baseline, baseline_of, run_base_case
from dwindle.runner.gate.path_patterns import split
from dwindle.runner.gate.pins import pins_of
from dwindle.runner.gate.test_count import counts_of, highest_counts
from dwindle.runner.gate.verification import Round
from dwindle.runner.redirect import preview
from dwindle.text import amounts
from dwindle.text.terminal import listed, one_line, shortened

SHOWN = 5
"""Of the user's commits, subjects that are listed."""
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

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Realignment:
    aligned: Aligned
    moved: tuple[str, ...]
    """The subjects of the user's commits since the commit of alignment, if the run moves there."""
    baseline: Baseline
    seen: Round

    def lines(self) -> Iterator[str]:
        """For the user, who has to say yes or no."""
        if self.moved:
            count = amounts.count(len(self.moved), "commit")
            yield f"  begins at your HEAD, {self.aligned.commit[:12]}, with {count} of yours since:"
            yield from (f"    {shortened(subject, 70)}" for subject in self.moved[:SHOWN])
        yield f"  pins: {listed(self.aligned.pins, width=70)}"
        yield f"  base case: {SAYS[self.baseline]}"
        for one in self.seen.findings:
            yield f"    {MARKS[one.result.verdict]}: {one_line(one.item)}"


def unpinned(root: Path, paths: Sequence[str]) -> tuple[str, ...]:
    """The protected paths of the plan, with these taken out. Refused if one is not pinned."""
    plan = sound(PlanPath(str(root / PLAN_FILE), PlanKind.GRAPH)).plan
    assert plan is not None  # noqa: S101 - `sound` has seen to it
    protected, aligned = plan.objective.protected_paths, plan.control.aligned
    covers = split(protected)[0].covers
    for path in paths:
        pins = aligned.pins if aligned else ()
        if path not in pins and not covers(path):
            listed_pins = ", ".join(map(one_line, pins)) or "none"
            hint = f"pinned are: {listed_pins}"
            raise Refused(f"{one_line(path)} is not pinned", where="--unpin", hint=hint)
    return tuple(dict.fromkeys((*protected, *(f"!{path}" for path in paths))))


async def realign(
    root: Path, plan: Plan, events: tuple[Redirected, ...], say: Say, *, at_rest: bool
) -> tuple[Redirected, ...]:
    """The redirects, with new pins where the objective changes or the run begins elsewhere.

    A run that goes on stays where it began: its sessions and judges stand there.
    """
    changing = next((e for e in events if e.type is CorrectionType.OBJECTIVE_CHANGE), None)
    again = next((e for e in events if any(isinstance(edit, Retry) for edit in e.edits)), None)
    if changing is None and again is None:
        return events
    site = await site_at(root)
    before = plan.control.aligned or await pinned(site.repository, plan)
    base = await new_base(site, before.commit) if again else NewBase()
    if base.stays:
        say(f"  {base.stays}")
    elif base.subjects and not at_rest:
        say("  the run does not see your new commits: `dwindle stop` first, then retry")
        base = NewBase()
    if changing is None and not base.subjects:
        return events
    say("  running the base case once, in a fresh checkout...")
    after = plan if changing is None else preview(plan, changing)
    found = await _realignment(site, plan, after.objective, before, base)
    for line in found.lines():
        say(line)
    moved = again if base.subjects else None
    return tuple(
        replace(event, aligned=found.aligned) if event in (changing, moved) else event
        for event in events
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class NewBase:
    """Where the run begins from now on."""

    commit: str = ""
    subjects: tuple[str, ...] = ()
    """Of the commits since the one of alignment, the newest first; none: it stays where it is."""
    stays: str = ""
    """Why it stays, if that may come as a surprise."""


async def new_base(site: Site, aligned: str) -> NewBase:
    repository = site.repository
    head = await repository.head()
    if head == await repository.commit(aligned):
        return NewBase()
    if not await repository.is_ancestor(aligned, head):
        stays = "your HEAD lacks the commit that the plan was aligned at: what you committed there"
        return NewBase(stays=f"{stays} is not seen; switch to the branch of {aligned[:12]}")
    words = ("log", "-z", "--format=%s%n%B", f"{aligned}..{head}")
    texts = (await repository.git.tell(*words)).lines
    if any(atom_in(text) is not None for text in texts):
        return NewBase(stays="your HEAD has work of agents, so that the run stays where it began")
    return NewBase(commit=head, subjects=tuple(text.partition("\n")[0] for text in texts))


async def _realignment(
    site: Site, plan: Plan, objective: Objective, before: Aligned, base: NewBase
) -> Realignment:
    start = base.commit or before.commit
    pins = pins_of(objective, await site.repository.tracked(start))
    aligned = replace(before, commit=start, pins=tuple(pins), tests=())
    tip = base.commit or await site.tip(plan.control.run_id) or aligned.commit
    seen = await run_base_case(objective.base_case, tip, site.surroundings(aligned, objective))
    tests = counts_of([finding.result for finding in seen.findings])
    aligned = replace(aligned, tests=highest_counts(before.tests, tests))
    return Realignment(aligned=aligned, moved=base.subjects, baseline=baseline_of(seen), seen=seen)
