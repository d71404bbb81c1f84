"""One picture of a run: folded from its journal as it grows, and the same as folded at once."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from tests.model.model_check import plans_of
from tests.model.suites import SUITES
from tests.model.world import Suite, moves
from tests.surfaces.command import write
from tests.views.recorded import RUN, Recorded, cut_off, plan_to_run, story, stuck

from dwindle.adapters.store.disk import DirectoryLock
from dwindle.app.plans.next_step import next_step
from dwindle.app.refusal import Refused
from dwindle.kernel.decide import decide
from dwindle.kernel.errors import IllegalEvent
from dwindle.kernel.events import (
    AtomResolved,
    Event,
    RunEnded,
    SessionInterrupted,
    Usage,
    Waited,
)
from dwindle.kernel.events import Interruption as By
from dwindle.kernel.model import AtomId, GroupId, Limits, Plan, PlanKind, StopCode
from dwindle.kernel.transitions import apply
from dwindle.views.read_model.nodes import Nodes
from dwindle.views.read_model.run_view import Follower, current_run, runs
from dwindle.views.read_model.runs import known_run
from dwindle.views.read_model.sessions import Sessions
from dwindle.views.read_model.shapes import RunPicture


def picture_of(root: Path, run: str = RUN) -> RunPicture:
    followed = Follower(root, run)
    followed.poll()
    return followed.picture()


def statuses(picture: RunPicture) -> dict[str, str]:
    return {node["id"]: node["status"] for node in picture["nodes"]}


@pytest.mark.parametrize("code", list(StopCode))
def test_what_to_do_next_is_what_every_other_place_says(tmp_path: Path, code: StopCode) -> None:
    with Recorded(tmp_path, plan_to_run("A1")) as made:
        assert picture_of(tmp_path)["head"]["next"] == "`dwindle run` begins"
        made.begin().start("A1").resolve("A1")
        if code is StopCode.COMPLETED:
            made.complete()
        else:
            made.add(RunEnded(code=code, reason="for a reason"))
        head = picture_of(tmp_path)["head"]
        assert (head["stop_code"], head["next"]) == (code, next_step(made.plan))


def test_while_a_runner_is_at_work_nothing_is_to_be_done(tmp_path: Path) -> None:
    with Recorded(tmp_path, plan_to_run("A1")) as made, DirectoryLock(tmp_path / ".claude"):
        made.begin().start("A1")
        head = picture_of(tmp_path)["head"]
        assert (head["phase"], head["next"]) == ("running", "")


# --- what is in it -------------------------------------------------------------------------------


def test_a_run_from_its_beginning_to_its_end(tmp_path: Path) -> None:
    with story(tmp_path) as made:
        seen = picture_of(tmp_path)
    assert json.loads(json.dumps(seen)) == seen
    assert statuses(seen) == {
        "": "resolved",
        "A1": "resolved",
        "G1": "resolved",
        "A2": "failed",
        "A5": "left",
        "A3": "resolved",
        "A4": "resolved",
    }
    head = seen["head"]
    assert (head["phase"], head["stop_code"], head["exit_code"]) == ("completed", "completed", 0)
    assert (head["open"], head["resolved"], head["left"], head["bound"]) == (0, 3, 2, 0)
    assert (head["tokens"], head["usd"]) == (7200, 1.5)
    assert head["revision"] == made.plan.control.revision
    assert [(m["kind"], m["iteration"]) for m in seen["marks"]] == [
        ("start", 0),
        ("backtrack", 3),
        ("redirect", 3),
        ("stop", 5),
    ]
    assert [point["open"] for point in seen["points"]][-1] == 0
    assert seen["points"][0]["gauge"] > seen["points"][-1]["gauge"]
    assert [entry["type"] for entry in seen["trail"]] == ["failure"] * 3 + ["backtrack"]
    assert [one["description"] for one in seen["corrections"]] == ["more time"]
    assert seen["spending"]["by_role"]["worker"]["sessions"] == 6
    assert seen["notes"] == []


def test_the_sessions_have_slots_times_and_outcomes(tmp_path: Path) -> None:
    with story(tmp_path):
        seen = picture_of(tmp_path)["sessions"]
    told = [(s["atom"], s["role"], s["slot"], s["start"], s["end"], s["outcome"]) for s in seen]
    assert told == [
        ("A1", "worker", 0, 2.0, 4.0, "resolved"),
        ("A5", "worker", 1, 3.0, 5.0, "failed"),
        ("A5", "worker", 0, 6.0, 7.0, "failed"),
        ("A5", "worker", 0, 8.0, 9.0, "failed"),
        ("A3", "worker", 0, 12.0, 13.0, "resolved"),
        ("A4", "worker", 0, 14.0, 15.0, "resolved"),
        ("", "verifier", 0, 16.0, 17.0, "passed"),
    ]
    assert (seen[1]["words"], seen[1]["tokens"], seen[1]["usd"]) == ("no paper", 1200, 0.25)


def test_a_node_names_its_children_in_order(tmp_path: Path) -> None:
    with story(tmp_path):
        nodes = picture_of(tmp_path)["nodes"]
    found = {node["id"]: node["children"] for node in nodes if node["children"]}
    assert found == {"": ["A1", "G1", "A4"], "G1": ["A2", "A3"], "A2": ["A5"]}


def test_a_group_says_what_is_taken_and_an_unwritten_choice_that_it_is_none(tmp_path: Path) -> None:
    with Recorded(tmp_path, plan_to_run("G1{A1|A2?} A3")) as made:
        made.begin().start("A1")
        seen = {node["id"]: node for node in picture_of(tmp_path)["nodes"]}
    group, unwritten = seen["G1"], seen["A2"]
    assert (group["kind"], group["selected"], group["status"]) == ("group", "A1", "running")
    assert (unwritten["kind"], unwritten["status"], unwritten["live"]) == (
        "unwritten",
        "unwritten",
        False,
    )


def test_the_loser_of_a_race_is_left(tmp_path: Path) -> None:
    with Recorded(tmp_path, plan_to_run("G1~{A1|A2} A3")) as made:
        made.begin().start("A1", "A2").resolve("A2")
        assert statuses(picture_of(tmp_path))["A2"] == "resolved"
        reaped = made.plan.sessions[AtomId("A1")].nonce
        made.add(SessionInterrupted(atom=AtomId("A1"), nonce=reaped, cause=By.STOP))
        assert statuses(picture_of(tmp_path))["A1"] == "left"


def test_attempts_that_are_used_up_are_a_failure_that_a_probe_may_help(tmp_path: Path) -> None:
    limits = Limits(max_attempts=1, max_atoms=20, max_probes=1, stated=("max_atoms",))
    with Recorded(tmp_path, plan_to_run("A1 A2", limits=limits)) as made:
        made.begin().start("A1").fail("A1")
        seen = {node["id"]: node for node in picture_of(tmp_path)["nodes"]}
    assert (seen["A1"]["status"], seen["A1"]["standing"]) == ("failed", "exhausted")
    assert (seen["A2"]["status"], seen["A2"]["standing"]) == ("pending", "ready")


def test_what_is_parked_has_its_last_reason_and_what_it_holds_up(tmp_path: Path) -> None:
    with stuck(tmp_path) as made:
        seen = picture_of(tmp_path)
    nodes = {node["id"]: node for node in seen["nodes"]}
    assert {
        name: (node["status"], node["standing"], node["note"], node["holds_up"])
        for name, node in nodes.items()
    } == {
        "": ("pending", "", "", []),
        "A1": ("parked", "parked", "no pen no paper", ["A2", "A3"]),
        "A2": ("pending", "waiting", "", []),
        "A3": ("pending", "waiting", "", []),
        "A4": ("resolved", "resolved", "", []),
    }
    assert (seen["head"]["parked"], seen["head"]["open"]) == (1, 3)
    assert nodes["A1"]["holds_up_count"] == 2
    winds = next(one for one in seen["budgets"] if one["name"] == "winds")
    assert winds == {"name": "winds", "spent": 1, "limit": 1}
    assert [mark["kind"] for mark in seen["marks"]] == ["start", "wind"]
    assert [entry["type"] for entry in seen["trail"]] == ["failure", "wind", "failure"]
    assert made.plan.spent.winds == 1


def test_what_failed_and_is_not_done_is_told_when_the_run_has_ended(tmp_path: Path) -> None:
    """While it goes on A4 is only ready; what is parked is told of then, too."""
    with cut_off(tmp_path) as made:
        followed = Follower(tmp_path, RUN)
        ended = followed.poll()
        made.begin()
        going = followed.poll()
    assert ended is not None
    assert going is not None
    assert [(node["id"], node["undone"], node["failures"]) for node in ended["nodes"]] == [
        ("", "", 0),
        ("A1", "parked", 2),
        ("A2", "", 0),
        ("A3", "", 0),
        ("A4", "failing", 1),
    ]
    assert [(node["id"], node["undone"], node["note"]) for node in going["nodes"]] == [
        ("A4", "", "")
    ]
    counts = [(told["head"]["parked"], told["head"]["failing"]) for told in (ended, going)]
    assert counts == [(1, 1), (1, 0)]


def test_a_group_whose_choices_have_all_failed_is_parked(tmp_path: Path) -> None:
    plan = plan_to_run("G1{A1|A2} A3<-G1")
    group = plan.groups[GroupId("G1")]
    dead = replace(plan, groups={group.id: replace(group, failed=group.choices)})
    with Recorded(tmp_path, dead) as made:
        made.begin()
        nodes = {node["id"]: node for node in picture_of(tmp_path)["nodes"]}
    assert (nodes["G1"]["status"], nodes["G1"]["standing"], nodes["G1"]["holds_up"]) == (
        "parked",
        "parked",
        ["A3"],
    )
    assert (nodes["A1"]["status"], nodes["A3"]["status"]) == ("failed", "pending")


def test_what_is_parked_is_told_when_it_happens_and_when_it_is_over(tmp_path: Path) -> None:
    limits = Limits(max_attempts=1, max_atoms=20, max_probes=0, max_winds=1, stated=("max_atoms",))
    with Recorded(tmp_path, plan_to_run("A1 A2<-A1", limits=limits)) as made:
        followed = Follower(tmp_path, RUN)
        followed.poll()
        made.begin().start("A1")
        followed.poll()
        made.fail("A1")
        parked = followed.poll()
        made.wind()
        again = followed.poll()
    assert parked is not None
    assert again is not None
    assert [(node["id"], node["status"]) for node in parked["nodes"]] == [
        ("", "pending"),
        ("A1", "parked"),
    ]
    assert [(node["id"], node["status"]) for node in again["nodes"]] == [("A1", "pending")]
    assert (parked["head"]["parked"], again["head"]["parked"]) == (1, 0)
    assert [line["text"] for change in (parked, again) for line in change["events"]] == [
        "A1: failed: no pen; parked: nothing is left to try for now",
        "a new wind: only parked work is left: wind 1 of 1",
    ]


def test_a_wait_is_shown_while_it_lasts(tmp_path: Path) -> None:
    with Recorded(tmp_path, plan_to_run("A1")) as made:
        made.begin().start("A1")
        made.add(Waited(atom=AtomId("A1"), note="a rate limit", seconds=60.0))
        waiting = picture_of(tmp_path)["sessions"][0]
        made.resolve("A1")
        after = picture_of(tmp_path)["sessions"][0]
    assert (waiting["waits"], waiting["waits_until"]) == ("a rate limit", 63.0)
    assert (after["waits"], after["waits_until"], after["outcome"]) == ("", None, "resolved")


def test_a_late_report_adds_its_cost_and_ends_nothing_twice(tmp_path: Path) -> None:
    with Recorded(tmp_path, plan_to_run("A1")) as made:
        made.begin().start("A1").resolve("A1", usage=Usage(tokens=5))
        late = AtomResolved(atom=AtomId("A1"), nonce=2, summary="again", usage=Usage(tokens=7))
        made.add(late)
        session = picture_of(tmp_path)["sessions"][0]
    assert (session["outcome"], session["words"], session["tokens"]) == ("resolved", "done", 12)


# --- as it grows ---------------------------------------------------------------------------------


def test_what_is_added_is_told_once(tmp_path: Path) -> None:
    with Recorded(tmp_path, plan_to_run("A1 A2")) as made:
        followed = Follower(tmp_path, RUN)
        first = followed.poll()
        assert first is not None
        assert [node["id"] for node in first["nodes"]] == ["", "A1", "A2"]
        made.begin()
        followed.poll()
        assert followed.poll() is None
        made.start("A1")
        change = followed.poll()
    assert change is not None
    assert [node["id"] for node in change["nodes"]] == ["", "A1"]
    assert [(s["atom"], s["outcome"]) for s in change["sessions"]] == [("A1", "running")]
    assert [event["text"] for event in change["events"]] == ["A1: a worker starts"]
    assert (change["reset"], change["removed"]) == (False, [])


def test_a_follower_that_looks_at_every_event_sees_the_same_in_the_end(tmp_path: Path) -> None:
    with story(tmp_path) as made:
        whole = picture_of(tmp_path)
        events = made.root / f".runner/journal/{RUN}.jsonl"
        lines = events.read_bytes().splitlines(keepends=True)
        events.write_bytes(lines[0])
        followed = Follower(tmp_path, RUN)
        for line in lines[1:]:
            followed.poll()
            with events.open("ab") as file:
                file.write(line)
        followed.poll()
    assert followed.picture() == whole


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)
def test_nodes_brought_up_to_date_are_those_made_anew(suite: Suite) -> None:
    """Random walks through everything that may happen, for every kind of plan there is."""
    chance = Random(suite.name)  # noqa: S311 - the same walk every time
    some = list(plans_of(suite, 3))
    for _ in range(6):
        plan = chance.choice(some)
        kept, sessions = Nodes(), Sessions()
        for _ in range(40):
            changed, _ = kept.update(plan)
            anew = Nodes()
            anew.update(plan)
            assert kept.by_id == anew.by_id
            assert list(kept.by_id) == list(anew.by_id)
            assert all(kept.by_id[node["id"]] == node for node in changed)
            step = one_step(plan, list(moves(plan, decide(plan), suite)), chance)
            if step is None:
                break
            plan, event = step
            sessions.follow(plan, plan.control.revision, event)
            in_flight = {session.nonce for session in plan.sessions.values()}
            assert {one["nonce"] for one in sessions.running()} <= in_flight


def one_step(plan: Plan, possible: list[Event], chance: Random) -> tuple[Plan, Event] | None:
    """Something that may happen, and what comes of it; a person may ask for what is refused."""
    chance.shuffle(possible)
    for event in possible:
        try:
            return apply(plan, event), event
        except IllegalEvent:
            continue
    return None


def test_another_plan_under_the_same_name_begins_anew(tmp_path: Path) -> None:
    with story(tmp_path):
        followed = Follower(tmp_path, RUN)
        followed.poll()
        (tmp_path / f".runner/journal/{RUN}.jsonl").unlink()
        with Recorded(tmp_path, plan_to_run("A1 A2")) as made:
            made.begin()
            change = followed.poll()
    assert change is not None
    assert change["reset"]
    assert [node["id"] for node in change["nodes"]] == ["", "A1", "A2"]


def test_a_status_change_in_a_large_plan_names_few_nodes(tmp_path: Path) -> None:
    text = " ".join(f"A{n}" if n < 20 else f"A{n}<-A{n - 17}" for n in range(1, 1001))
    limits = Limits(max_iterations=999, max_atoms=50, stated=("max_atoms",))
    with Recorded(tmp_path, plan_to_run(text, limits=limits)) as made:
        made.begin()
        followed = Follower(tmp_path, RUN)
        followed.poll()
        for number in range(1, 16):
            made.start(f"A{number}").resolve(f"A{number}")
            change = followed.poll()
            assert change is not None
            named = {node["id"] for node in change["nodes"]}
            assert named <= {"", f"A{number}", f"A{number + 17}"}


# --- how it stands -------------------------------------------------------------------------------


def test_a_run_that_no_runner_holds_any_more_was_cut_short(tmp_path: Path) -> None:
    with Recorded(tmp_path, plan_to_run("A1")) as made:
        made.begin().start("A1")
        assert picture_of(tmp_path)["head"]["phase"] == "cut_short"
        with DirectoryLock(tmp_path / ".claude"):
            assert picture_of(tmp_path)["head"]["phase"] == "running"
        made.resolve("A1")
        assert picture_of(tmp_path)["head"]["phase"] == "resting"


def test_the_lock_is_that_of_the_run_that_was_written_last(tmp_path: Path) -> None:
    with Recorded(tmp_path, plan_to_run("A1", run="01OLD"), run="01OLD") as old:
        old.begin().start("A1")
        with Recorded(tmp_path, plan_to_run("A1")) as new, DirectoryLock(tmp_path / ".claude"):
            new.begin().start("A1")
            assert picture_of(tmp_path, "01OLD")["head"]["phase"] == "cut_short"
            assert picture_of(tmp_path)["head"]["phase"] == "running"
            assert [(one["run"], one["phase"], one["current"]) for one in runs(tmp_path)] == [
                (RUN, "running", True),
                ("01OLD", "cut_short", False),
            ]
            assert current_run(tmp_path) == RUN


def test_runs_that_are_over_are_listed_with_their_reason(tmp_path: Path) -> None:
    with story(tmp_path):
        (line,) = runs(tmp_path)
    assert line == {
        "run": RUN,
        "kind": "graph",
        "phase": "completed",
        "stop_code": "completed",
        "begun_at": "2026-11-15T10:00:01Z",
        "last_at": "2026-11-15T10:00:18Z",
        "events": 18,
        "goal": "g",
        "current": True,
        "problem": "",
    }


def test_a_journal_that_is_none_is_listed_with_what_is_wrong(tmp_path: Path) -> None:
    write(tmp_path, ".runner/journal/01RUBBISH.jsonl", b"\0\1\2")
    write(tmp_path, ".runner/journal/0 1.jsonl", "{}")
    write(tmp_path, ".runner/journal/01EMPTY.jsonl", "")
    assert {line["run"]: line["problem"] for line in runs(tmp_path)} == dict.fromkeys(
        ("01RUBBISH", "0 1", "01EMPTY"), "this is not a journal as it was written"
    )
    assert picture_of(tmp_path, "01RUBBISH")["nodes"] == []


def test_of_two_plans_the_one_that_was_heard_of_last_is_here(tmp_path: Path) -> None:
    assert current_run(tmp_path) is None
    with story(tmp_path):
        write(tmp_path, ".runner/tree.json", "{}")
        assert current_run(tmp_path) == RUN
        assert current_run(tmp_path, PlanKind.TREE) is None
        with pytest.raises(Refused) as refusal:
            known_run(tmp_path, None, PlanKind.TREE)
    assert (refusal.value.what, refusal.value.hint) == (
        "no run has begun here",
        f"there are: {RUN}",
    )
