"""What a run has cost: the sums over its journal."""

from __future__ import annotations

import math

import pytest

from dwindle.app.spending.account import RunSpending, SessionSpending, Total, spending_of
from dwindle.kernel.events import (
    AtomResolved,
    AttemptFailed,
    Event,
    Interruption,
    IterationCommitted,
    ProbeEnded,
    Redirected,
    Replanned,
    RunStarted,
    SessionInterrupted,
    SessionStarted,
    Usage,
    VerificationEnded,
    Waited,
)
from dwindle.kernel.model import ROOT, AtomId, CorrectionType, Role

A1, A2 = AtomId("A1"), AtomId("A2")


def test_a_run_of_two_atoms_side_by_side() -> None:
    story: list[Event] = [
        RunStarted(),
        SessionStarted(atom=A1, role=Role.PROBE, elapsed=1),
        ProbeEnded(
            atom=A1, nonce=2, elapsed=4, usage=Usage(tokens=100, read=90, written=10, usd=0.5)
        ),
        SessionStarted(atom=A1, role=Role.WORKER),
        SessionStarted(atom=A2, role=Role.WORKER, elapsed=1),
        Waited(note="rate limited", atom=A1, seconds=5, elapsed=2),
        AttemptFailed(
            atom=A2,
            nonce=5,
            elapsed=3,
            reason="no",
            usage=Usage(tokens=40, cached=30, written=10, usd=0.25, estimated=True),
        ),
        AtomResolved(atom=A1, nonce=4, elapsed=10, summary="done", usage=Usage(tokens=7, usd=2.0)),
        SessionStarted(atom=ROOT, role=Role.VERIFIER),
        VerificationEnded(atom=ROOT, nonce=9, elapsed=2, passed=True, usage=Usage(tokens=3)),
    ]
    probe = Total(sessions=1, tokens=100, read=90, written=10, usd=0.5, seconds=4)
    first = Total(sessions=1, tokens=7, usd=2.0, seconds=16)
    second = Total(
        sessions=1, tokens=40, cached=30, written=10, usd=0.25, estimated=True, seconds=5
    )
    judged = Total(sessions=1, tokens=3, unpriced=3, seconds=2)
    assert spending_of(story) == RunSpending(
        run=Total(
            sessions=4,
            tokens=150,
            read=90,
            cached=30,
            written=20,
            usd=2.75,
            estimated=True,
            unpriced=3,
            seconds=23,
        ),
        by_role={"probe": probe, "worker": first.plus(second), "verifier": judged},
        by_atom={"A1": probe.plus(first), "A2": second, "": judged},
        sessions=(
            SessionSpending(nonce=2, atom="A1", role="probe", own=probe, running=False),
            SessionSpending(nonce=4, atom="A1", role="worker", own=first, running=False),
            SessionSpending(nonce=5, atom="A2", role="worker", own=second, running=False),
            SessionSpending(nonce=9, atom="", role="verifier", own=judged, running=False),
        ),
    )


def test_nothing_happened() -> None:
    assert spending_of([]) == RunSpending()


def test_a_tree_is_no_different() -> None:
    story: list[Event] = [
        RunStarted(),
        SessionStarted(atom=AtomId("leaf"), role=Role.PROBE),
        Replanned(atom=AtomId("leaf"), nonce=2, elapsed=3, usage=Usage(tokens=5)),
        IterationCommitted(number=1, commit="c0ffee", subject="s", elapsed=1),
    ]
    planned = Total(sessions=1, tokens=5, unpriced=5, seconds=3)
    found = spending_of(story)
    assert (found.by_role, found.by_atom) == ({"probe": planned}, {"leaf": planned})
    assert found.run.seconds == 4


def test_a_judge_of_an_atom_is_paid_for_as_a_verifier() -> None:
    judging = Usage(tokens=10, read=10, usd=0.25, estimated=True)
    story: list[Event] = [
        SessionStarted(atom=A1, role=Role.WORKER),
        AtomResolved(
            atom=A1,
            nonce=1,
            summary="done",
            usage=Usage(tokens=30, read=20, written=10, usd=1.25, estimated=True),
            judging=judging,
        ),
    ]
    found = spending_of(story)
    assert found.by_role == {
        "worker": Total(sessions=1, tokens=20, read=10, written=10, usd=1.0, estimated=True),
        "verifier": Total(tokens=10, read=10, usd=0.25, estimated=True),
    }
    assert found.by_atom["A1"] == found.by_role["worker"].plus(found.by_role["verifier"])
    assert found.sessions[0].total == found.by_atom["A1"]


def test_sessions_that_were_killed_count_with_their_time_and_with_what_is_known() -> None:
    story: list[Event] = [
        SessionStarted(atom=A1, role=Role.WORKER),
        SessionStarted(atom=A2, role=Role.WORKER),
        SessionInterrupted(
            atom=A1, nonce=1, elapsed=5, cause=Interruption.STOP, usage=Usage(tokens=9, usd=0.125)
        ),
        Redirected(type=CorrectionType.CONSTRAINT_CHANGE, edits=(), description="d", elapsed=1),
        SessionStarted(atom=A2, role=Role.WORKER, elapsed=50),
        Waited(elapsed=2),
    ]
    assert spending_of(story).sessions == (
        SessionSpending(
            nonce=1,
            atom="A1",
            role="worker",
            own=Total(sessions=1, tokens=9, usd=0.125, seconds=5),
            running=False,
        ),
        SessionSpending(
            nonce=2, atom="A2", role="worker", own=Total(sessions=1, seconds=6), running=False
        ),
        SessionSpending(
            nonce=5, atom="A2", role="worker", own=Total(sessions=1, seconds=2), running=True
        ),
    )


def test_a_session_whose_branch_was_left_ends_when_its_atom_is_started_again() -> None:
    story: list[Event] = [
        SessionStarted(atom=A1, role=Role.WORKER),
        SessionStarted(atom=A1, role=Role.WORKER, elapsed=3),
        Waited(elapsed=1),
    ]
    assert [(one.total.seconds, one.running) for one in spending_of(story).sessions] == [
        (3, False),
        (1, True),
    ]


def test_a_late_report_adds_to_the_session_that_it_is_of() -> None:
    story: list[Event] = [
        SessionStarted(atom=A1, role=Role.WORKER),
        SessionInterrupted(atom=A1, nonce=1, elapsed=2, cause=Interruption.STOP),
        SessionStarted(atom=A1, role=Role.PROBE),
        AtomResolved(atom=A1, nonce=1, elapsed=1, summary="late", usage=Usage(tokens=8)),
    ]
    assert spending_of(story).by_role == {
        "worker": Total(sessions=1, tokens=8, unpriced=8, seconds=2),
        "probe": Total(sessions=1, seconds=1),
    }


def test_a_journal_that_goes_on_from_another_place() -> None:
    """A plan file with a revision and without its journal begins one in the middle."""
    story: list[Event] = [
        SessionStarted(atom=A1, role=Role.WORKER),
        AtomResolved(atom=A1, nonce=41, summary="s", usage=Usage(tokens=1, usd=1.0)),
        AttemptFailed(atom=A2, nonce=7, reason="begun before", usage=Usage(tokens=2, usd=1.0)),
    ]
    assert spending_of(story, first=41).by_role == {
        "worker": Total(sessions=1, tokens=1, usd=1.0),
        "unknown": Total(sessions=1, tokens=2, usd=1.0),
    }


@pytest.mark.parametrize("usd", [math.nan, math.inf, -math.inf, -1.0])
def test_what_cannot_be_is_not_added(usd: float) -> None:
    story: list[Event] = [
        SessionStarted(atom=A1, role=Role.WORKER, elapsed=-5),
        AttemptFailed(
            atom=A1, nonce=1, reason="r", elapsed=math.nan, usage=Usage(tokens=-5, read=-1, usd=usd)
        ),
    ]
    assert spending_of(story).run == Total(sessions=1)
