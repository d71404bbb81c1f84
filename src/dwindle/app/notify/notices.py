"""Which events are worth a notice, and the notice itself: a run needs its user, or is over.

Nothing is sent from here. `Notices` gives one notice when a run ends, and one for each budget of
which four fifths are spent. A budget that was past that mark when this runner started gets none:
the runner before has sent it. Raising a limit makes it a new budget.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final

from dwindle.app.plans.next_step import next_step
from dwindle.kernel.events import Event, RunEnded
from dwindle.kernel.model import EXIT_CODES, Answer, Plan, StopCode
from dwindle.text import amounts
from dwindle.text.terminal import one_line, shortened

PART: Final = 0.8
REASON: Final = 1000
"""Characters of why a run ended; the journal has all of it."""
SENTENCE: Final = 300
UNITS: Final = {
    "max_iterations": "iterations",
    "max_wall_seconds": "seconds",
    "max_tokens": "tokens",
    "max_cost_usd": "usd",
}


class NotDelivered(Exception):
    """A notice was not delivered; the reason holds no secret."""


class NoticeKind(StrEnum):
    STOPPED = "stopped"
    COMPLETED = "completed"
    CONFIRMATION_NEEDED = "confirmation_needed"
    BUDGET = "budget"


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetUse:
    """How much of a limit is spent."""

    name: str
    spent: float
    limit: float

    @property
    def is_nearly_spent(self) -> bool:
        return self.spent >= PART * self.limit

    def __str__(self) -> str:
        return amounts.budget(UNITS[self.name], self.spent, self.limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One message, in the words and the order of docs/notifications.md."""

    event: NoticeKind
    repository: str
    """The name of its folder; the path stays on this machine."""
    plan: str
    run: str | None
    at: str
    code: StopCode | None = None
    exit_code: int | None = None
    reason: str = ""
    questions: tuple[str, ...] = ()
    budget: BudgetUse | None = None
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
    """Turns the events of a run into notices."""

    def __init__(self, repository: str) -> None:
        self._repository = one_line(repository)
        self._known: set[tuple[str, float]] | None = None

    def after(self, plan: Plan, event: Event) -> Iterator[Notice]:
        """The notices that follow from an event."""
        near = [budget for budget in budgets_of(plan) if budget.is_nearly_spent]
        if self._known is None:
            self._known = {(budget.name, budget.limit) for budget in near}
        for budget in near:
            if (budget.name, budget.limit) not in self._known:
                self._known.add((budget.name, budget.limit))
                yield self._budget_notice(plan, event.at, budget)
        if isinstance(event, RunEnded):
            yield self._end_notice(plan, event)

    def aborted(self, plan: Plan, at: str, reason: str) -> Notice:
        """The notice of a run that failed before it could record its end."""
        return self._notice(
            plan, at, NoticeKind.STOPPED, f"the run broke off: {reason}", reason=reason
        )

    def _end_notice(self, plan: Plan, event: RunEnded) -> Notice:
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
            return self._notice(plan, event.at, NoticeKind.COMPLETED, said, **facts)
        if event.code is StopCode.AWAITING_CONFIRMATION:
            said = f"the run waits for your answer: {', '.join(open_items) or event.reason}"
            facts |= {"questions": open_items}
            return self._notice(plan, event.at, NoticeKind.CONFIRMATION_NEEDED, said, **facts)
        said = f"the run has stopped, {event.code}: {event.reason}"
        return self._notice(plan, event.at, NoticeKind.STOPPED, said, **facts)

    def _budget_notice(self, plan: Plan, at: str, budget: BudgetUse) -> Notice:
        said = f"{budget} are spent ({budget.name})"
        raising = f"`dwindle watch` shows the run; it ends when {budget.name} is reached"
        return self._notice(plan, at, NoticeKind.BUDGET, said, budget=budget, next=raising)

    def _notice(
        self, plan: Plan, at: str, event: NoticeKind, said: str, *, reason: str = "", **more: Any
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


def budgets_of(plan: Plan) -> tuple[BudgetUse, ...]:
    """The budgets that have a limit."""
    limits, spent = plan.limits, plan.spent
    found: tuple[tuple[str, float, float | None], ...] = (
        ("max_iterations", plan.control.iteration, limits.max_iterations),
        ("max_wall_seconds", spent.seconds, limits.max_wall_seconds),
        ("max_tokens", spent.tokens, limits.max_tokens),
        ("max_cost_usd", spent.usd, limits.max_cost_usd),
    )
    return tuple(
        BudgetUse(name=name, spent=used, limit=limit) for name, used, limit in found if limit
    )
