"""Work in a thread while the loop goes on, or on the spot where that is quicker."""

from __future__ import annotations

import asyncio
import math
import threading
import time

import pytest

from dwindle.runner import aside
from dwindle.runner.aside import Aside


def slow() -> Aside:
    """One whose last work took long."""
    made = Aside()
    made._slow_until = math.inf
    return made


def test_work_is_done_on_the_spot_until_it_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[str] = []
    now = 100.0
    takes = 0.0

    def work() -> None:
        nonlocal now
        names.append(threading.current_thread().name)
        now += takes

    async def story() -> None:
        nonlocal takes, now
        made = Aside()
        monkeypatch.setattr(time, "monotonic", lambda: now)
        for seconds in (0.0, 0.0005, 0.01, 0.0):
            takes = seconds
            await made.done(work)
        now += 0.01 * aside.SLOW_TIMES + 0.001
        await made.done(work)
        monkeypatch.undo()

    asyncio.run(story())
    assert names == ["MainThread", "MainThread", "MainThread", "aside", "MainThread"]


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
        assert await slow().done(work) is None
        await beside

    asyncio.run(story())
    assert said == ["another goes on", "done by aside"]


@pytest.mark.parametrize("made", [Aside(), slow()], ids=["on the spot", "in a thread"])
def test_what_the_work_raises_is_raised(made: Aside) -> None:
    def work() -> None:
        raise LookupError("nothing there")

    with pytest.raises(LookupError, match="nothing there"):
        asyncio.run(_done(made, work))


async def _done(made: Aside, work: object) -> None:
    assert callable(work)
    await made.done(work)


def test_the_work_is_waited_for_however_often_one_is_cancelled() -> None:
    said: list[str] = []

    async def story() -> None:
        begun, may_end = threading.Event(), threading.Event()

        def work() -> None:
            begun.set()
            may_end.wait(20)
            said.append("done")

        async def waiting() -> None:
            cancelled = await slow().done(work)
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
