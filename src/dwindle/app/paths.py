"""Where a repository keeps its plans, and the runner its files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dwindle.app.plans.load import PLAN_FILES
from dwindle.kernel.model import PlanKind

if TYPE_CHECKING:
    from pathlib import Path

PLAN_FILE: Final = PLAN_FILES[PlanKind.GRAPH]
TREE_FILE: Final = PLAN_FILES[PlanKind.TREE]
JOURNALS: Final = ".runner/journal"
LOGS: Final = ".runner/iterations"
PLANNING: Final = f"{LOGS}/planning"
"""Logs of planners before a run; no run has this name."""
OUTBOXES: Final = ".runner/outbox"


def journal_path(root: Path, run: str) -> Path:
    from dwindle.adapters.store.journal import path_of  # noqa: PLC0415 - `status` needs none of it

    return path_of(root / JOURNALS, run)


def start_of(journals: Path, run: str) -> Path:
    """Where the plan file is kept as it was when the run began."""
    from dwindle.adapters.store.journal import path_of  # noqa: PLC0415

    return path_of(journals, run).with_suffix(".start.md")


def certificate_path(root: Path, run: str) -> Path:
    """The JSON; the text for people is beside it, as `.txt`."""
    return root / LOGS / run / "certificate.json"
