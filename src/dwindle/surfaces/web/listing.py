"""The list of runs and the current run, cached.

Computing it takes reading whole plans. So a result is used as long as no plan file and no journal
has changed, and for a moment longer while a run keeps changing them.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Final

import msgspec

from dwindle.app.paths import JOURNALS
from dwindle.app.plans.load import PLAN_FILES
from dwindle.text.escape import excerpt
from dwindle.views.read_model.run_view import current_run, runs

FRESH: Final = 2.0
"""Seconds."""

Signs = tuple[tuple[str, int, int], ...]


class Listing:
    """Thread-safe: one thread computes, the others wait for it."""

    def __init__(self, root: Path, *, fresh: float = FRESH) -> None:
        self._root = root
        self._fresh = fresh
        self._lock = threading.Lock()
        self._current: tuple[Signs, float, str | None] | None = None
        self._runs: tuple[Signs, float, bytes] | None = None

    def current(self) -> str | None:
        with self._lock:
            signs, now = self._signs(), time.monotonic()
            if self._current is None or not self._holds(self._current[:2], signs, now):
                self._current = (signs, now, current_run(self._root))
            return self._current[2]

    def runs(self) -> bytes:
        """As JSON."""
        current = self.current()
        with self._lock:
            signs, now = self._signs(), time.monotonic()
            if self._runs is None or not self._holds(self._runs[:2], signs, now):
                folder = excerpt(self._root.name, 200)
                found = {"runs": runs(self._root), "current": current, "folder": folder}
                self._runs = (signs, now, msgspec.json.encode(found))
            return self._runs[2]

    def _signs(self) -> Signs:
        """Names, times and sizes of all files that the result depends on."""
        paths = [*(self._root / name for name in PLAN_FILES.values()), self._root / ".git/HEAD"]
        found = []
        for path in (*paths, *(self._root / JOURNALS).glob("*.jsonl")):
            try:
                facts = path.stat()
            except OSError:
                continue
            found.append((path.name, facts.st_mtime_ns, facts.st_size))
        return tuple(sorted(found))

    def _holds(self, made: tuple[Signs, float], signs: Signs, now: float) -> bool:
        return made[0] == signs or now - made[1] < self._fresh
