"""Keeping the books of sessions that somebody else runs.

Inside a host such as Claude Code the agents are the host's own, and whoever coordinates them is a
model. So it is not the loop that starts sessions and waits for them: it is asked, by one short
command after another, to charge a start, to look at a claim, to say what comes next. Between two
commands nothing of ours runs. What is in flight stands in the plan, its tree is kept under the
number of its session, and what it was told lies in its folder of the log.

Everything else is as in any run. The kernel decides, a start is on disk before anybody is told of
it, evidence is looked at here, and what arrives under a nonce that is not in flight any more counts
for nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
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
from dwindle.ports.legible import legible_bytes
from dwindle.ports.process import Secret
from dwindle.ports.secrecy import retold, told_bytes
from dwindle.ports.work import NoReport, Result, Trouble, WorkerReport, WorkOrder
from dwindle.ports.workspace import Conflict, Lease, Trailers, Workspace, WorkspaceFailed
from dwindle.runner.conclusions import End, event_of, failed
from dwindle.runner.crew import News
from dwindle.runner.judgement import bounded
from dwindle.runner.loop import Loop
from dwindle.runner.orders import order_for, order_json
from dwindle.runner.prompt import prompt_for
from dwindle.runner.sessions import Sessions

REPORT = "report.json"
"""Where a session leaves its report, in its folder."""
SUMMARY_CHARACTERS = 1000
PROMPT = "prompt.md"
"""What it is told, in its folder; written last: a session that lacks it was never handed out."""
GONE = "it ended without a report"

T = TypeVar("T")
Decode = Callable[[WorkOrder, bytes], Result]
Concluded = End | AtomResolved | SessionInterrupted


class NotNow(Exception):
    """What was asked for is not what the plan allows; nothing was changed."""


class Trees(Workspace, Protocol):
    """A workspace whose leases outlive whoever took them."""

    def leased(self, session: int) -> Lease | None: ...
    async def retire(self, lease: Lease) -> None:
        """As `release`, where somebody may still be at work: nobody is ever put there again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handed:
    """A session that may begin now: what it is told, where it works, where it reports."""

    order: WorkOrder
    tree: Path
    folder: Path


@dataclass(slots=True, kw_only=True)
class Guests:
    """The sessions as a loop knows them: they begin and end elsewhere."""

    trees: Trees
    plan: Callable[[], Plan]
    news: asyncio.Queue[News] = field(default_factory=asyncio.Queue)

    def prepare(self, plan: Plan, action: Work | Probe) -> Callable[[], None]:  # noqa: ARG002
        """Nothing: it is told elsewhere."""
        return lambda: None

    def start(self, plan: Plan, action: Work | Probe) -> None:
        """Whoever asked for it is told, and starts it."""

    def verify(self, plan: Plan, after: int) -> None:
        """Whoever asked for it does it."""

    def check_early(self, plan: Plan) -> bool:  # noqa: ARG002 - as a loop calls it
        """As `verify`."""
        return False

    async def end(self, atoms: Iterable[AtomId]) -> None:
        """Nobody can be killed from here: their work is kept, and what they report is too late."""
        for atom in atoms:
            session = self.plan().sessions.get(atom)
            lease = self.trees.leased(session.number) if session is not None else None
            if session is not None and lease is not None:
                await self._set_aside(atom, session, lease)
                await self.trees.retire(lease)

    async def end_all(self) -> None:
        await self.end(tuple(self.plan().sessions))

    async def put_away(
        self, atom: AtomId, session: Session, lease: Lease, *, integrated: bool = False
    ) -> None:
        if not integrated:
            await self._set_aside(atom, session, lease)
        await self.trees.release(lease)

    async def _set_aside(self, atom: AtomId, session: Session, lease: Lease) -> None:
        run = self.plan().control.run_id or ""
        trailers = Trailers(run=run, atom=atom, attempt=session.number, summary="set aside")
        await self.trees.set_aside(lease, trailers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A run, one command at a time. Only for the holder of the lock."""

    loop: Loop
    guests: Guests
    sessions: Sessions
    decode: Decode
    findings: Mapping[AtomId, str]
    secrets: tuple[Secret, ...] = field(default=(), repr=False)
    """What nobody may read, whoever says it."""

    @property
    def plan(self) -> Plan:
        return self.loop.plan

    async def enter(self, started: RunStarted) -> Decision:
        self.loop.begin(started)
        return await self.next()

    async def tidy(self) -> None:
        """Forgive what a command that was killed had charged, and can have told nobody of."""
        for atom, session in tuple(self.plan.sessions.items()):
            if atom == ROOT or not (self.folder_of(atom) / PROMPT).is_file():
                await self._forgive(atom, session)

    async def _forgive(self, atom: AtomId, session: Session) -> None:
        await self.guests.end((atom,))
        cause = Interruption.RUNNER_DIED
        await self.loop.take(SessionInterrupted(atom=atom, nonce=session.nonce, cause=cause))

    async def next(self) -> Decision:
        """What there is to do for others; all that needs nobody is done."""
        while True:
            decision = await self.loop.advance()
            if not any(isinstance(action, CheckEarly) for action in decision.actions):
                return decision
            passed = await self.sessions.holds_early(self.plan)
            await self.loop.take(EarlyChecked(passed=passed))

    # --- sessions --------------------------------------------------------------------------------

    async def start(self, atom: AtomId) -> Handed:
        decision = await self.next()
        starts = (a for a in decision.actions if isinstance(a, (Work, Probe)))
        action = next((a for a in starts if a.atom == atom), None)
        if action is None:
            raise NotNow(self._why_not(decision, atom))
        await self.loop.act(action)
        session = self.plan.sessions[atom]
        findings = self.findings.get(atom, "")
        order = order_for(self.plan, action, session, findings=findings)
        try:
            lease = await self.guests.trees.lease(order.attempt)
        except WorkspaceFailed:
            cause = Interruption.STOP
            await self.loop.take(SessionInterrupted(atom=atom, nonce=session.nonce, cause=cause))
            raise
        folder = self.sessions.logs / f"{self.plan.control.iteration:04}" / _name(order)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "order.json").write_bytes(order_json(order))
        (folder / PROMPT).write_text(prompt_for(order), encoding="utf-8")
        return Handed(order=order, tree=lease.path, folder=folder)

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
        return decision.waiting.get(atom) or decision.because or f"{atom} cannot be started now"

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

    def reported(self, atom: AtomId) -> Result | None:
        """What the session left in its folder, if it did."""
        path = self.folder_of(atom) / REPORT
        if not path.is_file():
            return None
        data = path.read_bytes()
        result = self.read(atom, data)
        # It is part of the log from now on; whoever wrote it wrote it there directly.
        clean = legible_bytes(told_bytes(data, self.secrets))
        if clean != data:
            part = path.with_name(f".{REPORT}.part")
            part.write_bytes(clean)
            part.replace(path)
        return result

    def read(self, atom: AtomId, data: bytes) -> Result:
        """A report, as that of the session in flight."""
        result = self.decode(self._order(atom, self.in_flight(atom)), data)
        return replace(result, report=self.told(result.report))

    def told(self, said: T) -> T:
        """What a session said, in words or as a report, fit to be passed on."""
        return cast("T", retold(said, self.secrets))

    def folder_of(self, atom: AtomId) -> Path:
        """Where the session in flight is told things, and reports."""
        return self._folder(self._order(atom, self.in_flight(atom)))

    async def conclude(self, atom: AtomId, result: Result, nonce: int | None = None) -> Concluded:
        """Take a report; the event that it came to."""
        session = self.in_flight(atom, nonce)
        result = replace(result, report=self.told(result.report))
        order = self._order(atom, session)
        lease = self.guests.trees.leased(session.number)
        event: Concluded | None = event_of(order, result.report, result.usage)
        if event is None:
            event = await self._looked_at(order, lease, result)
        recorded = await self.loop.take(event)
        if isinstance(recorded, AttemptFailed):  # also of a proposal that the kernel refused
            event = recorded
        if lease is not None:
            integrated = isinstance(event, AtomResolved)
            await self.guests.put_away(atom, session, lease, integrated=integrated)
        return event

    async def _looked_at(self, order: WorkOrder, lease: Lease | None, result: Result) -> Concluded:
        """Evidence first, then the branch; the caller records it."""
        report = result.report
        assert isinstance(report, WorkerReport)  # noqa: S101 - nobody else claims anything
        if lease is None:
            return failed(order, result.usage, "its work tree is gone")
        iteration = int(self._folder(order).parent.name)
        seen, _ = await self.sessions.evidence_of(self.plan, order, iteration, lease, report)
        if not seen.holds:
            return failed(order, result.usage, seen.reason)
        summary = report.summary or seen.reason
        trailers = Trailers(run=order.run, atom=order.atom, attempt=order.attempt, summary=summary)
        outcome = await self.guests.trees.integrate(lease, trailers)
        if isinstance(outcome, Conflict):
            return SessionInterrupted(
                atom=order.atom,
                nonce=order.nonce,
                usage=result.usage,
                cause=Interruption.MERGE_CONFLICT,
            )
        return AtomResolved(
            atom=order.atom,
            nonce=order.nonce,
            usage=result.usage,
            summary=bounded(summary, SUMMARY_CHARACTERS),
            artifacts=seen.artifacts,
        )

    async def gather(self, *, forgive: bool) -> None:
        """Whoever coordinated is gone: what its sessions left counts, and nothing else does."""
        for atom, session in tuple(self.plan.sessions.items()):
            if atom == ROOT or (forgive and self.reported(atom) is None):
                await self._forgive(atom, session)
                continue
            nothing = Result(
                report=NoReport(trouble=Trouble.NO_REPORT, reason=GONE), usage=NO_USAGE
            )
            await self.conclude(atom, self.reported(atom) or nothing)

    async def override(self, edit: OverrideBinding, why: str) -> None:
        """Other words for a result: a redirect like any other. IllegalEvent if it is refused."""
        edit = self.told(edit)
        change = Redirected(type=CorrectionType.BINDINGS_OVERRIDE, edits=(edit,), description=why)
        await self.loop.take(change)

    # --- the end ---------------------------------------------------------------------------------

    async def verify(self) -> Decision:
        """A round of the base case; what is decided after it. NotNow if it is not time for one."""
        decision = await self.next()
        action = next((a for a in decision.actions if isinstance(a, Verify)), None)
        if action is None:
            raise NotNow(self._why_no_round(decision))
        await self.loop.act(action)
        await asyncio.sleep(action.after_seconds)
        try:
            event = await self.sessions.verification(self.plan)
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
        await self.loop.take(StopRequested(reason=self.told(reason), code=code))
        return await self.next()

    async def pause(self, *, active: bool) -> Decision:
        """For a redirect that somebody prepares; given up if not `active`."""
        await self.loop.take(RedirectRequested(active=active))
        return await self.next()

    # --- tools -----------------------------------------------------------------------------------

    def _order(self, atom: AtomId, session: Session) -> WorkOrder:
        """As it was handed out, for all that a report is read and filed by."""
        kind = Work if session.role is Role.WORKER else Probe
        return order_for(self.plan, kind(atom=atom, because=""), session)

    def _folder(self, order: WorkOrder) -> Path:
        found = sorted(self.sessions.logs.glob(f"*/{_name(order)}"))
        fallback = self.sessions.logs / f"{self.plan.control.iteration:04}" / _name(order)
        return found[-1] if found else fallback


def _name(order: WorkOrder) -> str:
    return f"{order.atom}.{order.attempt}.{order.role}"


def _is_or_are(names: Sequence[AtomId]) -> str:
    return "is" if len(names) == 1 else "are"
