"""A tree together with its run, for commands that only ask.

The tree file says which nodes are open and nothing else. The branch says how far the run has come,
the journal what it cost, and the lock whether a runner is at work. On another branch, outside of a
repository, or for a tree that is not in the root of one, nothing is spent.

While a runner is at work, or after it was killed, an agent may have left the file half edited. Then
this module reads the tree that was committed last: the run goes on with that one.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from dwindle.adapters.formats.config.settings import LimitSettings
from dwindle.adapters.formats.tree.plan import TreeDocument, decode
from dwindle.adapters.store.disk import RealDisk
from dwindle.adapters.store.journal import JournalDamaged, path_of, read_journal
from dwindle.app.paths import JOURNALS, LOGS
from dwindle.app.plans.load import Loaded, too_many_nodes
from dwindle.app.plans.plan_files import PlanPath, is_locked, read, repository
from dwindle.app.plans.problem_list import Unsound, sound
from dwindle.app.refusal import Refused
from dwindle.app.settings import SETTINGS_FILE, settings_for
from dwindle.app.tree.branch_history import RunBranch, branch_here, read_branch
from dwindle.app.tree.resume_tree import is_unfinished, resume_tree
from dwindle.kernel.actions import Decision
from dwindle.kernel.decide import decide
from dwindle.kernel.errors import KernelError
from dwindle.kernel.events import Event, IterationCommitted, RunStarted, SessionInterrupted
from dwindle.kernel.model import Control, Plan, PlanKind, Problem, RunStatus, Status, StopCode
from dwindle.kernel.transitions import apply
from dwindle.ports.in_place import Done, History
from dwindle.ports.store import StoreFailed
from dwindle.text import amounts

NO_HISTORY: Final = History(done=(), trees={})
NOT_ON_A_BRANCH = "HEAD is on no branch of a run; `dwindle run` begins one"
NOT_IN_GIT = "a run needs a git repository, and this is in none"
NOT_THE_ROOT = "only the tree in the root of a repository is run"
CUT_SHORT = "its runner was ended in the middle of an iteration; `dwindle run` does it again"
RESTS = "it rests; `dwindle run` goes on"
GREW = "it was completed, but there are open leaves again; `dwindle run` goes on"
NO_JOURNAL = "its journal is not on this machine; `dwindle run` goes on"
COMPLETED = "the root passes"


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeRun:
    """A tree, and what is known of its run."""

    loaded: Loaded
    branch: str | None = None
    """The branch that its run is on; None where the checkout is at no run."""
    without: str = ""
    """Why there is none."""
    done: tuple[Done, ...] = ()
    is_unfinished: bool = False
    """An iteration was begun and is not on the branch."""

    @property
    def plan(self) -> Plan:
        assert self.loaded.plan is not None  # noqa: S101 - an unsound tree has no TreeRun
        return self.loaded.plan


def current_plan(file: PlanPath) -> Loaded:
    """The plan in a file, of a tree together with its run; or Unsound."""
    return sound(file) if file.kind is PlanKind.GRAPH else tree_run(file).loaded


def tree_run(file: PlanPath) -> TreeRun:
    """Read a tree and its run; or Unsound."""
    folder = Path(os.path.abspath(file.path)).parent.parent  # noqa: PTH100 - without any `..`
    problems: list[Problem] = []
    record = _record(folder, problems)
    running = is_locked(folder / ".runner")
    unfinished = is_unfinished(record.events)
    committed = record.committed if running or unfinished else None
    decoded = decode(read(file.path) if committed is None else committed)
    if decoded.tree is None:
        raise Unsound(file.path, decoded.problems)
    limits = _limits(folder, problems)
    plan = _plan(decoded.tree, folder, record, limits, running=running)
    if len(plan.atoms) > limits.max_nodes:
        problems.append(too_many_nodes(len(plan.atoms), limits.max_nodes))
    return TreeRun(
        loaded=Loaded(plan=plan, problems=(*decoded.problems, *problems)),
        branch=None if record.branch is None else record.branch.name,
        without=record.without,
        done=record.history.done,
        is_unfinished=unfinished and not running,
    )


# --- branch, journal and settings ----------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _RunRecord:
    """What branch and journal say about the run of the checked-out branch."""

    branch: RunBranch | None = None
    without: str = ""
    history: History = NO_HISTORY
    committed: bytes | None = None
    """The tree file at the end of the branch."""
    events: tuple[Event, ...] = ()


def _record(folder: Path, problems: list[Problem]) -> _RunRecord:
    """Only the tree in the root of a repository has runs."""
    root = repository(str(folder))
    if root != str(folder):
        return _RunRecord(without=NOT_IN_GIT if root is None else NOT_THE_ROOT)
    try:
        branch = branch_here(folder)
        if branch is None:
            return _RunRecord(without=NOT_ON_A_BRANCH)
        found = read_branch(folder, branch)
    except Refused as error:
        problems.append(Problem(where=(), what=error.what, hint=error.hint, warning=True))
        return _RunRecord()
    return _RunRecord(
        branch=branch,
        history=found.summary,
        committed=found.trees.get(branch.tip),
        events=_events(folder, branch.run, problems),
    )


def _events(folder: Path, run: str, problems: list[Problem]) -> tuple[Event, ...]:
    """The events of the journal; none and a warning if it is damaged."""
    journals = folder / JOURNALS
    try:
        if not path_of(journals, run).exists():
            return ()
        return tuple(read_journal(RealDisk(), journals, run).events(0))
    except (JournalDamaged, StoreFailed) as error:
        hint = "what the run has spent is not known"
        problems.append(Problem(where=(), what=str(error), hint=hint, warning=True))
        return ()


def _limits(folder: Path, problems: list[Problem]) -> LimitSettings:
    found = settings_for(folder)
    if found.settings is not None:
        return found.settings.limits
    count = amounts.count(len(found.problems), "problem")
    what = f"{SETTINGS_FILE} has {count}; the defaults are shown"
    hint = "`dwindle doctor` lists them"
    problems.append(Problem(where=(), what=what, hint=hint, warning=True))
    return LimitSettings()


# --- the plan ------------------------------------------------------------------------------------


def _plan(
    tree: TreeDocument, folder: Path, record: _RunRecord, limits: LimitSettings, *, running: bool
) -> Plan:
    run = "" if record.branch is None else record.branch.run
    events = record.events
    finished = _finished_events(events) if running else len(events)
    plan = resume_tree(
        tree,
        goal=tree.root.goal,
        history=record.history,
        events=events[:finished],
        limits=limits,
        logs=folder / LOGS / run,
        run=run,
    ).plan
    plan = replace(plan, control=replace(plan.control, run_id=run or None))
    if not running:
        return replace(plan, control=_at_rest(plan, record))
    control = replace(plan.control, status=RunStatus.RUNNING, stop_code=None, stop_reason=None)
    return _under_way(replace(plan, control=control), events[finished:])


def _finished_events(events: Sequence[Event]) -> int:
    """How many events there were when the last iteration was over."""
    ends = (IterationCommitted, SessionInterrupted, RunStarted)
    over = [number for number, event in enumerate(events, 1) if isinstance(event, ends)]
    return over[-1] if over else len(events)


def _under_way(plan: Plan, events: Sequence[Event]) -> Plan:
    """Add the iteration that is under way; the branch may be a step ahead of the journal."""
    now = plan
    try:
        for event in events:
            now = apply(now, event)
    except KernelError:
        return plan
    return now


def _at_rest(plan: Plan, record: _RunRecord) -> Control:
    control = plan.control
    if all(atom.status is Status.RESOLVED for atom in plan.atoms.values()):
        return replace(
            control,
            status=RunStatus.COMPLETED,
            stop_code=StopCode.COMPLETED,
            stop_reason=COMPLETED,
        )
    if control.stop_code is StopCode.COMPLETED:
        return replace(control, stop_code=None, stop_reason=GREW)
    if control.stop_code is not None:
        return control
    if is_unfinished(record.events):
        return replace(control, stop_reason=CUT_SHORT)
    if record.events:
        return replace(control, stop_reason=RESTS)
    if record.history.done:
        return replace(control, status=RunStatus.STOPPED, stop_reason=NO_JOURNAL)
    return control


def next_decision(plan: Plan) -> tuple[Decision, bool]:
    """What happens next, and whether that assumes that the user calls `dwindle run` first."""
    if plan.control.status in (RunStatus.PENDING, RunStatus.STOPPED):
        try:
            return decide(apply(plan, RunStarted())), True
        except KernelError:
            pass
    return decide(plan), False
