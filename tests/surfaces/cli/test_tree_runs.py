"""Real runs on trees, asked about before, during and after."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.loop.story import BRANCH, RUN
from tests.loop.test_tree_whole_run import everything
from tests.loop.tree_story import TreeStory, did, until
from tests.surfaces.command import Ended

pytestmark = pytest.mark.slow


def same(count: int) -> Ended:
    said = f"{count} iterations decided again, and every tree on {BRANCH} has the same bytes"
    return Ended(code=0, out=f"{RUN}: {said}\n")


def test_a_whole_run_is_told_and_decided_again(tmp_path: Path) -> None:
    """Splits, a red guard, an exhausted leaf, a refused edit and its repair are all in it."""
    story = everything(tmp_path)
    ending = story.run()
    assert ending.code == 0, story.said
    count = len(ending.iterations)
    assert story.called("replay") == same(count)
    told = json.loads(story.called("status", "--json").out)
    assert (told["run"]["status"], told["run"]["run_id"], told["iteration"]["done"]) == (
        "completed",
        RUN,
        count,
    )
    number, _, name, kind, guard = ending.iterations[-1].split()
    assert told["tree"] == {
        "branch": BRANCH,
        "unfinished": False,
        "last": {
            "iteration": int(number),
            "node": name,
            "kind": kind,
            "guard": guard.removeprefix("guard="),
            "commit": story.commits()[-1],
        },
        "open_leaves": [],
        "next": None,
    }
    said = [line[28:] for line in story.called("log").out.splitlines()]
    committed = zip(ending.iterations, story.commits(), strict=True)
    assert [line for line in said if line.startswith("iteration ")] == [
        f"iteration {line} is committed: {commit[:12]}" for line, commit in committed
    ]
    landed = f"{count} commits of {BRANCH} on main: fast-forward to {story.commits()[-1]}"
    assert story.called("land", "--dry-run").out.splitlines() == [
        f"would land {landed}",
        "  nothing was changed; without --dry-run it is done",
    ]
    # The branch alone is enough.
    (story.folder / ".runner/journal" / f"{RUN}.jsonl").unlink()
    assert story.called("replay") == same(count)
    assert story.called("land", "--onto", "main").out.splitlines()[0] == f"landed {landed}"


def test_what_status_says_is_what_the_next_step_does(tmp_path: Path) -> None:
    story = everything(tmp_path).prepared()
    expected = []
    for _ in range(12):
        told = json.loads(story.called("status", "--json").out)["tree"]
        expected.append(told["next"])
        assert told["last"] is None or told["last"]["iteration"] == len(expected) - 1
        story.run(command="step")
    done = [line.split() for line in story.iterations()]
    assert [step["node"] for step in expected] == [name for _, _, name, _, _ in done]
    planned = [
        kind
        for step, (_, _, _, kind, _) in zip(expected, done, strict=True)
        if step["mode"] != "work"
    ]
    assert (planned, {step["mode"] for step in expected}) == (
        ["decompose"] * len(planned),
        {"work", "plan", "repair"},
    )


def test_a_run_is_seen_and_stopped(tmp_path: Path) -> None:
    story = TreeStory(tmp_path).leaves("a", "b")
    story.node("b", did({"sleep": 60}))
    running = story.going()
    try:
        assert until(lambda: b"b: a worker starts" in story.log.read_bytes())
        told = json.loads(story.called("status", "--json").out)
        assert (told["run"]["status"], [one["atom"] for one in told["running"]]) == (
            "running",
            ["b"],
        )
        assert (told["iteration"]["done"], told["tree"]["last"]["iteration"]) == (2, 1)
        assert story.called("stop", "--reason", "tea") == Ended(
            code=0, out="stopped; `dwindle run` goes on from here\n"
        )
        assert running.wait(timeout=20) == 10
    finally:
        running.kill()
        running.wait()
    told = json.loads(story.called("status", "--json").out)
    run = told["run"]
    assert (run["status"], run["stop_code"], run["stop_reason"], told["tree"]["unfinished"]) == (
        "stopped",
        "stopped_by_user",
        "tea",
        False,
    )
    assert story.called("replay").code == 0


def test_a_run_that_was_killed(tmp_path: Path) -> None:
    story = TreeStory(tmp_path).leaves("a", "b")
    story.node("b", did({"write": {".runner/tree.json": "{"}}, {"sleep": 60}))
    running = story.going()
    try:
        tree = story.folder / ".runner/tree.json"
        assert until(lambda: tree.read_bytes() == b"{")
        assert json.loads(story.called("status", "--json").out)["run"]["status"] == "running"
    finally:
        running.kill()
        running.wait()
    told = json.loads(story.called("status", "--json").out)
    assert (told["run"]["status"], told["tree"]["unfinished"], told["tree"]["next"]["node"]) == (
        "stopped",
        True,
        "b",
    )
