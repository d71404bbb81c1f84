"""Where the ladder looks: who is stuck, what was decided when, who was built upon what."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.kernel.story import running, with_atoms, with_groups

from dwindle.kernel.branches import (
    BackjumpRung,
    LastRung,
    ProbeRung,
    last_decided,
    reopened,
    rung,
    stuck,
    with_failed_choice,
)
from dwindle.kernel.model import AtomId, GroupId, Plan, Status, TrailEntry, TrailType

A1, A2, A3 = AtomId("A1"), AtomId("A2"), AtomId("A3")
DONE = {"status": Status.RESOLVED, "attempts": 1}
G1, G2 = GroupId("G1"), GroupId("G2")


def told(plan: Plan, *entries: TrailEntry) -> Plan:
    return replace(plan, trail=entries)


def chosen(group: GroupId) -> TrailEntry:
    return TrailEntry(or_group=group, selected=A1, reason="r", timestamp="t")


def test_a_dead_group_climbs_with_its_first_written_choice() -> None:
    plan = with_groups(running("G1{A1?|A2}"), G1={"failed": (A1, A2)})
    assert stuck(plan) == (A2,)


def test_a_group_was_decided_where_the_trail_speaks_of_it_last() -> None:
    plan = running("G1{A1|A2} G2{A3|A4}")
    assert last_decided(plan, G1) == -1
    assert last_decided(told(plan, chosen(G1)), G1) == 0
    assert last_decided(told(plan, chosen(G1)), G2) == -1
    assert last_decided(told(plan, chosen(G1), chosen(G2)), G1) == 0
    assert last_decided(told(plan, chosen(G1), chosen(G2), chosen(G1)), G1) == 2


def test_a_person_decides_by_taking_a_choice_and_a_failure_decides_nothing() -> None:
    plan = running("G1{A1|A2} A5")
    taken = TrailEntry(type=TrailType.USER_CORRECTION, atom=A2, reason="r", timestamp="t")
    assert last_decided(told(plan, taken), G1) == 0
    assert last_decided(told(plan, replace(taken, type=TrailType.FAILURE)), G1) == -1
    assert last_decided(told(plan, replace(taken, atom="A5")), G1) == -1


def used(plan: Plan) -> dict[str, tuple[str, int]]:
    return {name: (str(atom.status), atom.attempts) for name, atom in plan.atoms.items()}


def test_the_last_rungs_are_taken_while_there_is_something_to_pay_with() -> None:
    text = "A3<-G1 G1{A1|A2}"
    stuck_there: dict[str, dict[str, Any]] = {"A1": DONE, "A3": {"attempts": 3}}
    probing = with_atoms(running(text, max_atoms=1), **stuck_there)
    assert rung(probing, A3) == ProbeRung(A3)
    jumping = with_atoms(running(text, max_atoms=0, max_backjumps=1, max_winds=0), **stuck_there)
    assert rung(jumping, A3) == BackjumpRung(A3, G1, A1)
    last = with_atoms(running(text, max_atoms=0, max_backjumps=0, max_winds=0), **stuck_there)
    assert rung(last, A3) == LastRung(A3, None)


def test_what_only_failed_has_a_second_wind_before_anything_is_thrown_away() -> None:
    """Three of A3: it failed, a wind has granted it more before, it was called infeasible."""
    text = "A3<-G1 G1{A1|A2}"
    limits = {"max_atoms": 0, "max_backjumps": 1, "max_winds": 1}
    unlucky = with_atoms(running(text, **limits), A1=DONE, A3={"attempts": 3})
    assert rung(unlucky, A3) == LastRung(A3, None)
    granted = with_atoms(unlucky, A3={"attempts": 3, "allowed": 3})
    assert rung(granted, A3) == BackjumpRung(A3, G1, A1)
    called = with_atoms(unlucky, A3={"attempts": 3, "infeasible": "no"})
    assert rung(called, A3) == BackjumpRung(A3, G1, A1)
    none_left = replace(unlucky, spent=replace(unlucky.spent, winds=1))
    assert rung(none_left, A3) == BackjumpRung(A3, G1, A1)


def test_a_group_whose_last_choice_fails_keeps_its_record() -> None:
    plan = with_groups(running("G1{A1|A2}"), G1={"failed": (A1,), "selected": A2})
    after = with_failed_choice(plan, G1, A2)
    assert after.groups == with_groups(plan, G1={"failed": (A1, A2)}).groups


RACE = with_groups(
    with_atoms(
        running("G1~{A1[A3 A4]|A2[A5]|A6}"),
        A1=DONE,
        A3=DONE,
        A4=DONE,
        A5={"attempts": 2},
        A6={"attempts": 1},
    ),
    G1={"selected": A1},
)


def test_when_the_winner_of_a_race_is_reopened_the_others_may_try_again() -> None:
    """A4 is not asked for: it stays as it is, and so does all that is not in the race."""
    assert used(reopened(RACE, (A3,))) == {
        "A1": ("pending", 1),
        "A3": ("pending", 0),
        "A4": ("resolved", 1),
        "A2": ("pending", 0),
        "A5": ("pending", 0),
        "A6": ("pending", 0),
    }


def test_a_redirect_that_keeps_the_attempts_keeps_those_of_the_rivals() -> None:
    assert used(reopened(RACE, (A3,), attempts=False)) == {
        **used(RACE),
        "A1": ("pending", 1),
        "A3": ("pending", 1),
    }


def test_a_loser_that_is_reopened_leaves_the_winner_alone() -> None:
    assert used(reopened(RACE, (AtomId("A6"),))) == {**used(RACE), "A6": ("pending", 0)}


def test_choices_that_do_not_race_are_reopened_one_by_one() -> None:
    plan = with_atoms(running("G1{A1|A2}"), A1=DONE, A2={"attempts": 1})
    assert used(reopened(plan, (A1,))) == {"A1": ("pending", 0), "A2": ("pending", 1)}
