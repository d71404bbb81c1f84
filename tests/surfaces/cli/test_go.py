"""dwindle go: one command from a sentence to a result."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.command import GRAPH_FILE, PLAIN, Ended, dwindle, git, write
from tests.surfaces.on_a_terminal import CTRL_C, OnATerminal, Played

from dwindle.adapters.formats.draft.plan import decode_draft
from dwindle.app.align.answers import Answers, document
from dwindle.app.align.goal import as_one_atom, checks_from
from dwindle.app.align.kept_draft import DRAFT_FILE
from dwindle.app.plans.load import load_graph
from dwindle.app.refusal import Refused
from dwindle.surfaces.cli.app import COMMANDS
from dwindle.surfaces.cli.go import REVIEW

CHECK = "test -f src/total.txt"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    write(folder, "src/total.py", "TOTAL = 3\n")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message=first")
    did = {
        "do": [{"write": {"src/total.txt": "3\n"}}],
        "report": {"success": True, "summary": "made it"},
    }
    write(folder, ".runner/s.json", json.dumps({"worker": {"A1": [did]}}))
    return folder


def went(project: Path, *words: str) -> Ended:
    return dwindle(project, "go", *words, "--agent", "scripted:.runner/s.json")


@pytest.mark.slow
def test_from_a_sentence_to_a_result(project: Path) -> None:
    said = went(project, "The total is there", "--check", CHECK, "--check", "true", "--yes")
    assert said.code == 0, said
    assert "completed" in said.err + said.out
    assert said.out.endswith(f"{REVIEW}\n")
    assert "Next: " not in said.out
    assert "`dwindle run` starts it" not in said.out
    plan = load_graph((project / GRAPH_FILE).read_bytes()).plan
    assert plan is not None
    assert plan.objective.work_paths[0] == "src/**"
    assert dwindle(project, "land").code == 0
    assert (project / "src/total.txt").read_text() == "3\n"


def proposed(project: Path, *reports: dict[str, Any]) -> None:
    """The script has a planner, too."""
    script = json.loads((project / ".runner/s.json").read_text())
    script["planner"] = {"align": [{"report": report} for report in reports]}
    write(project, ".runner/s.json", json.dumps(script))


PROPOSAL: dict[str, Any] = {
    "objective": {
        "goal": "Something else",
        "background_intent": "People ask for it",
        "deliverables": "src/total.txt",
        "definition_of_done": "The file is there",
        "base_case": {"checklist": [{"item": "x", "check": {"type": "command", "value": "false"}}]},
        "work_paths": ["src/**"],
    },
    "atoms": [
        {"id": "A1", "description": "Write the total"},
        {"id": "A2", "description": "Look at it", "depends_on": ["A1"]},
    ],
    "note": "Two steps.",
}
LOOKED = {"report": {"success": True, "summary": "looked", "artifacts": ["src/total.txt"]}}


@pytest.mark.slow
def test_a_planner_proposes_the_plan_and_the_given_checks_decide(project: Path) -> None:
    proposed(project, {"questions": ["Which total?"]}, PROPOSAL)
    script = json.loads((project / ".runner/s.json").read_text())
    script["worker"]["A2"] = [{"do": [{"write": {"src/seen.txt": "3\n"}}], **LOOKED}]
    write(project, ".runner/s.json", json.dumps(script))
    words = ("go", "The total is there", "--check", CHECK, "--agent", "scripted:.runner/s.json")
    with OnATerminal(project, *words) as terminal:
        terminal.answer("Which total?\n> ", "All of it")
        terminal.expect("The planner says: Two steps.")
        terminal.expect('goal: "The total is there"')
        terminal.expect(f'value: "{CHECK}"')
        terminal.expect('description: "Look at it"')
        terminal.expect("sessions   about 4 expected at 50 % success, at most ")
        terminal.expect("limits     ")
        assert "All of it" in (project / DRAFT_FILE).read_text()
        terminal.answer("[a]ccept, [e]dit, say in [w]ords what to change, [q]uit? ", "a")
        terminal.expect("base case  red, as it should be")
        terminal.expect("the run ends, completed")
        terminal.expect("Review it, then land it:\n  dwindle diff ")
        assert terminal.ended() == 0
    assert not (project / DRAFT_FILE).exists()
    plan = load_graph((project / GRAPH_FILE).read_bytes()).plan
    assert plan is not None
    assert plan.objective.background_intent == "People ask for it"
    assert [item.item for item in plan.objective.base_case.checklist or ()] == [CHECK]
    assert list(plan.atoms) == ["A1", "A2"]


@pytest.mark.slow
def test_a_script_gets_one_object_and_no_questions(project: Path) -> None:
    proposed(project, {"questions": ["Which total?"]})
    said = went(project, "The total is there", "--check", CHECK, "--yes", "--json")
    assert said.code == 0, said
    facts = json.loads(said.out)
    assert (facts["atoms"], facts["base_case"]["baseline"]) == (1, "red")
    assert facts["ended"] == {
        "code": 0,
        "status": "completed",
        "reason": "completed",
        "branch": f"runner/{facts['run_id']}",
        "next": facts["ended"]["next"],
    }
    assert "questions: no more are answered" in said.err
    assert "So the goal is one atom, which agents may split." in said.err
    order = json.loads((project / ".runner/iterations/planning/0001/order.json").read_text())
    assert order["may_ask"] is False


@pytest.mark.slow
def test_a_proposal_that_is_left_is_kept(project: Path) -> None:
    proposed(project, PROPOSAL)
    words = ("go", "The total is there", "--check", CHECK, "--agent", "scripted:.runner/s.json")
    with OnATerminal(project, *words) as terminal:
        terminal.expect("[q]uit? ")
        terminal.type(CTRL_C, end="")
        terminal.expect(f"the draft is kept: {DRAFT_FILE}")
        assert terminal.ended() == 10
    with OnATerminal(project, "align", "--no-planner") as terminal:
        terminal.answer("Go on from it? [Y/n] ", "")
        terminal.expect('description: "Look at it"')
        terminal.answer("[q]uit? ", "a")
        terminal.expect("`dwindle run` starts it.")
        assert terminal.ended() == 0


def test_what_is_printed_in_the_end_are_commands() -> None:
    named = re.findall(r"^  dwindle (\w+)", REVIEW, re.MULTILINE)
    assert named == ["diff", "report", "land", "clean"]
    assert [name for name in named if name not in [known for known, *_ in COMMANDS]] == []


@pytest.mark.slow
def test_a_check_that_is_green_already_starts_nothing(project: Path) -> None:
    said = went(project, "Nothing to do", "--check", "true", "--yes")
    assert said.code == 2
    assert "--already-green-ok" in said.err
    assert not (project / GRAPH_FILE).exists()


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (
            ("A goal", "--yes"),
            'add --check with a command that succeeds then, such as --check "pytest -q"',
        ),
        (("A goal", "--check", "true"), "add --yes"),
        (("  ", "--check", "true", "--yes"), 'for example dwindle go "Totals are right"'),
    ],
)
def test_what_is_missing_is_said(project: Path, words: tuple[str, ...], hint: str) -> None:
    said = went(project, *words)
    assert (said.code, hint in said.err) == (2, True)


def test_the_draft_is_a_plan_with_one_atom() -> None:
    given = Answers(goal='Say "hi": # 1', why="for fun", checks=checks_from(None, ("a", "b 'c'")))
    found = decode_draft(document(as_one_atom(given)).encode())
    assert found.plan is not None
    (atom,) = found.plan.atoms.values()
    assert (atom.description, atom.check and atom.check.value) == (
        'Say "hi": # 1',
        "( a ) && ( b 'c' )",
    )
    assert [item.item for item in found.plan.objective.base_case.checklist or ()] == ["a", "b 'c'"]
    assert found.plan.objective.background_intent == "for fun"


def test_a_missing_check_is_asked_for() -> None:
    asked = Played(iter(["", "make test\n"]))
    assert [check.value for check in checks_from(asked, (" ",))] == ["make test"]
    assert [check.value for check in checks_from(None, (" true ",))] == ["true"]
    with pytest.raises(Refused, match="nothing says when it is done"):
        checks_from(None, ())


@pytest.mark.parametrize(
    "line", ["align <&-", "redirect <&-", "status >&-", "go x --check true <&-"]
)
def test_closed_streams_are_no_bug(project: Path, line: str) -> None:
    command = f"'{sys.executable}' -m dwindle {line}"
    said = subprocess.run(
        ["sh", "-c", command], cwd=project, env=PLAIN, capture_output=True, text=True, check=False
    )
    assert said.returncode == 2
    assert "this is a bug" not in said.stderr
