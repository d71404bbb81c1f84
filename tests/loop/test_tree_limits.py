"""Belts and refusals of a run on a tree: each with its code, and nothing else changes by them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.sandbox.survivors import new_token, put_down
from tests.loop.story import RUN
from tests.loop.tree_story import (
    Ending,
    TreeStory,
    breaks,
    did,
    edit,
    ran,
    splits,
    works,
    wrote,
)
from tests.surfaces.command import git

pytestmark = pytest.mark.slow


@pytest.fixture
def token() -> Iterator[str]:
    made = new_token()
    yield made
    put_down(made)


def two(folder: Path, **more: Any) -> TreeStory:
    story = TreeStory(folder).leaves("a", "b")
    for name in ("a", "b"):
        story.node(name, {**works(name), **more})
    return story


ONE_DONE = Ending(
    code=0,
    iterations=("0001 node a execute guard=pass",),
    tree=("root open 0/3", "  a passes 0/2", "  b open 0/2"),
    files={"a.txt": "a\n"},
)
BOTH_DONE = Ending(
    code=0,
    iterations=("0001 node a execute guard=pass", "0002 node b execute guard=pass"),
    tree=("root passes 0/3", "  a passes 0/2", "  b passes 0/2"),
    files={"a.txt": "a\n", "b.txt": "b\n"},
)


def ending(base: Ending, **changes: Any) -> Ending:
    return Ending(**{**vars(base), **changes})


@pytest.mark.parametrize(
    ("limit", "usage", "code", "name"),
    [
        ("max_iterations = 1", {}, 21, "iteration_limit"),
        ("max_tokens = 100", {"tokens": 100}, 24, "budget_tokens"),
        ("max_cost_usd = 0.5", {"usd": 0.5}, 23, "budget_cost"),
    ],
)
def test_a_budget_is_spent(
    tmp_path: Path, limit: str, usage: dict[str, Any], code: int, name: str
) -> None:
    story = two(tmp_path, report={"success": True, "summary": "x", "usage": usage})
    story.settings("limits", limit)

    assert story.run() == ending(ONE_DONE, code=code)
    assert story.events()[-1]["code"] == name
    assert story.run() == ending(ONE_DONE, code=code)  # running it again gives nothing back


def test_time_is_up_when_the_iteration_under_way_has_ended(tmp_path: Path) -> None:
    story = two(tmp_path).settings("limits", "max_wall_seconds = 1")
    story.node("a", did({"sleep": 1.2}, {"write": {"a.txt": "a\n"}}))

    assert story.run() == ending(ONE_DONE, code=22)


def test_success_on_the_last_iteration_is_success(tmp_path: Path) -> None:
    assert two(tmp_path).settings("limits", "max_iterations = 2").run() == BOTH_DONE


def test_more_nodes_than_are_allowed(tmp_path: Path) -> None:
    """The edit is refused; the old nodes may still be done."""
    story = TreeStory(tmp_path).settings("limits", "max_nodes = 3")
    story.node("root", splits("root", "a", "b", "c"), splits("root", "a", "b"))

    assert story.node("a", works("a")).node("b", works("b")).run() == Ending(
        code=0,
        iterations=(
            "0001 node root decompose guard=skipped",
            "0002 node root decompose guard=skipped",
            "0003 node a execute guard=pass",
            "0004 node b execute guard=pass",
        ),
        tree=("root passes 1/3", "  a passes 0/2", "  b passes 0/2"),
        files={"a.txt": "a\n", "b.txt": "b\n"},
    )


def test_a_leaf_with_nothing_left_holds_up_no_other(tmp_path: Path) -> None:
    """One attempt, then three planning sessions that lead nowhere; then the next leaf's turn."""
    story = TreeStory(tmp_path).leaves("a", "b", most=1).node("a", breaks("a"), did())
    story.node("b", did(ran("rm broken"), ran("echo b > b.txt")))

    assert story.run() == Ending(
        code=31,
        iterations=(
            "0001 node a execute guard=fail",
            "0002 node a decompose guard=skipped",
            "0003 node a decompose guard=skipped",
            "0004 node a decompose guard=skipped",
            "0005 node b execute guard=pass",
        ),
        tree=("root open 0/3", "  a open 1/1", "  b passes 0/1"),
        files={"a.txt": "a?\n", "b.txt": "b\n"},
    )
    ended = story.events()[-1]
    assert (ended["code"], ended["reason"].split(" (")[0]) == (
        "atom_exhausted",
        "a has nothing left to try",
    )
    assert_named(story, "just ci is red: it ended with exit code 1")


def assert_named(story: TreeStory, why: str) -> None:
    """`status` says why the leaf is parked, and so does another run."""
    facts = json.loads(story.called("status", "--json").out)
    (parked,) = facts["parked"]
    assert (parked["name"], why in parked["reason"]) == ("a", True), parked
    assert (facts["next"], facts["failing"]) == (None, [])
    again = story.called("run")
    assert (again.code, why in again.out) == (31, True), again
    assert why in (json.loads(story.called("status", "--json").out)["run"]["stop_reason"] or "")


def test_in_a_clone_the_last_commit_says_why_a_leaf_is_parked(tmp_path: Path) -> None:
    story = TreeStory(tmp_path).leaves("a", "b", most=1).node("a", breaks("a"), did())
    story.node("b", did(ran("rm broken"), ran("echo b > b.txt")))
    assert story.run().code == 31
    (story.folder / ".runner/journal" / f"{RUN}.jsonl").unlink()
    assert_named(story, "iteration 0004 ended with guard=skipped (decompose, ")


def test_a_leaf_that_leaves_the_guard_red_is_in_the_way_of_the_next_until_it_is_fixed(
    tmp_path: Path,
) -> None:
    """What failed stays committed. A person fixes it between two runs, and c passes."""
    story = TreeStory(tmp_path).leaves("a", "b", "c", most=1).node("a", breaks("a"), did())
    story.node("b", works("b"), did()).node("c", works("c"))
    for _ in range(8):
        story.run(command="step")
    assert story.iterations()[4] == "0005 node b execute guard=fail"
    git(story.folder, "rm", "--quiet", "broken")
    git(story.folder, "commit", "--quiet", "--message=fixed by hand")

    ended = story.called("run")

    last = story.git("log", "-1", "--format=%s").partition(" iter ")[2]
    assert (ended.code, last) == (31, "0009 node c execute guard=pass")
    parked = json.loads(story.called("status", "--json").out)["parked"]
    assert [one["name"] for one in parked] == ["a", "b"]


def test_next_is_the_leaf_that_is_worked_on_and_not_one_that_is_parked(tmp_path: Path) -> None:
    story = TreeStory(tmp_path).leaves("a", "b", most=1).node("a", breaks("a"), did())
    story.node("b", did(ran("rm broken"), ran("echo b > b.txt")))
    for _ in range(4):
        story.run(command="step")
    facts = json.loads(story.called("status", "--json").out)
    assert (facts["next"], [one["name"] for one in facts["parked"]]) == ("b", ["a"])


def test_an_exhausted_leaf_is_saved_by_its_last_planning_session(tmp_path: Path) -> None:
    story = TreeStory(tmp_path).leaves("a", most=1)
    story.node("a", breaks("a"), did(), did(), splits("a", "b"))
    story.node("b", did(ran("rm broken")))

    ended = story.run()

    assert (ended.code, ended.iterations[-1]) == (0, "0005 node b execute guard=pass")
    assert ended.tree == ("root passes 0/3", "  a passes 1/1", "    b passes 0/2")


def test_a_leaf_with_another_goal_begins_anew_and_pays_for_it(tmp_path: Path) -> None:
    """Each step is a process of its own: what was paid is read from the branch.

    One planning session rewrites the leaf. When all three are used up, no other session can.
    """
    easier = edit("node('a')['goal'] = 'easier'")
    story = TreeStory(tmp_path).leaves("a", "b", most=1)
    story.node("a", breaks("a"), did(easier), did(wrote(a_txt="no\n")), did(), did(), works("a"))
    story.node("b", did(ran("rm broken"), edit("node('a')['acceptance'] = ['less']")))
    story.prepared()

    ended = [story.run(command="step") for _ in range(6)][-1]

    assert ended == Ending(
        code=31,
        iterations=(
            "0001 node a execute guard=fail",
            "0002 node a decompose guard=skipped",
            "0003 node a execute guard=fail",
            "0004 node a decompose guard=skipped",
            "0005 node a decompose guard=skipped",
            "0006 node b execute guard=pass",
        ),
        tree=("root open 0/3", "  a open 1/1", "  b passes 0/1"),
        files={"a.txt": "no\n"},
    )
    assert story.called("replay").code == 0


@pytest.mark.parametrize(("allowed", "kind"), [(True, "execute"), (False, "decompose")])
def test_a_root_without_children(tmp_path: Path, *, allowed: bool, kind: str) -> None:
    story = TreeStory(tmp_path).node("root", works("root"))
    story.settings("limits", f"execute_root = {str(allowed).lower()}")

    ended = story.run()

    if allowed:
        assert ended == Ending(
            code=0,
            iterations=(f"0001 node root {kind} guard=pass",),
            tree=("root passes 0/3",),
            files={"root.txt": "root\n"},
        )
    else:
        assert ended == Ending(
            code=31,
            iterations=tuple(f"{n:04} node root {kind} guard=skipped" for n in (1, 2, 3)),
            tree=("root open 0/3",),
            kept=("root/1", "root/2", "root/3"),
        )


def test_a_node_that_is_split_while_it_is_done_does_not_pass(tmp_path: Path) -> None:
    story = TreeStory(tmp_path).leaves("a")
    story.node("a", did({"write": {"a.txt": "a\n"}}, edit("split('a', 'a1')")))
    story.node("a1", works("a1"))

    assert story.run() == Ending(
        code=0,
        iterations=("0001 node a execute guard=pass", "0002 node a1 execute guard=pass"),
        tree=("root passes 0/3", "  a passes 1/2", "    a1 passes 0/2"),
        files={"a.txt": "a\n", "a1.txt": "a1\n"},
    )
    passed = [e["atom"] for e in story.events() if e["kind"] == "AtomResolved"]
    assert passed == ["a1"]


def test_an_agent_that_cannot_work_now_costs_nothing(tmp_path: Path) -> None:
    story = two(tmp_path)
    story.node("b", did({"write": {"b.txt": "half\n"}}, exit=69))

    assert story.run() == ending(ONE_DONE, code=40, kept=("b/2",))
    assert story.events()[-1]["code"] == "agent_unavailable"
    story.node("b", works("b")).played()
    assert story.run() == ending(BOTH_DONE, kept=("b/2",))


def test_a_rate_limit_is_waited_out(tmp_path: Path) -> None:
    """In the same iteration, and the wait is not counted against its time."""
    story = two(tmp_path)
    once = "test -e .runner/seen || { touch .runner/seen; exit 75; }"
    story.node("b", did({"run": once}, {"run": "rm .runner/seen"}, *works("b")["do"]))

    assert story.run() == ending(BOTH_DONE)
    (wait,) = [e for e in story.events() if e["kind"] == "Waited"]
    assert (wait["atom"], wait["seconds"]) == ("b", 5.0)
