"""An event loop whose clock hardly moves while anything is to be done, and jumps when nothing is.

A run on it takes as long as its Python does, however long its sessions are said to take; and since
nothing comes from outside, the same program does the same things in the same order every time.
Where a real loop would wait for ever, this one says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")

TURNS = 60_000
"""Turns of the loop after which a program is taken to run in circles."""
TURN = 1e-6
"""Seconds that a turn takes: no clock stands still while a program reads it again and again."""


class NothingWillHappen(Exception):
    """Every task waits, and none is left that could end it."""


class RunsInCircles(Exception):
    """It has been busy for longer than anything sensible would be."""


class _Jump:
    """Stands where a selector stands: instead of waiting it moves the clock."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self.turns = 0

    def select(self, timeout: float | None) -> list[object]:
        self.turns += 1
        if self.turns > TURNS:
            raise RunsInCircles(f"{TURNS} turns, and no end")
        if timeout is None:
            raise NothingWillHappen("everybody waits, for nothing")
        self._loop.now += max(timeout, TURN)
        return []


class VirtualLoop(asyncio.BaseEventLoop):
    """No files, sockets, signals, threads or subprocesses: only tasks and time."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now
        super().__init__()
        self._selector = _Jump(self)

    def time(self) -> float:
        return self.now

    def be_done(self) -> None:
        """End whatever is still running."""
        self._selector.turns = 0
        left = asyncio.all_tasks(self)
        for task in left:
            task.cancel()
        self.run_until_complete(asyncio.gather(*left, return_exceptions=True))

    def _process_events(self, event_list: list[object]) -> None:
        """There are none: this is asked of every loop."""

    def _write_to_self(self) -> None:
        """No other thread could wake us."""


def played(work: Coroutine[Any, Any, T], now: float = 0.0) -> tuple[T, float]:
    """Its result, and what time it is then; whatever it left running is ended."""
    loop = VirtualLoop(now)
    asyncio.set_event_loop(loop)
    try:
        return loop.run_until_complete(work), loop.now
    finally:
        with suppress(NothingWillHappen, RunsInCircles):
            loop.be_done()
        asyncio.set_event_loop(None)
        loop.close()
