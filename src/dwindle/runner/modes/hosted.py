"""Hosted runs: the agents belong to a host such as Claude Code, and a model coordinates them.

The loop does not start sessions and wait for them. The host's coordinator calls one short command
after another: charge a start, judge a claim, say what comes next. Between two commands nothing of
ours runs. The plan says which sessions are in flight, their trees are kept under the numbers of the
sessions, and their orders lie in the log.

Everything else is as in any run: the kernel decides, a start is on disk before the coordinator is
told of it, the gate judges the evidence, and a report under a nonce that is not in flight any more
counts for nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, TypeVar, cast

from dwindle.kernel.actions import CheckEarly, Decision, Probe, Verify, Work
from dwindle.kernel.events import (
    NO_USAGE,
    AtomResolved,
    AttemptFailed,
    EarlyChecked,
    Interruption,
    OverrideBinding,
    Redirected,
    RedirectRequested,
    RunStarted,
    SessionInterrupted,
    StopRequested,
)
from dwindle.kernel.explain import waiting
from dwindle.kernel.graph import view
from dwindle.kernel.model import (
    ROOT,
    AtomId,
    CorrectionType,
    Plan,
    Role,
    Session,
    Status,
    StopCode,
)
from dwindle.ports.agent import PROMPT, REPORT
from dwindle.ports.process import Secret
from dwindle.ports.work import Briefing, NoReport, Result, Trouble, WorkerReport, WorkOrder
from dwindle.ports.workspace import Conflict, Lease, Trailers, Workspace, WorkspaceFailed
from dwindle.runner.gate.gate import Gate
from dwindle.runner.gate.judgement import bounded
from dwindle.runner.inbox import Inbox
from dwindle.runner.loop import Loop
from dwindle.runner.modes.conclusions import End, event_of, failed_attempt
from dwindle.runner.modes.graph import (
    SUMMARY_CHARACTERS,
    about_paths,
    merge_conflict,
    session_folder,
    trailers_of,
)
from dwindle.runner.modes.mode import Mode
from dwindle.runner.orders.work import order_for
from dwindle.runner.session import not_briefed, order_content, prompt_of, write_record
from dwindle.text.escape import escape_bytes
from dwindle.text.redact import redact_and_escape, redact_bytes

GONE = "it ended without a report"

T = TypeVar("T")
Decode = Callable[[WorkOrder, bytes], Result]
Concluded = End | AtomResolved | SessionInterrupted


class NotNow(Exception):
    """The plan does not allow the request now; nothing was changed."""


class Trees(Workspace, Protocol):
    """A workspace whose leases outlive the command that took them."""

    def leased(self, session: int) -> Lease | None: ...
    async def retire(self, lease: Lease) -> None:
        """As `release`, but an agent may still be at work there: the tree is not used again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedSession:
    """A session that may begin now: its order, its tree and its folder in the log."""

    order: WorkOrder
    tree: Path
    folder: Path


class HostedMode(Mode):
    """The host starts and ends the sessions; the loop keeps their accounts."""

    def __init__(self, trees: Trees, plan: Callable[[], Plan]) -> None:
        self.inbox = Inbox()
        self.trees = trees
        self._plan = plan

    async def end(self, atoms: Iterable[AtomId]) -> None:
        """Keep their work. The runner cannot kill the host's agents; their reports come late."""
        for atom in atoms:
            session = self._plan().sessions.get(atom)
            lease = self.trees.leased(session.number) if session is not None else None
            if session is not None and lease is not None:
                await self._set_aside(atom, session, lease)
                await self.trees.retire(lease)

    async def end_all(self) -> None:
        await self.end(tuple(self._plan().sessions))

    async def rebuild(self, without: tuple[AtomId, ...]) -> tuple[AtomId, ...]:
        return await self.trees.rebuild(without)

    async def put_away(
        self, atom: AtomId, session: Session, lease: Lease, *, integrated: bool = False
    ) -> None:
        if not integrated:
            await self._set_aside(atom, session, lease)
        await self.trees.release(lease)

    async def _set_aside(self, atom: AtomId, session: Session, lease: Lease) -> None:
        run = self._plan().control.run_id or ""
        trailers = Trailers(run=run, atom=atom, attempt=session.number, summary="set aside")
        await self.trees.set_aside(lease, trailers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A hosted run, one command at a time. Only for the holder of the lock."""

    loop: Loop
    mode: HostedMode
    gate: Gate
    decode: Decode
    findings: Mapping[AtomId, str]
    briefing: Callable[[], Awaitable[Briefing]] = not_briefed
    secrets: tuple[Secret, ...] = field(default=(), repr=False)
    """Redacted from all that the host's sessions say."""

    @property
    def plan(self) -> Plan:
        return self.loop.plan

    async def enter(self, started: RunStarted) -> Decision:
        self.loop.begin(started)
        return await self.next()

    async def tidy(self) -> None:
        """Forgive starts that a killed command had charged before it could answer."""
        for atom, session in tuple(self.plan.sessions.items()):
            if atom == ROOT or not (self.folder_of(atom) / PROMPT).is_file():
                await self._forgive(atom, session)

    async def _forgive(self, atom: AtomId, session: Session) -> None:
        await self.mode.end((atom,))
        cause = Interruption.RUNNER_DIED
        await self.loop.take(SessionInterrupted(atom=atom, nonce=session.nonce, cause=cause))

    async def next(self) -> Decision:
        """What the host has to do now; actions that need no session are done here."""
        while True:
            decision = await self.loop.advance()
            if not any(isinstance(action, CheckEarly) for action in decision.actions):
                return decision
            passed = await self.gate.holds_early(self.plan)
            await self.loop.take(EarlyChecked(passed=passed))

    # --- sessions --------------------------------------------------------------------------------

    async def start(self, atom: AtomId) -> StartedSession:
        decision = await self.next()
        starts = (a for a in decision.actions if isinstance(a, (Work, Probe)))
        action = next((a for a in starts if a.atom == atom), None)
        if action is None:
            raise NotNow(self._why_not(decision, atom))
        await self.loop.act(action)
        session = self.plan.sessions[atom]
        findings = self.findings.get(atom, "")
        order = order_for(self.plan, action, session, findings=findings)
        order = replace(order, briefing=await self.briefing())
        try:
            lease = await self.mode.trees.lease(order.attempt)
        except WorkspaceFailed:
            cause = Interruption.STOP
            await self.loop.take(SessionInterrupted(atom=atom, nonce=session.nonce, cause=cause))
            raise
        folder = session_folder(self.gate.logs, self.plan, order)
        write_record(folder, order_content(order), prompt_of(order).encode())
        return StartedSession(order=order, tree=lease.path, folder=folder)

    def _why_not(self, decision: Decision, atom: AtomId) -> str:
        plan = self.plan
        if atom not in plan.atoms:
            return f"there is no atom {atom}"
        if decision.stop is not None:
            return f"the run is over: {decision.stop.reason}"
        if atom in plan.sessions:
            return f"{atom} is in progress already, under nonce {plan.sessions[atom].nonce}"
        if plan.atoms[atom].status is Status.RESOLVED:
            return f"{atom} is resolved already"
        if atom in view(plan).shape.kids:
            return f"{atom} was decomposed; its children are worked on, and it follows from them"
        if atom not in view(plan).live:
            return f"{atom} is on a branch that is not taken"
        return waiting(decision).get(atom) or decision.because or f"{atom} cannot be started now"

    def in_flight(self, atom: AtomId, nonce: int | None = None) -> Session:
        session = self.plan.sessions.get(atom)
        if session is None:
            if atom not in self.plan.atoms:
                raise NotNow(f"there is no atom {atom}")
            status = self.plan.atoms[atom].status
            raise NotNow(f"no session of {atom} is in flight: it is {status}")
        if nonce is not None and nonce != session.nonce:
            raise NotNow(
                f"that session of {atom} (nonce {nonce}) was ended; nonce {session.nonce} is in "
                "flight, and this result is discarded"
            )
        return session

    def report_of(self, atom: AtomId) -> Result | None:
        """The report in the session's folder, if there is one."""
        path = self.folder_of(atom) / REPORT
        if not path.is_file():
            return None
        data = path.read_bytes()
        result = self.read(atom, data)
        # The session wrote it straight into the log, where it stays.
        clean = escape_bytes(redact_bytes(data, self.secrets))
        if clean != data:
            part = path.with_name(f".{REPORT}.part")
            part.write_bytes(clean)
            part.replace(path)
        return result

    def read(self, atom: AtomId, data: bytes) -> Result:
        """A report, as that of the session in flight."""
        result = self.decode(self._order(atom, self.in_flight(atom)), data)
        return replace(result, report=self.redacted(result.report))

    def redacted(self, said: T) -> T:
        """Words or a report of a session, redacted and escaped."""
        return cast("T", redact_and_escape(said, self.secrets))

    def folder_of(self, atom: AtomId) -> Path:
        """The folder with the order and the report of the session in flight."""
        return self._folder(self._order(atom, self.in_flight(atom)))

    async def conclude(self, atom: AtomId, result: Result, nonce: int | None = None) -> Concluded:
        """Conclude a session with its report; returns the recorded event."""
        session = self.in_flight(atom, nonce)
        result = replace(result, report=self.redacted(result.report))
        order = self._order(atom, session)
        lease = self.mode.trees.leased(session.number)
        event: Concluded | None = event_of(order, result.report, result.usage)
        if event is None:
            event = await self._judge_claim(order, lease, result)
        recorded = await self.loop.take(event)
        if isinstance(recorded, AttemptFailed):  # also of a proposal that the kernel refused
            event = recorded
        if lease is not None:
            integrated = isinstance(event, AtomResolved)
            await self.mode.put_away(atom, session, lease, integrated=integrated)
        return event

    async def _judge_claim(
        self, order: WorkOrder, lease: Lease | None, result: Result
    ) -> Concluded:
        """Evidence first, then the branch; the caller records it."""
        report = result.report
        assert isinstance(report, WorkerReport)  # noqa: S101 - no other report claims success
        if lease is None:
            return failed_attempt(order, result.usage, "its work tree is gone")
        evidence, _ = await self.gate.evidence_of(
            self.plan, order.atom, self._folder(order), lease, report
        )
        if not evidence.holds:
            event = failed_attempt(order, result.usage, evidence.reason)
            return about_paths(event, evidence, report)
        summary = report.summary or evidence.reason
        resolved = AtomResolved(
            atom=order.atom,
            nonce=order.nonce,
            usage=result.usage,
            summary=bounded(summary, SUMMARY_CHARACTERS),
            artifacts=evidence.artifacts,
        )
        resolved = about_paths(resolved, evidence, report)
        outcome = await self.mode.trees.integrate(lease, trailers_of(order, summary))
        return merge_conflict(resolved) if isinstance(outcome, Conflict) else resolved

    async def gather(self, *, forgive: bool) -> None:
        """The coordinator is gone: reports that its sessions left count, and nothing else does."""
        for atom, session in tuple(self.plan.sessions.items()):
            if atom == ROOT or (forgive and self.report_of(atom) is None):
                await self._forgive(atom, session)
                continue
            nothing = Result(
                report=NoReport(trouble=Trouble.NO_REPORT, reason=GONE), usage=NO_USAGE
            )
            await self.conclude(atom, self.report_of(atom) or nothing)

    async def override(self, edit: OverrideBinding, why: str) -> None:
        """Change the summary of a result, by a redirect. IllegalEvent if the kernel refuses it."""
        edit = self.redacted(edit)
        change = Redirected(type=CorrectionType.BINDINGS_OVERRIDE, edits=(edit,), description=why)
        await self.loop.take(change)

    # --- the end ---------------------------------------------------------------------------------

    async def verify(self) -> Decision:
        """Run a round of the base case; the decision after it. NotNow if none is due."""
        decision = await self.next()
        action = next((a for a in decision.actions if isinstance(a, Verify)), None)
        if action is None:
            raise NotNow(self._why_no_round(decision))
        await self.loop.act(action)
        await asyncio.sleep(action.after_seconds)
        try:
            event = await self.gate.verification(self.plan)
        except WorkspaceFailed as failure:
            nonce = self.plan.sessions[ROOT].nonce
            await self.loop.take(StopRequested(reason=str(failure), code=StopCode.IO_ERROR))
            cause = Interruption.STOP
            await self.loop.take(SessionInterrupted(atom=ROOT, nonce=nonce, cause=cause))
            return await self.next()
        await self.loop.take(event)
        return await self.next()

    def _why_no_round(self, decision: Decision) -> str:
        if decision.stop is not None:
            return f"the run is over: {decision.stop.reason}"
        plan = self.plan
        live = view(plan).live
        undone = (n for n, a in plan.atoms.items() if a.status is not Status.RESOLVED)
        opened = [name for name in undone if name in live]
        if opened:
            return f"not everything is resolved: {', '.join(opened)} {_is_or_are(opened)} open"
        return decision.because or "something is still in flight"

    async def stop(self, reason: str, code: StopCode = StopCode.STOPPED_BY_USER) -> Decision:
        await self.loop.take(StopRequested(reason=self.redacted(reason), code=code))
        return await self.next()

    async def pause(self, *, active: bool) -> Decision:
        """Pause for a redirect that the user prepares; not `active` ends the pause."""
        await self.loop.take(RedirectRequested(active=active))
        return await self.next()

    # --- tools -----------------------------------------------------------------------------------

    def _order(self, atom: AtomId, session: Session) -> WorkOrder:
        """The order of the session, as far as its report needs it."""
        kind = Work if session.role is Role.WORKER else Probe
        return order_for(self.plan, kind(atom=atom, because=""), session)

    def _folder(self, order: WorkOrder) -> Path:
        fallback = session_folder(self.gate.logs, self.plan, order)
        found = sorted(self.gate.logs.glob(f"*/{fallback.name}"))
        return found[-1] if found else fallback


def _is_or_are(names: Sequence[AtomId]) -> str:
    return "is" if len(names) == 1 else "are"
