"""One iteration on a tree: an agent, its edit judged, the guard; nothing is written by us yet.

What an iteration came to is told from the difference that it made and from how the programs ended,
never from what the agent says. Closing it (the event, the tree, the commit) is the loop's part.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from dwindle.kernel import tree_edits
from dwindle.kernel.events import Usage
from dwindle.kernel.model import AtomId, Plan
from dwindle.kernel.problem import Problem
from dwindle.ports.agent import Agent, Place
from dwindle.ports.clock import Clock
from dwindle.ports.in_place import InPlace
from dwindle.ports.iteration import Guarded, Kind
from dwindle.ports.process import Containment, Ended, Secret
from dwindle.ports.tree import Judged, TreeFormat
from dwindle.ports.work import (
    ENDS_THE_RUN,
    PASSES,
    NoReport,
    Report,
    Result,
    Trouble,
    WorkOrder,
)
from dwindle.runner import guard_files, node_tools, owned_file
from dwindle.runner.belongings import Belongings
from dwindle.runner.guard import Guard, Judgement
from dwindle.runner.held_files import Held, PutBack, hold
from dwindle.runner.iteration_log import IterationLog
from dwindle.runner.meter import Meter
from dwindle.runner.orders import order_json
from dwindle.runner.patience import Wait, patient
from dwindle.runner.tree_prompt import Mode

OURS: Final = ".runner/"
TREE: Final = ".runner/tree.json"
CONFIG: Final = ".runner/config.toml"
REFUSED_CONFIG: Final = "config.refused.toml"
REFUSED_TOOLS: Final = "tools.refused.{}.json"
PUT_BACK: Final = "put_back.{}.txt"
BEFORE: Final = "guard.before.log"
LARGEST: Final = 16 << 20
"""Bytes of a file of ours that are read back; the format refuses a longer one."""
REPORT_BYTES: Final = 1 << 20
HARMLESS: Final = (Trouble.NO_REPORT, Trouble.MALFORMED)
"""In a tree nobody has to report."""
CONFIG_CHANGED: Final = Problem(
    where=(CONFIG,), what="the settings were changed", hint="they are the person's alone"
)


class AgentGone(Exception):
    """The agent cannot work now: not installed, not logged in, rate limited."""

    def __init__(self, report: NoReport, usage: Usage) -> None:
        super().__init__(report.reason)
        self.report = report
        self.usage = usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What every iteration of a run works with."""

    place: InPlace
    form: TreeFormat
    agent: Agent
    containment: Containment
    guard: Guard
    clock: Clock
    outboxes: Path
    ours: Belongings
    seconds: float
    """For agent and guard together."""
    output_bytes: int = 1 << 20
    writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    """Inside of the checkout, and not to be written by an agent."""
    hidden: tuple[Path, ...] = ()
    seconds_left: Callable[[], float] = lambda: math.inf
    """How long the run may still take: no wait is longer."""
    held_up: Callable[[AtomId, Wait], None] = lambda _atom, _wait: None
    """Told when a session has to wait for what passes."""
    meter: Meter = field(default_factory=Meter)
    secrets: tuple[Secret, ...] = field(default=(), repr=False)
    """What no log may hold, whoever wrote it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What one iteration is about."""

    base: str
    content: bytes
    """The tree file at its beginning."""
    mode: Mode
    order: WorkOrder
    prompt: str
    log: IterationLog
    tests: int | None = None
    """How many the guard has to run; None: nobody has counted them."""
    held: Held | None = None
    """What steers the guard, as it is before the agent begins."""

    @property
    def name(self) -> str:
        """Under which things are set aside."""
        return f"{self.order.atom}/{self.order.attempt}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Came:
    """What an iteration came to."""

    judged: Judged
    kind: Kind
    guarded: Guarded
    agent: Ended
    judgement: Judgement | None = None
    """Of the guard, if it was asked."""
    usage: Usage
    crash: str = ""
    """Why the session failed, whatever it left; empty if it ended well."""
    timed_out: bool = False
    refused_text: bytes = b""
    set_aside: str | None = None
    """Where work outside of `.runner/` is kept that was not asked for."""
    notes: tuple[str, ...] = ()
    tests: int | None = None
    """How many tests the guard has to run from now on; None: they cannot be counted."""

    @property
    def guard(self) -> Ended | None:
        return None if self.judgement is None else self.judgement.ended

    @property
    def problems(self) -> tuple[Problem, ...]:
        return self.judged.problems


async def iterated(bench: Bench, task: Task, plan: Plan, seen: Mapping[str, None]) -> Came:
    """Run the agent and judge what it left. AgentGone: it did not get to work at all."""
    config = owned_file.content_of(bench.place.path / CONFIG, LARGEST)
    judges = guard_files.digests(bench.guard.command, bench.place.path)
    ended, report, usage = await _patient_session(bench, task)
    robbed = bench.ours.put_back(task.log.folder)
    if isinstance(report, NoReport) and report.trouble in (*ENDS_THE_RUN, *PASSES):
        raise AgentGone(report, usage)
    crash = report.reason if isinstance(report, NoReport) and report.trouble not in HARMLESS else ""
    meddled = _settings_put_back(bench, task, config)
    found = await bench.place.difference(task.base)
    after = owned_file.content_of(bench.place.path / TREE, LARGEST)
    crash = "; ".join(words for words in (crash, robbed, found.trouble) if words)
    paths, aside = found.paths, None
    if task.mode is not Mode.WORK and _outside(paths):
        aside = await bench.place.undo(task.base, OURS, task.name)
        paths = tuple(path for path in paths if not _outside((path,)))
    back = await _held(bench, task, paths)
    unfit, paths = await _lists_put_back(bench, task, back.left(paths))
    judged = bench.form.judged(task.content, after, seen)
    judged = _judged(judged, plan, task, (*unfit, *((CONFIG_CHANGED,) if meddled else ())))
    now = guard_files.digests(bench.guard.command, bench.place.path)
    came = Came(
        judged=judged,
        kind=Kind.EXECUTE if _outside(paths) else Kind.DECOMPOSE,
        guarded=Guarded.SKIPPED,
        agent=ended,
        usage=usage,
        crash=crash,
        timed_out=ended.timed_out,
        refused_text=(after or b"") if judged.problems else b"",
        set_aside=aside or back.aside,
        notes=(*found.notes, *filter(None, (back.note,)), *guard_files.changed(judges, now)),
        tests=task.tests,
    )
    if came.kind is Kind.DECOMPOSE or crash or judged.problems:
        return came
    left = bench.seconds - ended.seconds
    if left <= 0:
        return replace(came, timed_out=True, crash="no time was left for the guard")
    task.log.guard.touch()  # there also if nothing is said
    judgement = await bench.guard.run(left, task.log.guard, task.tests)
    bench.ours.put_back(task.log.folder)
    _settings_put_back(bench, task, config)
    notes = (*came.notes, *guard_files.uncommitted(bench.place.ignored(tuple(now))))
    return replace(
        came,
        judgement=judgement,
        guarded=judgement.verdict,
        timed_out=judgement.ended.timed_out,
        notes=(*notes, *filter(None, (await asyncio.to_thread(let_go, task),))),
        tests=_counted(task.tests, judgement),
    )


async def begun(bench: Bench, task: Task) -> Task:
    """The task with all that has to be known before an agent can change it.

    Tests are counted before they can become fewer, if nobody has counted them yet. The guard may
    leave files behind then. They are nobody's work, and set aside.
    """
    tests = task.tests
    if tests is None and task.mode is Mode.WORK and bench.guard.wants_a_count:
        judgement = await bench.guard.run(bench.seconds, task.log.folder / BEFORE)
        if await bench.place.dirt():
            await bench.place.set_aside(task.base, task.name)
        tests = judgement.tests or 0
    held = await hold(bench.guard.steering, bench.place.path)
    return replace(task, tests=tests, held=held)


def let_go(task: Task) -> str:
    """Put back what steers once more; a note, if there was anything.

    After the guard, because tests run what an agent wrote. After a session that was cut short,
    because git has set aside what it sees, and no more.
    """
    if task.held is None:
        return ""
    return PutBack(paths=task.held.put_unseen_back(_kept(task))).note


def _counted(before: int | None, judgement: Judgement) -> int | None:
    """What a green guard ran is the least for the next one."""
    if judgement.tests is None or judgement.verdict is not Guarded.PASS:
        return before
    return max(before or 0, judgement.tests)


async def _held(bench: Bench, task: Task, paths: Sequence[str]) -> PutBack:
    if task.held is None:
        return PutBack()
    return await task.held.put_back(bench.place, task.base, paths, task.name, _kept(task))


def _kept(task: Task) -> Callable[[str, bytes], None]:
    """Puts into the log what git does not keep."""
    numbers = itertools.count(len(list(task.log.folder.glob(PUT_BACK.format("*")))) + 1)

    def keep(path: str, content: bytes) -> None:
        text = os.fsencode(path) + b"\n\n" + content
        task.log.keep(PUT_BACK.format(next(numbers)), text)

    return keep


def is_leaf(judged: Judged, node: AtomId) -> bool:
    """Is the node still there, and without children, in the tree as the agent left it?"""
    if judged.edit is None:
        return True
    ids = [atom.id for atom in judged.edit.nodes]
    return node in ids and node not in [atom.parent for atom in judged.edit.nodes]


def _judged(judged: Judged, plan: Plan, task: Task, others: Sequence[Problem]) -> Judged:
    """The format's word, the kernel's, and ours about what is beside the tree."""
    problems = list(judged.problems)
    if judged.edit is not None:
        problems += tree_edits.edit_problems(plan, judged.edit)
    problems += others
    if not problems:
        return judged
    return Judged(content=task.content, problems=tuple(problems))


def _settings_put_back(bench: Bench, task: Task, config: bytes | None) -> bool:
    """Whether they had been changed. It may have been the person: what they wrote is not lost."""
    path = bench.place.path / CONFIG
    found = owned_file.content_of(path, LARGEST)
    changed = owned_file.put_back(path, config, LARGEST)
    if changed and found is not None:
        task.log.keep(REFUSED_CONFIG, found)
    return changed


async def _lists_put_back(
    bench: Bench, task: Task, paths: tuple[str, ...]
) -> tuple[list[Problem], tuple[str, ...]]:
    """Lists of tools that the agent left unfit; they go back, and what it wrote into the log."""
    problems: list[Problem] = []
    unfit = []
    for path in node_tools.lists_among(paths):
        found = node_tools.tools_at(bench.place.path, path).problems
        if found:
            problems += found
            unfit.append(path)
            text = owned_file.content_of(bench.place.path / path, LARGEST)
            task.log.keep(REFUSED_TOOLS.format(len(unfit)), text or b"")
    if unfit:
        await bench.place.restore(task.base, unfit)
    left = (path for path in paths if not set(node_tools.lists_among((path,))) & set(unfit))
    return problems, tuple(left)


def _outside(paths: Sequence[str]) -> bool:
    return any(path != OURS.rstrip("/") and not path.startswith(OURS) for path in paths)


async def _patient_session(bench: Bench, task: Task) -> tuple[Ended, Report, Usage]:
    """Whoever is turned away for a while begins again; the time between belongs to nobody."""
    endings: list[Ended] = []

    async def session() -> Result:
        ended, result = await _session(bench, task)
        endings.append(ended)
        return result

    def held_up(wait: Wait | None) -> None:
        if wait is not None:
            bench.held_up(task.order.atom, wait)

    result = await patient(session, bench.seconds_left, held_up)
    return endings[-1], result.report, result.usage


async def _session(bench: Bench, task: Task) -> tuple[Ended, Result]:
    """The agent's program from start to end; its report is kept and otherwise not believed."""
    order, path = task.order, bench.place.path
    place = Place(workspace=path, outbox=bench.outboxes / f"{order.atom}.{order.attempt}")
    shutil.rmtree(place.outbox, ignore_errors=True)
    place.outbox.mkdir(parents=True)
    for folder in (place.outbox, task.log.folder):
        (folder / "order.json").write_bytes(order_json(order))
        (folder / "prompt.md").write_text(task.prompt, encoding="utf-8", errors="replace")
    session = bench.agent.session(order, place)
    command = session.command
    command = replace(
        command,
        timeout_seconds=min(command.timeout_seconds, bench.seconds),
        output_bytes=bench.output_bytes,
        writable=tuple(
            dict.fromkeys((path, place.outbox, *command.writable, *bench.writable)),
        ),
        readable=(*command.readable, *bench.readable),
        hidden=(*command.hidden, *bench.hidden),
        log=task.log.executor,
    )
    try:
        running = bench.containment.run(command, watch=session.watch)
        ended, result = await bench.meter.read(order.nonce, session, running)
        if command.timeout_seconds < bench.seconds:
            # Of an agent's own, shorter time only its session has run out: that is one that failed.
            ended = replace(ended, timed_out=False)
        with contextlib.suppress(OSError):
            report = owned_file.content_of(place.report, REPORT_BYTES)
            if report is not None:
                task.log.keep("report.json", command.told(report))
        return ended, result
    finally:
        shutil.rmtree(place.outbox, ignore_errors=True)
