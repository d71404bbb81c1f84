"""Graphs that a person might make of a plan by hand: one small change each, sensible or not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dwindle.kernel.events import RewriteGraph
from dwindle.kernel.model import Atom, AtomId, Decomposition, GroupId, OrGroup, Plan, Status

NEW = Atom(id=AtomId("B1"), description="new")


def rewrites(plan: Plan) -> Iterator[RewriteGraph]:
    """Every such graph, in a fixed order; the kernel may refuse any of them."""
    yield from _of_atoms(plan)
    yield from _of_places(plan)
    yield from _of_groups(plan)


def _of_atoms(plan: Plan) -> Iterator[RewriteGraph]:
    atoms = tuple(plan.atoms.values())
    yield rewritten(plan, atoms=(*atoms, NEW))
    yield rewritten(plan, atoms=(replace(NEW, depends_on=(atoms[0].id,)), *atoms))
    for atom in atoms:
        yield rewritten(plan, atoms=(a for a in atoms if a is not atom))
        yield with_atom(plan, replace(atom, description="something else"))
        yield with_atom(plan, replace(atom, status=Status.PENDING))
        yield with_atom(plan, replace(atom, depends_on=()))
        for other in atoms:
            if other is not atom:
                yield with_atom(plan, replace(atom, depends_on=(other.id,)))


def _of_places(plan: Plan) -> Iterator[RewriteGraph]:
    """Another child, no child, a new parent."""
    atoms, made = tuple(plan.atoms.values()), plan.decompositions
    for atom in atoms:
        if all(atom.id != d.parent for d in made):
            below = Decomposition(parent=atom.id, children=(NEW.id,), reason="by hand")
            yield rewritten(plan, atoms=(*atoms, NEW), decompositions=(*made, below))
        if all(atom.id not in d.children for d in made):
            above = Decomposition(parent=NEW.id, children=(atom.id,), reason="by hand")
            yield rewritten(plan, atoms=(*atoms, NEW), decompositions=(*made, above))
    for one in made:
        yield rewritten(plan, decompositions=(d for d in made if d is not one))


def _of_groups(plan: Plan) -> Iterator[RewriteGraph]:
    """Another choice in force, none failed, all failed but one, a race, no group, a new one."""
    atoms, groups = tuple(plan.atoms.values()), tuple(plan.groups.values())
    for group in groups:
        yield with_group(plan, replace(group, failed=()))
        yield with_group(plan, replace(group, speculative=not group.speculative))
        for choice in group.choices:
            others = tuple(c for c in group.choices if c != choice)
            yield with_group(plan, replace(group, selected=choice, failed=()))
            yield with_group(plan, replace(group, selected=choice, failed=others))
        free = (replace(a, or_group=None) if a.or_group == group.id else a for a in atoms)
        yield rewritten(plan, atoms=free, groups=(g for g in groups if g is not group))
    for atom in atoms:
        if atom.or_group is None:
            name = GroupId("or_new")
            new = OrGroup(id=name, choices=(atom.id, NEW.id), selected=NEW.id)
            listed = (replace(a, or_group=name) if a is atom else a for a in atoms)
            yield rewritten(
                plan, atoms=(*listed, replace(NEW, or_group=name)), groups=(*groups, new)
            )


def with_atom(plan: Plan, atom: Atom) -> RewriteGraph:
    return rewritten(plan, atoms=(atom if a.id == atom.id else a for a in plan.atoms.values()))


def with_group(plan: Plan, group: OrGroup) -> RewriteGraph:
    return rewritten(plan, groups=(group if g.id == group.id else g for g in plan.groups.values()))


def rewritten(
    plan: Plan,
    *,
    atoms: Iterator[Atom] | tuple[Atom, ...] | None = None,
    decompositions: Iterator[Decomposition] | tuple[Decomposition, ...] | None = None,
    groups: Iterator[OrGroup] | tuple[OrGroup, ...] | None = None,
) -> RewriteGraph:
    """The graph as it is, with these parts of it replaced."""
    return RewriteGraph(
        atoms=tuple(plan.atoms.values() if atoms is None else atoms),
        decompositions=tuple(plan.decompositions if decompositions is None else decompositions),
        groups=tuple(plan.groups.values() if groups is None else groups),
    )
