"""Stopping: everybody is gone at once, nothing is lost, and the run can be taken up again."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.adapters.sandbox.survivors import new_token, put_down, survivors, survivors_after
from tests.loop.story import PATIENCE, Ending, Story, did, interrupted, waited_for
from tests.surfaces.command import GRAPH_FILE

from dwindle.kernel.model import RunStatus

pytestmark = pytest.mark.slow

NAMES = ("A1", "A2", "A3")
DEAF = "sh -c 'trap \"\" TERM INT HUP; while :; do sleep 0.1; done'"
DONE = Ending(
    code=0,
    stop="completed",
    atoms=dict.fromkeys(NAMES, "resolved"),
    bindings={name: f"made {name}.txt" for name in NAMES},
    files={f"{name}.txt": f"{name}\n" for name in NAMES},
)


@pytest.fixture
def token() -> Iterator[str]:
    made = new_token()
    yield made
    put_down(made)


def three_that_hang(tmp_path: Path, token: str) -> Story:
    """Three agents that ignore signals and have children in other sessions; see `let_go`.

    A session that was stopped is forgiven, so the script would begin at its first entry again.
    """
    story = Story(tmp_path).limits(max_parallel_agents=3)
    for name in NAMES:
        hang = f"(setsid {DEAF} {token} &); (nohup {DEAF} {token} >nohup.txt 2>&1 &)"
        line = f"false || {{ echo begun > begun.txt; {hang}; {DEAF} {token}; }}"
        story.atom(name, did({f"{name}.txt": f"{name}\n"}, {"run": line}))
    return story.done_when("test -f A1.txt && test -f A2.txt && test -f A3.txt")


def hanging(story: Story, token: str) -> subprocess.Popen[bytes]:
    runner = story.going()

    def all_hang() -> bool:
        """Two of them may have nine processes while the third has not begun."""
        begun = list((story.folder / ".runner/worktrees").glob("*/begun.txt"))
        return len(begun) == len(NAMES) and len(survivors(token)) >= 9

    if not waited_for(all_hang):
        runner.kill()
        pytest.fail(f"the agents never got going: {story.log.read_text('utf-8')}")
    return runner


def let_go(story: Story) -> None:
    """From now on the agents do their work."""
    script = story.folder / ".runner/s.json"
    script.write_text(script.read_text("utf-8").replace("false ||", "true ||"), "utf-8")


def assert_stopped_well(story: Story, reason: str) -> None:
    stopped = story.ending(10)
    assert stopped == Ending(
        code=10,
        stop="stopped_by_user",
        atoms=dict.fromkeys(NAMES, "pending"),
        kept=("A1/1", "A2/2", "A3/3"),
    )
    for name in stopped.kept:
        assert story.kept_files(name)["begun.txt"] == "begun\n"
    plan = story.plan
    assert (plan.control.status, plan.control.stop_reason) == (RunStatus.STOPPED, reason)
    assert (plan.spent.sessions, plan.spent.forgiven, len(plan.sessions)) == (3, 3, 0)
    assert not (story.folder / ".runner/control.sock").exists()


def assert_resumes(story: Story) -> None:
    let_go(story)
    ended = story.run()
    assert sorted(ended.commits) == list(NAMES)
    assert ended == Ending(
        **{**vars(DONE), "commits": ended.commits, "kept": ("A1/1", "A2/2", "A3/3")}
    )
    plan = story.plan
    assert plan.spent.sessions == 7  # three that were stopped, three that worked, the base case
    assert [atom.attempts for atom in plan.atoms.values()] == [1, 1, 1]


def test_stop_ends_everybody_within_a_second(tmp_path: Path, token: str) -> None:
    story = three_that_hang(tmp_path, token)
    runner = hanging(story, token)

    began = time.monotonic()
    said = story.called("stop", "--reason", "out of coffee")
    took = time.monotonic() - began
    left = survivors(token)
    code = runner.wait(PATIENCE)

    assert (said.code, code, left) == (0, 10, [])
    gone = _seconds_to_be_gone(story)
    assert gone < 1.0, f"it took {gone} s from the request until no process was left"
    assert took < 5.0
    assert_stopped_well(story, "out of coffee")
    assert_resumes(story)


def _seconds_to_be_gone(story: Story) -> float:
    """By the journal: the last session's end is recorded when its processes are gone."""
    events = story.events()
    asked = next(i for i, event in enumerate(events) if event["kind"] == "StopRequested")
    return sum(
        float(event.get("elapsed", 0.0))
        for event in events[asked + 1 :]
        if event["kind"] == "SessionInterrupted"
    )


@pytest.mark.parametrize(
    ("number", "reason"),
    [(signal.SIGINT, "stopped by Ctrl-C"), (signal.SIGTERM, "stopped by SIGTERM")],
)
def test_a_signal_stops_gracefully(tmp_path: Path, token: str, number: int, reason: str) -> None:
    story = three_that_hang(tmp_path, token)
    runner = hanging(story, token)

    began = time.monotonic()
    code = interrupted(runner, number)

    assert (code, survivors(token)) == (10, [])
    assert time.monotonic() - began < 2.0
    assert_stopped_well(story, reason)
    assert_resumes(story)


def test_twice_ends_it_now(tmp_path: Path, token: str) -> None:
    story = three_that_hang(tmp_path, token)
    runner = hanging(story, token)

    runner.send_signal(signal.SIGINT)
    time.sleep(0.01)
    code = interrupted(runner, signal.SIGINT)

    assert (code, survivors_after(token, 1.0)) == (10, [])
    let_go(story)
    ended = story.run()
    assert (ended.code, sorted(ended.commits), ended.files) == (0, list(NAMES), DONE.files)


def test_a_second_stop_does_no_harm(tmp_path: Path, token: str) -> None:
    """Also while the first is under way, and by other means."""
    story = three_that_hang(tmp_path, token)
    runner = hanging(story, token)

    first = subprocess.Popen(
        ["sh", "-c", f"kill -TERM {runner.pid}; kill -TERM {runner.pid} 2>/dev/null; exit 0"]
    )
    first.wait(PATIENCE)
    said = story.called("stop", "--reason", "again")
    code = runner.wait(PATIENCE)

    assert (code, survivors_after(token, 1.0)) == (10, [])
    assert said.code in (0, 2)  # it may have been over by then
    let_go(story)
    assert story.run().code == 0


def test_stop_where_nothing_runs(tmp_path: Path) -> None:
    story = Story(tmp_path).atom("A1", did({"a.txt": "a\n"})).done_when("test -f a.txt").aligned()

    said = story.called("stop")

    assert (said.code, "no run is listening" in said.err) == (2, True)
    assert story.plan.control.status is RunStatus.PENDING


def test_a_second_runner_is_turned_away(tmp_path: Path, token: str) -> None:
    story = three_that_hang(tmp_path, token)
    runner = hanging(story, token)

    second = story.called("run")
    stepped = story.called("step")

    assert (second.code, stepped.code) == (42, 42)
    assert len(survivors(token)) >= 9, "the first was disturbed"
    assert story.called("stop").code == 0
    assert runner.wait(PATIENCE) == 10
    assert_stopped_well(story, "stopped by hand")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_stopped_at_any_moment_the_branch_has_what_the_plan_says(tmp_path: Path, seed: int) -> None:
    """Also between a commit and its record; `ending` compares the two."""
    chance = random.Random(seed)  # noqa: S311 - chance that can be repeated
    story = Story(tmp_path).limits(max_parallel_agents=3, max_forgiven=500, max_iterations=500)
    names = [f"A{n}" for n in range(1, 16)]
    for name in names:
        story.atom(name, did({f"{name}.txt": f"{name}\n"}, {"sleep": 0.05}))
    story.done_when("test -f A15.txt")

    for _ in range(12):
        runner = story.going()
        time.sleep(chance.uniform(0.5, 1.0))
        runner.terminate()
        code = runner.wait(PATIENCE)
        if story.plan.control.status is RunStatus.COMPLETED:
            break
        if code == -signal.SIGTERM:  # it had not got as far as to listen
            continue
        stopped = story.ending(code)
        assert (stopped.code, stopped.stop) == (10, "stopped_by_user")
    ending = story.run() if story.plan.control.status is not RunStatus.COMPLETED else None
    if ending is not None:
        assert (ending.code, sorted(ending.commits)) == (0, sorted(names))
    resolved = [e["atom"] for e in story.events() if e["kind"] == "AtomResolved"]
    assert sorted(resolved) == sorted(names)


def test_stopped_while_the_base_case_is_verified(tmp_path: Path, token: str) -> None:
    with TemporaryDirectory(dir="/var/tmp") as outside:
        line = f"test -f a.txt && {{ test -f {outside}/go || {DEAF} {token}; }}"
        story = Story(tmp_path).atom("A1", did({"a.txt": "a\n"})).done_when(line)
        runner = story.going()
        assert waited_for(lambda: bool(survivors(token))), story.log.read_text("utf-8")

        assert story.called("stop", "--reason", "later").code == 0

        assert (runner.wait(PATIENCE), survivors(token)) == (10, [])
        assert story.plan.spent.verifications == 0  # forgiven
        (Path(outside) / "go").touch()
        ended = story.run()
        assert (ended.code, ended.files) == (0, {"a.txt": "a\n"})
        assert (story.plan.spent.verifications, story.plan.spent.forgiven) == (1, 1)


# --- by the plan file ----------------------------------------------------------------------------


def test_the_flag_in_the_plan_file_stops_it_too(tmp_path: Path, token: str) -> None:
    story = three_that_hang(tmp_path, token)
    runner = hanging(story, token)
    plan = story.folder / GRAPH_FILE
    assert waited_for(lambda: story.plan.spent.sessions == 3)  # the file has caught up

    text = plan.read_text("utf-8").replace("stop_requested: false", "stop_requested: true")
    plan.write_text(text.replace("stop_reason: null", 'stop_reason: "by another tool"'), "utf-8")

    assert (runner.wait(PATIENCE), survivors(token)) == (10, [])
    assert story.ending(10).stop == "stopped_by_user"
    assert_resumes(story)


def test_any_other_change_of_the_plan_file_is_tampering(tmp_path: Path, token: str) -> None:
    story = three_that_hang(tmp_path, token)
    runner = hanging(story, token)
    plan = story.folder / GRAPH_FILE
    assert waited_for(lambda: story.plan.spent.sessions == 3)
    before = plan.read_text("utf-8")

    plan.write_text(before.replace("do A1", "do nothing"), "utf-8")

    assert (runner.wait(PATIENCE), survivors(token)) == (41, [])
    ending = story.ending(41)
    assert (ending.stop, "do nothing" in plan.read_text("utf-8")) == ("tampered", False)
    assert_resumes(story)
