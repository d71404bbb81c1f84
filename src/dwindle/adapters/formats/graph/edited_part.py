"""The part of a graph plan that a person may edit, as text for their editor.

It has the form of the file, without what belongs to the machine: no `control`, no counters, no
Trail. What comes back is read as a draft, so that a new atom needs no more than an id and a
description. Two limits are spelt out even where the file leaves them to their defaults, because a
draft without them means something else.
"""

from __future__ import annotations

from dataclasses import replace

from dwindle.adapters.formats.graph import encode as write
from dwindle.adapters.formats.graph.writer import Fragments
from dwindle.kernel.model import Plan

SPELT_OUT = ("max_atoms", "dispatch")


def edited_part(plan: Plan) -> str:
    """The objective with its limits, atoms, decompositions, groups and bindings."""
    limits = plan.limits
    for name in SPELT_OUT:
        limits = limits.stating(name)
    atoms = {n: atom.unspent() for n, atom in plan.atoms.items()}
    sections = (
        Fragments("atoms", "[]", write.atom).section(atoms, atoms.items()),
        Fragments("decompositions", "[]", write.decomposition).section(
            plan.decompositions, enumerate(plan.decompositions)
        ),
        Fragments("or_groups", "{}", write.group).section(plan.groups, plan.groups.items()),
        Fragments("bindings", "{}", write.binding).section(plan.bindings, plan.bindings.items()),
    )
    return write.objective(replace(plan, limits=limits)) + b"".join(sections).decode()
