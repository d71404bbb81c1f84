"""What a person sees of a run while it runs: a line for everything that happens.

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

from dwindle.kernel.events import (
    AlternativesProposed,
    AtomResolved,
    AttemptFailed,
    Backjumped,
    ChoiceFailed,
    DeclaredInfeasible,
    Decomposed,
    EarlyChecked,
    Event,
    IterationCommitted,
    ProbeEnded,
    Redirected,
    Replanned,
    RunEnded,
    RunStarted,
    SessionInterrupted,
    SessionReaped,
    SessionStarted,
    StopRequested,
    Usage,
    VerificationEnded,
    Waited,
)
from dwindle.kernel.graph import view
from dwindle.kernel.measure import gauge
from dwindle.kernel.model import Plan, Role
from dwindle.kernel.tree import TreeEdit
from dwindle.surfaces.board import clock
from dwindle.surfaces.cli.output import say
from dwindle.surfaces.cli.text import counted, one_line

if TYPE_CHECKING:
    from dwindle.adapters.formats.config_settings import NotifySettings
    from dwindle.surfaces.herald import Herald

RULER = 5
"""The same character so often, standing alone, is a line that was drawn."""

LONG = 100
"""Seconds from which on a wait is told in minutes."""

LAST_WORDS = 1000
"""Characters of why a run ended: what a person can do about it often stands at the end."""


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
        """What is on record from before; to be told first."""
        ...

    def say(self, line: str) -> None: ...

    def show(self, plan: Plan, event: Event) -> None:
        """The plan, and the event that made it what it is."""
        ...

    def show_usage(self, nonce: int, usage: Usage) -> None:
        """What a session in flight has used up to now, if its agent says so."""
        ...


class Lines:
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
        from dwindle.surfaces.live import Live  # noqa: PLC0415 - only then

        return Live()
    return Lines()


class Progress:
    """What the loop tells; to be entered while it runs."""

    def __init__(self, out: Outlet | None = None, herald: Herald | None = None) -> None:
        self._out = out or outlet()
        self._herald = herald

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
        """Who is told besides, once that is known."""
        if self._herald is not None:
            self._herald.serve(settings, root, self.say)

    def recall(self, events: Iterable[Event]) -> None:
        """What is on record of the run from before."""
        self._out.recall(events)

    def told(self, plan: Plan, event: Event) -> None:
        """The loop calls this after every event."""
        line = one_line(sentence(event))
        if line:
            now = view(plan)
            self.say(f"{event.at[11:19]} {line}  [{now.open_count} open, gauge {gauge(plan)}]")
        self._out.show(plan, event)
        if self._herald is not None:
            self._herald.told(plan, event)

    def used(self, nonce: int, usage: Usage) -> None:
        """For an agent whose program says what it uses while it is at work."""
        self._out.show_usage(nonce, usage)

    def say(self, line: str) -> None:
        self._out.say(line)


def sentence(event: Event) -> str:  # noqa: C901, PLR0912 - one line for each event
    match event:
        case RunStarted():
            return "the run begins"
        case SessionStarted(role=Role.VERIFIER):
            return "the base case is verified"
        case SessionStarted():
            return f"{event.atom}: a {event.role} starts"
        case AtomResolved():
            return f"{event.atom}: resolved: {_short(event.summary)}"
        case AttemptFailed(refused=True):
            return f"{event.atom}: {_short(event.reason)}"
        case AttemptFailed():
            return f"{event.atom}: failed: {_short(event.reason)}"
        case DeclaredInfeasible():
            return f"{event.atom}: not feasible: {_short(event.reason)}"
        case ProbeEnded():
            return f"{event.atom}: looked at: {_short(event.findings)}"
        case Decomposed():
            return f"{event.atom}: split into {len(event.children)}: {_short(event.reason)}"
        case Replanned(edit=None):
            return f"{event.atom}: planned: nothing was changed"
        case Replanned(edit=TreeEdit() as edit):
            return f"{event.atom}: planned: the tree has {counted(len(edit.nodes), 'node')}"
        case IterationCommitted():
            short = event.subject.removeprefix("chore(loop): ").partition(" iter ")[2]
            said = f"iteration {short or event.number} is committed: {event.commit[:12]}"
            return "; note: ".join((said, *(_short(note, LAST_WORDS) for note in event.notes)))
        case AlternativesProposed():
            return f"{event.atom}: given up for {len(event.alternatives)} other ways"
        case Waited(atom=str() as atom):
            wait = f"{event.seconds:.0f} s" if event.seconds < LONG else clock(event.seconds)
            return f"{atom or 'the verification'}: waits {wait}: {_short(event.note)}"
        case SessionInterrupted():
            return f"{event.atom or 'the verification'}: interrupted ({event.cause})"
        case SessionReaped():
            return f"{event.atom}: ended, its branch was left"
        case ChoiceFailed():
            return f"{event.group}: {event.choice} has failed; its work is off the branch"
        case Backjumped():
            return f"{event.group}: another choice, for the sake of {event.atom}"
        case VerificationEnded():
            return _verified(event)
        case EarlyChecked(passed=True):
            return "the base case holds already"
        case StopRequested():
            return f"asked to stop: {_short(event.reason)}"
        case Redirected():
            return f"redirected: {_short(event.description)}"
        case RunEnded():
            return f"the run ends, {event.code}: {_short(event.reason, LAST_WORDS)}"
    return ""


def _verified(event: VerificationEnded) -> str:
    if event.passed:
        asked = f"; a person is asked about {len(event.questions)}" if event.questions else ""
        return f"the base case holds{asked}"
    if not event.gaps:
        return "the base case could not be judged"
    return f"the base case does not hold: {', '.join(_short(g.item) for g in event.gaps)}"


def _short(text: str, most: int = 100) -> str:
    """The beginning of it, without the rulers that test runners draw."""
    line = " ".join(word for word in text.split() if len(word) < RULER or len(set(word)) > 1)
    return line if len(line) <= most else f"{line[: most - 3]}..."
