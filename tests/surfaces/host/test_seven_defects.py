"""Seven promises that such loops were seen to break, each held through the door of the plugin."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.surfaces.command import GRAPH_FILE
from tests.surfaces.host.guest import PLAN, Guest, aligned, entered

from dwindle.kernel.model import AtomId

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
ONLY_JUDGED = PLAN.replace(
    "check: {type: command, value: test -f a.txt -a -f b.txt}",
    "check: {type: quality, criteria: It is friendly, pass_threshold: 3}",
)
JUDGED = PLAN.replace(
    "atoms:",
    "      - item: It is friendly\n"
    "        check: {type: quality, criteria: It is friendly, pass_threshold: 3}\natoms:",
)
CLAIMED = PLAN.replace(
    "atoms:",
    "      - item: It reads well\n"
    "        check: {type: assertion, value: A reader likes it}\natoms:",
)
THREE = PLAN.replace(", depends_on: [A1]", "") + "  - {id: A3, description: Make c.txt}\n"


def worked_off(guest: Guest) -> Guest:
    guest.state("enter")
    guest.does("A1", "a.txt")
    guest.does("A2", "b.txt")
    return guest


def test_1_a_command_that_does_not_exist_has_not_said_no(tmp_path: Path) -> None:
    plan = PLAN.replace("type: command, value: test", "type: not_command, value: no-such-program")
    guest = worked_off(aligned(tmp_path, plan, "--cannot-run-yet-ok"))
    said = guest.state("set-status", "completed")
    assert (said["success"], said["status"]) == (False, "running")


def test_2_what_was_not_judged_has_not_passed(tmp_path: Path) -> None:
    guest = worked_off(aligned(tmp_path, JUDGED))
    said = guest.state("set-status", "completed")
    assert (said["success"], guest.plan.spent.verifications) == (False, 0)
    assert "a verifier has to judge first" in said["error"]


def test_2_nor_is_there_a_loop_where_nothing_can_be_checked_at_all(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="nothing in the base case can be checked"):
        aligned(tmp_path, ONLY_JUDGED)


def test_3_an_assertion_can_hold_and_then_waits_for_a_person(tmp_path: Path) -> None:
    guest = worked_off(aligned(tmp_path, CLAIMED))
    judged = [{"item": "It reads well", "passed": True, "evidence": "a reader did"}]
    said = guest.state("set-status", "completed", "--judged", json.dumps(judged))
    assert said["next"]["stop_code"] == "awaiting_confirmation"


def test_4_the_ends_of_workers_use_no_iteration_and_are_no_stall(tmp_path: Path) -> None:
    guest = entered(tmp_path, THREE)
    for atom in ("A1", "A2", "A3"):
        guest.starts(atom)
    before = guest.plan.control
    for _ in range(3):
        said = guest.hears(hook_event_name="SubagentStop", agent_type="dwindle:aot-worker")
        assert said is None
    assert guest.plan.control == before


def test_5_a_choice_that_failed_is_on_record_by_itself(tmp_path: Path) -> None:
    plan = PLAN.replace("Make a.txt}", "Make a.txt, or_group: way, max_attempts: 1}").replace(
        ", depends_on: [A1]", ", or_group: way"
    )
    groups = "or_groups:\n  way: {choices: [A1, A2], selected: A1, failed: []}\n"
    guest = entered(tmp_path, plan + groups)
    guest.starts("A1")
    guest.state("update-atom", "A1", "pending", "--reason", "no way")
    group = guest.state("read")["or_groups"]["way"]
    assert (group["failed"], group["selected"]) == (["A1"], "A2")


def test_6_no_hook_of_ours_permits_anything(tmp_path: Path) -> None:
    hooks = json.loads((ROOT / "plugin/hooks/hooks.json").read_bytes())["hooks"]
    assert not {"PreToolUse", "PermissionRequest", "PermissionDenied"} & set(hooks)
    guest = aligned(tmp_path)  # pending: no loop was entered
    for session in ("the-session", "another"):
        call = {"tool_name": "Bash", "tool_input": {"command": "rm -rf ."}}
        assert Guest(tmp_path, session).hears(hook_event_name="PreToolUse", **call) is None
    assert guest.plan.atoms[AtomId("A1")].attempts == 0


def test_7_an_unknown_status_is_said_aloud_and_left_as_it_is(tmp_path: Path) -> None:
    guest = entered(tmp_path)
    path = tmp_path / GRAPH_FILE
    odd = path.read_text("utf-8").replace("status: running", "status: dancing")
    path.write_text(odd, "utf-8")
    assert "could not be looked at" in guest.coordinator_ends()["systemMessage"]
    assert "dancing" in guest.state("next")["error"]
    assert path.read_text("utf-8") == odd
