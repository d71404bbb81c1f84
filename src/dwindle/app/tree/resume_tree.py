"""Resume a tree: make its plan from the tree file, the branch, the journal and the last log.

The tree file has no room for a run's counters. The branch has the iterations, their charges and all
ids that were ever used, so that a clone goes on where the original stopped. The journal has what
only this machine knows: starts, time, money. The log of the last iteration has the refused edit
that waits for a repair.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dwindle.adapters.formats.config.settings import LimitSettings
from dwindle.adapters.formats.tree.atoms import TREE_LIMITS, TreeStep, plannings_used, to_plan
from dwindle.adapters.formats.tree.edit import ids_in
from dwindle.adapters.formats.tree.wire import TreeDocument
from dwindle.kernel.events import (
    AttemptFailed,
    DeclaredInfeasible,
    Event,
    IterationCommitted,
    RunEnded,
    RunStarted,
    SessionInterrupted,
    SessionNews,
    SessionStarted,
)
from dwindle.kernel.model import (
    AtomId,
    Control,
    Limits,
    Plan,
    RunStatus,
    Spent,
    Status,
    TrailEntry,
    TrailType,
)
from dwindle.kernel.winds import trail_within_bounds
from dwindle.ports.in_place import Done, History
from dwindle.runner.modes.tree.log import refusal_in
from dwindle.runner.modes.tree.prompt import Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumedTree:
    plan: Plan
    seen: dict[str, None]
    refusal: Refusal | None


def resume_tree(  # noqa: PLR0913 - every source about a run
    tree: TreeDocument,
    *,
    goal: str,
    history: History,
    events: Sequence[Event],
    limits: LimitSettings,
    logs: Path,
    run: str,
) -> ResumedTree:
    contents = dict.fromkeys(history.trees.values())
    seen = dict.fromkeys(name for content in contents for name in ids_in(content))
    waiting = refusal_in(logs / f"{history.done[-1].iteration.number:04}") if history.done else None
    plan = to_plan(
        tree,
        limits=limits_of(limits),
        goal=goal,
        execute_root=limits.execute_root,
        planned=plannings_used(steps_of(history), execute_root=limits.execute_root),
        ids_seen=len(seen),
    )
    created = plan.spent.created
    if created > plan.limits.max_atoms:
        # The tree is as it is; what the limit can still do is to keep it from growing.
        plan = replace(plan, limits=replace(plan.limits, max_atoms=created))
    seen.update(dict.fromkeys(plan.atoms))
    return ResumedTree(
        plan=replace(
            plan,
            trail=trail_in(events, history.done, plan),
            spent=spent_in(events, created, plan.limits.max_forgiven),
            control=control_in(events, history.done, run),
            refused_edits=waiting[0] if waiting else 0,
        ),
        seen=seen,
        refusal=waiting[1] if waiting else None,
    )


def limits_of(settings: LimitSettings) -> Limits:
    return replace(
        TREE_LIMITS,
        max_iterations=settings.max_iterations,
        max_atoms=settings.max_nodes,
        max_attempts=settings.max_attempts,
        max_wall_seconds=settings.max_wall_seconds,
        max_tokens=settings.max_tokens,
        max_cost_usd=settings.max_cost_usd,
        session_timeout_seconds=settings.iteration_timeout_seconds,
    )


def steps_of(history: History) -> Iterator[TreeStep]:
    """Iterations whose trees git still has."""
    for one in history.done:
        before, after = history.trees.get(one.parent), history.trees.get(one.commit)
        if before is not None and after is not None:
            yield TreeStep(node=one.iteration.node, before=before, after=after)


def spent_in(events: Iterable[Event], created: int, most_forgiven: int) -> Spent:
    sessions = forgiven = tokens = 0
    seconds = usd = 0.0
    for event in events:
        seconds += max(0.0, event.elapsed)
        sessions += isinstance(event, SessionStarted)
        forgiven += isinstance(event, SessionInterrupted)
        if isinstance(event, SessionNews):
            tokens += max(0, event.usage.tokens)
            usd += max(0.0, event.usage.usd)
    return Spent(
        sessions=sessions,
        created=created,
        forgiven=min(forgiven, most_forgiven),
        seconds=seconds,
        tokens=tokens,
        usd=usd,
    )


def control_in(events: Sequence[Event], done: Sequence[Done], run: str) -> Control:
    """`max_iterations` counts starts, and a clone without a journal knows those that counted."""
    starts = sum(isinstance(event, SessionStarted) for event in events)
    ends = [event for event in events if isinstance(event, (RunStarted, RunEnded))]
    last = ends[-1] if ends else None
    status = RunStatus.PENDING if last is None else RunStatus.STOPPED
    return Control(
        status=status,
        iteration=max(starts, len(done)),
        run_id=run,
        revision=len(events),
        stop_code=last.code if isinstance(last, RunEnded) else None,
        stop_reason=last.reason if isinstance(last, RunEnded) else None,
    )


def trail_in(events: Iterable[Event], done: Iterable[Done], plan: Plan) -> tuple[TrailEntry, ...]:
    """Why nodes failed: as the journal says, or in a clone what the last commit of each says.

    A commit has one word about its iteration, and only a node that was charged for it has failed.
    """
    told = [
        (event.atom, event.reason, event.at)
        for event in events
        if isinstance(event, AttemptFailed | DeclaredInfeasible) and event.atom in plan.atoms
    ]
    known = dict.fromkeys(name for name, _, _ in told)
    last = {AtomId(one.iteration.node): one for one in done}
    for name, atom in plan.atoms.items():
        charged = atom.attempts or (atom.probes >= plan.limits.max_probes)
        if name in last and name not in known and charged and atom.status is not Status.RESOLVED:
            told.append((name, _said_by(last[name]), ""))
    counts: Counter[AtomId] = Counter()
    entries = []
    for name, reason, at in told:
        counts[name] += 1
        number = counts[name] if name in known else max(1, plan.atoms[name].attempts)
        entries.append(
            TrailEntry(
                type=TrailType.FAILURE, atom=name, attempt=number, reason=reason, timestamp=at
            )
        )
    return trail_within_bounds(tuple(entries))


def _said_by(one: Done) -> str:
    it = one.iteration
    return f"iteration {it.number:04} ended with guard={it.guard} ({it.kind}, {one.commit[:12]})"


def is_unfinished(events: Iterable[Event]) -> bool:
    """Whether an iteration was started that was neither committed nor called off."""
    unfinished = False
    for event in events:
        if isinstance(event, SessionStarted):
            unfinished = True
        elif isinstance(event, (IterationCommitted, SessionInterrupted)):
            unfinished = False
    return unfinished
