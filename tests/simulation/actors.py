"""Who takes part: agents that are drawn from chance, and checks that look at what they made.

What a session does depends on the seed, its role and its number, and on nothing else: neither on
who else is at work nor on what was simulated before. An agent writes what it makes bit by bit, so
that a runner which ends it finds half of it. What it writes names its author, so that nothing can
get lost unnoticed.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.doubles.memory_git import MemoryGit
from tests.simulation.plans import ALL_GOOD, BELIEVED

from dwindle.kernel.base_case import Verdict
from dwindle.kernel.events import NewAtom, Usage
from dwindle.kernel.model import AtomId, Check, Role
from dwindle.ports.agent import Place
from dwindle.ports.checks import CheckResult
from dwindle.ports.process import Command, Ended, Strength
from dwindle.ports.work import (
    NoReport,
    Order,
    ProbeReport,
    Proposal,
    Report,
    Result,
    Trouble,
    VerifierReport,
    WorkerReport,
    WorkOrder,
)

GOOD, BAD = b"good", b"bad"


@dataclass(frozen=True, slots=True, kw_only=True)
class Temper:
    """How the agents of one run are: the chances of what each session does."""

    able: float
    honest: float
    grows: float
    limited: float
    slow: float

    @classmethod
    def drawn(cls, chance: random.Random) -> Temper:
        return cls(
            able=chance.choice((0.3, 0.7, 0.95)),
            honest=chance.choice((0.5, 0.9, 1.0)),
            grows=chance.choice((0.0, 0.1, 0.3)),
            limited=chance.choice((0.0, 0.0, 0.1)),
            slow=chance.choice((0.0, 0.0, 0.05)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """What one program does."""

    seconds: float
    report: Report
    writes: tuple[tuple[str, bytes], ...] = ()
    fixes: bool = False
    """Makes everything good that is bad in its tree."""
    dies: bool = False
    tokens: int = 0


@dataclass(slots=True)
class Made:
    """What a worker changed, by the time it was over."""

    number: int
    atom: AtomId
    changed: dict[str, bytes] = field(default_factory=dict)


class Simulated:
    """An agent, and the containment that would run its program."""

    name = "simulated"
    strength = Strength.STRONG
    mechanism = "simulation"

    def __init__(
        self,
        seed: int,
        temper: Temper,
        git: MemoryGit,
        spawned: Callable[[WorkOrder], Callable[[], None]],
        made: list[Made],
    ) -> None:
        """`spawned` hears of every program, and what it returns is called when that is gone."""
        self._seed = seed
        self._temper = temper
        self._git = git
        self._spawned = spawned
        self.behave: Callable[[WorkOrder, int], Behaviour] = self._drawn
        self._tries: dict[tuple[str, int, str], int] = {}
        self._running: dict[tuple[str, ...], tuple[WorkOrder, Behaviour]] = {}
        self._made = made

    # --- as an agent -----------------------------------------------------------------------------

    def session(self, order: Order, place: Place) -> SimulatedSession:
        assert isinstance(order, WorkOrder)
        key = (order.atom, order.attempt, order.role)
        self._tries[key] = tries = self._tries.get(key, 0) + 1
        does = self.behave(order, tries)
        argv = (order.role, order.atom, str(order.attempt), str(tries))
        self._running[argv] = (order, does)
        command = Command(
            argv=argv, cwd=place.workspace, timeout_seconds=float(order.timeout_seconds)
        )
        return SimulatedSession(command=command, does=does)

    def _drawn(self, order: WorkOrder, tries: int) -> Behaviour:
        word = f"{self._seed} {order.role} {order.atom} {order.attempt} {tries}"
        chance, temper = random.Random(word), self._temper  # noqa: S311 - repeatable
        seconds = round(chance.choice((0.0, 0.3, 1.0, 5.0, 30.0)) * chance.uniform(0.5, 1.5), 3)
        if chance.random() < temper.slow:
            seconds = 10_000.0
        tokens = chance.randint(0, 100)
        if chance.random() < temper.limited:
            again = chance.choice((None, 3.0, 400.0))
            trouble = chance.choice((Trouble.RATE_LIMITED, Trouble.OVERLOADED))
            told: Report = NoReport(trouble=trouble, reason="later", again_after=again)
            return Behaviour(seconds=seconds, report=told, tokens=tokens)
        if chance.random() < 0.01:
            told = NoReport(trouble=Trouble.UNAVAILABLE, reason="not installed")
            return Behaviour(seconds=0.0, report=told)
        if order.role is Role.VERIFIER:
            report = VerifierReport(passed=chance.random() < 0.8, evidence="seen")
            return Behaviour(seconds=seconds, report=report, tokens=tokens)
        if order.role is Role.PROBE:
            return Behaviour(seconds=seconds, report=self._probed(chance, order), tokens=tokens)
        return self._worked(chance, order, seconds, tokens)

    def _probed(self, chance: random.Random, order: WorkOrder) -> Report:
        luck = chance.random()
        if luck < 0.15:
            return NoReport(trouble=Trouble.MALFORMED, reason="not a report")
        if luck < 0.3:
            return ProbeReport(feasible=False, findings="no")
        if luck < 0.6:
            return ProbeReport(feasible=True, findings="split it", decomposition=_new(chance))
        if luck < 0.75:
            return ProbeReport(feasible=True, findings="others", alternatives=_new(chance))
        return ProbeReport(feasible=True, findings=f"a look at {order.atom}")

    def _worked(
        self, chance: random.Random, order: WorkOrder, seconds: float, tokens: int
    ) -> Behaviour:
        temper = self._temper
        word = b"%s by %d" % (order.atom.encode(), order.attempt)
        if chance.random() < temper.grows:
            alternatives = chance.random() < 0.4
            report = WorkerReport(
                decomposition=None if alternatives else _new(chance),
                alternatives=_new(chance) if alternatives else None,
            )
            half = ((f"{order.atom}.txt", BAD + b" half " + word),)
            return Behaviour(seconds=seconds, report=report, writes=half, tokens=tokens)
        if chance.random() < 0.06:
            report = WorkerReport(infeasible=True, reason="it cannot be done")
            return Behaviour(seconds=seconds, report=report, tokens=tokens)
        good = chance.random() < temper.able
        kind = GOOD if good else BAD
        writes = [(f"{order.atom}.txt", kind + b" " + word)]
        if chance.random() < 0.2:
            writes.append((f"{chance.choice('xyz')}.txt", GOOD + b" shared " + word))
        claims = good or chance.random() >= temper.honest
        told: Report = WorkerReport(success=claims, summary=f"{order.atom} is done", reason="no")
        if chance.random() < 0.05:
            trouble = chance.choice((Trouble.NO_REPORT, Trouble.MALFORMED, Trouble.KILLED))
            told = NoReport(trouble=trouble, reason="nothing that could be read")
        return Behaviour(
            seconds=seconds,
            report=told,
            writes=tuple(writes) if chance.random() < 0.95 else (),
            fixes=good,
            dies=isinstance(told, NoReport),
            tokens=tokens,
        )

    # --- as a containment ------------------------------------------------------------------------

    async def run(
        self, command: Command, watch: Callable[[bytes], str | None] | None = None
    ) -> Ended:
        del watch
        order, does = self._running.pop(command.argv)
        gone = self._spawned(order)
        tree = self._git.trees[command.cwd]
        made = Made(order.attempt, order.atom)
        if order.role is Role.WORKER:
            self._made.append(made)
        seconds = min(does.seconds, command.timeout_seconds)
        steps = len(does.writes) + 1
        try:
            for path, content in does.writes:
                await asyncio.sleep(seconds / steps)
                tree.files[path] = made.changed[path] = content
            await asyncio.sleep(seconds / steps)
            if does.fixes:
                for path, content in tree.files.items():
                    if content.startswith(BAD) and path not in made.changed:
                        tree.files[path] = made.changed[path] = GOOD + b" fixed " + content
        finally:
            gone()
        if does.seconds >= command.timeout_seconds:
            return Ended(timed_out=True, seconds=seconds)
        return Ended(exit_code=0, seconds=seconds)


def _new(chance: random.Random) -> Proposal:
    new = [
        NewAtom(description=f"part {chance.randint(1, 99)}") for _ in range(chance.randint(0, 2))
    ]
    if new and chance.random() < 0.3:
        new.append(NewAtom(description="after it", depends_on=("#1",)))
    return Proposal(new=tuple(new), reason="it is easier like that")


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedSession:
    command: Command
    does: Behaviour

    def watch(self, line: bytes) -> str | None:
        del line
        return None

    def conclude(self, ended: Ended) -> Result:
        usage = Usage(tokens=self.does.tokens)
        if ended.timed_out:
            report: Report = NoReport(trouble=Trouble.TIMED_OUT, reason="it took too long")
            return Result(report=report, usage=usage)
        return Result(report=self.does.report, usage=usage)


class SimulatedChecks:
    """Looks at a tree of the simulated git; now and then it cannot."""

    def __init__(self, seed: int, git: MemoryGit, trouble: float) -> None:
        self._seed = seed
        self._git = git
        self._trouble = trouble
        self._count = 0

    async def run(
        self,
        check: Check,
        tree: Path,
        fixed: Sequence[str] = (),  # noqa: ARG002
    ) -> CheckResult:
        self._count += 1
        files = self._git.trees[tree].files
        chance = random.Random(f"{self._seed} {check.value} {sorted(files)} {self._count}")  # noqa: S311
        await asyncio.sleep(round(chance.uniform(0.0, 2.0), 3))
        if chance.random() < self._trouble:
            return CheckResult(check=check, verdict=Verdict.COULD_NOT_RUN, evidence="no machine")
        holds = is_held(check.value or "", files)
        verdict = Verdict.PASSED if holds else Verdict.FAILED
        return CheckResult(check=check, verdict=verdict, evidence=f"{check.value}: {verdict}")


def is_held(claim: str, files: Mapping[str, bytes]) -> bool:
    """Whether something is so, which only the simulation knows."""
    if claim == ALL_GOOD:
        return len(files) > 1 and all(content.startswith(GOOD) for content in files.values())
    if claim == BELIEVED:
        return len(files) > 1
    word, _, name = claim.partition(" ")
    assert word == GOOD.decode(), claim
    return files.get(f"{name}.txt", b"").startswith(GOOD)
