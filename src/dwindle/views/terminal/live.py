"""A run on a terminal: its lines scroll, and below them a board shows the state of the run.

The block is drawn below the cursor, and the cursor goes back to where it was: to the empty line
above the block. From there on everything can be cleared and drawn anew whatever has happened to it
meanwhile: a window that was made narrower wraps old lines, but they are still below the cursor;
typed characters, or the ^C of Ctrl-C, stand on the empty line and are gone with the next
picture. The cursor is neither hidden nor is the terminal set up in any way, so that nothing has to
be put right after a kill -9: the shell goes on where the cursor is.

Events are shown at most ten times a second, clocks once a second. A terminal that has not taken the
last picture gets no other one until it has; no line is lost by that.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Final, Self, TextIO

from dwindle.app.console import painted
from dwindle.kernel.events import Event, Usage
from dwindle.kernel.model import AtomId, Plan
from dwindle.text.escape import escape_but_colours
from dwindle.views.read_model.live_stats import LiveStats, used_in
from dwindle.views.terminal.board import Line, board
from dwindle.views.terminal.screen import Screen

AT_MOST_EVERY: Final = 0.1
AT_LEAST_EVERY: Final = 1.0
CLEAR_BELOW: Final = "\r\x1b[J"
CLEAR_RIGHT: Final = "\x1b[K"
NO_WRAP, WRAP = "\x1b[?7l", "\x1b[?7h"


class Live:
    """An outlet for progress; the picture is there between `async with` and its end."""

    def __init__(
        self,
        stream: TextIO | None = None,
        now: Callable[[], float] = time.monotonic,
        *,
        verbose: bool = False,
    ) -> None:
        self._verbose = verbose
        self._stream = stream or sys.stdout
        self._now = now
        self._screen: Screen | None = None
        self._lines: list[str] = []
        self._used: Mapping[AtomId, Usage] = {}
        self._seen: tuple[Plan, LiveStats] | None = None
        self._drawn = 0.0
        self._next: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Self:
        self._screen = Screen(self._stream)
        self._drawn = self._now() - AT_MOST_EVERY
        self._draw_soon()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._next is not None:
            self._next.cancel()
        screen, self._screen = self._screen, None
        if screen is not None:
            screen.write(picture(self._pending_lines(), ()))
            screen.close()

    def recall(self, events: Iterable[Event]) -> None:
        self._used = used_in(events)

    def say(self, line: str) -> None:
        """A line of the run; it is shown with the next picture, or at once where there is none."""
        line = escape_but_colours(line)
        if self._screen is None:
            print(line, file=self._stream, flush=True)
            return
        self._lines.append(line)
        self._draw_soon()

    def show(self, plan: Plan, event: Event) -> None:
        now = self._now()
        stats = LiveStats.at_start(plan, now, self._used) if self._seen is None else self._seen[1]
        self._seen = (plan, stats.after(plan, event, now))
        self._draw_soon()

    def show_usage(self, nonce: int, usage: Usage) -> None:
        if self._seen is not None:
            plan, stats = self._seen
            self._seen = (plan, stats.with_usage(nonce, usage))
            self._draw_soon()

    # --- drawing ---------------------------------------------------------------------------------

    def _draw_soon(self) -> None:
        self._draw_after(max(0.0, self._drawn + AT_MOST_EVERY - self._now()))

    def _draw_after(self, seconds: float) -> None:
        if self._screen is None:
            return
        loop = asyncio.get_running_loop()
        due = loop.time() + seconds
        if self._next is not None:
            if self._next.when() <= due and not self._next.cancelled():
                return
            self._next.cancel()
        self._next = loop.call_at(due, self._draw)

    def _draw(self) -> None:
        self._next = None
        self._drawn = self._now()
        self._draw_after(AT_LEAST_EVERY)
        screen = self._screen
        if screen is not None and not screen.is_behind:
            screen.write(picture(self._pending_lines(), self._board(screen)))

    def _pending_lines(self) -> list[str]:
        lines, self._lines = self._lines, []
        return lines

    def _board(self, screen: Screen) -> tuple[Line, ...]:
        if self._seen is None:
            return ()
        plan, stats = self._seen
        size = screen.size()
        # The last column is left alone: a cursor beyond it is not where we think.
        return board(
            plan,
            stats,
            self._now(),
            width=max(1, size.columns - 1),
            height=size.lines // 2,
            verbose=self._verbose,
        )


def picture(lines: Iterable[str], below: tuple[Line, ...]) -> str:
    """What to write so that the lines stand where the picture was, and the new one below them."""
    scrolled = "".join(f"{line}\n" for line in lines)
    cleared = f"{CLEAR_BELOW}{scrolled}" if scrolled or not below else f"\r{CLEAR_RIGHT}"
    if not below:
        return cleared
    # Text whose width a terminal sees differently must not become two lines.
    drawn = "".join(f"\n{_painted(line)}{CLEAR_RIGHT}" for line in below)
    return f"{cleared}{NO_WRAP}{drawn}\x1b[J{WRAP}\x1b[{len(below)}A\r"


def _painted(line: Line) -> str:
    return painted(line.text, line.colour) if line.colour else line.text
