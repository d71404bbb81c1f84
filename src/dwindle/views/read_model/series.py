"""The dwindling curve: open atoms, gauge and bound over the iterations, with marks for turns.

A point is added when the number of open atoms or the iteration has changed enough to be seen:
computing one takes a look at every atom, and a long run has many thousand events.
"""

from __future__ import annotations

from typing import Final

from dwindle.app.journal.event_words import sentence
from dwindle.kernel.events import (
    Backjumped,
    ChoiceFailed,
    Event,
    Redirected,
    RunEnded,
    RunStarted,
    WindBegan,
)
from dwindle.kernel.graph import view
from dwindle.kernel.measure import gauge, session_bound
from dwindle.kernel.model import Plan, RunStatus
from dwindle.text.escape import excerpt
from dwindle.views.read_model.live_stats import work_left
from dwindle.views.read_model.shapes import MarkView, PointView

MARKS: dict[type[Event], str] = {
    ChoiceFailed: "backtrack",
    Backjumped: "backjump",
    WindBegan: "wind",
    Redirected: "redirect",
    RunStarted: "start",
    RunEnded: "stop",
}


FINE: Final = 200
"""About so many points at most; a curve on a screen has no more."""


class Series:
    def __init__(self) -> None:
        self.points: list[PointView] = []
        self.marks: list[MarkView] = []
        self._latest: tuple[Plan, PointView] | None = None

    def follow(self, plan: Plan, event: Event) -> None:
        """`plan` is the one after the event."""
        kind = MARKS.get(type(event))
        if kind or self._is_worth_a_point(plan):
            self.points.append(point(plan, event.at))
        if kind:
            self.marks.append(
                MarkView(
                    n=plan.control.revision,
                    at=event.at,
                    seconds=plan.spent.seconds,
                    iteration=plan.control.iteration,
                    kind=kind,  # type: ignore[typeddict-item]
                    text=excerpt(sentence(event)),
                )
            )

    def _is_worth_a_point(self, plan: Plan) -> bool:
        if not self.points:
            return True
        last, limits = self.points[-1], plan.limits
        fallen = abs(last["open"] - view(plan).open_count)
        later = plan.control.iteration - last["iteration"]
        return fallen * FINE >= max(FINE, len(plan.atoms)) or later * FINE >= max(
            FINE, limits.max_iterations
        )

    def latest(self, plan: Plan, at: str) -> PointView:
        """The point of this plan, whether it is worth keeping or not."""
        if self._latest is None or self._latest[0] is not plan:
            kept = self.points[-1] if self.points else None
            is_kept = kept is not None and kept["n"] == plan.control.revision
            self._latest = (plan, kept if kept and is_kept else point(plan, at))
        return self._latest[1]


def point(plan: Plan, at: str) -> PointView:
    return PointView(
        n=plan.control.revision,
        at=at,
        seconds=plan.spent.seconds,
        iteration=plan.control.iteration,
        open=view(plan).open_count,
        gauge=gauge(plan),
        work=work_left(plan),
        bound=bound(plan),
    )


def bound(plan: Plan) -> int:
    """Agent sessions that there can still be; a completed run is never run again."""
    return 0 if plan.control.status is RunStatus.COMPLETED else session_bound(plan)
