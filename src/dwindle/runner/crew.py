"""The sessions in flight: one task each, and each ends in exactly one event.

Failures of the world become events here and nowhere else. A worker's success counts only after its
evidence held and its work is on the branch; integrating and recording happen under one lock, so
that of two racers only the first gets there, and no commit waits for its record while another is
made. Whatever a session that failed or was ended had made is set aside before its tree goes back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass

from dwindle.kernel.actions import Probe, Work
from dwindle.kernel.errors import IllegalEvent
from dwindle.kernel.events import (
    AtomResolved,
    EarlyChecked,
    Event,
    Interruption,
    Redirected,
    SessionInterrupted,
    StopRequested,
    Usage,
    Waited,
)
from dwindle.kernel.graph import view
from dwindle.kernel.model import ROOT, AtomId, Plan, Status, StopCode
from dwindle.ports.work import (
    ENDS_THE_RUN,
    PASSES,
    NoReport,
    ProbeReport,
    Result,
    WorkerReport,
    WorkOrder,
)
from dwindle.ports.workspace import BranchMoved, Conflict, Lease, Trailers, WorkspaceFailed
from dwindle.runner.conclusions import event_of, failed
from dwindle.runner.judgement import bounded
from dwindle.runner.orders import order_for
from dwindle.runner.patience import Wait, together
from dwindle.runner.sessions import Sessions
from dwindle.runner.told import Told
from dwindle.runner.whole import whole


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """Something that happened, and how to tell its sender that it is on record."""

    event: Event
    also: tuple[Redirected, ...] = ()
    """Further redirects of the same change: all are taken, or none."""
    may_be_refused: bool = False
    done: asyncio.Future[IllegalEvent | None] | None = None

    def answer(self, refusal: IllegalEvent | None) -> None:
        if self.done is not None and not self.done.done():
            self.done.set_result(refusal)


class Crew:
    """Starts and ends sessions for the loop; `plan` is the current one, whenever asked."""

    def __init__(self, sessions: Sessions, plan: Callable[[], Plan]) -> None:
        self._sessions = sessions
        self._plan = plan
        self._tasks: dict[AtomId, asyncio.Task[None]] = {}
        self._leaving: set[asyncio.Task[None]] = set()
        """Every task, until its tree is put away; its atom may have another session by then."""
        self._early: asyncio.Task[None] | None = None
        self._integrating = asyncio.Lock()
        self._leasing = asyncio.Lock()
        self._findings: dict[AtomId, str] = {}
        self._prepared: dict[int, tuple[WorkOrder, Told]] = {}
        """By nonce, until it starts."""
        self.news: asyncio.Queue[News] = asyncio.Queue()

    # --- for the loop ----------------------------------------------------------------------------

    def prepare(self, plan: Plan, action: Work | Probe) -> Callable[[], None]:
        session = plan.sessions[action.atom]
        findings = self._findings.get(action.atom, "")
        order = order_for(plan, action, session, findings=findings)
        told = self._sessions.told(order, plan.control.iteration)
        self._prepared[session.nonce] = order, told
        return told.write

    def start(self, plan: Plan, action: Work | Probe) -> None:
        order, told = self._prepared.pop(plan.sessions[action.atom].nonce)
        if isinstance(action, Work):
            self._run(action.atom, self._work(order, told, plan.control.iteration))
        else:
            self._run(action.atom, self._look(order, told))

    def verify(self, plan: Plan, after: int) -> None:
        self._run(ROOT, self._verified(plan, after))

    def check_early(self, plan: Plan) -> bool:
        """Look at the base case beside the work; False, because only its end is news."""
        if self._early is None or self._early.done():
            self._early = asyncio.create_task(self._checked_early(plan))
        return False

    async def end(self, atoms: Iterable[AtomId]) -> None:
        """When this returns, the processes of these sessions are gone and their work is kept."""
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
        self._sessions.outboxes.clear()

    def held_up(self, atom: AtomId, wait: Wait) -> None:
        """A session waits for what passes: a rate limit, an overloaded service, the network."""
        event = Waited(note=wait.words, atom=atom, seconds=wait.seconds)
        self.news.put_nowait(News(event=event))

    def remember(self, findings: dict[AtomId, str]) -> None:
        """What probes found before a restart."""
        self._findings.update(findings)

    # --- tasks -----------------------------------------------------------------------------------

    def _run(self, atom: AtomId, session: Coroutine[None, None, None]) -> None:
        async def to_the_end() -> None:
            try:
                await session
            except asyncio.CancelledError:
                raise
            except WorkspaceFailed as failure:  # while what it had made was put away
                self._tell(StopRequested(reason=str(failure), code=StopCode.IO_ERROR))
            except Exception as mistake:  # noqa: BLE001 - ours: the run has to end, and say so
                reason = f"{type(mistake).__name__} in the session of {atom or 'verification'}"
                self._tell(
                    StopRequested(reason=f"{reason}: {mistake}", code=StopCode.INTERNAL_ERROR)
                )

        task = self._tasks[atom] = asyncio.create_task(to_the_end())
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)
        task.add_done_callback(lambda _: session.close())  # it may have been ended before it began

    def _tell(self, event: Event) -> None:
        """Hand it over without waiting: who ends sessions waits for them, and does not listen."""
        self.news.put_nowait(News(event=event, may_be_refused=True))

    async def _send(self, event: Event, *, may_be_refused: bool = False) -> IllegalEvent | None:
        """Hand an event to the loop and wait until it is on record."""
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            self._tell(event)
            return None
        done: asyncio.Future[IllegalEvent | None] = asyncio.get_running_loop().create_future()
        await self.news.put(News(event=event, may_be_refused=may_be_refused, done=done))
        return await done

    async def _work(self, order: WorkOrder, told: Told, iteration: int) -> None:
        lease: Lease | None = None
        integrated = False
        try:
            lease = await self._leased(order)
            result = await self._sessions.agent_run(order, lease.path, told)
            integrated = await self._concluded(order, lease, result, iteration)
        except WorkspaceFailed as failure:
            await self._without_workspace(order, failure)
        finally:
            if lease is not None:
                await whole(self._put_away(order, lease, integrated=integrated))

    async def _look(self, order: WorkOrder, told: Told) -> None:
        lease: Lease | None = None
        try:
            lease = await self._leased(order)
            result = await self._sessions.agent_run(order, lease.path, told)
            await self._found(order, result)
        except WorkspaceFailed as failure:
            await self._without_workspace(order, failure)
        finally:
            if lease is not None:
                await whole(self._sessions.workspace.release(lease))

    async def _leased(self, order: WorkOrder) -> Lease:
        """One at a time: git stumbles over a work tree that another git is just making."""
        async with self._leasing:
            return await self._sessions.workspace.lease(order.attempt)

    async def _put_away(self, order: WorkOrder, lease: Lease, *, integrated: bool) -> None:
        if not integrated:
            await self._sessions.workspace.set_aside(lease, _trailers(order, "set aside"))
        await self._sessions.workspace.release(lease)

    async def _without_workspace(self, order: WorkOrder, failure: WorkspaceFailed) -> None:
        """Git said no: not the agent's fault, and nothing that another attempt would mend."""
        interrupted = SessionInterrupted(
            atom=order.atom, nonce=order.nonce, cause=Interruption.STOP
        )
        await self._send(StopRequested(reason=str(failure), code=StopCode.IO_ERROR))
        await self._send(interrupted)

    # --- what sessions come to -------------------------------------------------------------------

    async def _concluded(
        self, order: WorkOrder, lease: Lease, result: Result, iteration: int
    ) -> bool:
        """Send the one event of a worker's session; True if its work is on the branch."""
        report = result.report
        if isinstance(report, NoReport):
            await self._unreported(order, report, result.usage)
            return False
        event = event_of(order, report, result.usage)
        if event is None:
            assert isinstance(report, WorkerReport)  # noqa: S101 - nobody else claims anything
            return await self._claimed(order, lease, report, result.usage, iteration)
        await self._send(event)
        return False

    async def _claimed(
        self, order: WorkOrder, lease: Lease, report: WorkerReport, usage: Usage, iteration: int
    ) -> bool:
        """Look at the evidence, integrate, and record, in that order and one at a time."""
        seen, judging = await self._sessions.evidence_of(
            self._plan(), order, iteration, lease, report
        )
        usage = together(usage, judging)
        if not seen.holds:
            await self._send(failed(order, usage, seen.reason, judging))
            return False
        summary = report.summary or seen.reason
        resolved = AtomResolved(
            atom=order.atom,
            nonce=order.nonce,
            usage=usage,
            judging=judging,
            summary=bounded(summary, 1000),
            artifacts=seen.artifacts,
        )
        async with self._integrating:
            if not self._is_wanted(order):
                return False
            try:
                return await self._integrated(lease, _trailers(order, summary), resolved)
            except asyncio.CancelledError:
                if self._is_resolved(order):
                    return True  # it is on record; only the news of that came too late
                # Nobody will record it any more: what got onto the branch comes off again.
                await whole(self._sessions.workspace.rebuild((order.atom,)))
                raise

    async def _integrated(self, lease: Lease, trailers: Trailers, resolved: AtomResolved) -> bool:
        outcome = await whole(self._sessions.workspace.integrate(lease, trailers))
        if not isinstance(outcome, Conflict):
            await self._send(resolved)
            return True
        await self._send(
            SessionInterrupted(
                atom=resolved.atom,
                nonce=resolved.nonce,
                usage=resolved.usage,
                judging=resolved.judging,
                cause=Interruption.MERGE_CONFLICT,
            )
        )
        return False

    def _is_resolved(self, order: WorkOrder) -> bool:
        """By this session: what is resolved is never started again."""
        return self._plan().atoms[order.atom].status is Status.RESOLVED

    def _is_wanted(self, order: WorkOrder) -> bool:
        plan = self._plan()
        session = plan.sessions.get(order.atom)
        in_flight = session is not None and session.nonce == order.nonce
        return in_flight and order.atom in view(plan).live

    async def _found(self, order: WorkOrder, result: Result) -> None:
        report = result.report
        if isinstance(report, NoReport):
            await self._unreported(order, report, result.usage)
            return
        if isinstance(report, ProbeReport):
            self._findings[order.atom] = report.findings
        event = event_of(order, report, result.usage)
        await self._send(event or failed(order, result.usage, "the report is not that of a probe"))

    async def _unreported(self, order: WorkOrder, report: NoReport, usage: Usage) -> None:
        if report.trouble in ENDS_THE_RUN:
            # The program is missing or locked out: no attempt will fare better.
            await self._send(StopRequested(reason=report.reason, code=StopCode.AGENT_UNAVAILABLE))
        if report.trouble in (*ENDS_THE_RUN, *PASSES):
            limited = report.trouble in PASSES
            cause = Interruption.RATE_LIMIT if limited else Interruption.STOP
            await self._send(
                SessionInterrupted(atom=order.atom, nonce=order.nonce, usage=usage, cause=cause)
            )
        else:
            await self._send(failed(order, usage, report.reason))

    # --- the base case ---------------------------------------------------------------------------

    async def _verified(self, plan: Plan, after: int) -> None:
        await asyncio.sleep(after)
        try:
            event = await self._sessions.verification(plan)
        except WorkspaceFailed as failure:
            moved = isinstance(failure, BranchMoved)
            code = StopCode.TAMPERED if moved else StopCode.IO_ERROR
            await self._send(StopRequested(reason=str(failure), code=code))
            nonce = plan.sessions[ROOT].nonce
            await self._send(SessionInterrupted(atom=ROOT, nonce=nonce, cause=Interruption.STOP))
        else:
            await self._send(event)

    async def _checked_early(self, plan: Plan) -> None:
        """What was seen counts only while the branch is what it was, up to the record of it."""
        workspace = self._sessions.workspace
        try:
            commit = await workspace.tip()
            passed = await self._sessions.holds_early(plan)
            async with self._integrating:
                passed = passed and await workspace.tip() == commit
                await self._send(EarlyChecked(passed=passed), may_be_refused=True)
        except WorkspaceFailed as failure:
            await self._send(StopRequested(reason=str(failure), code=StopCode.IO_ERROR))


def _trailers(order: WorkOrder, summary: str) -> Trailers:
    return Trailers(run=order.run, atom=order.atom, attempt=order.attempt, summary=summary)
