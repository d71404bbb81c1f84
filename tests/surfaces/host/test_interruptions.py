"""Commands that are killed, notes that run out, plans that others have: a loop goes on."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.surfaces.command import PLAIN, dwindle, write
from tests.surfaces.host.guest import PLAN, Guest, entered
from tests.surfaces.small_runs import BRANCH, RUN

from dwindle.adapters.store.disk import DirectoryLock
from dwindle.app.host.lease import NOTE
from dwindle.kernel.model import AtomId

pytestmark = pytest.mark.slow

DIES = """
import os, sys
from dwindle.runner.gate.gate import Gate
from dwindle.runner.loop import Loop
from dwindle.runner.modes.hosted import HostedMode
from dwindle.adapters.git.worktrees.workspace import GitWorkspace
from dwindle.surfaces.host import state_command

async def die(*_, **__):
    os._exit(9)

real = Loop.take

async def take(self, event):
    return await (die() if type(event).__name__ == "AtomResolved" else real(self, event))

match sys.argv[1]:
    case "record":
        Loop.take = take
    case "lease":
        GitWorkspace.lease = die
    case "put away":
        HostedMode.put_away = die
    case "verification":
        Gate.verification = die
sys.exit(state_command.answer(sys.argv[2:]))
"""


def killed(guest: Guest, before: str, *given: str) -> None:
    """A command of the session that is killed right before it does that."""
    here = {**PLAIN, "CLAUDE_CODE_SESSION_ID": guest.session}
    words = [sys.executable, "-c", DIES, before, *given]
    ended = subprocess.run(words, env=here, cwd=guest.folder, capture_output=True, check=False)
    assert ended.returncode == 9, ended


def run_out(folder: Path) -> None:
    note = json.loads((folder / NOTE).read_text("utf-8"))
    (folder / NOTE).write_text(json.dumps({**note, "until": time.time() - 1}), "utf-8")


# --- killed --------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", ["record", "put away"])
def test_work_that_was_integrated_counts_once(tmp_path: Path, before: str) -> None:
    guest = entered(tmp_path)
    started = guest.starts("A1")
    write(Path(started["worktree"]), "a.txt", "a\n")
    killed(guest, before, "update-atom", "A1", "resolved")
    if before == "record":
        assert guest.state("update-atom", "A1", "resolved")["status"] == "resolved"
    assert guest.state("read")["summary"]["resolved"] == 1
    log = ["git", "log", "--format=%s", f"main..{BRANCH}"]
    said = subprocess.run(log, cwd=tmp_path, capture_output=True, check=True)
    assert len(said.stdout.splitlines()) == 1, said
    assert guest.does("A2", "b.txt")["next"]["verify"] is True
    assert guest.state("set-status", "completed").code == 0
    assert dwindle(tmp_path, "replay", RUN).code == 0


def test_a_start_that_the_host_was_not_told_of_costs_no_attempt(tmp_path: Path) -> None:
    guest = entered(tmp_path)
    killed(guest, "lease", "update-atom", "A1", "in_progress")
    assert guest.state("read")["in_flight"].keys() == {"A1"}
    assert guest.state("next")["next"]["in_flight"] == []
    assert guest.plan.atoms[AtomId("A1")].attempts == 0
    assert guest.does("A1", "a.txt").code == 0


def test_a_verification_that_was_killed_is_begun_again(tmp_path: Path) -> None:
    guest = entered(tmp_path)
    guest.does("A1", "a.txt")
    guest.does("A2", "b.txt")
    killed(guest, "verification", "set-status", "completed")
    assert guest.state("read")["in_flight"].keys() == {"verification"}
    assert guest.state("set-status", "completed")["status"] == "completed"


# --- a note that has run out ---------------------------------------------------------------------


def test_a_worker_may_be_at_work_for_longer_than_a_note_lasts(tmp_path: Path) -> None:
    guest = entered(tmp_path)
    started = guest.starts("A1")
    write(Path(started["worktree"]), "a.txt", "a\n")
    run_out(tmp_path)
    assert Guest(tmp_path, "another").state("next")["error"] == "no loop is open in this session"
    assert guest.state("update-atom", "A1", "resolved")["status"] == "resolved"
    run_out(tmp_path)
    assert guest.coordinator_ends()["decision"] == "block"
    assert json.loads((tmp_path / NOTE).read_text("utf-8"))["until"] > time.time() + 29 * 60


def test_a_note_that_runs_out_during_a_command_is_renewed(tmp_path: Path) -> None:
    note, ran = tmp_path / NOTE, tmp_path / ".runner/ran"
    slow = f"""sed -i 's/"until": [0-9.]*/"until": 0/' {note}; touch {ran}; false"""
    write(tmp_path, ".runner/config.toml", "[sandbox]\nenabled = false\n")
    guest = entered(tmp_path, PLAN.replace("test -f a.txt -a -f b.txt", json.dumps(slow)))
    guest.does("A1", "a.txt")
    guest.does("A2", "b.txt")
    ran.unlink(missing_ok=True)  # of the alignment
    assert guest.state("set-status", "completed")["status"] == "running"
    assert ran.exists()
    assert json.loads(note.read_text("utf-8"))["until"] > time.time() + 29 * 60


def test_the_loop_of_a_dead_session_can_be_stopped(tmp_path: Path) -> None:
    guest = entered(tmp_path)
    guest.starts("A1")
    run_out(tmp_path)
    assert dwindle(tmp_path, "stop", "--reason", "it is dead").code == 0
    assert (guest.plan.control.stop_reason, guest.plan.sessions) == ("it is dead", {})
    assert not (tmp_path / NOTE).exists()


# --- others --------------------------------------------------------------------------------------


def test_reading_does_not_wait(tmp_path: Path) -> None:
    guest = entered(tmp_path)
    began = time.monotonic()
    with DirectoryLock(tmp_path / ".claude"):
        said = guest.state("read")
    assert (said.code, said["status"]) == (0, "running")
    assert time.monotonic() - began < 10


def test_an_agent_that_was_ended_and_works_on_does_not_reach_the_tree_of_another(
    tmp_path: Path,
) -> None:
    guest = entered(tmp_path)
    old = Path(guest.starts("A1")["worktree"])
    write(old, "a.txt", "old\n")
    guest.state("pause")
    guest.state("resume")
    new = Path(guest.starts("A1")["worktree"])
    assert (new != old, sorted(p.name for p in new.iterdir() if p.name != ".git")) == (
        True,
        sorted(p.name for p in tmp_path.iterdir() if p.name not in {".git", ".claude", ".runner"}),
    )
    with pytest.raises(NotADirectoryError):
        (old / "a.txt").write_text("too late\n", "utf-8")
    assert dwindle(tmp_path, "redirect", "--add-atom", "Make c.txt", "--yes").code == 0
    assert Path(guest.starts("A1")["worktree"]) not in (old, new)


def test_a_proposal_that_the_kernel_refuses_is_no_success(tmp_path: Path) -> None:
    guest = entered(tmp_path)
    guest.starts("A1")
    children = [{"description": f"Part {n}"} for n in range(60)]
    proposed = json.dumps({"decomposition": {"children": children, "reason": "too big"}})
    said = guest.state("report", "A1", "--json", proposed)
    assert (said.code, said["success"], said["status"]) == (1, False, "pending")
    assert "60 new atoms are proposed and fuel for 50 is left" in said["error"]


def test_the_loser_of_a_race_is_too_late_and_its_work_is_kept(tmp_path: Path) -> None:
    race = PLAN.replace("b.txt, depends_on: [A1]}", "it another way, or_group: way}")
    race = race.replace("Make a.txt}", "Make it, or_group: way}")
    race += "or_groups:\n  way: {choices: [A1, A2], selected: A1, failed: [], speculative: true}\n"
    guest = entered(tmp_path, race)
    loser, winner = guest.starts("A1"), guest.starts("A2")
    write(Path(loser["worktree"]), "half.txt", "half\n")
    write(Path(winner["worktree"]), "a.txt", "a\n")
    assert guest.state("update-atom", "A2", "resolved")["next"]["in_flight"] == []
    late = guest.state("update-atom", "A1", "resolved", "--nonce", str(loser["nonce"]))
    assert (late.code, late["error"]) == (1, "no session of A1 is in flight: it is pending")
    kept = ["git", "ls-tree", "--name-only", f"refs/dwindle/attempts/{RUN}/A1/1"]
    said = subprocess.run(kept, cwd=tmp_path, capture_output=True, check=True)
    assert b"half.txt" in said.stdout
