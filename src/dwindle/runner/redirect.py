"""Redirects, for a running loop and for a plan at rest.

The kernel judges them first; a refused redirect costs nothing and ends nothing. The redirects of
one change are accepted or refused together. Only then are sessions ended, and the commits of atoms
that are to be done again taken off the branch. Atoms whose commits do not replay without them are
reopened too, in the recorded event.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from dwindle.kernel.events import Redirected
from dwindle.kernel.model import AtomId, Plan, Status
from dwindle.kernel.transitions import apply

Rebuild = Callable[[tuple[AtomId, ...]], Awaitable[tuple[AtomId, ...]]]
"""Takes atoms off the branch; the others that were lost by that."""


def preview(plan: Plan, event: Redirected) -> Plan:
    """The plan after the redirect; IllegalEvent says why the kernel refuses it."""
    return apply(plan, event)


def undone(before: Plan, after: Plan) -> tuple[AtomId, ...]:
    """Resolved atoms that are to be done again, or are gone."""
    resolved = (n for n, a in before.atoms.items() if a.status is Status.RESOLVED)
    return tuple(
        n for n in resolved if n not in after.atoms or after.atoms[n].status is not Status.RESOLVED
    )


async def redirect(
    plan: Plan,
    events: Sequence[Redirected],
    rebuild: Rebuild,
    quiet: Callable[[], Awaitable[None]],
    record: Callable[[Redirected], Plan],
) -> None:
    """Do them all; IllegalEvent before anything was touched. `record` returns the plan after it."""
    tried = plan
    for event in events:
        tried = preview(tried, event)
    await quiet()
    for event in events:
        plan = record(await _take_off_branch(plan, event, rebuild))


async def _take_off_branch(plan: Plan, event: Redirected, rebuild: Rebuild) -> Redirected:
    """Take off the branch what the event undoes; the event, with what did not survive that.

    What was built upon something that got lost so is undone too, and has to come off as well.
    """
    off: tuple[AtomId, ...] = ()
    while drops := tuple(a for a in undone(plan, preview(plan, event)) if a not in off):
        gone = await rebuild(drops)
        lost = tuple(a for a in gone if a not in (*off, *drops))
        off = (*off, *drops, *lost)
        event = replace(event, unreplayed=(*event.unreplayed, *lost))
    return event
