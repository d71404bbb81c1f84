"""Changing direction: the same for a loop that runs and for a plan at rest.

The kernel is asked first, on the plan as it is; what it refuses costs nothing and ends nothing.
One change may take several redirects: they are tried together, and taken or refused together.
Only then are sessions ended, and commits of atoms that are to be done again taken off the branch.
What did not survive that is reopened with them, in the event that is recorded.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from dwindle.kernel.events import Redirected
from dwindle.kernel.model import AtomId, Plan, Status
from dwindle.kernel.transitions import apply
from dwindle.ports.workspace import Workspace


def preview(plan: Plan, event: Redirected) -> Plan:
    """The plan as it would be; IllegalEvent says why it cannot be."""
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
    workspace: Workspace,
    quiet: Callable[[], Awaitable[None]],
    record: Callable[[Redirected], Plan],
) -> None:
    """Do them all; IllegalEvent before anything was touched. `record` returns the plan after it."""
    tried = plan
    for event in events:
        tried = preview(tried, event)
    await quiet()
    for event in events:
        plan = record(await _made_room(plan, event, workspace))


async def _made_room(plan: Plan, event: Redirected, workspace: Workspace) -> Redirected:
    """Take off the branch what the event undoes; the event, with what did not survive that.

    What was built upon something that got lost so is undone too, and has to come off as well.
    """
    off: tuple[AtomId, ...] = ()
    while drops := tuple(a for a in undone(plan, preview(plan, event)) if a not in off):
        gone = await workspace.rebuild(drops)
        lost = tuple(a for a in gone if a not in (*off, *drops))
        off = (*off, *drops, *lost)
        event = replace(event, unreplayed=(*event.unreplayed, *lost))
    return event
