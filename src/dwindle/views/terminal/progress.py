"""The progress of a run on the terminal: a line for each event.

Plain lines where they are piped, kept and searched. On a terminal they scroll past a picture of how
the run stands (see `live`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from dwindle.app.console import say
from dwindle.app.journal.event_words import PARKING, is_parked, parked_sentence, sentence
from dwindle.app.plans.undone import line, undone
from dwindle.kernel.events import (
    Event,
    RunEnded,
    SessionStarted,
    Usage,
)
from dwindle.kernel.graph import view
from dwindle.kernel.measure import gauge
from dwindle.kernel.model import AtomId, Plan
from dwindle.text import amounts
from dwindle.text.terminal import one_line

if TYPE_CHECKING:
    from dwindle.adapters.formats.config.settings import NotifySettings
    from dwindle.app.notify.notifier import Notifier


MOST_UNDONE = 20
"""Lines, below the one that says how the run ended, about what is not done."""


class Outlet(Protocol):
    """Where progress goes: `async with` it for as long as the run takes."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def recall(self, events: Iterable[Event]) -> None:
        """Earlier events of the run; called first."""
        ...

    def say(self, line: str) -> None: ...

    def show(self, plan: Plan, event: Event) -> None:
        """The plan, and the event that made it what it is."""
        ...

    def show_usage(self, nonce: int, usage: Usage) -> None:
        """What a session in flight has used up to now, if its agent says so."""
        ...


class PlainLines:
    """For a pipe, a file, or a terminal that can do no more: lines, each written at once."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Everything is written."""

    def recall(self, events: Iterable[Event]) -> None:
        """Lines are about what happens now."""

    def say(self, line: str) -> None:
        say(line)

    def show(self, plan: Plan, event: Event) -> None:
        """A line was said, where there was something to say."""

    def show_usage(self, nonce: int, usage: Usage) -> None:
        """What a session used is in the log when it has ended."""


def outlet() -> Outlet:
    """A picture for a person at a terminal that can draw one, else lines."""
    if sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        from dwindle.views.terminal.live import Live  # noqa: PLC0415 - only then

        return Live()
    return PlainLines()


class Progress:
    """The observer of a run that prints to the terminal; entered while it runs."""

    def __init__(self, out: Outlet | None = None, notifier: Notifier | None = None) -> None:
        self._out = out or outlet()
        self._notifier = notifier
        self._parked: dict[AtomId, None] = {}
        """Atoms reported as parked, without a session since."""

    async def __aenter__(self) -> Self:
        await self._out.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._out.__aexit__(kind, error, trace)

    def notify(self, settings: NotifySettings, root: Path) -> None:
        """Set up notifications, once the settings are read."""
        if self._notifier is not None:
            self._notifier.serve(settings, root, self.say)

    def recall(self, events: Iterable[Event]) -> None:
        """What is on record of the run from before."""
        self._out.recall(events)

    def on_event(self, plan: Plan, event: Event) -> None:
        """The loop calls this after every event."""
        for said in filter(None, (one_line(sentence(event)), one_line(self._parks(plan, event)))):
            now = view(plan)
            left = f"{now.open_count} open, gauge {amounts.count(gauge(plan))}"
            self.say(f"{event.at[11:19]} {said}  [{left}]")
        for below in undone_lines(plan) if isinstance(event, RunEnded) else ():
            self.say(below)
        self._out.show(plan, event)
        if self._notifier is not None:
            self._notifier.on_event(plan, event)

    def _parks(self, plan: Plan, event: Event) -> str:
        """Said once, when it happens: a report that comes late parks nothing a second time."""
        if isinstance(event, SessionStarted):
            self._parked.pop(event.atom, None)
        if not isinstance(event, PARKING) or event.atom in self._parked:
            return ""
        if not is_parked(plan, event.atom):
            return ""
        self._parked[event.atom] = None
        return parked_sentence(plan, event.atom)

    def used(self, nonce: int, usage: Usage) -> None:
        """For an agent whose program says what it uses while it is at work."""
        self._out.show_usage(nonce, usage)

    def say(self, line: str) -> None:
        self._out.say(line)


def undone_lines(plan: Plan) -> list[str]:
    """A line for each atom that is parked or has failed and is not done, what holds up most first.

    That it failed was said when it happened, but by now that may have scrolled away.
    """
    found = undone(plan)
    told = [f"  {one.label:<9}{one_line(line(plan, one))}" for one in found[:MOST_UNDONE]]
    more = len(found) - len(told)
    return [*told, *[f"  and {more:,} more: `dwindle status`"] * (more > 0)]
