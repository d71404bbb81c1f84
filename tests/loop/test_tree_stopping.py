"""Stopping a tree: everybody is gone at once, what was begun is kept, the number comes again."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.adapters.sandbox.survivors import new_token, put_down, survivors, survivors_after
from tests.loop.story import PATIENCE, Entry, interrupted
from tests.loop.tree_story import CHECK, Ending, TreeStory, did, ran, until, works

pytestmark = pytest.mark.slow

DEAF = "sh -c 'trap \"\" TERM INT HUP; while :; do sleep 0.1; done'"


@pytest.fixture
def token() -> Iterator[str]:
    made = new_token()
    yield made
    put_down(made)


def hanging(folder: Path, token: str, where: str) -> tuple[TreeStory, subprocess.Popen[bytes]]:
    """`p` is done; then the agent of `a` hangs, or its guard, with children in other sessions."""
    hang = f"(setsid {DEAF} {token} &); (nohup {DEAF} {token} >/dev/null 2>&1 &); {DEAF} {token}"
    agent: list[Entry] = [ran(hang)] if where == "agent" else []
    story = TreeStory(folder).leaves("p", "a")
    story.node("a", did({"write": {"a.txt": "half\n", "more/b.txt": "half\n"}}, *agent))
    if where == "guard":
        story.having({"check.sh": f"{CHECK}if grep -qs half a.txt; then {hang}; fi\n"})
    runner = story.going()
    if not until(lambda: len(survivors(token)) >= 3):
        interrupted(runner)
        pytest.fail(f"it never got going: {story.log.read_text('utf-8')}")
    return story, runner


STOPPED = Ending(
    code=10,
    iterations=("0001 node p execute guard=pass",),
    tree=("root open 0/3", "  p passes 0/2", "  a open 0/2"),
    files={"p.txt": "p\n"},
    kept=("a/2",),
)
DONE = Ending(
    code=0,
    iterations=("0001 node p execute guard=pass", "0002 node a execute guard=pass"),
    tree=("root passes 0/3", "  p passes 0/2", "  a passes 0/2"),
    files={"p.txt": "p\n", "a.txt": "a\n"},
    kept=("a/2",),
)


def assert_stopped_and_goes_on(story: TreeStory, reason: str) -> None:
    assert story.ending(10) == STOPPED, story.log.read_text("utf-8")
    kept = story.kept_files("a/2")
    assert {n: kept[n] for n in ("a.txt", "more/b.txt")} == {
        "a.txt": "half\n",
        "more/b.txt": "half\n",
    }
    ended = story.events()[-1]
    assert (ended["kind"], ended["code"], ended["reason"]) == (
        "RunEnded",
        "stopped_by_user",
        reason,
    )
    assert not (story.folder / ".runner/tree.sock").exists()
    assert_goes_on(story)


def assert_goes_on(story: TreeStory) -> None:
    story.node("a", works("a")).played()
    assert story.run() == DONE


@pytest.mark.parametrize("where", ["agent", "guard"])
def test_stop_ends_everybody_within_a_second(tmp_path: Path, token: str, where: str) -> None:
    story, runner = hanging(tmp_path, token, where)

    said = story.called("stop", "--reason", "out of coffee")
    left = survivors(token)

    assert (said.code, runner.wait(PATIENCE), left) == (0, 10, [])
    asked = next(i for i, e in enumerate(story.events()) if e["kind"] == "StopRequested")
    gone = story.events()[asked + 1]
    assert (gone["kind"], gone["elapsed"] < 1.0) == ("SessionInterrupted", True)
    assert_stopped_and_goes_on(story, "out of coffee")


@pytest.mark.parametrize("where", ["agent", "guard"])
@pytest.mark.parametrize(
    ("number", "reason"),
    [(signal.SIGINT, "stopped by Ctrl-C"), (signal.SIGTERM, "stopped by SIGTERM")],
)
def test_a_signal_stops_it(
    tmp_path: Path, token: str, where: str, number: int, reason: str
) -> None:
    story, runner = hanging(tmp_path, token, where)

    began = time.monotonic()
    runner.send_signal(number)

    assert survivors_after(token, 1.0) == []
    assert time.monotonic() - began < 1.5
    assert runner.wait(PATIENCE) == 10
    assert_stopped_and_goes_on(story, reason)


@pytest.mark.parametrize("pause", [0.0, 0.005, 0.02, 0.05])
def test_twice_ends_it_now(tmp_path: Path, token: str, pause: float) -> None:
    """Wherever the second one meets the first, the next run finds its way."""
    story, runner = hanging(tmp_path, token, "agent")

    runner.send_signal(signal.SIGINT)
    time.sleep(pause)
    code = interrupted(runner, signal.SIGINT)

    assert survivors_after(token, 1.0) == []
    assert code in (10, -signal.SIGINT)  # the latter if it was through, and on its way out
    story.node("a", works("a")).played()
    ended = story.run()
    assert Ending(**{**vars(ended), "kept": ("a/2",)}) == DONE, story.said
    assert [name.partition("/")[0] for name in ended.kept] in (["a"], ["unfinished"])
    assert story.kept_files(ended.kept[0])["a.txt"] == "half\n"


def test_step_can_be_stopped_as_well(tmp_path: Path, token: str) -> None:
    story = TreeStory(tmp_path).leaves("a").node("a", did(ran(f"{DEAF} {token}")))
    runner = story.going(command="step")
    assert until(lambda: survivors(token)), story.log.read_text("utf-8")

    assert story.called("stop").code == 0
    assert (runner.wait(PATIENCE), survivors(token)) == (10, [])


def test_stopped_between_iterations(tmp_path: Path) -> None:
    """At any moment of many short ones; the branch goes on without a gap."""
    names = tuple(f"n{k}" for k in range(12))
    story = TreeStory(tmp_path).leaves(*names).settings("limits", "max_iterations = 500")
    for pause in (0.45, 0.6, 0.7, 0.8, 0.9):
        runner = story.going()
        time.sleep(pause)
        code = interrupted(runner, signal.SIGTERM)
        if code == -signal.SIGTERM:  # it had not got as far as to listen
            continue
        assert code in (0, 10), story.log.read_text("utf-8")
        story.ending(code)

    ended = story.run()

    assert (ended.code, ended.iterations) == (
        0,
        tuple(f"{k:04} node n{k - 1} execute guard=pass" for k in range(1, 13)),
    )
    assert ended.tree == ("root passes 0/3", *(f"  {name} passes 0/2" for name in names))
