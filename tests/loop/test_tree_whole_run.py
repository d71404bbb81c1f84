"""A whole run of a tree, from an empty root to exit 0: everything that is said, kept and committed.

Splitting, splitting again, a red guard and a green one, a leaf that runs out of attempts and is
replaced, an edit that is refused and its repair.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.loop.story import ATTEMPTS, BRANCH, RUN
from tests.loop.tree_story import (
    Ending,
    TreeStory,
    breaks,
    did,
    edit,
    fixes,
    splits,
    works,
    wrote,
)
from tests.surfaces.command import TREE_FILE

pytestmark = pytest.mark.slow


def everything(folder: Path) -> TreeStory:
    return (
        TreeStory(folder)
        .having({".runner/GOAL.md": "# Everything\n", ".runner/ASSUMPTIONS.md": "None yet.\n"})
        .node("root", splits("root", "a", "b", "c"), splits("root", "d"))
        .node("a", splits("a", "a1", "a2"))
        .node("a1", breaks("a1"), fixes("a1"))
        .node(
            "a2",
            breaks("a2"),
            did(wrote(a2_txt="still not\n")),
            did(wrote(sneaked_txt="in\n"), edit("replace('a2', 'a3')")),
        )
        .node("a3", fixes("a3"))
        .node(
            "b",
            did(wrote(b_txt="b\n"), edit("node('b')['passes'] = True")),
            did(wrote(b_txt="better\n")),
        )
        .node("c", did({"append": {".runner/ASSUMPTIONS.md": "C is easy.\n"}}), works("c"))
        .node("d", works("d"))
    )


EVERYTHING = Ending(
    code=0,
    iterations=(
        "0001 node root decompose guard=skipped",
        "0002 node a decompose guard=skipped",
        "0003 node a1 execute guard=fail",
        "0004 node a1 execute guard=pass",
        "0005 node a2 execute guard=fail",
        "0006 node a2 execute guard=fail",
        "0007 node a2 decompose guard=skipped",
        "0008 node a3 execute guard=pass",
        "0009 node b execute guard=skipped",
        "0010 node root decompose guard=skipped",
        "0011 node d execute guard=pass",
        "0012 node b execute guard=pass",
        "0013 node c decompose guard=skipped",
        "0014 node c execute guard=pass",
    ),
    tree=(
        "root passes 0/3",
        "  a passes 0/2",
        "    a1 passes 1/2",
        "    a3 passes 0/2",
        "  d passes 0/2",
        "  b passes 1/2",
        "  c passes 0/2",
    ),
    files={
        "a1.txt": "a1\n",
        "a2.txt": "still not\n",
        "a3.txt": "a3\n",
        "b.txt": "better\n",
        "c.txt": "c\n",
        "d.txt": "d\n",
    },
    kept=("a2/7",),
)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> TreeStory:
    """Run once, looked at from every side."""
    story = everything(tmp_path_factory.mktemp("shows"))
    story.run()
    return story


def test_from_an_empty_root_to_the_end(told: TreeStory) -> None:
    assert (told.said.code, told.said.err) == (0, f"dwindle: on the new branch {BRANCH}\n")
    assert told.ending(0) == EVERYTHING
    assert told.kept_files("a2/7")["sneaked.txt"] == "in\n"


LOGGED = {"diff.patch", "events.jsonl", "executor.log", "meta.json", "order.json", "prompt.md"}
LOGGED |= {"tree.after.json", "tree.before.json"}
REFUSED = {"refusal.json", "tree.refused.json"}


def test_the_order_names_the_role_that_the_journal_names(told: TreeStory) -> None:
    found = []
    for folder in sorted((told.folder / ".runner/iterations" / RUN).iterdir()):
        lines = (folder / "events.jsonl").read_text().splitlines()
        roles = [event["role"] for event in map(json.loads, lines) if "role" in event]
        found.append((json.loads((folder / "order.json").read_text())["role"], *roles))
    assert [pair for pair in found if len({*pair}) > 1] == []
    assert {pair[0] for pair in found} == {"worker", "probe"}


def test_every_iteration_has_its_log(told: TreeStory) -> None:
    folder = told.folder / ".runner/iterations" / RUN
    names = {at.name: {file.name for file in at.iterdir()} for at in folder.iterdir()}

    guarded = {3, 4, 5, 6, 8, 11, 12, 14}
    assert names == {
        f"{n:04}": LOGGED
        | ({"guard.log"} if n in guarded else set())
        | (REFUSED if n == 9 else set())
        for n in range(1, 15)
    }
    commits = told.commits()
    before = told.git("show", f"main:{TREE_FILE}") + "\n"
    for number, commit in enumerate(commits, start=1):
        after = told.git("show", f"{commit}:{TREE_FILE}") + "\n"
        logs = told.logs(number)
        assert (logs / "tree.before.json").read_text("utf-8") == before
        assert (logs / "tree.after.json").read_text("utf-8") == after
        patch = (logs / "diff.patch").read_text("utf-8").strip()
        assert patch == told.git("diff-tree", "-p", "--no-renames", f"{commit}^", commit)
        before = after
    assert (told.logs(3) / "guard.log").read_text("utf-8").startswith("it is broken\n")
    refused = json.loads((told.logs(9) / "refusal.json").read_bytes())
    assert refused["in_a_row"] == 1
    assert [problem["what"] for problem in refused["problems"]] == [
        "b was marked as passed by the agent"
    ]
    assert '"passes": true' in (told.logs(9) / "tree.refused.json").read_text("utf-8")


def test_what_meta_json_says(told: TreeStory) -> None:
    commits = told.commits()
    red = {**told.meta(3), "duration_ms": 0}
    red["guard"] = {**red["guard"], "duration_ms": 0}

    assert red == {
        "run_id": RUN,
        "iter_n": 3,
        "selected_leaf_id": "a1",
        "selected_leaf_path": ["root", "a", "a1"],
        "mode": "work",
        "classification": "execute",
        "executor_kind": "scripted",
        "exit_status": 0,
        "exit_signal": None,
        "timed_out": False,
        "duration_ms": 0,
        "failure": "",
        "tokens": 0,
        "usd": 0.0,
        "tree_edit": "none",
        "guard": {
            "verdict": "fail",
            "command": ["just", "ci"],
            "exit_status": 1,
            "duration_ms": 0,
            "tests": None,
            "clean": None,
        },
        "set_aside": None,
        "notes": [],
        "containment": red["containment"],
        "commit_sha": commits[2],
    }
    facts = ("mode", "classification", "tree_edit", "set_aside", "selected_leaf_path")
    verdict = [told.meta(n)["guard"]["verdict"] for n in range(1, 15)]
    assert verdict == [line.rpartition("=")[2] for line in EVERYTHING.iterations]
    assert [told.meta(n)["commit_sha"] for n in range(1, 15)] == list(commits)
    assert {n: tuple(told.meta(n)[key] for key in facts) for n in (1, 2, 7, 9, 10)} == {
        1: ("work", "decompose", "taken", None, ["root"]),
        2: ("work", "decompose", "taken", None, ["root", "a"]),
        7: ("plan", "decompose", "taken", f"{ATTEMPTS}a2/7", ["root", "a", "a2"]),
        9: ("work", "execute", "refused", None, ["root", "b"]),
        10: ("repair", "decompose", "taken", None, ["root"]),
    }


def test_the_journal_and_the_events_of_an_iteration(told: TreeStory) -> None:
    kinds = [event["kind"] for event in told.events()]

    assert kinds == [
        "RunStarted",
        *_iterations("Replanned", "Replanned", "AttemptFailed", "AtomResolved"),
        *_iterations("AttemptFailed", "AttemptFailed", "Replanned", "AtomResolved"),
        *_iterations("AttemptFailed", "Replanned", "AtomResolved", "AtomResolved"),
        *_iterations("Replanned", "AtomResolved"),
        "RunEnded",
    ]
    said: list[object] = []
    for number in range(1, 15):
        lines = (told.logs(number) / "events.jsonl").read_bytes().splitlines()
        said += map(json.loads, lines)
    assert said == told.events()[1:-1]
    ended = {**told.events()[-1], "at": "", "elapsed": 0}
    assert ended["code"] == "completed"


def _iterations(*outcomes: str) -> list[str]:
    return [
        kind for outcome in outcomes for kind in ("SessionStarted", outcome, "IterationCommitted")
    ]


def test_what_the_agents_are_told(told: TreeStory) -> None:

    parts = ["# Contract", "# Goal", "# Tree", "# Selected node", "# Notes", "# Guard", "# Now"]
    for number in range(1, 15):
        prompt = told.prompt(number)
        at = [prompt.index(f"{part}") for part in parts]
        assert at == sorted(at)
        assert str(told.folder) not in prompt
    assert "plan, and nothing else" in told.prompt(7)
    assert "The iteration before on this node, 0003, was execute guard=fail." in told.prompt(4)
    assert f"`.runner/iterations/{RUN}/0003/`" in told.prompt(4)
    assert "b was marked as passed by the agent" in told.prompt(10)
    assert "C is easy." in told.prompt(14)


def test_another_layout_of_the_first_tree_is_no_edit(tmp_path: Path) -> None:
    story = TreeStory(tmp_path).leaves("a").node("a", works("a")).prepared()
    tree = story.folder / ".runner/tree.json"
    canonical = tree.read_bytes()
    tree.write_text(json.dumps(json.loads(canonical)), "utf-8")
    story.git("commit", "--quiet", "--all", "--message=in one line")

    assert story.run().code == 0
    assert story.meta(1)["tree_edit"] == "none"
    assert (story.logs(1) / "tree.before.json").read_bytes() == canonical


def test_a_completed_run_has_nothing_left_to_do(told: TreeStory) -> None:
    before = (told.commits(), told.tree)

    assert told.run() == EVERYTHING
    assert (told.commits(), told.tree) == before
    assert told.git("rev-parse", "--abbrev-ref", "HEAD") == BRANCH
