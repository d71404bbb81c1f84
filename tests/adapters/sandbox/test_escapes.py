"""Programs that try to outlive their session, and what is left of them: nothing."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from tests.adapters.sandbox.survivors import (
    ADVERSARIES,
    PYTHON,
    survivors,
    survivors_after,
)

from dwindle.adapters.sandbox import ProcessGroup
from dwindle.ports.process import Command, Containment, Ended, Strength

pytestmark = pytest.mark.slow

KINDS = 12
"""One of each at least, and some are two; the churner may be between two lives when we look."""


def escaper(token: str, ending: str, timeout: float = 30.0) -> Command:
    return Command(
        argv=(PYTHON, "-S", str(ADVERSARIES / "escaper.py"), token, ending),
        cwd=Path("/"),
        timeout_seconds=timeout,
        readable=(ADVERSARIES,),
    )


class Watcher:
    """Counts who is there when the escaper says that all are."""

    def __init__(self, token: str, word: str | None = None) -> None:
        self._token = token
        self._word = word
        self.ready = asyncio.Event()
        self.seen = 0

    def __call__(self, line: bytes) -> str | None:
        assert line == b"ready"
        self.seen = len(survivors(self._token))
        self.ready.set()
        return self._word


def left_over(containment: Containment, token: str) -> list[int]:
    """Strong means gone when the run is; weak is given the second that was promised."""
    if containment.strength is Strength.STRONG:
        return survivors(token)
    return survivors_after(token, 1.0)


def test_they_are_gone_when_the_program_leaves(containment: Containment, token: str) -> None:
    async def story() -> tuple[Ended, int]:
        watcher = Watcher(token)
        ended = await containment.run(escaper(token, "leave"), watcher)
        return ended, watcher.seen

    ended, seen = asyncio.run(story())
    assert left_over(containment, token) == []
    assert (ended.exit_code, ended.signal, ended.timed_out, ended.error) == (0, None, False, "")
    assert seen >= KINDS


def test_they_are_gone_when_the_program_crashes(containment: Containment, token: str) -> None:
    async def story() -> tuple[Ended, int]:
        watcher = Watcher(token)
        ended = await containment.run(escaper(token, "crash"), watcher)
        return ended, watcher.seen

    ended, seen = asyncio.run(story())
    assert left_over(containment, token) == []
    assert (ended.exit_code, ended.signal, ended.error) == (None, signal.SIGABRT, "")
    assert seen >= KINDS


def test_they_are_gone_after_a_timeout(containment: Containment, token: str) -> None:
    async def story() -> tuple[Ended, int]:
        watcher = Watcher(token)
        ended = await containment.run(escaper(token, "stay", timeout=3.0), watcher)
        return ended, watcher.seen

    ended, seen = asyncio.run(story())
    assert left_over(containment, token) == []
    assert (ended.exit_code, ended.timed_out, ended.error) == (None, True, "")
    assert ended.seconds < 4.0
    assert seen >= KINDS


@pytest.mark.parametrize("times", [1, 2])
def test_they_are_gone_after_a_cancellation(
    containment: Containment, token: str, times: int
) -> None:
    """The second one does not wait for the grace to pass, but for the killing."""

    async def story() -> tuple[float, int]:
        watcher = Watcher(token)
        session = asyncio.ensure_future(containment.run(escaper(token, "stay"), watcher))
        await asyncio.wait_for(watcher.ready.wait(), 10)
        began = time.monotonic()
        for _ in range(times):
            session.cancel()
            await asyncio.sleep(0.01)
        with suppress(asyncio.CancelledError):
            await session
        assert session.cancelled()
        return time.monotonic() - began, watcher.seen

    seconds, seen = asyncio.run(story())
    assert left_over(containment, token) == []
    assert seconds < 1.0
    assert seen >= KINDS


def test_they_are_gone_when_the_watcher_says_so(containment: Containment, token: str) -> None:
    async def story() -> tuple[Ended, int]:
        watcher = Watcher(token, "it asked for a password")
        ended = await containment.run(escaper(token, "stay"), watcher)
        return ended, watcher.seen

    ended, seen = asyncio.run(story())
    assert left_over(containment, token) == []
    assert (ended.error, ended.timed_out) == ("it asked for a password", False)
    assert seen >= KINDS


def test_what_ends_with_one_session_is_not_taken_from_another(
    containment: Containment, token: str, another_token: str
) -> None:
    neighbour = another_token

    async def story() -> tuple[Ended, list[int], int, Ended]:
        next_door = Watcher(neighbour)
        other = asyncio.ensure_future(
            containment.run(escaper(neighbour, "stay", timeout=5.0), next_door)
        )
        await asyncio.wait_for(next_door.ready.wait(), 10)
        ended = await containment.run(escaper(token, "leave"), Watcher(token))
        left, neighbours = left_over(containment, token), len(survivors(neighbour))
        return ended, left, neighbours, await other

    ended, left, neighbours, other = asyncio.run(story())
    assert (ended.exit_code, left) == (0, [])
    assert neighbours >= KINDS
    assert (other.timed_out, left_over(containment, neighbour)) == (True, [])


def test_a_cancellation_before_the_program_began_leaves_nothing(
    containment: Containment, token: str
) -> None:
    """At any moment of the start: the namespace may be half made."""

    async def story(wait: float) -> None:
        session = asyncio.ensure_future(containment.run(escaper(token, "stay")))
        await asyncio.sleep(wait)
        session.cancel()
        with suppress(asyncio.CancelledError):
            await session

    for step in range(12):
        asyncio.run(story(step / 1000))
        assert left_over(containment, token) == []


def test_without_containment_most_of_them_get_away(token: str) -> None:
    """So the other tests would notice; and `ProcessGroup` does not claim otherwise."""

    async def story() -> Ended:
        return await ProcessGroup().run(escaper(token, "leave"), Watcher(token))

    ended = asyncio.run(story())
    assert ended.exit_code == 0
    assert len(survivors(token)) >= 4
    assert ProcessGroup.strength is Strength.WEAK


def test_a_plain_child_does_not_outlive_an_uncontained_program(token: str) -> None:
    async def story() -> Ended:
        script = f'sh -c "sleep 20; : " {token} & echo started'
        return await ProcessGroup().run(Command(argv=("sh", "-c", script), cwd=Path("/")))

    assert asyncio.run(story()).stdout.text() == "started\n"
    assert survivors_after(token, 1.0) == []


@pytest.mark.slow
def test_nobody_escapes_in_many_tries(named: Callable[[str], Containment], token: str) -> None:
    strong = named("bubblewrap"), named("unshare")

    async def story(containment: Containment) -> None:
        watcher = Watcher(token)
        session = asyncio.ensure_future(containment.run(escaper(token, "stay"), watcher))
        await asyncio.wait_for(watcher.ready.wait(), 10)
        session.cancel()
        with suppress(asyncio.CancelledError):
            await session

    for _ in range(20):
        for containment in strong:
            asyncio.run(story(containment))
            assert survivors(token) == []
