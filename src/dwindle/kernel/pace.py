"""Iterations, generations and stalls: how far a run has come, and whether it is getting anywhere.

An iteration is a batch: in `wave` what is started together, in `refill` every
`max_parallel_agents` starts. It counts against `max_iterations` when it begins.

A generation is the sessions in flight when it began; it is over when all of them have ended. It
was a stall if nothing was resolved, no rung above the first was climbed, and not all of it was
forgiven. Counting failed sessions instead would call three first failures of one wave a stall,
and counting batches would do so in `refill` while healthy retries are running.
"""

from __future__ import annotations

from dataclasses import replace

from dwindle.kernel.graph import base_attempts, evolve, view
from dwindle.kernel.model import ROOT, Dispatch, Pace, Plan, PlanKind


def crew_size(plan: Plan) -> int:
    """Worker and probe sessions in flight."""
    return len(plan.sessions) - (ROOT in plan.sessions)


def begins_iteration(plan: Plan) -> bool:
    """Would a start now be the first of a new iteration?"""
    if plan.limits.dispatch is Dispatch.WAVE:
        return crew_size(plan) == 0
    return plan.pace.started in (0, *range(plan.limits.max_parallel_agents, plan.pace.started + 1))


def may_start(plan: Plan) -> bool:
    """Is there room for a worker or probe, as far as width and dispatch go?"""
    crew = crew_size(plan)
    if crew >= plan.limits.max_parallel_agents:
        return False
    return plan.limits.dispatch is Dispatch.REFILL or crew == 0 or plan.pace.filling


def iterations_left(plan: Plan) -> int:
    return plan.limits.max_iterations - plan.control.iteration


def counted_start(before: Plan, after: Plan, nonce: int) -> Plan:
    """A worker or probe has been started: count it."""
    pace, control = before.pace, before.control
    begins = begins_iteration(before)
    iteration = control.iteration + begins
    started = (1 if begins else pace.started + 1) if _refills(before) else 0
    generation = (*pace.generation, nonce) if pace.filling else pace.generation
    previous = control.prev_pending_count
    if _refills(before) and started >= before.limits.max_parallel_agents:
        previous = view(after).open_count
    return evolve(
        after,
        pace=replace(pace, started=started, generation=generation),
        control=replace(after.control, iteration=iteration, prev_pending_count=previous),
    )


def counted_end(before: Plan, after: Plan, *, advanced: bool, forgiven: bool) -> Plan:
    """Sessions that are gone since `before` have ended: judge their generation if it is over."""
    pace, control = after.pace, after.control
    if advanced:
        control = replace(control, stall_count=0)
        pace = replace(pace, advanced=True)
    gone = [s.nonce for a, s in before.sessions.items() if a != ROOT and a not in after.sessions]
    if gone:
        pace = replace(
            pace,
            filling=False,
            generation=tuple(n for n in pace.generation if n not in gone),
            charged=pace.charged or (not forgiven and any(n in pace.generation for n in gone)),
        )
        if not pace.generation:
            if pace.charged and not pace.advanced:
                control = replace(control, stall_count=control.stall_count + 1)
            if not _refills(after):
                control = replace(control, prev_pending_count=view(after).open_count)
            pace = _next_generation(after, pace)
    if pace is after.pace and control is after.control:
        return after
    return evolve(after, pace=pace, control=control)


def _next_generation(plan: Plan, pace: Pace) -> Pace:
    running = tuple(s.nonce for a, s in plan.sessions.items() if a != ROOT)
    return Pace(started=pace.started, generation=running, branch_changed=pace.branch_changed)


def _refills(plan: Plan) -> bool:
    return plan.limits.dispatch is Dispatch.REFILL


def is_stalled(plan: Plan) -> bool:
    """So many generations in a row got nowhere, and all that is ready was tried as often.

    Atoms take turns, so that many of them can fail once, one generation after the other, without
    anything being wrong: what has not been tried often enough is tried first. A wind that grants
    several times the usual attempts has several times the patience.
    """
    most, seen = plan.limits.max_stall_count, view(plan)
    if plan.kind is PlanKind.TREE or plan.control.stall_count < most:
        return False
    for name in seen.ready:
        atom = plan.atoms[name]
        usual = base_attempts(plan, atom, seen.shape)
        if atom.attempts * usual < most * max(usual, atom.allowed or 0):
            return False
    return True


def slots(plan: Plan) -> int:
    """How many sessions may start in this pass: free slots, and what the iteration has left."""
    free = plan.limits.max_parallel_agents - crew_size(plan)
    if not _refills(plan) or begins_iteration(plan):
        return free
    return min(free, _room_in_iteration(plan))


def _room_in_iteration(plan: Plan) -> int:
    """A pass may fill the current iteration and go on into the next, if there is one."""
    width = plan.limits.max_parallel_agents
    return width - plan.pace.started + max(0, iterations_left(plan)) * width
