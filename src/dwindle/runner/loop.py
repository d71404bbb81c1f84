"""Decide, start, listen; and again after every event, until the kernel says stop.

Graph, tree and hosted runs share this loop; what differs between them is their mode. A start is on
disk, and charged, before a process is spawned. What agents and checks come to, and what people ask
for, arrives in one inbox. If the kernel refuses what an agent proposed, that is a failed attempt;
anything else that it refuses is a mistake of ours and ends the run.

The loop decides after every event, but to sync the disk for every one of them would be most of what
a run costs. So an event is only noted, and what must wait until it is safe is deferred: an answer,
a start, a line for the user. Before the loop waits for anything, and before it touches the world in
any other way, it commits what was noted and then does what was deferred, in order. The end of one
session and the start of the next thus cost one sync.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from dwindle.kernel import branches, winds
from dwindle.kernel.actions import (
    Action,
    Backjump,
    BeginWind,
    CheckEarly,
    Decision,
    FailChoice,
    Kill,
    Probe,
    Settle,
    Stop,
    Verify,
    Work,
)
from dwindle.kernel.decide import decide
from dwindle.kernel.errors import IllegalEvent
from dwindle.kernel.events import (
    AlternativesProposed,
    AttemptFailed,
    Backjumped,
    ChoiceFailed,
    Decomposed,
    Event,
    Interruption,
    Redirected,
    RunEnded,
    RunStarted,
    SessionInterrupted,
    SessionReaped,
    SessionStarted,
    Settled,
    StopRequested,
    Waited,
    WindBegan,
)
from dwindle.kernel.graph import view
from dwindle.kernel.measure import measure
from dwindle.kernel.model import ROOT, AtomId, Plan, Role, RunStatus, StopCode
from dwindle.kernel.pace import begins_iteration
from dwindle.kernel.shape import subtree
from dwindle.ports.clock import Clock
from dwindle.ports.workspace import WorkspaceFailed
from dwindle.runner.file_watch import EVERY, FileWatch
from dwindle.runner.inbox import Message
from dwindle.runner.ledger import Ledger
from dwindle.runner.meter import Meter
from dwindle.runner.modes.mode import Mode
from dwindle.runner.redirect import redirect

SESSIONS = (Work, Probe, Verify, CheckEarly)
"""Actions that a session, or a round of checks, is started for."""
LONGEST_WAIT = 60.0
"""Seconds after which time is written down even if nothing else happens."""
TICK = 0.001
"""Seconds: time is recorded in steps of this size, so waiting for less would record no time."""

Watcher = Callable[[Plan, Event], None]
"""Told after every event: what happened, and the plan after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Halted:
    """How a run came to rest: for good, or after one iteration (`step`)."""

    stop: Stop | None
    plan: Plan


class Loop:
    """One run of one plan."""

    def __init__(  # noqa: PLR0913 - what a run is put together from
        self,
        ledger: Ledger,
        mode: Mode,
        clock: Clock,
        watch: Watcher,
        *,
        file: FileWatch | None = None,
        idle: float = 0.0,
        meter: Meter | None = None,
    ) -> None:
        """`idle`: seconds of the run that have passed since anything was recorded."""
        self._ledger = ledger
        self._mode = mode
        self._clock = clock
        self._watch = watch
        self._file = file
        self._meter = meter or Meter()
        self._last = clock.monotonic() - idle
        self._deferred: list[Callable[[], None]] = []
        self.inbox = mode.inbox

    @property
    def plan(self) -> Plan:
        return self._ledger.plan

    def seconds_left(self) -> float:
        """Until the wall clock of the run is spent."""
        passed = self._clock.monotonic() - self._last
        return self.plan.limits.max_wall_seconds - self.plan.spent.seconds - passed

    def begin(self, started: RunStarted) -> None:
        """Take the run up: what a crash left in flight died with the runner."""
        self._note(started)
        for atom, session in tuple(self.plan.sessions.items()):
            cause = Interruption.RUNNER_DIED
            self._note(SessionInterrupted(atom=atom, nonce=session.nonce, cause=cause))
        self._commit_and_run_deferred()

    async def run(self, *, one_iteration: bool = False) -> Halted:
        """Go on until the kernel says stop, or until the iteration under way is over."""
        first = self.plan.control.iteration
        try:
            while True:
                await self._mode.quiet()
                decision = decide(self.plan)
                if decision.stop is not None:
                    self._note(RunEnded(code=decision.stop.code, reason=decision.stop.reason))
                    self._commit_and_run_deferred()
                    return Halted(stop=decision.stop, plan=self.plan)
                if one_iteration and self._iteration_over(first, decision):
                    if not self.plan.sessions:
                        self._commit_and_run_deferred()
                        return Halted(stop=None, plan=self.plan)
                    await self._listen()
                elif not await self._act(decision):
                    await self._listen()
        finally:
            await self._mode.end_all()
            self._ledger.flush()

    async def advance(self) -> Decision:
        """Do whatever needs no session; what is decided then. The end of the run is recorded."""
        while True:
            decision = decide(self.plan)
            if decision.stop is not None:
                if self.plan.control.status is RunStatus.RUNNING:
                    self._note(RunEnded(code=decision.stop.code, reason=decision.stop.reason))
                self._commit_and_run_deferred()
                return decision
            ours = tuple(a for a in decision.actions if not isinstance(a, SESSIONS))
            if not ours:
                self._commit_and_run_deferred()
                return decision
            await self._act(replace(decision, actions=ours))

    async def act(self, action: Action) -> None:
        """Do one thing that was decided; when this returns, it is on record."""
        await self._act(Decision(plan=self.plan, actions=(action,)))
        self._commit_and_run_deferred()

    async def take(self, event: Event) -> Event:
        """Record an event; returns what is on record instead. IllegalEvent if it is refused."""
        done = asyncio.get_running_loop().create_future()
        recorded = await self._take(Message(event=event, may_be_refused=True, done=done))
        self._commit_and_run_deferred()
        if (refusal := done.result()) is not None:
            raise refusal
        return recorded

    def _iteration_over(self, first: int, decision: Decision) -> bool:
        """Would going on begin another iteration?"""
        begun = self.plan.control.iteration > first
        starting = any(isinstance(a, (Work, Probe)) for a in decision.actions)
        return begun and starting and begins_iteration(self.plan)

    # --- doing -----------------------------------------------------------------------------------

    async def _act(self, decision: Decision) -> bool:
        """Do what was decided; False if nothing of it changed the plan by itself."""
        if kills := tuple(a.atom for a in decision.actions if isinstance(a, Kill)):
            self._commit_and_run_deferred()
            # All at once: saving what one of them has made must not let the others run on.
            await self._mode.end(kills)
        changed = False
        try:
            for action in decision.actions:
                changed = await self._do(action) or changed
        except WorkspaceFailed as failure:
            self._give_up(failure)
            return True
        return changed

    def _give_up(self, failure: WorkspaceFailed) -> None:
        """Git failed at what the runner did itself: going on would make nothing better."""
        self._note(StopRequested(reason=str(failure), code=StopCode.IO_ERROR))

    async def _do(self, action: Action) -> bool:
        match action:
            case Work() | Probe():
                await self._start(action)
            case Verify():
                self._note(SessionStarted(atom=ROOT, role=Role.VERIFIER))
                self._deferred.append(partial(self._mode.verify, self.plan, action.after_seconds))
            case CheckEarly():
                return self._mode.check_early(self.plan)
            case Settle():
                self._note(Settled())
            case Kill():
                await self._kill(action)
            case FailChoice():
                await self._fail_choice(action)
            case Backjump():
                await self._backjump(action)
            case BeginWind():
                self._note(WindBegan(reason=action.because))
        return True

    async def _start(self, action: Work | Probe) -> None:
        trouble = await self._mode.trouble(action)
        if trouble is not None:
            self._note(trouble)
            return
        role = Role.WORKER if isinstance(action, Work) else Role.PROBE
        agent = self._mode.agent_for(self.plan, action)
        self._note(SessionStarted(atom=action.atom, role=role, agent=agent))
        self._deferred.append(partial(self._mode.start, self.plan, action, agent))

    async def _kill(self, action: Kill) -> None:
        """End a session and record that the runner did."""
        self._commit_and_run_deferred()
        await self._mode.end((action.atom,))
        if action.atom != ROOT and action.atom not in view(self.plan).live:
            used = self._meter.take(action.nonce)
            self._note(SessionReaped(atom=action.atom, nonce=action.nonce, usage=used))
        else:
            self._note(self._meter.cut_short(action.atom, action.nonce))

    async def _fail_choice(self, action: FailChoice) -> None:
        under = tuple(AtomId(n) for n in subtree(view(self.plan).shape, action.choice))
        lost = await self._rebuilt(tuple(a for a in under if a in self.plan.atoms), action.kills)
        if lost and measure(self.plan).backjumps <= 0:
            reason = f"the work of {', '.join(lost)} does not go without {action.choice}"
            if not winds.pays_for_switch(self.plan):
                self._note(StopRequested(reason=reason, code=StopCode.ATOM_EXHAUSTED))
                return
            self._note(WindBegan(reason=f"{reason}, and no backjump is left to pay for it"))
        self._note(
            ChoiceFailed(
                group=action.group, choice=action.choice, reason=action.because, unreplayed=lost
            )
        )

    async def _backjump(self, action: Backjump) -> None:
        lost = await self._rebuilt(action.drops, action.kills)
        self._note(
            Backjumped(group=action.group, atom=action.atom, reason=action.because, unreplayed=lost)
        )

    async def _rebuilt(
        self, without: tuple[AtomId, ...], kills: tuple[AtomId, ...]
    ) -> tuple[AtomId, ...]:
        """Take these atoms off the branch, and what was built on work that got lost by that.

        Sessions that work on any of it are ended first.
        """
        self._commit_and_run_deferred()
        await self._mode.end(kills)
        lost: tuple[AtomId, ...] = ()
        drops = off = without
        while drops:
            gone = await self._mode.rebuild(drops)
            lost = (*lost, *(a for a in gone if a not in off))
            undone = branches.undone_by_loss(self.plan, lost)
            await self._mode.end(undone)
            drops = tuple(a for a in undone if a not in (*off, *lost))
            off = (*off, *lost, *drops)
        return lost

    # --- listening -------------------------------------------------------------------------------

    async def _listen(self) -> None:
        """Record the next thing that happens; wait for it if nothing has."""
        if self.inbox.empty():
            self._commit_and_run_deferred()
        message = None
        if self.inbox.empty():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._patience()):
                    message = await self.inbox.get()
            self._look_at_file()
            self._ledger.save_when_due()
        else:
            message = self.inbox.get_nowait()
        if message is not None:
            await self._take(message)
        elif self._clock.monotonic() - self._last >= self._until_waited():
            self._note(Waited())

    def _look_at_file(self) -> None:
        """Read what other tools asked for in the plan file; always before a save overwrites it.

        It goes through the inbox: what was decided before it was asked for is done first.
        """
        for event in self._file.look() if self._file is not None else ():
            control = self.plan.control
            if control.status is RunStatus.RUNNING and not control.stop_requested:
                self.inbox.put_nowait(Message(event=event, may_be_refused=True))

    def _patience(self) -> float:
        due = self._ledger.seconds_until_due()
        passed = self._clock.monotonic() - self._last
        left = max(0.0, self._until_waited() - passed)
        if self._file is not None:
            left = min(left, EVERY)
        return left if due is None else min(left, due)

    def _until_waited(self) -> float:
        """When to write down that time has passed: at the latest when the wall clock is spent."""
        spent, limit = self.plan.spent.seconds, self.plan.limits.max_wall_seconds
        return min(LONGEST_WAIT, max(TICK, limit - spent)) if spent < limit else LONGEST_WAIT

    async def _take(self, message: Message) -> Event:
        """Record an event, and answer its sender once it is on disk."""
        event, recorded, refused = message.event, message.event, None
        try:
            self._mode.admit(event)
            if isinstance(event, Redirected):
                self._commit_and_run_deferred()
                events = (event, *message.also)
                mode = self._mode
                await redirect(self.plan, events, mode.rebuild, mode.end_all, self._note)
            else:
                self._note(event)
        except WorkspaceFailed as failure:  # of a redirect, which has ended the sessions already
            self._give_up(failure)
            refused = IllegalEvent(event, str(failure))
        except IllegalEvent as refusal:
            if isinstance(event, (Decomposed, AlternativesProposed)):
                recorded = AttemptFailed(
                    atom=event.atom, nonce=event.nonce, usage=event.usage, reason=str(refusal)
                )
                self._note(recorded)
            elif message.may_be_refused:
                refused = refusal
            else:
                raise
        self._deferred.append(partial(message.answer, refused))
        return recorded

    # --- recording -------------------------------------------------------------------------------

    def record(self, event: Event) -> Plan:
        """Record an event at once: for a mode that must know that it is on disk."""
        self._note(event)
        self._commit_and_run_deferred()
        return self.plan

    def _note(self, event: Event) -> Plan:
        now = self._clock.monotonic()
        running = self.plan.control.status is RunStatus.RUNNING
        elapsed = max(0.0, round(now - self._last, 3))
        stamped = replace(event, at=self._clock.now(), elapsed=elapsed if running else 0.0)
        before = self.plan.sessions
        plan = self._ledger.note(stamped)
        self._last = self._last + elapsed if running else now
        self._deferred.append(partial(self._tell, plan, stamped))
        for late in self._meter.after(stamped, before, plan.sessions):
            self._note(late)
        return self.plan

    def _tell(self, plan: Plan, event: Event) -> None:
        self._mode.recorded(plan, event)
        self._watch(plan, event)

    def _commit_and_run_deferred(self) -> None:
        """Make everything noted durable, then do what had to wait for that."""
        self._look_at_file()
        self._ledger.commit()
        deferred, self._deferred = self._deferred, []
        for work in deferred:
            work()
