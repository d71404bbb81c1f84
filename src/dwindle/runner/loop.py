"""Decide, start, listen; and again after every event, until the kernel says stop.

Nothing is hidden in here. A start is on disk, and charged, before a process is spawned. What agents
and checks come to arrives as events from the crew; what people want arrives as requests. Whatever
the kernel refuses of what an agent proposed becomes a failed attempt; anything else that it refuses
is a mistake of ours and ends the run.

Every event is decided upon by itself, but to sync the disk for every one of them would be most of
what a run costs. So an event is only noted, and whatever must wait until it is safe is owed: an
answer, a start, a line for a person. Before the loop waits for anything, and before it touches the
world in any other way, it commits what was noted and pays what is owed, in order. What ended and
what is started in its place thus cost one sync, and so do sessions that end at the same time.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from dwindle.kernel import branches
from dwindle.kernel.actions import (
    Action,
    Backjump,
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
from dwindle.kernel.changed import replace
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
)
from dwindle.kernel.graph import view
from dwindle.kernel.measure import measure
from dwindle.kernel.model import ROOT, AtomId, Plan, Role, RunStatus, StopCode
from dwindle.kernel.pace import begins_iteration
from dwindle.kernel.shape import subtree
from dwindle.ports.clock import Clock
from dwindle.ports.workspace import Workspace, WorkspaceFailed
from dwindle.runner.aside import Aside
from dwindle.runner.crew import News
from dwindle.runner.garbage import rarely_collected
from dwindle.runner.hands import Hands
from dwindle.runner.ledger import Ledger
from dwindle.runner.meter import Meter
from dwindle.runner.redirecting import redirect
from dwindle.runner.watching import EVERY, FileWatch

SESSIONS = (Work, Probe, Verify, CheckEarly)
"""What somebody has to be found for."""
LONGEST_WAIT = 60.0
"""Seconds after which time is written down even if nothing else happens."""

Watcher = Callable[[Plan, Event], None]
"""Told after every event: what happened, and the plan after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Halted:
    """How a run came to rest: for good, or after one iteration (`step`)."""

    stop: Stop | None
    plan: Plan


class Loop:
    """One run of one plan. `asked` is where requests of people come in, among the crew's news."""

    def __init__(  # noqa: PLR0913 - what a run is put together from
        self,
        ledger: Ledger,
        crew: Hands,
        workspace: Workspace,
        clock: Clock,
        watch: Watcher,
        *,
        file: FileWatch | None = None,
        idle: float = 0.0,
        aside: Aside | None = None,
        meter: Meter | None = None,
    ) -> None:
        """`idle`: seconds of the run that have passed since anything was recorded.

        With `aside`, sessions go on while what was recorded is synced to the disk.
        """
        self._ledger = ledger
        self._crew = crew
        self._workspace = workspace
        self._clock = clock
        self._watch = watch
        self._file = file
        self._aside = aside
        self._meter = meter or Meter()
        self._last = clock.monotonic() - idle
        self._owed: list[Callable[[], None]] = []
        self._beside: list[Callable[[], None]] = []
        """What may be done by another thread, once what was noted is safe."""
        self.asked = crew.news

    @property
    def plan(self) -> Plan:
        return self._ledger.plan

    def seconds_left(self) -> float:
        """Until the wall clock of the run is spent."""
        passed = self._clock.monotonic() - self._last
        return self.plan.limits.max_wall_seconds - self.plan.spent.seconds - passed

    def begin(self, started: RunStarted) -> None:
        """Take the run up: what a crash left in flight died with the runner."""
        self._record(started)
        for atom, session in tuple(self.plan.sessions.items()):
            cause = Interruption.RUNNER_DIED
            self._record(SessionInterrupted(atom=atom, nonce=session.nonce, cause=cause))
        self._settle()

    async def run(self, *, one_iteration: bool = False) -> Halted:
        """Go on until the kernel says stop, or until the iteration under way is over."""
        with rarely_collected():
            return await self._run(one_iteration=one_iteration)

    async def _run(self, *, one_iteration: bool) -> Halted:
        first = self.plan.control.iteration
        try:
            while True:
                decision = decide(self.plan)
                if decision.stop is not None:
                    self._record(RunEnded(code=decision.stop.code, reason=decision.stop.reason))
                    self._settle()
                    return Halted(stop=decision.stop, plan=self.plan)
                if one_iteration and self._iteration_over(first, decision):
                    if not self.plan.sessions:
                        self._settle()
                        return Halted(stop=None, plan=self.plan)
                    await self._listen()
                elif not await self._act(decision):
                    await self._listen()
        finally:
            await self._crew.end_all()
            self._ledger.flush()

    async def advance(self) -> Decision:
        """Do whatever needs no session; what is decided then. The end of the run is recorded."""
        while True:
            decision = decide(self.plan)
            if decision.stop is not None:
                if self.plan.control.status is RunStatus.RUNNING:
                    self._record(RunEnded(code=decision.stop.code, reason=decision.stop.reason))
                self._settle()
                return decision
            ours = tuple(a for a in decision.actions if not isinstance(a, SESSIONS))
            if not ours:
                self._settle()
                return decision
            await self._act(replace(decision, actions=ours))

    async def act(self, action: Action) -> None:
        """Do one thing that was decided; when this returns, it is on record."""
        await self._act(Decision(plan=self.plan, actions=(action,)))
        self._settle()

    async def take(self, event: Event) -> Event:
        """Somebody has news; what is on record when this returns. IllegalEvent if it is refused."""
        done = asyncio.get_running_loop().create_future()
        recorded = await self._take(News(event=event, may_be_refused=True, done=done))
        self._settle()
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
            self._settle()
            # All at once: saving what one of them has made must not let the others run on.
            await self._crew.end(kills)
        changed = False
        try:
            for action in decision.actions:
                changed = await self._do(action) or changed
        except WorkspaceFailed as failure:
            self._give_up(failure)
            return True
        return changed

    def _give_up(self, failure: WorkspaceFailed) -> None:
        """Git said no to what we did ourselves: nothing would get better by going on."""
        self._record(StopRequested(reason=str(failure), code=StopCode.IO_ERROR))

    async def _do(self, action: Action) -> bool:
        match action:
            case Work() | Probe():
                role = Role.WORKER if isinstance(action, Work) else Role.PROBE
                self._record(SessionStarted(atom=action.atom, role=role))
                self._beside.append(self._crew.prepare(self.plan, action))
                self._owed.append(partial(self._crew.start, self.plan, action))
            case Verify():
                self._record(SessionStarted(atom=ROOT, role=Role.VERIFIER))
                self._owed.append(partial(self._crew.verify, self.plan, action.after_seconds))
            case CheckEarly():
                return self._crew.check_early(self.plan)
            case Settle():
                self._record(Settled())
            case Kill():
                await self._kill(action)
            case FailChoice():
                await self._fail_choice(action)
            case Backjump():
                await self._backjump(action)
        return True

    async def _kill(self, action: Kill) -> None:
        """End a session, unless it ended meanwhile; then record which way it went."""
        self._settle()
        await self._crew.end((action.atom,))
        if action.atom != ROOT and action.atom not in view(self.plan).live:
            used = self._meter.take(action.nonce)
            self._record(SessionReaped(atom=action.atom, nonce=action.nonce, usage=used))
        else:
            self._record(self._meter.cut_short(action.atom, action.nonce))

    async def _fail_choice(self, action: FailChoice) -> None:
        under = tuple(AtomId(n) for n in subtree(view(self.plan).shape, action.choice))
        lost = await self._rebuilt(tuple(a for a in under if a in self.plan.atoms), action.kills)
        if lost and measure(self.plan).backjumps <= 0:
            reason = f"the work of {', '.join(lost)} does not go without {action.choice}"
            self._record(StopRequested(reason=reason, code=StopCode.ATOM_EXHAUSTED))
            return
        self._record(
            ChoiceFailed(
                group=action.group, choice=action.choice, reason=action.because, unreplayed=lost
            )
        )

    async def _backjump(self, action: Backjump) -> None:
        lost = await self._rebuilt(action.drops, action.kills)
        self._record(
            Backjumped(group=action.group, atom=action.atom, reason=action.because, unreplayed=lost)
        )

    async def _rebuilt(
        self, without: tuple[AtomId, ...], kills: tuple[AtomId, ...]
    ) -> tuple[AtomId, ...]:
        """The branch without these atoms, and what was built on what got lost; sessions end."""
        self._settle()
        await self._crew.end(kills)
        lost: tuple[AtomId, ...] = ()
        drops = off = without
        while drops:
            gone = await self._workspace.rebuild(drops)
            lost = (*lost, *(a for a in gone if a not in off))
            undone = branches.undone_by_loss(self.plan, lost)
            await self._crew.end(undone)
            drops = tuple(a for a in undone if a not in (*off, *lost))
            off = (*off, *lost, *drops)
        return lost

    # --- listening -------------------------------------------------------------------------------

    async def _listen(self) -> None:
        """Take down the next thing that happens; wait for it if nothing has."""
        news = None
        if self.asked.empty():
            await self._settle_aside()
        if self.asked.empty():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._patience()):
                    news = await self.asked.get()
            self._look_at_file()
            self._ledger.save_when_due()
        else:
            news = self.asked.get_nowait()
        if news is not None:
            await self._take(news)
        elif self._clock.monotonic() - self._last >= self._until_waited():
            self._record(Waited())

    def _look_at_file(self) -> None:
        """Always before a save, which would write over what somebody asked for in the file.

        It is heard among the other news: what was decided before it was asked for is done first.
        """
        for event in self._file.look() if self._file is not None else ():
            control = self.plan.control
            if control.status is RunStatus.RUNNING and not control.stop_requested:
                self.asked.put_nowait(News(event=event, may_be_refused=True))

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
        return min(LONGEST_WAIT, limit - spent) if spent < limit else LONGEST_WAIT

    async def _take(self, news: News) -> Event:
        """Record an event and tell whoever waits for that what became of it."""
        recorded, refused = news.event, None
        try:
            if isinstance(news.event, Redirected):
                self._settle()
                events = (news.event, *news.also)
                await redirect(self.plan, events, self._workspace, self._crew.end_all, self._record)
            else:
                self._record(news.event)
        except WorkspaceFailed as failure:  # of a redirect, which has ended the sessions already
            self._give_up(failure)
            refused = IllegalEvent(news.event, str(failure))
        except IllegalEvent as refusal:
            if isinstance(news.event, (Decomposed, AlternativesProposed)):
                event = news.event
                recorded = AttemptFailed(
                    atom=event.atom, nonce=event.nonce, usage=event.usage, reason=str(refusal)
                )
                self._record(recorded)
            elif news.may_be_refused:
                refused = refusal
            else:
                raise
        self._owed.append(partial(news.answer, refused))
        return recorded

    # --- recording -------------------------------------------------------------------------------

    def _record(self, event: Event) -> Plan:
        now = self._clock.monotonic()
        running = self.plan.control.status is RunStatus.RUNNING
        stamped = replace(
            event, at=self._clock.now(), elapsed=round(now - self._last, 3) if running else 0.0
        )
        self._last = now
        before = self.plan.sessions
        plan = self._ledger.note(stamped)
        self._owed.append(partial(self._watch, plan, stamped))
        for late in self._meter.after(stamped, before, plan.sessions):
            self._record(late)
        return self.plan

    def _settle(self) -> None:
        """Make everything noted safe, then do what had to wait for that."""
        self._look_at_file()
        self._ledger.commit()
        beside, self._beside = self._beside, []
        for work in beside:
            work()
        self._pay()

    async def _settle_aside(self) -> None:
        """The same, and the sessions go on meanwhile."""
        if self._aside is None:
            self._settle()
            return
        self._look_at_file()
        beside, self._beside = self._beside, []
        await self._ledger.commit_aside(self._aside, beside)
        self._pay()

    def _pay(self) -> None:
        owed, self._owed = self._owed, []
        for pay in owed:
            pay()
