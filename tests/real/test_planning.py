"""A planner in every place where there is one, with the programs as they are.

It asks before it proposes, splits what is too large, names another way when workers have failed,
and asks back when a person changes their mind. What it says comes by the schema that it was given.
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.real.model import ModelServer, Request
from tests.real.user_project import LOGS, ONE, Desk, draft
from tests.surfaces.command import repository, write
from tests.surfaces.small_runs import RUN, plan_of

from dwindle.kernel.model import AtomId, Status

pytestmark = pytest.mark.slow

CHECK = {"type": "command", "value": "sh check.sh"}
PROPOSED: dict[str, Any] = {
    "objective": {
        "goal": "People are greeted in Latin",
        "background_intent": "They asked for it",
        "deliverables": "greeting.txt",
        "definition_of_done": "The check passes",
        "base_case": {"checklist": [{"item": "It is there", "check": CHECK}]},
        "constraints": {"max_cost_usd": 5},
    },
    "atoms": [
        {"id": "A1", "description": "Find the word"},
        {"id": "A2", "description": "Write it", "depends_on": ["A1"], "or_group": "or_A2"},
        {"id": "A3", "description": "Print it", "depends_on": ["A1"], "or_group": "or_A2"},
    ],
    "note": "Two steps.",
}


def schemas(desk: Desk, request: Request) -> bool:
    """Whether the program was told the form of the report, in its own way."""
    if desk.is_codex:
        return request.conversation.schema is not None
    return "StructuredOutput" in request.conversation.tools


def test_before_a_run_it_asks_and_then_proposes(desk: Desk) -> None:
    write(desk.folder, "check.sh", "test -s greeting.txt\n")
    repository(desk.folder)
    script = (
        desk.lane("In Latin, please", desk.reports(PROPOSED)),
        desk.lane(
            "You are a planner.*Greet people",
            desk.runs("echo me > intruder; cat check.sh"),
            desk.reports({"questions": ["Which language?", "How loud?"]}),
        ),
    )
    with (
        ModelServer(*script) as model,
        desk.sits_at(model, "align", "--run-id", RUN) as terminal,
    ):
        terminal.answer("Goal:", "Greet people")
        terminal.answer("Why:", "They are lonely")
        terminal.expect("The planner has 2 questions; Enter leaves one open.")
        terminal.answer("Which language?\n> ", "In Latin, please")
        terminal.answer("How loud?\n> ", "")
        terminal.expect("The planner says: Two steps.")
        terminal.answer("[q]uit? ", "a")
        assert terminal.ended() == 0, terminal.seen
    assert [request.lane for request in model.requests] == [
        *["You are a planner.*Greet people"] * 2,
        "In Latin, please",
    ]
    assert all(schemas(desk, request) for request in model.requests)
    plan = plan_of(desk.folder)
    assert plan.objective.goal == "People are greeted in Latin"
    assert [(a.id, a.description, a.depends_on) for a in plan.atoms.values()] == [
        ("A1", "Find the word", ()),
        ("A2", "Write it", ("A1",)),
        ("A3", "Print it", ("A1",)),
    ]
    assert [group.choices for group in plan.groups.values()] == [("A2", "A3")]
    assert plan.limits.max_cost_usd == 5
    assert not (desk.folder / "intruder").exists()


STUCK = draft("  - {id: A1, description: Write greeting.txt by hand}\n", limits={"max_attempts": 1})
FAILED = {"success": False, "reason": "my hands are tied"}
OTHER_WAY = {
    "feasible": True,
    "findings": "hands do not help",
    "alternatives": [{"description": "Write greeting.txt by foot"}],
}
SPLIT = {
    "feasible": True,
    "findings": "it is two things",
    "decomposition": {
        "reason": "one after the other",
        "children": [
            {"description": "Find a pen", "check": {"type": "file", "value": "pen"}},
            {"description": "Write greeting.txt with it", "depends_on": ["#1"]},
        ],
    },
}


def test_when_workers_have_failed_it_names_another_way(desk: Desk) -> None:
    desk.aligned(STUCK)
    script = (
        desk.lane("You are a planner", desk.runs("echo > intruder"), desk.reports(OTHER_WAY)),
        desk.lane("Your task: A1\n", desk.reports(FAILED)),
        desk.makes("Your task: A2\n", "greeting.txt"),
    )
    with ModelServer(*script) as model:
        ended = desk.calls(model, "run")
    assert (ended.code, ended.err) == (0, ""), ended
    plan = plan_of(desk.folder)
    (group,) = plan.groups.values()
    assert (group.choices, group.failed) == (("A1", "A2"), ("A1",))
    assert plan.atoms[AtomId("A2")].status is Status.RESOLVED
    planner = next(r for r in model.requests if r.lane == "You are a planner")
    assert "my hands are tied" in planner.conversation.user
    assert schemas(desk, planner)
    kept = sorted(path.name for path in (desk.folder / LOGS).glob("*/A1.*"))
    assert kept == ["A1.1.worker", "A1.2.probe"]


@pytest.mark.parametrize("desk", ["claude", "codex"], indirect=True)
def test_or_it_splits_what_they_failed_at(desk: Desk) -> None:
    desk.aligned(STUCK)
    script = (
        desk.lane("You are a planner", desk.reports(SPLIT)),
        desk.lane("Your task: A1\n", desk.reports(FAILED)),
        desk.makes("Your task: A2\n", "pen"),
        desk.makes("Your task: A3\n", "greeting.txt"),
    )
    with ModelServer(*script) as model:
        ended = desk.calls(model, "run")
    assert (ended.code, ended.err) == (0, ""), ended
    assert {name: atom.depends_on for name, atom in plan_of(desk.folder).atoms.items()} == {
        "A1": (),
        "A2": (),
        "A3": ("A2",),
    }


def test_when_a_person_changes_their_mind_it_asks_how_and_edits(desk: Desk) -> None:
    desk.aligned(ONE)
    edits = {
        "edits": [
            {"edit": "set_limit", "name": "max_iterations", "value": 7},
            {"edit": "add_atom", "description": "Sign it", "depends_on": ["A1"]},
        ],
        "note": "Seven it is.",
    }
    script = (
        desk.lane("at most seven", desk.reports(edits)),
        desk.lane(
            "You are a planner.*hurry up", desk.reports({"questions": ["How many iterations?"]})
        ),
    )
    with (
        ModelServer(*script) as model,
        desk.sits_at(model, "redirect", "hurry up") as terminal,
    ):
        terminal.answer("How many iterations?\n> ", "at most seven")
        terminal.expect("The planner says: Seven it is.")
        terminal.answer("Enter takes it", "")
        terminal.answer("Go on? [y/N]", "y")
        assert terminal.ended() == 0, terminal.seen
    assert all(schemas(desk, request) for request in model.requests)
    assert '"id": "A1"' in model.requests[0].conversation.user
    plan = plan_of(desk.folder)
    assert plan.limits.max_iterations == 7
    assert [(a.id, a.description, a.depends_on) for a in plan.atoms.values()] == [
        ("A1", "Write greeting.txt", ()),
        ("A2", "Sign it", ("A1",)),
    ]
