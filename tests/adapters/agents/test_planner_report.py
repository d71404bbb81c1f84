"""What a planner may say, and what it is told when it may not."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.adapters.agents.reports import refusal

from dwindle.adapters.agents.reports.report import DecodedReport, decode
from dwindle.kernel.events import (
    AddAtom,
    ChangeObjective,
    ForceChoice,
    NewAtom,
    OverrideBinding,
    RemoveAtom,
    SetLimit,
    Usage,
)
from dwindle.kernel.model import (
    AtomId,
    BaseCase,
    Check,
    ChecklistItem,
    CheckType,
    GroupId,
)
from dwindle.ports.work import (
    Occasion,
    PlannerDraft,
    PlannerEdits,
    PlannerQuestions,
    PlanningOrder,
)

ALIGN = PlanningOrder(purpose=Occasion.ALIGN, words="Read dates", session=2)
REDIRECT = replace(ALIGN, purpose=Occasion.REDIRECT, run="01RUN")
TESTS = {"type": "command", "value": "make test"}
OBJECTIVE = {
    "goal": "Dates are read",
    "background_intent": "They are not",
    "deliverables": "A reader",
    "definition_of_done": "Tests pass",
    "base_case": {"checklist": [{"item": "Tests", "check": TESTS}]},
}


def read(order: PlanningOrder, found: Any) -> DecodedReport:
    return decode(order, json.dumps(found).encode())


def faults(order: PlanningOrder, found: Any) -> list[str]:
    return refusal(read(order, found)).split("; ")


# --- questions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [ALIGN, REDIRECT])
def test_a_planner_may_ask(order: PlanningOrder) -> None:
    said = {"questions": ["Which?", "Why?"], "note": "I looked.", "usage": {"tokens": 7}}
    assert read(order, said) == DecodedReport(
        report=PlannerQuestions(questions=("Which?", "Why?"), note="I looked."),
        usage=Usage(tokens=7),
    )


def test_it_may_say_which_session_it_was() -> None:
    said = {"questions": ["Which?"], "run": "01RUN", "atom": "", "nonce": 2}
    assert read(REDIRECT, said).report == PlannerQuestions(questions=("Which?",))
    assert faults(REDIRECT, {"questions": ["Which?"], "nonce": 3}) == [
        "it is for nonce 3, and this session has 2"
    ]


def test_questions_are_few_and_say_something() -> None:
    assert faults(ALIGN, {"questions": list("abcdef")}) == [
        "questions has 6 entries, at most 5 are taken"
    ]
    assert faults(ALIGN, {"questions": ["a", " ", 3]}) == [
        "questions[1] is blank",
        "questions[2] is a number, not a text",
    ]


def test_a_long_question_is_cut() -> None:
    report = read(ALIGN, {"questions": ["x" * 5000]}).report
    assert report == PlannerQuestions(questions=("x" * 994 + " [...]",))


def test_one_asks_or_proposes() -> None:
    said = {"questions": ["Which?"], "edits": [{"edit": "remove_atom", "atom": "A1"}]}
    assert faults(REDIRECT, said) == ["questions and edits: either ask or propose"]
    assert faults(replace(ALIGN, may_ask=False), {"questions": ["Which?"]}) == [
        "questions: no more are answered, propose something"
    ]


@pytest.mark.parametrize("said", [{}, {"questions": []}, {"note": "Hm."}])
def test_one_does_either(said: Any) -> None:
    assert faults(ALIGN, said) == ["objective is missing", "atoms is missing"]
    assert faults(REDIRECT, said) == ["edits proposes nothing, and no question is asked"]


def test_each_occasion_has_its_own_keys() -> None:
    assert faults(REDIRECT, {"objective": OBJECTIVE, "edits": []}) == [
        "objective is not a key of it",
        "edits proposes nothing, and no question is asked",
    ]
    assert faults(ALIGN, {"success": True}) == [
        "success is not a key of it",
        "objective is missing",
        "atoms is missing",
    ]


# --- a draft -------------------------------------------------------------------------------------


def test_a_draft_is_handed_on_in_the_order_of_the_file_and_without_nulls() -> None:
    said = {
        "atoms": [
            {"description": "One", "id": "A1", "check": {"value": "true", "control": None}},
            {"description": "Two", "id": "A2", "depends_on": ["or_A1"], "touches": None},
        ],
        "or_groups": {"or_A1": {"choices": ["A1", "A9"]}},
        "decompositions": [{"reason": "big", "parent": "A2", "children": ["A3"]}],
        "objective": {**OBJECTIVE, "constraints": {"max_cost_usd": 5}},
        "note": "So.",
    }
    report = read(ALIGN, said).report
    assert isinstance(report, PlannerDraft)
    assert report.note == "So."
    assert json.dumps(report.draft) == json.dumps(
        {
            "objective": {**OBJECTIVE, "constraints": {"max_cost_usd": 5}},
            "atoms": [
                {"id": "A1", "description": "One", "check": {"value": "true"}},
                {"id": "A2", "description": "Two", "depends_on": ["or_A1"]},
            ],
            "decompositions": [{"parent": "A2", "children": ["A3"], "reason": "big"}],
            "or_groups": {"or_A1": {"choices": ["A1", "A9"]}},
        }
    )


def test_a_group_that_only_its_choices_name_is_made_of_them() -> None:
    """Services that want every key named beforehand leave a planner no other way."""
    listed = {"or_B": {"choices": ["A4"]}}
    atoms = [
        {"id": "A1", "description": "One way", "or_group": "or_A"},
        {"id": "A2", "description": "Another", "or_group": "or_A"},
        {"id": "A3", "description": "Listed elsewhere", "or_group": "or_B"},
        {"id": "A4", "description": "Alone", "or_group": None},
    ]
    report = read(ALIGN, {"objective": OBJECTIVE, "atoms": atoms, "or_groups": listed}).report
    assert isinstance(report, PlannerDraft)
    assert report.draft["or_groups"] == {**listed, "or_A": {"choices": ["A1", "A2"]}}


def test_a_planner_says_nothing_about_what_is_done() -> None:
    said = {
        "objective": {**OBJECTIVE, "status": "completed"},
        "atoms": [{"id": "A1", "description": "One", "status": "resolved", "attempts": 3}],
        "or_groups": {"a b": {"choices": ["A1"], "failed": ["A1"]}},
        "control": {"status": "completed"},
        "bindings": {},
    }
    assert faults(ALIGN, said) == [
        "control is not a key of it",
        "bindings is not a key of it",
        "objective.status is not a key of it",
        "atoms[0].status is not a key of it",
        "atoms[0].attempts is not a key of it (did you mean max_attempts?)",
        "or_groups.'a b'.failed is not a key of it",
    ]


def test_sections_have_their_shapes() -> None:
    said = {"objective": "x", "atoms": {}, "or_groups": [1], "decompositions": ["a"]}
    assert faults(ALIGN, said) == [
        "objective is a text, not an object",
        "atoms is an object, not a list",
        "decompositions[0] is a text, not an object",
        "or_groups is a list, not an object",
    ]
    groups: dict[str, object] = {str(number): {} for number in range(501)}
    many = {"objective": OBJECTIVE, "atoms": [{}] * 501, "or_groups": groups}
    assert faults(ALIGN, many) == [
        "atoms has 501 entries, at most 500 are taken",
        "or_groups has 501 entries, at most 500 are taken",
    ]


# --- edits ---------------------------------------------------------------------------------------


def test_every_edit() -> None:
    said = {
        "edits": [
            {"edit": "set_limit", "name": "max_iterations", "value": 40},
            {"edit": "set_limit", "name": "dispatch", "value": "wave"},
            {"edit": "set_limit", "name": "early_verify", "value": True},
            {"edit": "set_limit", "name": "max_cost_usd", "value": 2.5},
            {"edit": "add_atom", "description": "One", "check": TESTS, "parent": "A4"},
            {"edit": "add_atom", "description": "Two", "depends_on": ["#1", "A1"]},
            {"edit": "add_atom", "description": "Three", "group": "or_A1", "parent": None},
            {"edit": "remove_atom", "atom": "A5"},
            {"edit": "select", "group": "or_A1", "choice": "A2"},
            {"edit": "bind", "atom": "A1", "summary": "It is slow."},
            {"edit": "bind", "atom": "A2", "summary": "Fast.", "artifacts": ["./a.py"]},
            {
                "edit": "objective",
                "goal": "Another",
                "background_intent": "b",
                "deliverables": "d",
                "definition_of_done": "e",
                "protected_paths": ["tests", "!tests/a"],
                "reopen": ["A1"],
            },
            {"edit": "objective", "base_case": TESTS},
            {
                "edit": "objective",
                "base_case": {
                    "checklist": [
                        {"item": "Tests", "check": TESTS},
                        {
                            "item": "Either",
                            "any_of": [
                                {"item": "a", "check": {"type": "file", "value": "a"}},
                                {"item": "b", "group": [{"item": "c", "check": TESTS}]},
                            ],
                        },
                    ]
                },
            },
        ],
        "note": "As you said.",
    }
    tests = Check(type=CheckType.COMMAND, value="make test")
    assert read(REDIRECT, said).report == PlannerEdits(
        edits=(
            SetLimit(name="max_iterations", value=40),
            SetLimit(name="dispatch", value="wave"),
            SetLimit(name="early_verify", value=True),
            SetLimit(name="max_cost_usd", value=2.5),
            AddAtom(new=NewAtom(description="One", check=tests), parent=AtomId("A4")),
            AddAtom(new=NewAtom(description="Two", depends_on=("#1", "A1"))),
            AddAtom(new=NewAtom(description="Three"), group=GroupId("or_A1")),
            RemoveAtom(atom=AtomId("A5")),
            ForceChoice(group=GroupId("or_A1"), choice=AtomId("A2")),
            OverrideBinding(atom=AtomId("A1"), summary="It is slow."),
            OverrideBinding(atom=AtomId("A2"), summary="Fast.", artifacts=("a.py",)),
            ChangeObjective(
                goal="Another",
                background_intent="b",
                deliverables="d",
                definition_of_done="e",
                protected_paths=("tests", "!tests/a"),
                reopen=(AtomId("A1"),),
            ),
            ChangeObjective(base_case=BaseCase(check=tests)),
            ChangeObjective(
                base_case=BaseCase(
                    checklist=(
                        ChecklistItem(item="Tests", check=tests),
                        ChecklistItem(
                            item="Either",
                            any_of=(
                                ChecklistItem(
                                    item="a", check=Check(type=CheckType.FILE, value="a")
                                ),
                                ChecklistItem(
                                    item="b", group=(ChecklistItem(item="c", check=tests),)
                                ),
                            ),
                        ),
                    )
                )
            ),
        ),
        note="As you said.",
    )


KINDS = "objective, add_atom, remove_atom, select, set_limit, bind"


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        ("stop", ["edits[0] is a text, not an object"]),
        ({"edit": "stop"}, [f"edits[0].edit is 'stop', not one of {KINDS}"]),
        ({"edit": 3}, [f"edits[0].edit is a number, not one of {KINDS}"]),
        ({}, [f"edits[0].edit is null, not one of {KINDS}"]),
        (
            {"edit": "remove_atom", "atm": "A1"},
            [
                "edits[0].atm is not a key of it (did you mean atom?)",
                "edits[0].atom is missing",
            ],
        ),
        ({"edit": "set_limit", "name": "x"}, ["edits[0].value is missing"]),
        (
            {"edit": "set_limit", "name": "x", "value": [1]},
            ["edits[0].value is a list, not a number, a word, true or false"],
        ),
        (
            {"edit": "set_limit", "name": "x", "value": 1e300},
            ["edits[0].value is a number out of all bounds"],
        ),
        ({"edit": "select", "group": "g", "choice": ""}, ["edits[0].choice is blank"]),
        (
            {"edit": "add_atom", "description": "x" * 10_001},
            ["edits[0].description is longer than 10000 characters"],
        ),
        (
            {"edit": "add_atom", "description": "x", "parent": "A1", "group": "g"},
            ["edits[0] has parent and group, keep one of them"],
        ),
        (
            {"edit": "add_atom", "description": "x", "depends_on": ["#1", "a b"]},
            [
                "edits[0].depends_on names #1, which is not an earlier one of the list",
                "edits[0].depends_on has 'a b', which is no id",
            ],
        ),
        (
            {"edit": "add_atom", "description": "x", "check": {"type": "hope"}},
            [
                "edits[0].check.type is 'hope', not one of " + ", ".join(CheckType),
            ],
        ),
        (
            {"edit": "bind", "atom": "A1", "summary": "x", "artifacts": ["/etc/passwd"]},
            ["edits[0].artifacts has '/etc/passwd', which is not relative to the workspace"],
        ),
        (
            {"edit": "objective"},
            [
                (
                    "edits[0] changes nothing of goal, background_intent, deliverables, "
                    "definition_of_done, base_case, protected_paths, "
                    "work_paths, reopen"
                )
            ],
        ),
        (
            {"edit": "objective", "protected_paths": ["../x", "!"]},
            [
                "edits[0].protected_paths has '../x', no path in here",
                "edits[0].protected_paths has '!', no path in here",
            ],
        ),
        (
            {"edit": "objective", "base_case": {"checklist": []}},
            [
                "edits[0].base_case.checklist: the checklist is empty",
                "edits[0].base_case: nothing in it can be checked by a machine",
            ],
        ),
        (
            {"edit": "objective", "base_case": {"type": "assertion", "value": "It is nice"}},
            ["edits[0].base_case: nothing in it can be checked by a machine"],
        ),
        (
            {"edit": "objective", "base_case": {"checklist": [{}, 3]}},
            ["edits[0].base_case.checklist[1] is a number, not an object"],
        ),
        (
            {"edit": "objective", "base_case": {"checklist": [{"item": "", "check": TESTS}, {}]}},
            [
                "edits[0].base_case.checklist.0.item: the item has no name",
                "edits[0].base_case.checklist.1.item: the item has no name",
                "edits[0].base_case.checklist.1: '' has nothing to check",
            ],
        ),
    ],
)
def test_what_cannot_be_understood(edit: Any, said: list[str]) -> None:
    assert faults(REDIRECT, {"edits": [edit]}) == said


def test_everything_is_told_at_once() -> None:
    said = {"edits": [{"edit": "stop"}, {"edit": "bind"}], "edit": True}
    assert faults(REDIRECT, said) == [
        "edit is not a key of it (did you mean edits?)",
        f"edits[0].edit is 'stop', not one of {KINDS}",
        "edits[1].atom is missing",
        "edits[1].summary is missing",
    ]
