"""What the end of a coordinator, or of its session, means for the run."""

from __future__ import annotations

import asyncio
from pathlib import Path

from dwindle import wiring
from dwindle.kernel.model import Plan, StopCode
from dwindle.surfaces.host.hosted import hosted, outlook_of
from dwindle.surfaces.host.outlook import PLAN, Outlook, stamp_of
from dwindle.surfaces.host.tenancy import left_by


def foreseen(root: Path) -> Outlook:
    """How the run stands, after somebody changed its plan from outside."""
    loaded = wiring.load_graph((root / PLAN).read_bytes())
    if loaded.plan is None:
        raise ValueError("the plan cannot be read any more; `dwindle validate` says why")
    return outlook_of(loaded.plan, stamp_of(root))


def gathered(root: Path, session: str, *, forgive: bool = False, idle: int = 0) -> Outlook:
    """What was left in flight is concluded, and the run ended if it is over; how it stands then."""

    async def gather() -> Plan:
        async with hosted(root, session) as host:
            await host.gather(forgive=forgive)
            decision = await host.next()
            if decision.stop is None and idle >= host.plan.limits.max_stall_count:
                reason = f"{idle} coordinators in a row ended without starting anything"
                await host.stop(reason, StopCode.STALLED)
            return host.plan

    return outlook_of(asyncio.run(gather()), stamp_of(root))


def stopped(root: Path, reason: str) -> None:
    """What has reported counts, what has not is forgiven, and the run is stopped.

    Anybody may, also after the session's note has run out.
    """
    found = left_by(root)
    session = found.session if found is not None else ""

    async def stop() -> None:
        async with hosted(root, session) as host:
            await host.gather(forgive=True)
            if (await host.next()).stop is None:
                await host.stop(reason)

    asyncio.run(stop())
