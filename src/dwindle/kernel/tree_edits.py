"""What an agent made of a task tree, taken over into the plan.

In a tree the agent edits the file itself and the runner judges the difference; what may be changed
at all is for the file's format to say. Here is what the measure needs: nodes that are there already
keep their status and their counters whatever the agent wrote, new ones are paid from fuel and begin
at nothing, and ones that are gone never come back under the same id. An edit may not leave a tree
without open work: only a green guard ends one.

An inner node that loses its children is a leaf again. So that this refills nothing, the attempts
and planning sessions of every open node of a tree count in the measure, those of inner ones too.

A leaf without attempts that is given another goal or acceptance is another piece of work, and has
its attempts back. It pays a planning session of its own for that: the one that rewrote it, or else
one that is left. Otherwise two leaves could rewrite each other for ever.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dwindle.kernel.graph import base_attempts, probes_left, view
from dwindle.kernel.measure import fuel
from dwindle.kernel.model import (
    Atom,
    AtomId,
    Decomposition,
    Plan,
    PlanKind,
    Problem,
    Status,
    TreeEdit,
)

TREE_ROOT = AtomId("root")
MOST_REPAIRS = 2
"""Repairs in a row; after that the next leaf is taken, as if nothing had been refused."""


def is_refused(plan: Plan) -> bool:
    """The last edit was refused, and not too often yet: the next session repairs the tree."""
    return 0 < plan.refused_edits <= MOST_REPAIRS


def wants_repair(plan: Plan) -> bool:
    """There is something to repair, and a planning session of the root is left for it."""
    if plan.kind is not PlanKind.TREE or not is_refused(plan):
        return False
    return probes_left(plan, plan.atoms[TREE_ROOT]) > 0


def edit_problems(plan: Plan, edit: TreeEdit) -> Iterator[Problem]:
    """Why an edit that the format allows cannot be taken all the same; all reasons."""
    ids = [node.id for node in edit.nodes]
    new = [name for name in ids if name not in plan.atoms]
    if len(new) > fuel(plan):
        yield Problem(
            where=("root",),
            what=f"{len(new)} new nodes, and {fuel(plan)} more may be made (max_nodes)",
            hint="plan with fewer",
        )
    inner = {node.parent for node in edit.nodes}
    left = (n for n in ids if n not in inner)
    if not any(n not in plan.atoms or plan.atoms[n].status is not Status.RESOLVED for n in left):
        yield Problem(
            where=("root",),
            what="no open leaf is left, and nothing was done that a guard could pass",
            hint="replace what is not wanted by what is, instead of only removing it",
        )
    gone = [n for n, a in plan.atoms.items() if a.status is Status.RESOLVED and n not in ids]
    tops = [node.id for node in edit.nodes if node.parent is None]
    if gone or tops != [TREE_ROOT] or len(set(ids)) != len(ids):
        yield Problem(
            where=("root",),
            what="this is no tree that follows from the last one",
            hint="keep what has passed, one root, and each id once",
        )


def edited(plan: Plan, edit: TreeEdit, planner: AtomId | None = None) -> Plan:
    """The plan with the tree as the agent left it; the runner's own fields are its own.

    `planner` is the node whose planning session made the edit, if one did.
    """
    atoms: dict[AtomId, Atom] = {}
    children: dict[AtomId, list[AtomId]] = {}
    for node in edit.nodes:
        known = plan.atoms.get(node.id)
        atoms[node.id] = (
            Atom(id=node.id, description=node.description, max_attempts=node.max_attempts)
            if known is None
            else replace(known, description=node.description)
        )
        if node.parent is not None:
            children.setdefault(node.parent, []).append(node.id)
    new = sum(1 for name in atoms if name not in plan.atoms)
    titles = {node.id: node.title for node in edit.nodes}
    after = replace(
        plan,
        atoms=atoms,
        decompositions=tuple(
            Decomposition(parent=name, children=tuple(children[name]), reason=titles[name])
            for name in atoms
            if name in children
        ),
        bindings={n: b for n, b in plan.bindings.items() if n in atoms},
        spent=replace(plan.spent, created=plan.spent.created + new),
    )
    again = {n: _begun_anew(after, n, is_paid=n == planner) for n in edit.rewritten}
    return replace(after, atoms={**after.atoms, **again})


def _begun_anew(plan: Plan, name: AtomId, *, is_paid: bool) -> Atom:
    """The node with its attempts back, if it is a leaf that has used them up and can pay."""
    atom, shape = plan.atoms[name], view(plan).shape
    most = base_attempts(plan, atom, shape)
    is_spent = atom.status is not Status.RESOLVED and 0 < most <= atom.attempts
    if name in shape.kids or not is_spent or not (is_paid or probes_left(plan, atom)):
        return atom
    return replace(atom, attempts=0, probes=atom.probes + (not is_paid))
