"""The quantity that must dwindle, its one-number gauge, and the bound on sessions.

The measure is eleven natural numbers, compared from the left. Every event that changes the plan
lowers it; `proof/` shows that such a sequence is finite and how long it can be at most.

    E redirects left         V verification rounds                     A attempts + probes left
    L forgiven sessions left F fuel: atoms that may still be created   Q undecided nodes
    W winds left             J backjumps left                          I sessions in flight
                             C choices not yet failed                  T 1 while running

A tree has no backjumps. There J is the number of planning sessions that have not ended, over all
open nodes: what gives a rewritten leaf its attempts back is the end of one of its planning
sessions, or one that is given up for it.

A wind refills V, J, C and A and may put parts of the plan back into Q; so it is paid from W, which
stands left of all of them and of fuel, which it leaves alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from dwindle.kernel.graph import failures, max_attempts, probes_left, selected, unfailed, view
from dwindle.kernel.model import Atom, Dispatch, Limits, Plan, PlanKind, Role, RunStatus, Status

TREE_ATTEMPTS = 10
"""What an agent may grant a node of a tree that it makes."""


class Measure(NamedTuple):
    redirects: int
    forgiven: int
    winds: int
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
        winds=winds_left(plan),
        rounds=rounds_left(plan),
        fuel=fuel(plan),
        backjumps=_plannings_left(plan)
        if plan.kind is PlanKind.TREE
        else limits.max_backjumps - spent.backjumps,
        choices=seen.choices_left,
        attempts=seen.attempts_left,
        undecided=seen.undecided,
        in_flight=len(plan.sessions),
        running=int(plan.control.status is RunStatus.RUNNING),
    )


def _plannings_left(plan: Plan) -> int:
    return sum(left for _, left in _unended_plannings(plan))


def _unended_plannings(plan: Plan) -> Iterator[tuple[Atom, int]]:
    """Of each open node of a tree: its planning sessions that are left, or under way."""
    for name, atom in plan.atoms.items():
        session = plan.sessions.get(name)
        under_way = session is not None and session.role is Role.PROBE
        if atom.status is not Status.RESOLVED:
            yield atom, probes_left(plan, atom) + under_way


def fuel(plan: Plan) -> int:
    return plan.limits.max_atoms - plan.spent.created


def spare_fuel(plan: Plan) -> int:
    """Fuel that growth may use: what unwritten alternatives will need is set aside."""
    return fuel(plan) - view(plan).reserve


def rounds_left(plan: Plan) -> int:
    return plan.limits.max_verifications - plan.spent.verifications


def winds_left(plan: Plan) -> int:
    return plan.limits.max_winds - plan.spent.winds


def luby(number: int) -> int:
    """1, 1, 2, 1, 1, 2, 4, ...: by how much a wind, counted from 1, multiplies the attempts.

    It ends a block of 2^n - 1 numbers with 2^(n-1), and begins each block with all before it.
    """
    size = 1 << number.bit_length()
    if number == size - 1:
        return size // 2
    return luby(number - size // 2 + 1)


def largest_luby(winds: int) -> int:
    """The largest multiple among the first so many winds; without winds it is once."""
    return 1 << max(0, (winds + 1).bit_length() - 2)


def _most_attempts(plan: Plan) -> int:
    """What any atom can have been granted at most, in any wind."""
    granted = TREE_ATTEMPTS if plan.kind is PlanKind.TREE else 1
    base, most = max(plan.limits.max_attempts, granted), 0
    for atom in plan.atoms.values():
        base, most = max(base, atom.max_attempts or 0), max(most, atom.allowed or 0)
    return max(most, base * largest_luby(plan.limits.max_winds))


def gauge(plan: Plan) -> int:
    """One natural number that falls by at least one with every event that changes the plan.

    A run at rest may be run again and counts as one that runs: so a stop leaves the gauge as it is,
    and going on does not raise it. Nothing but a redirect that raises limits does.

    The weights make up for what a step may raise to its right: a new atom brings its attempts
    and itself, a backjump may give every atom its attempts back, a wind refills nearly all, and a
    redirect may reset everything. They are the smallest that do (`proof/obligations.py`).
    """
    m, limits = measure(plan), plan.limits
    per_atom = 2 * (_most_attempts(plan) + limits.max_probes)
    fuel_weight = per_atom + 3
    jump_weight = limits.max_atoms * (per_atom + 2) + 1
    if plan.kind is PlanKind.TREE:  # one leaf has its attempts back, and a new node brings J too
        jump_weight = 2 * _most_attempts(plan)
        fuel_weight += jump_weight * limits.max_probes
    refilled = jump_weight * limits.max_backjumps + 2 * limits.max_verifications
    wind_weight = limits.max_atoms * (per_atom + 3) + refilled + 2
    reset = (
        (fuel_weight + 1) * limits.max_atoms
        + refilled
        + wind_weight * limits.max_winds
        + 2 * limits.max_forgiven
        + 3
    )
    return (
        m.redirects * reset
        + 2 * m.forgiven
        + wind_weight * m.winds
        + 2 * m.rounds
        + fuel_weight * m.fuel
        + jump_weight * m.backjumps
        + m.choices
        + 2 * m.attempts
        + m.undecided
        + m.in_flight
        + int(plan.control.status is not RunStatus.COMPLETED)
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
    if plan.kind is PlanKind.TREE:
        return _bound_of_tree(plan)
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
    jumps = min(m.backjumps, untried + max(0, m.fuel - 1))
    grown = m.fuel * (most + limits.max_probes)
    now = m.attempts + grown + m.rounds + m.forgiven + (asleep if jumps else 0)
    return now + min(
        _refills(jumps, own + most * m.fuel, 1) + m.winds * _bound_of_wind(limits, most, 1),
        _refills(jumps, most * (leaves + m.fuel), most)
        + m.winds * _bound_of_wind(limits, most, most),
    )


def _bound_of_tree(plan: Plan) -> int:
    """What is left, what each planning session may give back, and the same of all new nodes."""
    m, limits, shape = measure(plan), plan.limits, view(plan).shape
    most = _most_attempts(plan)
    given_back = sum(max_attempts(plan, a, shape) * n for a, n in _unended_plannings(plan))
    per_node = most + limits.max_probes * (most + 1)
    return m.attempts + given_back + m.fuel * per_node + m.forgiven


def _refills(jumps: int, pool: int, fewest: int) -> int:
    """Attempts that so many backjumps give back: each buries at least `fewest` of the pool."""
    return sum(max(0, pool - j * fewest) for j in range(1, jumps + 1))


def _bound_of_wind(limits: Limits, most: int, fewest: int) -> int:
    """What one wind can bring at most: every atom there may be, all rounds, all backjumps."""
    atoms = limits.max_atoms
    refilled = _refills(limits.max_backjumps, most * atoms, fewest)
    return atoms * (most + limits.max_probes) + limits.max_verifications + refilled


def _bound_by_iterations(plan: Plan) -> int:
    limits, pace = plan.limits, plan.pace
    batches = max(0, limits.max_iterations - plan.control.iteration)
    width = limits.max_parallel_agents
    if limits.dispatch is Dispatch.REFILL:
        current = max(0, width - pace.started) if pace.started else 0
    else:
        current = max(0, width - len(plan.sessions)) if pace.generation and pace.filling else 0
    m = measure(plan)
    rounds = m.rounds + m.winds * limits.max_verifications
    return batches * width + current + rounds + m.forgiven


def combinations_tried(plan: Plan) -> int:
    """How many selections over all groups have been in force, at least; never claimed to be all.

    A wind takes choices out of `failed`; that they were tried, their failures still tell.
    """
    failed = failures(plan)
    tried = (
        sum(c in (*g.failed, selected(plan, g)) or failed.get(c, 0) > 0 for c in g.choices)
        for g in plan.groups.values()
    )
    return 1 + sum(number - 1 for number in tried)
