"""kill -9 of the runner at any moment, then `dwindle run`: as if nothing had happened.

The moments are drawn from a seed, so a failure can be looked at again.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.adapters.sandbox.survivors import new_token, put_down, survivors, survivors_after
from tests.loop.story import (
    PATIENCE,
    Ending,
    Story,
    did,
    failed,
    interrupted,
    slept,
    split,
    waited_for,
)

from dwindle.kernel.model import Plan

pytestmark = pytest.mark.slow

KILLS = 12


@pytest.fixture
def token() -> Iterator[str]:
    made = new_token()
    yield made
    put_down(made)


def a_plan_of_everything(folder: Path, token: str) -> Story:
    """Twelve atoms: independent ones, a chain, a choice that fails, a decomposition, a retry."""
    busy = {"run": f"sh -c 'sleep 0.4' {token}"}
    story = Story(folder).limits(max_parallel_agents=3, max_forgiven=500, max_iterations=500)
    for name in ("A1", "A2", "A3", "A4"):
        story.atom(name, did({f"{name}.txt": f"{name}\n"}, busy))
    return (
        story.atom("A5", did({"A5.txt": "5\n"}, busy), depends_on=["A1"])
        .atom("A6", did({"A6.txt": "6\n"}, busy), depends_on=["A5"])
        .atom("A7", did({"way.txt": "bad\n"}, busy), check={"type": "command", "value": "false"})
        .atom("A8", did({"way.txt": "good\n"}, busy))
        .choices("way", "A7", "A8")
        .atom("A9", did({"A9.txt": "9\n"}, busy), depends_on=["way"])
        .atom("A10", split("two", {"description": "x"}, {"description": "y"}))
        .atom("A11", failed("at first", {"half.txt": "half\n"}), did({"A11.txt": "11\n"}, busy))
        .atom("A12", did({"A12.txt": "12\n"}, slept(0.3)), depends_on=["A10"])
        .worker("A13", did({"A13.txt": "13\n"}, busy))
        .worker("A14", did({"A14.txt": "14\n"}, busy))
        .done_when("test -f A12.txt && grep -q good way.txt")
    )


def told(ending: Ending) -> Ending:
    """Without what depends on how sessions fell in time."""
    commits, trail = tuple(sorted(ending.commits)), tuple(sorted(ending.trail))
    return replace(ending, commits=commits, trail=trail, kept=())


def assert_only_ever_more(before: Plan, after: Plan) -> None:
    """No counter is reset, and no result is forgotten."""
    spent, now = before.spent, after.spent
    assert now.sessions >= spent.sessions
    assert now.created >= spent.created
    assert now.forgiven >= spent.forgiven
    # A round that was cut short is given back, and paid for as forgiven.
    assert now.verifications + now.forgiven >= spent.verifications + spent.forgiven
    assert now.seconds >= spent.seconds
    assert after.control.iteration >= before.control.iteration
    assert after.control.revision >= before.control.revision


def assert_nothing_was_redone(story: Story) -> None:
    """After an atom is resolved no session is started for it; none is resolved twice."""
    resolved: list[str] = []
    for event in story.events():
        if event["kind"] == "SessionStarted":
            assert event["atom"] not in resolved, f"{event['atom']} was done again"
        if event["kind"] == "AtomResolved":
            resolved.append(event["atom"])
    assert len(resolved) == len(set(resolved))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_killed_again_and_again(tmp_path: Path, token: str, seed: int) -> None:
    undisturbed = a_plan_of_everything(tmp_path / "undisturbed", token)
    expected = undisturbed.run()
    assert expected.code == 0
    chance = random.Random(seed)  # noqa: S311 - chance that can be repeated
    story = a_plan_of_everything(tmp_path / "killed", token).aligned()

    kills = 0
    while kills < KILLS and story.plan.control.status != "completed":
        before = story.plan
        runner = story.going()
        time.sleep(chance.uniform(0.4, 0.9))
        if runner.poll() is not None:
            break
        interrupted(runner)
        kills += 1
        assert survivors_after(token, 2.0) == []
        assert_only_ever_more(before, story.plan)
    before = story.plan
    ending = story.run() if before.control.status != "completed" else story.ending(0)

    assert kills >= 5, "it was over before it had been killed often enough to mean anything"
    assert_only_ever_more(before, story.plan)
    assert_nothing_was_redone(story)
    assert told(ending) == told(expected)
    assert story.git("rev-parse", f"runner/{story.plan.control.run_id}^{{tree}}") == (
        undisturbed.git("rev-parse", f"runner/{story.plan.control.run_id}^{{tree}}")
    )
    assert survivors_after(token, 1.0) == []


def test_the_work_of_a_killed_session_is_kept(tmp_path: Path, token: str) -> None:
    line = f"sh -c 'while :; do sleep 0.1; done' {token}"
    hang = {"do": [{"write": {"half.txt": "half\n"}}, {"run": line}]}
    story = Story(tmp_path).atom("A1", hang).done_when("test -f a.txt")
    runner = story.going()
    assert _waits_for(token)

    interrupted(runner)

    assert survivors_after(token, 1.0) == []
    script = story.folder / ".runner/s.json"
    script.write_text(
        '{"worker": {"A1": [{"do": [{"write": {"a.txt": "a\\n"}}],'
        ' "report": {"success": true, "summary": "made a.txt"}}]}}',
        "utf-8",
    )
    assert story.run() == Ending(
        code=0,
        stop="completed",
        atoms={"A1": "resolved"},
        bindings={"A1": "made a.txt"},
        commits=("A1",),
        kept=("A1/1",),
        files={"a.txt": "a\n"},
    )
    assert story.kept_files("A1/1") == {"half.txt": "half\n"}
    plan = story.plan
    assert (plan.spent.forgiven, plan.spent.sessions) == (1, 3)


def _waits_for(token: str) -> bool:
    return waited_for(lambda: bool(survivors(token)))


def test_a_pool_that_is_used_up_charges_the_attempt(tmp_path: Path, token: str) -> None:
    """Without forgiveness left a killed session is an attempt like others, so this ends too."""
    line = f"sh -c 'while :; do sleep 0.1; done' {token}"
    story = (
        Story(tmp_path)
        .limits(max_forgiven=0, max_attempts=2, max_probes=0, max_stall_count=9)
        .atom("A1", {"do": [{"run": line}]})
        .done_when("test -f a.txt")
    )
    for _ in range(2):
        runner = story.going()
        assert _waits_for(token)
        interrupted(runner)
        assert survivors_after(token, 1.0) == []

    assert story.called("run").code == 31
    assert story.sessions() == ["A1", "A1"]


def test_killed_while_it_was_ending(tmp_path: Path, token: str) -> None:
    """Between the stop and its record: the next run goes on from the files."""
    line = f"sh -c 'while :; do sleep 0.1; done' {token}"
    story = Story(tmp_path).atom("A1", {"do": [{"run": line}]}).done_when("test -f a.txt")
    runner = story.going()
    assert _waits_for(token)
    runner.terminate()
    time.sleep(0.05)
    interrupted(runner)
    assert survivors_after(token, 1.0) == []
    (story.folder / ".runner/s.json").write_text(
        '{"worker": {"A1": [{"do": [{"write": {"a.txt": "a"}}],'
        ' "report": {"success": true, "summary": "a"}}]}}',
        "utf-8",
    )

    assert story.called("run").code == 0
    assert runner.wait(PATIENCE) is not None
