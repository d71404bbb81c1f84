"""Limits that fit a plan, and what they mean."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.kernel.story import after, unlucky_step
from tests.model.small_plans import plan_from

from dwindle.kernel.decide import decide
from dwindle.kernel.events import RunStarted
from dwindle.kernel.measure import session_bound
from dwindle.kernel.model import AtomId, Dispatch, Limits, Plan, Problem, Status, StopCode
from dwindle.kernel.proposal import (
    Size,
    expected_sessions,
    size_of,
    too_few_sessions,
    with_proposed_limits,
)


def drawn(text: str, **limits: Any) -> Plan:
    return plan_from(text, replace(Limits(max_atoms=50), **limits))


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("A1 A2 A3<-A1", Size(tasks=3, other_ways=0)),
        ("A1[A2 A3]", Size(tasks=2, other_ways=0)),
        ("G1{A1|A2|A3} A4", Size(tasks=2, other_ways=2)),
        ("G1{A1[A3 A4]|A2}", Size(tasks=2, other_ways=1)),
        ("G1~{A1|A2} A3", Size(tasks=2, other_ways=0)),
    ],
)
def test_what_there_is_to_do(text: str, size: Size) -> None:
    assert size_of(drawn(text)) == size


def test_what_is_done_or_given_up_counts_no_more() -> None:
    plan = drawn("G1{A1|A2} A3")
    atoms = dict(plan.atoms)
    atoms[AtomId("A3")] = replace(atoms[AtomId("A3")], status=Status.RESOLVED)
    (group,) = plan.groups.values()
    failed = replace(group, failed=(AtomId("A1"),), selected=AtomId("A2"))
    assert size_of(replace(plan, atoms=atoms, groups={group.id: failed})) == Size(
        tasks=1, other_ways=0
    )


def test_a_race_that_is_won_is_no_task() -> None:
    plan = drawn("G1~{A1|A2}")
    won = replace(plan.atoms[AtomId("A1")], status=Status.RESOLVED)
    assert size_of(replace(plan, atoms={**plan.atoms, AtomId("A1"): won})).tasks == 0


def test_how_many_sessions_to_expect() -> None:
    twenty = Size(tasks=20, other_ways=3)
    assert [expected_sessions(twenty, p) for p in (0.3, 0.5, 0.8)] == [70, 43, 28]
    assert expected_sessions(twenty) == 43


EVERYTHING = 10 * (1 + 1 + 1 + 2 + 1 + 1 + 2) + 1 + 6
"""Attempts at first and in six winds, and as many probes: what one leaf can have at most."""


def test_limits_grow_with_the_plan() -> None:
    text = " ".join(f"A{n}" for n in range(1, 18)) + " G1{A18|A21} G2{A19|A22} G3{A20|A23}"
    plan = with_proposed_limits(drawn(text, dispatch=Dispatch.REFILL))
    limits = plan.limits
    assert (limits.max_iterations, limits.max_attempts, limits.max_stall_count) == (744, 10, 10)
    assert limits.max_iterations == -(-23 * EVERYTHING // 3)
    assert (limits.max_winds, limits.max_wall_seconds) == (6, 30 * 3600)  # 23 + 97 quarters
    assert limits.stated == ("max_attempts", "max_winds", "max_wall_seconds")
    assert session_bound(plan) == 744 * 3 + 3 + 50 + 6 * 3  # "at most 2,303"
    choices = [c for g in plan.groups.values() for c in g.choices]
    assert {n: a.max_attempts for n, a in plan.atoms.items() if a.max_attempts is not None} == (
        dict.fromkeys(choices, 10)
    )


def test_a_large_plan_gets_more_than_a_day() -> None:
    plan = with_proposed_limits(drawn(" ".join(f"A{n}" for n in range(1, 201))))
    assert plan.limits.max_wall_seconds == -(-(667 // 3 + EVERYTHING) // 4) * 3600


def test_in_waves_an_iteration_may_be_one_session() -> None:
    assert with_proposed_limits(drawn("A1")).limits.max_iterations == EVERYTHING
    side_by_side = with_proposed_limits(drawn("A1", dispatch=Dispatch.REFILL))
    assert side_by_side.limits.max_iterations == -(-EVERYTHING // 3)


def test_every_way_and_every_unwritten_alternative_may_use_up_what_it_is_granted() -> None:
    plan = drawn("G1{A1|A2|A3?} A4[A5 A6] A7")
    done = replace(plan.atoms[AtomId("A7")], status=Status.RESOLVED)
    plan = replace(plan, atoms={**plan.atoms, AtomId("A7"): done})
    unwritten = 1 * 9 + 7  # it is a choice, and has one attempt by default
    assert with_proposed_limits(plan).limits.max_iterations == 4 * EVERYTHING + unwritten
    without = replace(plan, limits=replace(plan.limits, max_probes=0, stated=("max_probes",)))
    assert with_proposed_limits(without).limits.max_iterations == 4 * 90 + 9


@pytest.mark.parametrize("dispatch", [Dispatch.WAVE, Dispatch.REFILL])
@pytest.mark.parametrize("text", ["A1", "A1 A2 A3 A4<-A1", "G1{A1|A2} A3<-G1"])
def test_a_hopeless_plan_ends_because_nothing_is_left_to_try(text: str, dispatch: Dispatch) -> None:
    """Every session fails; neither iterations nor stalls may end it before the winds are used."""
    plan = after(with_proposed_limits(drawn(text, dispatch=dispatch)), RunStarted())
    while (decision := decide(plan)).stop is None:
        plan = unlucky_step(plan)
    assert decision.stop.code in (StopCode.ATOM_EXHAUSTED, StopCode.OR_EXHAUSTED)
    assert plan.spent.winds == plan.limits.max_winds


def test_what_a_person_set_stays() -> None:
    plan = drawn("A1 G1{A2|A3}", max_attempts=2, max_winds=1)
    stated = replace(plan, limits=replace(plan.limits, stated=("max_attempts", "max_winds")))
    limits = with_proposed_limits(stated, ("max_iterations", "max_stall_count")).limits
    assert (limits.max_iterations, limits.max_stall_count) == (20, 3)
    assert (limits.max_attempts, limits.max_winds) == (2, 1)
    kept = with_proposed_limits(stated)
    assert kept.limits.max_stall_count == 3  # as many as attempts, and never fewer than usual
    assert [a.max_attempts for a in kept.atoms.values()] == [None, None, None]


def test_a_choice_that_says_otherwise_keeps_its_attempts() -> None:
    plan = drawn("G1{A1|A2}")
    own = replace(plan.atoms[AtomId("A1")], max_attempts=1)
    plan = with_proposed_limits(replace(plan, atoms={**plan.atoms, AtomId("A1"): own}))
    assert [a.max_attempts for a in plan.atoms.values()] == [1, 10]


def test_a_run_that_will_meet_its_iterations_early_is_told_so() -> None:
    plan = drawn("A1 A2 A3 A4", max_iterations=2)
    assert list(too_few_sessions(plan)) == [
        Problem(
            where=("objective", "constraints", "max_iterations"),
            what="about 8 sessions are to be expected (one in two succeeds), and 2 iterations of 3 "
            "allow 6: the run will end before it is done",
            hint="raise it to 6 or more: `dwindle redirect --set max_iterations=6`",
            warning=True,
        )
    ]
    assert list(too_few_sessions(drawn("A1 A2 A3", max_iterations=2))) == []
    assert list(too_few_sessions(with_proposed_limits(plan))) == []
