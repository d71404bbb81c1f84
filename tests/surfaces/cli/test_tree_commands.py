"""What the other commands say where the plan is a tree."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from tests.app.test_doctor import findings
from tests.surfaces.bad_plans import GRAPH
from tests.surfaces.cli.test_tree_status import ENDED, THREE
from tests.surfaces.command import GRAPH_FILE, PLAIN, TREE_FILE, Ended, dwindle, git, write
from tests.surfaces.small_runs import asked_git, files_of
from tests.surfaces.tree_branches import (
    BRANCH,
    DONE,
    RUN,
    SPLIT,
    START,
    begun,
    half_way,
    iterated,
    journalled,
    node,
)

from dwindle.adapters.store.disk import DirectoryLock
from dwindle.app.journal.event_words import sentence
from dwindle.kernel.events import (
    AttemptFailed,
    IterationCommitted,
    Replanned,
    SessionStarted,
)
from dwindle.kernel.model import AtomId, Role, TreeAtom, TreeEdit

pytestmark = pytest.mark.slow

WITH_JUST = f"{Path(sys.executable).parent}{os.pathsep}{PLAIN['PATH']}"
PARSE = AtomId("parse")


# --- explain and graph ---------------------------------------------------------------------------


def test_every_node_is_explained(tmp_path: Path) -> None:
    begun(tmp_path, START)
    spent = node("store", node("file", order=1, attempts=3), node("index", order=2), order=2)
    iterated(tmp_path, "0001 root decompose skipped", node("root", node("parse", order=1), spent))
    journalled(tmp_path, *THREE[:4])
    assert dwindle(tmp_path, "explain") == Ended(
        code=0,
        out="""\
The run is stopped: it rests; `dwindle run` goes on. If it were run now:

root split: root is done
    it is done when parse, store are
parse starts: parse is done
    parse is the leftmost open leaf; attempt 1
store split: store is done
    it is done when file, index are
file exhausted: file is done
    its attempts are used up, and it has to be split or replaced; but one leaf
    at a time, from the left, and parse stands before it
index ready: index is done
    one leaf at a time, from the left, and parse stands before it
""",
    )
    assert dwindle(tmp_path, "explain", "pars") == Ended(
        code=2, err="dwindle: there is no node 'pars'\n  did you mean parse?\n"
    )


def test_what_was_planned_too_often(tmp_path: Path) -> None:
    """Without a journal, as in a clone, the last commit says why."""
    write(tmp_path, ".runner/config.toml", "[limits]\nexecute_root = false\n")
    begun(tmp_path, START)
    commits = [iterated(tmp_path, f"000{n} root decompose skipped") for n in (1, 2, 3)]
    why = f"iteration 0003 ended with guard=skipped (decompose, {commits[-1][:12]})"
    lines = dwindle(tmp_path, "explain").out.splitlines()
    said = " ".join(" ".join(lines).split())
    assert said.partition("If it were run now: ")[2] == (
        f"The run ends, atom_exhausted: root has nothing left to try (last: {why}); attempts and "
        "planning sessions are used up root parked: root is done it is parked: nothing is left to "
        f"try for now; it failed once, last: {why}; nothing waits for it; a tree has no winds, so "
        "the run ends when nothing else can be done"
    )
    told = " ".join(dwindle(tmp_path, "status").out.split())
    assert f"parked root: failed once, last: {why} next nothing" in told
    facts = json.loads(dwindle(tmp_path, "status", "--json").out)
    assert [(one["name"], one["reason"]) for one in facts["parked"]] == [("root", why)]
    assert facts["next"] is None


def test_the_tree_is_drawn(tmp_path: Path) -> None:
    half_way(tmp_path)
    assert dwindle(tmp_path, "graph") == Ended(
        code=0,
        out="""\
flowchart TD
    n0["root<br>root is done"]:::split
    n1["parse<br>parse is done"]:::resolved
    n2["store<br>store is done"]:::ready
    n0 --o n1
    n0 --o n2
    classDef split fill:#eeeeee,stroke:#666,color:#000
    classDef resolved fill:#c8e6c9,stroke:#666,color:#000
    classDef ready fill:#fff9c4,stroke:#666,color:#000
""",
    )
    told = json.loads(dwindle(tmp_path, "graph", "--format", "json").out)
    assert [(a["id"], a["parent"], a["standing"]) for a in told["atoms"]] == [
        ("root", None, "split"),
        ("parse", "root", "resolved"),
        ("store", "root", "ready"),
    ]


# --- log -----------------------------------------------------------------------------------------


def test_the_journal_of_the_run_that_is_checked_out(tmp_path: Path) -> None:
    half_way(tmp_path)
    journalled(tmp_path, *THREE, ENDED)
    said = dwindle(tmp_path, "log")
    assert (said.code, said.err) == (0, "")
    assert [line[28:] for line in said.out.splitlines()] == [
        "the run begins",
        "root: a probe starts",
        "root: planned: the tree stays as it was (1,000 tokens, 0.25 USD)",
        "iteration 1 is committed: cccccccccccc",
        "parse: a worker starts",
        "parse: failed: red (500 tokens)",
        "iteration 2 is committed: cccccccccccc",
        "parse: a worker starts",
        "parse: resolved: green",
        "iteration 3 is committed: cccccccccccc",
        "the run ends, stopped_by_user: tea",
    ]
    assert dwindle(tmp_path, "log", "--plan", "tree") == said
    git(tmp_path, "switch", "--quiet", "main")
    assert dwindle(tmp_path, "log") == Ended(
        code=2,
        err=f"dwindle: .runner/journal: no run of this plan has begun\n  there are: {RUN}\n",
    )
    assert dwindle(tmp_path, "log", RUN) == said


def test_what_happens_to_a_tree_is_said_in_sentences() -> None:
    root = TreeAtom(id=AtomId("root"), parent=None, title="R", description="r", max_attempts=3)
    refused = "the edit of the tree is refused: parse has passed and is gone"
    subject = f"chore(loop): run {RUN} iter 0007 node parse execute guard=fail"
    assert [
        sentence(Replanned(atom=PARSE, nonce=1)),
        sentence(Replanned(atom=PARSE, nonce=1, edit=TreeEdit(nodes=(root,)))),
        sentence(AttemptFailed(atom=PARSE, nonce=1, reason=refused, refused=True)),
        sentence(IterationCommitted(number=7, commit="0123456789abcdef", subject=subject)),
    ] == [
        "parse: planned: the tree stays as it was",
        "parse: planned: the tree has 1 node",
        f"parse: {refused}",
        "iteration 0007 node parse execute guard=fail is committed: 0123456789ab",
    ]


# --- doctor --------------------------------------------------------------------------------------


def test_a_guard_that_could_not_begin(tmp_path: Path) -> None:
    folder = begun(tmp_path / "inner", SPLIT)
    settings = "set [guard] command in .runner/config.toml"
    or_else = "set in .runner/config.toml [guard] command, or [guard] deliverables = "
    or_else += '["justfile"] to let an agent write it'
    state, what, hint = findings(folder)["guard"]
    assert (state, what, hint) == (
        "wrong",
        "the guard `just ci` cannot run: just is not found",
        f"install it (`pip install rust-just`), or {settings}",
    )
    write(tmp_path, "justfile", "ci:\n    true\n")  # just would take it, and we do not
    assert findings(folder, PATH=WITH_JUST)["guard"] == (
        "wrong",
        "the guard `just ci` cannot run: no justfile found in the root of the repository",
        f"write a justfile with a recipe `ci`, or {or_else}",
    )
    write(folder, ".runner/config.toml", '[guard]\ndeliverables = ["justfile"]\n')
    assert findings(folder, PATH=WITH_JUST)["guard"] == ("ok", "just ci", "")
    (folder / ".runner/config.toml").unlink()
    write(folder, "justfile", "test:\n    true\n")
    state, what, hint = findings(folder, PATH=WITH_JUST)["guard"]
    assert (state, "recipe `ci`" in what) == ("wrong", True)
    write(folder, "justfile", "ci:\n    touch ran\n")
    assert findings(folder, PATH=WITH_JUST)["guard"] == ("ok", "just ci", "")
    assert not (folder / "ran").exists()


def of_trees(folder: Path) -> dict[str, tuple[str, str, str]]:
    found = findings(folder)
    return {name: found[name] for name in ("tree", "goal", "checkout")}


def test_a_tree_its_goal_and_its_checkout(tmp_path: Path) -> None:
    begun(tmp_path, SPLIT)
    assert of_trees(tmp_path) == {
        "tree": ("ok", TREE_FILE, ""),
        "goal": ("note", "there is no .runner/GOAL.md; the goal of the root node is used", ""),
        "checkout": ("ok", "clean", ""),
    }
    dwindle(tmp_path, "init")
    found = of_trees(tmp_path)
    assert (found["goal"], found["checkout"][0]) == (
        (
            "note",
            ".runner/GOAL.md is still as `dwindle init` made it: no goal is written in it",
            "",
        ),
        "wrong",
    )
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message=scaffold")
    write(tmp_path, ".runner/GOAL.md", "Fly.\n")
    write(tmp_path, TREE_FILE, "{}")
    wrong = {
        "tree": ("wrong", f"{TREE_FILE}: 2 problems", "`dwindle validate` lists them"),
        "goal": ("ok", ".runner/GOAL.md", ""),
        "checkout": (
            "wrong",
            f"not clean: .runner/GOAL.md, {TREE_FILE}",
            "commit it (`git add . && git commit -m 'Before the run'`) or stash it",
        ),
    }
    assert of_trees(tmp_path) == wrong
    write(tmp_path, GRAPH_FILE, GRAPH)  # Which could be run.
    states = {name: found[0] for name, found in of_trees(tmp_path).items()}
    assert states == {"tree": "note", "goal": "ok", "checkout": "note"}


def test_what_a_run_leaves_while_it_works_and_when_it_is_killed(tmp_path: Path) -> None:
    half_way(tmp_path)
    journalled(tmp_path, *THREE, SessionStarted(atom=AtomId("store"), role=Role.WORKER))
    write(tmp_path, TREE_FILE, "{")
    with DirectoryLock(tmp_path / ".runner"):
        assert of_trees(tmp_path)["checkout"] == ("note", "a run is using it", "")
    found = of_trees(tmp_path)
    assert (found["tree"], found["checkout"]) == (
        ("ok", TREE_FILE, ""),
        (
            "note",
            f"not clean: {TREE_FILE}",
            "an iteration was interrupted; `dwindle run` sets its changes aside",
        ),
    )


# --- commands about graphs -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "what", "instead"),
    [
        (
            ("redirect", "--goal", "Fly"),
            "a tree is not redirected",
            "`dwindle stop`, edit .runner/tree.json or .runner/GOAL.md, commit, `dwindle run`",
        ),
        (
            ("confirm",),
            "a tree has no questions to confirm: its guard decides",
            "answer the questions in .runner/HUMAN_QUESTIONS.md, commit, and `dwindle run`",
        ),
        (
            ("verify",),
            "a tree has no certificate: each leaf had its guard",
            (
                "run the guard yourself ([guard] command, `just ci` unless set); `dwindle replay` "
                "decides\n  the run again"
            ),
        ),
        (
            ("align",),
            "a tree is not aligned: .runner/GOAL.md says what is wanted",
            "`dwindle run` begins; for a graph plan beside it, `dwindle align --from FILE`",
        ),
    ],
)
def test_what_a_tree_does_not_know(
    words: tuple[str, ...], what: str, instead: str, tmp_path: Path
) -> None:
    half_way(tmp_path)
    before = files_of(tmp_path)
    assert dwindle(tmp_path, *words) == Ended(
        code=2, err=f"dwindle: {TREE_FILE}: {what}\n  {instead}\n"
    )
    assert files_of(tmp_path) == before
    write(tmp_path, GRAPH_FILE, GRAPH)  # With a graph beside it, they are about the graph.
    assert what not in dwindle(tmp_path, *words).err


# --- land ----------------------------------------------------------------------------------------


def done(folder: Path) -> Path:
    half_way(folder)
    iterated(folder, "0004 store execute pass", DONE)
    return folder


def test_the_branch_of_a_tree_is_landed(tmp_path: Path) -> None:
    done(tmp_path)
    tip = asked_git(tmp_path, "rev-parse", "HEAD")
    assert dwindle(tmp_path, "land") == Ended(
        code=2,
        err=f"dwindle: {BRANCH} is the run's own branch: say which one to land on\n"
        "  for example: dwindle land --onto main\n",
    )
    assert dwindle(tmp_path, "land", "--onto", "main") == Ended(
        code=0,
        out=f"landed 4 commits of {BRANCH} on main: fast-forward to {tip}\n"
        "  `git switch main` goes there\n"
        "  `dwindle clean` removes the branch and the work trees of the run\n",
    )
    assert asked_git(tmp_path, "rev-parse", "main") == tip
    assert asked_git(tmp_path, "symbolic-ref", "--short", "HEAD") == BRANCH


def test_from_another_branch_git_does_it(tmp_path: Path) -> None:
    done(tmp_path)
    git(tmp_path, "switch", "--quiet", "main")
    assert dwindle(tmp_path, "land") == Ended(
        code=2,
        err=f"dwindle: {TREE_FILE}: HEAD is on no branch of a run\n"
        f"  `git merge` the one you want: {BRANCH}\n",
    )


def test_a_tree_that_is_not_done(tmp_path: Path) -> None:
    half_way(tmp_path)
    assert dwindle(tmp_path, "land", "--onto", "main") == Ended(
        code=2,
        err=f"dwindle: {TREE_FILE}: the run is stopped, not completed: its journal is not on this "
        "machine; `dwindle run` goes on\n"
        "  `dwindle run` goes on; --even-if-stopped lands what there is\n",
    )
    said = dwindle(tmp_path, "land", "--onto", "main", "--even-if-stopped")
    assert (said.code, said.out[: len("landed 3 commits")]) == (0, "landed 3 commits")


def test_nothing_to_land(tmp_path: Path) -> None:
    begun(tmp_path, START)
    assert dwindle(tmp_path, "land", "--onto", "main", "--even-if-stopped") == Ended(
        code=2,
        err=f"dwindle: {TREE_FILE}: there is nothing to land: no iteration is on the branch\n"
        "  `dwindle run` does the work; `dwindle status` says how far it has come\n",
    )


def test_a_run_on_a_branch_of_the_person(tmp_path: Path) -> None:
    done(tmp_path)
    journalled(tmp_path)
    git(tmp_path, "branch", "--quiet", "--move", "feature")
    assert dwindle(tmp_path, "land", "--onto", "main") == Ended(
        code=2,
        err=f"dwindle: {TREE_FILE}: the run is on feature, which is your own branch already\n"
        "  nothing is left to do; `git log` shows it\n",
    )


def test_while_it_runs(tmp_path: Path) -> None:
    done(tmp_path)
    with DirectoryLock(tmp_path / ".runner"):
        said = dwindle(tmp_path, "land", "--onto", "main")
    assert (said.code, said.out) == (42, "")
    assert said.err.endswith("  the run goes on; land when it has ended\n")


def test_there_is_no_run_to_be_stopped(tmp_path: Path) -> None:
    half_way(tmp_path)
    assert dwindle(tmp_path, "stop") == Ended(
        code=2,
        err="dwindle: no run is listening here\n  `dwindle status` says where it stands\n",
    )
