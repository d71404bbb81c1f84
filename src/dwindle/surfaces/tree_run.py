"""A tree together with its run, for whoever only asks.

The tree file says what is open and nothing else. How far its run has come is on the branch, what it
cost in the journal, and whether it is going on right now can be seen from the lock. Where none of
that is there (another branch, a folder that is no repository, a tree beside others) the tree is
what it is, and nothing is spent.

While a run is going on, or was cut short, the file may be in the middle of an agent's edit. Then
the tree is the one that was committed last: it is the one that the run goes on with.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from dwindle import wiring
from dwindle.adapters.disk import RealDisk
from dwindle.adapters.formats.config_settings import LimitSettings
from dwindle.adapters.formats.tree_plan import TreeDocument, decode
from dwindle.adapters.journals.jsonl import JournalDamaged, path_of, read_journal
from dwindle.kernel.errors import KernelError
from dwindle.kernel.events import Event, IterationCommitted, RunStarted, SessionInterrupted
from dwindle.kernel.model import Control, Plan, PlanKind, RunStatus, Status, StopCode
from dwindle.kernel.problem import Problem
from dwindle.kernel.transitions import apply
from dwindle.ports.in_place import Done, History
from dwindle.ports.store import StoreFailed
from dwindle.surfaces import branch_history
from dwindle.surfaces.branch_history import Branch
from dwindle.surfaces.cli.problem_list import Unsound, sound
from dwindle.surfaces.cli.text import counted
from dwindle.surfaces.lock_table import is_held
from dwindle.surfaces.plan_files import PlanPath, read, repository
from dwindle.surfaces.refusal import Refused
from dwindle.surfaces.tree_taken_up import is_unfinished, taken_up
from dwindle.wiring import Loaded

NO_HISTORY: Final = History(done=(), trees=())
JOURNALS = ".runner/journal"
LOGS = ".runner/iterations"
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
    """How a tree stands."""

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


def standing_plan(file: PlanPath) -> Loaded:
    """The plan in a file, of a tree together with its run; or Unsound."""
    return sound(file) if file.kind is PlanKind.GRAPH else tree_run(file).loaded


def tree_run(file: PlanPath) -> TreeRun:
    """The tree in a file with all that is known of its run; or Unsound."""
    folder = Path(os.path.abspath(file.path)).parent.parent  # noqa: PTH100 - without any `..`
    problems: list[Problem] = []
    known = _known(folder, problems)
    running = is_held(folder / ".runner")
    unfinished = is_unfinished(known.events)
    committed = known.committed if running or unfinished else None
    decoded = decode(read(file.path) if committed is None else committed)
    if decoded.tree is None:
        raise Unsound(file.path, decoded.problems)
    limits = _limits(folder, problems)
    plan = _plan(decoded.tree, folder, known, limits, running=running)
    if len(plan.atoms) > limits.max_nodes:
        problems.append(wiring.too_many_nodes(len(plan.atoms), limits.max_nodes))
    return TreeRun(
        loaded=Loaded(plan=plan, problems=(*decoded.problems, *problems)),
        branch=None if known.branch is None else known.branch.name,
        without=known.without,
        done=known.history.done,
        is_unfinished=unfinished and not running,
    )


# --- what is on record ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What is on record of the run that the checkout is at."""

    branch: Branch | None = None
    without: str = ""
    history: History = NO_HISTORY
    committed: bytes | None = None
    """The tree file at the end of the branch."""
    events: tuple[Event, ...] = ()


def _known(folder: Path, problems: list[Problem]) -> _Known:
    """Only the tree in the root of a repository has runs."""
    root = repository(str(folder))
    if root != str(folder):
        return _Known(without=NOT_IN_GIT if root is None else NOT_THE_ROOT)
    try:
        branch = branch_history.branch_here(folder)
        if branch is None:
            return _Known(without=NOT_ON_A_BRANCH)
        told = branch_history.told(folder, branch)
    except Refused as error:
        problems.append(Problem(where=(), what=error.what, hint=error.hint, warning=True))
        return _Known()
    return _Known(
        branch=branch,
        history=told.history,
        committed=told.trees.get(branch.tip),
        events=_events(folder, branch.run, problems),
    )


def _events(folder: Path, run: str, problems: list[Problem]) -> tuple[Event, ...]:
    """What the journal says; a damaged one is not believed, and that is said."""
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
    found = wiring.settings_for(folder)
    if found.settings is not None:
        return found.settings.limits
    count = counted(len(found.problems), "problem")
    what = f"{wiring.SETTINGS_FILE} has {count}; the defaults are shown"
    hint = "`dwindle doctor` lists them"
    problems.append(Problem(where=(), what=what, hint=hint, warning=True))
    return LimitSettings()


# --- the plan ------------------------------------------------------------------------------------


def _plan(
    tree: TreeDocument, folder: Path, known: _Known, limits: LimitSettings, *, running: bool
) -> Plan:
    run = "" if known.branch is None else known.branch.run
    events = known.events
    settled = _settled(events) if running else len(events)
    plan = taken_up(
        tree,
        goal=tree.root.goal,
        history=known.history,
        events=events[:settled],
        limits=limits,
        logs=folder / LOGS / run,
        run=run,
    ).plan
    plan = replace(plan, control=replace(plan.control, run_id=run or None))
    if not running:
        return replace(plan, control=_at_rest(plan, known))
    control = replace(plan.control, status=RunStatus.RUNNING, stop_code=None, stop_reason=None)
    return _under_way(replace(plan, control=control), events[settled:])


def _settled(events: Sequence[Event]) -> int:
    """How many events there were when the last iteration was over."""
    ends = (IterationCommitted, SessionInterrupted, RunStarted)
    over = [number for number, event in enumerate(events, 1) if isinstance(event, ends)]
    return over[-1] if over else len(events)


def _under_way(plan: Plan, events: Sequence[Event]) -> Plan:
    """With the iteration that is under way; the branch may be a step ahead of the journal."""
    now = plan
    try:
        for event in events:
            now = apply(now, event)
    except KernelError:
        return plan
    return now


def _at_rest(plan: Plan, known: _Known) -> Control:
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
    if is_unfinished(known.events):
        return replace(control, stop_reason=CUT_SHORT)
    if known.events:
        return replace(control, stop_reason=RESTS)
    if known.history.done:
        return replace(control, status=RunStatus.STOPPED, stop_reason=NO_JOURNAL)
    return control
