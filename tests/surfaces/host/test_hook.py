"""What the host is told when an agent of one of its sessions ends."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.command import PLAIN, dwindle, write
from tests.surfaces.host.guest import COORDINATOR, PLAN, Guest, aligned, entered
from tests.surfaces.small_runs import RUN

from dwindle.app.host.lease import NOTE
from dwindle.kernel.model import AtomId

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
THRICE = PLAN.replace("  base_case:", "  constraints: {max_stall_count: 3}\n  base_case:")
THREE = """\
objective:
  goal: Make files
  background_intent: A user asked for them
  deliverables: Files
  definition_of_done: They are there
  base_case: {type: command, value: test -f a.txt}
  constraints: {dispatch: wave}
atoms:
  - {id: A1, description: Make a.txt}
  - {id: A2, description: Make b.txt}
  - {id: A3, description: Make c.txt}
"""


# --- when it has nothing to say ------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        b"",
        b"[]",
        b"null",
        b'"text"',
        b"{}",
        b'{"session_id": 5}',
        b'{"session_id": "the-session"}',
        b'{"session_id": "the-session", "hook_event_name": "SubagentStop"}',
        b'{"session_id": "the-session", "hook_event_name": "PreToolUse"}',
        b'{"hook_event_name": "SubagentStop", "agent_type": "dwindle:aot-coordinator"}',
    ],
)
def test_input_that_lacks_something_leaves_the_session_alone(tmp_path: Path, given: bytes) -> None:
    guest = entered(tmp_path)
    said = guest.hears_raw(given)
    assert said is None or list(said) == ["systemMessage"]
    assert guest.plan.control.iteration == 0


def test_only_the_coordinator_of_the_session_that_has_the_loop_counts(tmp_path: Path) -> None:
    guest = entered(tmp_path, THREE)
    for atom in ("A1", "A2", "A3"):
        guest.starts(atom)
    before = (guest.plan.control, (tmp_path / NOTE).read_bytes())
    for agent in ("dwindle:aot-worker", "dwindle:aot-probe", "general-purpose", "aot-coordinator"):
        for _ in range(3):
            assert guest.hears(hook_event_name="SubagentStop", agent_type=agent) is None
    assert Guest(tmp_path, "another").coordinator_ends() is None
    assert (guest.plan.control, (tmp_path / NOTE).read_bytes()) == before


def test_a_session_without_a_loop_hears_nothing(tmp_path: Path) -> None:
    guest = aligned(tmp_path)
    for name in ("SubagentStop", "Stop", "StopFailure", "SessionEnd"):
        assert guest.hears(hook_event_name=name, agent_type=COORDINATOR) is None


def test_it_imports_no_framework_and_no_kernel_where_there_is_no_loop(tmp_path: Path) -> None:
    code = (
        "import sys, io\n"
        'sys.stdin = io.TextIOWrapper(io.BytesIO(b\'{"session_id": "x"}\'))\n'
        "from dwindle.surfaces.host import hook\n"
        "assert hook.answer() == 0\n"
        "heavy = ('cyclopts', 'rich', 'asyncio', 'msgspec', 'yaml', 'dwindle.kernel')\n"
        "print([name for name in heavy if name in sys.modules])\n"
    )
    here = {**PLAIN, "CLAUDE_PROJECT_DIR": str(tmp_path)}
    ended = subprocess.run([sys.executable, "-c", code], env=here, capture_output=True, check=True)
    assert ended.stdout == b"[]\n"


# --- the table -----------------------------------------------------------------------------------


def test_a_plan_that_shrinks_goes_on(tmp_path: Path) -> None:
    guest = entered(tmp_path)
    guest.coordinator_ends()
    guest.does("A1", "a.txt")
    assert guest.coordinator_ends() == {
        "decision": "block",
        "reason": "Continue: from 2 to 1 open atoms. Next: A2.",
    }


def test_a_plan_that_stalls_is_told_to_switch(tmp_path: Path) -> None:
    guest = entered(tmp_path, THRICE)
    guest.starts("A1")
    guest.state("update-atom", "A1", "pending", "--reason", "no pen")
    assert guest.coordinator_ends() == {
        "decision": "block",
        "reason": "Stalled (1 of 3): switch strategy for A1. Next: A1.",
    }


def test_splitting_is_no_stall(tmp_path: Path) -> None:
    guest = entered(tmp_path)
    guest.coordinator_ends()
    guest.starts("A1")
    split = {"children": [{"description": "Half"}, {"description": "Rest"}], "reason": "too big"}
    guest.state("report", "A1", "--json", json.dumps({"decomposition": split}))
    said = guest.coordinator_ends()
    assert said["reason"] == (
        "Continue: the plan was split up, from 2 to 4 open atoms. Next: A3, A4."
    )
    assert guest.plan.control.stall_count == 0


def test_a_loop_that_is_over_ends(tmp_path: Path) -> None:
    guest = entered(tmp_path)
    guest.does("A1", "a.txt")
    guest.does("A2", "b.txt")
    assert "have the base case verified" in guest.coordinator_ends()["reason"]
    guest.state("set-status", "completed")
    assert guest.coordinator_ends() is None  # no session has the loop any more


def test_a_limit_ends_it_and_that_is_on_record(tmp_path: Path) -> None:
    limited = PLAN.replace(
        "  base_case:", "  constraints: {max_stall_count: 1, max_winds: 0}\n  base_case:"
    )
    guest = entered(tmp_path, limited)
    guest.starts("A1")
    guest.state("update-atom", "A1", "pending")
    plan = guest.plan
    assert str(plan.control.stop_code) == "stalled"
    guest = Guest(tmp_path)
    assert guest.coordinator_ends() is None


def test_a_coordinator_that_starts_nothing_is_not_told_to_go_on_forever(tmp_path: Path) -> None:
    guest = entered(tmp_path, THRICE)
    said = [guest.coordinator_ends(f"c{n}") for n in range(3)]
    assert [one["decision"] for one in said] == ["block", "block", "approve"]
    assert "Nothing was started (2 of 3 times): start it now." in said[1]["reason"]
    assert str(guest.plan.control.stop_code) == "stalled"
    assert "ended without starting anything" in str(guest.plan.control.stop_reason)


def test_one_coordinator_is_let_go_before_the_host_ends_its_turn(tmp_path: Path) -> None:
    many = THREE.replace("dispatch: wave", "dispatch: wave, max_parallel_agents: 1")
    atoms = "".join(f"  - {{id: A{n}, description: Make {n}.txt}}\n" for n in range(4, 12))
    guest = entered(tmp_path, many + atoms)
    decisions = []
    for n in range(1, 9):
        guest.does(f"A{n}", f"{n}.txt")
        decisions.append(guest.coordinator_ends()["decision"])
    assert decisions == ["block"] * 6 + ["approve"] * 2
    guest.does("A9", "9.txt")
    assert guest.coordinator_ends("another")["decision"] == "block"


# --- what a coordinator leaves behind ------------------------------------------------------------


def test_what_its_workers_reported_counts_also_if_it_forgot_to_say_so(tmp_path: Path) -> None:
    guest = entered(tmp_path, THREE)
    one, two = guest.starts("A1"), guest.starts("A2")
    write(Path(one["worktree"]), "a.txt", "a\n")
    report = {"success": True, "summary": "a is there", "artifacts": ["a.txt"]}
    Path(one["report"]).write_text(json.dumps(report), "utf-8")
    write(Path(two["worktree"]), "b.txt", "b\n")
    assert guest.coordinator_ends()["decision"] == "block"
    assert (guest.status("A1"), guest.status("A2")) == ("resolved", "pending")
    assert guest.plan.bindings[AtomId("A1")].summary == "a is there"
    assert guest.plan.trail[-1].reason == "it ended without a report"


def test_workers_in_the_background_are_waited_for(tmp_path: Path) -> None:
    guest = entered(tmp_path)
    guest.starts("A1")
    running = [{"id": "x", "type": "subagent", "status": "running"}]
    said = guest.coordinator_ends(background_tasks=running)
    assert said["decision"] == "block"
    assert "A1 is still at work in the background" in said["reason"]
    assert guest.status("A1") == "in_progress"


def test_a_coordinator_that_waits_is_let_go_before_the_host_ends_its_turn(tmp_path: Path) -> None:
    guest = entered(tmp_path)
    guest.starts("A1")
    running = [{"id": "x", "type": "subagent", "status": "running"}]
    said = [guest.coordinator_ends(background_tasks=running)["decision"] for _ in range(7)]
    assert said == ["block"] * 6 + ["approve"]
    assert guest.status("A1") == "in_progress"


def test_a_server_in_the_background_is_not_waited_for(tmp_path: Path) -> None:
    guest = entered(tmp_path, THRICE)
    guest.starts("A1")
    server = [{"id": "x", "type": "shell", "status": "running"}]
    said = guest.coordinator_ends(background_tasks=server)
    assert said["reason"] == "Stalled (1 of 3): switch strategy for A1. Next: A1."
    said = guest.hears(hook_event_name="Stop", background_tasks=server)
    assert said["decision"] == "block"


def test_a_coordinator_that_dies_of_the_hosts_trouble_costs_no_attempt(tmp_path: Path) -> None:
    guest = entered(tmp_path)
    guest.starts("A1")
    assert guest.hears(hook_event_name="StopFailure", agent_type=COORDINATOR) is None
    atom = guest.plan.atoms[AtomId("A1")]
    assert (str(atom.status), atom.attempts) == ("pending", 0)
    assert guest.state("next")["next"]["start"][0]["atom_id"] == "A1"


# --- the session itself --------------------------------------------------------------------------


def test_a_turn_does_not_end_before_the_loop_does(tmp_path: Path) -> None:
    guest = entered(tmp_path)
    said = [guest.hears(hook_event_name="Stop") for _ in range(4)]
    assert [one.get("decision") for one in said] == ["block", "block", "block", None]
    assert "Start dwindle:aot-coordinator again" in said[0]["reason"]
    assert "/enter-recursion goes on" in said[3]["systemMessage"]
    guest.does("A1", "a.txt")
    assert guest.hears(hook_event_name="Stop")["decision"] == "block"
    running = [{"id": "x", "type": "subagent", "status": "running"}]
    assert guest.hears(hook_event_name="Stop", background_tasks=running) is None


def test_no_agent_is_told_to_go_on_while_a_person_is_asked_for_the_new_direction(
    tmp_path: Path,
) -> None:
    guest = entered(tmp_path)
    guest.starts("A1")
    guest.state("pause")
    assert guest.hears(hook_event_name="Stop") is None
    said = guest.coordinator_ends()
    assert said == {"decision": "approve", "reason": "A redirect is under way: nothing starts."}
    guest.state("resume")
    assert guest.hears(hook_event_name="Stop")["decision"] == "block"


def test_a_session_that_went_into_another_folder_is_heard_from_there(tmp_path: Path) -> None:
    for name in ("here", "home"):
        (tmp_path / name).mkdir()
    guest = entered(tmp_path / "here")
    given = {"session_id": "the-session", "hook_event_name": "Stop", "cwd": str(guest.folder)}
    here = {**PLAIN, "CLAUDE_PROJECT_DIR": str(tmp_path / "home")}
    words = [sys.executable, "-m", "dwindle", "hook"]
    ended = subprocess.run(
        words, env=here, input=json.dumps(given).encode(), capture_output=True, check=True
    )
    assert json.loads(ended.stdout)["decision"] == "block"


def test_rubbish_is_not_mentioned_where_there_is_no_loop(tmp_path: Path) -> None:
    guest = aligned(tmp_path)
    assert guest.hears_raw(b"{") is None


def test_a_session_that_ends_leaves_a_stopped_run(tmp_path: Path) -> None:
    guest = entered(tmp_path)
    guest.starts("A1")
    assert guest.hears(hook_event_name="SessionEnd", reason="other") is None
    guest.waits_until_stopped()
    plan = guest.plan
    assert (str(plan.control.status), plan.control.stop_reason) == (
        "stopped",
        "the session that ran the loop has ended",
    )
    assert (plan.atoms[AtomId("A1")].attempts, (tmp_path / NOTE).exists()) == (0, False)
    assert dwindle(tmp_path, "replay", RUN).code == 0


# --- the plugin as it is shipped -----------------------------------------------------------------


def hooks() -> dict[str, Any]:
    found: dict[str, dict[str, Any]] = json.loads((ROOT / "plugin/hooks/hooks.json").read_bytes())
    return found["hooks"]


def test_no_hook_decides_about_permissions() -> None:
    assert sorted(hooks()) == ["SessionEnd", "SessionStart", "Stop", "StopFailure", "SubagentStop"]


def test_the_matcher_is_the_coordinator() -> None:
    assert [one["matcher"] for one in hooks()["SubagentStop"]] == [COORDINATOR]
