"""Work that is not left half done, whoever loses patience meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from functools import partial
from typing import TypeVar

T = TypeVar("T")


async def whole(work: Coroutine[None, None, T]) -> T:
    """Do it to its end, whoever cancels meanwhile; the cancellation is passed on afterwards."""
    task = asyncio.ensure_future(work)
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


def _tell(over: asyncio.Future[None], _: object) -> None:
    if not over.done():
        over.set_result(None)
