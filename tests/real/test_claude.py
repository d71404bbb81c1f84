"""The claude backend with the real program: every role, every way to report, every trouble."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.real.claude_play import (
    PROBE,
    SUBSCRIPTION,
    VERIFIER,
    Play,
    bash,
    bodies,
    lane,
    played,
    reports,
)
from tests.real.model import Api, Failure, Lane, ModelServer, Step, ToolCall, Usage, failures
from tests.real.programs import CLAUDE, NEWER_CLAUDE, Program
from tests.real.stage import KEY, Stage

from dwindle.adapters.agents.claude.agent import RETRIES
from dwindle.adapters.sandbox import ProcessGroup
from dwindle.kernel.events import Usage as Used
from dwindle.ports.work import (
    NoReport,
    PlannerQuestions,
    ProbeReport,
    Result,
    Trouble,
    VerifierReport,
)
from dwindle.testing.agents import DONE, DONE_REPORT, ORDER, PLAN

pytestmark = pytest.mark.slow


@pytest.fixture
def play(stage: Stage, claude: Program) -> Play:
    return Play(stage, claude)


# --- the roles ------------------------------------------------------------------------------------


def test_a_worker_writes_code_runs_it_and_reports(play: Play) -> None:
    beyond = play.stage.root / "beyond"
    script = lane(
        ToolCall("Write", {"file_path": f"{play.stage.work}/hello.txt", "content": "hello\n"}),
        bash(f"cat hello.txt; X=1; echo $X > made.txt; touch {beyond}; id -u"),
        reports(DONE),
    )
    with ModelServer(script) as play.model:
        result = play.session(model="sonnet", effort="low", max_turns=20, budget=lambda _: 5.0)
    assert result == Result(
        report=DONE_REPORT,
        usage=Used(tokens=360, usd=result.usage.usd, read=300, written=60),
    )
    priced = {CLAUDE: 0.0018, NEWER_CLAUDE: 0.0012}
    assert result.usage.usd == pytest.approx(priced[play.program.version])
    found = sorted(path.name for path in play.stage.work.iterdir() if path.name[0] != ".")
    assert found == ["hello.txt", "made.txt"]
    assert not beyond.exists()
    first = play.model.requests[0].conversation
    assert (first.model.startswith("claude-sonnet"), first.effort) == (True, "low")
    assert "Read-only file system" in bodies(play)


def test_a_worker_without_our_sandbox_does_not_ask_either(play: Play) -> None:
    play.sandboxed = False
    script = lane(
        ToolCall("Write", {"file_path": f"{play.stage.work}/hello.txt", "content": "hello\n"}),
        bash("X=1; python3 -c 'print(2)' > $X.txt"),
        bash(f"printf '%s' '{json.dumps(DONE)}' > \"$DWINDLE_REPORT\""),
        "It is done.",
    )
    assert played(play, script) == DONE_REPORT
    assert sorted(path.name for path in play.stage.work.glob("*.txt")) == ["1.txt", "hello.txt"]


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None, reason="only root can change its user"
)
@pytest.mark.parametrize("sandboxed", [True, False])
def test_a_worker_that_is_not_root_works_as_well(play: Play, sandboxed: bool) -> None:
    other_user = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    play.place.outbox.mkdir()
    play.stage.root.chmod(0o755)
    for folder in (play.stage.work, play.stage.claude_config, play.stage.home, play.place.outbox):
        os.chown(folder, 65534, 65534)
    play.sandboxed = sandboxed
    play.containment = ProcessGroup(mark=play.stage.mark)
    home = {"HOME": str(play.stage.home)}
    script = lane(bash("id -u > who.txt"), reports(DONE))
    assert played(play, script, before=other_user, environment=home) == DONE_REPORT
    assert (play.stage.work / "who.txt").read_text("utf-8") == "65534\n"


@pytest.mark.parametrize("sandboxed", [True, False])
def test_a_probe_that_tries_to_write_cannot(play: Play, sandboxed: bool) -> None:
    play.sandboxed = sandboxed
    target = play.stage.work / "made.txt"
    script = lane(
        ToolCall("Write", {"file_path": str(target), "content": "x"}),
        bash(f"touch {target}"),
        reports({"feasible": True, "findings": "I could not write."}),
    )
    report = played(play, script, PROBE)
    assert report == ProbeReport(feasible=True, findings="I could not write.")
    assert not target.exists()
    assert play.model is not None
    tools = {tool for request in play.model.requests for tool in request.conversation.tools}
    assert tools - {"ToolSearch", "DeferredToolPlaceholder"} == {
        *("Glob", "Grep", "Read", "StructuredOutput"),
    }
    last = play.model.requests[-1].conversation
    assert all("No such tool available" in one.text for one in last.tool_results)


@pytest.mark.parametrize("sandboxed", [True, False])
def test_a_worker_has_only_the_tools_that_its_order_names(play: Play, sandboxed: bool) -> None:
    play.sandboxed = sandboxed
    target = play.stage.work / "made.txt"
    script = lane(
        bash(f"touch {target}.by-bash"),
        ToolCall("Write", {"file_path": str(target), "content": "x"}),
        reports(DONE),
    )
    order = replace(ORDER, tools=("Write", "Read", "mcp__none__such"))
    assert played(play, script, order) == DONE_REPORT
    assert (target.exists(), Path(f"{target}.by-bash").exists()) == (True, False)
    assert play.model is not None
    tools = {tool for request in play.model.requests for tool in request.conversation.tools}
    assert tools - {"ToolSearch", "DeferredToolPlaceholder"} == {
        *("Read", "Write", "StructuredOutput"),
    }


def test_a_verifier_may_run_commands_and_leave_nothing_in_our_sandbox(play: Play) -> None:
    (play.stage.work / "README.md").write_text("hello\n", "utf-8")
    script = lane(
        bash("cat README.md; X=1; echo $X > made.txt"),
        reports({"passed": True, "evidence": "README.md, line 1", "failures": []}),
    )
    report = played(play, script, VERIFIER)
    assert report == VerifierReport(passed=True, evidence="README.md, line 1")
    assert [path.name for path in play.stage.work.iterdir()] == ["README.md"]
    said = bodies(play)
    assert "Read-only file system" in said
    assert "hello" in said


def test_a_verifier_without_our_sandbox_only_reads(play: Play) -> None:
    play.sandboxed = False
    script = lane(
        bash("touch made.txt"), reports({"passed": False, "evidence": "", "failures": ["no"]})
    )
    report = played(play, script, VERIFIER)
    assert report == VerifierReport(passed=False, failures=("no",))
    assert list(play.stage.work.iterdir()) == []


def test_a_planner_asks(play: Play) -> None:
    script = lane(reports({"questions": ["Which one?"]}))
    assert played(play, script, PLAN) == PlannerQuestions(questions=("Which one?",))


# --- reports --------------------------------------------------------------------------------------


def test_a_report_that_does_not_fit_goes_back_to_the_model(play: Play) -> None:
    script = lane(reports({"success": "yes"}), reports(DONE))
    assert played(play, script) == DONE_REPORT


def test_the_file_stands_in_for_a_report_that_was_never_given(play: Play) -> None:
    write = bash(f"printf '%s' '{json.dumps(DONE)}' > \"$DWINDLE_REPORT\"")
    assert played(play, lane(write, "done")) == DONE_REPORT


def test_so_does_the_last_object_in_its_words(play: Play) -> None:
    assert played(play, lane(f"Done: {json.dumps(DONE)}.")) == DONE_REPORT


def test_words_alone_are_no_report(play: Play) -> None:
    assert played(play, lane("I did it.")) == NoReport(
        trouble=Trouble.NO_REPORT, reason="it ended without a report: I did it."
    )


def test_subagents_are_counted(play: Play) -> None:
    counted = Usage(input_tokens=1000, output_tokens=100)
    call = ToolCall(
        "Agent", {"description": "d", "prompt": "SUBTASK", "subagent_type": "general-purpose"}
    )
    sub = Lane(
        user="^SUBTASK|\nSUBTASK", lacks=("StructuredOutput",), steps=(Step("hi", usage=counted),)
    )
    with ModelServer(sub, lane(call, reports(DONE))) as play.model:
        result = play.session()
    assert result == Result(
        report=DONE_REPORT,
        usage=Used(tokens=1340, usd=result.usage.usd, read=1200, written=140),
    )


# --- trouble --------------------------------------------------------------------------------------


def failing(failure: Failure) -> Lane:
    return lane(Step(failure=failure))


EVERY_TROUBLE = [
    pytest.param(
        failing(failures.unauthorised(Api.ANTHROPIC)), {}, Trouble.NOT_LOGGED_IN, id="401"
    ),
    pytest.param(
        failing(Failure(status=403, type="permission_error", message="no")),
        {},
        Trouble.NOT_LOGGED_IN,
        id="403",
    ),
    pytest.param(
        lane("hm"), {"ours": {"ANTHROPIC_API_KEY": ""}}, Trouble.NOT_LOGGED_IN, id="no key"
    ),
    pytest.param(
        failing(failures.out_of_credit(Api.ANTHROPIC)), {}, Trouble.OUT_OF_CREDIT, id="credit"
    ),
    pytest.param(
        failing(failures.unknown_model(Api.ANTHROPIC, "x")), {}, Trouble.UNKNOWN_MODEL, id="model"
    ),
    pytest.param(
        failing(failures.rate_limited(Api.ANTHROPIC)), {}, Trouble.RATE_LIMITED, id="rate"
    ),
    pytest.param(failing(failures.overloaded(Api.ANTHROPIC)), {}, Trouble.OVERLOADED, id="529"),
    pytest.param(
        failing(failures.overloaded(Api.ANTHROPIC)),
        {"retries": 3},
        Trouble.OVERLOADED,
        id="529 again and again",
    ),
    pytest.param(failing(failures.broken(Api.ANTHROPIC)), {}, Trouble.OVERLOADED, id="500"),
    pytest.param(
        lane("hm"),
        {"ours": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}},
        Trouble.OFFLINE,
        id="no server",
    ),
    pytest.param(failing(failures.too_long(Api.ANTHROPIC)), {}, Trouble.CONTEXT, id="too long"),
    pytest.param(
        lane(Step("so far", stop_reason="model_context_window_exceeded")),
        {},
        Trouble.CONTEXT,
        id="full",
    ),
    pytest.param(lane(Step(refusal="no")), {}, Trouble.REFUSED, id="refusal"),
    pytest.param(lane(bash("echo")), {"max_turns": 2}, Trouble.TURN_LIMIT, id="turns"),
    pytest.param(
        lane(Step(tools=(bash("echo"),), usage=Usage(input_tokens=900_000))),
        {"budget": lambda _: 1.0},
        Trouble.BUDGET_LIMIT,
        id="money",
    ),
    pytest.param(lane(reports({"success": "yes"})), {}, Trouble.MALFORMED, id="report"),
    pytest.param(
        lane(Step("...", hang=60)),
        {"order": replace(ORDER, timeout_seconds=4.0)},
        Trouble.TIMED_OUT,
        id="time",
    ),
    pytest.param(lane(bash("kill -9 $PPID")), {}, Trouble.KILLED, id="killed"),
    pytest.param(lane("hm"), {"after": ("--no-such-option",)}, Trouble.UNAVAILABLE, id="options"),
]


@pytest.mark.parametrize(("script", "session", "trouble"), EVERY_TROUBLE)
def test_every_trouble_is_told_apart(
    play: Play, script: Lane, session: dict[str, Any], trouble: Trouble
) -> None:
    report = played(play, script, **session)
    assert isinstance(report, NoReport), report
    assert (report.trouble, KEY in report.reason) == (trouble, False), report


def test_a_wrong_key_is_tried_again_a_few_times_only(play: Play) -> None:
    """Left alone claude goes on for three minutes; how often it may is said by us."""
    script = failing(failures.unauthorised(Api.ANTHROPIC))
    report = played(play, script, retries=RETRIES)
    assert isinstance(report, NoReport)
    assert play.model is not None
    assert play.ended is not None
    assert (report.trouble, len(play.model.requests)) == (Trouble.NOT_LOGGED_IN, RETRIES + 1)
    assert play.ended.seconds < 30


def test_a_subscriber_is_told_when_the_limit_ends(play: Play) -> None:
    failure = failures.rate_limited(Api.ANTHROPIC, resets_at=4_000_000_000)
    report = played(play, failing(failure), ours=SUBSCRIPTION, clock=lambda: 4_000_000_000.0 - 3600)
    assert isinstance(report, NoReport)
    assert (report.trouble, report.again_after) == (Trouble.RATE_LIMITED, 3600.0)


def test_a_session_that_was_cut_short_has_still_cost_something(play: Play) -> None:
    script = lane(bash("echo"), Step("...", hang=60))
    with ModelServer(script) as play.model:
        result = play.session(replace(ORDER, timeout_seconds=12.0))
    assert isinstance(result.report, NoReport)
    assert result.report.trouble is Trouble.TIMED_OUT
    assert (result.usage.read >= 100, result.usage.usd > 0, result.usage.estimated) == (
        *(True, True, True),
    )


def test_nothing_that_it_started_is_left_when_its_time_is_over(play: Play) -> None:
    script = lane(bash("setsid sleep 300 & sleep 301"))
    report = played(play, script, replace(ORDER, timeout_seconds=8.0))
    assert isinstance(report, NoReport)
    assert report.trouble is Trouble.TIMED_OUT
    assert play.stage.survivors() == {}
