"""What follows from a plan: what is live, open, ready or exhausted, and the sums of the measure.

A `View` is either built in one sweep over the plan, or patched when one atom's status or attempts
changed, which is what nearly every event does; a 10,000-atom plan then pays for its frontier and
for copying a few flat dictionaries, not for a sweep. That both ways agree is an invariant of the
model checker.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dwindle.kernel.model import (
    ROOT,
    Atom,
    AtomId,
    GroupId,
    OrGroup,
    Plan,
    PlanKind,
    Status,
    TrailType,
)
from dwindle.kernel.shape import Shape, chain, shape_of, subtree


@dataclass(frozen=True, slots=True)
class View:
    shape: Shape
    live: frozenset[str]
    buried: frozenset[str]
    """At or under a failed choice: never live, counted nowhere."""
    racing: frozenset[str]
    """Under a speculative group that has no winner yet."""
    missing: Mapping[str, int]
    """Unresolved children of the root and of each composite atom."""
    unmet: Mapping[str, int]
    """Unresolved dependencies of each atom that has its own."""
    ready: tuple[AtomId, ...]
    """Live pending leaves with satisfied dependencies that may be tried, in file order."""
    exhausted: tuple[AtomId, ...]
    """Live pending leaves that may not be tried any more, in file order."""
    open_count: int
    choices_left: int
    attempts_left: int
    undecided: int
    reserve: int
    """Fuel set aside for unwritten alternatives."""
    dead_groups: tuple[GroupId, ...]
    """Live groups whose every choice has failed."""
    unsettled: tuple[str, ...]
    """Nodes about which something follows that is not written into the plan yet."""
    tails: dict[str, int] = field(default_factory=dict, compare=False)
    """Lengths of chains that were asked for; what lies ahead of an open node only changes together
    with what is live, and then the view is built anew."""


def view(plan: Plan) -> View:
    """The plan's view, built at the first question and kept with the plan."""
    seen: View | None = plan.view_cache
    if seen is None:
        seen = build(plan, plan.shape_cache or shape_of(plan))
        object.__setattr__(plan, "view_cache", seen)
    return seen


# --- small answers -----------------------------------------------------------------------------


def unfailed(group: OrGroup) -> tuple[AtomId, ...]:
    return tuple(c for c in group.choices if c not in group.failed)


def selected(plan: Plan, group: OrGroup) -> AtomId | None:
    """The choice in force; None while a race is undecided, or when all choices have failed."""
    left = unfailed(group)
    if group.speculative:
        winners = [c for c in left if c in plan.atoms and is_resolved(plan, c)]
        if group.selected in winners:
            return group.selected
        return winners[0] if winners else None
    if group.selected in left:
        return group.selected
    return left[0] if left else None


def is_resolved(plan: Plan, node: str) -> bool:
    if node in plan.groups:
        choice = selected(plan, plan.groups[GroupId(node)])
        return choice is not None and is_resolved(plan, choice)
    atom = plan.atoms.get(AtomId(node))
    return atom is not None and atom.status is Status.RESOLVED


def is_finished(plan: Plan) -> bool:
    """Nothing is open: the root is resolved."""
    return view(plan).missing[ROOT] == 0


def base_attempts(plan: Plan, atom: Atom, shape: Shape) -> int:
    """What the atom is granted in the first place; winds grant multiples of it."""
    if atom.max_attempts is not None:
        return atom.max_attempts
    return 1 if atom.id in shape.group_of else plan.limits.max_attempts


def max_attempts(plan: Plan, atom: Atom, shape: Shape) -> int:
    return base_attempts(plan, atom, shape) if atom.allowed is None else atom.allowed


def tries_left(plan: Plan, atom: Atom, shape: Shape) -> int:
    """Attempts that may be used now: what was called infeasible needs a probe's word first."""
    if atom.infeasible is not None and not probes_left(plan, atom):
        return 0
    return attempts_left(plan, atom, shape)


def attempts_left(plan: Plan, atom: Atom, shape: Shape) -> int:
    left = max_attempts(plan, atom, shape) - atom.attempts
    return left if left > 0 else 0  # noqa: FURB136 - called for every atom; max() costs thrice


def probes_left(plan: Plan, atom: Atom) -> int:
    left = plan.limits.max_probes - atom.probes
    return left if left > 0 else 0  # noqa: FURB136 - as above


def depth(plan: Plan, atom: AtomId) -> int:
    """How many decompositions stand above an atom."""
    shape = view(plan).shape
    return sum(1 for node in chain(shape, atom) if node in plan.atoms) - 1


def unmet_needs(plan: Plan, atom: AtomId) -> tuple[str, ...]:
    """What the atom, or anything above it, still waits for; nearest first."""
    shape = view(plan).shape
    waits = (t for node in chain(shape, atom) for t in shape.needs.get(node, ()))
    return tuple(dict.fromkeys(t for t in waits if not is_resolved(plan, t)))


def failures(plan: Plan) -> Mapping[str, int]:
    """How often each atom has failed, as the Trail remembers it; attempts are given back."""
    known = plan.failures_cache
    if known is None:
        counts: dict[str, int] = {}
        for entry in plan.trail:
            if entry.type is TrailType.FAILURE and entry.atom is not None:
                counts[entry.atom] = max(counts.get(entry.atom, 0) + 1, entry.attempt or 0)
        known = counts
        object.__setattr__(plan, "failures_cache", known)
    return known


def chain_behind(seen: View, atom: str) -> int:
    """The longest chain of atoms that are to be done one after the other once this one is.

    Two numbers for each node: how much follows its end, and how much there is from its start on.
    An end leads to the start of every node that waits for it and to the end of its parent; a
    start to the starts below it, or, in a leaf, to its own end and one session more.
    """
    shape, known = seen.shape, seen.tails
    waiting, path = [f">{atom}"], {""}
    while waiting:
        key = waiting[-1]
        node = key[1:]
        if key in known:
            waiting.pop()
            continue
        if key[0] == ">":
            ahead = [f"<{w}" for w in shape.waiters.get(node, ()) if w in seen.live]
            above = shape.parent.get(node, ROOT)
            ahead += [f">{above}"] if above != ROOT else []
        elif node in shape.kids:
            ahead = [f"<{k}" for k in shape.kids[node] if k in seen.live]
        else:
            ahead = [f">{node}"]
        if key not in path:
            path.add(key)
            waiting += [k for k in ahead if k not in known and k not in path]
            continue
        session = key[0] == "<" and node not in shape.kids
        known[key] = max((known.get(k, 0) for k in ahead), default=0) + session  # 0: in a circle
    return known[f">{atom}"]


def is_startable(shape: Shape, unmet: Mapping[str, int], atom: str) -> bool:
    """Its own dependencies, and those of everything above it, are satisfied."""
    node = atom
    while node != ROOT:
        if unmet.get(node, 0):
            return False
        node = shape.parent[node]
    return True


# --- building a view in one sweep --------------------------------------------------------------


def _standing(  # noqa: C901 - three flags, each handed down
    plan: Plan, shape: Shape
) -> tuple[set[str], set[str], set[str]]:
    """Which nodes are live, buried, racing: walked from the root, through selected choices.

    A parent puts its children into the sets, so that only nodes with children are visited.
    """
    live: set[str] = {ROOT}
    buried: set[str] = set()
    racing: set[str] = set()
    groups, kids = plan.groups, shape.kids
    waiting: list[tuple[str, bool, bool, bool]] = [(ROOT, True, False, False)]
    while waiting:
        node, is_live, is_buried, is_racing = waiting.pop()
        group = groups.get(GroupId(node))
        if group is None:
            below = kids[node]
            if is_live:
                live.update(below)
            if is_buried:
                buried.update(below)
            if is_racing:
                racing.update(below)
            waiting += [(k, is_live, is_buried, is_racing) for k in below if k in kids]
            continue
        chosen = selected(plan, group)
        race = group.speculative and chosen is None
        for choice in group.choices:
            failed = choice in group.failed
            runs = is_live and not failed and (race or choice == chosen)
            lost, races = is_buried or failed, is_racing or (race and not failed)
            if runs:
                live.add(choice)
            if lost:
                buried.add(choice)
            if races:
                racing.add(choice)
            if choice in kids:
                waiting.append((choice, runs, lost, races))
    return live, buried, racing


def build(plan: Plan, shape: Shape) -> View:
    live, buried, racing = _standing(plan, shape)
    done, idling = Status.RESOLVED, Status.PENDING  # looked up once: an enum's member is slow
    resolved: set[str] = {n for n, a in plan.atoms.items() if a.status is done}
    resolved.update(g for g in plan.groups if is_resolved(plan, g))
    unmet = {
        atom: len([target for target in targets if target not in resolved])
        for atom, targets in shape.needs.items()
    }
    missing = {
        node: len(below) - len(resolved.intersection(below))
        for node, below in shape.kids.items()
        if node not in plan.groups
    }
    undone = [a for n, a in plan.atoms.items() if n not in resolved and n not in buried]
    leaves = [(a, tries_left(plan, a, shape)) for a in undone if a.id not in shape.kids]
    inner = _inner_sessions_left(plan, undone, shape) if plan.kind is PlanKind.TREE else 0
    idle = [(a.id, n) for a, n in leaves if a.status is idling and a.id in live]
    groups = [(g, unfailed(g)) for n, g in plan.groups.items() if n not in buried]
    races = [g.id for g, _ in groups if g.id in live and is_race(plan, g)]
    unwritten = [c for _, left in groups for c in left if c not in plan.atoms]
    joins = [a.id for a in undone if a.id in live and missing.get(a.id) == 0]
    return View(
        shape=shape,
        live=frozenset(live),
        buried=frozenset(buried),
        racing=frozenset(racing),
        missing=missing,
        unmet=unmet,
        ready=tuple([a for a, left in idle if left and is_startable(shape, unmet, a)]),
        exhausted=tuple([a for a, left in idle if not left]),
        open_count=sum([a.id in live and a.id not in racing for a in undone])
        + sum([g not in racing for g in races]),
        choices_left=sum([len(left) for _, left in groups]),
        attempts_left=sum([attempts_left(plan, a, shape) for a, _ in leaves])
        + sum([probes_left(plan, a) for a, _ in leaves])
        + inner,
        undecided=len(undone)
        + sum([g.id not in resolved for g, _ in groups])
        + (missing[ROOT] > 0),
        reserve=len(unwritten),
        dead_groups=tuple([g.id for g, left in groups if g.id in live and not left]),
        unsettled=(*joins, *(c for c in unwritten if c in live)),
    )


def _inner_sessions_left(plan: Plan, undone: list[Atom], shape: Shape) -> int:
    """In a tree an inner node may become a leaf again, so that what it has left counts as well."""
    inner = [a for a in undone if a.id in shape.kids]
    return sum(attempts_left(plan, a, shape) + probes_left(plan, a) for a in inner)


def is_race(plan: Plan, group: OrGroup) -> bool:
    """Several choices at once, and none has won yet."""
    return group.speculative and selected(plan, group) is None


def _done(atom: Atom) -> bool:
    return atom.status is Status.RESOLVED


# --- patching it -------------------------------------------------------------------------------


def with_atom(plan: Plan, after: Atom, **changes: Any) -> Plan:
    """The plan with one atom replaced, its view patched where that is possible.

    Not possible when an atom that was resolved is not any more, or when a race is decided: then
    liveness changes and the view is built again at the next question.
    """
    before = plan.atoms[after.id]
    atoms = dict(plan.atoms)
    atoms[after.id] = after
    new = restated(plan, atoms=atoms, **changes)
    if plan.view_cache is not None and before.status is not Status.RESOLVED:
        patched = _patched(new, plan.view_cache, before, after)
        object.__setattr__(new, "view_cache", patched)
    return new


def evolve(plan: Plan, **changes: Any) -> Plan:
    """Replace fields that no view depends on: not atoms, groups, decompositions or limits."""
    new = restated(plan, **changes)
    object.__setattr__(new, "view_cache", plan.view_cache)
    return new


def restated(plan: Plan, **changes: Any) -> Plan:
    """Replace fields without adding, removing or linking anything: the shape stays."""
    new = replace(plan, **changes)
    shape = plan.shape_cache if plan.view_cache is None else plan.view_cache.shape
    object.__setattr__(new, "shape_cache", shape)
    if new.trail is plan.trail:
        object.__setattr__(new, "failures_cache", plan.failures_cache)
    return new


def _position(line: tuple[AtomId, ...], atom: AtomId, shape: Shape) -> int:
    return bisect_left(line, shape.place[atom], key=shape.place.__getitem__)


def _without(line: tuple[AtomId, ...], atom: AtomId, shape: Shape) -> tuple[AtomId, ...]:
    at = _position(line, atom, shape)
    return line[:at] + line[at + 1 :] if line[at : at + 1] == (atom,) else line


def _inserted(line: tuple[AtomId, ...], atom: AtomId, shape: Shape) -> tuple[AtomId, ...]:
    at = _position(line, atom, shape)
    return line if line[at : at + 1] == (atom,) else (*line[:at], atom, *line[at:])


def _patched(plan: Plan, old: View, before: Atom, after: Atom) -> View | None:
    if after.id in old.buried:
        return old
    if after.id not in old.shape.kids:
        seen = _leaf_moved(plan, old, before, after)
    else:
        seen = _inner_moved(plan, old, before, after) if plan.kind is PlanKind.TREE else old
    return _resolved(plan, seen, after) if _done(after) else seen


def _leaf_moved(plan: Plan, old: View, before: Atom, after: Atom) -> View:
    """Take the leaf out of the lines and sums it was in, and put it into those it is in now."""
    shape, name = old.shape, after.id
    ready, exhausted = _without(old.ready, name, shape), _without(old.exhausted, name, shape)
    attempts = old.attempts_left - attempts_left(plan, before, shape) - probes_left(plan, before)
    if not _done(after):
        attempts += attempts_left(plan, after, shape) + probes_left(plan, after)
    if name in old.live and after.status is Status.PENDING:
        if not tries_left(plan, after, shape):
            exhausted = _inserted(exhausted, name, shape)
        elif is_startable(shape, old.unmet, name):
            ready = _inserted(ready, name, shape)
    return replace(old, ready=ready, exhausted=exhausted, attempts_left=attempts)


def _inner_moved(plan: Plan, old: View, before: Atom, after: Atom) -> View:
    shape = old.shape
    left = old.attempts_left - _inner_sessions_left(plan, [before], shape)
    if not _done(after):
        left += _inner_sessions_left(plan, [after], shape)
    return replace(old, attempts_left=left)


def _resolved(plan: Plan, old: View, atom: Atom) -> View | None:
    """Count a resolved atom, and its group with it; nodes that waited for them may start."""
    shape, name = old.shape, atom.id
    group = plan.groups.get(GroupId(shape.parent[name]))
    if group is not None and group.speculative:
        return None
    done: tuple[str, ...] = (name,)
    if group is not None and selected(plan, group) == name:
        done = (name, group.id)
    undecided = old.undecided - len(done)
    missing, unsettled = old.missing, tuple(n for n in old.unsettled if n != name)
    top = shape.parent[done[-1]]
    if top in missing:
        missing = {**missing, top: missing[top] - 1}
        if not missing[top]:
            undecided -= top == ROOT
            unsettled = (*unsettled, top) if top != ROOT and top in old.live else unsettled
    unmet, ready = _released(plan, old, done)
    return replace(
        old,
        missing=missing,
        unmet=unmet,
        ready=ready,
        undecided=undecided,
        open_count=old.open_count - (name in old.live and name not in old.racing),
        unsettled=unsettled,
    )


def _released(
    plan: Plan, old: View, done: tuple[str, ...]
) -> tuple[Mapping[str, int], tuple[AtomId, ...]]:
    """What is unmet, and who is ready, once these nodes are done."""
    shape, ready = old.shape, old.ready
    waiters = [w for node in done for w in shape.waiters.get(node, ())]
    if not waiters:
        return old.unmet, ready
    unmet = dict(old.unmet)
    for waiter in waiters:
        unmet[waiter] -= 1
    for waiter in waiters:
        for node in () if unmet[waiter] else subtree(shape, waiter):
            atom = plan.atoms.get(AtomId(node))
            if (
                atom is not None
                and node in old.live
                and node not in shape.kids
                and atom.status is Status.PENDING
                and tries_left(plan, atom, shape)
                and is_startable(shape, unmet, node)
            ):
                ready = _inserted(ready, atom.id, shape)
    return unmet, ready
