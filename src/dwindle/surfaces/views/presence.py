"""Whether somebody is at work on a run right now.

The lock says that a plan of its kind is held, not which run it is held for: a plan may have been
replaced while the run before it was never ended. The one at work is the one whose journal was
written last.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from dwindle.kernel.model import PlanKind
from dwindle.ports.store import StoreFailed
from dwindle.surfaces.lock_table import is_held
from dwindle.surfaces.plan_place import JOURNALS
from dwindle.surfaces.views.origin import kind_of_run
from dwindle.wiring import PLAN_FILES


def is_at_work(root: Path, run: str, kind: PlanKind) -> bool:
    if not is_held((root / PLAN_FILES[kind]).parent):
        return False
    return last_written(root, kind) == run


def last_written(root: Path, kind: PlanKind) -> str | None:
    """The run of this kind that was last heard of."""
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
