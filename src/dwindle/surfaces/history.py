"""The journal of a run, for people and for programs: which there are, and what is in one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dwindle import wiring
from dwindle.adapters.disk import RealDisk
from dwindle.adapters.journals.jsonl import Content, path_of, read_journal
from dwindle.kernel.events import (
    Confirmed,
    EarlyChecked,
    Event,
    RedirectRequested,
    SessionNews,
    Settled,
    Waited,
)
from dwindle.kernel.model import Answer, PlanKind
from dwindle.ports.store import StoreFailed
from dwindle.surfaces.branch_history import branch_here
from dwindle.surfaces.cli.text import one_line
from dwindle.surfaces.plan_files import repository
from dwindle.surfaces.plan_place import JOURNALS, PLAN_FILE
from dwindle.surfaces.progress import sentence
from dwindle.surfaces.refusal import Refused
from dwindle.surfaces.spending_text import used_text


def root_of_here() -> Path:
    """The repository around the folder where the command was given."""
    here = Path.cwd()
    return Path(repository(str(here)) or here)


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Everything on record of one run, as it was read and checked."""

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


def history(root: Path, run: str) -> History:
    """Read a journal; JournalDamaged for one that is not as it was written."""
    folder = root / JOURNALS
    content = read_journal(RealDisk(), folder, run)
    # The file may have grown since; what was checked is still at its beginning.
    checked = path_of(folder, run).read_bytes()[: content.size]
    return History(run=run, content=content, raw=tuple(checked.split(b"\n")))


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
        loaded = wiring.load_graph((root / PLAN_FILE).read_bytes())
    except FileNotFoundError:
        return None
    return loaded.plan.control.run_id if loaded.plan is not None else None


def _run_of_tree(root: Path) -> str | None:
    """Of a tree, the run that the checkout is at."""
    if not (root / wiring.PLAN_FILES[PlanKind.TREE]).exists():
        return None
    branch = branch_here(root)
    return None if branch is None else branch.run


# --- in words ------------------------------------------------------------------------------------


def event_text(number: int, event: Event) -> str:
    """One line: when, which, what, and what it cost."""
    return f"{event.at or '-':<20} {number:>5}  {one_line(words_of(event))}{_cost(event)}"


def words_of(event: Event) -> str:
    match event:
        case Waited():
            return f"waited: {event.note}" if event.note else "time passed"
        case Settled():
            return "consequences were written into the plan"
        case RedirectRequested(active=True):
            return "a person is about to redirect"
        case RedirectRequested():
            return "the redirect was given up"
        case EarlyChecked(passed=False):
            return "the base case does not hold yet"
        case Confirmed():
            said = "confirmed" if event.answer is Answer.YES else "denied"
            words = f": {event.words}" if event.words else ""
            return f"a person {said} {event.item}{words}"
    return sentence(event) or type(event).__name__


def _cost(event: Event) -> str:
    if not isinstance(event, SessionNews):
        return ""
    used = used_text(event.usage)
    return f" ({used})" if used else ""
