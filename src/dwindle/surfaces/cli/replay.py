"""dwindle replay: work a run out once more, and compare."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dwindle import wiring
from dwindle.adapters.formats import graph_plan
from dwindle.adapters.formats.graph_writer import GraphWriter
from dwindle.adapters.journals.jsonl import JournalDamaged
from dwindle.kernel.model import Plan, PlanKind
from dwindle.ports.store import StoreFailed
from dwindle.runner.ledger import digest
from dwindle.runner.replay import Differs, replayed
from dwindle.surfaces.branch_history import Branch, branch_of
from dwindle.surfaces.cli.output import complain, say
from dwindle.surfaces.cli.text import counted, one_line
from dwindle.surfaces.history import history, root_of_here, run_named, run_of_plan
from dwindle.surfaces.plan_place import JOURNALS, PLAN_FILE
from dwindle.surfaces.refusal import Refused
from dwindle.surfaces.taken_up import start_of

DIFFERENT = 1


def replay(run: str | None = None, /, *, plan: PlanKind | None = None) -> int:
    """Decide a run again from its journal and compare the plan that comes of it.

    Args:
        run: The id of the run; that of the plan, if left out.
        plan: Of which plan, where there are two.
    """
    root = root_of_here()
    branch = _tree_branch(root, run or run_of_plan(root, plan))
    if branch is not None:
        return _tree(root, branch)
    named = run_named(root, run, plan)
    # Before the journal: that may grow while we look, and is never behind the file.
    kept = plan_file_of(root, named)
    start = _start(root, named)
    try:
        seen = history(root, named)
        if digest(start.data) not in seen.first_versions:
            place = start_of(Path(JOURNALS), named)
            return _different(f"{place} is not the plan that the journal began with")
        ended = _compared(start, replayed(start.plan, seen.events()), kept, seen.content.versions)
    except JournalDamaged as error:
        return _different(str(error))
    except Differs as difference:
        return _different(str(difference))
    if ended is not None:
        return _different(ended)
    file = f", and {kept.path} has the same bytes" if kept else ", but there is no plan file of it"
    return say(f"{named}: {counted(len(seen.content.lines), 'event')} decided again{file}")


def _tree_branch(root: Path, run: str | None) -> Branch | None:
    """The branch of a run, if it is that of a tree: the runs of graphs keep how they began."""
    try:
        if run is None or start_of(root / JOURNALS, run).exists():
            return None
    except StoreFailed:  # it cannot even be the name of one
        return None
    return branch_of(root, run)


def _tree(root: Path, branch: Branch) -> int:
    from dwindle.surfaces.tree_replay import Strayed, replayed_tree  # noqa: PLC0415

    try:
        count = replayed_tree(root, branch)
    except JournalDamaged as error:
        return _different(str(error))
    except Strayed as difference:
        return _different(str(difference))
    if not count:
        return say(f"{branch.run}: no iteration is on {branch.name} yet")
    again = f"{counted(count, 'iteration')} decided again"
    return say(f"{branch.run}: {again}, and every tree on {branch.name} has the same bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFile:
    path: str
    data: bytes
    plan: Plan
    writer: GraphWriter


def plan_file_of(root: Path, run: str) -> PlanFile | None:
    """The file of a run: the plan itself, or the one that was kept when another took its place."""
    place = root / PLAN_FILE
    for path in (place, *sorted(place.parent.glob(f"{place.stem}.*{place.suffix}"))):
        found = _read(path, str(path.relative_to(root))) if path.is_file() else None
        if found is not None and found.plan.control.run_id == run:
            return found
    return None


def _read(path: Path, shown: str) -> PlanFile | None:
    data = path.read_bytes()
    plan = wiring.load_graph(data).plan
    if plan is None:
        return None
    return PlanFile(path=shown, data=data, plan=plan, writer=graph_plan.decode(data).writer())


def _start(root: Path, run: str) -> PlanFile:
    path = start_of(root / JOURNALS, run)
    shown = str(path.relative_to(root))
    found = _read(path, shown) if path.is_file() else None
    if found is None:
        hint = "it is kept when a run begins; without it there is nothing to replay from"
        raise Refused("the plan that the run began with is not there", where=shown, hint=hint)
    return found


def _compared(
    start: PlanFile, plans: Iterator[Plan], kept: PlanFile | None, versions: tuple[str, ...]
) -> str | None:
    """Fold to the end; what is different about the plan as the file has it, if anything."""
    wanted = kept.plan.control.revision if kept else None
    then = start.plan if start.plan.control.revision == wanted else None
    for plan in plans:
        if plan.control.revision == wanted:
            then = plan
    if kept is None:
        return None
    if then is None:
        return f"{kept.path} is at revision {wanted}, which the journal does not reach"
    # The text below the front matter may have been changed and adopted; then it is as we left it.
    writer = kept.writer if digest(kept.data) in versions else start.writer
    made = writer.encode(then) if then is not start.plan else start.data
    return None if made == kept.data else _first_difference(kept, made)


def _first_difference(kept: PlanFile, made: bytes) -> str:
    now, then = kept.data.splitlines(), made.splitlines()
    pairs = enumerate(zip(now, then, strict=False), 1)
    at = next((n for n, (a, b) in pairs if a != b), min(len(now), len(then)) + 1)
    found, expected = _line(now, at), _line(then, at)
    return f"{kept.path}:{at} has {found}, but {expected} comes of the journal"


def _line(lines: list[bytes], at: int) -> str:
    if at > len(lines):
        return "no such line"
    return f'"{one_line(lines[at - 1].decode("utf-8", "replace"))}"'


def _different(what: str) -> int:
    complain(f"dwindle: DIFFERENT: {what}")
    return DIFFERENT
