"""Everything that `validate` can say beyond structure: each problem once, in full."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.kernel.story import running, with_atoms, with_groups

from dwindle.kernel.model import (
    Atom,
    AtomId,
    BaseCase,
    Binding,
    Check,
    CheckType,
    Control,
    GroupId,
    Limits,
    OrGroup,
    Plan,
    PlanKind,
    Problem,
    Role,
    Session,
    Spent,
    Status,
)
from dwindle.kernel.problems import COUNTED_LIMITS, MAY_BE_ZERO, validate

A1, A2 = AtomId("A1"), AtomId("A2")
PLAIN = running("A1 A2<-A1")
DONE = {"status": Status.RESOLVED}
LIMIT = ("objective", "constraints")
JUDGED = Check(type=CheckType.ASSERTION, value="it feels fast")


def limited(**limits: Any) -> Plan:
    return replace(PLAIN, limits=replace(PLAIN.limits, **limits))


def test_a_sound_plan_has_no_problems() -> None:
    assert validate(PLAIN) == ()


@pytest.mark.parametrize(
    ("plan", "problem"),
    [
        (
            replace(PLAIN, objective=replace(PLAIN.objective, goal=" ")),
            Problem(
                where=("objective", "goal"),
                what="goal is blank",
                hint="align on it before the loop starts",
                unaligned=True,
            ),
        ),
        (
            replace(PLAIN, objective=replace(PLAIN.objective, base_case=BaseCase())),
            Problem(
                where=("objective", "base_case", "checklist"),
                what="the checklist is empty",
                hint="name at least one check that a machine can run",
                unaligned=True,
            ),
        ),
        (
            replace(PLAIN, atoms={}),
            Problem(
                where=("atoms",),
                what="there is no atom",
                hint="a plan needs at least one",
                unaligned=True,
            ),
        ),
        (
            limited(max_parallel_agents=0),
            Problem(
                where=(*LIMIT, "max_parallel_agents"),
                what="max_parallel_agents is 0, which would allow nothing",
                hint="give 1 or more; leave it out for the default",
            ),
        ),
        (
            limited(max_probes=-1),
            Problem(
                where=(*LIMIT, "max_probes"),
                what="max_probes is -1, which would mean nothing",
                hint="give 0 or more; leave it out for the default",
            ),
        ),
        (
            replace(
                limited(early_verify=True),
                objective=replace(PLAIN.objective, base_case=BaseCase(check=JUDGED)),
            ),
            Problem(
                where=(*LIMIT, "early_verify"),
                what="early_verify does nothing: the base case needs a judge",
                hint="leave it out, or make every check one that a machine can run",
                warning=True,
            ),
        ),
        (
            limited(max_cost_usd=float("inf")),
            Problem(
                where=(*LIMIT, "max_cost_usd"),
                what="max_cost_usd is inf, which would mean nothing",
                hint="give more than 0, or leave it out",
            ),
        ),
        (
            limited(max_stall_count=2),
            Problem(
                where=(*LIMIT, "max_stall_count"),
                what="max_stall_count 2 is below max_attempts 3: the run may stop while attempts "
                "are left",
                hint="raise it to 3",
                warning=True,
            ),
        ),
        (
            replace(PLAIN, control=replace(PLAIN.control, iteration=-1)),
            Problem(
                where=("control", "iteration"),
                what="iteration is -1",
                hint="it is never below 0",
            ),
        ),
        (
            replace(PLAIN, control=replace(PLAIN.control, prev_pending_count=-2)),
            Problem(
                where=("control", "prev_pending_count"),
                what="prev_pending_count is -2",
                hint="it is never below -1",
            ),
        ),
        (
            replace(PLAIN, control=replace(PLAIN.control, revision=-1)),
            Problem(where=("control", "revision"), what="revision is negative"),
        ),
        (
            replace(PLAIN, spent=replace(PLAIN.spent, usd=-0.5)),
            Problem(
                where=("control", "spent", "usd"), what="usd is negative", hint="counters grow"
            ),
        ),
        (
            replace(PLAIN, spent=Spent(created=1)),
            Problem(
                where=("control", "spent", "created"),
                what="1 atoms were created, it says, and 2 are here",
                hint="leave it out, or raise it",
            ),
        ),
        (
            with_atoms(PLAIN, A2=DONE),
            Problem(
                where=("atoms", 1, "status"),
                what="A2 is resolved before something that it depends on",
                hint="it stays resolved; remove the dependency if that is right",
                warning=True,
            ),
        ),
        (
            replace(
                PLAIN,
                control=replace(PLAIN.control, revision=1),
                sessions={A1: Session(nonce=1, number=1, role=Role.WORKER)},
            ),
            Problem(where=("atoms", 0, "status"), what="A1 is pending and has a session in flight"),
        ),
        (
            replace(PLAIN, bindings={A1: Binding(summary="s")}),
            Problem(
                where=("bindings", "A1"),
                what="A1 has a binding and is pending",
                hint="a binding stands for a resolved atom",
                warning=True,
            ),
        ),
        (
            replace(PLAIN, spent=Spent(created=2, forgiven=52)),
            Problem(
                where=(*LIMIT, "max_forgiven"),
                what="max_forgiven is 50, less than what is spent already",
                hint="raise it by 2 or more",
            ),
        ),
        (
            replace(PLAIN, spent=Spent(created=2, redirects=21)),
            Problem(
                where=(*LIMIT, "max_redirects"),
                what="max_redirects is 20, less than what is spent already",
                hint="raise it by 1 or more",
            ),
        ),
        (
            replace(PLAIN, spent=Spent(created=2, verifications=4)),
            Problem(
                where=(*LIMIT, "max_verifications"),
                what="max_verifications is 3, less than what is spent already",
                hint="raise it by 1 or more",
            ),
        ),
        (
            replace(PLAIN, spent=Spent(created=2, backjumps=4)),
            Problem(
                where=(*LIMIT, "max_backjumps"),
                what="max_backjumps is 3, less than what is spent already",
                hint="raise it by 1 or more",
            ),
        ),
        (
            running("G1{A1|A2?|A3?}", max_atoms=1),
            Problem(
                where=(*LIMIT, "max_atoms"),
                what="max_atoms 2 leaves no room for A2, A3",
                hint="raise it to 3 or more",
            ),
        ),
        (
            running("A1 A2", max_atoms=-1),
            Problem(
                where=(*LIMIT, "max_atoms"),
                what="max_atoms 1 leaves no room for what exists already",
                hint="raise it to 2 or more",
            ),
        ),
    ],
)
def test_a_plan_with_one_problem(plan: Plan, problem: Problem) -> None:
    assert validate(plan) == (problem,)


def test_what_is_used_up_to_the_last_is_no_problem() -> None:
    assert validate(limited(early_verify=True)) == ()
    assert validate(limited(max_cost_usd=0.01)) == ()
    judged = replace(PLAIN.objective, base_case=BaseCase(check=JUDGED))
    assert validate(replace(PLAIN, objective=judged)) == ()
    used_up = Spent(created=7, redirects=20, forgiven=50, verifications=3, backjumps=3)
    assert validate(replace(PLAIN, spent=used_up)) == ()


@pytest.mark.parametrize("name", COUNTED_LIMITS)
def test_zero_is_refused_where_it_would_mean_nothing_at_all(name: str) -> None:
    wrong = [p.where for p in validate(limited(**{name: 0})) if not p.warning]
    assert ((*LIMIT, name) in wrong) == (name not in MAY_BE_ZERO)


def test_every_problem_is_said_at_once_in_the_order_of_the_file() -> None:
    plan = replace(
        limited(max_depth=-1),
        objective=replace(PLAIN.objective, goal="", deliverables=""),
        control=Control(stall_count=-1),
        atoms={**PLAIN.atoms, A2: Atom(id=A2, description="", depends_on=("A2",))},
    )
    assert [p.where for p in validate(plan)] == [
        ("objective", "goal"),
        ("objective", "deliverables"),
        (*LIMIT, "max_depth"),
        ("control", "stall_count"),
        ("atoms", 1, "description"),
        ("atoms", 1, "depends_on"),
    ]


def test_a_tree_has_its_objective_and_its_limits_elsewhere() -> None:
    tree = replace(
        PLAIN,
        kind=PlanKind.TREE,
        objective=replace(PLAIN.objective, goal="", base_case=BaseCase()),
        limits=replace(PLAIN.limits, max_verifications=0, max_stall_count=0),
    )
    assert validate(tree) == ()


def test_an_unselected_or_buried_branch_may_be_in_any_state() -> None:
    """Only what is live must add up; the rest is not looked at before it is chosen."""
    plan = with_groups(
        with_atoms(running("G1{A1[A2]|A3}"), A1=DONE), G1={"failed": (A1,), "selected": "A3"}
    )
    assert validate(plan) == ()


def test_groups_may_name_no_more_than_the_fuel_can_write() -> None:
    plan = replace(
        running("A1"),
        limits=Limits(max_atoms=2),
        groups={GroupId("G1"): OrGroup(id=GroupId("G1"), choices=(A1, A2), selected=A1)},
    )
    assert validate(plan) == ()
