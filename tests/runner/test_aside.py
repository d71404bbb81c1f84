"""Work in a thread, while the loop goes on."""

from __future__ import annotations

import asyncio
import threading

import pytest

from dwindle.runner.aside import Aside


def test_the_loop_goes_on_meanwhile() -> None:
    said: list[str] = []

    async def story() -> None:
        may_end = threading.Event()

        def work() -> None:
            may_end.wait(20)
            said.append(f"done by {threading.current_thread().name}")

        async def other() -> None:
            said.append("another goes on")
            may_end.set()

        beside = asyncio.create_task(other())
        assert await Aside().done(work) is None
        await beside

    asyncio.run(story())
    assert said == ["another goes on", "done by aside"]


def test_what_the_work_raises_is_raised() -> None:
    def work() -> None:
        raise LookupError("nothing there")

    with pytest.raises(LookupError, match="nothing there"):
        asyncio.run(_done(work))


async def _done(work: object) -> None:
    assert callable(work)
    await Aside().done(work)


def test_the_work_is_waited_for_however_often_one_is_cancelled() -> None:
    said: list[str] = []

    async def story() -> None:
        begun, may_end = threading.Event(), threading.Event()

        def work() -> None:
            begun.set()
            may_end.wait(20)
            said.append("done")

        async def waiting() -> None:
            cancelled = await Aside().done(work)
            said.append(f"told: {cancelled}")
            assert cancelled is not None
            raise cancelled

        task = asyncio.create_task(waiting())
        await asyncio.to_thread(begun.wait, 20)
        for word in ("first", "second"):
            task.cancel(word)
            await asyncio.sleep(0.01)
        said.append(f"over: {task.done()}")
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(story())
    assert said == ["over: False", "done", "told: second"]
