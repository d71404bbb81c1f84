"""What sessions used that did not come to their end."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from dwindle.kernel.events import (
    NO_USAGE,
    AttemptFailed,
    Interruption,
    SessionInterrupted,
    StopRequested,
    Usage,
    Waited,
)
from dwindle.kernel.model import AtomId, Role, Session
from dwindle.ports.process import Ended
from dwindle.ports.work import Report, WorkerReport, WorkOrder
from dwindle.runner.meter import Meter
from dwindle.testing.agents import ORDER, Answering, set_up

A1, A2 = AtomId("A1"), AtomId("A2")
ONE = Usage(tokens=7, usd=0.5)


def session(nonce: int) -> Session:
    return Session(nonce=nonce, number=nonce, role=Role.WORKER)


async def ends() -> Ended:
    return Ended(exit_code=0)


async def hangs() -> Ended:
    await asyncio.sleep(60)
    raise AssertionError


def test_what_ended_and_what_was_ended_are_added_up(tmp_path: Path) -> None:
    agent = Answering(lambda _: WorkerReport(success=True), ONE)
    meter, place = Meter(), set_up(tmp_path)

    async def played() -> None:
        ended, result = await meter.read(7, agent.session(ORDER, place), ends())
        assert (ended, result.usage) == (Ended(exit_code=0), ONE)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await meter.read(7, agent.session(ORDER, place), hangs())

    asyncio.run(played())
    assert meter.cut_short(A1, 7) == SessionInterrupted(
        atom=A1, nonce=7, cause=Interruption.STOP, usage=Usage(tokens=14, usd=1.0)
    )
    assert meter.take(7) == NO_USAGE


def test_an_agent_that_cannot_say_is_no_reason_to_stumble(tmp_path: Path) -> None:
    def stumbles(_: WorkOrder) -> Report:
        raise KeyError("nothing was printed")

    meter = Meter()

    async def played() -> None:
        session = Answering(stumbles).session(ORDER, set_up(tmp_path))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await meter.read(7, session, hangs())

    asyncio.run(played())
    assert meter.take(7) == NO_USAGE


def test_what_an_event_ends_by_the_way_is_told_late() -> None:
    meter = Meter()
    for nonce in (1, 2, 3):
        meter.add(nonce, ONE)
    meter.add(4, NO_USAGE)
    before = {A1: session(1), A2: session(2), AtomId("A4"): session(4)}
    now = {A2: before[A2]}
    stop = StopRequested(reason="tea")
    assert list(meter.after(Waited(), before, before)) == []
    assert list(meter.after(stop, before, now)) == [
        SessionInterrupted(atom=A1, nonce=1, cause=Interruption.STOP, usage=ONE)
    ]
    assert list(meter.after(stop, before, now)) == []  # it is told once
    # An end has said it itself.
    assert list(meter.after(AttemptFailed(atom=A2, nonce=2, reason="no"), now, {})) == []
    assert (meter.take(2), meter.take(3)) == (NO_USAGE, ONE)
