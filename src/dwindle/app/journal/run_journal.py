"""The journals of a repository: which runs have one, and what it records."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dwindle.adapters.store.disk import RealDisk
from dwindle.adapters.store.journal import Content, path_of, read_journal
from dwindle.app.paths import JOURNALS, PLAN_FILE
from dwindle.app.plans.load import PLAN_FILES, load_graph
from dwindle.app.refusal import Refused
from dwindle.app.tree.branch_history import branch_here
from dwindle.kernel.events import Event
from dwindle.kernel.model import PlanKind
from dwindle.ports.store import StoreFailed


@dataclass(frozen=True, slots=True, kw_only=True)
class RunJournal:
    """The journal of one run, read and checked."""

    run: str
    content: Content
    raw: tuple[bytes, ...]
    """The lines of the file, without their ends."""

    @property
    def last(self) -> int:
        return self.content.last

    @property
    def first_versions(self) -> tuple[str, ...]:
        """The digests that the plan file could have when the journal was begun."""
        return tuple(json.loads(self.raw[0])["versions"])

    def events(self, after: int = 0) -> Iterator[tuple[int, Event]]:
        """What happened, numbered."""
        numbers = (number for _, number, _ in self.content.lines if number > after)
        return zip(numbers, self.content.events(after), strict=True)

    def lines(self, after: int = 0) -> Iterator[str]:
        """The same, as it stands in the file."""
        for line, number, _ in self.content.lines:
            if number > after:
                yield self.raw[line - 1].decode()


def read_run_journal(root: Path, run: str) -> RunJournal:
    """Read a journal; JournalDamaged for one that is not as it was written."""
    folder = root / JOURNALS
    content = read_journal(RealDisk(), folder, run)
    # The file may have grown since; what was checked is still at its beginning.
    checked = path_of(folder, run).read_bytes()[: content.size]
    return RunJournal(run=run, content=content, raw=tuple(checked.split(b"\n")))


def run_named(root: Path, run: str | None, plan: PlanKind | None = None) -> str:
    """The run that was asked for, or the plan's own; refused if it has no journal."""
    folder = root / JOURNALS
    named = run or run_of_plan(root, plan)
    try:
        if named is not None and path_of(folder, named).exists():
            return named
    except StoreFailed:
        pass  # it cannot even be the name of one
    known = sorted(path.stem for path in folder.glob("*.jsonl"))
    hint = f"there are: {', '.join(known)}" if known else "`dwindle run` begins one"
    what = f"there is no run {run}" if run else "no run of this plan has begun"
    raise Refused(what, where=JOURNALS, hint=hint)


def run_of_plan(root: Path, plan: PlanKind | None) -> str | None:
    """The run of the plan here, or of the one that was asked for; refused if there are two."""
    graph = None if plan is PlanKind.TREE else _run_of_graph(root)
    tree = None if plan is PlanKind.GRAPH else _run_of_tree(root)
    if graph and tree:
        what = f"there are two runs: {graph} of the graph plan and {tree} of the tree plan"
        raise Refused(what, hint="say --plan graph or --plan tree, or name the run")
    return graph or tree


def _run_of_graph(root: Path) -> str | None:
    try:
        loaded = load_graph((root / PLAN_FILE).read_bytes())
    except FileNotFoundError:
        return None
    return loaded.plan.control.run_id if loaded.plan is not None else None


def _run_of_tree(root: Path) -> str | None:
    """Of a tree, the run that the checkout is at."""
    if not (root / PLAN_FILES[PlanKind.TREE]).exists():
        return None
    branch = branch_here(root)
    return None if branch is None else branch.run
