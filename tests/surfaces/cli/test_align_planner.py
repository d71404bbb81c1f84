"""dwindle align on a real terminal, with a planner that is a real program."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.sandbox.survivors import new_token, put_down, survivors
from tests.app.planner_project import (
    DRAFT,
    OBJECTIVE,
    answers,
    order,
    project,
    reports,
    sessions,
)
from tests.surfaces.command import GRAPH_FILE, dwindle, write
from tests.surfaces.on_a_terminal import CTRL_C, OnATerminal

from dwindle.app.plans.load import load
from dwindle.kernel.model import Plan, PlanKind

pytestmark = pytest.mark.slow

RUN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
MENU = "[a]ccept, [e]dit, say in [w]ords what to change, [q]uit? "
GROWN = {
    **DRAFT,
    "atoms": [
        {"id": "A1", "description": "Write done"},
        {"id": "A2", "description": "Copy done"},
        {"id": "A3", "description": "Tell people", "depends_on": ["or_A1"]},
    ],
    "or_groups": {"or_A1": {"choices": ["A1", "A2"]}},
    "note": "Two ways.",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return project(tmp_path / "my pröject")


def begun(folder: Path, editor: str = "false") -> OnATerminal:
    terminal = OnATerminal(folder, "align", "--run-id", RUN, EDITOR=editor)
    terminal.answer("Goal:", "A file")
    terminal.answer("Why:", "For later")
    return terminal


def aligned(folder: Path) -> Plan:
    plan = load(PlanKind.GRAPH, (folder / GRAPH_FILE).read_bytes()).plan
    assert plan is not None
    return plan


def test_it_asks_back_proposes_and_is_edited_and_accepted(folder: Path, tmp_path: Path) -> None:
    asked = {"questions": ["Which name?", "How soon?"], "usage": {"tokens": 1200, "usd": 0.02}}
    reports(folder, "align", asked, GROWN)
    editor = write(tmp_path, "editor", "#!/bin/sh\nsed -i 's/Make done/Make it well/' \"$1\"\n")
    editor.chmod(0o700)
    with begun(folder, str(editor)) as terminal:
        terminal.expect("The planner is at work: 0:00 (Ctrl-C leaves)")
        terminal.expect("The planner used 1,200 tokens and 0.02 USD in ")
        terminal.expect("The planner has 2 questions; Enter leaves one open.")
        terminal.answer("Which name?\n> ", "done, ünd so on")
        terminal.answer("How soon?\n> ", "")
        terminal.expect("The planner says: Two ways.")
        terminal.expect('  goal: "Make done"\n')
        terminal.expect("or_groups:\n  or_A1:\n    choices: [A1, A2]\n")
        terminal.expect("# Original Prompt\n\nA file\n\nFor later\n")
        terminal.answer(MENU, "e")
        terminal.expect('  goal: "Make it well"\n')
        terminal.answer(MENU, "a")
        terminal.expect(".claude/aot-loop-state.md: aligned")
        assert terminal.ended() == 0
    plan = aligned(folder)
    assert plan.objective.goal == "Make it well"
    text = (folder / GRAPH_FILE).read_text("utf-8")
    assert text.endswith("---\n\n# Original Prompt\n\nA file\n\nFor later\n")
    assert [(a.id, a.description, a.depends_on) for a in plan.atoms.values()] == [
        ("A1", "Write done", ()),
        ("A2", "Copy done", ()),
        ("A3", "Tell people", ("or_A1",)),
    ]
    assert [(name, group.choices) for name, group in plan.groups.items()] == [
        ("or_A1", ("A1", "A2"))
    ]
    told = order(folder, 2)
    assert (told["purpose"], told["description"], told["why"]) == ("align", "A file", "For later")
    assert [line["text"] for line in told["transcript"]] == [
        "Which name?",
        "done, ünd so on",
        "How soon?",
        "(no answer; decide as you think best)",
    ]


def test_what_it_leaves_behind_is_overlooked_by_git(folder: Path) -> None:
    write(folder, ".gitignore", ".runner/config.toml\n.runner/script.json\n.claude\n.gitignore\n")
    reports(folder, "align", DRAFT)
    with begun(folder) as terminal:
        terminal.answer(MENU, "a")
        assert terminal.ended() == 0
    assert sessions(folder) == ["0001"]
    kept = sorted(path.name for path in (folder / ".runner/iterations/planning/0001").iterdir())
    assert kept == ["order.json", "prompt.md", "report.json"]  # it said nothing
    asked = ["git", "status", "--porcelain"]
    assert subprocess.run(asked, cwd=folder, check=True, capture_output=True).stdout == b""


def test_what_should_be_different_is_said_in_words(folder: Path) -> None:
    other = {**DRAFT, "objective": {**OBJECTIVE, "goal": "Make done twice"}}
    reports(folder, "align", DRAFT, other)
    with begun(folder) as terminal:
        terminal.answer(MENU, "w")
        terminal.answer("What should be different?\n> ", "Twice")
        terminal.expect('  goal: "Make done twice"\n')
        terminal.answer(MENU, "a")
        assert terminal.ended() == 0
    assert aligned(folder).objective.goal == "Make done twice"
    told = order(folder, 2)
    assert told["transcript"] == [{"by": "person", "text": "Twice"}]
    assert 'goal: "Make done"\n' in told["draft"]


def test_changes_of_mind_come_to_an_end(folder: Path) -> None:
    reports(folder, "align", DRAFT)
    with begun(folder) as terminal:
        for _ in range(6):
            terminal.answer(MENU, "w")
            terminal.answer("What should be different?\n> ", "This")
        terminal.expect("It was changed 5 times already; edit it, or start again.")
        terminal.answer(MENU, "q")
        assert terminal.ended() == 10
    assert (len(sessions(folder)), (folder / GRAPH_FILE).exists()) == (6, False)


def test_a_planner_that_cannot_change_it_leaves_it_as_it_is(folder: Path) -> None:
    answers(folder, "align", {"report": DRAFT}, {"exit": 3})
    with begun(folder) as terminal:
        terminal.answer(MENU, "w")
        terminal.answer("What should be different?\n> ", "This")
        terminal.expect("The planner failed: it ended with exit code 3")
        terminal.expect('  goal: "Make done"\n')
        terminal.answer(MENU, "a")
        assert terminal.ended() == 0


# --- planners that do not help -------------------------------------------------------------------

BY_HAND = (
    ("Deliverables:", "A file"),
    ("Definition of done:", "The check passes"),
    ("Type of check 1", "command"),
    ("command that exits with 0", "sh check.sh"),
    ("What does it show?", "It is done"),
    ("Type of check 2", ""),
    ("A1: what is to be done?", "Write done"),
    ("Another way", ""),
    ("A2: what is to be done?", ""),
)


@pytest.mark.parametrize(
    ("entry", "said", "tries"),
    [
        ({"report_text": "{ this is not JSON"}, "the report is malformed: it is not JSON", 2),
        ({"report": {"objective": 3, "atom": []}}, "objective is a number, not an object", 2),
        ({}, "it wrote no report", 2),
        ({"do": [{"print": "oops"}], "exit": 3}, "it ended with exit code 3", 1),
    ],
)
def test_one_goes_on_by_hand(folder: Path, entry: dict[str, Any], said: str, tries: int) -> None:
    answers(folder, "align", entry)
    with begun(folder) as terminal:
        if tries > 1:
            terminal.expect("What the planner reported cannot be taken:\n  ")
            terminal.expect(said)
            terminal.expect("The planner gets one more try.")
        terminal.expect("The planner failed: ")
        terminal.expect(said)
        terminal.answer("Enter goes on by hand, q leaves: ", "")
        for question, words in BY_HAND:
            terminal.answer(question, words)
        terminal.answer(MENU, "a")
        assert terminal.ended() == 0
    plan = aligned(folder)
    assert (plan.objective.goal, plan.objective.background_intent) == ("A file", "For later")
    assert len(sessions(folder)) == tries


def test_what_was_answered_is_not_asked_again(folder: Path) -> None:
    """Neither by us nor by the next session of the planner, which is told."""
    asked = {"questions": ["Which name?", "How soon?"]}
    reports(folder, "align", asked, DRAFT)
    with begun(folder) as terminal:
        terminal.answer("Which name?\n> ", "done, ünd so on")
        terminal.expect("How soon?\n> ")
        terminal.type(CTRL_C, end="")
        terminal.expect("the draft is kept: .runner/draft.yaml")
        assert terminal.ended() == 10
    reports(folder, "align", DRAFT)
    with OnATerminal(folder, "align", "--run-id", RUN) as terminal:
        terminal.answer("Go on from it? [Y/n] ", "")
        terminal.answer(MENU, "a")
        assert terminal.ended() == 0
        assert "Goal:" not in terminal.seen
    told = order(folder, 2)
    assert (told["description"], told["why"]) == ("A file", "For later")
    assert [line["text"] for line in told["transcript"]] == ["Which name?", "done, ünd so on"]


def test_or_leaves(folder: Path) -> None:
    answers(folder, "align", {"exit": 3})
    with begun(folder) as terminal:
        terminal.answer("Enter goes on by hand, q leaves: ", "q")
        terminal.expect("dwindle: no plan was written")
        assert terminal.ended() == 10
    assert not (folder / GRAPH_FILE).exists()


def test_a_malformed_report_may_be_mended(folder: Path) -> None:
    answers(folder, "align", {"report": {"atoms": []}}, {"report": DRAFT})
    with begun(folder) as terminal:
        terminal.expect("objective is missing")
        terminal.answer(MENU, "a")
        assert terminal.ended() == 0
    reason = "the report is malformed: objective is missing"
    assert order(folder, 2)["failures"] == [{"attempt": 1, "reason": reason}]


WEAK: dict[str, Any] = {
    "objective": {
        **OBJECTIVE,
        "deliverables": " ",
        "base_case": {
            "checklist": [{"item": "Nice", "check": {"type": "assertion", "value": "x"}}]
        },
    },
    "atoms": [{"id": "A1", "description": "Write done", "depends_on": ["A7"]}],
}


def test_what_stops_at_the_gate_goes_back_once_and_then_to_the_person(
    folder: Path, tmp_path: Path
) -> None:
    reports(folder, "align", WEAK)
    editor = write(
        tmp_path,
        "editor",
        "#!/bin/sh\nsed -i -e 's/deliverables: .*/deliverables: A file/' -e '/depends_on/d' "
        "-e 's/type: assertion/type: command/' -e 's/value: .*/value: sh check.sh/' \"$1\"\n",
    )
    editor.chmod(0o700)
    with begun(folder, str(editor)) as terminal:
        terminal.expect("The planner gets one more try.")
        terminal.expect("deliverables is blank")
        terminal.expect("This cannot be accepted yet.")
        terminal.answer(MENU, "a")
        terminal.expect("This cannot be accepted yet.")
        terminal.answer(MENU, "e")
        terminal.answer(MENU, "a")
        assert terminal.ended() == 0
    told = order(folder, 2)["failures"][0]["reason"].splitlines()
    assert [line.partition(" (")[0] for line in told] == [
        "objective.deliverables: deliverables is blank",
        "objective.base_case: nothing in the base case can be checked by a machine",
        "atoms[0].depends_on: A7 does not exist",
    ]
    assert len(sessions(folder)) == 2


def test_ctrl_c_leaves_a_planner_that_hangs_and_nothing_of_it(folder: Path) -> None:
    token = new_token()
    line = f"(sleep 600; : {token}) & setsid sh -c 'sleep 600; : {token}' & sleep 600; : {token}"
    write(folder, ".runner/config.toml", f'[agents.planner]\ncommand = """{line}"""\n')
    try:
        with begun(folder) as terminal:
            terminal.expect("The planner is at work: 0:01 (Ctrl-C leaves)")
            assert survivors(token)
            began = time.monotonic()
            terminal.type(CTRL_C, end="")
            terminal.expect("dwindle: no plan was written")
            assert terminal.ended() == 10
        assert time.monotonic() - began < 5
        assert survivors(token) == []
    finally:
        put_down(token)
    assert not (folder / ".claude").exists()
    assert list((folder / ".runner/outbox").iterdir()) == []


def test_a_backend_that_is_not_there_is_no_reason_to_stop(folder: Path) -> None:
    named = '[agents.planner]\nbackend = "claude"\ncommand = ["/nowhere/claude"]\n'
    write(folder, ".runner/config.toml", named)
    with OnATerminal(folder, "align") as terminal:
        terminal.expect("There is no planner: /nowhere/claude is not found, or not executable")
        terminal.expect("Five things have to be agreed on")
        terminal.type(CTRL_C, end="")
        assert terminal.ended() == 10


def test_a_user_may_want_no_planner(folder: Path) -> None:
    reports(folder, "align", DRAFT)
    with OnATerminal(folder, "align", "--no-planner") as terminal:
        terminal.answer("Goal:", "A file")
        terminal.answer("Why:", "For later")
        terminal.expect("Deliverables:")
        terminal.type(CTRL_C, end="")
        assert terminal.ended() == 10
    assert sessions(folder) == []


def test_a_draft_from_a_file_needs_no_planner(folder: Path) -> None:
    reports(folder, "align", GROWN)
    draft = write(folder.parent, "draft.yaml", json.dumps(DRAFT))
    said = dwindle(folder, "align", "--from", str(draft), "--yes")
    assert (said.code, sessions(folder)) == (0, [])
