"""Being turned away is not failing: the session waits and tries again, as long as the run lasts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from dwindle.kernel.events import Usage
from dwindle.ports.work import NoReport, Result, Trouble, WorkerReport
from dwindle.runner.patience import Wait, patient, together

DONE = Result(report=WorkerReport(success=True, summary="s"), usage=Usage(tokens=7, usd=0.5))


def turned_away(
    trouble: Trouble = Trouble.RATE_LIMITED, after: float | None = None, tokens: int = 0
) -> Result:
    report = NoReport(trouble=trouble, reason="later", again_after=after)
    return Result(report=report, usage=Usage(tokens=tokens))


class Day:
    """A day that passes only by sleeping."""

    def __init__(self, results: Sequence[Result], seconds: float = 10_000.0) -> None:
        self.results = list(results)
        self.left = seconds
        self.said: list[Wait | None] = []
        self.slept: list[float] = []

    async def session(self) -> Result:
        return self.results.pop(0)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.left -= seconds

    def result(self) -> Result:
        return asyncio.run(patient(self.session, lambda: self.left, self.said.append, self.sleep))


def test_a_session_that_ends_is_not_touched() -> None:
    day = Day([DONE])
    assert (day.result(), day.slept, day.said) == (DONE, [], [])


@pytest.mark.parametrize("trouble", [Trouble.RATE_LIMITED, Trouble.OVERLOADED, Trouble.OFFLINE])
def test_what_passes_is_waited_for(trouble: Trouble) -> None:
    day = Day([turned_away(trouble), turned_away(trouble, after=60.0), DONE])
    assert day.result() == DONE
    assert day.slept == [5.0, 61.0]
    assert day.said == [
        Wait(seconds=5.0, why=NoReport(trouble=trouble, reason="later"), tries=1),
        None,
        Wait(
            seconds=61.0,
            why=NoReport(trouble=trouble, reason="later", again_after=60.0),
            tries=2,
        ),
        None,
    ]


def test_waits_grow_and_then_stay() -> None:
    day = Day([*(turned_away() for _ in range(7)), DONE])
    assert day.result() == DONE
    assert day.slept == [5.0, 15.0, 45.0, 120.0, 300.0, 300.0, 300.0]


def test_what_it_used_is_added_up() -> None:
    day = Day([turned_away(tokens=3), DONE])
    assert day.result().usage == Usage(tokens=10, usd=0.5)
    estimated = Usage(read=1, cached=2, written=3, estimated=True)
    assert together(estimated, Usage(read=1)) == Usage(read=2, cached=2, written=3, estimated=True)


def test_nobody_waits_beyond_the_end_of_the_run() -> None:
    day = Day([turned_away(after=3600.0)], seconds=600.0)
    assert day.result() == turned_away(after=3600.0)
    assert day.slept == []


def test_other_troubles_are_not_waited_for() -> None:
    failed = turned_away(Trouble.FAILED, after=1.0)
    day = Day([failed])
    assert (day.result(), day.slept) == (failed, [])


def test_whoever_is_interrupted_while_waiting_waits_no_more() -> None:
    said: list[Wait | None] = []

    async def story() -> None:
        async def session() -> Result:
            return turned_away()

        waiting = asyncio.ensure_future(patient(session, lambda: 1e9, said.append))
        await asyncio.sleep(0.01)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(story())
    assert [wait is None for wait in said] == [False, True]
