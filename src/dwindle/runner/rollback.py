"""Detects a plan and a journal that were both replaced by older copies.

Plan and journal guard each other, but not against older copies of both. Git does: a session is on
record, and synced, before it starts, and its commits carry its number. So a number in git that the
plan does not know was on record once.

Events after the last session that left something in git cannot be told from a crash.
"""

from __future__ import annotations

from dwindle.kernel.model import Plan


class RolledBack(Exception):
    """`known` sessions are on record, and git has work of session `seen`."""

    def __init__(self, *, known: int, seen: int) -> None:
        super().__init__(known, seen)
        self.known = known
        self.seen = seen

    def __str__(self) -> str:
        return (
            f"the plan and its journal know of {self.known} sessions, but git has work of session "
            f"{self.seen}: both were put back to an earlier time"
        )


def refuse_rolled_back(plan: Plan, seen: int) -> None:
    """Raises RolledBack."""
    if seen > plan.spent.sessions:
        raise RolledBack(known=plan.spent.sessions, seen=seen)
