"""Choices that are tried at the same time: the first that gets onto the branch wins."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.loop.story import Ending, Story, did, failed, slept

pytestmark = pytest.mark.slow


def test_of_two_racers_the_first_wins_and_the_other_is_ended(tmp_path: Path) -> None:
    story = (
        Story(tmp_path)
        .atom("A1", did({"way.txt": "slow\n"}, {"write": {"begun.txt": "."}}, slept(120)))
        .atom("A2", did({"way.txt": "fast\n"}, slept(0.6)))
        .choices("race", "A1", "A2", speculative=True)
        .done_when("test -f way.txt")
    )

    assert story.run() == Ending(
        code=0,
        stop="completed",
        atoms={"A1": "pending", "A2": "resolved"},
        bindings={"A2": "made way.txt"},
        trail=story_of_the_race(story),
        commits=("A2",),
        kept=("A1/1",),
        files={"way.txt": "fast\n"},
    )
    assert story.kept_files("A1/1") == {"begun.txt": ".\n"}  # cut short where it stood
    assert story.plan.groups["race"].failed == ()  # type: ignore[index]
    assert story.plan.atoms["A1"].attempts == 1  # type: ignore[index]


def story_of_the_race(story: Story) -> tuple[str, ...]:
    """The Trail has the winner; how it is worded is the kernel's."""
    reasons = [e.reason for e in story.plan.trail]
    assert len(reasons) == 1
    return (f"choice race -> A2: {reasons[0]}",)


def test_racers_that_all_fail_exhaust_their_group(tmp_path: Path) -> None:
    story = (
        Story(tmp_path)
        .limits(max_probes=0, max_stall_count=9)
        .atom("A1", failed("one"))
        .atom("A2", failed("two", {"x.txt": "x\n"}))
        .choices("race", "A1", "A2", speculative=True)
        .done_when("test -f way.txt")
    )

    ending = story.run()
    assert (ending.code, ending.stop, ending.atoms, ending.commits, ending.files) == (
        30,
        "or_exhausted",
        {"A1": "pending", "A2": "pending"},
        (),
        {},
    )
    assert sorted(ending.kept) == ["A1/1", "A2/2"]


def test_racers_that_finish_together_only_one_gets_there(tmp_path: Path) -> None:
    story = Story(tmp_path)
    for name in ("A1", "A2", "A3"):
        story.atom(name, did({"way.txt": f"{name}\n"}, slept(0.5)))
    story.choices("race", "A1", "A2", "A3", speculative=True).done_when("test -f way.txt")

    ending = story.run()

    (winner,) = ending.commits
    assert (ending.code, ending.bindings) == (0, {winner: "made way.txt"})
    assert ending.files == {"way.txt": f"{winner}\n"}
    lost = [name.partition("/")[0] for name in ending.kept]
    assert sorted([*lost, winner]) == ["A1", "A2", "A3"]
