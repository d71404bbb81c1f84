"""A machine with a disk and a git, on which a runner lives, dies and is started again.

The runner is the real one, put together as `dwindle run` does it; the disk, git, agents, checks and
time are not. Every call to the disk, to git and to start a program has a number. At any of them
the machine can be copied, and that copy is what a kill leaves: the runner that goes on with the
original does so unseen, until it is put away.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from tests.doubles.disk import FakeDisk, Image
from tests.doubles.memory_git import MemoryGit
from tests.doubles.virtual_time import played
from tests.simulation.actors import Behaviour, Made, Simulated, SimulatedChecks, Temper
from tests.simulation.calls import HOME, PLAN_PATH, Calls, CountedDisk
from tests.simulation.laws import Laws

from dwindle.adapters.formats.graph import plan as graph_plan
from dwindle.adapters.formats.graph.plan import GraphWriter
from dwindle.adapters.git.worktrees.workspace import GitWorkspace
from dwindle.adapters.store.disk import DurableFile, make_directory
from dwindle.adapters.store.journal import JsonlJournal, path_of, read_journal
from dwindle.app import run as running
from dwindle.app.open_run import graph as open_graph
from dwindle.kernel import transitions
from dwindle.kernel.errors import IllegalEvent
from dwindle.kernel.events import Event, Redirected, RunStarted
from dwindle.kernel.model import Aligned, Plan, Role, RunStatus
from dwindle.ports.store import PlanWriter, StoreFailed
from dwindle.ports.work import WorkOrder
from dwindle.ports.workspace import WorkspaceFailed
from dwindle.runner.file_watch import FileWatch
from dwindle.runner.gate.certificate import Contained
from dwindle.runner.gate.evidence import Rules
from dwindle.runner.gate.gate import Gate
from dwindle.runner.inbox import Inbox, reporting_to
from dwindle.runner.ledger import Ledger, Store, digest
from dwindle.runner.loop import Halted, Loop
from dwindle.runner.modes.graph import GraphMode
from dwindle.runner.redirect import redirect
from dwindle.runner.session import AgentRunner

JOURNALS = HOME / "journal"
RUN = "01SIMULATION"
BODY = b"\n# As it was asked for\n"
START = {"README": b"good to read"}
SCRATCH = Path("/dev/shm") if Path("/dev/shm").is_dir() else Path(tempfile.gettempdir())  # noqa: S108


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What is left when no runner is alive."""

    image: Image
    git: MemoryGit
    now: float = 0.0

    @classmethod
    def new(cls, plan: Plan) -> Machine:
        content = GraphWriter(BODY).encode(plan)
        return cls(image={HOME: None, PLAN_PATH: content}, git=MemoryGit(start=START))

    def journal(self) -> bytes:
        return self.image.get(path_of(JOURNALS, RUN)) or b""

    def events(self) -> list[Event]:
        """What is on record."""
        disk = FakeDisk(self.image)
        return list(read_journal(disk, JOURNALS, RUN).events(0)) if self.journal() else []

    def plan(self) -> Plan:
        """What the file says; after a rest, that is all."""
        plan = graph_plan.decode(self.image[PLAN_PATH] or b"").plan
        assert plan is not None
        return plan


class SimulatedClock:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def now(self) -> str:
        seconds = int(self._loop.time())
        days, rest = divmod(seconds, 86400)
        return f"2030-01-{1 + days % 28:02}T{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}Z"

    def monotonic(self) -> float:
        return self._loop.time()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A run that goes on, for those who take part in it."""

    loop: Loop
    disk: CountedDisk
    ledger: Ledger


Meanwhile = Callable[[Scene], Awaitable[None]]
"""What people do while the run goes on."""


@dataclass(slots=True, kw_only=True)
class Life:
    """One process: from its start to its end, or until it was killed."""

    left: Machine
    """What there is after it."""
    halted: Halted | None = None
    failure: StoreFailed | WorkspaceFailed | None = None
    killed: bool = False
    edited: bool = False
    """A user wrote into the plan file when the runner had written it for the last time."""


@dataclass(slots=True, kw_only=True)
class Kill:
    """The process is gone at this call; `power` picks what the disk had not kept yet."""

    at: int
    power: random.Random | None = None


@dataclass(slots=True, kw_only=True)
class Runner:
    """How processes are made on machines; the same for all lives of a run."""

    seed: int
    temper: Temper
    laws: Laws
    trouble: float = 0.0
    """How often a check cannot run."""
    behave: Callable[[WorkOrder, int], Behaviour] | None = None
    made: list[Made] = field(default_factory=list)

    def life(
        self,
        machine: Machine,
        calls: Calls,
        *,
        kill: Kill | None = None,
        meanwhile: Meanwhile | None = None,
        first: tuple[Event, ...] = (),
    ) -> Life:
        """Start a process and let it live; the machine is used up, what it left is in the life."""
        disk = CountedDisk(machine.image, calls)
        if calls.prepare is not None:
            calls.prepare(disk)
        machine.git.call, life = calls.of_git, Life(left=machine)
        process = Process(
            runner=self, disk=disk, git=machine.git, calls=calls, life=life, first=first
        )
        self.laws.born(machine.git)

        async def to_the_end() -> None:
            loop = asyncio.get_running_loop()
            gone: asyncio.Future[None] = loop.create_future()

            def die() -> None:
                """Whatever the process does from here on is not seen."""
                image = disk.image()
                if kill is not None and kill.power is not None:
                    image = kill.power.choice(list(disk.crash_images()))
                life.left = Machine(image=image, git=machine.git.copy(), now=loop.time())
                life.killed = True
                self.made = [replace(one, changed=dict(one.changed)) for one in self.made]
                gone.set_result(None)

            if kill is not None:
                calls.at[kill.at] = die
            main = asyncio.ensure_future(process.main(meanwhile))
            await asyncio.wait((main, gone), return_when=asyncio.FIRST_COMPLETED)
            main.cancel()
            await asyncio.gather(main, return_exceptions=True)
            if not life.killed and (error := main.exception()) is not None:
                raise error

        _, now = played(to_the_end(), machine.now)
        if not life.killed:
            life.left = Machine(image=disk.image(), git=machine.git, now=now)
        return life


@dataclass(slots=True, kw_only=True)
class Process:
    """A runner, put together as `dwindle run` puts it together."""

    runner: Runner
    disk: CountedDisk
    git: MemoryGit
    calls: Calls
    life: Life
    first: tuple[Event, ...]

    async def main(self, meanwhile: Meanwhile | None) -> None:
        try:
            with tempfile.TemporaryDirectory(prefix="dwindle-sim-", dir=SCRATCH) as scratch:
                self.life.halted = await self._run(Path(scratch), meanwhile)
        except (StoreFailed, WorkspaceFailed) as failure:
            self.life.failure = failure

    async def _run(self, scratch: Path, meanwhile: Meanwhile | None) -> Halted:
        laws, git = self.runner.laws, self.git
        file = DurableFile(self.disk, PLAN_PATH)
        file.sweep()
        decoded = graph_plan.decode(file.read())
        assert decoded.plan is not None, decoded.problems
        ledger = self._ledger(file, GraphWriter(decoded.body), decoded.plan)
        if not self.life.killed:
            laws.recovered(ledger.plan, list(ledger.history()))
        try:
            plan = ledger.plan
            if plan.control.status is RunStatus.COMPLETED:
                return running.completed_halt(plan)
            await git.recover({s.number: a for a, s in plan.sessions.items()})
            await open_graph.put_in_step(cast("GitWorkspace", git), ledger)
            for event in self.first:
                await self._done_at_rest(ledger, event)
            halted = await self._loop(ledger, scratch, meanwhile)
        finally:
            ledger.close()
        if not self.life.killed:
            laws.rested(ledger.plan, self.disk.left, git_failed=self.calls.git_failed)
            self.life.edited = self.disk.left != self.disk.image()[PLAN_PATH]
        return halted

    def _ledger(self, file: DurableFile, writer: PlanWriter, plan: Plan) -> Ledger:
        """As `surfaces.taken_up.ledger_of`, on our disk and by our clock."""
        time = asyncio.get_running_loop().time
        make_directory(self.disk, JOURNALS)
        if DurableFile(self.disk, path_of(JOURNALS, RUN)).exists():
            journal = JsonlJournal(self.disk, JOURNALS, RUN)
            store = Store(journal=journal, file=file, writer=writer)
            return Ledger.recover(plan, store, apply=self._apply, clock=time)
        versions = (digest(file.read()),)
        journal = JsonlJournal.create(self.disk, JOURNALS, RUN, after=0, versions=versions)
        store = Store(journal=journal, file=file, writer=writer)
        return Ledger(plan, store, apply=self._apply, clock=time)

    async def _done_at_rest(self, ledger: Ledger, event: Event) -> None:
        """What a person does to a plan at rest; what the kernel refuses is not done."""

        def record(one: Event) -> Plan:
            plan = ledger.record(one)
            self._heard(plan, one)
            return plan

        async def quiet() -> None:
            """No session is at work."""

        with contextlib.suppress(IllegalEvent):
            if isinstance(event, Redirected):
                await redirect(ledger.plan, (event,), self.git.rebuild, quiet, record)
            else:
                record(event)

    async def _loop(self, ledger: Ledger, scratch: Path, meanwhile: Meanwhile | None) -> Halted:
        runner, git = self.runner, self.git
        agent = Simulated(runner.seed, runner.temper, git, self._spawned, runner.made)
        if runner.behave is not None:
            agent.behave = runner.behave
        clock = SimulatedClock(asyncio.get_running_loop())
        inbox = Inbox()
        agents = AgentRunner(
            agents=dict.fromkeys(tuple(Role), agent),
            sandbox=agent,
            outboxes=scratch / "outbox",
            seconds_left=lambda: loop.seconds_left(),  # noqa: PLW0108 - made below
        )
        agents = reporting_to(agents, inbox)
        gate = Gate(
            workspace=git,
            checks=SimulatedChecks(runner.seed, git, runner.trouble),
            rules=Rules(),
            clock=clock,
            logs=scratch / "logs",
            contained=Contained(strength=agent.strength, mechanism=agent.mechanism),
            agents=agents,
        )
        mode = GraphMode(
            agents, gate, lambda: ledger.plan, inbox=inbox, findings=open_graph.findings_of(ledger)
        )
        path = scratch / PLAN_PATH.name
        self.disk.show(path)
        watch = FileWatch(path, ledger, _plan_and_body, scratch / "aside.md", clock=clock.monotonic)
        loop = Loop(ledger, mode, clock, self._heard, file=watch, meter=agents.meter)
        loop.begin(RunStarted(run_id=RUN, aligned=Aligned(commit=git.aligned)))
        scene = Scene(loop=loop, disk=self.disk, ledger=ledger)
        people = asyncio.ensure_future(meanwhile(scene)) if meanwhile is not None else None
        try:
            return await loop.run()
        finally:
            if people is not None:
                people.cancel()

    # --- what the laws hear, as long as the process is alive ------------------------------------

    def _apply(self, plan: Plan, event: Event) -> Plan:
        laws = self.runner.laws
        return transitions.apply(plan, event) if self.life.killed else laws.apply(plan, event)

    def _heard(self, plan: Plan, event: Event) -> None:
        if not self.life.killed:
            self.runner.laws.heard(plan, event)

    def _spawned(self, order: WorkOrder) -> Callable[[], None]:
        if self.life.killed:
            return lambda: None
        self.calls("spawn")
        gone = self.runner.laws.spawned(order)
        self.calls("spawned")
        return lambda: None if self.life.killed else gone()


def _plan_and_body(content: bytes) -> tuple[Plan | None, bytes]:
    found = graph_plan.decode(content)
    return found.plan, found.body
