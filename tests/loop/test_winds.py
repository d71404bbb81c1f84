"""Parking, winds and escalation in whole runs: real git, real processes, checks that decide."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.loop.story import Ending, Story, did, failed

from dwindle.kernel.model import AtomId

pytestmark = pytest.mark.slow

GOOD = {"type": "command", "value": "grep -q good way.txt"}


def test_a_parked_atom_holds_up_no_other_and_is_tried_again_in_a_wind(tmp_path: Path) -> None:
    story = (
        Story(tmp_path)
        .limits(max_parallel_agents=1, max_attempts=1, max_probes=0, max_winds=2)
        .atom("A1", failed("no luck"), did({"one.txt": "1\n"}))
        .atom("A2", did({"two.txt": "2\n"}))
        .atom("A3", did({"three.txt": "3\n"}), depends_on=["A1"])
        .done_when("test -f one.txt", "test -f three.txt")
    )

    assert story.run() == Ending(
        code=0,
        stop="completed",
        atoms={"A1": "resolved", "A2": "resolved", "A3": "resolved"},
        bindings={"A1": "made one.txt", "A2": "made two.txt", "A3": "made three.txt"},
        trail=("failure A1: no luck", "wind: only parked work is left: wind 1 of 2"),
        commits=("A2", "A1", "A3"),
        kept=("A1/1",),
        files={"one.txt": "1\n", "two.txt": "2\n", "three.txt": "3\n"},
    )


def test_ways_take_turns_and_a_wind_reopens_those_that_failed_by_bad_luck(tmp_path: Path) -> None:
    """A1 cannot work; A2 does at its third try, which is in the second wind."""
    story = (
        Story(tmp_path)
        .limits(max_parallel_agents=1, max_probes=0, max_winds=2)
        .atom("A1", failed("never"), check=GOOD)
        .atom("A2", failed("no"), failed("no"), did({"way.txt": "good\n"}), check=GOOD)
        .choices("way", "A1", "A2")
        .done_when("grep -q good way.txt")
    )

    ending = story.run()
    assert (ending.code, ending.stop, ending.files) == (0, "completed", {"way.txt": "good\n"})
    assert [line for line in ending.trail if line.startswith("wind")] == [
        "wind: only parked work is left: wind 1 of 2",
        "wind: only parked work is left: wind 2 of 2",
    ]
    assert ending.commits == ("A2",)


def test_a_run_ends_when_no_wind_is_left_and_says_what_is_parked(tmp_path: Path) -> None:
    story = (
        Story(tmp_path)
        .limits(max_parallel_agents=1, max_attempts=1, max_probes=0, max_winds=1)
        .atom("A1", failed("the disk is full"))
        .atom("A2", did({"two.txt": "2\n"}))
        .atom("A3", did({"three.txt": "3\n"}), depends_on=["A1"])
        .done_when("test -f three.txt")
    )

    ending = story.run()
    assert (ending.code, ending.stop) == (31, "atom_exhausted")
    assert ending.commits == ("A2",)
    assert story.plan.control.stop_reason == (
        "A1 has nothing left to try (last: the disk is full; it holds up A3); 1 of 1 winds used"
    )


def test_a_hopeless_plan_as_it_is_aligned_ends_because_nothing_is_left_to_try(
    tmp_path: Path,
) -> None:
    """Ten attempts in each of six winds, twenty in two of them, and a probe after each round."""
    program = tmp_path / "hopeless"
    program.write_text(AGENT.format(does=HOPELESS))
    program.chmod(0o755)
    story = Story(tmp_path).as_proposed().atom("A1").done_when("test -f one.txt")
    runner = story.agent(str(program)).going("--no-sandbox")
    assert runner.wait(300) == 31
    plan, said = story.plan, story.log.read_text()
    assert (plan.spent.winds, plan.spent.sessions, plan.control.iteration) == (6, 97, 33)
    assert plan.control.stop_reason == (
        "A1 has nothing left to try (last: the tide is out); 6 of 6 winds used"
    )
    assert said.splitlines()[-2:] == [
        "  parked   A1: failed 90 times, last: the tide is out",
        (
            "Next: fix it, commit, `dwindle redirect --retry A1 && dwindle run`;"
            " why: `dwindle log A1`"
        ),
    ]


def test_a_limit_that_ends_a_wind_leaves_no_doubt_about_what_keeps_failing(tmp_path: Path) -> None:
    """A wind gave A1 two attempts, and one of them is left when the iterations are used up."""
    story = (
        Story(tmp_path)
        .limits(max_parallel_agents=1, max_attempts=2, max_probes=0, max_winds=9)
        .limits(max_iterations=3)
        .atom("A1", failed("the disk is full"))
        .atom("A2", depends_on=["A1"])
        .done_when("test -f three.txt")
    )

    said = story.called("run")
    assert (said.code, story.plan.control.stop_reason) == (21, "max_iterations 3 is reached")
    assert said.out.splitlines()[-2] == (
        "  failing  A1: failed 3 times, last: the disk is full; it holds up A2"
    )
    status = json.loads(story.called("status", "--json").out)
    assert [(one["name"], one["failures"], one["reason"]) for one in status["failing"]] == [
        ("A1", 3, "the disk is full")
    ]
    report = story.called("report", "--format=md").out
    assert "failing, failed 3 times, last: the disk is full; it holds up A2" in report


def test_an_exhausted_choice_names_the_group_and_why_each_way_was_given_up(tmp_path: Path) -> None:
    story = (
        Story(tmp_path)
        .limits(max_parallel_agents=1, max_probes=0)
        .atom("A1", failed("no compiler"))
        .atom("A2", failed("no memory"))
        .choices("way", "A1", "A2")
        .done_when("test -f way.txt")
    )

    said = story.called("run")
    assert (said.code, story.plan.control.stop_reason) == (
        30,
        (
            "A2 has nothing left to try (last: no memory; way gave up A1: no compiler); at least 2"
            " combinations of choices tried"
        ),
    )
    assert said.out.splitlines()[-2] == (
        "  parked   A2: failed once, last: no memory; way gave up A1: no compiler"
    )


AGENT = """#!/bin/sh
cat > /dev/null
{does}
"""
FAILS = """printf '{"success": false, "reason": "too hard for me"}' > "$DWINDLE_REPORT\""""
HOPELESS = """if grep -q '"role": "probe"' "$DWINDLE_ORDER"
then printf '{"feasible": true, "findings": "wait for the flood"}' > "$DWINDLE_REPORT"
else printf '{"success": false, "reason": "the tide is out"}' > "$DWINDLE_REPORT"
fi"""
WORKS = """echo good > way.txt
printf '{"success": true, "summary": "it works"}' > "$DWINDLE_REPORT\""""


def with_agents(story: Story, tmp_path: Path, **agents: str) -> Story:
    """The worker escalates from one program to the next."""
    listed = []
    for name, does in agents.items():
        program = tmp_path / name
        program.write_text(AGENT.format(does=does))
        program.chmod(0o755)
        listed.append(f"command:{program}")
    story.config = {"agents.worker": f"escalate = {json.dumps(listed)}"}
    return story


def test_the_next_agent_takes_what_the_one_before_failed_at(tmp_path: Path) -> None:
    story = Story(tmp_path).limits(max_parallel_agents=1).atom("A1", check=GOOD)
    story = with_agents(story.done_when("grep -q good way.txt"), tmp_path, weak=FAILS, strong=WORKS)

    ending = story.run()
    assert (ending.code, ending.trail) == (0, ("failure A1: too hard for me",))
    starts = [e for e in story.events() if e["kind"] == "SessionStarted" and e["atom"]]
    assert [e["agent"] for e in starts] == [f"command:{tmp_path}/{n}" for n in ("weak", "strong")]
    logs = sorted((story.folder / ".runner/iterations").glob("*/*/A1.*.worker/order.json"))
    orders = [json.loads(path.read_bytes()) for path in logs]
    assert [(o["agent"], o.get("failed", 0)) for o in orders] == [
        (f"command:{tmp_path}/weak", 0),
        (f"command:{tmp_path}/strong", 1),
    ]
    certificate = next((story.folder / ".runner/iterations").glob("*/certificate.txt")).read_text()
    assert f"worker(command:{tmp_path}/strong)" in "".join(certificate.split())
    assert story.called("replay").code == 0


def test_an_agent_that_cannot_be_had_is_passed_over_uncharged(tmp_path: Path) -> None:
    story = Story(tmp_path).limits(max_parallel_agents=1).atom("A1", check=GOOD)
    story = with_agents(story.done_when("grep -q good way.txt"), tmp_path, gone=WORKS, here=WORKS)
    (tmp_path / "gone").write_text("#!/no/such/interpreter\n")
    assert story.run().code == 0
    starts = [e for e in story.events() if e["kind"] == "SessionStarted" and e["atom"]]
    assert [e["agent"] for e in starts] == [f"command:{tmp_path}/gone"]
    waited = [e for e in story.events() if e["kind"] == "Waited"]
    assert [e["agent"] for e in waited] == [f"command:{tmp_path}/here"]
    assert "cannot be had" in waited[0]["note"]
    assert story.plan.atoms[AtomId("A1")].attempts == 1


def test_an_agent_that_is_not_installed_is_passed_over_before_the_run(tmp_path: Path) -> None:
    story = Story(tmp_path).limits(max_parallel_agents=1).atom("A1", check=GOOD)
    story = with_agents(story.done_when("grep -q good way.txt"), tmp_path, gone=WORKS, here=WORKS)
    (tmp_path / "gone").unlink()
    ended = story.aligned().called("run")
    assert ended.code == 0, ended
    starts = [e for e in story.events() if e["kind"] == "SessionStarted" and e["atom"]]
    assert [e["agent"] for e in starts] == [f"command:{tmp_path}/here"]
    assert f"command:{tmp_path}/gone cannot be had and is passed over" in ended.out


def test_without_any_agent_that_can_be_had_nothing_begins(tmp_path: Path) -> None:
    story = Story(tmp_path).atom("A1", check=GOOD).done_when("grep -q good way.txt")
    story = with_agents(story, tmp_path, gone=WORKS).aligned()
    (tmp_path / "gone").unlink()
    ended = story.called("run")
    assert ended.code == 40, ended
