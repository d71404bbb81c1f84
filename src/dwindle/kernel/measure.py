"""The quantity that must dwindle, its one-number gauge, and the bound on sessions.

The measure is ten natural numbers, compared from the left. Every event that changes the plan
lowers it; `proof/` shows that such a sequence is finite and how long it can be at most.

    E redirects left         F fuel: atoms that may still be created   A attempts + probes left
    L forgiven sessions left J backjumps left                          Q undecided nodes
    V verification rounds    C choices not yet failed                  I sessions in flight
                                                                       T 1 while running
"""

from __future__ import annotations

from typing import NamedTuple

from dwindle.kernel.graph import max_attempts, probes_left, unfailed, view
from dwindle.kernel.model import Dispatch, Plan, PlanKind, RunStatus, Status

TREE_ATTEMPTS = 10
"""What an agent may grant a node of a tree that it makes."""


class Measure(NamedTuple):
    redirects: int
    forgiven: int
    rounds: int
    fuel: int
    backjumps: int
    choices: int
    attempts: int
    undecided: int
    in_flight: int
    running: int


def measure(plan: Plan) -> Measure:
    limits, spent, seen = plan.limits, plan.spent, view(plan)
    return Measure(
        redirects=limits.max_redirects - spent.redirects,
        forgiven=limits.max_forgiven - spent.forgiven,
        rounds=rounds_left(plan),
        fuel=fuel(plan),
        backjumps=limits.max_backjumps - spent.backjumps,
        choices=seen.choices_left,
        attempts=seen.attempts_left,
        undecided=seen.undecided,
        in_flight=len(plan.sessions),
        running=int(plan.control.status is RunStatus.RUNNING),
    )


def fuel(plan: Plan) -> int:
    return plan.limits.max_atoms - plan.spent.created


def spare_fuel(plan: Plan) -> int:
    """Fuel that growth may use: what unwritten alternatives will need is set aside."""
    return fuel(plan) - view(plan).reserve


def rounds_left(plan: Plan) -> int:
    return plan.limits.max_verifications - plan.spent.verifications


def _most_attempts(plan: Plan) -> int:
    own = (a.max_attempts for a in plan.atoms.values() if a.max_attempts is not None)
    granted = TREE_ATTEMPTS if plan.kind is PlanKind.TREE else 1
    return max(plan.limits.max_attempts, granted, *own)


def gauge(plan: Plan) -> int:
    """One natural number that falls by at least one with every event that changes the plan.

    The weights make up for what a step may raise to its right: a new atom brings its attempts
    and itself, a backjump may give every atom its attempts back, a redirect may reset all. They
    are the smallest that do (`proof/obligations.py`).
    """
    m, limits = measure(plan), plan.limits
    per_atom = 2 * (_most_attempts(plan) + limits.max_probes)
    fuel_weight = per_atom + 3
    jump_weight = limits.max_atoms * (per_atom + 2) + 1
    reset = (
        (fuel_weight + 1) * limits.max_atoms
        + jump_weight * limits.max_backjumps
        + 2 * limits.max_verifications
        + 2 * limits.max_forgiven
        + 3
    )
    return (
        m.redirects * reset
        + 2 * m.forgiven
        + 2 * m.rounds
        + fuel_weight * m.fuel
        + jump_weight * m.backjumps
        + m.choices
        + 2 * m.attempts
        + m.undecided
        + m.in_flight
        + m.running
    )


def session_bound(plan: Plan) -> int:
    """How many more agent sessions there can be at most, unless a person redirects."""
    return min(_bound_by_attempts(plan), _bound_by_iterations(plan))


def _bound_by_attempts(plan: Plan) -> int:
    """Charged attempts, what fuel can add, what the pool can give back, what backjumps can refill.

    A backjump buries at least one leaf and refills the attempts of the others; it also wakes the
    unused probes of what was resolved. There are at most as many as untried choices; proposing k
    alternatives gives its proposer up, so fuel can add only all but one of what it buys.
    `proof/Sessions.v` shows that this falls with every session and rises with none but a redirect.
    """
    m, limits, seen = measure(plan), plan.limits, view(plan)
    most = _most_attempts(plan)
    leaves = own = asleep = 0
    for name, atom in plan.atoms.items():
        if name not in seen.buried and name not in seen.shape.kids:
            leaves += 1
            own += max_attempts(plan, atom, seen.shape)
            if atom.status is Status.RESOLVED:
                asleep += probes_left(plan, atom)
    untried = sum(
        max(0, len(unfailed(g)) - 1) for n, g in plan.groups.items() if n not in seen.buried
    )
    jumps = range(1, min(m.backjumps, untried + max(0, m.fuel - 1)) + 1)
    refilled = min(
        sum(max(0, own + most * m.fuel - j) for j in jumps),
        sum(max(0, most * (leaves + m.fuel - j)) for j in jumps),
    )
    grown = m.fuel * (most + limits.max_probes)
    return m.attempts + grown + m.rounds + m.forgiven + refilled + (asleep if jumps else 0)


def _bound_by_iterations(plan: Plan) -> int:
    limits, pace = plan.limits, plan.pace
    batches = max(0, limits.max_iterations - plan.control.iteration)
    width = limits.max_parallel_agents
    if limits.dispatch is Dispatch.REFILL:
        current = max(0, width - pace.started) if pace.started else 0
    else:
        current = max(0, width - len(plan.sessions)) if pace.generation and pace.filling else 0
    m = measure(plan)
    return batches * width + current + m.rounds + m.forgiven


def combinations_tried(plan: Plan) -> int:
    """How many selections over all groups have been in force; never claimed to be all of them."""
    return 1 + sum(len(g.failed) - (not unfailed(g)) for g in plan.groups.values())
