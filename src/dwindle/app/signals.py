"""Ctrl-C and SIGTERM while a run goes on: the first one ends it gracefully, the second one now."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Iterator

from dwindle.kernel.events import StopRequested
from dwindle.runner.inbox import Inbox, Message


@contextlib.contextmanager
def signals(inbox: Inbox) -> Iterator[None]:
    """Once: end gracefully. Twice: now."""
    asked: list[int] = []
    running = asyncio.get_running_loop()
    main = asyncio.current_task()

    def stop(name: str) -> None:
        asked.append(1)
        if len(asked) > 1 and main is not None:
            main.cancel()
            return
        inbox.put_nowait(Message(event=StopRequested(reason=f"stopped by {name}")))

    names = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM"}
    for number, name in names.items():
        running.add_signal_handler(number, stop, name)
    try:
        yield
    finally:
        for number in names:
            running.remove_signal_handler(number)
