"""Limits that fit a plan, and what they mean: how many sessions to expect, and how many at most.

A limit that everybody meets is no safety net. What ends a run in good time is its budget and its
base case; the counters are there so that it ends in any case. So they are proposed from the size of
the plan: enough for agents that succeed three times out of ten, and so many iterations that every
leaf can use up its attempts in every wind. A hopeless plan then ends because nothing is left to
try, which names what is hopeless, and not because a counter ran out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from dwindle.kernel.graph import base_attempts, is_race, is_resolved, view
from dwindle.kernel.measure import luby
from dwindle.kernel.model import Dispatch, Plan, Problem, Status
from dwindle.kernel.pace import iterations_left

ATTEMPTS = 10
"""For an atom of a plan that sets no attempts. Atoms take turns, so many attempts hold up no other
atom; few of them send healthy work into probes and winds (docs/decisions/0031)."""
WINDS = 6
"""With so many attempts: all winds together grant an atom eight times as many."""
GENEROUS = 40
"""How many times the sessions that are to be expected a run may have at least: plans grow."""
USUAL_SUCCESS = 0.5
"""How often a session on an atom is expected to succeed."""
SESSION_SECONDS = 900
"""What a session on an atom is taken to last, check included."""
HOUR = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """What there is to do."""

    tasks: int
    """Leaves that have to be resolved: of a group one."""
    other_ways: int
    """Choices beyond the first of each group."""


def size_of(plan: Plan) -> Size:
    """Of what is still to be done."""
    seen = view(plan)
    leaves = [
        name
        for name, atom in plan.atoms.items()
        if atom.status is not Status.RESOLVED and name not in seen.shape.kids
    ]
    tasks = sum(name in seen.live and name not in seen.racing for name in leaves)
    races = sum(is_race(plan, group) and group.id in seen.live for group in plan.groups.values())
    others = sum(name not in seen.live and name not in seen.buried for name in leaves)
    return Size(tasks=tasks + races, other_ways=others)


def expected_sessions(size: Size, success: float = USUAL_SUCCESS) -> int:
    """Each task as often as it takes, and each other way once."""
    return round(size.tasks / success + size.other_ways)


def with_proposed_limits(plan: Plan, given: tuple[str, ...] = ()) -> Plan:
    """The plan with limits that fit it; those that it states, or that are `given`, stay.

    The ways of a choice take turns, so each of them gets as many attempts as any other atom, unless
    the attempts are given.
    """
    kept = (*plan.limits.stated, *given)
    plan = _with_tries(plan, kept)
    limits = plan.limits
    for name, value in _fitting(plan).items():
        if name not in kept:
            limits = replace(limits.stating(name), **{name: value})  # type: ignore[arg-type]
    return replace(plan, limits=limits)


def _with_tries(plan: Plan, kept: tuple[str, ...]) -> Plan:
    """With the attempts and the winds that are proposed."""
    limits, atoms = plan.limits, plan.atoms
    if "max_winds" not in kept:
        limits = replace(limits.stating("max_winds"), max_winds=WINDS)
    if "max_attempts" not in kept:
        limits = replace(limits.stating("max_attempts"), max_attempts=ATTEMPTS)
        choices = [c for group in plan.groups.values() for c in group.choices]
        atoms = {
            name: replace(atom, max_attempts=ATTEMPTS)
            if name in choices and atom.max_attempts is None
            else atom
            for name, atom in atoms.items()
        }
    return replace(plan, limits=limits, atoms=atoms)


def _fitting(plan: Plan) -> dict[str, int]:
    """Limits for a plan of this size with these attempts and winds, by name.

    Iterations let every leaf have all that its winds can grant it. In `refill` an iteration is as
    many sessions as may run side by side; in `wave` it may be a single one. The wall clock allows
    for the sessions of agents that succeed three times out of ten, and besides for one leaf that
    uses up everything, one attempt after the other; never for less than a day.
    """
    limits, size = plan.limits, size_of(plan)
    each = [_granted(plan, attempts) for attempts in _attempts_of_leaves(plan)]
    width = limits.max_parallel_agents
    batch = width if limits.dispatch is Dispatch.REFILL else 1
    sessions = max(sum(each), GENEROUS * expected_sessions(size))
    slow = expected_sessions(size, 0.3) // width + max(each, default=0)
    return {
        "max_iterations": max(limits.max_iterations, -(-sessions // batch)),
        "max_stall_count": max(limits.max_stall_count, limits.max_attempts),
        "max_wall_seconds": max(limits.max_wall_seconds, -(-slow * SESSION_SECONDS // HOUR) * HOUR),
    }


def _attempts_of_leaves(plan: Plan) -> list[int]:
    """What each leaf that may have to be done is granted in the first place, written or not."""
    seen, shape = view(plan), view(plan).shape
    written = [
        base_attempts(plan, atom, shape)
        for name, atom in plan.atoms.items()
        if name not in shape.kids and name not in seen.buried and not is_resolved(plan, name)
    ]
    return written + [1] * seen.reserve


def _granted(plan: Plan, attempts: int) -> int:
    """Sessions that a leaf can have at most: attempts and probes, at first and in each wind."""
    limits = plan.limits
    winds = range(1, limits.max_winds + 1)
    again = limits.max_winds if limits.max_probes else 0
    return attempts * (1 + sum(map(luby, winds))) + limits.max_probes + again


def too_few_sessions(plan: Plan) -> Iterator[Problem]:
    """A warning, if the iterations that are left will be met before the work can be done."""
    expected = expected_sessions(size_of(plan))
    width = plan.limits.max_parallel_agents
    left = max(0, iterations_left(plan))
    enough = plan.control.iteration + -(-2 * expected // width)
    if expected > left * width:
        yield Problem(
            where=("objective", "constraints", "max_iterations"),
            what=f"about {expected} sessions are to be expected (one in two succeeds), and {left} "
            f"iterations of {width} allow {left * width}: the run will end before it is done",
            hint=f"raise it to {enough} or more: `dwindle redirect --set max_iterations={enough}`",
            warning=True,
        )
