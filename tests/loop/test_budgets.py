"""Belts that hold whatever else happens, each with its code, also when run again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.loop.story import Ending, Story, did, failed, ran, slept

pytestmark = pytest.mark.slow

ONE_DONE = {
    "atoms": {"A1": "resolved", "A2": "pending", "A3": "pending"},
    "bindings": {"A1": "made a.txt"},
    "commits": ("A1",),
    "files": {"a.txt": "a\n"},
}
"""What is left when the belt held after the first of three."""


def three(tmp_path: Path, **report: Any) -> Story:
    return (
        Story(tmp_path)
        .limits(max_parallel_agents=1)
        .atom("A1", did({"a.txt": "a\n"}, **report))
        .atom("A2", did({"b.txt": "b\n"}, **report))
        .atom("A3", did({"c.txt": "c\n"}, **report))
        .done_when("test -f c.txt")
    )


@pytest.mark.parametrize(
    ("limit", "usage", "code", "stop"),
    [
        ({"max_iterations": 1}, {}, 21, "iteration_limit"),
        ({"max_tokens": 100}, {"tokens": 100}, 24, "budget_tokens"),
        ({"max_cost_usd": 0.5}, {"usd": 0.5}, 23, "budget_cost"),
    ],
)
def test_a_budget_is_spent(
    tmp_path: Path, limit: dict[str, Any], usage: dict[str, Any], code: int, stop: str
) -> None:
    story = three(tmp_path, usage=usage).limits(**limit)
    expected = Ending(code=code, stop=stop, **ONE_DONE)  # type: ignore[arg-type]

    assert story.run() == expected
    spent = story.plan.spent
    assert story.run() == expected  # nothing is given back by running again
    assert replace(story.plan.spent, seconds=spent.seconds) == spent


def test_time_is_up_when_the_session_under_way_has_ended(tmp_path: Path) -> None:
    story = (
        Story(tmp_path)
        .limits(max_parallel_agents=1, max_wall_seconds=1)
        .atom("A1", did({"a.txt": "a\n"}, slept(1.5)))
        .atom("A2", did({"b.txt": "b\n"}))
        .done_when("test -f b.txt")
    )
    expected = Ending(
        code=22,
        stop="budget_time",
        atoms={"A1": "resolved", "A2": "pending"},
        bindings={"A1": "made a.txt"},
        commits=("A1",),
        files={"a.txt": "a\n"},
    )

    assert story.run() == expected
    assert story.run() == expected
    assert story.sessions() == ["A1"]


def test_a_success_on_the_last_iteration_is_a_success(tmp_path: Path) -> None:
    story = (
        Story(tmp_path)
        .limits(max_iterations=1)
        .atom("A1", did({"a.txt": "a\n"}))
        .done_when("test -f a.txt")
    )

    assert story.run() == Ending(
        code=0,
        stop="completed",
        atoms={"A1": "resolved"},
        bindings={"A1": "made a.txt"},
        commits=("A1",),
        files={"a.txt": "a\n"},
    )


def test_a_run_that_gets_nowhere_stalls(tmp_path: Path) -> None:
    story = (
        Story(tmp_path)
        .limits(max_stall_count=2, max_attempts=5)
        .atom("A1", failed("no idea", {"draft.txt": "draft\n"}))
        .done_when("test -f a.txt")
    )

    assert story.run() == Ending(
        code=20,
        stop="stalled",
        atoms={"A1": "pending"},
        trail=("failure A1: no idea", "failure A1: no idea"),
        kept=("A1/1", "A1/2"),
    )
    assert story.run().code == 20
    assert story.sessions() == ["A1", "A1"]


def test_an_atom_that_never_works(tmp_path: Path) -> None:
    story = (
        Story(tmp_path)
        .limits(max_attempts=2, max_probes=0, max_stall_count=9)
        .atom("A1", failed("no idea", {"draft.txt": "draft\n"}))
        .done_when("test -f a.txt")
    )

    assert story.run() == Ending(
        code=31,
        stop="atom_exhausted",
        atoms={"A1": "pending"},
        trail=("failure A1: no idea", "failure A1: no idea"),
        kept=("A1/1", "A1/2"),
    )


def test_the_run_ends_while_a_failed_attempt_is_still_being_saved(tmp_path: Path) -> None:
    flag = tmp_path / "A1-is-over"
    many = {f"many/{n}.txt": f"{n}\n" for n in range(1500)}
    story = (
        Story(tmp_path)
        .limits(max_attempts=1, max_probes=0, max_stall_count=9)
        .atom("A1", {"do": [{"write": many}, ran(f"touch '{flag}'")], "exit": 1})
        .atom(
            "A2",
            {
                **failed("too little"),
                "do": [ran(f"until test -e '{flag}'; do sleep 0.01; done"), slept(0.1)],
            },
        )
        .done_when("test -f a.txt")
    )

    ending = story.run("--no-sandbox")  # so that one can see the other's flag

    assert (ending.code, ending.kept) == (31, ("A1/1", "A2/2"))
    listed = story.git("ls-tree", "-r", "--name-only", story.kept()["A1/1"], "many/")
    assert len(listed.splitlines()) == 1500


def test_an_agent_that_is_not_to_be_had_ends_the_run(tmp_path: Path) -> None:
    """It is not the atom's fault: nothing is charged, and run again it goes on."""
    story = (
        Story(tmp_path).atom("A1", {"exit": 69}, did({"a.txt": "a\n"})).done_when("test -f a.txt")
    )

    assert story.run() == Ending(
        code=40, stop="agent_unavailable", atoms={"A1": "pending"}, kept=("A1/1",)
    )
    assert story.plan.spent.forgiven == 1


def test_a_rate_limit_is_waited_out(tmp_path: Path) -> None:
    """The session stays in flight: nothing is charged, nothing is forgiven, nothing begins anew."""
    once = "test -e seen || { touch seen; exit 75; }"
    story = (
        Story(tmp_path).atom("A1", did({"a.txt": "a\n"}, {"run": once})).done_when("test -f a.txt")
    )

    assert story.run().code == 0
    assert (story.plan.spent.forgiven, story.sessions()) == (0, ["A1"])
    (wait,) = [e for e in story.events() if e["kind"] == "Waited"]
    assert (wait["atom"], wait["seconds"]) == ("A1", 5.0)
    assert wait["note"].startswith("rate limited: ")
    assert story.plan.spent.seconds > 5


def test_a_rate_limit_that_outlasts_the_run_is_forgiven_while_the_pool_lasts(
    tmp_path: Path,
) -> None:
    story = (
        Story(tmp_path)
        .limits(max_forgiven=2, max_wall_seconds=5)
        .atom("A1", {"exit": 75})
        .done_when("test -f a.txt")
    )

    ending = story.run()

    assert (ending.code, ending.stop, ending.trail) == (40, "agent_unavailable", ())
    assert (story.plan.spent.forgiven, story.sessions()) == (2, ["A1", "A1", "A1"])
