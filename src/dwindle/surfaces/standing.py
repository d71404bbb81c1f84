"""In one word, how an atom stands in its plan."""

from __future__ import annotations

from enum import StrEnum

from dwindle.kernel.graph import view
from dwindle.kernel.model import AtomId, Plan, Status


class Standing(StrEnum):
    RESOLVED = "resolved"
    RUNNING = "running"
    READY = "ready"
    EXHAUSTED = "exhausted"
    """Its attempts are used up."""
    WAITING = "waiting"
    SPLIT = "split"
    """Done when its children are."""
    RESERVE = "reserve"
    """In a choice that is not the one in force."""
    FAILED = "failed"
    """At or under a choice that was given up."""


def standings(plan: Plan) -> dict[AtomId, Standing]:
    """Of every atom, in file order."""
    ready, exhausted = frozenset(view(plan).ready), frozenset(view(plan).exhausted)
    return {name: standing_of(plan, name, ready, exhausted) for name in plan.atoms}


def standing_of(
    plan: Plan, name: AtomId, ready: frozenset[AtomId], exhausted: frozenset[AtomId]
) -> Standing:
    """Of one atom; the sets are those of the plan's view."""
    found = _above_leaves(plan, name)
    if found is not None:
        return found
    if name in ready:
        return Standing.READY
    return Standing.EXHAUSTED if name in exhausted else Standing.WAITING


def _above_leaves(plan: Plan, name: AtomId) -> Standing | None:
    """What is known without asking whether it could start."""
    seen, atom = view(plan), plan.atoms[name]
    if name in seen.buried:
        return Standing.FAILED
    if atom.status is Status.RESOLVED:
        return Standing.RESOLVED
    if name in plan.sessions or atom.status is Status.IN_PROGRESS:
        return Standing.RUNNING
    if name not in seen.live:
        return Standing.RESERVE
    return Standing.SPLIT if name in seen.shape.kids else None


def open_atoms(plan: Plan) -> tuple[AtomId, ...]:
    """Live and not resolved, in file order."""
    live = view(plan).live
    return tuple(
        name
        for name, atom in plan.atoms.items()
        if name in live and atom.status is not Status.RESOLVED
    )
