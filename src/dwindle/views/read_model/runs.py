"""The runs on record, the current one, and which one is at work; no run is folded."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from dwindle.adapters.store.journal import path_of
from dwindle.app.paths import JOURNALS, LOGS, PLAN_FILE, start_of
from dwindle.app.plans.load import PLAN_FILES, load_graph
from dwindle.app.plans.plan_files import is_locked
from dwindle.app.refusal import Refused
from dwindle.app.tree.branch_history import branch_here
from dwindle.kernel.model import PlanKind
from dwindle.ports.store import StoreFailed
from dwindle.text.escape import excerpt
from dwindle.text.terminal import listed, one_line
from dwindle.views.read_model.origin import kind_of_run
from dwindle.views.read_model.shapes import Phase, RunLine

END: Final = 256 << 10
"""Bytes at the end of a journal in which its last events are looked for."""
BEGINNING: Final = 64 << 10
GOAL: Final = 300


def runs(root: Path) -> list[RunLine]:
    """The newest first; a journal that cannot be read is listed with what is wrong with it."""
    current = {last_written(root, kind) for kind in PlanKind}
    return [_line(root, path, is_current=path.stem in current) for path in by_time(root)]


def current_run(root: Path, kind: PlanKind | None = None) -> str | None:
    """The run of the plan that is here now, also one that has not begun; None if there is none.

    With two plans and no `kind`: the run at work, else the one whose journal was written last.
    """
    found = {
        PlanKind.GRAPH: None if kind is PlanKind.TREE else _of_graph(root),
        PlanKind.TREE: None if kind is PlanKind.GRAPH else _of_tree(root),
    }
    named = [(one, run) for one, run in found.items() if run is not None]
    if len(named) < 2:
        return named[0][1] if named else None
    at_work = [run for one, run in named if is_locked((root / PLAN_FILES[one]).parent)]
    if len(at_work) == 1:
        return at_work[0]
    heard = [path.stem for path in by_time(root)]
    return min((run for _, run in named), key=lambda run: heard.index(run) if run in heard else 1e9)


def known_run(root: Path, run: str | None, kind: PlanKind | None = None) -> str:
    """The named run, or the current one; Refused if it has no journal."""
    named = run or current_run(root, kind)
    try:
        if named is not None and path_of(root / JOURNALS, named).is_file():
            return named
    except StoreFailed:
        pass  # it cannot even be the name of one
    known = [path.stem for path in by_time(root)]
    hint = f"there are: {listed(known)}" if known else "`dwindle run` begins one"
    what = f"there is no run {one_line(run)}" if run else "no run has begun here"
    raise Refused(what, where=JOURNALS, hint=hint)


def _of_graph(root: Path) -> str | None:
    try:
        plan = load_graph((root / PLAN_FILE).read_bytes()).plan
    except OSError:
        return last_written(root, PlanKind.GRAPH)
    if plan is not None and plan.control.run_id is not None:
        return plan.control.run_id
    return None if plan is not None else last_written(root, PlanKind.GRAPH)


def _of_tree(root: Path) -> str | None:
    if not (root / PLAN_FILES[PlanKind.TREE]).exists():
        return None
    branch = branch_here(root)
    return last_written(root, PlanKind.TREE) if branch is None else branch.run


def _line(root: Path, path: Path, *, is_current: bool) -> RunLine:
    line = RunLine(
        run=excerpt(path.stem),
        kind="",
        phase="pending",
        stop_code="",
        begun_at="",
        last_at="",
        events=0,
        goal="",
        current=is_current,
        problem="",
    )
    try:
        kind = kind_of_run(root, path.stem)
        line["kind"] = kind.value
        first, last = _ends(path)
    except (OSError, ValueError, StoreFailed):
        line["problem"] = "this is not a journal as it was written"
        return line
    line["begun_at"] = _at(first)
    if last:
        line["events"] = int(last[-1].get("n", 0))
        line["last_at"] = _at(last[-1])
    at_work = is_current and is_locked((root / PLAN_FILES[kind]).parent)
    line["phase"], line["stop_code"] = _phase(last, is_locked=at_work)
    line["goal"] = _goal(root, path.stem, kind)
    return line


def _ends(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The first event, and the last ones."""
    with path.open("rb") as file:
        first = file.read(BEGINNING)
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - END))
        last = file.read(END)
    if not first.startswith(b'{"n":'):
        raise ValueError(path)
    began = _events(first.split(b"\n")[:-1])
    lines = last.split(b"\n")[:-1]
    return (began[0] if began else {}), _events(lines[1:] if size > END else lines)


def _events(lines: list[bytes]) -> list[dict[str, Any]]:
    found = []
    for line in lines:
        try:
            read = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(read, dict) and isinstance(read.get("event"), dict):
            found.append(read)
    return found


def _at(line: dict[str, Any]) -> str:
    return excerpt(str(line.get("event", {}).get("at", "")), 64)


def _phase(last: list[dict[str, Any]], *, is_locked: bool) -> tuple[Phase, str]:
    for line in reversed(last):
        event = line["event"]
        if event.get("kind") == "RunEnded":
            code = excerpt(str(event.get("code", "")), 64)
            return ("completed" if code == "completed" else "stopped"), code
        if event.get("kind") == "RunStarted":
            break
    if not last:
        return "pending", ""
    if is_locked:
        return "running", ""
    working = 0
    for line in last:
        kind = line["event"].get("kind")
        working += kind == "SessionStarted"
        working -= "nonce" in line["event"] and working > 0
    return ("cut_short" if working else "resting"), ""


def _goal(root: Path, run: str, kind: PlanKind) -> str:
    """What it was about, if that can be had without folding the run."""
    if kind is PlanKind.GRAPH:
        return _goal_in(start_of(root / JOURNALS, run))
    first = _goal_in(root / LOGS / run / "0001" / "tree.before.json")
    return first or _goal_in(root / PLAN_FILES[PlanKind.TREE])


def _goal_in(path: Path) -> str:
    try:
        found = path.stat()
    except OSError:
        return ""
    return _read_goal(path, found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=512)
def _read_goal(path: Path, _changed: int, _size: int) -> str:
    """Plans are slow to read, and those of past runs stay as they are."""
    try:
        data = path.read_bytes()
        if path.suffix == ".json":
            return excerpt(str(json.loads(data)["root"]["goal"]), GOAL)
        plan = load_graph(data).plan
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""
    return "" if plan is None else excerpt(plan.objective.goal, GOAL)


# --- which run is at work ------------------------------------------------------------------------
#
# The lock says that a plan of a kind is held, not for which run. The run at work is the one whose
# journal was written last.


def is_at_work(root: Path, run: str, kind: PlanKind) -> bool:
    if not is_locked((root / PLAN_FILES[kind]).parent):
        return False
    return last_written(root, kind) == run


def last_written(root: Path, kind: PlanKind) -> str | None:
    """The run of this kind whose journal was written last."""
    for path in by_time(root):
        with suppress(StoreFailed):  # what can be no run's name
            if kind_of_run(root, path.stem) is kind:
                return path.stem
    return None


def by_time(root: Path) -> list[Path]:
    """The journals, the one that was written last first."""
    found: list[tuple[int, str, Path]] = []
    for path in (root / JOURNALS).glob("*.jsonl"):
        try:
            found.append((path.stat().st_mtime_ns, path.name, path))
        except OSError:
            continue
    return [path for _, _, path in sorted(found, reverse=True)]
