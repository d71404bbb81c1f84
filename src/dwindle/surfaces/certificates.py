"""Where a run leaves its certificate."""

from __future__ import annotations

from pathlib import Path

LOGS = ".runner/iterations"


def certificate_path(root: Path, run: str) -> Path:
    """The JSON; the same for people stands beside it, as `.txt`."""
    return root / LOGS / run / "certificate.json"
