"""One iteration on a tree: run the agent, judge its edit, run the guard.

The outcome follows from the difference in the checkout and from how the programs ended, never from
what the agent says. The mode closes the iteration: the event, the tree file, the commit.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from dwindle.kernel import tree_edits
from dwindle.kernel.events import AtomResolved, Usage
from dwindle.kernel.model import AtomId, Plan, Problem, Role, TrailType
from dwindle.ports.in_place import Done, InPlace
from dwindle.ports.iteration import Guarded, Kind
from dwindle.ports.process import Ended, Secret
from dwindle.ports.tree import Judged, TreeFormat
from dwindle.ports.work import (
    ENDS_THE_RUN,
    NOT_BRIEFED,
    PASSES,
    Briefing,
    NoReport,
    Trouble,
    WorkerReport,
    WorkOrder,
)
from dwindle.runner.modes.tree import guard_files, node_tools, owned_file
from dwindle.runner.modes.tree.clean_guard import (
    CHANGED,
    CleanGuard,
    CleanJudgement,
    completed,
    has_empty_folder,
)
from dwindle.runner.modes.tree.guard import Guard, Judgement
from dwindle.runner.modes.tree.guard_files import Restoration, SteeringSnapshot, take_snapshot
from dwindle.runner.modes.tree.log import EXECUTOR_LOG, IterationLog
from dwindle.runner.modes.tree.prompt import Phase
from dwindle.runner.modes.tree.runner_files import RunnerFiles
from dwindle.runner.session import AgentRunner

OURS: Final = ".runner/"
TREE: Final = ".runner/tree.json"
CONFIG: Final = ".runner/config.toml"
REFUSED_CONFIG: Final = "config.refused.toml"
REFUSED_TOOLS: Final = "tools.refused.{}.json"
PUT_BACK: Final = "put_back.{}.txt"
NOT_YET: Final = """\
The guard is green without them, and the rest is committed. The node passes in the next session \
that does without them: if nothing is missing, it need not change anything."""
NO_WORK: Final = "Nothing else was changed outside of .runner/, so there is no work to judge."
BEFORE: Final = "guard.before.log"
LARGEST: Final = 16 << 20
"""Bytes of a file of the runner that are read back; the format refuses a longer one."""
HARMLESS: Final = (Trouble.NO_REPORT, Trouble.MALFORMED)
"""An agent on a tree need not report."""
NOT_AT_WORK: Final = (*ENDS_THE_RUN, *PASSES)
CONFIG_CHANGED: Final = Problem(
    where=(CONFIG,), what="the settings were changed", hint="only a person may change them"
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
    agents: AgentRunner
    guard: Guard
    clean: CleanGuard | None = None
    """None: the guard decides in place alone."""
    ours: RunnerFiles
    seconds: float
    """For agent and guard together."""
    secrets: tuple[Secret, ...] = field(default=(), repr=False)
    """Redacted from every log."""
    briefing: Briefing = NOT_BRIEFED
    """As of the commit where the run began."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What one iteration is about."""

    base: str
    content: bytes
    """The tree file at its beginning."""
    phase: Phase
    order: WorkOrder
    prompt: str
    log: IterationLog
    tests: int | None = None
    """How many tests the guard has to run; None: not counted yet."""
    snapshot: SteeringSnapshot | None = None
    """What steers the guard, as it is before the agent begins."""
    is_green: bool = False
    """The last iteration left this node with a green guard, and it did not pass only because files
    were put back: its work is on the branch, and a session without a change can be judged."""

    @property
    def name(self) -> str:
        """The name under which its work is set aside."""
        return f"{self.order.atom}/{self.order.attempt}"

    @property
    def fixed(self) -> tuple[str, ...]:
        """What decides, and must not be changed while the guard runs."""
        return () if self.snapshot is None else self.snapshot.fixed


@dataclass(frozen=True, slots=True, kw_only=True)
class IterationOutcome:
    """The outcome of an iteration."""

    judged: Judged
    kind: Kind
    guarded: Guarded
    agent: Ended
    judgement: Judgement | None = None
    """Of the guard, if it was asked."""
    clean: CleanJudgement | None = None
    """Of the guard in a clean checkout, if that was asked."""
    usage: Usage
    summary: str = ""
    """In the agent's own words, if it left a report."""
    paths: tuple[str, ...] = ()
    """What it changed and was not put back."""
    crash: str = ""
    """Why the session failed; empty if it ended well."""
    timed_out: bool = False
    refused_text: bytes = b""
    not_yet: str = ""
    """Why the node does not pass, though the guard is green or was not asked."""
    set_aside: str | None = None
    """The ref of work outside of `.runner/` that this phase does not allow."""
    notes: tuple[str, ...] = ()
    tests: int | None = None
    """How many tests the guard has to run from now on; None: they cannot be counted."""

    @property
    def guard(self) -> Ended | None:
        return None if self.judgement is None else self.judgement.ended

    @property
    def problems(self) -> tuple[Problem, ...]:
        return self.judged.problems


async def iterate(
    bench: Bench, task: Task, plan: Plan, seen: Mapping[str, None]
) -> IterationOutcome:
    """Run the agent and judge its work. AgentGone: it could not work at all."""
    config = owned_file.content_of(bench.place.path / CONFIG, LARGEST)
    judges = guard_files.digests(bench.guard.command, bench.place.path)
    finished = await bench.agents.run(
        task.order, bench.place.path, task.log.folder, prompt=task.prompt, log=EXECUTOR_LOG
    )
    ended, report, usage = finished.ended, finished.report, finished.usage
    if finished.timeout_seconds < bench.seconds:
        # The agent's own, shorter time has run out: its session failed, the iteration did not.
        ended = replace(ended, timed_out=False)
    robbed = bench.ours.restore(task.log.folder)
    if isinstance(report, NoReport) and report.trouble in NOT_AT_WORK:
        raise AgentGone(report, usage)
    crash = report.reason if isinstance(report, NoReport) and report.trouble not in HARMLESS else ""
    meddled = _restore_settings(bench, task, config)
    found = await bench.place.difference(task.base)
    after = owned_file.content_of(bench.place.path / TREE, LARGEST)
    crash = "; ".join(words for words in (crash, robbed, found.trouble) if words)
    paths, set_aside = found.paths, None
    if task.phase is not Phase.WORK and _outside(paths):
        set_aside = await bench.place.undo(task.base, OURS, task.name)
        paths = tuple(path for path in paths if not _outside((path,)))
    back = await _restore_steering(bench, task, paths)
    unfit, paths = await _restore_tool_lists(bench, task, back.others(paths))
    judged = bench.form.judged(task.content, after, seen)
    judged = _with_all_problems(
        judged, plan, task, (*unfit, *((CONFIG_CHANGED,) if meddled else ()))
    )
    now = guard_files.digests(bench.guard.command, bench.place.path)
    is_plan = judged.edit is not None or bool(judged.problems)
    is_work = _outside(paths) or (task.is_green and not is_plan)
    outcome = IterationOutcome(
        judged=judged,
        kind=Kind.EXECUTE if is_work else Kind.DECOMPOSE,
        guarded=Guarded.SKIPPED,
        agent=ended,
        usage=usage,
        summary=report.summary if isinstance(report, WorkerReport) else "",
        paths=paths,
        crash=crash,
        timed_out=ended.timed_out,
        refused_text=(after or b"") if judged.problems else b"",
        set_aside=set_aside or back.ref,
        notes=(*found.notes, *filter(None, (back.note,)), *guard_files.change_notes(judges, now)),
        tests=task.tests,
    )
    if outcome.kind is Kind.DECOMPOSE and back.paths and not is_plan:
        return replace(outcome, not_yet=f"{_told(bench, task, back)}\n{NO_WORK}")
    if outcome.kind is Kind.DECOMPOSE or crash or judged.problems:
        return outcome
    left = bench.seconds - ended.seconds
    if left <= 0:
        return replace(outcome, timed_out=True, crash="no time was left for the guard")
    task.log.guard.touch()  # exists also if nothing is printed
    judgement = await bench.guard.run(left, task.log.guard, task.tests, task.fixed)
    bench.ours.restore(task.log.folder)
    _restore_settings(bench, task, config)
    notes = (*outcome.notes, *guard_files.ignored_notes(bench.place.ignored(tuple(now))))
    is_news = back.is_work and not _is_told(plan, task, back)
    outcome = replace(
        outcome,
        judgement=judgement,
        not_yet=f"{_told(bench, task, back)}\n{NOT_YET}" if is_news else "",
        guarded=judgement.verdict,
        timed_out=judgement.ended.timed_out,
        notes=(*notes, *filter(None, (await _restore_after_guard(bench, task),))),
        tests=_required_tests(task.tests, judgement),
    )
    clean = await _clean_judgement(bench, task, plan, outcome)
    bench.ours.restore(task.log.folder)
    _restore_settings(bench, task, config)
    if clean is None or clean.verdict is Guarded.PASS:
        return replace(outcome, clean=clean)
    return replace(
        outcome, clean=clean, guarded=Guarded.FAIL, timed_out=clean.timed_out, tests=task.tests
    )


async def _clean_judgement(
    bench: Bench, task: Task, plan: Plan, outcome: IterationOutcome
) -> CleanJudgement | None:
    """What the guard says in a clean checkout; None where it need not be asked.

    It is asked before the event that would complete the tree, about exactly what would be
    committed then, unless a clean checkout could not differ.
    """
    if bench.clean is None or not is_passed(outcome, task.order.atom):
        return None
    after = completed(plan, resolved(bench.guard, task, outcome))
    if after is None:
        return None
    tree, content = bench.place.path / TREE, outcome.judged.content
    passed = bench.form.written(content, after)
    with _shown_as(tree, passed, else_=content):
        commit = await bench.place.preview(task.base, "what would be committed\n")
    new = await bench.clean.new_tests(commit)
    differs = new or await bench.place.unseen(task.base)
    if not differs and not await asyncio.to_thread(has_empty_folder, bench.place.path):
        return None
    guard = outcome.guard
    left = bench.seconds - outcome.agent.seconds - (guard.seconds if guard else 0.0)
    found = await bench.clean.judge(
        commit, left, task.log.folder, without=new, least=outcome.tests, fixed=task.fixed
    )
    with _shown_as(tree, passed, else_=content):
        if not await bench.place.is_still(task.base, commit):
            return replace(found, trouble=CHANGED)
    return found


@contextlib.contextmanager
def _shown_as(tree: Path, content: bytes, *, else_: bytes) -> Iterator[None]:
    """The tree file as it would be, for git to see; it must not say so while nothing is decided."""
    owned_file.make_way(tree)
    tree.write_bytes(content)
    try:
        yield
    finally:
        tree.write_bytes(else_)


def is_passed(outcome: IterationOutcome, node: AtomId) -> bool:
    is_green = outcome.guarded is Guarded.PASS and not outcome.not_yet
    return is_green and is_leaf(outcome.judged, node)


def resolved(guard: Guard, task: Task, outcome: IterationOutcome) -> AtomResolved:
    return AtomResolved(
        atom=task.order.atom,
        nonce=task.order.nonce,
        usage=outcome.usage,
        summary=f"{guard.line} is green",
        edit=outcome.judged.edit,
    )


async def prepare(bench: Bench, task: Task) -> Task:
    """The task, with the number of tests and a snapshot of the steering files.

    Both are taken before an agent can change them. The guard may leave files when it counts; they
    are set aside.
    """
    tests = task.tests
    if tests is None and task.phase is Phase.WORK and bench.guard.wants_a_count:
        judgement = await bench.guard.run(bench.seconds, task.log.folder / BEFORE)
        if await bench.place.dirt():
            await bench.place.set_aside(task.base, task.name)
        tests = judgement.tests or 0
    snapshot = await take_snapshot(bench.guard.steering, bench.place.path)
    return replace(task, tests=tests, snapshot=snapshot)


def restore_steering(task: Task) -> str:
    """Restore the steering files once more; returns a note if any had changed.

    After the guard, because tests run code of the agent. After an interrupted session, because git
    does not set aside what it ignores.
    """
    if task.snapshot is None:
        return ""
    paths = task.snapshot.restore_unseen(_keeper(task))
    by_work_paths = task.snapshot.steering.by_work_paths
    return Restoration(paths=paths, reverted=paths, by_work_paths=by_work_paths).note


async def _restore_after_guard(bench: Bench, task: Task) -> str:
    if task.snapshot is None or not task.snapshot.steering.by_work_paths:
        return await asyncio.to_thread(restore_steering, task)
    found = await bench.place.difference(task.base)
    return (await _restore_steering(bench, task, found.paths)).note


def _required_tests(before: int | None, judgement: Judgement) -> int | None:
    """The tests of a green guard are the minimum for the next one."""
    if judgement.tests is None or judgement.verdict is not Guarded.PASS:
        return before
    return max(before or 0, judgement.tests)


async def _restore_steering(bench: Bench, task: Task, paths: Sequence[str]) -> Restoration:
    if task.snapshot is None:
        return Restoration()
    return await task.snapshot.restore(bench.place, task.base, paths, task.name, _keeper(task))


def _told(bench: Bench, task: Task, back: Restoration) -> str:
    """What was put back, and where it is kept."""
    if back.ref:
        return back.note
    log = task.log.folder.relative_to(bench.place.path).as_posix()
    return f"{back.note}; kept in {log}/{PUT_BACK.format('*')}"


def _is_told(plan: Plan, task: Task, back: Restoration) -> bool:
    """Whether an earlier attempt at this node failed for the same files."""
    failures = (one for one in plan.trail if one.type is TrailType.FAILURE)
    return any(back.is_named_in(one.reason) for one in failures if one.atom == task.order.atom)


def _keeper(task: Task) -> Callable[[str, bytes], None]:
    """A function that keeps a file in the log, where git does not keep it."""
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


def _with_all_problems(judged: Judged, plan: Plan, task: Task, others: Sequence[Problem]) -> Judged:
    """The problems of format and kernel, and those of files beside the tree."""
    problems = list(judged.problems)
    if judged.edit is not None:
        problems += tree_edits.edit_problems(plan, judged.edit)
    problems += others
    if not problems:
        return judged
    return Judged(content=task.content, problems=tuple(problems))


def _restore_settings(bench: Bench, task: Task, config: bytes | None) -> bool:
    """Whether they had been changed. It may have been the user: their text is kept in the log."""
    path = bench.place.path / CONFIG
    found = owned_file.content_of(path, LARGEST)
    changed = owned_file.restore(path, config, LARGEST)
    if changed and found is not None:
        task.log.keep(REFUSED_CONFIG, found)
    return changed


async def _restore_tool_lists(
    bench: Bench, task: Task, paths: tuple[str, ...]
) -> tuple[list[Problem], tuple[str, ...]]:
    """Restore invalid lists of tools; the agent's version is kept in the log."""
    problems: list[Problem] = []
    unfit = []
    for path in node_tools.tool_lists_in(paths):
        found = node_tools.tools_at(bench.place.path, path).problems
        if found:
            problems += found
            unfit.append(path)
            text = owned_file.content_of(bench.place.path / path, LARGEST)
            task.log.keep(REFUSED_TOOLS.format(len(unfit)), text or b"")
    if unfit:
        await bench.place.restore(task.base, unfit)
    left = (path for path in paths if not set(node_tools.tool_lists_in((path,))) & set(unfit))
    return problems, tuple(left)


def _outside(paths: Sequence[str]) -> bool:
    return any(path != OURS.rstrip("/") and not path.startswith(OURS) for path in paths)


def meta_of(bench: Bench, task: Task, outcome: IterationOutcome, done: Done) -> dict[str, Any]:
    """What `meta.json` says about an iteration that is on the branch."""
    iteration, guard = done.iteration, outcome.guard
    return {
        "run_id": iteration.run,
        "iter_n": iteration.number,
        "selected_leaf_id": iteration.node,
        "selected_leaf_path": [*(step.atom for step in task.order.path), task.order.atom],
        "mode": task.phase,
        "classification": iteration.kind,
        "executor_kind": bench.agents.agents[Role.WORKER].name,
        "exit_status": outcome.agent.exit_code,
        "exit_signal": outcome.agent.signal,
        "timed_out": outcome.timed_out,
        "duration_ms": round(outcome.agent.seconds * 1000),
        "failure": outcome.crash,
        "tokens": outcome.usage.tokens,
        "usd": outcome.usage.usd,
        "tree_edit": "refused" if outcome.problems else "taken" if outcome.judged.edit else "none",
        "guard": {
            "verdict": iteration.guard,
            "command": list(bench.guard.command),
            "exit_status": None if guard is None else guard.exit_code,
            "duration_ms": 0 if guard is None else round(guard.seconds * 1000),
            "tests": None if outcome.judgement is None else outcome.judgement.tests,
            "clean": None if outcome.clean is None else outcome.clean.facts,
        },
        "set_aside": outcome.set_aside,
        "notes": list(outcome.notes),
        "containment": {
            "strength": bench.agents.sandbox.strength,
            "mechanism": bench.agents.sandbox.mechanism,
        },
        "commit_sha": done.commit,
    }
