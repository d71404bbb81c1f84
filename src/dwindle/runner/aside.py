"""Work that would hold up the event loop, done in a thread while the loop goes on.

Python has executors for this. They cost about as much as a sync of the disk does; and whoever is
cancelled while he waits for one goes on while the work still does. Here the work is always waited
for.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import cache
from queue import SimpleQueue


class Aside:
    """One thing after the other, in a thread that all of these share."""

    async def done(self, work: Callable[[], object]) -> asyncio.CancelledError | None:
        """Do it to its end; the last cancellation meanwhile, if any, is the caller's to raise.

        Raises what the work raises.
        """
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
