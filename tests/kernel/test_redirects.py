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
    Retry,
    SessionStarted,
    SetLimit,
)
from dwindle.kernel.model import (
    ROOT,
    Aligned,
    Atom,
    AtomId,
    Binding,
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

A1, A2, A3, A4 = AtomId("A1"), AtomId("A2"), AtomId("A3"), AtomId("A4")
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


# --- trying again --------------------------------------------------------------------------------


def test_what_is_tried_again_has_all_that_it_began_with() -> None:
    """Its parts that are done stay done; the rest of the plan is left alone."""
    used = {"attempts": 3, "probes": 1, "allowed": 3, "infeasible": "no compiler"}
    plan = with_atoms(running("A1[A2 A3] A4"), A1={"attempts": 1}, A2=DONE, A3=used, A4=used)
    again = after(plan, redirect(Retry(node="A1")))
    assert again.atoms[A3] == Atom(id=A3, description="A3")
    assert {n: again.atoms[n] for n in (A1, A2, A4)} == {n: plan.atoms[n] for n in (A1, A2, A4)}
    assert again.trail[-1].atom == "A1"


def test_a_choice_point_that_is_tried_again_has_every_way_untried() -> None:
    """What a file calls done under a way that was given up is on no branch."""
    plan = with_groups(
        with_atoms(running("G1{A1[A3]|A2}"), A2={"attempts": 1}, A3=DONE),
        G1={"failed": (A1, A2), "selected": A2},
    )
    again = after(
        replace(plan, bindings={A3: Binding(summary="three")}), redirect(Retry(node="G1"))
    )
    assert again.groups[G1] == OrGroup(id=G1, choices=(A1, A2), selected=A2)
    assert {n: (a.status, a.attempts) for n, a in again.atoms.items()} == {
        "A1": ("pending", 0),
        "A2": ("pending", 0),
        "A3": ("pending", 0),
    }
    assert again.bindings == {}


def test_a_way_in_force_stays_so_when_the_others_may_be_tried_again() -> None:
    plan = with_groups(running("G1{A1|A2}"), G1={"failed": (A1,), "selected": A2})
    assert after(plan, redirect(Retry(node="G1"))).groups[G1].selected == "A2"


def test_the_verification_is_tried_again_with_all_its_rounds() -> None:
    plan = with_atoms(running("A1"), A1=DONE)
    plan = replace(plan, spent=replace(plan.spent, verifications=3))
    again = after(plan, redirect(Retry(node=ROOT)))
    assert (again.spent, again.trail) == (Spent(created=1, redirects=1), ())


def test_work_that_is_tried_again_may_begin_at_another_commit() -> None:
    at = Aligned(commit="c0ffee", pins=("check.sh",))
    plan = with_atoms(running("A1 A2"), A1=DONE, A2={"attempts": 3})
    event = replace(redirect(Retry(node="A2")), aligned=at, unreplayed=(A1,))
    again = after(plan, event)
    assert again.control.aligned == at
    assert again.atoms[A1].status is Status.PENDING


def test_what_is_tried_again_leaves_fuel_for_unwritten_choices() -> None:
    plan = with_groups(
        running("G1{A1[G2{A3|A4?}]|A2}", max_atoms=0),
        G1={"failed": (A1, A2), "selected": A2},
    )
    assert refusal(plan, redirect(Retry(node="G1"))).endswith("raise max_atoms first")


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
    assert told(plan, redirect(Retry(node="G1"))) == ["G1"]
    tried = with_atoms(running("G1{A1|A2}"), A1={"attempts": 1})
    assert told(tried, redirect(Retry(node="A1"))) == ["G1"]
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
