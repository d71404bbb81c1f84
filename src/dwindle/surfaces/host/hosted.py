"""A run taken up for one command of a host's session, and put down again.

The order is that of `running`: lock, plan and journal, trees, branch. But what is in flight stays
in flight, unless the session has only just come in.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

from dwindle import wiring
from dwindle.adapters.agents import report
from dwindle.adapters.checks.mechanical import MechanicalChecks
from dwindle.adapters.disk import DirectoryLock, DurableFile, Locked, RealDisk
from dwindle.adapters.formats import graph_plan
from dwindle.adapters.workspaces.repository import Repository, find
from dwindle.kernel.actions import Probe, Verify, Work
from dwindle.kernel.aligned import Aligned
from dwindle.kernel.decide import decide
from dwindle.kernel.events import RunStarted, Waited
from dwindle.kernel.graph import view
from dwindle.kernel.model import Plan, RunStatus
from dwindle.ports.work import Result, WorkOrder
from dwindle.runner.hosting import Guests, Host
from dwindle.runner.judgement import Judge
from dwindle.runner.ledger import Ledger
from dwindle.runner.loop import Loop
from dwindle.runner.outboxes import Outboxes
from dwindle.runner.rollback import refuse_rolled_back
from dwindle.runner.sessions import Sessions
from dwindle.surfaces.charges import charges_on_record
from dwindle.surfaces.held import line_to
from dwindle.surfaces.host.outlook import Outlook, stamp_of
from dwindle.surfaces.host.tenancy import (
    LOCKED,
    NOTE,
    Tenancy,
    give_up,
    left_by,
    take,
    tenancy,
)
from dwindle.surfaces.refusal import Refused
from dwindle.surfaces.running import (
    JOURNALS,
    LOGS,
    OUTBOXES,
    PLAN_FILE,
    NotReady,
    SystemClock,
    Wish,
    findings_of,
    pinned,
    put_in_step,
    rules_of,
    run_id_of,
    workspace_of,
)
from dwindle.surfaces.taken_up import ledger_of

PATIENCE = 100.0
"""Seconds that a command waits for another of its session, which may be running checks."""
ENTER = "/enter-recursion opens one here; `dwindle run` runs it outside of the session"


@contextmanager
def locked(root: Path, patience: float = PATIENCE) -> Iterator[None]:
    """Commands of one session wait for each other; a runner of ours is not waited for."""
    folder = (root / PLAN_FILE).parent
    if not (root / PLAN_FILE).is_file():
        raise Refused(
            "there is no plan yet", where=PLAN_FILE, hint="agree on one first: /align-goal"
        )
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


def claimed(root: Path, session: str) -> Tenancy:
    """The session's own tenancy; Refused if it has none, or if somebody else has it."""
    found = tenancy(root, session)
    if found is None:
        raise Refused("no loop is open in this session", hint=ENTER)
    refuse_another(found, session)
    return found


def refuse_another(found: Tenancy | None, session: str) -> None:
    if found is not None and not found.is_of(session):
        left = max(1, round((found.until - time.time()) / 60))
        raise Refused(
            f"the loop runs in another session ({found.session})",
            where=NOTE,
            hint=f"end it there (/exit-recursion); it is given up for dead in {left} minutes",
            code=LOCKED,
        )


@contextmanager
def books(root: Path) -> Iterator[tuple[Ledger, str]]:
    """The plan with its journal, and the id of the run; for the holder of the lock."""
    file = DurableFile(RealDisk(), root / PLAN_FILE)
    file.sweep()
    data = file.read()
    loaded = wiring.load_graph(data)
    if loaded.plan is None:
        raise NotReady(loaded.problems)
    writer = graph_plan.decode(data).writer()
    run_id = run_id_of(loaded.plan, Wish())
    ledger = ledger_of(root / JOURNALS, file, writer, loaded.plan, run_id)
    try:
        yield ledger, run_id
    finally:
        ledger.close()


@asynccontextmanager
async def hosted(root: Path, session: str, judge: Judge | None = None) -> AsyncIterator[Host]:
    """The run of this session's loop, for one command; its tenancy is renewed."""
    with locked(root):
        held = take(root, claimed(root, session))
        with books(root) as (ledger, run):
            aligned = ledger.plan.control.aligned
            if aligned is None or ledger.plan.control.run_id is None:
                raise Refused("no loop is open in this session", hint=ENTER)
            async with _opened(root, ledger, run, aligned, judge) as host:
                await host.tidy()
                yield host
        _left_as(root, ledger.plan, held)


@asynccontextmanager
async def entered(root: Path, session: str) -> AsyncIterator[Host]:
    """The run, begun or taken up by this session; what was in flight is not any more."""
    with locked(root):
        before = tenancy(root)
        refuse_another(before, session)
        repository = await find(root)
        repository.exclude(("/.runner/journal/", "/.runner/iterations/", f"/{NOTE}*"))
        with books(root) as (ledger, run):
            plan = ledger.plan
            if plan.control.status is RunStatus.COMPLETED:
                hint = "a new goal is a new alignment: /align-goal"
                raise Refused("the run is completed", where=PLAN_FILE, hint=hint)
            aligned = plan.control.aligned or await pinned(repository, plan)
            async with _opened(root, ledger, run, aligned, None, fresh=True) as host:
                await host.enter(RunStarted(run_id=run, aligned=aligned, hosted=True))
                begun = host.plan.spent.sessions
                note = Tenancy(session=session, until=0, run=run, started=begun)
                held = take(root, note)
                yield host
        _left_as(root, ledger.plan, held)


def _left_as(root: Path, plan: Plan, held: Tenancy) -> None:
    """For the hook: how the run stands; or that the session has it no longer."""
    if plan.control.status is not RunStatus.RUNNING:
        give_up(root)
    else:
        found = left_by(root) or held  # a hook may have written something of its own into it
        take(root, replace(found, outlook=asdict(outlook_of(plan, stamp_of(root)))))


def outlook_of(plan: Plan, stamp: str) -> Outlook:
    decision = decide(plan)
    starts = tuple(str(a.atom) for a in decision.actions if isinstance(a, (Work, Probe)))
    return Outlook(
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
async def _opened(  # noqa: PLR0913 - what a run is put together from
    root: Path,
    ledger: Ledger,
    run: str,
    aligned: Aligned,
    judge: Judge | None,
    *,
    fresh: bool = False,
) -> AsyncIterator[Host]:
    repository: Repository = await find(root)
    read = wiring.settings_for(root)
    if read.settings is None:
        raise NotReady(read.problems, where=wiring.SETTINGS_FILE)
    settings = read.settings
    containment = wiring.containment_for(settings, repository)
    workspace = await workspace_of(
        repository,
        settings,
        containment,
        ledger,
        run_id=run,
        aligned=aligned,
        guard_refs=False,  # nothing of ours is there to see what moves between two commands
    )
    try:
        refuse_rolled_back(ledger.plan, await workspace.last_session())
        flying = {s.number: a for a, s in ledger.plan.sessions.items()}
        # Agents of a host outlive a stop or a redirect, and go on writing for a while.
        await workspace.recover(flying, at_work=() if fresh else tuple(flying), reuse=False)
        await put_in_step(workspace, ledger)
        clock = SystemClock()
        guests = Guests(trees=workspace, plan=lambda: ledger.plan)
        sessions = Sessions(
            workspace=workspace,
            containment=containment,
            checks=MechanicalChecks(containment, wiring.check_settings(settings)),
            agents={},
            clock=clock,
            logs=root / LOGS / run,
            outboxes=Outboxes(root / OUTBOXES),
            rules=rules_of(repository, ledger.plan, aligned),
            contained=wiring.contained_by(settings, containment),
            charges=lambda: charges_on_record(root / JOURNALS, run),
            judge=judge,
        )
        idle = 0.0 if fresh else _idle(ledger)
        loop = Loop(ledger, guests, workspace, clock, lambda *_: None, idle=idle)
        if idle >= 1 and ledger.plan.control.status is RunStatus.RUNNING:
            await loop.take(Waited())
        yield Host(
            loop=loop,
            guests=guests,
            sessions=sessions,
            decode=_decoded,
            findings=findings_of(ledger),
            secrets=workspace.repository.secrets,
        )
    finally:
        workspace.close()


def _decoded(order: WorkOrder, data: bytes) -> Result:
    found = report.decode(order, data)
    return Result(report=found.report, usage=found.usage)


def _idle(ledger: Ledger) -> float:
    """Seconds since the last event: the run went on meanwhile, only not with us."""
    last = ""
    for event in ledger.history():
        last = event.at or last
    try:
        then = datetime.strptime(last, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    except ValueError:
        return 0.0
    return max(0.0, (datetime.now(UTC) - then).total_seconds())
