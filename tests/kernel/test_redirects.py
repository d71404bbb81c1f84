"""What every redirect does, whatever it changes: charges, records, forgets, and names."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.kernel.story import after, redirect, refusal, running, started, with_atoms, with_groups

from dwindle.kernel.events import (
    AddAtom,
    ChangeObjective,
    ForceChoice,
    NewAtom,
    Redirected,
    RemoveAtom,
    SessionStarted,
    SetLimit,
)
from dwindle.kernel.model import (
    ROOT,
    AtomId,
    Control,
    Correction,
    CorrectionType,
    GroupId,
    OrGroup,
    Pace,
    Plan,
    Role,
    RunStatus,
    Spent,
    Status,
    StopCode,
    TrailEntry,
    TrailType,
    Verification,
)

A1, A2, A3 = AtomId("A1"), AtomId("A2"), AtomId("A3")
G1, G2 = GroupId("G1"), GroupId("G2")
DONE = {"status": Status.RESOLVED, "attempts": 1}
FEWER = SetLimit(name="max_iterations", value=19)


@pytest.mark.parametrize(("rounds", "left_with"), [(3, 2), (2, 2), (1, 1)])
def test_afterwards_the_run_runs_and_nothing_of_its_end_is_left(
    rounds: int, left_with: int
) -> None:
    plan = replace(
        running("A1"),
        spent=Spent(created=1, verifications=rounds, redirects=2),
        control=Control(
            status=RunStatus.STOPPED,
            iteration=4,
            stall_count=2,
            prev_pending_count=1,
            stop_requested=True,
            stop_reason="r",
            stop_code=StopCode.STALLED,
            redirect_requested=True,
            run_id="R",
            revision=9,
        ),
        pace=Pace(
            filling=False,
            started=2,
            generation=(7,),
            advanced=True,
            charged=True,
            branch_changed=True,
        ),
        verification=Verification(unmended=1),
    )
    changed = after(plan, replace(redirect(FEWER), at="t"))
    assert changed == replace(
        plan,
        limits=replace(plan.limits.stating("max_iterations"), max_iterations=19),
        spent=Spent(created=1, verifications=left_with, redirects=3),
        control=Control(
            status=RunStatus.RUNNING,
            iteration=4,
            prev_pending_count=1,
            run_id="R",
            revision=10,
        ),
        pace=Pace(started=2, branch_changed=True, advanced=True),
        verification=Verification(),
        corrections=(
            Correction(
                timestamp="t",
                type=CorrectionType.CONSTRAINT_CHANGE,
                description="because",
                trail_cleared=False,
            ),
        ),
    )


def test_a_round_that_it_cuts_short_is_given_back() -> None:
    done = with_atoms(running("A1"), A1=DONE)
    judged = after(done, SessionStarted(atom=ROOT, role=Role.VERIFIER))
    changed = after(judged, redirect(FEWER))
    assert (changed.sessions, changed.spent) == ({}, Spent(created=1, sessions=1, redirects=1))


def test_sessions_that_it_cuts_short_are_given_back() -> None:
    plan = after(
        with_atoms(running("A1 A2 A3"), A3={"status": Status.IN_PROGRESS, "attempts": 1}),
        *(started("A1"), started("A2", Role.PROBE), redirect(FEWER)),
    )
    assert [(a.status, a.attempts, a.probes) for a in plan.atoms.values()] == [
        ("pending", 0, 0),
        ("pending", 0, 0),
        ("pending", 1, 0),  # an orphan: its outcome is not known
    ]


def test_every_edit_has_the_scope_of_the_redirect() -> None:
    mixed = replace(redirect(RemoveAtom(atom=A2)), edits=(RemoveAtom(atom=A2), FEWER))
    assert refusal(running("A1 A2"), mixed) == "Redirected: not every edit is a dag_adjustment"


def test_work_that_was_lost_is_done_again_if_its_atom_is_still_there() -> None:
    plan = with_atoms(running("A1 A2"), A1=DONE)
    event = replace(redirect(RemoveAtom(atom=A2)), unreplayed=(A1, A2))
    changed = after(plan, event)
    assert {n: a.status for n, a in changed.atoms.items()} == {"A1": "pending"}


# --- what the Trail is told ----------------------------------------------------------------------


def told(plan: Plan, event: Redirected) -> list[str | None]:
    return [entry.atom for entry in after(plan, event).trail]


def test_a_choice_that_a_person_confirms_is_named() -> None:
    """A1 was in force before; it is done again, and G1 counts as decided now."""
    plan = with_atoms(running("A3<-G1 G1{A1|A2}"), A1=DONE, A3=DONE)
    assert told(plan, redirect(ForceChoice(group=G1, choice=A1))) == ["A1"]


def test_another_way_is_no_decision() -> None:
    plan = with_groups(running("G1{A1|A2}"), G1={"failed": (A1, A2)})
    added = AddAtom(new=NewAtom(description="new"), group=G1)
    assert told(plan, redirect(added)) == ["G1"]
    assert told(running("A1"), redirect(AddAtom(new=NewAtom(description="new")))) == ["A2"]


# --- another objective ---------------------------------------------------------------------------


def test_another_objective_keeps_the_choices_in_force_and_forgets_the_failed() -> None:
    plan = replace(
        with_groups(running("G1{A1|A2} G2~{A3|A4}"), G1={"failed": (A1,), "selected": A1}),
        trail=(TrailEntry(type=TrailType.BACKTRACK, or_group=G1, reason="r", timestamp="t"),),
    )
    changed = after(plan, redirect(ChangeObjective(goal="another")))
    assert changed.groups == {
        G1: OrGroup(id=G1, choices=(A1, A2), selected=A2),
        G2: OrGroup(id=G2, choices=(A3, AtomId("A4")), selected=A3, speculative=True),
    }
    assert changed.trail == ()
