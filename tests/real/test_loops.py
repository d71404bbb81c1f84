"""Whole loops: `dwindle` as a person calls it, in a repository, with the programs as they are.

Only the model is ours. Nothing is configured: `dwindle` takes the program that it finds on PATH.
"""

from __future__ import annotations

import json
import re

import pytest
from tests.real.codex_session import holding
from tests.real.model import ModelServer, Step
from tests.real.user_project import KEY, LOGS, ONE, Desk, done, draft
from tests.surfaces.command import repository, write
from tests.surfaces.small_runs import RUN, plan_of

pytestmark = pytest.mark.slow

OTHER = "ghp-canary-of-a-person-9876543210"
"""What an agent has no business with."""
KEPT = ("session.log", "report.json")
BLANK = {
    "order": 0,
    "acceptance": [],
    "passes": False,
    "attempts": 0,
    "max_attempts": 3,
    "children": [],
}
ONE_OF_EACH = ("claude", "codex")
"""For what both versions of claude are asked elsewhere, a session at a time."""


# --- a whole run ----------------------------------------------------------------------------------

QUALITY = """\
      - item: It is friendly
        check: {type: quality, criteria: It is friendly, pass_threshold: 3}
"""
MANUAL = draft(
    """\
  - id: A1
    description: Write greet.sh
    probe: true
    check: {type: command, value: sh greet.sh}
  - {id: A2, description: Write a manual of two pages, depends_on: [A1]}
""",
    more=QUALITY,
)


LOOKED = {"feasible": True, "findings": "greet.sh is missing"}
SPLIT = {
    "success": False,
    "decomposition": {
        "reason": "a page each",
        "children": [
            {"description": "Write page 1", "check": {"type": "file", "value": "page-1"}},
            {"description": "Write page 2", "depends_on": ["#1"]},
        ],
    },
}
JUDGED = {
    "passed": True,
    "evidence": "read it",
    "failures": [],
    "scores": [{"criterion": "It is friendly", "score": 4, "evidence": "it says hello"}],
}


def test_a_probe_workers_and_a_verifier_bring_a_run_to_its_end(desk: Desk) -> None:
    desk.aligned(MANUAL, "sh greet.sh | grep -q hello && test -s page-1 && test -s page-2\n")
    looks = desk.runs("echo me > intruder; ls")
    script = (
        desk.lane("You are a probe", looks, desk.reports(LOOKED)),
        desk.lane("You are a verifier", looks, desk.reports(JUDGED)),
        desk.makes("Your task: A1\n", "greet.sh", "echo hello"),
        desk.lane("Your task: A2\n", desk.reports(SPLIT)),
        desk.makes("Your task: A3\n", "page-1"),
        desk.makes("Your task: A4\n", "page-2"),
    )
    with ModelServer(*script) as model:
        ended = desk.calls(model, "run")
    assert (ended.code, ended.err) == (0, ""), ended
    lines = desk.calls(None, "log").out.splitlines()
    assert [line[28:].split(" (")[0] for line in lines] == [
        "the run begins",
        "A1: a probe starts",
        "A1: looked at: greet.sh is missing",
        "A1: a worker starts",
        "A1: resolved: it is there",
        "A2: a worker starts",
        "A2: split into 2: a page each",
        "A3: a worker starts",
        "A3: resolved: it is there",
        "A4: a worker starts",
        "A4: resolved: it is there",
        "verifying the base case",
        "the base case holds",
        "the run ends, completed: every check of the base case passed",
    ]
    # Who only looks was refused by the program, or by our sandbox.
    refused = model.requests[1].conversation.tool_results
    assert len(refused) == 1, refused
    assert re.search("No such tool|Read-only file system", refused[0].text), refused
    judged = model.requests[-1].conversation.tool_results
    assert "Read-only file system" in judged[0].text, judged
    # What the probe found reached the worker.
    assert "greet.sh is missing" in model.requests[2].conversation.user
    certificate = json.loads((desk.folder / LOGS / "certificate.json").read_text("utf-8"))
    judges = [(one["item"], one["verdict"], one["judged_by"]) for one in certificate["checks"]]
    assert judges == [
        ("It is there", "passed", "harness"),
        ("It is friendly", "passed", "verifier"),
    ]
    spent = certificate["spent"]
    assert (certificate["verdict"], spent["sessions"], spent["tokens"]) == ("passed", 6, 1320)
    assert (spent["usd"] > 0) is not desk.is_codex
    assert desk.calls(None, "land", "--onto", "main").code == 0
    assert desk.committed("main") == ["README", "check.sh", "greet.sh", "page-1", "page-2"]


# --- what is kept ---------------------------------------------------------------------------------


def test_a_key_turns_up_nowhere(desk: Desk) -> None:
    """Not even if the agent says it in every way that it has, and a check prints all it knows."""
    desk.aligned(ONE, "env; test -s greeting.txt\n")
    desk.variables = {"GITHUB_TOKEN": OTHER}
    told = {**done("greeting.txt"), "summary": f"it was paid with {KEY}"}
    loud = f"env; echo {KEY}; echo {KEY} >&2; echo '{json.dumps(told)}' > $DWINDLE_REPORT"
    script = desk.lane(
        "", desk.runs(loud), desk.writes("greeting.txt", "hello"), desk.reports(told)
    )
    with ModelServer(script) as model:
        ended = desk.calls(model, "run")
    assert (ended.code, ended.err) == (0, ""), ended
    # The agent knew its own key and no other, and what it said is kept.
    printed = model.requests[1].conversation.tool_results[0].text
    assert (KEY in printed, "DWINDLE_ORDER=" in printed, OTHER in printed) == (True, True, False)
    log, report = (desk.folder / LOGS / f"0001/A1.1.worker/{name}" for name in KEPT)
    name = desk.key_name
    assert f"it was paid with [{name}]" in log.read_text("utf-8")
    assert json.loads(report.read_bytes())["summary"] == f"it was paid with [{name}]"
    assert f"A1: resolved: it was paid with [{name}]" in ended.out
    for word in ("log", "status", "replay", "report", "doctor"):
        assert KEY not in str(desk.calls(None, word))
    committed = desk.git("cat-file", "--batch-all-objects", "--batch", "--unordered")
    for secret in (KEY, OTHER):
        assert (secret in str(ended), secret in committed) == (False, False)
        assert holding(desk.folder, secret) == []


# --- before a run, and beside it ------------------------------------------------------------------


COUNTED = "codex chooses its model and does not tell which: name one, to have costs counted"


def test_doctor_tells_what_it_found(desk: Desk) -> None:
    repository(desk.folder)
    with ModelServer(desk.lane("", Step("unasked"))) as model:
        told = json.loads(desk.calls(model, "doctor", "--json").out)
        assert KEY not in str((told, desk.calls(model, "doctor")))
    assert model.visits == ()
    path = desk.program.path.resolve()
    what = f"{desk.program.name} {desk.program.version}; {desk.key_name} is set ({path})"
    found = {one["name"]: (one["state"], one["what"], one["hint"]) for one in told["findings"]}
    roles = ("worker", "probe", "verifier", "planner")
    state, hint = ("note", COUNTED) if desk.is_codex else ("ok", "")
    assert {role: found[role] for role in roles} == dict.fromkeys(roles, (state, what, hint))
    without = desk.calls(None, "doctor")
    assert (without.code, "no login was found" in without.out) == (2, True)


def test_a_planner_turns_words_into_edits(desk: Desk) -> None:
    desk.aligned(ONE)
    limit = {"edit": "set_limit", "name": "max_iterations", "value": 7}
    edits = {"edits": [limit], "note": f"Paid with {KEY}."}
    script = desk.lane(
        "You are a planner.*at most seven",
        desk.runs(f"echo me > intruder; echo {KEY} > $DWINDLE_REPORT"),
        desk.reports(edits),
    )
    with ModelServer(script) as model:
        ended = desk.calls(model, "redirect", "at most seven iterations", "--yes")
    assert ended.code == 0, ended
    assert f"The planner says: Paid with [{desk.key_name}].\n" in ended.err
    assert plan_of(desk.folder).limits.max_iterations == 7
    assert not (desk.folder / "intruder").exists()
    report = desk.folder / ".runner/iterations/planning/0001/report.json"
    assert report.exists() is desk.is_codex  # claude has no tool for it
    assert holding(desk.folder, KEY) == []


# --- trees ----------------------------------------------------------------------------------------


def test_a_tree_is_worked_on(desk: Desk) -> None:
    root = {**BLANK, "id": "root", "title": "Greet", "goal": "People are greeted"}
    leaf = {**BLANK, "id": "leaf", "title": "Hello", "goal": "Write greeting.txt"}
    tree = {"version": 1, "root": {**root, "children": [leaf]}}
    write(desk.folder, "check.sh", "test -s greeting.txt\n")
    write(desk.folder, ".runner/config.toml", '[guard]\ncommand = ["sh", "check.sh"]\n')
    repository(desk.folder, tree=json.dumps(tree, indent=2) + "\n")
    # A login is renewed in the program's own folder, and what it says is kept without its key.
    folder = "$CODEX_HOME" if desk.is_codex else "$CLAUDE_CONFIG_DIR"
    loud = f"touch {folder}/renewed; echo {KEY} | tee $DWINDLE_REPORT"
    says = desk.reports({**done("greeting.txt"), "summary": KEY})
    script = desk.lane(
        "Write greeting.txt", desk.writes("greeting.txt", "hello"), desk.runs(loud), says
    )
    with ModelServer(script) as model:
        ended = desk.calls(model, "run", "--run-id", RUN)
    assert (ended.code, ended.err) == (0, f"dwindle: on the new branch runner/{RUN}\n"), ended
    assert desk.git("log", "--format=%s").splitlines() == [
        f"chore(loop): run {RUN} iter 0001 node leaf execute guard=pass",
        "first",
    ]
    assert desk.committed() == [
        *(".runner/config.toml", ".runner/tree.json", "README", "check.sh", "greeting.txt"),
    ]
    own = desk.stage.codex_home if desk.is_codex else desk.stage.claude_config
    assert (own / "renewed").exists()
    kept = {path.name: path.read_text("utf-8") for path in (desk.folder / LOGS).rglob("*.*")}
    assert f"[{desk.key_name}]" in kept["executor.log"]
    assert kept["report.json"] == f"[{desk.key_name}]\n"
    assert (holding(desk.folder, KEY), KEY in str(ended)) == ([], False)
