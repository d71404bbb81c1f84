"""Two kinds of mistake, split by whose it is.

KernelError
├── IllegalEvent      the sender's fault: the event cannot have happened to this plan
└── NotDwindling      our fault: a transition would not lower the measure; the run must end

Both leave the plan as it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dwindle.kernel.events import Event
    from dwindle.kernel.model import Problem


class KernelError(Exception):
    """Never raised itself."""


class IllegalEvent(KernelError):
    def __init__(self, event: Event, reason: str, problems: tuple[Problem, ...] = ()) -> None:
        super().__init__(event, reason, problems)
        self.event = event
        self.reason = reason
        self.problems = problems

    def __str__(self) -> str:
        details = "".join(f"; {p.what}" for p in self.problems)
        return f"{type(self.event).__name__}: {self.reason}{details}"


class NotDwindling(KernelError):
    def __init__(self, event: Event, before: tuple[int, ...], after: tuple[int, ...]) -> None:
        super().__init__(event, before, after)
        self.event = event
        self.before = before
        self.after = after

    def __str__(self) -> str:
        return (
            f"{type(self.event).__name__} does not lower the measure: {self.before} -> {self.after}"
        )
