"""One seed, one run: a plan, agents, people and faults, all drawn from it, through all its lives.

    python -m tests.simulation.run SEED             tell what happens
    python -m tests.simulation.run FIRST COUNT      that many runs, and figures

The same seed is the same run, to the last byte of its journal.
"""

from __future__ import annotations

import asyncio
import errno
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256

from tests.doubles.disk import FakeDisk
from tests.model.world import Suite, moves
from tests.simulation.actors import Temper
from tests.simulation.calls import PLAN_PATH, Calls
from tests.simulation.laws import Laws
from tests.simulation.machine import Kill, Life, Machine, Meanwhile, Runner, Scene
from tests.simulation.plans import drawn

from dwindle.adapters.store.disk import DurableFile
from dwindle.kernel.decide import decide
from dwindle.kernel.events import (
    AtomResolved,
    AttemptFailed,
    Confirmed,
    Event,
    Redirected,
    RedirectRequested,
    StopRequested,
)
from dwindle.kernel.model import Answer, Plan, RunStatus, StopCode
from dwindle.ports.store import StoreFailed
from dwindle.runner.inbox import Message

CHUNK = 100
SHOWN = 20
"""Violations that are told, of many."""
LIVES = 12
"""After so many starts nothing disturbs the run any more."""
WISHES = Suite(
    name="wishes",
    happens=("objective", "add", "remove", "force", "rewrite", "limits", "override"),
)


class Found(Exception):
    """A law was broken; says how to see it again."""

    def __init__(self, seed: int, what: BaseException) -> None:
        super().__init__(seed, what)
        self.seed = seed
        self.what = what

    def __str__(self) -> str:
        return (
            f"seed {self.seed}: {type(self.what).__name__}: {self.what}\n"
            f"see it again: .venv/bin/python -m tests.simulation.run {self.seed}"
        )


@dataclass(slots=True)
class Story:
    """What became of a run."""

    seed: int
    digest: str = ""
    """Of its journal and of every decision."""
    stops: list[str] = field(default_factory=list)
    """How each life ended."""
    faults: Counter[str] = field(default_factory=Counter)
    events: int = 0
    sessions: int = 0
    fenced: int = 0


def simulated(seed: int) -> Story:
    """Play it; raises Found at the first law that does not hold."""
    try:
        return _played(seed)
    except Exception as error:
        raise Found(seed, error) from error


def _played(seed: int) -> Story:
    chance = random.Random(f"run {seed}")  # noqa: S311 - repeatable is what is wanted
    plan = drawn(chance)
    laws = Laws(plan)
    runner = Runner(
        seed=seed,
        temper=Temper.drawn(chance),
        laws=laws,
        trouble=chance.choice((0.0, 0.0, 0.05)),
    )
    rough = chance.choice((0.0, 0.3, 0.8))
    machine, story = Machine.new(plan), Story(seed)
    first: tuple[Event, ...] = ()
    for number in range(LIVES + 20):
        disturbed = number < LIVES and chance.random() < rough
        life = _life(runner, machine, chance, story, disturbed=disturbed, first=first)
        machine = life.left
        story.stops.append(_ending(life))
        if life.killed or life.halted is None:
            first = ()
            continue
        now = life.halted.plan
        if now.control.status is RunStatus.COMPLETED or number >= LIVES:
            break
        wish = _at_rest(chance, now)
        if wish is None:
            break
        first = wish
    else:
        raise AssertionError(f"no end after {story.stops}")
    if life.edited:
        machine = _put_back(machine, story)
    laws.nothing_lost(runner.made, machine.git)
    laws.same(machine.plan(), machine.events())
    story.digest = sha256(machine.journal() + laws.digest.encode()).hexdigest()
    story.events, story.sessions, story.fenced = laws.events, laws.starts, laws.fenced
    return story


def _ending(life: Life) -> str:
    if life.killed:
        return "killed"
    if life.halted is None:
        return type(life.failure).__name__
    assert life.halted.stop is not None
    return str(life.halted.stop.code)


def _life(
    runner: Runner,
    machine: Machine,
    chance: random.Random,
    story: Story,
    *,
    disturbed: bool,
    first: tuple[Event, ...],
) -> Life:
    calls, kill, meanwhile = Calls(), None, None
    if disturbed:
        what = chance.random()
        at = int(chance.choice((30, 100, 400, 1000)) * chance.random()) + 1
        if what < 0.35:
            kill = Kill(at=at)
            story.faults["kill"] += 1
        elif what < 0.55:
            kill = Kill(at=at, power=random.Random(chance.random()))  # noqa: S311
            story.faults["power cut"] += 1
        elif what < 0.7:
            calls.prepare = _sick(chance)
            story.faults["disk"] += 1
        elif what < 0.8:
            calls.at[at] = partial(setattr, calls, "git_fails", True)
            story.faults["git"] += 1
    if chance.random() < 0.5:
        meanwhile = _people(chance, story)
    return runner.life(machine, calls, kill=kill, meanwhile=meanwhile, first=first)


# --- faults --------------------------------------------------------------------------------------


def _sick(chance: random.Random) -> Callable[[FakeDisk], None]:
    at, code = chance.randint(1, 400), chance.choice((errno.EIO, errno.ENOSPC))
    full = chance.random() < 0.3
    space = chance.randint(0, 60_000)

    def prepare(disk: FakeDisk) -> None:
        if full:
            disk.limit_space(space)
        else:
            disk.fail_call(at, code)

    return prepare


# --- people --------------------------------------------------------------------------------------


def _people(chance: random.Random, story: Story) -> Meanwhile:
    """A user who comes by now and then."""
    own = random.Random(chance.random())  # noqa: S311 - so that the others are not disturbed

    async def meanwhile(scene: Scene) -> None:
        for _ in range(own.randint(1, 4)):
            await asyncio.sleep(own.choice((0.0, 0.1, 1.0, 10.0, 60.0)) * own.random())
            await _asked(own, scene, story)

    return meanwhile


async def _asked(own: random.Random, scene: Scene, story: Story) -> None:
    what = own.choice(("stop", "redirect", "redirect", "pause", "flag", "late", "late"))
    story.faults[what] += 1
    match what:
        case "stop":
            _put(scene, StopRequested(reason="enough"))
        case "redirect":
            if wish := _wish(own, scene.loop.plan):
                _put(scene, wish)
        case "pause":
            _put(scene, RedirectRequested(active=True))
            await asyncio.sleep(own.uniform(0.0, 20.0))
            _put(scene, RedirectRequested(active=False))
        case "flag":
            _flag(scene)
        case "late":
            _late(own, scene)


def _put(scene: Scene, event: Event) -> None:
    scene.loop.inbox.put_nowait(Message(event=event, may_be_refused=True))


def _wish(chance: random.Random, plan: Plan) -> Redirected | None:
    wishes = [e for e in moves(plan, decide(plan), WISHES) if isinstance(e, Redirected)]
    return chance.choice(wishes) if wishes else None


def _flag(scene: Scene) -> None:
    file = DurableFile(scene.disk, PLAN_PATH)
    try:
        text = file.read()
        flagged = text.replace(b"stop_requested: false", b"stop_requested: true")
        file.replace(flagged)
        scene.disk.edits[flagged] = scene.disk.edits.get(text, text)
    except StoreFailed:
        pass  # it was not their day


def _put_back(machine: Machine, story: Story) -> Machine:
    """The runner was gone before it saw the flag; the user takes it out again."""
    text = machine.image[PLAN_PATH] or b""
    was = text.replace(b"stop_requested: true", b"stop_requested: false", 1)
    assert was != text, "the file is not as it was, and no flag is set"
    assert story.faults["flag"], "no user had edited the file"
    return replace(machine, image={**machine.image, PLAN_PATH: was})


def _late(own: random.Random, scene: Scene) -> None:
    """Reports of sessions that are over, or never were."""
    plan = scene.loop.plan
    atom = own.choice(list(plan.atoms))
    nonce = own.randint(0, plan.control.revision)
    session = plan.sessions.get(atom)
    if session is not None and session.nonce == nonce:
        nonce -= 1
    kind: type[AtomResolved | AttemptFailed] = own.choice((AtomResolved, AttemptFailed))
    if kind is AtomResolved:
        _put(scene, AtomResolved(atom=atom, nonce=nonce, summary="done long ago"))
    else:
        _put(scene, AttemptFailed(atom=atom, nonce=nonce, reason="failed long ago"))


def _at_rest(chance: random.Random, plan: Plan) -> tuple[Event, ...] | None:
    """What a person does about a run that ended; None: they leave it at that."""
    code = plan.control.stop_code
    if code is StopCode.AWAITING_CONFIRMATION:
        return tuple(
            Confirmed(item=q.item, answer=chance.choice((Answer.YES, Answer.YES, Answer.NO)))
            for q in plan.verification.questions
            if q.answer is Answer.OPEN
        )
    if code in (StopCode.STOPPED_BY_USER, StopCode.IO_ERROR, StopCode.AGENT_UNAVAILABLE):
        return ()
    if chance.random() < 0.3 and (wish := _wish(chance, plan)):
        return (wish,)
    return None


# --- many ----------------------------------------------------------------------------------------


@dataclass(slots=True)
class Figures:
    """Many runs, added up."""

    runs: int = 0
    events: int = 0
    sessions: int = 0
    fenced: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)

    def add(self, story: Story) -> None:
        self.runs += 1
        self.events += story.events
        self.sessions += story.sessions
        self.fenced += story.fenced
        self.faults += story.faults
        self.ends[story.stops[-1]] += 1

    def merge(self, others: Figures) -> None:
        self.runs += others.runs
        self.events += others.events
        self.sessions += others.sessions
        self.fenced += others.fenced
        self.faults += others.faults
        self.ends += others.ends
        self.violations += others.violations

    def __str__(self) -> str:
        faults = ", ".join(f"{n} {what}" for what, n in sorted(self.faults.items()))
        ends = ", ".join(f"{n} {what}" for what, n in self.ends.most_common())
        return (
            f"{self.runs} runs, {self.events} events, {self.sessions} sessions,"
            f" {self.fenced} fenced reports, {sum(self.faults.values())} faults and requests"
            f" ({faults}); ended: {ends}; {len(self.violations)} violations"
        )


def many(seeds: Iterable[int]) -> Figures:
    figures = Figures()
    for seed in seeds:
        try:
            figures.add(simulated(seed))
        except Found as found:
            figures.violations.append(str(found))
    return figures


def _chunk(first: int, count: int) -> Figures:
    return many(range(first, first + count))


def night(first: int, count: int, say: Callable[[Figures], None] = lambda _: None) -> Figures:
    """As `many`, on all cores; `say` hears how far it has come."""
    starts = range(first, first + count, CHUNK)
    counts = [min(CHUNK, first + count - start) for start in starts]
    total = Figures()
    with ProcessPoolExecutor() as pool:
        for figures in pool.map(_chunk, starts, counts):
            total.merge(figures)
            say(total)
    return total


def main(words: list[str]) -> int:
    first, count = int(words[0]), int(words[1]) if len(words) > 1 else 1
    if count == 1:
        print(simulated(first))  # noqa: T201 - what was asked for
        return 0
    began = time.monotonic()
    figures = night(first, count)
    print(f"simulation: {figures} in {time.monotonic() - began:.0f} s")  # noqa: T201
    print(*figures.violations[:SHOWN], sep="\n")  # noqa: T201
    return bool(figures.violations)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
