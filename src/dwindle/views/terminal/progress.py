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

from dwindle.app.console import painted, say
from dwindle.app.journal.event_words import PARKING, is_parked, parked_sentence, sentence
from dwindle.app.plans.next_step import PARKED
from dwindle.app.plans.undone import line, undone
from dwindle.kernel.events import (
    AtomResolved,
    AttemptFailed,
    Backjumped,
    ChoiceFailed,
    DeclaredInfeasible,
    EarlyChecked,
    Event,
    RunEnded,
    SessionInterrupted,
    SessionStarted,
    StopRequested,
    Usage,
    VerificationEnded,
    WindBegan,
)
from dwindle.kernel.graph import view
from dwindle.kernel.measure import gauge
from dwindle.kernel.model import AtomId, Plan, StopCode
from dwindle.kernel.winds import parked
from dwindle.text import amounts
from dwindle.text.terminal import listed, one_line

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


def outlet(*, verbose: bool = False) -> Outlet:
    """A picture for a person at a terminal that can draw one, else lines."""
    if sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        from dwindle.views.terminal.live import Live  # noqa: PLC0415 - only then

        return Live(verbose=verbose)
    return PlainLines()


class Progress:
    """The observer of a run that prints to the terminal; entered while it runs."""

    def __init__(
        self, out: Outlet | None = None, notifier: Notifier | None = None, *, verbose: bool = False
    ) -> None:
        self._verbose = verbose
        """The gauge is shown, too."""
        self._out = out or outlet(verbose=verbose)
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
        said = ending(plan, event) if isinstance(event, RunEnded) else sentence(event)
        for words, colour in ((said, colour_of(event)), (self._parks(plan, event), "yellow")):
            if words:
                told = painted(one_line(words), colour) if colour else one_line(words)
                self.say(f"{event.at[11:19]} {told}  [{self._left(plan)}]")
        for below in undone_lines(plan) if isinstance(event, RunEnded) else ():
            self.say(below)
        self._out.show(plan, event)
        if self._notifier is not None:
            self._notifier.on_event(plan, event)

    def _left(self, plan: Plan) -> str:
        """Open atoms, sessions and cost up to now."""
        spent = plan.spent
        parts = [f"{view(plan).open_count} open", amounts.count(spent.sessions, "session")]
        parts += [amounts.cost(spent.tokens, spent.usd)] if spent.tokens or spent.usd else []
        parts += [f"gauge {amounts.count(gauge(plan))}"] * self._verbose
        return ", ".join(parts)

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


def colour_of(event: Event) -> str:
    """Of a line on a terminal, by what came of it; empty for what has come to nothing yet."""
    match event:
        case AtomResolved() | VerificationEnded(passed=True) | EarlyChecked(passed=True):
            return "green"
        case RunEnded(code=StopCode.COMPLETED):
            return "green"
        case AttemptFailed() | DeclaredInfeasible() | ChoiceFailed() | VerificationEnded():
            return "red"
        case RunEnded() | SessionInterrupted() | Backjumped() | WindBegan() | StopRequested():
            return "yellow"
    return ""


def ending(plan: Plan, event: RunEnded) -> str:
    """How the run ended. What is parked is listed below, with its reasons."""
    names = [one.name for one in parked(plan)] if event.code in PARKED else []
    if not names:
        return sentence(event)
    return f"the run ends, {event.code}: nothing is left to try for {listed(names)}"


def undone_lines(plan: Plan) -> list[str]:
    """A line for each atom that is parked or has failed and is not done, what holds up most first.

    That it failed was said when it happened, but by now that may have scrolled away.
    """
    found = undone(plan)
    told = [
        f"  {painted(f'{one.label:<9}', 'yellow')}{one_line(line(plan, one))}"
        for one in found[:MOST_UNDONE]
    ]
    more = len(found) - len(told)
    return [*told, *[f"  and {more:,} more: `dwindle status`"] * (more > 0)]
