"""dwindle go: one command from a sentence to a result."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.surfaces.command import GRAPH_FILE, PLAIN, Ended, dwindle, git, write

from dwindle.adapters.formats.draft.plan import decode_draft
from dwindle.app.align.goal import checks_from, draft_from_goal
from dwindle.app.plans.load import load_graph
from dwindle.app.refusal import Refused

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
    assert "dwindle land" in said.out
    assert "`dwindle run` starts it" not in said.out
    plan = load_graph((project / GRAPH_FILE).read_bytes()).plan
    assert plan is not None
    assert plan.objective.work_paths[0] == "src/**"
    assert dwindle(project, "land").code == 0
    assert (project / "src/total.txt").read_text() == "3\n"


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
    found = decode_draft(draft_from_goal('Say "hi": # 1', ("a", "b 'c'"), "for fun").encode())
    assert found.plan is not None
    (atom,) = found.plan.atoms.values()
    assert (atom.description, atom.check and atom.check.value) == (
        'Say "hi": # 1',
        "( a ) && ( b 'c' )",
    )
    assert [item.item for item in found.plan.objective.base_case.checklist or ()] == ["a", "b 'c'"]
    assert found.plan.objective.background_intent == "for fun"


class Asked:
    can_ask = True

    def ask(self, prompt: str) -> str:
        assert "Which command" in prompt
        return "make test\n"

    def say(self, what: str) -> None: ...

    def edit(self, draft: str) -> str:
        return draft


def test_a_missing_check_is_asked_for() -> None:
    assert checks_from(Asked(), (" ",)) == ("make test",)
    assert checks_from(None, (" true ",)) == ("true",)
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
