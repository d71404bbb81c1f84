"""The plan at the start of a run, over which its journal is folded.

A graph run keeps a copy of its first plan file. A tree run keeps only commits: at every start and
restart its plan is made from the tree in the current commit and from the iterations done by then;
people may have edited the tree in between.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from dwindle.adapters.formats.config.settings import LimitSettings
from dwindle.adapters.formats.tree.plan import TreeDocument, decode
from dwindle.adapters.store.journal import path_of
from dwindle.app.paths import JOURNALS, LOGS, PLAN_FILE, TREE_FILE, start_of
from dwindle.app.plans.load import load_graph
from dwindle.app.refusal import Refused
from dwindle.app.settings import settings_for
from dwindle.app.tree.branch_history import contents
from dwindle.app.tree.resume_tree import resume_tree
from dwindle.kernel.events import Event, IterationCommitted, RunStarted
from dwindle.kernel.model import Plan, PlanKind
from dwindle.ports.in_place import Done, History
from dwindle.ports.iteration import Iteration


class NoOrigin(Exception):
    """The first plan is lost; says what is missing."""


def kind_of_run(root: Path, run: str) -> PlanKind:
    """Only a graph run keeps its first plan, or has versions of a plan file in its journal."""
    if start_of(root / JOURNALS, run).exists():
        return PlanKind.GRAPH
    try:
        with path_of(root / JOURNALS, run).open("rb") as file:
            return PlanKind.TREE if b'"versions":[],' in file.readline(4096) else PlanKind.GRAPH
    except OSError:
        return PlanKind.GRAPH


def graph_origin(root: Path, run: str) -> tuple[Plan, str]:
    """The plan over which the journal is folded, and a note about it."""
    plan = _graph_in(start_of(root / JOURNALS, run))
    if plan is not None:
        return plan, ""
    kept = root / PLAN_FILE
    for path in (kept, *sorted(kept.parent.glob(f"{kept.stem}.*{kept.suffix}"))):
        plan = _graph_in(path)
        if plan is not None and plan.control.run_id == run:
            lost = "the plan that the run began with is lost: earlier events are not drawn"
            return plan, lost if path_of(root / JOURNALS, run).exists() else ""
    raise NoOrigin("no plan of this run is left, neither the first nor the last")


def _graph_in(path: Path) -> Plan | None:
    try:
        return load_graph(path.read_bytes()).plan
    except OSError:
        return None


def tree_origin(root: Path, run: str, events: Sequence[Event], started: RunStarted) -> Plan:
    """The plan at a start of a tree run; `events` are the earlier ones."""
    done = tuple(_iterations(events))
    commit = started.aligned.commit if started.aligned else ""
    trees = _trees(root, [*(name for one in done for name in (one.parent, one.commit)), commit])
    tree = _tree(trees.get(commit)) or _tree(_tree_in_logs(root, run, len(done)))
    if tree is None:
        raise NoOrigin("the tree at the start of the run is neither in git nor in the logs")
    limits = settings_for(root).settings
    return resume_tree(
        tree,
        goal=tree.root.goal,
        history=History(done=done, trees=trees),
        events=events,
        limits=LimitSettings() if limits is None else limits.limits,
        logs=root / LOGS / run,
        run=run,
    ).plan


def _iterations(events: Sequence[Event]) -> Iterator[Done]:
    """Each with the commit that it began with: that of the start, or of the one before it."""
    base = ""
    for event in events:
        if isinstance(event, RunStarted) and event.aligned:
            base = event.aligned.commit
        elif isinstance(event, IterationCommitted):
            found = Iteration.of(event.subject)
            if found is not None:
                yield Done(iteration=found, commit=event.commit, parent=base)
            base = event.commit


def _trees(root: Path, commits: list[str]) -> dict[str, bytes]:
    named = [c for c in dict.fromkeys(commits) if c.isalnum()]
    try:
        return contents(root, TREE_FILE, named) if named else {}
    except Refused:
        return {}


def _tree(content: bytes | None) -> TreeDocument | None:
    return None if content is None else decode(content).tree


def _tree_in_logs(root: Path, run: str, done: int) -> bytes | None:
    """The tree as the log of the next iteration, or of the last one, has it."""
    logs = root / LOGS / run
    names = (f"{done + 1:04}/tree.before.json", f"{done:04}/tree.after.json")
    for path in (logs / name for name in names):
        if path.is_file():
            return path.read_bytes()
    return None
