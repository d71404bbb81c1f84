"""A person rewrites the graph: what happens to the work that was done under the old one.

A user who edits the plan by hand thinks of atoms, groups and decompositions, not of the small
edits that would lead from one graph to the other. So they say how it should look, and this works
out what that means. New atoms are paid from fuel and removed ones stay counted. Counters are the
machine's: they are taken from the old plan, whatever the new one says. Only evidence resolves an
atom, so an edit cannot set one to resolved; but it may say that one has to be done again.

An atom that says something else now is another piece of work: what was done for it, and all that
was built upon it, is done again. The same goes for a choice that is taken instead of another, and
for what turns out to depend on something that is open. Whatever is reopened has its attempts back,
and the redirect pays for all of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dwindle.kernel import branches
from dwindle.kernel.errors import IllegalEvent
from dwindle.kernel.events import Redirected, RewriteGraph
from dwindle.kernel.graph import depth, selected, unfailed, view
from dwindle.kernel.measure import fuel
from dwindle.kernel.model import RUNNER_OWNED, Atom, AtomId, OrGroup, Plan, Problem, Status
from dwindle.kernel.shape import chain, subtree
from dwindle.kernel.structure import structure_problems


def with_rewritten(plan: Plan, edit: RewriteGraph, event: Redirected) -> Plan:
    if problems := rewrite_problems(plan, edit):
        raise IllegalEvent(event, "the graph cannot be rewritten like that", problems)
    drawn = _drawn(plan, edit)
    again = tuple(_again(plan, drawn))
    taken = tuple(g.id for g in drawn.groups.values() if _is_taken_anew(plan, drawn, g))
    built_upon = branches.dependents(drawn, (*again, *taken))
    after = branches.reopened(drawn, (*again, *built_upon))
    late = _out_of_order(plan)
    while stale := tuple(n for n in _out_of_order(after) if n not in late):
        after = branches.reopened(after, (*stale, *branches.dependents(after, stale)))
    return _regathered(plan, after)


def rewrite_problems(plan: Plan, edit: RewriteGraph) -> tuple[Problem, ...]:
    """Everything that speaks against it; empty if nothing does."""
    found = list(_own_problems(plan, edit))
    drawn = _drawn(plan, edit)
    structure = structure_problems(drawn)
    if structure:
        return (*found, *structure)
    return (*found, *_placement_problems(plan, drawn))


def _own_problems(plan: Plan, edit: RewriteGraph) -> Iterator[Problem]:
    """What can be said of each atom alone, and of their number."""
    wanted: dict[AtomId, None] = {}
    for index, atom in enumerate(edit.atoms):
        if atom.id in wanted:
            where = ("atoms", index, "id")
            yield Problem(where=where, what=f"{atom.id} is listed twice", hint="rename one of them")
        wanted[atom.id] = None
        if atom.status is Status.RESOLVED and not _was_resolved(plan, atom.id):
            yield Problem(
                where=("atoms", index, "status"),
                what=f"{atom.id} cannot be set to resolved: nothing has shown that it holds",
                hint="leave it pending, or remove it if it is not needed",
            )
    for name in plan.atoms:
        if name not in wanted and _was_resolved(plan, name):
            yield Problem(
                where=("atoms",),
                what=f"{name} is resolved and cannot be removed",
                hint="keep it; or set it to pending now and remove it in another redirect",
            )
    new = [name for name in wanted if name not in plan.atoms]
    if len(new) > fuel(plan):
        yield Problem(
            where=("atoms",),
            what=f"{', '.join(new)} would be new, and fuel for {max(0, fuel(plan))} is left",
            hint="raise max_atoms",
        )


def _placement_problems(plan: Plan, drawn: Plan) -> Iterator[Problem]:
    """What can be said of where atoms stand, on a sound structure."""
    seen = view(drawn)
    for index, name in enumerate(drawn.atoms):
        if name not in plan.atoms and depth(drawn, name) > drawn.limits.max_depth:
            yield Problem(
                where=("atoms", index),
                what=f"{name} stands at depth {depth(drawn, name)} and max_depth is "
                f"{drawn.limits.max_depth}",
                hint="raise max_depth, or put it higher",
            )
    for index, made in enumerate(drawn.decompositions):
        open_leaf = made.parent in plan.atoms and made.parent not in view(plan).shape.kids
        if open_leaf and not _was_resolved(plan, made.parent) and not seen.missing[made.parent]:
            yield Problem(
                where=("decompositions", index, "children"),
                what=f"{made.parent} is open and would be done by what is resolved already",
                hint="give it a child that is open, or remove it",
            )


def _was_resolved(plan: Plan, name: AtomId) -> bool:
    return name in plan.atoms and plan.atoms[name].status is Status.RESOLVED


def _drawn(plan: Plan, edit: RewriteGraph) -> Plan:
    """The new graph with the machine's counters, before anything is reopened."""

    def counted(atom: Atom) -> Atom:
        was = plan.atoms.get(atom.id, atom.unspent())
        both = atom.status is Status.RESOLVED and _was_resolved(plan, atom.id)
        return replace(
            atom,
            status=Status.RESOLVED if both else Status.PENDING,
            **{name: getattr(was, name) for name in RUNNER_OWNED},
        )

    atoms = {atom.id: counted(atom) for atom in edit.atoms}
    new = sum(name not in plan.atoms for name in atoms)
    return replace(
        plan,
        atoms=atoms,
        decompositions=edit.decompositions,
        groups={group.id: group for group in edit.groups},
        bindings={n: b for n, b in plan.bindings.items() if n in atoms},
        spent=replace(plan.spent, created=plan.spent.created + new),
    )


# --- what has to be done again -------------------------------------------------------------------


def _again(plan: Plan, drawn: Plan) -> Iterator[AtomId]:
    """New atoms, those that say something else, and those that come out of a failed choice."""
    then, now = view(plan), view(drawn)
    for name, atom in drawn.atoms.items():
        was = plan.atoms.get(name)
        is_leaf = name not in now.shape.kids
        if was is None:
            yield name
        elif _says_another_thing(was, atom) or (name not in then.shape.kids) != is_leaf:
            # A parent that is open goes on with the children it has.
            if is_leaf or was.status is Status.RESOLVED:
                yield from _atoms_under(drawn, name)
        elif (name in then.buried) != (name in now.buried):
            yield name
    for group in drawn.groups.values():
        if _is_taken_anew(plan, drawn, group):
            for choice in unfailed(group):
                yield from _atoms_under(drawn, choice)


def _says_another_thing(was: Atom, now: Atom) -> bool:
    """In any field of its own; which group it is listed in is the group's business."""
    return replace(now, or_group=was.or_group) != was


def _is_taken_anew(plan: Plan, drawn: Plan, group: OrGroup) -> bool:
    """Is another choice of the group in force than before? For a new group: than what is done."""
    was = plan.groups.get(group.id)
    chosen = selected(drawn, group)
    if was is not None:
        return chosen != selected(plan, was)
    others = (a for c in unfailed(group) if c != chosen for a in _atoms_under(drawn, c))
    return any(_was_resolved(drawn, a) for a in others)


def _atoms_under(plan: Plan, node: str) -> tuple[AtomId, ...]:
    return tuple(AtomId(n) for n in subtree(view(plan).shape, node) if n in plan.atoms)


def _out_of_order(plan: Plan) -> tuple[AtomId, ...]:
    """Live atoms that are resolved while a child, or something that they depend on, is not."""
    seen = view(plan)
    return tuple(
        name
        for name, atom in plan.atoms.items()
        if atom.status is Status.RESOLVED
        and name in seen.live
        and (seen.missing.get(name) or any(map(seen.unmet.get, chain(seen.shape, name))))
    )


def _regathered(plan: Plan, after: Plan) -> Plan:
    """Parents that have other children now are open until they settle, with a binding that fits."""
    then = {made.parent: made.children for made in plan.decompositions}
    loose = [
        made.parent
        for made in after.decompositions
        if _was_resolved(after, made.parent) and then.get(made.parent) != made.children
    ]
    atoms = {n: replace(after.atoms[n], status=Status.PENDING) for n in loose}
    return replace(
        after,
        atoms={**after.atoms, **atoms},
        bindings={n: b for n, b in after.bindings.items() if n not in loose},
    )


# --- for the Trail -------------------------------------------------------------------------------


def taken_choices(before: Plan, after: Plan) -> tuple[str, ...]:
    """Choices that are in force now because the person took them, or gave up others."""
    known = ((before.groups[n], g) for n, g in after.groups.items() if n in before.groups)
    chosen = ((selected(before, was), selected(after, now)) for was, now in known)
    return tuple(now for was, now in chosen if now is not None and now != was)


def first_change(before: Plan, after: Plan) -> str:
    """The first atom that is new, gone, or not what it was; else the first of all."""
    changed: tuple[str, ...] = (
        *(n for n in after.atoms if n not in before.atoms),
        *(n for n in before.atoms if n not in after.atoms),
        *(n for n, atom in after.atoms.items() if before.atoms.get(n) != atom),
        *after.atoms,
    )
    return changed[0]
