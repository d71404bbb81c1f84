"""Turning back: failed choices, the ladder for an exhausted atom, and the backjump.

When an atom has used up its attempts, the ladder looks for the cheapest thing that can still be
tried. First another choice of the *innermost* group around it; undoing a choice further out would
throw away more work. Then a probe that may split the atom up or find other ways. Only then does
it turn back to a choice made elsewhere that the atom depends on, and takes the one made last,
because what was decided early has the most built upon it. When nothing is left the atom is parked
(`winds.py`) and the rest goes on; the run never claims to have tried every combination, because it
has not.

`failed` only grows (winds and a person's redirect aside, which are counted): that, and the count of
backjumps, is why this ends.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from dwindle.kernel.graph import (
    evolve,
    probes_left,
    restated,
    selected,
    tries_left,
    unfailed,
    view,
)
from dwindle.kernel.measure import measure, spare_fuel, winds_left
from dwindle.kernel.model import (
    Atom,
    AtomId,
    GroupId,
    Plan,
    Status,
    TrailEntry,
    TrailType,
)
from dwindle.kernel.shape import chain, subtree


@dataclass(frozen=True, slots=True)
class SwitchRung:
    atom: AtomId
    group: GroupId
    choice: AtomId


@dataclass(frozen=True, slots=True)
class ProbeRung:
    atom: AtomId


@dataclass(frozen=True, slots=True)
class BackjumpRung:
    atom: AtomId
    group: GroupId
    choice: AtomId
    """The one in force, which will have failed."""


@dataclass(frozen=True, slots=True)
class LastRung:
    """Nothing is left to try for this atom: it is parked."""

    atom: AtomId
    choice: tuple[GroupId, AtomId] | None
    """The innermost choice that it stands in."""


Rung = SwitchRung | ProbeRung | BackjumpRung | LastRung


def rung(plan: Plan, atom: AtomId) -> Rung:
    """What to try next for an exhausted atom; rung 1, the retry, is for those with attempts."""
    return (
        switch_rung(plan, atom)
        or probe_rung(plan, atom)
        or backjump_rung(plan, atom)
        or LastRung(atom, innermost_choice(plan, atom))
    )


def stuck(plan: Plan) -> tuple[AtomId, ...]:
    """Who needs the ladder: exhausted atoms, and the first choice of each group that has none left.

    The latter happens when a file or a person left it so; its failure climbs like any other.
    """
    seen = view(plan)
    firsts = (plan.groups[g].choices for g in seen.dead_groups)
    return (*seen.exhausted, *(next(c for c in choices if c in plan.atoms) for choices in firsts))


def switch_rung(plan: Plan, atom: AtomId) -> SwitchRung | None:
    for group, choice in enclosing_choices(plan, atom):
        if len(unfailed(plan.groups[group])) > 1:
            return SwitchRung(atom, group, choice)
    return None


def probe_rung(plan: Plan, atom: AtomId) -> ProbeRung | None:
    if atom in view(plan).buried:
        return None
    if probes_left(plan, plan.atoms[atom]) and spare_fuel(plan) > 0:
        return ProbeRung(atom)
    return None


def backjump_rung(plan: Plan, atom: AtomId) -> BackjumpRung | None:
    """The group decided last among those the atom was built upon; in a tie the last in the file.

    Turning back throws away what is done. So an atom that only failed has a second wind first, if
    there is one; one that was called infeasible has not.
    """
    if measure(plan).backjumps <= 0 or _may_have_bad_luck(plan, plan.atoms[atom]):
        return None
    best: BackjumpRung | None = None
    for group in closure(plan, atom):
        choice = selected(plan, plan.groups[group])
        if choice is None or len(unfailed(plan.groups[group])) == 1:
            continue
        if best is None or last_decided(plan, group) >= last_decided(plan, best.group):
            best = BackjumpRung(atom, group, choice)
    return best


def _may_have_bad_luck(plan: Plan, atom: Atom) -> bool:
    """It has failed and may be tried again after a wind, and has not been yet."""
    if atom.infeasible is not None or atom.allowed is not None or atom.id in view(plan).buried:
        return False
    return winds_left(plan) > 0


def enclosing_choices(plan: Plan, atom: AtomId) -> list[tuple[GroupId, AtomId]]:
    """The choices that the atom is or stands under, innermost first."""
    shape = view(plan).shape
    return [
        (GroupId(shape.group_of[node]), AtomId(node))
        for node in chain(shape, atom)
        if node in shape.group_of
    ]


def innermost_choice(plan: Plan, atom: AtomId) -> tuple[GroupId, AtomId] | None:
    around = enclosing_choices(plan, atom)
    return around[0] if around else None


def last_decided(plan: Plan, group: GroupId) -> int:
    """Where on the Trail the group was decided last; -1 if never."""
    shape = view(plan).shape
    for index in range(len(plan.trail) - 1, -1, -1):
        entry = plan.trail[index]
        forced = entry.atom if entry.type is TrailType.USER_CORRECTION else None
        if group in (entry.or_group, shape.group_of.get(forced or "")):
            return index
    return -1


def dependents(plan: Plan, nodes: Iterable[str]) -> tuple[AtomId, ...]:
    """Every atom whose start waits, also by inheritance, for the end of one of the nodes.

    A node that waits for an ancestor waits for the node too; and a node that waits for a dependent,
    or for what a dependent is part of, is a dependent itself.
    """
    shape = view(plan).shape
    found: dict[str, None] = {}
    tainted: dict[str, None] = {}
    waiting = [above for node in nodes for above in chain(shape, node)]
    while waiting:
        node = waiting.pop()
        if node in tainted:
            continue
        tainted[node] = None
        for waiter in shape.waiters.get(node, ()):
            for below in subtree(shape, waiter):
                if below not in found:
                    found[below] = None
                    waiting.extend(chain(shape, below))
    return tuple(a for a in plan.atoms if a in found)


def closure(plan: Plan, atom: AtomId) -> tuple[GroupId, ...]:
    """The live groups that the atom is a dependent of, in file order."""
    live, known = view(plan).live, view(plan).shape.behind
    for group in plan.groups:
        if group not in known:
            known[group] = frozenset(dependents(plan, (group,)))
    return tuple(g for g in plan.groups if g in live and atom in known[g])


# --- doing it ----------------------------------------------------------------------------------


def reopened(plan: Plan, atoms: Iterable[AtomId], *, attempts: bool = True) -> Plan:
    """These atoms, and what stands above them, are to be done again: pending and unbound.

    With `attempts`, every leaf among them gets its attempts back; probes are never given back.
    Sessions on them are over (the caller has killed them).
    """
    shape = view(plan).shape
    todo = dict.fromkeys(a for a in atoms if a in plan.atoms)
    if attempts:
        todo = _with_rivals(plan, todo)
    above = {n: None for a in todo for n in chain(shape, a) if n not in todo}
    changed = dict(plan.atoms)
    bindings = dict(plan.bindings)
    for name, atom in plan.atoms.items():
        if name in todo:
            fresh = replace(atom, status=Status.PENDING)
            if attempts and name not in shape.kids:  # what it builds on changes, so it may work now
                fresh = replace(fresh, attempts=0, infeasible=None)
            changed[name] = fresh
            bindings.pop(name, None)
        elif name in above and atom.status is Status.RESOLVED:
            changed[name] = replace(atom, status=Status.PENDING)
            bindings.pop(name, None)
    sessions = {a: s for a, s in plan.sessions.items() if a not in todo}
    return restated(plan, atoms=changed, bindings=bindings, sessions=sessions)


def _with_rivals(plan: Plan, todo: dict[AtomId, None]) -> dict[AtomId, None]:
    """A reopened winner opens the race again, and every rival gets attempts for it."""
    shape = view(plan).shape
    todo = dict(todo)
    waiting = list(todo)
    while waiting:
        for node in chain(shape, waiting.pop()):
            group = plan.groups.get(GroupId(shape.group_of.get(node, "")))
            if group is None or not group.speculative or selected(plan, group) != node:
                continue
            for rival in unfailed(group):
                new = [a for a in _atoms_under(plan, rival) if rival != node and a not in todo]
                todo.update(dict.fromkeys(new))
                waiting.extend(new)
    return todo


def with_failed_choice(plan: Plan, group: GroupId, choice: AtomId) -> Plan:
    """The choice goes to `failed`; its whole subtree loses its bindings and sessions."""
    before = plan.groups[group]
    plan = reopened(plan, _atoms_under(plan, choice), attempts=False)
    after = replace(before, failed=(*before.failed, choice))
    if not after.speculative:
        following = selected(plan, after)
        after = replace(after, selected=following or before.selected)
    return restated(plan, groups={**plan.groups, group: after})


def switched(plan: Plan, group: GroupId, choice: AtomId, reason: str, at: str) -> Plan:
    """Rung 2."""
    plan = with_failed_choice(plan, group, choice)
    return with_trail(plan, backtrack_entry(plan, group, reason, at))


def backjumped(plan: Plan, step: BackjumpRung, reason: str, at: str) -> Plan:
    """Rung 4: pay a backjump, fail the old choice, reopen what was built upon it."""
    built_upon = dependents(plan, (step.group,))
    plan = with_failed_choice(plan, step.group, step.choice)
    others = (a for c in unfailed(plan.groups[step.group]) for a in _atoms_under(plan, c))
    plan = reopened(plan, (*built_upon, *others))
    plan = evolve(plan, spent=replace(plan.spent, backjumps=plan.spent.backjumps + 1))
    return with_trail(plan, backtrack_entry(plan, step.group, reason, at))


def with_next_turn(plan: Plan, atom: AtomId, at: str) -> Plan:
    """A choice that failed and may be tried again makes way for one that had fewer turns.

    Nothing of it is on the branch, and it has not failed for good: they take turns until the
    attempts of each are used up, because which of them cannot work is not known.
    """
    shape = view(plan).shape
    group = plan.groups.get(GroupId(shape.group_of.get(atom, "")))
    if group is None or group.speculative or atom not in view(plan).live:
        return plan
    mine = plan.atoms[atom].attempts
    turns = {c: _turns(plan, c) for c in unfailed(group) if c != atom}
    fewer = [c for c, number in turns.items() if number is not None and number < mine]
    if not fewer or not tries_left(plan, plan.atoms[atom], shape):
        return plan
    taken = min(fewer, key=lambda c: turns[c] or 0)
    plan = restated(plan, groups={**plan.groups, group.id: replace(group, selected=taken)})
    return with_trail(plan, backtrack_entry(plan, group.id, f"{atom} failed; {taken}'s turn", at))


def _turns(plan: Plan, choice: AtomId) -> int | None:
    """How often a choice was tried; None if it cannot take a turn."""
    shape, atom = view(plan).shape, plan.atoms.get(choice)
    if atom is None:
        return 0
    if choice in shape.kids:  # as a whole, and only if nothing in it was tried yet
        parts = (plan.atoms.get(AtomId(n)) for n in subtree(shape, choice))
        return None if any(p is not None and p.attempts for p in parts) else 0
    return atom.attempts if tries_left(plan, atom, shape) else None


def backtrack_entry(plan: Plan, group: GroupId, reason: str, at: str) -> TrailEntry:
    left = unfailed(plan.groups[group])
    return TrailEntry(
        type=TrailType.BACKTRACK,
        or_group=group,
        selected=selected(plan, plan.groups[group]) or (left[0] if left else None),
        reason=reason,
        timestamp=at,
    )


def with_trail(plan: Plan, entry: TrailEntry) -> Plan:
    return evolve(plan, trail=(*plan.trail, entry))


def _atoms_under(plan: Plan, node: str) -> tuple[AtomId, ...]:
    return tuple(AtomId(n) for n in subtree(view(plan).shape, node) if n in plan.atoms)


def with_lost_commits(plan: Plan, lost: tuple[AtomId, ...]) -> Plan:
    """Atoms whose work was lost when the branch was rebuilt are done again, like dependents."""
    return reopened(plan, undone_by_loss(plan, lost)) if lost else plan


def undone_by_loss(plan: Plan, lost: Iterable[AtomId]) -> tuple[AtomId, ...]:
    """The lost atoms and all that was built upon them; sessions there must be ended first."""
    gone = tuple(lost)
    return (*gone, *dependents(plan, gone))
