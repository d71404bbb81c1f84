"""What a run began with: the plan over which its journal is folded.

The run of a graph keeps the plan file as it was at that moment. That of a tree keeps nothing but
commits: whenever it is taken up, its plan is made from the tree in the commit that it was taken up
at and from what had been done by then; people may have edited the tree in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dwindle import wiring
from dwindle.adapters.formats.config_settings import LimitSettings
from dwindle.adapters.formats.tree_plan import TreeDocument, decode
from dwindle.adapters.journals.jsonl import path_of
from dwindle.kernel.events import Event, IterationCommitted, RunStarted
from dwindle.kernel.model import Plan, PlanKind
from dwindle.ports.in_place import Done, History
from dwindle.ports.iteration import Iteration
from dwindle.surfaces.branch_history import TREE_FILE, contents
from dwindle.surfaces.plan_place import JOURNALS, PLAN_FILE
from dwindle.surfaces.refusal import Refused
from dwindle.surfaces.taken_up import start_of
from dwindle.surfaces.tree_run import LOGS
from dwindle.surfaces.tree_taken_up import taken_up


class NoOrigin(Exception):
    """Nothing is left to begin with; says what is missing."""


def kind_of_run(root: Path, run: str) -> PlanKind:
    """Only the run of a graph keeps how it began, or has told its journal of a plan file."""
    if start_of(root / JOURNALS, run).exists():
        return PlanKind.GRAPH
    try:
        with path_of(root / JOURNALS, run).open("rb") as file:
            return PlanKind.TREE if b'"versions":[],' in file.readline(4096) else PlanKind.GRAPH
    except OSError:
        return PlanKind.GRAPH


def graph_origin(root: Path, run: str) -> tuple[Plan, str]:
    """The plan that the journal is folded over, and what has to be said about it."""
    plan = _graph_in(start_of(root / JOURNALS, run))
    if plan is not None:
        return plan, ""
    kept = root / PLAN_FILE
    for path in (kept, *sorted(kept.parent.glob(f"{kept.stem}.*{kept.suffix}"))):
        plan = _graph_in(path)
        if plan is not None and plan.control.run_id == run:
            lost = "the plan that the run began with is lost: what was before is not drawn"
            return plan, lost if path_of(root / JOURNALS, run).exists() else ""
    raise NoOrigin("no plan of this run is left, neither as it began nor as it ended")


def _graph_in(path: Path) -> Plan | None:
    try:
        return wiring.load_graph(path.read_bytes()).plan
    except OSError:
        return None


def tree_origin(root: Path, run: str, events: Sequence[Event], started: RunStarted) -> Plan:
    """The plan with which a tree was taken up; `events` are those before."""
    ended = [event for event in events if isinstance(event, IterationCommitted)]
    done = tuple(
        Done(iteration=found, commit=event.commit)
        for event in ended
        if (found := Iteration.of(event.subject)) is not None
    )
    commit = started.aligned.commit if started.aligned else ""
    trees = _trees(root, [*(one.commit for one in done), commit])
    tree = _tree(trees.get(commit)) or _tree(_logged(root, run, len(done)))
    if tree is None:
        raise NoOrigin("the tree that the run was taken up with is neither in git nor in the logs")
    limits = wiring.settings_for(root).settings
    return taken_up(
        tree,
        goal=tree.root.goal,
        history=History(done=done, trees=tuple(dict.fromkeys(trees.values()))),
        events=events,
        limits=LimitSettings() if limits is None else limits.limits,
        logs=root / LOGS / run,
        run=run,
    ).plan


def _trees(root: Path, commits: list[str]) -> dict[str, bytes]:
    named = [c for c in dict.fromkeys(commits) if c.isalnum()]
    try:
        return contents(root, TREE_FILE, named) if named else {}
    except Refused:
        return {}


def _tree(content: bytes | None) -> TreeDocument | None:
    return None if content is None else decode(content).tree


def _logged(root: Path, run: str, done: int) -> bytes | None:
    """The tree as the log of the next iteration, or of the last one, has it."""
    logs = root / LOGS / run
    names = (f"{done + 1:04}/tree.before.json", f"{done:04}/tree.after.json")
    for path in (logs / name for name in names):
        if path.is_file():
            return path.read_bytes()
    return None
