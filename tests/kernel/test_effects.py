"""What events do, where the case folder does not look: the last of a budget, lists of two."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.kernel.story import after, refusal, running, started, with_atoms

from dwindle.kernel.actions import Backjump
from dwindle.kernel.decide import decide
from dwindle.kernel.effects import advances
from dwindle.kernel.events import (
    Backjumped,
    ChoiceFailed,
    Gap,
    IterationCommitted,
    ProbeEnded,
    RunEnded,
    RunStarted,
    SessionStarted,
    VerificationEnded,
)
from dwindle.kernel.model import (
    ROOT,
    AtomId,
    Control,
    GroupId,
    Role,
    RunStatus,
    Spent,
    Status,
    StopCode,
    Verification,
)

A1, A2, A3, A4 = (AtomId(n) for n in ("A1", "A2", "A3", "A4"))
G1 = GroupId("G1")
DONE = {"status": Status.RESOLVED, "attempts": 1}


def test_a_run_begins_with_no_request_standing() -> None:
    asked = Control(
        status=RunStatus.STOPPED,
        stop_requested=True,
        stop_reason="r",
        stop_code=StopCode.LOCKED,
        redirect_requested=True,
        run_id="R",
        iteration=4,
        revision=9,
    )
    again = after(replace(running("A1"), control=asked), RunStarted(run_id="S"))
    assert again.control == Control(status=RunStatus.RUNNING, run_id="R", iteration=4, revision=10)


def test_a_run_does_not_end_under_its_sessions() -> None:
    busy = after(running("A1 A2"), started("A1"), started("A2"))
    event = RunEnded(code=StopCode.STALLED, reason="r")
    assert refusal(busy, event) == "RunEnded: sessions are still running: A1, A2"


def test_a_commit_is_noted_and_changes_nothing() -> None:
    plan = running("A1")
    noted = after(plan, IterationCommitted(number=1, commit="c0ffee", subject="s", elapsed=2.5))
    assert noted == replace(
        plan,
        control=replace(plan.control, revision=1),
        spent=replace(plan.spent, seconds=2.5),
    )


def test_the_last_backjump_may_pay_for_lost_commits() -> None:
    plan = with_atoms(running("A3 G1{A1|A2}", max_backjumps=1), A1={"attempts": 1}, A3=DONE)
    event = ChoiceFailed(group=G1, choice=A1, reason="red", unreplayed=(A3,))
    paid = after(plan, event)
    assert (paid.spent, paid.atoms[A3].status) == (Spent(created=3, backjumps=1), Status.PENDING)
    poor = replace(plan, spent=Spent(created=3, backjumps=1))
    assert refusal(poor, event) == (
        "ChoiceFailed: commits were lost and no backjump is left to pay for them"
    )


@pytest.mark.parametrize("lost", ["A4", "A9"])
def test_a_backjump_loses_only_what_is_there(lost: str) -> None:
    plan = with_atoms(
        running("A3<-G1 G1{A1|A2} A4", max_probes=0, max_winds=0), A1=DONE, A3={"attempts": 3}
    )
    assert isinstance(decide(plan).actions[0], Backjump)
    event = Backjumped(group=G1, atom=A3, reason="r", unreplayed=(AtomId(lost),))
    assert refusal(plan, event) == f"Backjumped: {lost} has no commit that could be lost"


@pytest.mark.parametrize(
    ("rounds", "winds", "fuel", "added", "unmended"),
    [
        (1, 0, 5, 0, 2),
        (1, 1, 5, 2, 0),
        (1, 1, 0, 0, 2),
        (2, 0, 5, 2, 0),
        (2, 0, 1, 1, 0),
        (2, 0, 0, 0, 2),
    ],
)
def test_gaps_are_mended_while_fuel_and_a_round_or_a_wind_for_one_are_left(
    rounds: int, winds: int, fuel: int, added: int, unmended: int
) -> None:
    limits = {"max_atoms": fuel, "max_verifications": rounds, "max_winds": winds}
    done = with_atoms(running("A1", **limits), A1=DONE)
    judged = after(done, SessionStarted(atom=ROOT, role=Role.VERIFIER))
    gaps = (Gap(item="one", evidence="e"), Gap(item="two", evidence="e"))
    plan = after(judged, VerificationEnded(atom=ROOT, nonce=1, passed=False, gaps=gaps))
    missed = ("one", "two") if unmended or rounds == 1 else ()
    assert (len(plan.atoms) - 1, plan.verification) == (
        added,
        Verification(unmended=unmended, not_passed=missed),
    )


@pytest.mark.parametrize(("attempts", "looks"), [(0, True), (2, True), (3, False)])
def test_a_first_look_gets_somewhere_and_the_ladders_last_hope_does_not(
    attempts: int, looks: bool
) -> None:
    plan = after(
        with_atoms(running("A1"), A1={"attempts": attempts, "probe": True}),
        started("A1", Role.PROBE),
    )
    assert advances(plan, ProbeEnded(atom=A1, nonce=1, findings="f")) is looks


def test_a_first_look_ends_a_row_of_stalls() -> None:
    plan = with_atoms(running("A1"), A1={"probe": True})
    plan = replace(plan, control=replace(plan.control, stall_count=2))
    looked = after(plan, started("A1", Role.PROBE), ProbeEnded(atom=A1, nonce=1, findings="f"))
    assert looked.control.stall_count == 0
