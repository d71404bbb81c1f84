"""Work that is not left half done, whoever loses patience meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")


async def whole(work: Coroutine[Any, Any, T]) -> T:
    """Do it to its end, whoever cancels meanwhile; the cancellation is passed on afterwards.

    It begins at once, and what need not wait for anything is over then: nobody could have cancelled
    it. What has to wait goes on in a task of its own, so that up to its first wait it must not
    enter anything that belongs to a task, such as a timeout.
    """
    try:
        waits_for = work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    task = asyncio.ensure_future(_Rest(work, waits_for))
    loop = asyncio.get_running_loop()
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        over = loop.create_future()
        task.add_done_callback(partial(_tell, over))
        try:
            await over
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        task.exception()  # seen, and of no interest any more
        raise cancelled
    return task.result()


class _Rest(Coroutine[Any, Any, T]):
    """What has begun, for a task to go on with: it is handed what the work waits for, at first."""

    def __init__(self, work: Coroutine[Any, Any, T], waits_for: object) -> None:
        self._work = work
        self._first: list[object] = [waits_for]

    def send(self, value: Any) -> Any:
        return self._first.pop() if self._first else self._work.send(value)

    def throw(self, *error: Any) -> Any:
        self._first.clear()
        return self._work.throw(*error)

    def close(self) -> None:
        self._work.close()

    def __await__(self) -> Generator[Any, Any, T]:
        raise NotImplementedError("it is for a task")


def _tell(over: asyncio.Future[None], _: object) -> None:
    if not over.done():
        over.set_result(None)
