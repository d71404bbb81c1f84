"""A second wind: what was parked is tried again, with other allowances, a limited number of times.

An atom for which nothing is left to try is parked: it is not started, and whatever does not depend
on it goes on. When only parked work is left, or nothing moves any more, a wind begins. It is paid
by a component of the measure that stands left of everything it refills: verification rounds,
backjumps, choices, attempts and probes.

Luck is what a wind gives another chance, so it reopens what failed and not what was called
infeasible. How long to try one arrangement before the next is a known problem without a best answer
in advance; the sequence of Luby, Sinclair and Zuckerman (1, 1, 2, 1, 1, 2, 4, ...) is never worse
than the best one by more than a logarithm, and so it multiplies the attempts.

Four traps, each of them a named test: a reopened choice whose leaves have no attempts; a resolved
group that a reopened choice takes over; reopened alternatives without the fuel to write them; a
wind after which nothing can start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dwindle.kernel import branches
from dwindle.kernel.graph import (
    base_attempts,
    is_resolved,
    is_startable,
    restated,
    selected,
    view,
)
from dwindle.kernel.measure import fuel, luby, rounds_left, winds_left
from dwindle.kernel.model import (
    Atom,
    AtomId,
    GroupId,
    OrGroup,
    Plan,
    PlanKind,
    Status,
    TrailEntry,
    TrailType,
    Verification,
)
from dwindle.kernel.pace import is_stalled
from dwindle.kernel.shape import chain, subtree

KEPT = 3
"""Entries of one kind about one atom or group that the Trail keeps over a wind."""


# --- what is parked ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Parked:
    """An atom, or a group whose choices have all failed, for which nothing is left to try."""

    name: str
    choice: tuple[GroupId, AtomId] | None
    """The innermost choice that it stands in."""
    reason: str
    """Why the last attempt failed; empty if the Trail does not say."""
    holds_up: tuple[AtomId, ...]
    """Open atoms that wait for it, directly or not, in file order."""


def parked(plan: Plan) -> tuple[Parked, ...]:
    """Everything that is parked, in file order; derived, never stored."""
    seen = view(plan)
    found = []
    for atom in branches.stuck(plan):
        step = branches.rung(plan, atom)
        if isinstance(step, branches.LastRung):
            name = seen.shape.parent[atom] if atom in seen.buried else atom
            reason, held = last_reason(plan, name), held_up(plan, name)
            found.append(Parked(name=name, choice=step.choice, reason=reason, holds_up=held))
    return tuple(found)


def held_up(plan: Plan, name: str) -> tuple[AtomId, ...]:
    """Open atoms that wait for it, directly or not, in file order."""
    seen = view(plan)
    if not any(node in seen.shape.waiters for node in chain(seen.shape, name)):
        return ()
    return tuple(
        a
        for a in branches.dependents(plan, (name,))
        if a in seen.live and plan.atoms[a].status is not Status.RESOLVED
    )


def importance(plan: Plan, name: str, holds_up: Sequence[str]) -> tuple[int, int]:
    """To sort by: what holds up most comes first, then what comes first in the file."""
    shape = view(plan).shape
    places = (shape.place[n] for n in subtree(shape, name) if n in shape.place)
    return -len(holds_up), min(places, default=0)


def last_reason(plan: Plan, name: str) -> str:
    """Why it, or something below it, failed last; empty if neither Trail nor plan say so."""
    about = list(subtree(view(plan).shape, name))
    for entry in reversed(plan.trail):
        if entry.type is TrailType.FAILURE and entry.atom in about:
            return entry.reason
    atoms = (plan.atoms.get(AtomId(node)) for node in about)
    return next((a.infeasible for a in atoms if a is not None and a.infeasible is not None), "")


def given_up(plan: Plan, group: GroupId) -> tuple[tuple[AtomId, str], ...]:
    """The choices of a group that have failed, each with the last reason."""
    return tuple((choice, last_reason(plan, choice)) for choice in plan.groups[group].failed)


def startable(plan: Plan) -> tuple[AtomId, ...]:
    """Leaves that a session could be started on now: ready ones, and those a probe may help."""
    seen = view(plan)
    if plan.kind is PlanKind.GRAPH and rounds_left(plan) <= 0:
        return ()  # nothing could be verified any more
    probed = [
        a
        for a in seen.exhausted
        if is_startable(seen.shape, seen.unmet, a)
        and isinstance(branches.rung(plan, a), branches.ProbeRung)
    ]
    if not probed:
        return seen.ready
    return tuple(sorted((*seen.ready, *probed), key=seen.shape.place.__getitem__))


# --- when a wind may begin ---------------------------------------------------------------------


def is_due(plan: Plan) -> bool:
    """Nothing runs, nothing can go on as it is, and a wind would get something started."""
    if plan.sessions or (startable(plan) and not is_stalled(plan)):
        return False
    steps = (branches.rung(plan, atom) for atom in branches.stuck(plan))
    if any(isinstance(s, branches.SwitchRung | branches.BackjumpRung) for s in steps):
        return False  # the ladder comes first
    return would_help(plan)


def would_help(plan: Plan) -> bool:
    """There is a wind left, and after it some leaf could start, if need be up the ladder."""
    return winds_left(plan) > 0 and _gets_going(begun(plan, "", ""))


def _gets_going(plan: Plan) -> bool:
    from dwindle.kernel.settle import settle  # noqa: PLC0415 - it knows events; `status` does not

    while not startable(plan := settle(plan, "")):
        steps = [branches.rung(plan, a) for a in branches.stuck(plan)]
        step = next((s for s in steps if isinstance(s, branches.SwitchRung)), None)
        if step is not None:
            plan = branches.switched(plan, step.group, step.choice, "", "")
            continue
        jump = next((s for s in steps if isinstance(s, branches.BackjumpRung)), None)
        if jump is None:
            return False
        plan = branches.backjumped(plan, jump, "", "")
    return True


def pays_for_switch(plan: Plan) -> bool:
    """A switch may lose the work of others, which costs a backjump: a wind brings some back."""
    out_of_jumps = plan.limits.max_backjumps == plan.spent.backjumps > 0
    stuck = (branches.switch_rung(plan, a) for a in branches.stuck(plan))
    return winds_left(plan) > 0 and out_of_jumps and any(stuck)


# --- what it does ------------------------------------------------------------------------------


def begun(plan: Plan, reason: str, at: str) -> Plan:
    """One wind less, and everything right of it in the measure filled up for another try."""
    number = plan.spent.winds + 1
    before = view(plan)
    fresh: dict[str, None] = {p.name: None for p in parked(plan) if AtomId(p.name) in plan.atoms}
    recorded = {name: _recorded(plan, group) for name, group in plan.groups.items()}
    plan = restated(plan, groups=recorded)
    plan, again = _with_choices_reopened(plan)
    for choice in again:
        fresh.update(dict.fromkeys(subtree(before.shape, choice)))
    atoms = {
        name: _refreshed(plan, atom, number, leaf=name not in before.shape.kids)
        if name in fresh
        else atom
        for name, atom in plan.atoms.items()
    }
    entry = TrailEntry(type=TrailType.WIND, attempt=number, reason=reason, timestamp=at)
    after = restated(
        plan,
        atoms=atoms,
        bindings={n: b for n, b in plan.bindings.items() if n not in fresh},
        spent=replace(plan.spent, winds=number, backjumps=0, verifications=0),
        control=replace(plan.control, stall_count=0),
        verification=Verification(),
        trail=(*trail_within_bounds(plan.trail), entry),
    )
    return after if _gets_going(after) else _by_another_way(after)


def _by_another_way(plan: Plan) -> Plan:
    """A choice that waits for what is parked elsewhere makes way for one that can go on.

    Only if nothing of it is done, so that nothing of it is on the branch; it does not fail.
    """
    live = view(plan).live
    for name, group in plan.groups.items():
        chosen = selected(plan, group)
        if name not in live or chosen is None or _is_begun(plan, chosen):
            continue
        for choice in group.choices:
            if choice not in (chosen, *group.failed):
                taken = replace(group, selected=choice)
                after = restated(plan, groups={**plan.groups, name: taken})
                if _gets_going(after):
                    return after
    return plan


def _is_begun(plan: Plan, node: str) -> bool:
    return any(is_resolved(plan, n) for n in subtree(view(plan).shape, node))


def _recorded(plan: Plan, group: OrGroup) -> OrGroup:
    """The choice in force is written down, so that none that is reopened takes its place."""
    chosen = selected(plan, group)
    return group if chosen is None else replace(group, selected=chosen)


def _with_choices_reopened(plan: Plan) -> tuple[Plan, tuple[AtomId, ...]]:
    """Choices that failed by bad luck are untried again, as far as there is fuel to write them."""
    unlucky = [
        (group.id, choice)
        for group in plan.groups.values()
        for choice in group.failed
        if not is_infeasible(plan, choice)
    ]
    named = {c: None for g in plan.groups.values() for c in g.choices if c not in plan.atoms}
    again: list[AtomId] = []
    for group_id, choice in unlucky:
        group = plan.groups[group_id]
        reopened = replace(group, failed=tuple(f for f in group.failed if f != choice))
        wider = restated(plan, groups={**plan.groups, group_id: reopened})
        if len(named) > fuel(plan) and view(wider).reserve > fuel(plan):
            continue
        plan = wider
        again.append(choice)
    return plan, tuple(again)


def is_infeasible(plan: Plan, node: str) -> bool:
    """Called so itself; or all of its parts are needed, and one of them cannot be done."""
    shape = view(plan).shape
    hopeless: dict[str, bool] = {}
    for name in reversed([*subtree(shape, node)]):  # children before parents
        atom = plan.atoms.get(AtomId(name))
        below = [hopeless[k] for k in shape.kids.get(name, ())]
        parts = all(below) and bool(below) if name in plan.groups else any(below)
        hopeless[name] = parts or (atom is not None and atom.infeasible is not None)
    return hopeless[node]


def _refreshed(plan: Plan, atom: Atom, number: int, *, leaf: bool) -> Atom:
    """Pending, with new attempts and a probe. What was called infeasible is asked about once."""
    atom = replace(atom, status=Status.PENDING)
    asked = atom.infeasible is not None and atom.allowed is not None
    if not leaf or asked:
        return atom
    return replace(
        atom,
        attempts=0,
        allowed=base_attempts(plan, atom, view(plan).shape) * luby(number),
        probes=min(atom.probes, max(0, plan.limits.max_probes - 1)),
    )


def trail_within_bounds(trail: tuple[TrailEntry, ...]) -> tuple[TrailEntry, ...]:
    """The Trail with the last entries of each kind about each atom or group; the journal has all.

    A failure says how many there were, and the order of what is left is kept, so that counting
    failures and finding the group that was decided last give the same answers as before.
    """
    seen: dict[tuple[str, str], int] = {}
    kept = []
    for entry in reversed(trail):
        about = (entry.type, entry.or_group or entry.atom or "")
        seen[about] = seen.get(about, 0) + 1
        if seen[about] <= KEPT:
            kept.append(entry)
    return tuple(reversed(kept))
