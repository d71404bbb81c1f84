"""`dwindle status` on a tree: its run, told from branch, journal and lock."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.docs.test_commands_page import keys, table
from tests.surfaces.command import PLAIN, TREE_FILE, Ended, dwindle, git, write
from tests.surfaces.small_runs import asked_git
from tests.surfaces.tree_branches import (
    BRANCH,
    DONE,
    GREEN,
    JOURNAL,
    RED,
    RUN,
    SPLIT,
    START,
    STORY,
    begun,
    half_way,
    iterated,
    journalled,
    node,
    written,
)

from dwindle.adapters.store.disk import DirectoryLock
from dwindle.app.plans.plan_files import is_locked
from dwindle.app.tree.branch_history import branch_here, read_branch
from dwindle.kernel.events import (
    AtomResolved,
    AttemptFailed,
    Event,
    IterationCommitted,
    Replanned,
    RunEnded,
    RunStarted,
    SessionStarted,
    StopRequested,
    Usage,
)
from dwindle.kernel.model import AtomId, Problem, Role, StopCode
from dwindle.runner.modes.tree.log import IterationLog
from dwindle.runner.modes.tree.prompt import Refusal

ROOT, PARSE, STORE = AtomId("root"), AtomId("parse"), AtomId("store")


def committed(number: int) -> IterationCommitted:
    return IterationCommitted(number=number, commit="c" * 40, subject="")


THREE: tuple[Event, ...] = (
    RunStarted(run_id=RUN),
    SessionStarted(atom=ROOT, role=Role.PROBE),
    Replanned(atom=ROOT, nonce=2, usage=Usage(tokens=1000, usd=0.25), elapsed=60.0),
    committed(1),
    SessionStarted(atom=PARSE, role=Role.WORKER),
    AttemptFailed(atom=PARSE, nonce=5, usage=Usage(tokens=500), reason="red", elapsed=30.0),
    committed(2),
    SessionStarted(atom=PARSE, role=Role.WORKER),
    AtomResolved(atom=PARSE, nonce=8, summary="green", elapsed=5.0),
    committed(3),
)
ENDED = RunEnded(code=StopCode.STOPPED_BY_USER, reason="tea")


def lines(folder: Path) -> dict[str, str]:
    """What stands beside each word; lines below it are part of it."""
    said = dwindle(folder, "status")
    assert (said.code, said.err) == (0, ""), said
    found: dict[str, str] = {}
    word = ""
    for line in said.out.splitlines()[1:]:
        word = line[:11].strip() or word
        found[word] = f"{found[word]} {line[11:]}" if word in found else line[11:]
    return found


def test_a_run_that_was_stopped(tmp_path: Path) -> None:
    half_way(tmp_path)
    journalled(tmp_path, *THREE, ENDED)
    assert dwindle(tmp_path, "status") == Ended(
        code=0,
        out=f"""\
{TREE_FILE} (tree plan)
run        stopped, stopped_by_user (exit code 10)
           tea
id         {RUN}, on {BRANCH}
iteration  3 of 50 started; last 0003: parse execute guard=pass
open       2: root, store
leaves     1: store
running    none
parked     none
next       store (work): 3 of 3 attempts, 3 of 3 planning sessions left
gauge      17,759 (falls with every step)
bound      at most 97 more agent sessions
measure    redirects 0, forgiven 50, winds 0, rounds 0, fuel 197, backjumps 5,
           choices 0, attempts 11, undecided 3, in_flight 0, running 0
budgets    1 min 35 s of 24 h; 1,500 tokens without limit; 0.25 USD without
           limit
by role    probe: 1 session, 1 min, 1,000 tokens, 0.25 USD
           worker: 2 sessions, 35 s, 500 tokens
""",
    )


def test_the_same_for_programs(tmp_path: Path) -> None:
    half_way(tmp_path)
    journalled(tmp_path, *THREE, ENDED)
    told = json.loads(dwindle(tmp_path, "status", "--json").out)
    assert (told["run"]["run_id"], told["iteration"], told["next"]) == (
        RUN,
        {"done": 3, "limit": 50},
        "store",
    )
    assert told["tree"] == {
        "branch": BRANCH,
        "unfinished": False,
        "last": {
            "iteration": 3,
            "node": "parse",
            "kind": "execute",
            "guard": "pass",
            "commit": asked_git(tmp_path, "rev-parse", "HEAD"),
        },
        "open_leaves": ["store"],
        "next": {
            "node": "store",
            "mode": "work",
            "because": "store is the leftmost open leaf; attempt 1",
            "attempts_left": 3,
            "attempts_limit": 3,
            "planning_left": 3,
            "planning_limit": 3,
        },
    }
    assert sorted(dict.fromkeys(keys(told["tree"], "tree"))) == sorted(
        table("`status --json` of a tree")
    )


# --- where the run is ----------------------------------------------------------------------------


def nothing_spent(folder: Path) -> dict[str, str]:
    found = lines(folder)
    assert "id" not in found
    return {name: found[name] for name in ("run", "iteration", "leaves")}


def test_on_another_branch_the_tree_is_what_it_is(tmp_path: Path) -> None:
    half_way(tmp_path)
    journalled(tmp_path, *THREE)
    git(tmp_path, "switch", "--quiet", "main")
    unstarted = {
        "run": "pending HEAD is on no branch of a run; `dwindle run` begins one",
        "iteration": "0 of 50 started",
    }
    assert nothing_spent(tmp_path) == unstarted | {"leaves": "1: root"}
    git(tmp_path, "merge", "--quiet", BRANCH)  # landed: the iterations are another run's
    assert nothing_spent(tmp_path) == unstarted | {"leaves": "1: store"}
    git(tmp_path, "switch", "--quiet", "--create", "more")
    assert nothing_spent(tmp_path) == unstarted | {"leaves": "1: store"}
    git(tmp_path, "switch", "--quiet", "--detach")
    assert nothing_spent(tmp_path) == unstarted | {"leaves": "1: store"}


def test_a_run_that_stays_on_its_branch(tmp_path: Path) -> None:
    half_way(tmp_path)
    journalled(tmp_path, *THREE)
    git(tmp_path, "branch", "--quiet", "--move", "feature")
    found = lines(tmp_path)
    assert (found["id"], found["run"]) == (
        f"{RUN}, on feature",
        "stopped it rests; `dwindle run` goes on",
    )
    git(tmp_path, "branch", "--quiet", "--move", "master")  # no run stays on this one
    assert "id" not in lines(tmp_path)


def test_a_clone_knows_what_the_branch_knows(tmp_path: Path) -> None:
    origin = half_way(tmp_path / "origin")
    git(tmp_path, "clone", "--quiet", str(origin), "clone")
    found = lines(tmp_path / "clone")
    assert {name: found[name] for name in ("run", "id", "iteration", "budgets")} == {
        "run": "stopped its journal is not on this machine; `dwindle run` goes on",
        "id": f"{RUN}, on {BRANCH}",
        "iteration": "3 of 50 started; last 0003: parse execute guard=pass",
        "budgets": "0 s of 24 h; 0 tokens without limit; 0.00 USD without limit",
    }


def test_before_the_first_iteration(tmp_path: Path) -> None:
    begun(tmp_path, START)
    found = lines(tmp_path)
    assert {name: found[name] for name in ("run", "id", "iteration", "next")} == {
        "run": "pending",
        "id": f"{RUN}, on {BRANCH}",
        "iteration": "0 of 50 started; none is on the branch",
        "next": "root (work): 3 of 3 attempts, 3 of 3 planning sessions left",
    }


def test_a_tree_that_is_not_in_the_root_of_a_repository(tmp_path: Path) -> None:
    half_way(tmp_path)
    write(tmp_path, f"inner/{TREE_FILE}", written(SPLIT))
    found = lines(tmp_path / "inner")
    assert (found["run"], found["leaves"]) == (
        "pending only the tree in the root of a repository is run",
        "2: parse, store",
    )


def test_from_a_folder_inside(tmp_path: Path) -> None:
    half_way(tmp_path)
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert lines(tmp_path / "a" / "b") == lines(tmp_path)
    assert lines(tmp_path)["id"] == f"{RUN}, on {BRANCH}"


def test_a_branch_that_is_only_named_like_one_of_a_run(tmp_path: Path) -> None:
    half_way(tmp_path)
    git(tmp_path, "branch", "--quiet", "--move", "runner/of-mine")
    assert "id" not in lines(tmp_path)


def test_a_tree_outside_of_git(tmp_path: Path) -> None:
    write(tmp_path, TREE_FILE, written(SPLIT))
    assert lines(tmp_path)["run"] == "pending a run needs a git repository, and this is in none"


def test_without_git_it_is_said(tmp_path: Path) -> None:
    half_way(tmp_path)
    said = dwindle(tmp_path, "status", PATH="/nonexistent")
    assert said.code == 0
    assert said.out.splitlines()[-2:] == [
        f"{TREE_FILE}: warning: git is not installed, so that earlier versions cannot be seen",
        "    hint: install git, or name the earlier version: --against FILE",
    ]


def test_a_branch_with_commits_of_other_people_and_runs(tmp_path: Path) -> None:
    def numbers_and_trees() -> tuple[list[int], list[bytes]]:
        branch = branch_here(tmp_path)
        assert branch is not None
        found = read_branch(tmp_path, branch).summary
        return [one.iteration.number for one in found.done], list(
            dict.fromkeys(found.trees.values())
        )

    start, split, red, green = map(written, (START, SPLIT, RED, GREEN))
    begun(tmp_path, START)
    assert numbers_and_trees() == ([], [start])
    for line, root in STORY[:2]:
        iterated(tmp_path, line, root)
    assert numbers_and_trees() == ([1, 2], [start, split, red])
    git(tmp_path, "rm", "--quiet", "--cached", TREE_FILE)
    git(tmp_path, "commit", "--quiet", "--message=a person's, without a tree")
    assert numbers_and_trees() == ([1, 2], [start, split, red])
    iterated(tmp_path, "0003 parse execute pass", GREEN)
    iterated(tmp_path, "0001 root decompose skipped", SPLIT, run="0" * 26)
    assert numbers_and_trees() == ([1, 2, 3], [start, split, red, green])


# --- how it stands -------------------------------------------------------------------------------


def test_a_run_that_is_going_on(tmp_path: Path) -> None:
    half_way(tmp_path)
    journalled(tmp_path, *THREE, SessionStarted(atom=STORE, role=Role.WORKER))
    write(tmp_path, TREE_FILE, "{ an agent is writing")
    with DirectoryLock(tmp_path / ".runner"):
        found = lines(tmp_path)
        told = json.loads(dwindle(tmp_path, "status", "--json").out)
        waits = dwindle(tmp_path, "explain", "store").out
    assert {name: found[name] for name in ("run", "iteration", "running", "next")} == {
        "run": "running",
        "iteration": "4 of 50 started; last 0003: parse execute guard=pass",
        "running": "store (worker)",
        "next": "nothing: every slot is taken",
    }
    assert told["running"] == [{"atom": "store", "role": "worker", "session": 4, "nonce": 11}]
    assert (told["measure"]["in_flight"], told["measure"]["running"]) == (1, 1)
    assert waits == "store running: store is done\n    a worker is at work on it (session 4)\n"


def test_a_run_that_was_asked_to_stop(tmp_path: Path) -> None:
    half_way(tmp_path)
    asked = StopRequested(reason="tea")
    journalled(tmp_path, *THREE, SessionStarted(atom=STORE, role=Role.WORKER), asked)
    with DirectoryLock(tmp_path / ".runner"):
        found = lines(tmp_path)
    assert (found["run"], found["requested"]) == ("running tea", "stop")


def test_a_run_between_its_commit_and_the_record_of_it(tmp_path: Path) -> None:
    half_way(tmp_path)
    journalled(
        tmp_path,
        *THREE,
        SessionStarted(atom=STORE, role=Role.WORKER),
        AtomResolved(atom=STORE, nonce=11, summary="green"),
    )
    iterated(tmp_path, "0004 store execute pass", DONE)
    with DirectoryLock(tmp_path / ".runner"):
        found = lines(tmp_path)
    assert {name: found[name] for name in ("run", "iteration", "leaves", "running")} == {
        "run": "running",
        "iteration": "4 of 50 started; last 0004: store execute guard=pass",
        "leaves": "none is open",
        "running": "none",
    }


def test_a_run_that_was_killed(tmp_path: Path) -> None:
    half_way(tmp_path)
    journalled(tmp_path, *THREE, SessionStarted(atom=STORE, role=Role.WORKER))
    write(tmp_path, TREE_FILE, "{ an agent was writing")
    found = lines(tmp_path)
    assert (found["run"], found["iteration"], found["running"]) == (
        "stopped its runner was ended in the middle of an iteration; `dwindle run` does it again",
        "4 of 50 started; last 0003: parse execute guard=pass",
        "none",
    )
    assert json.loads(dwindle(tmp_path, "status", "--json").out)["tree"]["unfinished"] is True


def test_a_person_edits_a_tree_at_rest(tmp_path: Path) -> None:
    half_way(tmp_path)
    journalled(tmp_path, *THREE, ENDED)
    write(tmp_path, TREE_FILE, "{ a person is writing")
    said = dwindle(tmp_path, "status")
    assert (said.code, said.out) == (2, "")


def test_completed_and_grown_again(tmp_path: Path) -> None:
    half_way(tmp_path)
    iterated(tmp_path, "0004 store execute pass", DONE)
    end = RunEnded(code=StopCode.COMPLETED, reason="every leaf of the tree passed")
    journalled(
        tmp_path,
        *THREE,
        SessionStarted(atom=STORE, role=Role.WORKER),
        AtomResolved(atom=STORE, nonce=11, summary="green"),
        committed(4),
        end,
    )
    found = lines(tmp_path)
    assert (found["run"], found["leaves"], found["next"], found["bound"]) == (
        "completed the root passes",
        "none is open",
        "nothing",
        "at most 0 more agent sessions",
    )
    grown = DONE | {"passes": False, "children": [*DONE["children"], node("more", order=3)]}
    write(tmp_path, TREE_FILE, written(grown))
    assert lines(tmp_path)["run"] == (
        "stopped it was completed, but there are open leaves again; `dwindle run` goes on"
    )


def test_a_refused_edit_is_repaired_next(tmp_path: Path) -> None:
    half_way(tmp_path)
    refused = AttemptFailed(atom=STORE, nonce=11, reason="no", refused=True)
    journalled(
        tmp_path, *THREE, SessionStarted(atom=STORE, role=Role.WORKER), refused, committed(4)
    )
    store = node("store", order=2, attempts=1)
    iterated(
        tmp_path,
        "0004 store execute skipped",
        GREEN | {"children": [GREEN["children"][0], store]},
    )
    log = IterationLog(folder=tmp_path / ".runner/iterations" / RUN / "0004")
    log.begin(b"")
    log.refuse(Refusal(text="{", problems=(Problem(where=(), what="no tree"),)), 1)
    assert lines(tmp_path)["next"] == "root (repair): 2 of 3 planning sessions left"
    assert dwindle(tmp_path, "explain", "store").out.splitlines()[-2:] == [
        "store ready: store is done",
        "    the tree is repaired first",
    ]


def test_nothing_is_next_where_a_limit_is_reached(tmp_path: Path) -> None:
    begun(tmp_path, START, {".runner/config.toml": "[limits]\nmax_iterations = 3\n"})
    for line, root in STORY[:3]:
        iterated(tmp_path, line, root)
    journalled(tmp_path, *THREE)
    found = lines(tmp_path)
    assert (found["iteration"], found["next"]) == (
        "3 of 3 started; last 0003: parse execute guard=pass",
        "nothing: max_iterations 3 is reached",
    )


@pytest.mark.parametrize(
    ("spoil", "warning"),
    [
        (
            lambda folder: write(folder, ".runner/config.toml", "[limit]\n"),
            ".runner/config.toml has 1 problem; the defaults are shown",
        ),
        (
            lambda folder: write(folder, JOURNAL, (folder / JOURNAL).read_bytes() + b"x\ny\n"),
            f"{{folder}}/{JOURNAL}, line 12: does not follow from the lines before it",
        ),
        (
            lambda folder: write(folder, ".runner/config.toml", "[limits]\nmax_nodes = 2\n"),
            "the tree has 3 nodes, and at most 2 may ever be made (root)",
        ),
    ],
)
def test_what_cannot_be_read_is_said(
    spoil: Callable[[Path], Any], warning: str, tmp_path: Path
) -> None:
    half_way(tmp_path)
    journalled(tmp_path, *THREE)
    spoil(tmp_path)
    said = dwindle(tmp_path, "status")
    assert (said.code, said.err) == (0, "")
    wanted = warning.replace("{folder}", str(tmp_path))
    assert f"{TREE_FILE}: warning: {wanted}" in said.out.splitlines()


# --- quickly -------------------------------------------------------------------------------------


def test_no_event_loop_and_no_framework(tmp_path: Path) -> None:
    half_way(tmp_path)
    journalled(tmp_path, *THREE)
    script = (
        "import sys; from dwindle.surfaces.entry import answer; answer(['status']);"
        "print([name for name in ('cyclopts', 'rich', 'yaml', 'asyncio') if name in sys.modules])"
    )
    said = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=PLAIN, capture_output=True, check=True
    )
    assert said.stdout.decode().splitlines()[-1] == "[]"


def test_a_lock_is_seen_without_being_tried(tmp_path: Path) -> None:
    nowhere = tmp_path / "no-such-table"
    assert [is_locked(tmp_path), is_locked(tmp_path, nowhere)] == [False, False]
    with DirectoryLock(tmp_path):
        assert [is_locked(tmp_path), is_locked(tmp_path, nowhere)] == [True, True]
    assert [is_locked(tmp_path), is_locked(tmp_path / "gone")] == [False, False]
