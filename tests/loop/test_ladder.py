"""When an atom does not shrink: other choices, probes, other ways, turning back, giving up."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.loop.story import Ending, Story, did, failed, found, other_ways, split

pytestmark = pytest.mark.slow

GOOD = {"type": "command", "value": "grep -q good way.txt"}
NOT_GOOD = (
    "success was reported, but its check does not hold. "
    "Failed: `grep -q good way.txt` exited with 1.\nThe report said: made way.txt"
)


def test_a_failed_choice_leaves_no_file_behind(tmp_path: Path) -> None:
    """What its parts had integrated comes off the branch; what is unrelated stays."""
    story = (
        Story(tmp_path)
        .limits(max_parallel_agents=1)
        .atom("A1", did({"other.txt": "unrelated\n"}))
        .atom("A2", split("in two", {"description": "x"}, {"description": "y"}))
        .atom("A3", did({"way.txt": "good\n"}))
        .choices("way", "A2", "A3")
        .worker("A4", did({"x.txt": "x\n"}))
        .worker("A5", failed("y cannot be", {"y.txt": "tried\n"}))
        .limits(max_attempts=1)
        .done_when("grep -q good way.txt")
    )

    assert story.run() == Ending(
        code=0,
        stop="completed",
        atoms={
            "A1": "resolved",
            "A2": "pending",
            "A3": "resolved",
            "A4": "pending",
            "A5": "pending",
        },
        bindings={"A1": "made other.txt", "A3": "made way.txt"},
        trail=(
            "failure A5: y cannot be",
            "backtrack way -> A3: A5 has used up its attempts; way still has A3",
        ),
        commits=("A1", "A3"),
        kept=("branch/1", "A2/2", "A5/4"),
        files={"other.txt": "unrelated\n", "way.txt": "good\n"},
    )
    assert story.kept_files("A5/4") == {
        "other.txt": "unrelated\n",
        "x.txt": "x\n",
        "y.txt": "tried\n",
    }
    assert story.kept_files("branch/1") == {"other.txt": "unrelated\n", "x.txt": "x\n"}


def test_a_choice_within_a_choice(tmp_path: Path) -> None:
    """The inner choice is tried to its end before the outer one is given up."""
    story = (
        Story(tmp_path)
        .atom("A1")
        .atom("A2", failed("inner one"))
        .atom("A3", failed("inner two"))
        .atom("A4", did({"way.txt": "good\n"}))
        .choices("outer", "A1", "A4")
        .choices("inner", "A2", "A3")
        .parts("A1", "A2", "A3")
        .done_when("grep -q good way.txt")
    )

    assert story.run() == Ending(
        code=0,
        stop="completed",
        atoms={"A1": "pending", "A2": "pending", "A3": "pending", "A4": "resolved"},
        bindings={"A4": "made way.txt"},
        trail=(
            "failure A2: inner one",
            "backtrack inner -> A3: A2 has used up its attempts; inner still has A3",
            "failure A3: inner two",
            "backtrack outer -> A4: A3 has used up its attempts; outer still has A4",
        ),
        commits=("A4",),
        kept=("A2/1", "A3/2"),
        files={"way.txt": "good\n"},
    )


def test_a_backjump_undoes_the_choice_and_what_was_built_upon_it(tmp_path: Path) -> None:
    """A4 cannot be built upon the first choice; with the second it can."""
    story = (
        Story(tmp_path)
        .limits(max_parallel_agents=1, max_probes=0, max_attempts=1, max_stall_count=9)
        .atom("A1", did({"base.txt": "first\n"}))
        .atom("A2", did({"base.txt": "second\n"}))
        .choices("base", "A1", "A2")
        .atom("A3", did({"middle.txt": "middle\n"}), depends_on=["base"])
        .atom(
            "A4",
            {
                "do": [{"write": {"top.txt": "top\n"}}],
                "report": {"success": True, "summary": "made top.txt"},
            },
            depends_on=["A3"],
            check={"type": "command", "value": "grep -q second base.txt"},
        )
        .atom("A5", did({"aside.txt": "unrelated\n"}))
        .done_when("test -f top.txt")
    )

    ending = story.run()
    assert ending == Ending(
        code=0,
        stop="completed",
        atoms={
            "A1": "pending",
            "A2": "resolved",
            "A3": "resolved",
            "A4": "resolved",
            "A5": "resolved",
        },
        bindings={
            "A2": "made base.txt",
            "A3": "made middle.txt",
            "A4": "made top.txt",
            "A5": "made aside.txt",
        },
        trail=(
            (
                "failure A4: success was reported, but its check does not hold. "
                "Failed: `grep -q second base.txt` exited with 1.\nThe report said: made top.txt"
            ),
            (
                "backtrack base -> A2: A4 has nothing else to try and was built upon base, "
                "which has another choice"
            ),
        ),
        commits=ending.commits,
        kept=ending.kept,
        files={
            "base.txt": "second\n",
            "middle.txt": "middle\n",
            "top.txt": "top\n",
            "aside.txt": "unrelated\n",
        },
    )
    assert sorted(ending.commits) == ["A2", "A3", "A4", "A5"]
    assert [name.partition("/")[0] for name in ending.kept] == ["branch", "A4"]
    assert story.plan.spent.backjumps == 1


def test_other_ways_take_the_place_of_an_atom(tmp_path: Path) -> None:
    story = (
        Story(tmp_path)
        .atom("A1", other_ways("too slow", "in C", "in Rust"))
        .worker("A2", failed("no compiler"))
        .worker("A3", did({"way.txt": "good\n"}))
        .done_when("grep -q good way.txt")
    )

    ending = story.run()
    assert ending == Ending(
        code=0,
        stop="completed",
        atoms={"A1": "pending", "A2": "pending", "A3": "resolved"},
        bindings={"A3": "made way.txt"},
        trail=ending.trail,
        commits=("A3",),
        kept=("A1/1", "A2/2"),
        files={"way.txt": "good\n"},
    )
    assert [line.partition(":")[0] for line in ending.trail] == [
        "backtrack or_A1 -> A2",
        "failure A2",
        "backtrack or_A1 -> A3",
    ]


def test_a_probe_looks_first_and_tells_the_worker(tmp_path: Path) -> None:
    read = {
        "do": [{"run": 'grep -q "mind the gap" "$DWINDLE_ORDER" && echo told > way.txt'}],
        "report": {"success": True, "summary": "as the probe said", "artifacts": ["way.txt"]},
    }
    story = (
        Story(tmp_path)
        .atom("A1", read, probe=True)
        .probe("A1", found("mind the gap"))
        .done_when("grep -q told way.txt")
    )

    assert story.run() == Ending(
        code=0,
        stop="completed",
        atoms={"A1": "resolved"},
        bindings={"A1": "as the probe said"},
        commits=("A1",),
        files={"way.txt": "told\n"},
    )
    assert (story.sessions(role="probe"), story.sessions()) == (["A1"], ["A1"])


def test_what_a_probe_writes_goes_nowhere(tmp_path: Path) -> None:
    """A probe may only look: its tree is read-only, and its attempt to write ends it."""
    story = (
        Story(tmp_path)
        .atom("A1", did({"way.txt": "good\n"}), probe=True)
        .probe("A1", {**found("fine"), "do": [{"write": {"probe.txt": "here"}}]})
        .done_when("grep -q good way.txt")
    )

    ending = story.run()
    assert (ending.code, ending.files, ending.kept) == (0, {"way.txt": "good\n"}, ())


def test_a_probe_that_says_no_moves_on_to_the_next_choice(tmp_path: Path) -> None:
    story = (
        Story(tmp_path)
        .atom("A1", did({"way.txt": "bad\n"}), probe=True)
        .atom("A2", did({"way.txt": "good\n"}))
        .choices("way", "A1", "A2")
        .probe("A1", found("there is no such thing", feasible=False))
        .done_when("grep -q good way.txt")
    )

    assert story.run() == Ending(
        code=0,
        stop="completed",
        atoms={"A1": "pending", "A2": "resolved"},
        bindings={"A2": "made way.txt"},
        trail=(
            "failure A1: there is no such thing",
            "backtrack way -> A2: A1 has used up its attempts; way still has A2",
        ),
        commits=("A2",),
        files={"way.txt": "good\n"},
    )


def test_a_probe_mends_a_plan_whose_atom_is_used_up(tmp_path: Path) -> None:
    plan = {"reason": "smaller", "children": [{"description": "a small one"}]}
    story = (
        Story(tmp_path)
        .limits(max_attempts=1)
        .atom("A1", failed("too big"))
        .probe("A1", {"report": {"feasible": True, "findings": "split it", "decomposition": plan}})
        .worker("A2", did({"way.txt": "good\n"}))
        .done_when("grep -q good way.txt")
    )

    assert story.run() == Ending(
        code=0,
        stop="completed",
        atoms={"A1": "resolved", "A2": "resolved"},
        bindings={"A1": "Completed via A2 resolution", "A2": "made way.txt"},
        trail=("failure A1: too big",),
        commits=("A2",),
        kept=("A1/1",),
        files={"way.txt": "good\n"},
    )


def test_infeasible_uses_the_attempts_up(tmp_path: Path) -> None:
    story = (
        Story(tmp_path)
        .limits(max_probes=0)
        .atom("A1", failed("there is no such library", infeasible=True))
        .done_when("test -f way.txt")
    )

    assert story.run() == Ending(
        code=31,
        stop="atom_exhausted",
        atoms={"A1": "pending"},
        trail=("failure A1: there is no such library",),
        kept=("A1/1",),
    )
    assert story.sessions() == ["A1"]


def test_a_second_attempt_is_told_of_the_first(tmp_path: Path) -> None:
    told = {
        "do": [{"run": 'grep -q "out of ideas" "$DWINDLE_ORDER" && echo good > way.txt'}],
        "report": {"success": True, "summary": "done now"},
    }
    story = (
        Story(tmp_path)
        .atom("A1", failed("out of ideas", {"half.txt": "half\n"}), told)
        .done_when("grep -q good way.txt")
    )

    assert story.run() == Ending(
        code=0,
        stop="completed",
        atoms={"A1": "resolved"},
        bindings={"A1": "done now"},
        trail=("failure A1: out of ideas",),
        commits=("A1",),
        kept=("A1/1",),
        files={"way.txt": "good\n"},
    )
    assert story.kept_files("A1/1") == {"half.txt": "half\n"}


def test_every_choice_fails(tmp_path: Path) -> None:
    story = (
        Story(tmp_path)
        .limits(max_probes=0)
        .atom("A1", did({"way.txt": "bad\n"}), check=GOOD)
        .atom("A2", did({"way.txt": "worse\n"}), check=GOOD)
        .choices("way", "A1", "A2")
        .done_when("grep -q good way.txt")
    )

    assert story.run() == Ending(
        code=30,
        stop="or_exhausted",
        atoms={"A1": "pending", "A2": "pending"},
        trail=(
            f"failure A1: {NOT_GOOD}",
            "backtrack way -> A2: A1 has used up its attempts; way still has A2",
            f"failure A2: {NOT_GOOD}",
        ),
        kept=("A1/1", "A2/2"),
    )


def test_an_unwritten_choice_is_written_when_its_turn_comes(tmp_path: Path) -> None:
    story = (
        Story(tmp_path)
        .atom("A1", failed("no such way"))
        .choices("way", "A1", "another_way")
        .worker("another_way", did({"way.txt": "good\n"}))
        .done_when("test -f way.txt")
    )

    ending = story.run()

    assert (ending.code, ending.commits, ending.files) == (
        0,
        ("another_way",),
        {"way.txt": "good\n"},
    )


def test_work_that_does_not_go_without_the_failed_choice_is_done_again(tmp_path: Path) -> None:
    """A3 depends on nothing, but its commit changes a file that only the failed choice had made."""
    append = {
        "do": [
            {"run": "test -f base.txt && echo more >> base.txt || echo alone > alone.txt"},
        ],
        "report": {"success": True, "summary": "added"},
    }
    story = (
        Story(tmp_path)
        .limits(max_parallel_agents=1, max_attempts=1, max_probes=0, max_stall_count=9)
        .atom("A1")
        .atom("A2", did({"other.txt": "other\n"}))
        .choices("way", "A1", "A2")
        .atom("A4", did({"base.txt": "base\n"}))
        .atom("A3", append)
        .atom("A5", failed("cannot be done"), depends_on=["A4"])
        .parts("A1", "A4", "A5")
        .done_when("test -f alone.txt && test -f other.txt")
    )

    ending = story.run()

    assert (ending.code, ending.stop) == (0, "completed")
    assert ending.files == {"alone.txt": "alone\n", "other.txt": "other\n"}
    assert sorted(ending.commits) == ["A2", "A3"]
    assert story.sessions().count("A3") == 2
    assert story.plan.spent.backjumps == 1
