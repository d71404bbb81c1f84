"""What follows from a plan: who stands under whom, what is live, open, ready or exhausted.

The plan's tree has a synthetic AND root; decompositions hang under it. An OR group is a node of
its own: it stands where its choices stand, and the choices are its children. Naming a choice in
`depends_on` means its group, because after a switch another choice does the work.

Two indexes make this cheap. `Shape` is what only growth changes (parents, children, who waits for
whom). `View` is what every event may change (ready atoms, counts of unmet dependencies, the sums
of the measure). A view is either built in one sweep, or patched when one atom's status or
attempts changed, which is what nearly every event does; a 10,000-atom plan then pays for its
frontier and for copying a few flat dictionaries, not for a sweep. That both ways agree is an
invariant of the model checker.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from dwindle.kernel.model import ROOT, Atom, AtomId, GroupId, OrGroup, Plan, Status

# Node ids are plain strings in here: an atom, a group, or ROOT.


@dataclass(frozen=True, slots=True)
class Shape:
    parent: Mapping[str, str]
    kids: Mapping[str, tuple[str, ...]]
    """Of the root, of composite atoms and of groups. An atom that is not a key is a leaf."""
    needs: Mapping[str, tuple[str, ...]]
    """Own dependencies, a choice replaced by its group."""
    waiters: Mapping[str, tuple[str, ...]]
    """The reverse of `needs`."""
    place: Mapping[str, int]
    """Position in the file."""
    group_of: Mapping[str, str]
    """Of every choice, written or not."""


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
    """Live pending leaves with satisfied dependencies and an attempt left, in file order."""
    exhausted: tuple[AtomId, ...]
    """Live pending leaves without attempts, in file order."""
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


def shape_of(plan: Plan) -> Shape:
    """Built from the structure alone; statuses do not matter."""
    above: dict[str, str] = {c: d.parent for d in plan.decompositions for c in d.children}
    group_of: dict[str, str] = {c: g.id for g in plan.groups.values() for c in g.choices}
    parent: dict[str, str] = {}
    kids: dict[str, list[str]] = {ROOT: []}
    place: dict[str, int] = {}
    needs: dict[str, tuple[str, ...]] = {}
    waiters: dict[str, list[str]] = {}
    for group in plan.groups.values():
        parent[group.id] = next((above[c] for c in group.choices if c in above), ROOT)
        kids[group.id] = list(group.choices)
        for choice in group.choices:
            parent[choice] = group.id
    stood: dict[str, None] = {}
    for index, (name, atom) in enumerate(plan.atoms.items()):
        place[name] = index
        node: str = group_of.get(name, name)
        if node == name:
            parent[name] = above.get(name, ROOT)
        if node not in stood:
            stood[node] = None
            kids.setdefault(parent[node], []).append(node)
        if atom.depends_on:
            targets = tuple(dict.fromkeys(group_of.get(d, d) for d in atom.depends_on))
            needs[name] = targets
            for target in targets:
                waiters.setdefault(target, []).append(name)
    return Shape(
        parent=parent,
        kids={node: tuple(below) for node, below in kids.items()},
        needs=needs,
        waiters={node: tuple(waiting) for node, waiting in waiters.items()},
        place=place,
        group_of=group_of,
    )


def view(plan: Plan) -> View:
    """The plan's view, built at the first question and kept with the plan."""
    if plan.view_cache is None:
        object.__setattr__(plan, "view_cache", build(plan, shape_of(plan)))
    assert plan.view_cache is not None  # noqa: S101 - for the type checker
    return plan.view_cache


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


def max_attempts(plan: Plan, atom: Atom, shape: Shape) -> int:
    if atom.max_attempts is not None:
        return atom.max_attempts
    return 1 if atom.id in shape.group_of else plan.limits.max_attempts


def attempts_left(plan: Plan, atom: Atom, shape: Shape) -> int:
    return max(0, max_attempts(plan, atom, shape) - atom.attempts)


def probes_left(plan: Plan, atom: Atom) -> int:
    return max(0, plan.limits.max_probes - atom.probes)


def chain(shape: Shape, node: str) -> Iterator[str]:
    """The node and everything above it, the root last."""
    while node != ROOT:
        yield node
        node = shape.parent[node]
    yield ROOT


def subtree(shape: Shape, node: str) -> Iterator[str]:
    """The node and everything below it, parents before children."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(shape.kids.get(node, ())))


def depth(plan: Plan, atom: AtomId) -> int:
    """How many decompositions stand above an atom."""
    shape = view(plan).shape
    return sum(1 for node in chain(shape, atom) if node in plan.atoms) - 1


def unmet_needs(plan: Plan, atom: AtomId) -> tuple[str, ...]:
    """What the atom, or anything above it, still waits for; nearest first."""
    shape = view(plan).shape
    waits = (t for node in chain(shape, atom) for t in shape.needs.get(node, ()))
    return tuple(dict.fromkeys(t for t in waits if not is_resolved(plan, t)))


def is_startable(shape: Shape, unmet: Mapping[str, int], atom: str) -> bool:
    """Its own dependencies, and those of everything above it, are satisfied."""
    node = atom
    while node != ROOT:
        if unmet.get(node, 0):
            return False
        node = shape.parent[node]
    return True


# --- building a view in one sweep --------------------------------------------------------------


def _standing(plan: Plan, shape: Shape) -> tuple[set[str], set[str], set[str]]:
    """Which nodes are live, buried, racing: walked from the root, through selected choices."""
    live: set[str] = set()
    buried: set[str] = set()
    racing: set[str] = set()
    waiting: list[tuple[str, bool, bool, bool]] = [(ROOT, True, False, False)]
    while waiting:
        node, is_live, is_buried, is_racing = waiting.pop()
        if is_live:
            live.add(node)
        if is_buried:
            buried.add(node)
        if is_racing:
            racing.add(node)
        group = plan.groups.get(GroupId(node))
        if group is None:
            waiting += [(k, is_live, is_buried, is_racing) for k in shape.kids.get(node, ())]
            continue
        chosen = selected(plan, group)
        race = group.speculative and chosen is None
        for choice in group.choices:
            failed = choice in group.failed
            runs = is_live and not failed and (race or choice == chosen)
            waiting.append((choice, runs, is_buried or failed, is_racing or (race and not failed)))
    return live, buried, racing


def build(plan: Plan, shape: Shape) -> View:
    live, buried, racing = _standing(plan, shape)
    unmet = {
        atom: sum(1 for t in targets if not is_resolved(plan, t))
        for atom, targets in shape.needs.items()
    }
    missing = {
        node: sum(1 for k in below if not is_resolved(plan, k))
        for node, below in shape.kids.items()
        if node not in plan.groups
    }
    ready: list[AtomId] = []
    exhausted: list[AtomId] = []
    open_count = attempts = undecided = 0
    unsettled: list[str] = []
    for name, atom in plan.atoms.items():
        if name in buried or atom.status is Status.RESOLVED:
            continue
        undecided += 1
        is_live = name in live
        if is_live and name not in racing:
            open_count += 1
        if name in shape.kids:
            if is_live and missing[name] == 0:
                unsettled.append(name)
            continue
        left = attempts_left(plan, atom, shape)
        attempts += left + probes_left(plan, atom)
        if is_live and atom.status is Status.PENDING:
            if not left:
                exhausted.append(name)
            elif is_startable(shape, unmet, name):
                ready.append(name)
    reserve = choices = 0
    dead: list[GroupId] = []
    for group in plan.groups.values():
        if group.id in buried:
            continue
        left_over = unfailed(group)
        choices += len(left_over)
        if group.id in live and not left_over:
            dead.append(group.id)
        chosen = selected(plan, group)
        undecided += chosen is None or not is_resolved(plan, chosen)
        race = group.speculative and chosen is None and group.id in live
        open_count += race and group.id not in racing
        for choice in left_over:
            if choice not in plan.atoms:
                reserve += 1
                if choice in live:
                    unsettled.append(choice)
    return View(
        shape=shape,
        live=frozenset(live),
        buried=frozenset(buried),
        racing=frozenset(racing),
        missing=missing,
        unmet=unmet,
        ready=tuple(ready),
        exhausted=tuple(exhausted),
        open_count=open_count,
        choices_left=choices,
        attempts_left=attempts,
        undecided=undecided + (missing[ROOT] > 0),
        reserve=reserve,
        dead_groups=tuple(dead),
        unsettled=tuple(unsettled),
    )


# --- patching it -------------------------------------------------------------------------------


def with_atom(plan: Plan, after: Atom, **changes: Any) -> Plan:
    """The plan with one atom replaced, its view patched where that is possible.

    Not possible when an atom that was resolved is not any more, or when a race is decided: then
    liveness changes and the view is built again at the next question.
    """
    before = plan.atoms[after.id]
    atoms = dict(plan.atoms)
    atoms[after.id] = after
    new = replace(plan, atoms=atoms, **changes)
    if plan.view_cache is not None and before.status is not Status.RESOLVED:
        patched = _patched(new, plan.view_cache, before, after)
        object.__setattr__(new, "view_cache", patched)
    return new


def evolve(plan: Plan, **changes: Any) -> Plan:
    """Replace fields that no view depends on: not atoms, groups, decompositions or limits."""
    new = replace(plan, **changes)
    object.__setattr__(new, "view_cache", plan.view_cache)
    return new


def _without(line: tuple[AtomId, ...], atom: AtomId) -> tuple[AtomId, ...]:
    return tuple(x for x in line if x != atom) if atom in line else line


def _inserted(line: tuple[AtomId, ...], atom: AtomId, shape: Shape) -> tuple[AtomId, ...]:
    at = bisect_left(line, shape.place[atom], key=shape.place.__getitem__)
    return (*line[:at], atom, *line[at:])


def _patched(plan: Plan, old: View, before: Atom, after: Atom) -> View | None:
    shape, name = old.shape, after.id
    if name in old.buried:
        return old
    is_leaf = name not in shape.kids
    is_live = name in old.live
    ready, exhausted = old.ready, old.exhausted
    attempts = old.attempts_left
    if is_leaf:
        left = attempts_left(plan, after, shape)
        attempts -= attempts_left(plan, before, shape) + probes_left(plan, before)
        if is_live and before.status is Status.PENDING:
            ready, exhausted = _without(ready, name), _without(exhausted, name)
        if after.status is not Status.RESOLVED:
            attempts += left + probes_left(plan, after)
            if is_live and after.status is Status.PENDING:
                if not left:
                    exhausted = _inserted(exhausted, name, shape)
                elif is_startable(shape, old.unmet, name):
                    ready = _inserted(ready, name, shape)
    if after.status is not Status.RESOLVED:
        return replace(old, ready=ready, exhausted=exhausted, attempts_left=attempts)
    group = plan.groups.get(GroupId(shape.parent[name]))
    resolved: list[str] = [name]
    if group is not None:
        if group.speculative:
            return None
        if selected(plan, group) == name:
            resolved.append(group.id)
    undecided = old.undecided - len(resolved)
    missing, unmet = old.missing, dict(old.unmet)
    unsettled = old.unsettled if is_leaf else tuple(n for n in old.unsettled if n != name)
    top = shape.parent[resolved[-1]]
    if top in old.missing:
        missing = dict(old.missing)
        missing[top] -= 1
        if missing[top] == 0:
            undecided -= top == ROOT
            if top != ROOT and top in old.live:
                unsettled = (*unsettled, top)
    for node in resolved:
        for waiter in shape.waiters.get(node, ()):
            unmet[waiter] -= 1
            if unmet[waiter]:
                continue
            for below in subtree(shape, waiter):
                atom = plan.atoms.get(AtomId(below))
                if (
                    atom is not None
                    and below in old.live
                    and below not in shape.kids
                    and atom.status is Status.PENDING
                    and attempts_left(plan, atom, shape)
                    and is_startable(shape, unmet, below)
                ):
                    ready = _inserted(ready, atom.id, shape)
    return replace(
        old,
        missing=missing,
        unmet=unmet,
        ready=ready,
        exhausted=exhausted,
        attempts_left=attempts,
        undecided=undecided,
        open_count=old.open_count - (is_live and name not in old.racing),
        unsettled=unsettled,
    )
