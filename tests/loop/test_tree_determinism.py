"""The same repository and the same edits by agents: the same bytes, wherever and however it runs.

A recorded run is played again in surroundings that differ in everything that should not matter. The
ids of the commits are the same too, since people and dates are pinned; they hold the files, the
trees and the messages in them.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.loop.tree_recording import OUTCOME, TREE, outcome, recorded_story

pytestmark = pytest.mark.slow

SURROUNDINGS = {
    "plain": ("project", (), {}),
    "elsewhere": (
        "an other/プロジェクト 'quoted' & long " + "x" * 100,
        (),
        {"PYTHONHASHSEED": "1", "LC_ALL": "C", "TZ": "Pacific/Kiritimati"},
    ),
    "abroad": (
        "p",
        (),
        {
            "PYTHONHASHSEED": "4242",
            "LC_ALL": "tr_TR.UTF-8",
            "LANG": "tr_TR.UTF-8",
            "TZ": "America/St_Johns",
            "TERM": "xterm-256color",
            "USER": "somebody",
        },
    ),
    "without a sandbox": ("q", ("--no-sandbox",), {"PYTHONHASHSEED": "7", "COLUMNS": "40"}),
}


@pytest.mark.parametrize("name", SURROUNDINGS)
def test_a_recorded_run_comes_out_the_same(tmp_path: Path, name: str) -> None:
    folder, words, surroundings = SURROUNDINGS[name]
    story = recorded_story(tmp_path, folder)

    ended = story.run(*words, **surroundings)

    assert (ended.code, ended.kept) == (0, ("blanks/5",)), story.said
    assert outcome(story) == json.loads(OUTCOME.read_bytes())
    assert story.tree == TREE.read_bytes()


def test_step_by_step_it_comes_out_the_same(tmp_path: Path) -> None:
    """Every iteration by a runner of its own, which knows only what the branch and the logs say."""
    expected = json.loads(OUTCOME.read_bytes())
    story = recorded_story(tmp_path)

    for number in range(1, len(expected["iterations"]) + 1):
        ended = story.run(command="step")
        assert ended.iterations == tuple(expected["iterations"][:number])

    found = outcome(story)
    for key in ("commits", "prompts", "trees"):
        assert found[key] == expected[key], key
    assert story.tree == TREE.read_bytes()


def test_other_people_and_dates_change_the_ids_and_nothing_else(tmp_path: Path) -> None:
    story = recorded_story(tmp_path)
    story.prepared()
    story.surroundings = {k: v for k, v in story.surroundings.items() if not k.startswith("GIT_")}

    assert story.run().code == 0
    found, expected = outcome(story), json.loads(OUTCOME.read_bytes())
    assert found["commits"] != expected["commits"]
    assert [found[key] for key in ("iterations", "prompts", "trees")] == [
        expected[key] for key in ("iterations", "prompts", "trees")
    ]
    assert story.git("log", "-1", "--format=%an") != "Ada"
