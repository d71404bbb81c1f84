"""What sessions used that did not come to their end."""

from __future__ import annotations

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
from dwindle.runner.meter import Meter

A1, A2 = AtomId("A1"), AtomId("A2")
ONE = Usage(tokens=7, usd=0.5)


def session(nonce: int) -> Session:
    return Session(nonce=nonce, number=nonce, role=Role.WORKER)


def test_a_session_that_the_runner_ended_has_used_what_is_known_by_then() -> None:
    meter = Meter()
    meter.add(7, ONE)
    meter.add(7, ONE)
    assert meter.cut_short(A1, 7) == SessionInterrupted(
        atom=A1, nonce=7, cause=Interruption.STOP, usage=Usage(tokens=14, usd=1.0)
    )
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
