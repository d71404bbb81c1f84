"""What a planner is told: what was said, and the frontier of the plan; all of it bounded."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from tests.runner.story import FIRST_PLAN

from dwindle.kernel.model import (
    Atom,
    AtomId,
    BaseCase,
    Binding,
    Check,
    ChecklistItem,
    CheckType,
    GroupId,
    Limits,
    OrGroup,
    Plan,
    Spent,
    Status,
    TrailEntry,
    TrailType,
)
from dwindle.ports.work import Failure, Occasion, PlanningOrder, Said, Speaker
from dwindle.runner.orders.planning import (
    bounded_order,
    frontier_json,
    frontier_of,
    planning_order_json,
)

TESTS = Check(type=CheckType.COMMAND, value="make test")
PLAN = replace(
    FIRST_PLAN,
    objective=replace(
        FIRST_PLAN.objective,
        base_case=BaseCase(
            checklist=(
                ChecklistItem(item="Tests", check=TESTS),
                ChecklistItem(
                    item="Either",
                    any_of=(
                        ChecklistItem(item="a", check=TESTS),
                        ChecklistItem(item="b", group=(ChecklistItem(item="c", check=TESTS),)),
                    ),
                ),
            )
        ),
        protected_paths=("tests",),
    ),
    atoms={
        AtomId("A1"): Atom(id=AtomId("A1"), description="First", status=Status.RESOLVED),
        AtomId("A2"): Atom(
            id=AtomId("A2"), description="One way", or_group=GroupId("or_A2"), attempts=1
        ),
        AtomId("A3"): Atom(id=AtomId("A3"), description="Other way", or_group=GroupId("or_A2")),
        AtomId("A4"): Atom(id=AtomId("A4"), description="Last", depends_on=("or_A2",), check=TESTS),
    },
    groups={
        GroupId("or_A2"): OrGroup(
            id=GroupId("or_A2"), choices=(AtomId("A2"), AtomId("A3")), selected=AtomId("A2")
        )
    },
    bindings={AtomId("A1"): Binding(summary="It is there", artifacts=("a.py",))},
    trail=(
        TrailEntry(
            type=TrailType.FAILURE,
            atom="A2",
            attempt=1,
            reason="it did not work",
            timestamp="2026-01-01T00:00:00Z",
        ),
    ),
    spent=Spent(created=4, sessions=2),
    limits=Limits(max_cost_usd=5.0),
)
ORDER = PlanningOrder(
    purpose=Occasion.REDIRECT,
    words="Faster, please",
    run="01RUN",
    session=2,
    transcript=(
        Said(by=Speaker.PLANNER, text="How much?"),
        Said(by=Speaker.PERSON, text="Twice: ü"),
    ),
    draft="  set max_iterations to 40",
    frontier=frontier_of(PLAN),
    failures=(Failure(attempt=1, reason="there is no atom A9"),),
    may_ask=False,
    timeout_seconds=60.0,
)
GOLDEN_PLAN: dict[str, Any] = {
    "objective": {
        "goal": "a goal",
        "background_intent": "an intent",
        "deliverables": "something",
        "definition_of_done": "done",
        "base_case": {
            "checklist": [
                {"item": "Tests", "check": {"type": "command", "value": "make test"}},
                {
                    "item": "Either",
                    "any_of": [
                        {"item": "a", "check": {"type": "command", "value": "make test"}},
                        {
                            "item": "b",
                            "group": [
                                {"item": "c", "check": {"type": "command", "value": "make test"}}
                            ],
                        },
                    ],
                },
            ]
        },
        "protected_paths": ["tests"],
        "work_paths": [],
    },
    "status": "pending",
    "iteration": 0,
    "open": 2,
    "atoms": [
        {
            "id": "A2",
            "description": "One way",
            "status": "pending",
            "depends_on": [],
            "attempts": 1,
        },
        {
            "id": "A4",
            "description": "Last",
            "status": "pending",
            "depends_on": ["or_A2"],
            "attempts": 0,
        },
    ],
    "or_groups": {
        "or_A2": {
            "choices": {"A2": "One way", "A3": "Other way"},
            "selected": "A2",
            "failed": [],
        }
    },
    "bindings": {"A1": "It is there"},
    "failures": [{"atom": "A2", "attempt": 1, "reason": "it did not work"}],
    "left_out": 0,
}


def test_the_order_as_a_program_reads_it() -> None:
    data = planning_order_json(ORDER)
    found = json.loads(data)
    limits, spent = found["plan"].pop("limits"), found["plan"].pop("spent")
    assert (limits["max_iterations"], limits["max_cost_usd"], limits["max_tokens"]) == (
        20,
        5.0,
        None,
    )
    assert ("stated" in limits, spent["created"], spent["sessions"]) == (False, 4, 2)
    assert json.dumps(found) == json.dumps(
        {
            "role": "planner",
            "run": "01RUN",
            "atom": "",
            "description": "Faster, please",
            "attempt": 2,
            "nonce": 2,
            "bindings": {},
            "checks": [],
            "failures": [{"attempt": 1, "reason": "there is no atom A9"}],
            "purpose": "redirect",
            "why": "",
            "transcript": [
                {"by": "planner", "text": "How much?"},
                {"by": "person", "text": "Twice: ü"},
            ],
            "draft": "  set max_iterations to 40",
            "plan": GOLDEN_PLAN,
            "may_ask": False,
            "session_of_atom": 2,
            "timeout_seconds": 60.0,
        }
    )
    assert data == planning_order_json(replace(ORDER, frontier=frontier_of(PLAN)))


def test_before_there_is_a_plan_there_is_none_in_the_order() -> None:
    order = PlanningOrder(purpose=Occasion.ALIGN, words="Read dates", why="They are not")
    found = json.loads(planning_order_json(order))
    assert (found["purpose"], found["why"], found["plan"]) == ("align", "They are not", None)


def test_one_check_is_a_base_case_too() -> None:
    found = frontier_json(frontier_of(FIRST_PLAN))
    assert found["objective"]["base_case"] == {"type": "command", "value": "true"}


def flat(count: int) -> Plan:
    """Too much of everything; a third of the atoms are resolved."""
    long = "x" * 5000
    names = [AtomId(f"A{n}") for n in range(count)]
    done = {n: Atom(id=n, description=long, status=Status.RESOLVED) for n in names[: count // 3]}
    waiting = {n: Atom(id=n, description=long) for n in names[count // 3 :]}
    objective = replace(
        PLAN.objective,
        goal=long,
        background_intent=long,
        deliverables=long,
        definition_of_done=long,
        base_case=BaseCase(checklist=(ChecklistItem(item=long, check=TESTS),) * 9),
        protected_paths=("tests",) * 1000,
    )
    groups = [
        OrGroup(
            id=GroupId(f"g{n}"),
            choices=(names[-1 - n], *(AtomId(f"U{n}.{m}") for m in range(30))),
            selected=names[-1 - n],
        )
        for n in range(60)
    ]
    entry = TrailEntry(type=TrailType.FAILURE, atom="A1", reason=long, timestamp="now")
    return replace(
        PLAN,
        objective=objective,
        atoms=done | waiting,
        groups={group.id: group for group in groups},
        bindings={name: Binding(summary=long) for name in done},
        trail=(entry,) * 500,
        spent=Spent(created=count),
    )


def test_nothing_makes_an_order_long() -> None:
    long = "y" * 50_000
    order = bounded_order(
        replace(
            ORDER,
            words=long,
            why=long,
            draft=long * 10,
            transcript=tuple(Said(by=Speaker.PERSON, text=f"{n} {long}") for n in range(500)),
            failures=tuple(Failure(attempt=n, reason=long) for n in range(9)),
        )
    )
    assert (len(order.words), len(order.why), len(order.draft)) == (10_000, 10_000, 100_000)
    assert [len(line.text) for line in order.transcript] == [4000] * 80
    assert order.transcript[-1].text.startswith("499 ")
    assert [(f.attempt, len(f.reason)) for f in order.failures] == [(7, 4000), (8, 4000)]


def test_nor_does_a_large_plan() -> None:
    found = frontier_json(frontier_of(flat(3000)))
    assert [len(found[name]) for name in ("atoms", "bindings", "failures")] == [100, 100, 5]
    assert {len(group["choices"]) for group in found["or_groups"].values()} == {10}
    assert list(found["or_groups"]["g0"]["choices"].items())[1] == ("U0.0", "")
    assert (len(found["or_groups"]), found["left_out"]) == (50, 2000 - 100 + 1000 - 100 + 60 - 50)
    assert {len(atom["description"]) for atom in found["atoms"]} == {300}
    assert found["objective"]["base_case"] == "too long to be shown here"
    assert len(json.dumps(found)) < 100_000
    # The bindings that are shown are the latest.
    assert list(found["bindings"])[-1] == "A999"
