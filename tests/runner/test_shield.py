"""Work that a cancellation does not leave half done."""

from __future__ import annotations

import asyncio

import pytest

from dwindle.runner.shield import shielded


@pytest.mark.parametrize("waits", [0, 1, 3])
def test_what_it_raises_is_raised(waits: int) -> None:
    async def work() -> None:
        for _ in range(waits):
            await asyncio.sleep(0.001)
        raise LookupError("nothing there")

    async def story() -> None:
        await shielded(work())

    with pytest.raises(LookupError, match="nothing there"):
        asyncio.run(story())


@pytest.mark.parametrize("pause", [0, 0.001])
def test_what_waits_comes_to_its_end_however_often_one_is_cancelled(pause: float) -> None:
    said: list[str] = []

    async def work() -> str:
        said.append("begun")
        for number in range(5):
            await asyncio.sleep(pause)
            said.append(str(number))
        return "done"

    async def waiting() -> None:
        try:
            await shielded(work())
        except asyncio.CancelledError as error:
            said.append(f"told: {error}")
            raise

    async def story() -> bool:
        task = asyncio.create_task(waiting())
        for word in ("first", "second", "third"):
            await asyncio.sleep(0)
            task.cancel(word)
        with pytest.raises(asyncio.CancelledError):
            await task
        return task.cancelled()

    assert asyncio.run(story())
    assert said == ["begun", "0", "1", "2", "3", "4", "told: third"]


def test_a_timeout_behind_its_first_wait_is_its_own() -> None:
    """Not that of the task which began it."""

    async def work() -> str:
        await asyncio.sleep(0)
        try:
            async with asyncio.timeout(0.001):
                await asyncio.sleep(20)
        except TimeoutError:
            return "in time"
        return "too late"

    async def story() -> tuple[str, int]:
        task = asyncio.current_task()
        assert task is not None
        return await shielded(work()), task.cancelling()

    assert asyncio.run(story()) == ("in time", 0)


def test_it_may_wait_for_what_is_over_already() -> None:
    async def work() -> int:
        future = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(future.set_result, 7)
        found: int = await future
        return found + await asyncio.shield(asyncio.sleep(0, 1))

    async def story() -> int:
        return await shielded(work())

    assert asyncio.run(story()) == 8


def test_work_that_is_itself_cancelled_can_clear_up() -> None:
    """As happens when a loop is closed with everything in it."""
    said: list[str] = []

    async def work() -> None:
        try:
            await asyncio.sleep(20)
        finally:
            await asyncio.sleep(0)
            said.append("cleared up")

    async def waiting() -> None:
        await shielded(work())

    async def story() -> None:
        task = asyncio.create_task(waiting())
        await asyncio.sleep(0.01)
        others = asyncio.all_tasks() - {asyncio.current_task()}
        assert len(others) == 2
        for one in others:
            one.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(story())
    assert said == ["cleared up"]
