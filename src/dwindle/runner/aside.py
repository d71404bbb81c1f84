"""Work that would hold up the event loop, done in a thread while the loop goes on.

Python has executors for this. They cost about as much as a sync of the disk does; and whoever is
cancelled while he waits for one goes on while the work still does. Here the work is always waited
for.

Where a sync takes next to no time, a thread holds up the loop for longer than the work would: the
two take turns with the interpreter's lock. So the work is done on the spot until it takes long;
then a thread does it for a while.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from functools import cache
from queue import SimpleQueue

LONG_SECONDS = 0.001
"""Work that takes this long shows that the disk is slow, or busy."""
SLOW_TIMES = 20
"""For so many times as long it is taken to be."""


class Aside:
    """One thing after the other, here or in a thread that all of these share."""

    def __init__(self) -> None:
        self._slow_until = 0.0

    async def done(self, work: Callable[[], object]) -> asyncio.CancelledError | None:
        """Do it to its end; the last cancellation meanwhile, if any, is the caller's to raise.

        Raises what the work raises.
        """
        if (began := time.monotonic()) >= self._slow_until:
            work()
            if (took := time.monotonic() - began) > LONG_SECONDS:
                self._slow_until = began + (1 + SLOW_TIMES) * took
            return None
        loop = asyncio.get_running_loop()
        over: list[BaseException | None] = []
        waiting = loop.create_future()

        def run() -> None:
            problem: BaseException | None = None
            try:
                work()
            except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
                problem = error
            loop.call_soon_threadsafe(ended, problem)

        def ended(problem: BaseException | None) -> None:
            over.append(problem)
            if not waiting.done():
                waiting.set_result(None)

        _thread().put(run)
        cancelled: asyncio.CancelledError | None = None
        while not over:
            try:
                await waiting
            except asyncio.CancelledError as error:
                cancelled = error
                waiting = loop.create_future()
        if (problem := over[0]) is not None:
            raise problem
        return cancelled


@cache
def _thread() -> SimpleQueue[Callable[[], None]]:
    """Where the thread looks for work; it lasts as long as we do."""
    waiting: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def serve() -> None:
        while True:
            waiting.get()()

    threading.Thread(target=serve, name="aside", daemon=True).start()
    return waiting
