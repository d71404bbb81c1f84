"""Several workers at once: up to the width, never on the same paths, each on its own base."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.loop.story import Ending, Story, did, slept, split

pytestmark = pytest.mark.slow

NAMES = ("A1", "A2", "A3", "A4", "A5")


def test_three_workers_at_once_and_no_more(tmp_path: Path) -> None:
    story = Story(tmp_path).limits(max_parallel_agents=3)
    for name in NAMES:
        story.atom(name, did({f"{name}.txt": f"{name}\n"}, slept(0.4)))
    story.done_when("test -f A1.txt && test -f A5.txt")

    ending = story.run()

    assert ending == Ending(
        code=0,
        stop="completed",
        atoms=dict.fromkeys(NAMES, "resolved"),
        bindings={name: f"made {name}.txt" for name in NAMES},
        commits=ending.commits,
        files={f"{name}.txt": f"{name}\n" for name in NAMES},
    )
    assert sorted(ending.commits) == list(NAMES)
    assert story.most_at_once() == 3


def test_atoms_that_touch_the_same_paths_are_not_worked_on_together(tmp_path: Path) -> None:
    story = (
        Story(tmp_path)
        .atom("A1", did({"src/one.txt": "1\n"}, slept(0.3)), touches=["src/"])
        .atom("A2", did({"src/two.txt": "2\n"}, slept(0.3)), touches=["src/two.txt"])
        .done_when("test -f src/one.txt && test -f src/two.txt")
    )

    assert story.run() == Ending(
        code=0,
        stop="completed",
        atoms={"A1": "resolved", "A2": "resolved"},
        bindings={"A1": "made src/one.txt", "A2": "made src/two.txt"},
        commits=("A1", "A2"),
        files={"src/one.txt": "1\n", "src/two.txt": "2\n"},
    )
    assert story.most_at_once() == 1


def test_a_worker_finds_what_it_depends_on_in_its_tree(tmp_path: Path) -> None:
    built = {"do": [{"run": "cat a.txt > b.txt"}], "report": {"success": True, "summary": "b"}}
    story = (
        Story(tmp_path)
        .atom("A1", did({"a.txt": "from A1\n"}))
        .atom("A2", built, depends_on=["A1"])
        .done_when("grep -q A1 b.txt")
    )

    assert story.run() == Ending(
        code=0,
        stop="completed",
        atoms={"A1": "resolved", "A2": "resolved"},
        bindings={"A1": "made a.txt", "A2": "b"},
        commits=("A1", "A2"),
        files={"a.txt": "from A1\n", "b.txt": "from A1\n"},
    )


def test_two_that_write_the_same_line_both_get_there(tmp_path: Path) -> None:
    """The second to integrate conflicts; that is forgiven, and it goes again from the new base."""
    story = (
        Story(tmp_path)
        .having({"list.txt": "one\n"})
        .protected("!list.txt")
        .atom("A1", did({"list.txt": "by A1\n"}))
        .atom(
            "A2",
            {
                "do": [slept(0.6), {"append": {"list.txt": "by A2\n"}}],
                "report": {"success": True, "summary": "added to the list"},
            },
            max_attempts=1,
        )
        .done_when("grep -q A1 list.txt && grep -q A2 list.txt")
    )

    assert story.run() == Ending(
        code=0,
        stop="completed",
        atoms={"A1": "resolved", "A2": "resolved"},
        bindings={"A1": "made list.txt", "A2": "added to the list"},
        commits=("A1", "A2"),
        kept=("A2/2",),
        files={"list.txt": "by A1\nby A2\n"},
    )
    assert story.kept_files("A2/2") == {"list.txt": "one\nby A2\n"}
    assert story.sessions() == ["A1", "A2", "A2"]
    assert story.plan.atoms["A2"].attempts == 1  # type: ignore[index]
    assert story.plan.spent.forgiven == 1


def test_one_step_does_one_iteration(tmp_path: Path) -> None:
    story = (
        Story(tmp_path)
        .limits(max_parallel_agents=1)
        .atom("A1", did({"a.txt": "a\n"}))
        .atom("A2", did({"b.txt": "b\n"}))
        .done_when("test -f b.txt")
    )

    assert story.run(command="step") == Ending(
        code=0,
        stop="running",
        atoms={"A1": "resolved", "A2": "pending"},
        bindings={"A1": "made a.txt"},
        commits=("A1",),
        files={"a.txt": "a\n"},
    )
    finished = Ending(
        code=0,
        stop="completed",
        atoms={"A1": "resolved", "A2": "resolved"},
        bindings={"A1": "made a.txt", "A2": "made b.txt"},
        commits=("A1", "A2"),
        files={"a.txt": "a\n", "b.txt": "b\n"},
    )
    assert story.run(command="step") == finished
    again = story.called("run")
    assert (again.code, story.ending(0)) == (2, finished)
    assert "completed" in again.err


def test_a_decomposition_is_worked_off_and_its_parent_settles(tmp_path: Path) -> None:
    children = ({"description": "first half"}, {"description": "the rest", "depends_on": ["#1"]})
    story = (
        Story(tmp_path)
        .atom("A1", split("two halves", *children))
        .worker("A2", did({"half.txt": "half\n"}))
        .worker("A3", did({"whole.txt": "whole\n"}))
        .done_when("test -f whole.txt")
    )

    assert story.run() == Ending(
        code=0,
        stop="completed",
        atoms={"A1": "resolved", "A2": "resolved", "A3": "resolved"},
        bindings={
            "A1": "Completed via A2, A3 resolution",
            "A2": "made half.txt",
            "A3": "made whole.txt",
        },
        commits=("A2", "A3"),
        kept=("A1/1",),
        files={"half.txt": "half\n", "whole.txt": "whole\n"},
    )
