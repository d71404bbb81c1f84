"""State that was put back to an earlier time or cut: the runner notices before it does anything."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.loop.story import BRANCH, RUN, Story, did
from tests.surfaces.command import GRAPH_FILE, Ended

pytestmark = pytest.mark.slow

JOURNAL = f".runner/journal/{RUN}.jsonl"


def two_steps(folder: Path) -> Story:
    """One of two atoms is done; both the plan and its journal as they were before are kept."""
    story = (
        Story(folder)
        .atom("A1", did({"a.txt": "a\n"}))
        .atom("A2", did({"b.txt": "b\n"}), depends_on=["A1"])
        .done_when("test -f a.txt && test -f b.txt")
        .limits(max_parallel_agents=1)
    )
    assert story.called("step").code == 0
    for name in (GRAPH_FILE, JOURNAL):
        shutil.copy(story.folder / name, folder / Path(name).name)
    return story


def put_back(story: Story, *names: str) -> None:
    for name in names:
        shutil.copy(story.folder.parent / Path(name).name, story.folder / name)


def refused(story: Story, said: str) -> Ended:
    """Nothing was changed by looking."""
    before = (story.git("rev-parse", BRANCH), (story.folder / GRAPH_FILE).read_bytes())
    ended = story.called("run")
    assert ended.code == 41
    assert said in ended.err
    assert (story.git("rev-parse", BRANCH), (story.folder / GRAPH_FILE).read_bytes()) == before
    return ended


def test_a_plan_and_its_journal_put_back_together_are_found_out_by_git(tmp_path: Path) -> None:
    story = two_steps(tmp_path)
    assert story.called("step").code == 0

    put_back(story, GRAPH_FILE, JOURNAL)

    refused(
        story,
        "the plan and its journal know of 1 sessions, but git has work of session 2: both were put "
        "back to an earlier time",
    )


def test_a_plan_put_back_without_its_journal_is_found_out_too(tmp_path: Path) -> None:
    story = two_steps(tmp_path)
    assert story.called("step").code == 0

    put_back(story, GRAPH_FILE)
    (story.folder / JOURNAL).unlink()

    refused(story, "git has work of session 2")


def test_a_journal_that_was_cut_is_found_out(tmp_path: Path) -> None:
    story = two_steps(tmp_path)
    journal = story.folder / JOURNAL
    lines = journal.read_bytes().splitlines(keepends=True)

    journal.write_bytes(b"".join(lines[:3]))

    refused(story, "TAMPERED: the plan is at revision ")


def test_a_journal_with_a_changed_line_is_found_out(tmp_path: Path) -> None:
    story = two_steps(tmp_path)
    journal = story.folder / JOURNAL
    journal.write_bytes(journal.read_bytes().replace(b'"made a.txt"', b'"made b.txt"', 1))

    refused(story, "does not follow from the lines before it")


def test_an_untouched_run_goes_on(tmp_path: Path) -> None:
    story = two_steps(tmp_path)

    assert story.run().code == 0
