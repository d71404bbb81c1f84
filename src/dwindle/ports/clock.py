"""Time, as the runner sees it; the kernel sees none."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    def now(self) -> str:
        """ISO 8601, UTC, for people."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back, for belts and waits."""
        ...
