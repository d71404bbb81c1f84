"""What is worth telling a person who is not looking: that a run needs them, or is over.

Nothing is sent from here. A run is over when it says so; a budget is nearly spent as soon as four
fifths of it are. Each budget is told once in a run: what was past that mark when the run was taken
up was told by whoever ran it before. Raising a limit makes it another budget.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final

from dwindle.kernel.events import Event, RunEnded
from dwindle.kernel.exit_codes import EXIT_CODES
from dwindle.kernel.model import Answer, Plan, StopCode
from dwindle.surfaces.cli.text import money_text, one_line, shortened, time_text
from dwindle.surfaces.next_step import next_step

PART: Final = 0.8
REASON: Final = 1000
"""Characters of why a run ended; the journal has all of it."""
SENTENCE: Final = 300


class Untold(Exception):
    """Somebody could not be told, and why; holds nothing secret."""


class Occasion(StrEnum):
    STOPPED = "stopped"
    COMPLETED = "completed"
    CONFIRMATION_NEEDED = "confirmation_needed"
    BUDGET = "budget"


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """How much of a limit is gone."""

    name: str
    spent: float
    limit: float

    @property
    def is_nearly_spent(self) -> bool:
        return self.spent >= PART * self.limit

    def __str__(self) -> str:
        match self.name:
            case "max_wall_seconds":
                return f"{time_text(self.spent)} of {time_text(self.limit)}"
            case "max_cost_usd":
                return f"{money_text(self.spent)} of {money_text(self.limit)}"
            case "max_tokens":
                return f"{self.spent:,.0f} of {self.limit:,.0f} tokens"
        return f"{self.spent:.0f} of {self.limit:.0f} iterations"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One message, in the words and the order of docs/notifications.md."""

    event: Occasion
    repository: str
    """The name of its folder: where it lies is nobody's business."""
    plan: str
    run: str | None
    at: str
    code: StopCode | None = None
    exit_code: int | None = None
    reason: str = ""
    questions: tuple[str, ...] = ()
    budget: Budget | None = None
    text: str
    """All of it in one sentence."""
    next: str

    def as_json(self) -> bytes:
        """One line."""
        return json.dumps(asdict(self)).encode() + b"\n"

    @property
    def variables(self) -> dict[str, str]:
        """For scripts that do not read JSON."""
        return {
            "DWINDLE_EVENT": self.event.value,
            "DWINDLE_RUN": self.run or "",
            "DWINDLE_CODE": self.code or (self.budget.name if self.budget else ""),
            "DWINDLE_TEXT": self.text,
        }


class Notices:
    """Turns what a loop tells into notices."""

    def __init__(self, repository: str) -> None:
        self._repository = one_line(repository)
        self._known: set[tuple[str, float]] | None = None

    def after(self, plan: Plan, event: Event) -> Iterator[Notice]:
        """What is worth telling, now that this has happened."""
        near = [budget for budget in budgets_of(plan) if budget.is_nearly_spent]
        if self._known is None:
            self._known = {(budget.name, budget.limit) for budget in near}
        for budget in near:
            if (budget.name, budget.limit) not in self._known:
                self._known.add((budget.name, budget.limit))
                yield self._spent(plan, event.at, budget)
        if isinstance(event, RunEnded):
            yield self._ended(plan, event)

    def broken_off(self, plan: Plan, at: str, reason: str) -> Notice:
        """The run ended without being able to say so."""
        return self._notice(
            plan, at, Occasion.STOPPED, f"the run broke off: {reason}", reason=reason
        )

    def _ended(self, plan: Plan, event: RunEnded) -> Notice:
        open_items = tuple(
            one_line(question.item)
            for question in plan.verification.questions
            if question.answer is Answer.OPEN
        )
        facts: dict[str, Any] = {
            "code": event.code,
            "exit_code": EXIT_CODES[event.code],
            "reason": event.reason,
        }
        if event.code is StopCode.COMPLETED:
            said = f"the run is completed: {event.reason}"
            return self._notice(plan, event.at, Occasion.COMPLETED, said, **facts)
        if event.code is StopCode.AWAITING_CONFIRMATION:
            said = f"the run waits for your word: {', '.join(open_items) or event.reason}"
            facts |= {"questions": open_items}
            return self._notice(plan, event.at, Occasion.CONFIRMATION_NEEDED, said, **facts)
        said = f"the run has stopped, {event.code}: {event.reason}"
        return self._notice(plan, event.at, Occasion.STOPPED, said, **facts)

    def _spent(self, plan: Plan, at: str, budget: Budget) -> Notice:
        said = f"{budget} are spent ({budget.name})"
        raising = f"`dwindle watch` shows the run; it ends when {budget.name} is reached"
        return self._notice(plan, at, Occasion.BUDGET, said, budget=budget, next=raising)

    def _notice(
        self, plan: Plan, at: str, event: Occasion, said: str, *, reason: str = "", **more: Any
    ) -> Notice:
        more.setdefault("next", next_step(plan))
        return Notice(
            event=event,
            repository=self._repository,
            plan=plan.kind.value,
            run=plan.control.run_id,
            at=at,
            reason=shortened(reason, REASON),
            text=shortened(f"{self._repository}: {said}", SENTENCE),
            **more,
        )


def budgets_of(plan: Plan) -> tuple[Budget, ...]:
    """Those that there are."""
    limits, spent = plan.limits, plan.spent
    found: tuple[tuple[str, float, float | None], ...] = (
        ("max_iterations", plan.control.iteration, limits.max_iterations),
        ("max_wall_seconds", spent.seconds, limits.max_wall_seconds),
        ("max_tokens", spent.tokens, limits.max_tokens),
        ("max_cost_usd", spent.usd, limits.max_cost_usd),
    )
    return tuple(Budget(name=name, spent=used, limit=limit) for name, used, limit in found if limit)
