"""`dwindle state`: a loop whose agents belong to a host."""

from __future__ import annotations

import json
import re
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.surfaces.command import GRAPH_FILE, dwindle, repository, write
from tests.surfaces.host.guest import PLAN, Guest, aligned, entered
from tests.surfaces.small_runs import BRANCH, CERTIFICATE, RUN

from dwindle.app.host.lease import NOTE
from dwindle.kernel.model import AtomId, Plan

pytestmark = pytest.mark.slow

QUALITY = PLAN.replace(
    "atoms:",
    """\
      - item: It is friendly
        check: {type: quality, criteria: It is friendly, pass_threshold: 3}
atoms:""",
)
CHOICE = """\
objective:
  goal: Make files
  background_intent: A user asked for them
  deliverables: a.txt
  definition_of_done: It is there
  base_case: {type: command, value: test -f a.txt}
atoms:
  - id: A1
    description: One way
    or_group: way
    max_attempts: 1
    check: {type: command, value: grep -q x a.txt}
  - {id: A2, description: Another, or_group: way, check: {type: command, value: test -f a.txt}}
or_groups:
  way: {choices: [A1, A2], selected: A1, failed: []}
"""


def test_a_whole_loop_one_command_at_a_time(tmp_path: Path) -> None:
    guest = aligned(tmp_path)
    said = guest.state("enter")
    assert said["next"]["start"] == [
        {
            "atom_id": "A1",
            "agent": "aot-worker",
            "because": "A1 depends on nothing that is open; chain of 1 behind it",
        }
    ]
    assert [atom["id"] for atom in said["executable_atoms"]] == ["A1"]
    started = guest.starts("A1")
    assert (started["agent"], started["attempt"]) == ("aot-worker", 1)
    assert "Make a.txt" in Path(started["prompt"]).read_text("utf-8")
    write(Path(started["worktree"]), "a.txt", "a\n")
    report = {"success": True, "summary": "a is there", "artifacts": ["a.txt"]}
    Path(started["report"]).write_text(json.dumps(report), "utf-8")
    said = guest.state("update-atom", "A1", "resolved", "--nonce", str(started["nonce"]))
    assert said["status"] == "resolved"
    assert guest.state("read")["bindings"] == {
        "A1": {"summary": "a is there", "artifacts": ["a.txt"]}
    }
    assert guest.does("A2", "b.txt")["next"]["verify"] is True
    done = guest.state("set-status", "completed")
    assert (done.code, done["status"], done["next"]["stop_code"]) == (0, "completed", "completed")
    assert not (tmp_path / NOTE).exists()
    assert json.loads((tmp_path / CERTIFICATE).read_text("utf-8"))["verdict"] == "passed"
    assert guest.state("next")["next"]["over"] is True
    replayed = dwindle(tmp_path, "replay")
    assert replayed.code == 0, replayed


def test_a_claim_with_nothing_to_show_is_a_failed_attempt(tmp_path: Path) -> None:
    guest = entered(tmp_path)
    guest.starts("A1")
    said = guest.state("update-atom", "A1", "resolved")
    assert (said.code, said["success"], said["status"]) == (1, False, "pending")
    assert "no file changed" in said["error"]
    assert guest.plan.atoms[AtomId("A1")].attempts == 1


def test_the_report_decides_whatever_the_coordinator_claims(tmp_path: Path) -> None:
    guest = entered(tmp_path)
    started = guest.starts("A1")
    write(Path(started["worktree"]), "a.txt", "a\n")
    Path(started["report"]).write_text('{"success": false, "reason": "no pen"}', "utf-8")
    said = guest.state("update-atom", "A1", "resolved")
    assert (said.code, said["status"], said["error"]) == (1, "pending", "no pen")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (("update-atom", "A1", "resolved"), "no session of A1 is in flight: it is pending"),
        (("update-atom", "A2", "in_progress"), "it waits for A1"),
        (("update-atom", "A9", "in_progress"), "there is no atom A9"),
        (("update-atom", "A9", "pending"), "there is no atom A9"),
        (("set-status", "completed"), "not everything is resolved: A1, A2 are open"),
        (("add-binding", "A1", "--summary", "x"), "A1 is neither in progress nor resolved"),
        (("add-binding", "A1"), "a binding needs a summary"),
        (("report", "A1", "--json", "{}"), "no session of A1 is in flight: it is pending"),
    ],
)
def test_what_is_illegal_is_refused_and_changes_nothing(
    tmp_path: Path, given: tuple[str, ...], why: str
) -> None:
    guest = entered(tmp_path)
    before = _but_for_time(guest)
    said = guest.state(*given)
    assert (said.code, said["success"], said["error"]) == (1, False, why)
    assert _but_for_time(guest) == before


def _but_for_time(guest: Guest) -> Plan:
    """A second that passes between two commands is written down, whatever they say."""
    plan = guest.plan
    spent = replace(plan.spent, seconds=0.0)
    return replace(plan, spent=spent, control=replace(plan.control, revision=0))


def test_what_is_resolved_stays_so(tmp_path: Path) -> None:
    guest = entered(tmp_path)
    guest.does("A1", "a.txt")
    assert "resolved already" in guest.state("update-atom", "A1", "in_progress")["error"]
    assert "only a redirect" in guest.state("update-atom", "A1", "pending")["error"]
    assert guest.status("A1") == "resolved"


def test_words_that_make_no_sense_are_answered_with_how_it_is_done(tmp_path: Path) -> None:
    guest = entered(tmp_path)
    for given in (
        ("fly",),
        ("update-atom", "A1"),
        ("update-atom", "A1", "done"),
        ("update-atom", "A1", "resolved", "--nonce", "x"),
        ("update-atom", "A1", "resolved", "--colour", "red"),
        ("report", "A1"),
        ("read", "--state-file", "elsewhere.md"),
    ):
        said = guest.state(*given)
        assert (said.code, said["success"]) == (2, False), given
        assert "usage: dwindle state" in said["usage"]


# --- fencing -------------------------------------------------------------------------------------


def test_a_result_that_comes_after_a_redirect_is_discarded(tmp_path: Path) -> None:
    guest = entered(tmp_path)
    started = guest.starts("A1")
    write(Path(started["worktree"]), "a.txt", "a\n")
    assert guest.state("pause")["in_flight"] == {}
    assert "a redirect is under way" in guest.state("update-atom", "A1", "in_progress")["error"]
    changed = dwindle(tmp_path, "redirect", "--add-atom", "Make c.txt", "--yes")
    assert changed.code == 0, changed
    late = guest.state("update-atom", "A1", "resolved", "--nonce", str(started["nonce"]))
    assert (late.code, late["error"]) == (1, "no session of A1 is in flight: it is pending")
    again = guest.starts("A1")
    late = guest.state("update-atom", "A1", "resolved", "--nonce", str(started["nonce"]))
    assert f"nonce {again['nonce']} is in flight, and this result is discarded" in late["error"]
    assert guest.plan.bindings == {}


def test_a_redirect_that_is_given_up_lets_the_loop_go_on(tmp_path: Path) -> None:
    guest = entered(tmp_path)
    guest.state("pause")
    assert guest.state("resume")["next"]["start"][0]["atom_id"] == "A1"


def test_what_was_in_flight_is_kept_when_the_loop_is_stopped(tmp_path: Path) -> None:
    guest = entered(tmp_path)
    started = guest.starts("A1")
    write(Path(started["worktree"]), "half.txt", "half\n")
    ended = dwindle(tmp_path, "stop", "--reason", "tea")
    assert (ended.code, ended.out.split(";")[0]) == (0, "stopped")
    plan = guest.plan
    assert (str(plan.control.status), plan.control.stop_reason) == ("stopped", "tea")
    assert plan.atoms[AtomId("A1")].attempts == 0
    kept = f"refs/dwindle/attempts/{RUN}/A1/1"
    shown = dwindle(tmp_path, "status")
    assert "stopped_by_user" in shown.out
    tree = subprocess.run(
        ["git", "ls-tree", "--name-only", kept], cwd=tmp_path, capture_output=True, check=True
    )
    assert b"half.txt" in tree.stdout
    assert guest.state("enter")["next"]["start"][0]["atom_id"] == "A1"


# --- whose loop it is ----------------------------------------------------------------------------


def test_another_session_is_kept_out(tmp_path: Path) -> None:
    entered(tmp_path)
    other = Guest(tmp_path, "another")
    for given in (("next",), ("enter",), ("update-atom", "A1", "in_progress")):
        said = other.state(*given)
        assert (said.code, said["error"]) == (42, "the loop runs in another session (the-session)")
    assert other.state("read").code == 0
    assert other.coordinator_ends() is None


def test_a_run_of_its_own_is_kept_out_and_lets_itself_in_when_the_session_is_dead(
    tmp_path: Path,
) -> None:
    guest = entered(tmp_path)
    refused = dwindle(tmp_path, "run")
    assert (refused.code, "inside of a Claude Code session" in refused.err) == (42, True)
    note = json.loads((tmp_path / NOTE).read_text("utf-8"))
    assert 29 * 60 < note["until"] - time.time() <= 30 * 60
    (tmp_path / NOTE).write_text(json.dumps({**note, "until": time.time() - 1}), "utf-8")
    write(tmp_path, ".runner/config.toml", '[agents]\nbackend = "command"\ncommand = ["sh", "a"]\n')
    assert dwindle(tmp_path, "run").code != 42
    assert guest.state("next")["next"]["over"] is True  # it was taken up, and came to an end
    assert guest.state("update-atom", "A1", "in_progress")["error"] == (
        "no loop is open in this session"
    )
    assert Guest(tmp_path, "another").state("enter").code == 0


def test_without_a_loop_in_the_session_nothing_is_changed(tmp_path: Path) -> None:
    guest = aligned(tmp_path)
    said = guest.state("update-atom", "A1", "in_progress")
    assert (said.code, said["error"]) == (1, "no loop is open in this session")
    assert "/enter-recursion" in said["hint"]


def test_the_same_file_goes_on_under_a_runner_of_its_own_and_back(tmp_path: Path) -> None:
    guest = entered(tmp_path)
    guest.does("A1", "a.txt")
    assert guest.state("set-status", "stopped", "--reason", "to bed")["status"] == "stopped"
    write(
        tmp_path,
        ".runner/script.yaml",
        'worker:\n  "*":\n    - do: [{write: {b.txt: "b"}}]\n'
        "      report: {success: true, summary: b is there, artifacts: [b.txt]}\n",
    )
    settings = '[agents]\nbackend = "scripted"\nscript = ".runner/script.yaml"\n'
    write(tmp_path, ".runner/config.toml", settings)
    ended = dwindle(tmp_path, "run")
    assert ended.code == 0, ended
    assert guest.state("read")["status"] == "completed"
    assert "completed" in guest.state("enter")["error"]


def test_time_between_commands_is_time_of_the_run(tmp_path: Path) -> None:
    guest = entered(
        tmp_path, PLAN.replace("  base_case:", "  constraints: {max_wall_seconds: 1}\n  base_case:")
    )
    time.sleep(2.1)
    said = guest.state("next")
    assert (said["next"]["over"], said["next"]["stop_code"]) == (True, "budget_time")


# --- probes, proposals, choices ------------------------------------------------------------------


def test_a_probe_looks_and_its_findings_go_to_the_worker(tmp_path: Path) -> None:
    guest = entered(tmp_path, PLAN.replace("Make a.txt}", "Make a.txt, probe: true}"))
    assert guest.starts("A1")["agent"] == "aot-probe"
    assert "is being probed" in guest.state("update-atom", "A1", "resolved")["error"]
    found = '{"feasible": true, "findings": "there is a pen in the drawer"}'
    assert guest.state("report", "A1", "--json", found)["came_to"] == "ProbeEnded"
    started = guest.starts("A1")
    assert started["agent"] == "aot-worker"
    assert "pen in the drawer" in Path(started["prompt"]).read_text("utf-8")


def test_a_worker_splits_its_atom(tmp_path: Path) -> None:
    guest = entered(tmp_path)
    guest.starts("A1")
    split = {"children": [{"description": "Half"}, {"description": "Rest"}], "reason": "too big"}
    said = guest.state("report", "A1", "--json", json.dumps({"decomposition": split}))
    assert (said.code, said["came_to"]) == (0, "Decomposed")
    assert [s["atom_id"] for s in said["next"]["start"]] == ["A3", "A4"]
    assert "was decomposed" in guest.state("update-atom", "A1", "in_progress")["error"]


def test_a_choice_that_fails_is_left_and_the_next_is_taken_by_itself(
    tmp_path: Path,
) -> None:
    guest = entered(tmp_path, CHOICE)
    guest.starts("A1")
    said = guest.state("update-atom", "A1", "pending", "--reason", "no way")
    assert [s["atom_id"] for s in said["next"]["start"]] == ["A2"]
    group = guest.state("read")["or_groups"]["way"]
    assert (group["failed"], group["selected"]) == (["A1"], "A2")
    assert "branch that is not taken" in guest.state("update-atom", "A1", "in_progress")["error"]
    guest.does("A2", "a.txt")
    assert guest.state("set-status", "completed").code == 0


def test_a_malformed_report_is_a_failed_attempt_that_says_everything(tmp_path: Path) -> None:
    guest = entered(tmp_path)
    guest.starts("A1")
    said = guest.state("report", "A1", "--json", '{"success": 5, "summery": "red"}')
    assert (said.code, said["status"]) == (1, "pending")
    assert "success" in said["error"]
    assert "summery" in said["error"]


# --- words for results ---------------------------------------------------------------------------


def test_words_for_a_result_may_come_before_the_claim(tmp_path: Path) -> None:
    guest = entered(tmp_path)
    started = guest.starts("A1")
    write(Path(started["worktree"]), "a.txt", "a\n")
    said = guest.state("add_binding", "A1", "--summary", "a, at last", "--artifacts", "a.txt")
    assert said.answer == {
        "success": True,
        "atom_id": "A1",
        "artifacts_count": 1,
        "status": "in_progress",
    }
    guest.state("update_atom", "A1", "resolved")
    assert guest.plan.bindings[AtomId("A1")].summary == "a, at last"


def test_other_words_afterwards_are_a_redirect_while_nothing_rests_on_them(tmp_path: Path) -> None:
    guest = entered(tmp_path)
    guest.does("A1", "a.txt")
    before = guest.plan.spent.redirects
    assert guest.state("add-binding", "A1", "--summary", "other words").code == 0
    assert guest.plan.bindings[AtomId("A1")].summary == "other words"
    assert guest.plan.spent.redirects == before + 1
    assert guest.state("add-binding", "A1", "--summary", "other words").code == 0
    assert guest.plan.spent.redirects == before + 1
    guest.starts("A2")
    said = guest.state("add-binding", "A1", "--summary", "third")
    assert "would end the sessions in flight (A2)" in said["error"]


# --- the end -------------------------------------------------------------------------------------


def test_a_red_base_case_is_no_completion(tmp_path: Path) -> None:
    guest = entered(tmp_path)
    guest.does("A1", "a.txt")
    guest.does("A2", "other.txt")
    said = guest.state("set-status", "completed")
    assert (said.code, said["success"], said["status"]) == (1, False, "running")
    assert [s["atom_id"] for s in said["next"]["start"]] == ["A3"]
    assert guest.plan.spent.verifications == 1


def test_what_no_machine_can_decide_is_not_passed_unjudged(tmp_path: Path) -> None:
    guest = entered(tmp_path, QUALITY)
    guest.does("A1", "a.txt")
    guest.does("A2", "b.txt")
    said = guest.state("set-status", "completed")
    assert (said.code, guest.plan.spent.verifications) == (1, 0)
    assert "a verifier has to judge first: It is friendly" in said["error"]
    bad = guest.state("set-status", "completed", "--judged", '[{"item": "Nothing of that kind"}]')
    assert "'Nothing of that kind' is not to be judged" in bad["error"]
    score = {"criterion": "quality", "score": 4, "evidence": "it says hello"}
    judged = [{"item": "It is friendly", "passed": True, "evidence": "yes", "scores": [score]}]
    done = guest.state("set-status", "completed", "--judged", json.dumps(judged))
    assert (done.code, done["status"]) == (0, "completed"), done


def test_an_assertion_waits_for_a_person(tmp_path: Path) -> None:
    plan = PLAN.replace(
        "atoms:",
        "      - item: It reads well\n"
        "        check: {type: assertion, value: A reader likes it}\natoms:",
    )
    guest = entered(tmp_path, plan)
    guest.does("A1", "a.txt")
    guest.does("A2", "b.txt")
    judged = [{"item": "It reads well", "passed": True, "evidence": "it does"}]
    said = guest.state("set-status", "completed", "--judged", json.dumps(judged))
    assert (said.code, said["next"]["stop_code"]) == (1, "awaiting_confirmation")
    assert dwindle(tmp_path, "confirm", "yes").code == 0
    assert guest.state("enter")["next"]["stop_code"] == "completed"
    assert guest.state("read")["status"] == "completed"


def test_a_check_whose_program_is_missing_never_says_no(tmp_path: Path) -> None:
    plan = PLAN.replace("type: command, value: test", "type: not_command, value: no-such-program")
    guest = aligned(tmp_path, plan, "--cannot-run-yet-ok")
    guest.state("enter")
    guest.does("A1", "a.txt")
    guest.does("A2", "b.txt")
    said = guest.state("set-status", "completed")
    assert (said.code, said["success"], said["status"]) == (1, False, "running")


# --- bad input -----------------------------------------------------------------------------------


def test_without_a_plan_it_says_how_to_get_one(tmp_path: Path) -> None:
    repository(tmp_path)
    for given in (("read",), ("enter",), ("next",)):
        said = Guest(tmp_path).state(*given)
        assert (said.code, said["exists"]) == (1, False)
        assert "/align-goal" in said["hint"]


def test_a_plan_that_was_not_agreed_on_stops_at_the_gate(tmp_path: Path) -> None:
    guest = aligned(tmp_path)
    path = tmp_path / GRAPH_FILE
    text = re.sub("background_intent: .*", 'background_intent: ""', path.read_text("utf-8"))
    path.write_text(text, "utf-8")
    said = guest.state("enter")
    assert (said.code, said["success"]) == (3, False)
    assert "/align-goal" in said["hint"]


def test_a_plan_that_cannot_be_read_is_left_as_it_is(tmp_path: Path) -> None:
    guest = entered(tmp_path)
    path = tmp_path / GRAPH_FILE
    broken = path.read_text("utf-8").replace("status: running", "status: dancing")
    path.write_text(broken, "utf-8")
    said = guest.state("next")
    assert (said.code, said["success"]) == (2, False)
    assert "dancing" in said["error"]
    assert path.read_text("utf-8") == broken
    assert "could not be looked at" in guest.coordinator_ends()["systemMessage"]


def test_an_edit_by_hand_is_not_taken_for_ours(tmp_path: Path) -> None:
    guest = entered(tmp_path)
    path = tmp_path / GRAPH_FILE
    path.write_text(path.read_text("utf-8").replace("Make b.txt", "Make c.txt"), "utf-8")
    said = guest.state("update-atom", "A1", "in_progress")
    assert (said.code, "redirect --adopt" in said["hint"]) == (1, True)


def test_the_branch_holds_what_was_resolved(tmp_path: Path) -> None:
    guest = entered(tmp_path)
    guest.does("A1", "a.txt")
    names = subprocess.run(
        ["git", "ls-tree", "--name-only", BRANCH], cwd=tmp_path, capture_output=True, check=True
    )
    assert b"a.txt" in names.stdout


def test_a_coordinator_may_start_less_than_was_decided_and_that_replays(tmp_path: Path) -> None:
    guest = entered(tmp_path, PLAN.replace(", depends_on: [A1]", ""))
    started = guest.starts("A1")  # A2 could have been started too
    time.sleep(1.1)
    write(Path(started["worktree"]), "a.txt", "a\n")
    guest.state("update-atom", "A1", "resolved")
    guest.does("A2", "b.txt")
    assert guest.state("set-status", "completed").code == 0
    replayed = dwindle(tmp_path, "replay")
    assert replayed.code == 0, replayed


def test_what_steers_the_tests_is_held_fast_here_too(tmp_path: Path) -> None:
    guest = aligned(
        tmp_path,
        PLAN.replace("test -f a.txt -a -f b.txt", "python3 -m pytest -q tests"),
        "--cannot-run-yet-ok",
    )
    guest.state("enter")
    said = guest.does("A1", "conftest.py", "collect_ignore = ['tests']\n")
    assert (said.code, said["status"]) == (1, "pending")
    assert "changed files that steer the tests: conftest.py" in said["error"]


def test_a_plan_and_journal_that_were_rolled_back_together_are_found_out(tmp_path: Path) -> None:
    guest = entered(tmp_path)
    kept = [tmp_path / GRAPH_FILE, *(tmp_path / ".runner/journal").iterdir()]
    then = {path: path.read_bytes() for path in kept}
    guest.does("A1", "a.txt")
    for path, content in then.items():
        path.write_bytes(content)
    said = guest.state("next")
    assert (said.code, said["success"]) == (41, False)
