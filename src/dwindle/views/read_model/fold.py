"""A run folded from its journal: the current plan, and statistics on the way.

The kernel applies the events, as in the run itself. If an event cannot be applied (the record is
damaged, or from another version of this program), the plan stays as it was before, with a note, and
later events are only listed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from dwindle.app.journal.event_words import PARKING, is_parked, words_of
from dwindle.app.spending.account import Account
from dwindle.kernel.errors import KernelError
from dwindle.kernel.events import Event, IterationCommitted, RunStarted, SessionInterrupted
from dwindle.kernel.events import SessionStarted as Started
from dwindle.kernel.measure import gauge
from dwindle.kernel.model import AtomId, Plan, PlanKind
from dwindle.kernel.transitions import apply
from dwindle.text.escape import excerpt
from dwindle.views.read_model.live_stats import LOWERING, work_left
from dwindle.views.read_model.origin import NoOrigin, graph_origin, kind_of_run, tree_origin
from dwindle.views.read_model.series import Series
from dwindle.views.read_model.sessions import Sessions
from dwindle.views.read_model.shapes import EventView

EVENTS: Final = 500
"""Events whose text is kept at hand."""


class Fold:
    """`plan` is None as long as the first plan is unknown."""

    def __init__(self, root: Path, run: str) -> None:
        self._root = root
        self.run = run
        self.kind = kind_of_run(root, run)
        self.plan: Plan | None = None
        self.notes: list[str] = []
        self.events: list[Event] = []
        self.lines: list[EventView] = []
        self.sessions = Sessions()
        self.series = Series()
        self.account = Account()
        self.first_gauge = 0
        self.most_work = 0
        self.begun_at = self.at = ""
        self._unfinished = False
        self._commit = ""
        """Of a tree: the last iteration that is on the branch."""
        self._broken = False
        if self.kind is PlanKind.GRAPH:
            self._begin_graph()

    @property
    def unfinished_tree(self) -> bool:
        """Of a tree: an iteration was started and is neither committed nor interrupted."""
        return self.kind is PlanKind.TREE and self._unfinished

    def take(self, number: int, event: Event) -> None:
        self._place(number, event)
        if not self.events:
            self.account = Account(first=number)
        self.events.append(event)
        self.account.add(type(event).__name__, event)
        self.at = event.at or self.at
        self.begun_at = self.begun_at or event.at
        self._list(number, event)
        if self.plan is None or self._broken or number <= self.plan.control.revision:
            return
        before = self.plan
        try:
            self.plan = apply(before, event)
        except KernelError as refusal:
            self._broken = True
            self.notes.append(
                excerpt(f"event {number} does not follow from the events before it: {refusal}")
            )
            return
        if isinstance(event, PARKING) and _parks(before, self.plan, event.atom):
            self.lines[-1]["text"] += "; parked: nothing is left to try for now"
        self._follow(number, event)

    def _begin_graph(self) -> None:
        try:
            plan, note = graph_origin(self._root, self.run)
        except NoOrigin as missing:
            self.notes.append(str(missing))
            return
        self.notes += [note] if note else []
        self._begin(plan)

    def _begin(self, plan: Plan) -> None:
        self.plan = plan
        self.first_gauge = self.first_gauge or gauge(plan)
        self.most_work = max(self.most_work, work_left(plan))

    def _place(self, number: int, event: Event) -> None:
        """Of a tree: load the plan at a start, or at a restart."""
        if self.kind is not PlanKind.TREE or not isinstance(event, RunStarted):
            return
        if self._goes_on(event):
            return
        try:
            plan = tree_origin(self._root, self.run, self.events, event)
        except NoOrigin as missing:
            self.notes.append(f"event {number}: {missing}")
            return
        self._broken = False
        self._begin(plan)

    def _goes_on(self, started: RunStarted) -> bool:
        """Whether a restart continues with the same plan: the tree has not changed since."""
        if self.plan is None or self._broken or self._unfinished or started.aligned is None:
            return False
        return started.aligned.commit == self._commit

    def _follow(self, number: int, event: Event) -> None:
        assert self.plan is not None  # noqa: S101 - it was just made
        self.sessions.follow(self.plan, number, event)
        self.series.follow(self.plan, event)
        if not isinstance(event, LOWERING):
            self.most_work = max(self.most_work, work_left(self.plan))
        if isinstance(event, Started):
            self._unfinished = True
        elif isinstance(event, (IterationCommitted, SessionInterrupted)):
            self._unfinished = False
        if isinstance(event, IterationCommitted):
            self._commit = event.commit

    def _list(self, number: int, event: Event) -> None:
        line = EventView(
            n=number, at=event.at, kind=type(event).__name__, text=excerpt(words_of(event), 2000)
        )
        self.lines.append(line)
        if len(self.lines) > 2 * EVENTS:
            del self.lines[:-EVENTS]


def _parks(before: Plan, after: Plan, atom: AtomId) -> bool:
    return is_parked(after, atom) and not is_parked(before, atom)
