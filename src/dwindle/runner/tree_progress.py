"""How far a run on a tree has come."""

from __future__ import annotations

from dataclasses import dataclass, field

from dwindle.kernel.model import Plan
from dwindle.ports.in_place import Done
from dwindle.runner.tree_prompt import Refusal


@dataclass(slots=True, kw_only=True)
class Progress:
    """How far a run has come; what the branch, the journal and the logs say about it."""

    run: str
    plan: Plan
    content: bytes
    done: list[Done] = field(default_factory=list)
    seen: dict[str, None] = field(default_factory=dict)
    """Every id that was ever on the branch."""
    refusal: Refusal | None = None
    tests: int | None = None
    """How many tests the guard has to run; None: they have to be counted before an agent works."""

    @property
    def next_number(self) -> int:
        return self.done[-1].iteration.number + 1 if self.done else 1
