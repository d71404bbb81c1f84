"""Work that is not left half done, whoever loses patience meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from functools import partial
from types import coroutine
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
    task = asyncio.ensure_future(_rest(work, waits_for))
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


@coroutine
def _rest(work: Coroutine[Any, Any, T], waits_for: Any) -> Generator[Any, Any, T]:
    """Go on with what has begun; as `yield from` would, which can only begin."""
    while True:
        try:
            try:
                said = yield waits_for
            except BaseException as error:  # noqa: BLE001 - whatever it is, it is for the work
                waits_for = work.throw(error)
            else:
                waits_for = work.send(said)
        except StopIteration as done:
            result: T = done.value
            return result


def _tell(over: asyncio.Future[None], _: object) -> None:
    if not over.done():
        over.set_result(None)
