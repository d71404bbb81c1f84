"""What can be wrong with the shape of a plan: ids, choices, the forest, dependencies.

Growth and redirects must not break any of it. A plan that passes cannot deadlock: if something is
open, something is ready, running or exhausted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dwindle.kernel.base_case import check_problems
from dwindle.kernel.model import ROOT, Atom, AtomId, GroupId, OrGroup, Plan, Problem
from dwindle.kernel.shape import Shape, chain, shape_of

ID_CHARACTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_.-"
ID_LENGTH = 64
"""Ids become refs and folder names."""


def is_valid_id(name: str) -> bool:
    return (
        0 < len(name) <= ID_LENGTH
        and name[0] not in "_.-"
        and all(c in ID_CHARACTERS for c in name)
        and ".." not in name
        and not name.endswith(".lock")
    )


def structure_problems(plan: Plan) -> tuple[Problem, ...]:
    """What growth and redirects must not break. Later checks presuppose the earlier ones."""
    found = [
        *_atom_problems(plan),
        *_group_problems(plan),
        *_forest_problems(plan),
        *_reference_problems(plan),
    ]
    if found:
        return tuple(found)
    shape = shape_of(plan)
    found = list(_rootless_problems(plan, shape)) or [
        *_legality_problems(plan, shape),
        *_cycle_problems(plan, shape),
    ]
    return tuple(found)


def _atom_problems(plan: Plan) -> Iterator[Problem]:
    for index, (name, atom) in enumerate(plan.atoms.items()):
        where = ("atoms", index)
        if not is_valid_id(name):
            yield Problem(where=(*where, "id"), what=f"{name!r} is no id", hint=_ID_HINT)
        if not atom.description.strip():
            yield Problem(
                where=(*where, "description"), what=f"{name} has no description", hint="say it"
            )
        yield from _counter_problems(atom, where)
        if atom.check is not None:
            yield from check_problems(atom.check, (*where, "check"))
        if atom.or_group is not None:
            group = plan.groups.get(atom.or_group)
            if group is None or name not in group.choices:
                yield Problem(
                    where=(*where, "or_group"),
                    what=f"{name} says it is a choice of {atom.or_group}, which does not list it",
                    hint="add it to the choices, or remove or_group",
                )


def _counter_problems(atom: Atom, where: tuple[str | int, ...]) -> Iterator[Problem]:
    for field in ("max_attempts", "allowed"):
        most = getattr(atom, field)
        if most is not None and most < 1:
            yield Problem(
                where=(*where, field),
                what=f"{atom.id} may be attempted {most} times",
                hint="give 1 or more",
            )
    for field in ("attempts", "probes"):
        if getattr(atom, field) < 0:
            yield Problem(where=(*where, field), what=f"{field} of {atom.id} is negative")


_ID_HINT = "letters, digits, _ . - (64 at most), no '..', not ending in .lock"


def _group_problems(plan: Plan) -> Iterator[Problem]:
    seen: dict[str, str] = {}
    for name, group in plan.groups.items():
        where = ("or_groups", name)
        if not is_valid_id(name):
            yield Problem(where=where, what=f"{name!r} is no id", hint=_ID_HINT)
        if AtomId(name) in plan.atoms:
            yield Problem(
                where=where, what=f"{name} is an atom and a group", hint="rename one of them"
            )
        if not any(c in plan.atoms for c in group.choices):
            yield Problem(
                where=(*where, "choices"),
                what=f"no choice of {name} is an atom",
                hint="write at least one of them out under atoms",
            )
        for choice in group.choices:
            yield from _choice_problems(plan, group, choice, seen)
            seen[choice] = name
        yield from _record_problems(group)


def _choice_problems(
    plan: Plan, group: OrGroup, choice: AtomId, seen: Mapping[str, str]
) -> Iterator[Problem]:
    where = ("or_groups", group.id, "choices")
    if not is_valid_id(choice):
        yield Problem(where=where, what=f"{choice!r} is no id", hint=_ID_HINT)
    if GroupId(choice) in plan.groups:
        yield Problem(
            where=where,
            what=f"{choice} is a group and cannot be a choice",
            hint="make it an atom that has the group below it",
        )
    if choice in seen:
        yield Problem(
            where=where,
            what=f"{choice} is listed twice, in {seen[choice]} and in {group.id}",
            hint="a choice belongs to one group, once",
        )


def _record_problems(group: OrGroup) -> Iterator[Problem]:
    """The recorded choice and the failed ones must be choices."""
    where = ("or_groups", group.id)
    if group.selected not in group.choices:
        yield Problem(
            where=(*where, "selected"),
            what=f"{group.selected} is selected and is no choice of {group.id}",
            hint=f"choose one of {', '.join(group.choices)}",
        )
    for index, failed in enumerate(group.failed):
        if failed not in group.choices or failed in group.failed[:index]:
            yield Problem(
                where=(*where, "failed"),
                what=f"{failed} is in failed of {group.id} "
                f"{'twice' if failed in group.choices else 'and is no choice of it'}",
                hint="list failed choices once",
            )


def _forest_problems(plan: Plan) -> Iterator[Problem]:
    parent_of: dict[str, str] = {}
    parents: dict[str, None] = {}
    for index, made in enumerate(plan.decompositions):
        where = ("decompositions", index)
        if made.parent not in plan.atoms:
            yield _unknown(plan, (*where, "parent"), made.parent)
        if made.parent in parents:
            yield Problem(
                where=(*where, "parent"),
                what=f"{made.parent} is decomposed twice",
                hint="put all its children into one decomposition",
            )
        parents[made.parent] = None
        if not made.children:
            yield Problem(
                where=(*where, "children"),
                what=f"{made.parent} is decomposed into nothing",
                hint="name its children, or remove the decomposition",
            )
        for child in made.children:
            if child not in plan.atoms:
                yield _unknown(plan, (*where, "children"), child)
            if child in parent_of:
                yield Problem(
                    where=(*where, "children"),
                    what=f"{child} is listed twice, under {parent_of[child]} and {made.parent}",
                    hint="share work through depends_on; an atom has one parent",
                )
            parent_of[child] = made.parent
    for name, group in plan.groups.items():
        above = list(dict.fromkeys(parent_of[c] for c in group.choices if c in parent_of))
        if len(above) > 1:
            yield Problem(
                where=("or_groups", name, "choices"),
                what=f"the choices of {name} stand under different parents: {', '.join(above)}",
                hint="a group stands in one place",
            )


def _reference_problems(plan: Plan) -> Iterator[Problem]:
    choices = {c: g.id for g in plan.groups.values() for c in g.choices}
    for index, (name, atom) in enumerate(plan.atoms.items()):
        for target in atom.depends_on:
            where = ("atoms", index, "depends_on")
            if target == name:
                yield Problem(where=where, what=f"{name} depends on itself", hint="remove it")
            elif target not in plan.atoms and target not in plan.groups and target not in choices:
                yield _unknown(plan, where, target)
    for name in plan.bindings:
        if name not in plan.atoms:
            yield _unknown(plan, ("bindings", name), name)
    for name, session in plan.sessions.items():
        if name != ROOT and name not in plan.atoms:
            yield _unknown(plan, ("control", "in_flight"), name)
        elif session.nonce > plan.control.revision:
            yield Problem(
                where=("control", "in_flight"),
                what=f"the session of {name or 'the verification'} starts after the last record",
                hint="its nonce is the number of a journal record",
            )


def _unknown(plan: Plan, where: tuple[str | int, ...], name: str) -> Problem:
    known = [n for n in (*plan.atoms, *plan.groups) if n.lower() == name.lower()]
    near = known or [n for n in (*plan.atoms, *plan.groups) if n[:2] == name[:2]][:3]
    return Problem(
        where=where,
        what=f"{name} does not exist",
        hint=f"did you mean {' or '.join(near)}?" if near else "add it, or remove the mention",
    )


def _rootless_problems(plan: Plan, shape: Shape) -> Iterator[Problem]:
    """Decompositions that go round in a circle hang under nothing."""
    reached: dict[str, None] = {}
    waiting: list[str] = [ROOT]
    while waiting:
        node = waiting.pop()
        reached[node] = None
        waiting.extend(shape.kids.get(node, ()))
    lost = [a for a in plan.atoms if a not in reached]
    if lost:
        yield Problem(
            where=("decompositions",),
            what=f"{', '.join(lost)} stand under each other in a circle",
            hint="a decomposition leads from an atom to smaller ones",
        )


def _legality_problems(plan: Plan, shape: Shape) -> Iterator[Problem]:
    """A target must be there whenever the dependent is: same choices above it."""
    for index, name in enumerate(plan.atoms):
        for target in shape.needs.get(name, ()):
            around = [n for n in chain(shape, target) if n in shape.group_of]
            if around:
                own = dict.fromkeys(chain(shape, name))
                for choice in around:
                    if choice not in own:
                        yield Problem(
                            where=("atoms", index, "depends_on"),
                            what=f"{name} depends on {target}, which is only done if {choice} is "
                            f"chosen in {shape.group_of[choice]}",
                            hint=f"depend on {shape.group_of[choice]} instead",
                        )


def _cycle_problems(plan: Plan, shape: Shape) -> Iterator[Problem]:
    """Nothing may have to end before it can start.

    Starts and ends are ordered as the kernel orders them: a child starts after its parent, a
    parent after all it depends on has ended, and it ends after its children. Peel off whatever
    waits for nothing; what is left is a circle.
    """
    nodes = [ROOT, *plan.atoms, *plan.groups]
    after: dict[tuple[str, bool], list[tuple[str, bool]]] = {}
    count: dict[tuple[str, bool], int] = {(n, e): 0 for n in nodes for e in (False, True)}

    def order(first: tuple[str, bool], then: tuple[str, bool]) -> None:
        after.setdefault(first, []).append(then)
        count[then] += 1

    for node in nodes:
        order((node, False), (node, True))
        if node != ROOT:
            order((shape.parent[node], False), (node, False))
            order((node, True), (shape.parent[node], True))
        for target in shape.needs.get(node, ()):
            order((target, True), (node, False))
    free = [n for n, c in count.items() if not c]
    while free:
        for then in after.get(free.pop(), ()):
            count[then] -= 1
            if not count[then]:
                free.append(then)
    stuck = {n: None for (n, _), c in count.items() if c}
    if stuck:
        circle = _circle(shape, stuck)
        index = list(plan.atoms).index(circle[0]) if circle[0] in plan.atoms else 0  # type: ignore[arg-type]
        yield Problem(
            where=("atoms", index, "depends_on"),
            what=f"waiting in a circle: {' -> '.join((*circle, circle[0]))}",
            hint="counting what parents and children wait for; remove one of the dependencies",
        )


def _circle(shape: Shape, stuck: Mapping[str, None]) -> tuple[str, ...]:
    """One circle among the stuck nodes: from a node to something that it waits for."""

    def waits_for(node: str) -> str:
        for above in chain(shape, node):
            for target in shape.needs.get(above, ()):
                if target in stuck:
                    return target
        return next(k for k in shape.kids[node] if k in stuck)

    node = next(n for n in stuck if shape.needs.get(n))
    path: dict[str, None] = {}
    while node not in path:
        path[node] = None
        node = waits_for(node)
    walked = list(path)
    return tuple(walked[walked.index(node) :])
