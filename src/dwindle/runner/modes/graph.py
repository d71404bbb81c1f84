"""Graph runs: sessions side by side, each in a work tree of its own, on one integration branch.

Each session is a task that ends in exactly one event, and failures of the world become events here
and nowhere else. A worker's success counts only after its evidence held and its work is on the
branch. Integrating and recording happen under one lock, so that of two racers only the first gets
there, and no commit waits for its record while another is made. What a session made that failed or
was ended is set aside before its tree goes back to the pool.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from dwindle.kernel.actions import Probe, Work
from dwindle.kernel.errors import IllegalEvent
from dwindle.kernel.events import (
    AtomResolved,
    AttemptFailed,
    EarlyChecked,
    Event,
    Interruption,
    Redirected,
    SessionInterrupted,
    StopRequested,
    Usage,
)
from dwindle.kernel.graph import failures, view
from dwindle.kernel.model import ROOT, AtomId, Plan, Role, Status, StopCode
from dwindle.ports.work import (
    ENDS_THE_RUN,
    PASSES,
    NoReport,
    ProbeReport,
    WorkerReport,
    WorkOrder,
)
from dwindle.ports.workspace import BranchMoved, Conflict, Lease, Trailers, WorkspaceFailed
from dwindle.runner.gate.evidence import Evidence
from dwindle.runner.gate.gate import Gate
from dwindle.runner.gate.judgement import bounded
from dwindle.runner.inbox import Inbox, Message, deliver
from dwindle.runner.modes.conclusions import event_of, failed_attempt
from dwindle.runner.modes.mode import Mode
from dwindle.runner.orders.work import order_for
from dwindle.runner.session import AgentRunner, Finished
from dwindle.runner.shield import shielded

SUMMARY_CHARACTERS = 1000
NAMED = 50
"""Paths that an event names."""

Judged = TypeVar("Judged", AtomResolved, AttemptFailed)


class GraphMode(Mode):
    """`plan` is the current one, whenever asked; `findings` what probes said before a restart."""

    def __init__(
        self,
        agents: AgentRunner,
        gate: Gate,
        plan: Callable[[], Plan],
        *,
        inbox: Inbox | None = None,
        findings: dict[AtomId, str] | None = None,
    ) -> None:
        self.inbox = Inbox() if inbox is None else inbox
        self._agents = agents
        self._gate = gate
        self._workspace = gate.workspace
        self._plan = plan
        self._findings = dict(findings or {})
        self._tasks: dict[AtomId, asyncio.Task[None]] = {}
        self._leaving: set[asyncio.Task[None]] = set()
        """Every task, until its tree is released; its atom may have another session by then."""
        self._early: asyncio.Task[None] | None = None
        self._integrating = asyncio.Lock()
        self._leasing = asyncio.Lock()

    # --- for the loop ----------------------------------------------------------------------------

    def agent_for(self, plan: Plan, action: Work | Probe) -> str:
        role = Role.WORKER if isinstance(action, Work) else Role.PROBE
        return self._agents.label(role, failures(plan).get(action.atom, 0))

    def start(self, plan: Plan, action: Work | Probe, agent: str) -> None:
        session = plan.sessions[action.atom]
        findings = self._findings.get(action.atom, "")
        order = order_for(plan, action, session, findings=findings, agent=agent)
        folder = session_folder(self._gate.logs, plan, order)
        run = self._work if isinstance(action, Work) else self._probe
        self._run(action.atom, run(order, folder))

    def verify(self, plan: Plan, after: int) -> None:
        self._run(ROOT, self._verify(plan, after))

    def check_early(self, plan: Plan) -> bool:
        if self._early is None or self._early.done():
            self._early = asyncio.create_task(self._check_early(plan))
        return False

    async def end(self, atoms: Iterable[AtomId]) -> None:
        ending = [t for a in atoms if (t := self._tasks.pop(a, None)) is not None]
        for task in ending:
            task.cancel()
        if ending:
            await asyncio.gather(*ending, return_exceptions=True)

    async def end_all(self) -> None:
        if self._early is not None:
            self._early.cancel()
            await asyncio.gather(self._early, return_exceptions=True)
        await self.end(tuple(self._tasks))
        await asyncio.gather(*self._leaving, return_exceptions=True)

    async def rebuild(self, without: tuple[AtomId, ...]) -> tuple[AtomId, ...]:
        return await self._workspace.rebuild(without)

    def recorded(self, plan: Plan, event: Event) -> None:  # noqa: ARG002
        """A redirect may pin other files from now on."""
        if isinstance(event, Redirected) and event.aligned is not None:
            self._workspace.pin(event.aligned.pins)

    # --- tasks -----------------------------------------------------------------------------------

    def _run(self, atom: AtomId, session: Coroutine[None, None, None]) -> None:
        async def to_the_end() -> None:
            try:
                await session
            except asyncio.CancelledError:
                raise
            except WorkspaceFailed as failure:  # while its work was put away
                self._tell(StopRequested(reason=str(failure), code=StopCode.IO_ERROR))
            except Exception as mistake:  # noqa: BLE001 - a bug: the run has to end, and say so
                reason = f"{type(mistake).__name__} in the session of {atom or 'verification'}"
                self._tell(
                    StopRequested(reason=f"{reason}: {mistake}", code=StopCode.INTERNAL_ERROR)
                )

        task = self._tasks[atom] = asyncio.create_task(to_the_end())
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)
        task.add_done_callback(lambda _: session.close())  # it may have been ended before it began

    def _tell(self, event: Event) -> None:
        """Send without waiting: while the loop ends sessions it reads nothing."""
        self.inbox.put_nowait(Message(event=event, may_be_refused=True))

    async def _send(self, event: Event, *, may_be_refused: bool = False) -> IllegalEvent | None:
        """Send an event to the loop and wait until it is on record."""
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            self._tell(event)
            return None
        return await deliver(self.inbox, event, may_be_refused=may_be_refused)

    async def _work(self, order: WorkOrder, folder: Path) -> None:
        lease: Lease | None = None
        integrated = False
        try:
            lease = await self._lease(order)
            finished = await self._agents.run(order, lease.path, folder)
            integrated = await self._conclude(order, lease, finished, folder)
        except WorkspaceFailed as failure:
            await self._without_workspace(order, failure)
        finally:
            if lease is not None:
                await shielded(self._put_away(order, lease, integrated=integrated))

    async def _probe(self, order: WorkOrder, folder: Path) -> None:
        lease: Lease | None = None
        try:
            lease = await self._lease(order)
            await self._conclude_probe(order, await self._agents.run(order, lease.path, folder))
        except WorkspaceFailed as failure:
            await self._without_workspace(order, failure)
        finally:
            if lease is not None:
                await shielded(self._workspace.release(lease))

    async def _lease(self, order: WorkOrder) -> Lease:
        """One at a time: git stumbles over a work tree that another git is just making."""
        async with self._leasing:
            return await self._workspace.lease(order.attempt)

    async def _put_away(self, order: WorkOrder, lease: Lease, *, integrated: bool) -> None:
        if not integrated:
            await self._workspace.set_aside(lease, trailers_of(order, "set aside"))
        await self._workspace.release(lease)

    async def _without_workspace(self, order: WorkOrder, failure: WorkspaceFailed) -> None:
        """Git failed: not the agent's fault, and another attempt would fail too."""
        await self._send(StopRequested(reason=str(failure), code=StopCode.IO_ERROR))
        cause = Interruption.STOP
        await self._send(SessionInterrupted(atom=order.atom, nonce=order.nonce, cause=cause))

    # --- what sessions come to -------------------------------------------------------------------

    async def _conclude(
        self, order: WorkOrder, lease: Lease, finished: Finished, folder: Path
    ) -> bool:
        """Send the one event of a worker's session; True if its work is on the branch."""
        report = finished.report
        if isinstance(report, NoReport):
            await self._conclude_without_report(order, report, finished.usage)
            return False
        event = event_of(order, report, finished.usage)
        if event is None:
            assert isinstance(report, WorkerReport)  # noqa: S101 - no other report claims success
            return await self._judge_claim(order, lease, report, finished.usage, folder)
        await self._send(event)
        return False

    async def _judge_claim(
        self, order: WorkOrder, lease: Lease, report: WorkerReport, usage: Usage, folder: Path
    ) -> bool:
        """Look at the evidence, integrate, and record, in that order and one at a time."""
        evidence, judging = await self._gate.evidence_of(
            self._plan(), order.atom, folder, lease, report
        )
        usage += judging.usage
        if not evidence.holds:
            event = failed_attempt(order, usage, evidence.reason, judging.usage)
            event = replace(event, judge=judging.agents)
            await self._send(about_paths(event, evidence, report))
            return False
        summary = report.summary or evidence.reason
        resolved = AtomResolved(
            atom=order.atom,
            nonce=order.nonce,
            usage=usage,
            judging=judging.usage,
            judge=judging.agents,
            summary=bounded(summary, SUMMARY_CHARACTERS),
            artifacts=evidence.artifacts,
        )
        resolved = about_paths(resolved, evidence, report)
        async with self._integrating:
            if not self._is_wanted(order):
                return False
            try:
                return await self._integrate(lease, trailers_of(order, summary), resolved)
            except asyncio.CancelledError:
                if self._is_resolved(order):
                    return True  # it is on record; only the answer came too late
                # No event will record it any more: what got onto the branch comes off again.
                await shielded(self._workspace.rebuild((order.atom,)))
                raise

    async def _integrate(self, lease: Lease, trailers: Trailers, resolved: AtomResolved) -> bool:
        outcome = await shielded(self._workspace.integrate(lease, trailers))
        if not isinstance(outcome, Conflict):
            await self._send(resolved)
            return True
        await self._send(merge_conflict(resolved))
        return False

    def _is_resolved(self, order: WorkOrder) -> bool:
        """By this session: the kernel never starts a resolved atom again."""
        return self._plan().atoms[order.atom].status is Status.RESOLVED

    def _is_wanted(self, order: WorkOrder) -> bool:
        plan = self._plan()
        session = plan.sessions.get(order.atom)
        in_flight = session is not None and session.nonce == order.nonce
        return in_flight and order.atom in view(plan).live

    async def _conclude_probe(self, order: WorkOrder, finished: Finished) -> None:
        report = finished.report
        if isinstance(report, NoReport):
            await self._conclude_without_report(order, report, finished.usage)
            return
        if isinstance(report, ProbeReport):
            self._findings[order.atom] = report.findings
        event = event_of(order, report, finished.usage)
        wrong = "the report is not that of a probe"
        await self._send(event or failed_attempt(order, finished.usage, wrong))

    async def _conclude_without_report(
        self, order: WorkOrder, report: NoReport, usage: Usage
    ) -> None:
        if report.trouble in ENDS_THE_RUN:
            # The program is missing or not logged in: another attempt would fail too.
            await self._send(StopRequested(reason=report.reason, code=StopCode.AGENT_UNAVAILABLE))
        if cause := interruption(report):
            await self._send(
                SessionInterrupted(atom=order.atom, nonce=order.nonce, usage=usage, cause=cause)
            )
        else:
            await self._send(failed_attempt(order, usage, report.reason))

    # --- the base case ---------------------------------------------------------------------------

    async def _verify(self, plan: Plan, after: int) -> None:
        await asyncio.sleep(after)
        try:
            event = await self._gate.verification(plan)
        except WorkspaceFailed as failure:
            moved = isinstance(failure, BranchMoved)
            code = StopCode.TAMPERED if moved else StopCode.IO_ERROR
            await self._send(StopRequested(reason=str(failure), code=code))
            nonce = plan.sessions[ROOT].nonce
            await self._send(SessionInterrupted(atom=ROOT, nonce=nonce, cause=Interruption.STOP))
        else:
            await self._send(event)

    async def _check_early(self, plan: Plan) -> None:
        """The verdict counts only while the branch is what it was, up to the record of it."""
        try:
            commit = await self._workspace.tip()
            passed = await self._gate.holds_early(plan)
            async with self._integrating:
                passed = passed and await self._workspace.tip() == commit
                await self._send(EarlyChecked(passed=passed), may_be_refused=True)
        except WorkspaceFailed as failure:
            await self._send(StopRequested(reason=str(failure), code=StopCode.IO_ERROR))


def session_folder(logs: Path, plan: Plan, order: WorkOrder) -> Path:
    """Where the record of a session that begins now is kept."""
    return logs / f"{plan.control.iteration:04}" / f"{order.atom}.{order.attempt}.{order.role}"


def interruption(report: NoReport) -> Interruption | None:
    """Why there is no report, if that is not the attempt's fault."""
    if report.trouble in PASSES:
        return Interruption.RATE_LIMIT
    return Interruption.STOP if report.trouble in ENDS_THE_RUN else None


def merge_conflict(resolved: AtomResolved) -> SessionInterrupted:
    """What is recorded instead, when the work does not merge."""
    return SessionInterrupted(
        atom=resolved.atom,
        nonce=resolved.nonce,
        usage=resolved.usage,
        judging=resolved.judging,
        judge=resolved.judge,
        cause=Interruption.MERGE_CONFLICT,
    )


def about_paths(event: Judged, evidence: Evidence, report: WorkerReport) -> Judged:
    """The event, with what was set aside and what the worker asks for; bounded."""
    aside, wider = evidence.set_aside[:NAMED], report.work_paths[:NAMED]
    return replace(event, set_aside=aside, wider=wider)


def trailers_of(order: WorkOrder, summary: str) -> Trailers:
    return Trailers(run=order.run, atom=order.atom, attempt=order.attempt, summary=summary)
