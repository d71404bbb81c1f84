"""Decide a graph run again from its journal, and compare the outcome with the plan file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dwindle.adapters.formats.graph import plan as graph_plan
from dwindle.adapters.formats.graph.writer import GraphWriter
from dwindle.app.journal.run_journal import read_run_journal
from dwindle.app.paths import JOURNALS, PLAN_FILE, start_of
from dwindle.app.plans.load import load_graph
from dwindle.app.refusal import Refused
from dwindle.kernel.model import Plan
from dwindle.runner.ledger import digest
from dwindle.runner.replay import replay
from dwindle.text import amounts
from dwindle.text.terminal import one_line


class FileDiffers(Exception):
    """A plan file is not what the journal leads to; how it differs."""


def replay_run(root: Path, run: str) -> str:
    """What was compared, in words. Raises Differs, FileDiffers, JournalDamaged, or Refused."""
    # Before the journal: that may grow meanwhile, and is never behind the file.
    kept = plan_file_of(root, run)
    start = _start(root, run)
    seen = read_run_journal(root, run)
    if digest(start.data) not in seen.first_versions:
        place = start_of(Path(JOURNALS), run)
        raise FileDiffers(f"{place} is not the plan that the journal began with")
    plans = replay(start.plan, seen.events())
    difference = _difference(start, plans, kept, seen.content.versions)
    if difference is not None:
        raise FileDiffers(difference)
    file = f", and {kept.path} has the same bytes" if kept else ", but there is no plan file of it"
    return f"{run}: {amounts.count(len(seen.content.lines), 'event')} decided again{file}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlanFile:
    path: str
    data: bytes
    plan: Plan
    writer: GraphWriter


def plan_file_of(root: Path, run: str) -> RunPlanFile | None:
    """The file of a run: the plan itself, or the one that was kept when another took its place."""
    place = root / PLAN_FILE
    for path in (place, *sorted(place.parent.glob(f"{place.stem}.*{place.suffix}"))):
        found = _read(path, str(path.relative_to(root))) if path.is_file() else None
        if found is not None and found.plan.control.run_id == run:
            return found
    return None


def _read(path: Path, shown: str) -> RunPlanFile | None:
    data = path.read_bytes()
    plan = load_graph(data).plan
    if plan is None:
        return None
    return RunPlanFile(path=shown, data=data, plan=plan, writer=graph_plan.writer_of(data))


def _start(root: Path, run: str) -> RunPlanFile:
    path = start_of(root / JOURNALS, run)
    shown = str(path.relative_to(root))
    found = _read(path, shown) if path.is_file() else None
    if found is None:
        hint = "it is kept when a run begins; without it there is nothing to replay from"
        raise Refused("the plan that the run began with is not there", where=shown, hint=hint)
    return found


def _difference(
    start: RunPlanFile, plans: Iterator[Plan], kept: RunPlanFile | None, versions: tuple[str, ...]
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


def _first_difference(kept: RunPlanFile, made: bytes) -> str:
    now, then = kept.data.splitlines(), made.splitlines()
    pairs = enumerate(zip(now, then, strict=False), 1)
    at = next((n for n, (a, b) in pairs if a != b), min(len(now), len(then)) + 1)
    found, expected = _line(now, at), _line(then, at)
    return f"{kept.path}:{at} has {found}, but {expected} comes of the journal"


def _line(lines: list[bytes], at: int) -> str:
    if at > len(lines):
        return "no such line"
    return f'"{one_line(lines[at - 1].decode("utf-8", "replace"))}"'
