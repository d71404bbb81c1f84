"""Consequences that need no news, drawn until nothing more follows.

Two rules. A named alternative that became live is written out, which costs fuel. An atom whose
children are all resolved is resolved, which leaves one node less undecided. Each lowers the
measure by itself, so an event together with all that follows from it does so too.
"""

from __future__ import annotations

from dataclasses import replace

from dwindle.kernel.branches import with_trail
from dwindle.kernel.graph import restated, view, with_atom
from dwindle.kernel.growth import with_written_choice
from dwindle.kernel.model import AtomId, Binding, GroupId, Plan, Status, TrailEntry


def settle(plan: Plan, at: str) -> Plan:
    while unsettled := view(plan).unsettled:
        plan = settled_once(plan, unsettled[0], at)
    return plan


def settled_once(plan: Plan, node: str, at: str) -> Plan:
    if node in plan.atoms:
        return joined(plan, AtomId(node), at)
    return with_written_choice(plan, AtomId(node))


def race_won(plan: Plan, group: GroupId, winner: AtomId, at: str) -> Plan:
    """The first choice that got there is recorded; the others are left as they are."""
    decided = replace(plan.groups[group], selected=winner)
    plan = restated(plan, groups={**plan.groups, group: decided})
    entry = TrailEntry(
        or_group=group, selected=winner, reason=f"{winner} was the first to succeed", timestamp=at
    )
    return with_trail(plan, entry)


def joined(plan: Plan, atom: AtomId, at: str) -> Plan:
    """All children are resolved, so the parent is, and points to them."""
    children = next(d.children for d in plan.decompositions if d.parent == atom)
    live = view(plan).live
    listed = ", ".join(c for c in children if c in live)
    return resolved(plan, atom, Binding(summary=f"Completed via {listed} resolution"), at)


def resolved(plan: Plan, atom: AtomId, binding: Binding, at: str) -> Plan:
    """The atom is done and stands for its binding; if it was racing, it has won."""
    bindings = {**plan.bindings, atom: binding}
    after = replace(plan.atoms[atom], status=Status.RESOLVED)
    group = GroupId(view(plan).shape.parent[atom])
    plan = with_atom(plan, after, bindings=bindings)
    if group in plan.groups and plan.groups[group].speculative:
        return race_won(plan, group, atom, at)
    return plan
