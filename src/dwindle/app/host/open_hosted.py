"""Open a run for one command of a host's session, and for the hook.

The order is that of `app/run`: lock, plan and journal, worktrees, branch. But sessions in flight
stay in flight, unless the host's session has only just entered the loop.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

from dwindle.adapters.agents.reports import report
from dwindle.adapters.git.repository import find
from dwindle.adapters.store.disk import DirectoryLock, Locked
from dwindle.app.host.lease import (
    LOCKED,
    NOTE,
    HostLease,
    RunSummary,
    current_lease,
    last_lease,
    plan_stamp,
    release_lease,
    renew_lease,
)
from dwindle.app.open_run.graph import findings_of, no_plan, open_graph, open_ledger
from dwindle.app.open_run.shared import site_at
from dwindle.app.paths import PLAN_FILE
from dwindle.app.plans.load import load_graph
from dwindle.app.redirect.target import line_to
from dwindle.app.refusal import Refused
from dwindle.kernel.actions import Probe, Verify, Work
from dwindle.kernel.decide import decide
from dwindle.kernel.events import RunStarted, Waited
from dwindle.kernel.graph import view
from dwindle.kernel.model import Aligned, Plan, RunStatus, StopCode
from dwindle.ports.work import Result, WorkOrder
from dwindle.runner.gate.judgement import Judge
from dwindle.runner.ledger import Ledger
from dwindle.runner.loop import Loop
from dwindle.runner.modes.hosted import Host, HostedMode

PATIENCE = 100.0
"""Seconds that a command waits for another of its session, which may be running checks."""
ENTER = "/enter-recursion opens one here; `dwindle run` runs it outside of the session"


@contextmanager
def plan_lock(root: Path, patience: float = PATIENCE) -> Iterator[None]:
    """Wait for other commands of the session; Refused at once if a runner has the plan."""
    folder = (root / PLAN_FILE).parent
    if not (root / PLAN_FILE).is_file():
        raise no_plan("agree on one first: /align-goal")
    end = time.monotonic() + patience
    while True:
        try:
            lock = DirectoryLock(folder)
        except Locked as error:
            line = line_to(root)
            if line is not None:
                line.close()
                hint = "`dwindle status` says how it goes; `dwindle stop` ends it"
                raise Refused("a run of its own has this plan", hint=hint, code=LOCKED) from None
            if time.monotonic() > end:
                raise Refused(str(error), code=LOCKED) from None
            time.sleep(0.05)
        else:
            with lock:
                yield
            return


def _own_lease(root: Path, session: str) -> HostLease:
    """Refused if the session has no lease, or if another session has it."""
    found = current_lease(root, session)
    if found is None:
        raise Refused("no loop is open in this session", hint=ENTER)
    _refuse_another(found, session)
    return found


def _refuse_another(found: HostLease | None, session: str) -> None:
    if found is not None and not found.is_of(session):
        raise Refused(
            f"the loop runs in another session ({found.session})",
            where=NOTE,
            hint="end it there (/exit-recursion); it is given up for dead in "
            f"{found.minutes_left()} minutes",
            code=LOCKED,
        )


@asynccontextmanager
async def open_hosted(root: Path, session: str, judge: Judge | None = None) -> AsyncIterator[Host]:
    """Open the run of this session for one command, and renew its lease."""
    with plan_lock(root):
        lease = renew_lease(root, _own_lease(root, session))
        with open_ledger(root) as (ledger, run):
            aligned = ledger.plan.control.aligned
            if aligned is None or ledger.plan.control.run_id is None:
                raise Refused("no loop is open in this session", hint=ENTER)
            async with _opened(root, ledger, run, judge) as (host, _):
                await host.tidy()
                yield host
        _update_lease(root, ledger.plan, lease)


@asynccontextmanager
async def enter_hosted(root: Path, session: str) -> AsyncIterator[Host]:
    """Begin or resume the run in this session; no earlier session is in flight any more."""
    with plan_lock(root):
        _refuse_another(current_lease(root), session)
        repository = await find(root)
        repository.exclude(("/.runner/journal/", "/.runner/iterations/", f"/{NOTE}*"))
        with open_ledger(root) as (ledger, run):
            plan = ledger.plan
            if plan.control.status is RunStatus.COMPLETED:
                hint = "a new goal is a new alignment: /align-goal"
                raise Refused("the run is completed", where=PLAN_FILE, hint=hint)
            async with _opened(root, ledger, run, None, fresh=True) as (host, aligned):
                await host.enter(RunStarted(run_id=run, aligned=aligned, hosted=True))
                begun = host.plan.spent.sessions
                note = HostLease(session=session, until=0, run=run, started=begun)
                lease = renew_lease(root, note)
                yield host
        _update_lease(root, ledger.plan, lease)


def _update_lease(root: Path, plan: Plan, lease: HostLease) -> None:
    """Write the summary for the hook; or release the lease of a run that has ended."""
    if plan.control.status is not RunStatus.RUNNING:
        release_lease(root)
    else:
        found = last_lease(root) or lease  # the hook may have written counters of its own
        renew_lease(root, replace(found, summary=asdict(run_summary(plan, plan_stamp(root)))))


def run_summary(plan: Plan, stamp: str) -> RunSummary:
    decision = decide(plan)
    starts = tuple(str(a.atom) for a in decision.actions if isinstance(a, (Work, Probe)))
    return RunSummary(
        stamp=stamp,
        over=decision.stop is not None,
        paused=plan.control.redirect_requested,
        reason=decision.stop.reason if decision.stop else "",
        in_flight=tuple(str(name) for name in plan.sessions),
        starts=starts,
        verify=any(isinstance(action, Verify) for action in decision.actions),
        open_count=view(plan).open_count,
        sessions=plan.spent.sessions,
        stalls=plan.control.stall_count,
        most_stalls=plan.limits.max_stall_count,
    )


@asynccontextmanager
async def _opened(
    root: Path, ledger: Ledger, run: str, judge: Judge | None, *, fresh: bool = False
) -> AsyncIterator[tuple[Host, Aligned]]:
    """`fresh`: the host's session has only just entered, so that no agent of it can be at work."""
    site = await site_at(root)
    at_work = () if fresh else tuple(s.number for s in ledger.plan.sessions.values())
    async with open_graph(site, ledger, run, hosted=True, at_work=at_work) as opened:
        mode = HostedMode(opened.workspace, lambda: ledger.plan)
        idle = 0.0 if fresh else _idle(ledger)
        loop = Loop(ledger, mode, opened.clock, lambda *_: None, idle=idle)
        if idle >= 1 and ledger.plan.control.status is RunStatus.RUNNING:
            await loop.take(Waited())
        host = Host(
            loop=loop,
            mode=mode,
            gate=opened.gate(judge=judge),
            decode=_decoded,
            findings=findings_of(ledger),
            briefing=opened.briefing,
            secrets=opened.workspace.repository.secrets,
        )
        yield host, opened.aligned


def _decoded(order: WorkOrder, data: bytes) -> Result:
    found = report.decode(order, data)
    return Result(report=found.report, usage=found.usage)


def _idle(ledger: Ledger) -> float:
    """Seconds since the last event; the host's agents worked meanwhile, without a runner."""
    last = ""
    for event in ledger.history():
        last = event.at or last
    try:
        then = datetime.strptime(last, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    except ValueError:
        return 0.0
    return max(0.0, (datetime.now(UTC) - then).total_seconds())


# --- the end of a coordinator, or of its session -------------------------------------------------


def summarize(root: Path) -> RunSummary:
    """The summary of a run whose plan another process has changed."""
    loaded = load_graph((root / PLAN_FILE).read_bytes())
    if loaded.plan is None:
        raise ValueError("the plan cannot be read any more; `dwindle validate` says why")
    return run_summary(loaded.plan, plan_stamp(root))


def conclude_flights(
    root: Path, session: str, *, forgive: bool = False, idle: int = 0
) -> RunSummary:
    """Conclude all sessions in flight, end the run if it is over, and summarize it."""

    async def conclude() -> Plan:
        async with open_hosted(root, session) as host:
            await host.gather(forgive=forgive)
            decision = await host.next()
            if decision.stop is None and idle >= host.plan.limits.max_stall_count:
                reason = f"{idle} coordinators in a row ended without starting anything"
                await host.stop(reason, StopCode.STALLED)
            return host.plan

    return run_summary(asyncio.run(conclude()), plan_stamp(root))


def stop_hosted(root: Path, reason: str) -> None:
    """Count what agents have reported, forgive what they have not, and stop the run.

    Any process may, also after the session's lease has expired.
    """
    found = last_lease(root)
    session = found.session if found is not None else ""

    async def stop() -> None:
        async with open_hosted(root, session) as host:
            await host.gather(forgive=True)
            if (await host.next()).stop is None:
                await host.stop(reason)

    asyncio.run(stop())
