"""How each atom stands in its plan, in one word.

`status` runs at every turn, so this module imports neither the events nor `decide`.
"""

from __future__ import annotations

from collections.abc import Container
from enum import StrEnum

from dwindle.kernel.graph import view
from dwindle.kernel.model import AtomId, Plan, Status
from dwindle.kernel.winds import parked


class AtomStanding(StrEnum):
    RESOLVED = "resolved"
    RUNNING = "running"
    READY = "ready"
    EXHAUSTED = "exhausted"
    """Its attempts are used up, and the ladder has a step left for it."""
    PARKED = "parked"
    """Nothing is left to try for it, for now."""
    WAITING = "waiting"
    SPLIT = "split"
    """Done when its children are."""
    RESERVE = "reserve"
    """In a choice that is not the one in force."""
    FAILED = "failed"
    """At or under a choice that was given up."""


def standings(plan: Plan) -> dict[AtomId, AtomStanding]:
    """Of every atom, in file order."""
    seen = view(plan)
    ready, exhausted = frozenset(seen.ready), frozenset(seen.exhausted)
    stuck = frozenset(one.name for one in parked(plan))
    return {name: standing_of(plan, name, ready, exhausted, stuck) for name in plan.atoms}


def standing_of(
    plan: Plan,
    name: AtomId,
    ready: Container[str],
    exhausted: Container[str],
    stuck: Container[str],
) -> AtomStanding:
    """Of one atom; ready and exhausted are those of the plan's view, stuck is what is parked."""
    found = _above_leaves(plan, name)
    if found is not None:
        return found
    if name in ready:
        return AtomStanding.READY
    if name not in exhausted:
        return AtomStanding.WAITING
    return AtomStanding.PARKED if name in stuck else AtomStanding.EXHAUSTED


def _above_leaves(plan: Plan, name: AtomId) -> AtomStanding | None:
    """The standing, where it does not depend on whether the atom could start."""
    seen, atom = view(plan), plan.atoms[name]
    if name in seen.buried:
        return AtomStanding.FAILED
    if atom.status is Status.RESOLVED:
        return AtomStanding.RESOLVED
    if name in plan.sessions or atom.status is Status.IN_PROGRESS:
        return AtomStanding.RUNNING
    if name not in seen.live:
        return AtomStanding.RESERVE
    return AtomStanding.SPLIT if name in seen.shape.kids else None


def open_atoms(plan: Plan) -> tuple[AtomId, ...]:
    """Live and not resolved, in file order."""
    live = view(plan).live
    return tuple(
        name
        for name, atom in plan.atoms.items()
        if name in live and atom.status is not Status.RESOLVED
    )


def open_leaves(plan: Plan) -> tuple[AtomId, ...]:
    """From left to right."""
    inner = view(plan).shape.kids
    return tuple(name for name in open_atoms(plan) if name not in inner)
