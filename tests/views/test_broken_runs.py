"""Runs of which something is lost, damaged or hostile: shown as far as they can be, and as text."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from tests.views.recorded import RUN, Recorded, plan_to_run, story
from tests.views.test_run_view import picture_of, statuses

from dwindle.kernel.events import SessionStarted
from dwindle.kernel.model import ROOT, AtomId, Role
from dwindle.kernel.transitions import apply
from dwindle.views.read_model.run_view import runs
from dwindle.views.read_model.shapes import NodeView

ESCAPES = "\x1b[2J\x1b]0;owned\x07 <script>\u202e"


def test_without_the_plan_it_began_with_the_plan_file_has_to_do(tmp_path: Path) -> None:
    with story(tmp_path):
        (tmp_path / f".runner/journal/{RUN}.start.md").unlink()
        seen = picture_of(tmp_path)
    # This story never wrote its plan file again, so all of it can still be folded.
    assert seen["head"]["phase"] == "completed"
    assert seen["notes"] == [
        "the plan that the run began with is lost: earlier events are not drawn"
    ]


def test_without_any_plan_the_events_are_still_listed(tmp_path: Path) -> None:
    with story(tmp_path):
        (tmp_path / f".runner/journal/{RUN}.start.md").unlink()
        (tmp_path / ".claude/aot-loop-state.md").unlink()
        seen = picture_of(tmp_path)
    assert (seen["nodes"], seen["head"]["phase"], len(seen["events"])) == ([], "pending", 18)
    assert seen["notes"] == ["no plan of this run is left, neither the first nor the last"]


def test_a_damaged_journal_is_shown_up_to_the_damage(tmp_path: Path) -> None:
    with story(tmp_path):
        path = tmp_path / f".runner/journal/{RUN}.jsonl"
        path.write_bytes(path.read_bytes().replace(b"on stone", b"on glass"))
        seen = picture_of(tmp_path)
    assert len(seen["events"]) == 12
    (note,) = seen["notes"]
    assert note.endswith("another program changed it, so the rest of it is not shown")


def test_an_event_that_does_not_fit_is_said_and_the_rest_is_listed(tmp_path: Path) -> None:
    with Recorded(tmp_path, plan_to_run("A1 A2")) as made:
        made.begin()
        made.plan = apply(made.plan, SessionStarted(atom=AtomId("A2"), role=Role.WORKER))
        made.fail("A2")
        seen = picture_of(tmp_path)
    # The end of a session that never began is a late report, and changes nothing.
    assert statuses(seen) == {"": "pending", "A1": "pending", "A2": "pending"}
    with Recorded(tmp_path, plan_to_run("A1 A2", run="01TWO"), run="01TWO") as made:
        made.plan = apply(made.plan, made.begin_event())
        made.start("A1")
        seen = picture_of(tmp_path, "01TWO")
    assert [event["kind"] for event in seen["events"]] == ["SessionStarted"]
    assert seen["notes"][0].startswith("event 1 does not follow from the events before it:")


def test_nothing_in_a_picture_can_drive_a_terminal(tmp_path: Path) -> None:
    plan = plan_to_run("A1 A2")
    hostile = replace(plan.atoms[AtomId("A1")], description=f"one{ESCAPES}\ntwo")
    objective = replace(plan.objective, goal=ESCAPES)
    plan = replace(plan, atoms={**plan.atoms, hostile.id: hostile}, objective=objective)
    with Recorded(tmp_path, plan) as made:
        made.begin().start("A1", "A2").fail("A1", ESCAPES).resolve("A2", ESCAPES)
        seen = picture_of(tmp_path)
        listed = runs(tmp_path)
    text = json.dumps([seen, listed], ensure_ascii=False)
    assert all(character.isprintable() for character in text)
    node: NodeView = next(node for node in seen["nodes"] if node["id"] == "A1")
    spelt = "\\x1b[2J\\x1b]0;owned\\x07 <script>\\u202e"
    assert node["description"] == f"one{spelt}\ntwo"
    assert seen["goal"] == spelt
    assert ROOT in statuses(seen)
