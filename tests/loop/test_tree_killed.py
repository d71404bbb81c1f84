"""kill -9 of the runner of a tree, then `dwindle run`: the same end as if nothing had happened.

The same down to the ids of the commits, for dates and people are pinned. A runner dies before one
of the things that it does to the world (see `dying_runner`), so that no moment between two of them
is left out for being short; or while an agent, or the guard, is at work.
"""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.adapters.sandbox.survivors import new_token, put_down, survivors, survivors_after
from tests.loop.story import PATIENCE, Entry, interrupted
from tests.loop.test_tree_whole_run import everything
from tests.loop.tree_story import CHECK, Ending, TreeStory, did, edit, ran, until, works

pytestmark = pytest.mark.slow

KILLS = 25
START, GOING = range(1, 45), range(35, 140)
"""What a runner does to the world: some 40 things until it is going, and 50 in an iteration."""


@pytest.fixture
def token() -> Iterator[str]:
    made = new_token()
    yield made
    put_down(made)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[TreeStory, Ending]:
    story = patient(everything(tmp_path_factory.mktemp("undisturbed")))
    ending = story.run()
    assert ending.code == 0
    return story, ending


def patient(story: TreeStory) -> TreeStory:
    """Starts count, also those that lead nowhere."""
    return story.settings("limits", "max_iterations = 100000")


def died(story: TreeStory, before: int) -> bool:
    """False if it was through before."""
    code = story.going(dies_before=before).wait(PATIENCE)
    assert code in (-signal.SIGKILL, 0), story.log.read_text("utf-8")
    return code != 0


def assert_as_undisturbed(story: TreeStory, undisturbed: tuple[TreeStory, Ending]) -> None:
    other, expected = undisturbed
    ending = story.run()
    assert replace(ending, kept=set_aside(ending)) == expected, story.said
    assert story.commits() == other.commits()
    for number in range(1, len(expected.iterations) + 1):
        assert story.prompt(number) == other.prompt(number), number


def set_aside(ending: Ending) -> tuple[str, ...]:
    """Without what kills have left, and once each what was set aside again because of one."""
    names = (name.partition(".")[0] for name in ending.kept)
    return tuple(dict.fromkeys(name for name in names if name != "unfinished"))


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.nightly)])
def test_killed_again_and_again(
    tmp_path: Path, undisturbed: tuple[TreeStory, Ending], seed: int
) -> None:
    chance = random.Random(seed)  # noqa: S311 - chance that can be repeated
    story = patient(everything(tmp_path))
    story.prepared()

    kills = 0
    while kills < KILLS and died(story, chance.choice(START if chance.random() < 0.2 else GOING)):
        kills += 1

    assert kills == KILLS, "it was over before it had been killed often enough to mean anything"
    assert_as_undisturbed(story, undisturbed)


@pytest.mark.nightly
def test_killed_before_each_thing_that_it_does(tmp_path: Path) -> None:
    """Three iterations: an edit that is refused, its repair, and one that is guarded."""
    expected = one_of_each(tmp_path / "undisturbed").run()
    for number in range(1, 400):
        story = one_of_each(tmp_path / str(number))
        story.prepared()
        if not died(story, number):
            assert number > 150, "nothing was killed worth speaking of"
            return
        ending = story.run()
        assert replace(ending, kept=set_aside(ending)) == expected, (number, story.said)
    pytest.fail("it did more than it should have had to do")


def one_of_each(folder: Path) -> TreeStory:
    refused = did({"write": {"x.txt": "x\n"}}, edit("node('a')['passes'] = True"))
    return TreeStory(folder).leaves("a").node("a", refused, works("a")).node("root", did())


# --- while another process is at work ------------------------------------------------------------

HANG = "sh -c 'trap \"\" TERM; while :; do sleep 0.1; done'"
DONE = Ending(
    code=0,
    iterations=("0001 node p execute guard=pass", "0002 node a execute guard=pass"),
    tree=("root passes 0/3", "  p passes 0/2", "  a passes 0/2"),
    files={"p.txt": "p\n", "a.txt": "a\n"},
    kept=("unfinished",),
)


def killed_while_it_hangs(story: TreeStory, token: str, *words: str) -> None:
    runner = story.going(*words)
    if not until(lambda: survivors(token)):
        interrupted(runner)
        pytest.fail(story.log.read_text("utf-8"))
    interrupted(runner)


def test_killed_while_the_agent_is_at_work(tmp_path: Path, token: str) -> None:
    hang = did({"write": {"a.txt": "half\n"}}, ran(f"{HANG} {token}"))
    story = TreeStory(tmp_path).leaves("p", "a").node("a", hang)
    killed_while_it_hangs(story, token)
    assert survivors_after(token, 2.0) == []
    story.node("a", works("a")).played()

    assert story.run() == DONE
    assert story.kept_files("unfinished")["a.txt"] == "half\n"
    assert "an iteration was cut short; what it left is kept at refs/dwindle" in story.said.err


def test_killed_while_the_guard_is_at_work(tmp_path: Path, token: str) -> None:
    story = TreeStory(tmp_path).leaves("p", "a").node("a", works("a"))
    line = f"if test -e a.txt -a ! -e ../go; then {HANG} {token}; fi\n"
    story.having({"check.sh": CHECK + line}).settings("sandbox", f'writable = ["{tmp_path}"]')
    killed_while_it_hangs(story, token)
    assert survivors_after(token, 2.0) == []
    (tmp_path / "go").touch()

    assert story.run() == DONE


LEFT: dict[str, Entry] = {
    "no tree": ran("rm .runner/tree.json"),
    "a broken tree": ran("echo { > .runner/tree.json"),
    "a folder for a tree": ran("rm .runner/tree.json; mkdir .runner/tree.json"),
    "a better tree": edit("node('a')['passes'] = True"),
    "no guard": ran("rm justfile"),
    "other settings": ran("echo nonsense > .runner/config.toml"),
    "nothing of ours": ran("rm -rf .runner"),
    "a commit": ran("git add --all && git -c user.name=E -c user.email=e@x commit -qm mine"),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_an_agent_left_is_not_read_before_it_is_set_aside(
    tmp_path: Path, token: str, name: str
) -> None:
    """Without a sandbox, where it could do all that; and outlives the runner."""
    steps = [{"write": {"a.txt": "half\n"}}, LEFT[name], ran(f"{HANG} {token}")]
    story = TreeStory(tmp_path).leaves("p", "a").node("a", did(*steps))
    killed_while_it_hangs(story, token, "--no-sandbox")
    put_down(token)
    story.node("a", works("a")).played()

    assert story.run("--no-sandbox") == DONE, story.said
    assert story.kept_files("unfinished")["a.txt"] == "half\n"


def test_what_was_committed_after_a_kill_is_set_aside_too_and_that_is_said(tmp_path: Path) -> None:
    story = TreeStory(tmp_path).leaves("a").node("a", did({"write": {"x": ""}}, {"sleep": 60}))
    running = story.going()
    try:
        assert until((story.folder / "x").exists)
    finally:
        running.kill()
        running.wait()
    base = story.git("rev-parse", "HEAD")
    story.git("add", "--all")
    story.git("commit", "--quiet", "--message=found after a kill")
    story.node("a", works("a")).played()

    said = story.called("run")

    assert said.code == 0, said
    words = "an iteration was cut short; what it left is kept at "
    line = next(line for line in said.err.splitlines() if words in line)
    assert line.endswith(f"/unfinished, with the commits made since {base[:12]}"), said
    assert story.git("log", "-2", "--format=%s", story.kept()["unfinished"]).splitlines() == [
        "unfinished: set aside",
        "found after a kill",
    ]
