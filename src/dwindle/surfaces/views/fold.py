"""A run folded from its journal: the plan as it is, and what was seen on the way.

The kernel does the work, as it did in the run itself. Where an event cannot be applied (the record
is damaged, or of another version of this program) the plan stays at what could be worked out, that
is said, and the events are still listed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from dwindle.kernel.errors import KernelError
from dwindle.kernel.events import Event, IterationCommitted, RunStarted, SessionInterrupted
from dwindle.kernel.events import SessionStarted as Started
from dwindle.kernel.measure import gauge
from dwindle.kernel.model import Plan, PlanKind
from dwindle.kernel.transitions import apply
from dwindle.surfaces.history import words_of
from dwindle.surfaces.spending import Account
from dwindle.surfaces.tally import LOWERING, work_left
from dwindle.surfaces.views.origin import NoOrigin, graph_origin, kind_of_run, tree_origin
from dwindle.surfaces.views.plain_text import plain
from dwindle.surfaces.views.series import Series
from dwindle.surfaces.views.sessions import Sessions
from dwindle.surfaces.views.shapes import EventView

EVENTS: Final = 500
"""Events whose text is kept at hand."""


class Fold:
    """`plan` is None while there is nothing to begin with."""

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
        """Of a tree: something was started and is neither on the branch nor called off."""
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
        try:
            self.plan = apply(self.plan, event)
        except KernelError as refusal:
            self._broken = True
            self.notes.append(plain(f"event {number} does not fit what was before it: {refusal}"))
            return
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
        """Of a tree: begin, or begin again where it was taken up again."""
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
        """Nothing has happened to the tree since: what rested goes on with the plan it had."""
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
            n=number, at=event.at, kind=type(event).__name__, text=plain(words_of(event), 2000)
        )
        self.lines.append(line)
        if len(self.lines) > 2 * EVENTS:
            del self.lines[:-EVENTS]
