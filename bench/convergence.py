"""Does a run get there, and at what price? Agents are coins; time is virtual; loop and kernel real.

A worker is right with P, wrong but sure of it with Q, else it fails honestly; checks tell right
from wrong. Of every choice one way cannot work, and the agents do not know which. Plans of 20 and
100 tasks, flat (choices and single tasks) and deep (chains, fans, and work behind choices), under
the limits that `align` proposes, three at a time. Beside it:

- the ideal: 1/P sessions for each task, and one for each way that cannot work;
- a Ralph loop that believes its agent, and one that runs the tests: one session after the other on
  the first task that is not done, ways taken by chance, no memory.

    python bench/convergence.py [SEEDS]        40 by default; a table on standard error

A probe answers "feasible" and nothing else, so that rung 3 costs its session and does not help.
Rounds of the base case are no agent sessions here; their checks are mechanical.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))  # as a script, only this folder is on it

from bench._runs import RUN, WIDTH, line, plan_of, remark
from tests.doubles.disk import FakeDisk
from tests.doubles.virtual_time import played
from tests.simulation.actors import Behaviour
from tests.simulation.calls import Calls
from tests.simulation.machine import Machine, Runner
from tests.simulation.plans import ALL_GOOD
from tests.simulation.sweep import TEMPER, Light

from dwindle.adapters.formats.graph.plan import GraphWriter
from dwindle.adapters.store.disk import DurableFile
from dwindle.adapters.store.journal import JsonlJournal
from dwindle.kernel.actions import Probe, Work
from dwindle.kernel.events import (
    AtomResolved,
    AttemptFailed,
    Event,
    Interruption,
    ProbeEnded,
    RunStarted,
    SessionInterrupted,
    StopRequested,
    VerificationEnded,
)
from dwindle.kernel.graph import failures
from dwindle.kernel.model import (
    ROOT,
    AtomId,
    BaseCase,
    Check,
    CheckType,
    GroupId,
    OrGroup,
    Plan,
    Role,
    RunStatus,
    Status,
    StopCode,
)
from dwindle.kernel.proposal import size_of, with_proposed_limits
from dwindle.ports.work import NoReport, ProbeReport, Trouble, WorkerReport, WorkOrder
from dwindle.runner.escalation import Escalating, label_for
from dwindle.runner.inbox import Inbox, Message
from dwindle.runner.ledger import Ledger, Store, digest
from dwindle.runner.loop import Loop
from dwindle.runner.modes.mode import Mode
from dwindle.testing.agents import ORDER, Answering

SEEDS = 40
SIZES = (20, 100)
LUCK = (0.3, 0.5, 0.8)
SURE = 0.25
"""How often an agent is wrong and says that it is right."""
SHORTEST, LONGEST = 6.0, 60.0
"""Seconds of a session; the clock is virtual, so that only their proportion matters."""

COMPLETES, SESSIONS, CLOCK, AGAINST_RALPH = 0.99, 1.25, 1.2, 0.4
"""The goals."""


# --- plans ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """A plan, and the ways in it that cannot work."""

    name: str
    plan: Plan
    impossible: frozenset[AtomId]
    chains: bool

    @property
    def tasks(self) -> int:
        return size_of(self.plan).tasks

    @property
    def impossible_ways(self) -> int:
        return len(self.impossible)


def course(tasks: int, *, deep: bool) -> Course:
    """Every seventh task is a choice of two ways; the first of them cannot work, then the second.

    Deep: blocks of ten, in which three follow each other, three hang on the first, and others wait
    for the third one after the other; where the choices fall, work waits for them.
    """
    groups = [n for n in range(1, tasks + 1) if n % 7 == 4]
    needs: dict[int, tuple[str, ...]] = {}

    def named(number: int) -> str:
        return f"G{number}" if number in groups else f"A{number}"

    if deep:
        for first in range(1, tasks + 1, 10):
            inside = [n for n in range(first, first + 10) if n <= tasks]
            for place, behind in {1: 0, 2: 1, 3: 0, 4: 0, 5: 0, 6: 2, 7: 6, 9: 7}.items():
                if place < len(inside):
                    needs[inside[place]] = (named(inside[behind]),)
    plan = plan_of(tasks, width=WIDTH)
    atoms, made, impossible = {}, {}, set()
    for name, atom in plan.atoms.items():
        number = int(name[1:])
        linked = replace(atom, depends_on=needs.get(number, ()))
        if number not in groups:
            atoms[name] = linked
            continue
        ways = (AtomId(f"A{number}"), AtomId(f"A{number}b"))
        group = GroupId(f"G{number}")
        made[group] = OrGroup(id=group, choices=ways, selected=ways[0])
        impossible.add(ways[groups.index(number) % 2])
        for way in ways:
            atoms[way] = replace(linked, id=way, or_group=group)
    plan = replace(plan, atoms=atoms, groups=made, spent=replace(plan.spent, created=len(atoms)))
    limits = replace(plan.limits, max_iterations=20, max_atoms=2 * len(atoms))
    kind = f"{'deep' if deep else 'flat'}_{tasks}"
    plan = with_proposed_limits(replace(plan, limits=limits))
    return Course(name=kind, plan=plan, impossible=frozenset(impossible), chains=deep)


# --- agents --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Coin:
    """How often an agent is right on an atom, and how often it is wrong and sure of it."""

    right: Callable[[AtomId], float]
    sure: float = SURE


@dataclass(slots=True)
class Toll:
    """What a run took."""

    sessions: int = 0
    probes: int = 0
    spent: dict[AtomId, float] = field(default_factory=dict)
    """Seconds of sessions, by atom."""


class Coins(Mode):
    """Starts sessions for the loop: each lasts a while and then comes to what the coin says."""

    def __init__(self, course: Course, coin: Coin, seed: int, down: tuple[str, ...] = ()) -> None:
        self._course = course
        self._down = down
        self._team = team() if down else None
        self._coin = coin
        self._chance = random.Random(seed)  # noqa: S311 - repeatable is what is wanted
        self._tasks: dict[AtomId, asyncio.Task[None]] = {}
        self.inbox = Inbox()
        self.toll = Toll()

    def agent_for(self, plan: Plan, action: Work | Probe) -> str:
        return label_for(self._team, failures(plan).get(action.atom, 0))

    def start(self, plan: Plan, action: Work | Probe, agent: str) -> None:
        nonce, seconds = plan.sessions[action.atom].nonce, self._chance.uniform(SHORTEST, LONGEST)
        if agent in self._down and not self._substitute(action.atom, agent):
            stop = StopRequested(reason="no login", code=StopCode.AGENT_UNAVAILABLE)
            self.inbox.put_nowait(Message(event=stop))
            cause = Interruption.STOP
            ended = SessionInterrupted(atom=action.atom, nonce=nonce, cause=cause)
            self._begin(action.atom, 1.0, ended)
            return
        self.toll.sessions += 1
        self.toll.spent[action.atom] = self.toll.spent.get(action.atom, 0.0) + seconds
        if isinstance(action, Probe):
            self.toll.probes += 1
            self._begin(action.atom, seconds, ProbeEnded(atom=action.atom, nonce=nonce))
            return
        possible = action.atom not in self._course.impossible
        drawn = self._chance.random()
        if possible and drawn < self._coin.right(action.atom):
            event: Event = AtomResolved(atom=action.atom, nonce=nonce, summary="done")
        elif drawn > 1 - self._coin.sure:
            event = AttemptFailed(atom=action.atom, nonce=nonce, reason="its check does not hold")
        else:
            event = AttemptFailed(atom=action.atom, nonce=nonce, reason="it could not be done")
        self._begin(action.atom, seconds, event)

    def _substitute(self, atom: AtomId, agent: str) -> str:
        """Who goes on, as the runner finds it out, where an agent has no login."""
        assert self._team is not None  # noqa: S101 - only a team has labels
        nothing = NoReport(trouble=Trouble.NOT_LOGGED_IN, reason="no login")
        while agent in self._down:
            agent = self._team.substitute(replace(ORDER, atom=atom, agent=agent), nothing)
        return agent

    def verify(self, plan: Plan, after: int) -> None:
        done = all(a.status is Status.RESOLVED for n, a in plan.atoms.items() if _counts(plan, n))
        ended = VerificationEnded(nonce=plan.sessions[ROOT].nonce, passed=done)
        self._begin(ROOT, float(after), ended)

    async def rebuild(self, without: tuple[AtomId, ...]) -> tuple[AtomId, ...]:  # noqa: ARG002
        """There are no commits that could be lost."""
        return ()

    async def end(self, atoms: Iterable[AtomId]) -> None:
        for atom in atoms:
            if task := self._tasks.pop(atom, None):
                task.cancel()

    async def end_all(self) -> None:
        await self.end(tuple(self._tasks))

    def _begin(self, atom: AtomId, seconds: float, event: Event) -> None:
        async def session() -> None:
            await asyncio.sleep(seconds)
            self.inbox.put_nowait(Message(event=event, may_be_refused=True))

        self._tasks[atom] = asyncio.get_running_loop().create_task(session())


def team() -> Escalating:
    """Three agents that are never started: who is named is all that matters here."""
    idle = Answering(lambda _: NoReport(trouble=Trouble.FAILED, reason="never started"))
    return Escalating(agents=dict.fromkeys(("cheap", "strong", "other"), idle))


def _counts(plan: Plan, name: AtomId) -> bool:
    group = plan.groups.get(plan.atoms[name].or_group or GroupId(""))
    return group is None or group.selected == name


class LoopClock:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def now(self) -> str:
        return "2030-01-01T00:00:00Z"

    def monotonic(self) -> float:
        return self._loop.time()


# --- runs ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    completed: bool
    false_done: bool
    resolved: int
    sessions: int
    probes: int
    winds: int
    seconds: float
    floor: float
    """No three slots could have done the same sessions in less."""
    reason: str
    code: str


def dwindled(course: Course, coin: Coin, seed: int, *, down: tuple[str, ...] = ()) -> Outcome:
    async def run() -> tuple[Plan, Toll]:
        disk, writer = FakeDisk(), GraphWriter()
        home = Path("/run")
        disk.mkdir(home)
        file = DurableFile(disk, home / "plan.md")
        file.replace(content := writer.encode(course.plan))
        journal = JsonlJournal.create(disk, home, RUN, after=0, versions=(digest(content),))
        loop = asyncio.get_running_loop()
        ledger = Ledger(
            course.plan, Store(journal=journal, file=file, writer=writer), clock=loop.time
        )
        coins = Coins(course, coin, seed, down)
        runner = Loop(ledger, coins, LoopClock(loop), lambda _plan, _event: None)
        runner.begin(RunStarted(run_id=RUN))
        return (await runner.run()).plan, coins.toll

    (plan, toll), seconds = played(run())
    live = [n for n in plan.atoms if _counts(plan, n)]
    done = [n for n in live if plan.atoms[n].status is Status.RESOLVED]
    completed = plan.control.status is RunStatus.COMPLETED
    return Outcome(
        completed=completed,
        false_done=completed and (len(done) < len(live) or bool(course.impossible & set(done))),
        resolved=len(done),
        sessions=toll.sessions,
        probes=toll.probes,
        winds=plan.spent.winds,
        seconds=seconds,
        floor=max(sum(toll.spent.values()) / WIDTH, longest_path(course.plan, toll)),
        reason=plan.control.stop_reason or "",
        code=str(plan.control.stop_code),
    )


def longest_path(plan: Plan, toll: Toll) -> float:
    """The dearest way through the plan, each node as long as its sessions took together."""
    known: dict[str, float] = {}

    def length(node: str) -> float:
        if node not in known:
            group = plan.groups.get(GroupId(node))
            ways = group.choices if group is not None else (AtomId(node),)
            own = sum(toll.spent.get(way, 0.0) for way in ways)
            known[node] = own + max(map(length, plan.atoms[ways[0]].depends_on), default=0.0)
        return known[node]

    return max(length(a.or_group or n) for n, a in plan.atoms.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Ralph:
    """The same coins in a plain loop."""

    sessions: int
    seconds: float
    false_done: bool


def ralph(course: Course, right: float, sure: float, seed: int, *, tests: bool) -> Ralph:
    """One session after the other on the first task that is not done; ways by chance."""
    chance = random.Random(seed)  # noqa: S311 - as above
    sessions, seconds, wrong = 0, 0.0, False
    nodes = dict.fromkeys(a.or_group or n for n, a in course.plan.atoms.items())
    for node in nodes:
        group = course.plan.groups.get(GroupId(node))
        ways = group.choices if group is not None else (AtomId(node),)
        while True:
            sessions += 1
            seconds += chance.uniform(SHORTEST, LONGEST)
            possible = chance.choice(ways) not in course.impossible
            drawn = chance.random()
            if possible and drawn < right:
                break
            if drawn > 1 - sure and not tests:
                wrong = True
                break
    return Ralph(sessions=sessions, seconds=seconds, false_done=wrong)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    course: str
    chains: bool
    luck: float
    sure: float
    runs: int
    completed: float
    sessions: float
    ideal: float
    probes: float
    winds: float
    clock: float
    tested: float
    """Sessions of the Ralph loop with tests."""
    believed: float
    """Sessions of the Ralph loop on the agent's word."""
    lies: float
    """How often that one is wrong about being done."""
    against_ralph: float
    false_done: int


def measured(job: tuple[int, bool, float, float, int]) -> Row:
    tasks, deep, luck, sure, seeds = job
    where = course(tasks, deep=deep)
    coin = Coin(right=lambda _: luck, sure=sure)
    ours = [dwindled(where, coin, seed) for seed in range(seeds)]
    tested = [ralph(where, luck, sure, seed, tests=True) for seed in range(seeds)]
    believed = [ralph(where, luck, sure, seed, tests=False) for seed in range(seeds)]
    return Row(
        course=where.name,
        chains=where.chains,
        luck=luck,
        sure=sure,
        runs=seeds,
        completed=sum(o.completed for o in ours) / seeds,
        sessions=statistics.fmean(o.sessions for o in ours),
        ideal=where.tasks / luck + where.impossible_ways,
        probes=statistics.fmean(o.probes for o in ours),
        winds=statistics.fmean(o.winds for o in ours),
        clock=statistics.fmean(o.seconds / o.floor for o in ours),
        tested=statistics.fmean(r.sessions for r in tested),
        believed=statistics.fmean(r.sessions for r in believed),
        lies=sum(r.false_done for r in believed) / seeds,
        against_ralph=statistics.fmean(o.seconds for o in ours)
        / statistics.fmean(r.seconds for r in tested),
        false_done=sum(o.false_done for o in ours),
    )


# --- harder agents -------------------------------------------------------------------------------


def half_hopeless(seeds: int) -> tuple[float, int, float]:
    """Good at every other task, hopeless at the rest: how many of the good are done, at worst."""
    where = course(20, deep=False)
    tasks = [n for n in where.plan.atoms if where.plan.atoms[n].or_group is None]
    hopeless = frozenset(tasks[::2])
    coin = Coin(right=lambda atom: 0.0 if atom in hopeless else 0.8)
    ours = [dwindled(where, coin, seed) for seed in range(seeds)]
    good = where.tasks - len(hopeless)
    ended = sum(o.reason.startswith(tuple(hopeless)) and not o.completed for o in ours)
    return min(o.resolved for o in ours) / good, ended, statistics.fmean(o.sessions for o in ours)


def one_vendor_down(seeds: int) -> tuple[int, float]:
    """The first agent of three cannot be had; the others are coins: runs that complete, sessions.

    The roster is the real one; the loop asks it for a name as it asks a mode.
    """
    where = course(20, deep=False)
    coin = Coin(right=lambda _: 0.5)
    ours = [dwindled(where, coin, seed, down=("cheap",)) for seed in range(seeds)]
    return sum(o.completed for o in ours), statistics.fmean(o.sessions for o in ours)


def no_vendor_left() -> str:
    where = course(20, deep=False)
    labels = ("cheap", "strong", "other")
    return dwindled(where, Coin(right=lambda _: 0.5), 0, down=labels).code


# --- the same coins before the real gate --------------------------------------------------------


def gated(course: Course, coin: Coin, seed: int) -> tuple[bool, bool, int]:
    """A run of the whole runner: session, evidence, integration, verification, certificate.

    Disk, git, time and the agents' programs are simulated. An agent that is wrong but sure writes
    bad work and reports success. Whether the run completed, whether it did so with bad work on the
    branch, and how many sessions it took.
    """
    chance = random.Random(seed)  # noqa: S311 - as above
    sessions = 0

    def behaves(order: WorkOrder, _tries: int) -> Behaviour:
        nonlocal sessions
        sessions += 1
        seconds, drawn = chance.uniform(SHORTEST, LONGEST), chance.random()
        if order.role is Role.PROBE:
            return Behaviour(seconds=seconds, report=ProbeReport(feasible=True))
        right = order.atom not in course.impossible and drawn < coin.right(order.atom)
        claims = right or drawn > 1 - coin.sure
        content = f"{'good' if right else 'bad'} {order.atom}".encode()
        report = WorkerReport(success=claims, summary="done", reason="it could not be done")
        return Behaviour(seconds=seconds, report=report, writes=((f"{order.atom}.txt", content),))

    atoms = {
        name: replace(atom, check=Check(type=CheckType.COMMAND, value=f"good {name}"))
        for name, atom in course.plan.atoms.items()
    }
    everything = Check(type=CheckType.COMMAND, value=ALL_GOOD)
    objective = replace(course.plan.objective, base_case=BaseCase(check=everything))
    plan = replace(course.plan, atoms=atoms, objective=objective)
    runner = Runner(seed=seed, temper=TEMPER, laws=Light(plan), behave=behaves)
    life = runner.life(Machine.new(plan), Calls())
    assert life.halted is not None  # noqa: S101 - nothing kills it here
    completed = life.halted.plan.control.status is RunStatus.COMPLETED
    files = life.left.git.files()
    bad = any(content.startswith(b"bad") for content in files.values())
    return completed, completed and bad, sessions


def through_the_gate(luck: float, sure: float, seeds: int) -> tuple[int, int, float]:
    """Of so many runs: how many completed, how many of them falsely, and the mean of sessions."""
    where, coin = course(20, deep=False), Coin(right=lambda _: luck, sure=sure)
    ours = [gated(where, coin, seed) for seed in range(seeds)]
    return sum(o[0] for o in ours), sum(o[1] for o in ours), statistics.fmean(o[2] for o in ours)


# --- tables --------------------------------------------------------------------------------------

HEAD = (
    "plan        P   sure  done   sessions  ideal  ratio  probes winds  clock  vs Ralph"
    "   Ralph+tests  Ralph  its lies  false done"
)


def told(row: Row) -> str:
    return (
        f"{row.course:9} {row.luck:4} {row.sure:5} {row.completed:6.1%} {row.sessions:8.1f} "
        f"{row.ideal:7.1f} {row.sessions / row.ideal:5.2f} {row.probes:7.1f} {row.winds:5.1f} "
        f"{row.clock:6.2f} {row.against_ralph:8.2f} {row.tested:12.1f} {row.believed:7.1f} "
        f"{row.lies:8.0%} {row.false_done:9}"
    )


def main(seeds: int = SEEDS) -> None:
    jobs = [
        (tasks, deep, luck, sure, seeds)
        for tasks in SIZES
        for deep in (False, True)
        for luck in LUCK
        for sure in ((SURE, 0.5) if luck < 0.8 else (SURE,))
    ]
    with ProcessPoolExecutor(2) as pool:
        remark(HEAD)
        rows = []
        for row in pool.map(measured, jobs):
            remark(told(row))
            rows.append(row)
    for row in rows:
        name = f"{row.course}_p{row.luck:g}_sure{row.sure:g}".replace(".", "")
        line(f"incomplete_{name}", 1 - row.completed, "of runs", 1 - row.completed, 1 - COMPLETES)
        line(f"sessions_{name}", row.sessions, "sessions", row.sessions / row.ideal, SESSIONS)
        line(f"clock_{name}", row.clock, "of the floor", row.clock, CLOCK)
        if not row.chains:
            line(f"against_ralph_{name}", row.against_ralph, "", row.against_ralph, AGAINST_RALPH)
        line(f"false_done_{name}", row.false_done, "runs", row.false_done, 0)
    done, ended, sessions = half_hopeless(seeds)
    remark(
        f"good at half: at worst {done:.0%} of the good half done, {ended} of {seeds} runs end and "
        f"name a hopeless task first, {sessions:.0f} sessions on average"
    )
    line("half_hopeless_left_undone", 1 - done, "of the good half", 1 - done, 0)
    completed, sessions = one_vendor_down(seeds)
    remark(f"one vendor down: {completed} of {seeds} complete, {sessions:.1f} sessions on average")
    line("vendor_down_incomplete", seeds - completed, "runs", (seeds - completed) / seeds, 0.01)
    remark(f"no vendor left: {no_vendor_left()}")
    for luck in LUCK:
        runs = max(1, seeds // 4)
        completed, false, sessions = through_the_gate(luck, 0.5, runs)
        remark(
            f"before the real gate, P {luck}, half of the failures claimed as successes: "
            f"{completed} of {runs} complete, {false} of them falsely, {sessions:.1f} sessions"
        )
        missing = (runs - completed) / runs
        line(f"gate_incomplete_p{luck:g}".replace(".", ""), missing, "of runs", missing, 0.01)
        line(f"gate_false_done_p{luck:g}".replace(".", ""), false, "runs", false, 0)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS)
