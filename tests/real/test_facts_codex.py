"""What the real codex does, as far as our adapter relies on it; pinned for its version."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.real.loopback_network import Island
from tests.real.model import Api, Failure, Lane, ModelServer, Step, ToolCall, Usage, failures
from tests.real.programs import Program, codex_wrapper
from tests.real.stage import QUIET_CODEX, Ran, Stage

from dwindle.adapters.sandbox.choice import choose

pytestmark = pytest.mark.slow

OK = Lane(steps=(Step("fine"),))
FULL = ("--ignore-user-config", "--ignore-rules", "-s", "danger-full-access")
"""Inside our sandbox it needs none of its own."""


def shell(command: str) -> ToolCall:
    return ToolCall("exec_command", {"cmd": command})


def shape(ran: Ran) -> list[str]:
    """The kinds of events and items, in order."""
    return [
        f"{event['type']} {event['item']['type']}" if "item" in event else event["type"]
        for event in ran.events
    ]


def items(ran: Ran, kind: str) -> list[dict[str, Any]]:
    return [event["item"] for event in ran.of("item.completed") if event["item"]["type"] == kind]


@pytest.fixture
def below_tmp() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="dwindle-real-", dir="/tmp"))
    yield made
    shutil.rmtree(made, ignore_errors=True)


# --- a session -----------------------------------------------------------------------------------


def test_a_session_tells_its_commands_its_answer_and_its_usage(
    stage: Stage, codex: Program
) -> None:
    counted = Usage(input_tokens=900, output_tokens=30, cached_tokens=600, reasoning_tokens=7)
    steps = (
        Step(tools=(shell("echo made > made.txt; exit 3"),), usage=counted),
        Step("done", usage=counted),
    )
    with ModelServer(Lane(steps=steps)) as model:
        ran = stage.run(stage.codex(codex, model, *FULL, "-c", 'model_reasoning_effort="low"'))
    assert ran.code == 0
    assert shape(ran) == [
        "thread.started",
        "turn.started",
        "item.started command_execution",
        "item.completed command_execution",
        "item.completed agent_message",
        "turn.completed",
    ]
    (command,) = items(ran, "command_execution")
    assert (command["exit_code"], command["status"]) == (3, "failed")
    assert items(ran, "agent_message")[0]["text"] == "done"
    assert ran.one("turn.completed")["usage"] == {
        "input_tokens": 1800,
        "cached_input_tokens": 1200,
        "cache_write_input_tokens": 0,
        "output_tokens": 60,
        "reasoning_output_tokens": 14,
    }
    assert (stage.work / "made.txt").read_text() == "made\n"
    assert [request.conversation.effort for request in model.requests] == ["low", "low"]
    assert {request.conversation.model for request in model.requests} == {"gpt-5.5"}


def test_a_slash_and_an_at_sign_are_text(stage: Stage, codex: Program) -> None:
    secret = stage.home / "secret.txt"
    secret.write_text("the canary sings\n")
    with ModelServer(OK) as model:
        ran = stage.run(stage.codex(codex, model, *FULL, prompt=f"/help @{secret}"))
    assert ran.code == 0
    (request,) = model.requests
    assert request.conversation.last_user == f"/help @{secret}"
    assert "the canary sings" not in json.dumps(request.body)


def test_an_answer_that_breaks_the_schema_is_a_success(stage: Stage, codex: Program) -> None:
    schema = stage.home / "schema.json"
    wanted = {
        "type": "object",
        "properties": {"verdict": {"type": "string"}},
        "required": ["verdict"],
        "additionalProperties": False,
    }
    schema.write_text(json.dumps(wanted))
    with ModelServer(Lane(steps=(Step("no such thing"),))) as model:
        ran = stage.run(stage.codex(codex, model, *FULL, "--output-schema", str(schema)))
    assert (ran.code, items(ran, "agent_message")[0]["text"]) == (0, "no such thing")
    assert model.requests[0].conversation.schema == wanted


# --- failures ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("failure", "requests", "says"),
    [
        pytest.param(
            failures.unauthorised(Api.OPENAI), 2, "unexpected status 401 Unauthorized", id="key"
        ),
        pytest.param(failures.out_of_credit(Api.OPENAI), 1, "Quota exceeded.", id="credit"),
        pytest.param(
            failures.rate_limited(Api.OPENAI),
            1,
            "exceeded retry limit, last status: 429 Too Many Requests",
            id="rate",
        ),
        pytest.param(
            failures.rate_limited(Api.OPENAI, resets_at=4_000_000_000),
            1,
            "You’ve hit your usage limit.",  # noqa: RUF001 - as it writes it
            id="usage limit",
        ),
        pytest.param(
            failures.unknown_model(Api.OPENAI, "x"), 1, "The model `x` does not exist", id="model"
        ),
        pytest.param(
            failures.too_long(Api.OPENAI), 1, "Codex ran out of room in the model", id="length"
        ),
        pytest.param(
            failures.overloaded(Api.OPENAI), 2, "Selected model is at capacity.", id="overload"
        ),
        pytest.param(
            failures.broken(Api.OPENAI),
            4,
            "We’re currently experiencing high demand",  # noqa: RUF001 - as it writes it
            id="broken",
        ),
    ],
)
def test_a_failure_of_the_service_is_a_failed_turn_in_words_only(
    stage: Stage, codex: Program, failure: Failure, requests: int, says: str
) -> None:
    with ModelServer(Lane(steps=(Step(failure=failure),))) as model:
        ran = stage.run(stage.codex(codex, model, *FULL))
    assert ran.code == 1
    failed = ran.one("turn.failed")
    assert list(failed["error"]) == ["message"]
    assert failed["error"]["message"].startswith(says)
    assert ran.of("error")[-1]["message"] == failed["error"]["message"]  # said twice
    assert len(model.requests) == requests


def test_when_a_limit_ends_is_told_in_the_sentence_by_the_local_clock(
    stage: Stage, codex: Program
) -> None:
    failure = failures.rate_limited(Api.OPENAI, resets_at=4_000_000_000)
    with ModelServer(Lane(steps=(Step(failure=failure),))) as model:
        ran = stage.run(stage.codex(codex, model, *FULL, environment={"TZ": "UTC"}))
    sentence = ran.one("turn.failed")["error"]["message"]
    assert sentence.endswith("or try again at Oct 2nd, 2096 7:06 AM.")


def test_it_waits_for_a_lost_network_and_does_not_give_up(stage: Stage, codex: Program) -> None:
    with ModelServer(OK) as model:
        command = stage.codex(codex, model, *FULL)
        argv = tuple(part.replace(model.url, "http://127.0.0.1:9") for part in command.argv)
        heard: list[dict[str, Any]] = []

        def listen(line: bytes) -> str | None:
            heard.append(json.loads(line))
            return "waited twice" if len(heard) == 4 else None

        ran = stage.run(dataclasses.replace(command, argv=argv), watch=listen)
    assert ran.ended.error == "waited twice"
    waits = "Reconnecting... waiting for network (Connection failed: error sending request)"
    assert [event.get("message") for event in heard] == [None, None, waits, waits]


@pytest.mark.parametrize("step", [Step(refusal="I will not."), Step("")])
def test_a_refusal_and_an_empty_answer_look_like_a_success_without_words(
    stage: Stage, codex: Program, step: Step
) -> None:
    with ModelServer(Lane(steps=(step,))) as model:
        ran = stage.run(stage.codex(codex, model, *FULL))
    assert ran.code == 0
    assert shape(ran) == ["thread.started", "turn.started", "turn.completed"]


def test_an_error_that_it_recovers_from_is_no_failure(stage: Stage, codex: Program) -> None:
    with ModelServer(Lane(steps=(Step("whole", drop=True, fail_first=1),))) as model:
        ran = stage.run(stage.codex(codex, model, *FULL))
    assert (ran.code, len(model.requests)) == (0, 2)
    assert ran.one("error")["message"].startswith("Reconnecting... 1/1")
    assert shape(ran)[-2:] == ["item.completed agent_message", "turn.completed"]


def test_an_error_item_is_no_failure(stage: Stage, codex: Program) -> None:
    with ModelServer(OK) as model:
        ran = stage.run(stage.codex(codex, model, *FULL, asks_for="no-such-model"))
    assert ran.code == 0
    assert [item["message"][:14] for item in items(ran, "error")] == ["Model metadata"]
    assert shape(ran)[-1] == "turn.completed"


# --- its own sandbox -----------------------------------------------------------------------------


def test_its_read_only_sandbox_works_where_its_home_is_not_below_tmp(
    stage: Stage, codex: Program
) -> None:
    steps = (Step(tools=(shell("echo here; touch made.txt; true"),)), Step("done"))
    with ModelServer(Lane(steps=steps)) as model:
        ran = stage.run(
            stage.codex(codex, model, "--ignore-user-config", "-s", "read-only"),
            containment=stage.bare(),
        )
    assert ran.code == 0
    (command,) = items(ran, "command_execution")
    assert command["aggregated_output"].startswith("here\n")
    assert "Read-only file system" in command["aggregated_output"]
    assert not (stage.work / "made.txt").exists()


def test_with_its_home_below_tmp_every_command_fails_and_the_session_succeeds(
    stage: Stage, codex: Program, below_tmp: Path
) -> None:
    steps = (Step(tools=(shell("echo here"),)), Step("done"))
    with ModelServer(Lane(steps=steps)) as model:
        ran = stage.run(
            stage.codex(
                codex,
                model,
                *("--ignore-user-config", "-s", "read-only"),
                environment={"CODEX_HOME": str(below_tmp)},
            ),
            containment=stage.bare(),
        )
    assert ran.code == 0
    (result,) = model.requests[1].conversation.tool_results
    assert "codex-linux-sandbox" in result.text
    assert "here\n" not in result.text


def test_a_command_that_its_sandbox_denied_is_told_to_the_model_and_seldom_to_us(
    stage: Stage, codex: Program
) -> None:
    """Not at all if it fails at once; on a busy machine it may come as a command that failed."""
    steps = (Step(tools=(shell("touch made.txt"),)), Step("done"))
    with ModelServer(Lane(steps=steps)) as model:
        ran = stage.run(
            stage.codex(codex, model, "--ignore-user-config", "-s", "read-only"),
            containment=stage.bare(),
        )
    assert ran.code == 0
    assert [item["status"] for item in items(ran, "command_execution")] in ([], ["failed"])
    (result,) = model.requests[1].conversation.tool_results
    assert "Read-only file system" in result.text


@pytest.mark.parametrize(
    ("sandbox", "is_repository", "trusted"),
    [
        ("read-only", True, False),
        ("workspace-write", True, True),
        ("danger-full-access", True, True),
        ("workspace-write", False, False),
    ],
)
def test_a_sandbox_that_may_write_a_repository_is_remembered_as_trust(
    stage: Stage, codex: Program, sandbox: str, is_repository: bool, trusted: bool
) -> None:
    if is_repository:
        (stage.work / ".git" / "objects").mkdir(parents=True)
        (stage.work / ".git" / "refs").mkdir()
        (stage.work / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    with ModelServer(OK) as model:
        ran = stage.run(
            stage.codex(codex, model, "--ignore-user-config", "-s", sandbox),
            containment=stage.bare(),
        )
    assert ran.code == 0
    config = stage.codex_home / "config.toml"
    written = config.read_text() if config.exists() else ""
    assert written == (f'[projects."{stage.work}"]\ntrust_level = "trusted"\n' if trusted else "")


# --- processes -----------------------------------------------------------------------------------

LASTING = "exec python3 -c 'import time; time.sleep(300)'"
WORD = "time.sleep(300)"
LASTS = Lane(steps=(Step(tools=(shell(LASTING),)), Step("interrupted")))


def test_a_killed_wrapper_leaves_the_program_running(
    stage: Stage, codex: Program, require_tool: Callable[[str], Path]
) -> None:
    node = require_tool("node")
    with ModelServer(LASTS) as model:
        native = stage.codex(codex, model, *FULL)
        wrapped = dataclasses.replace(
            native, argv=(str(node), str(codex_wrapper()), *native.argv[1:])
        )

        def kill() -> None:
            leader = stage.running("codex.js")
            assert leader is not None
            os.kill(leader, signal.SIGKILL)
            assert stage.running(str(codex.path)) is not None

        stage.interrupt(
            wrapped,
            lambda: stage.running(f"python3 -c import time; {WORD}"),
            containment=stage.bare(),
            how=kill,
        )


def test_a_cancelled_session_leaves_no_process_under_our_containment(
    stage: Stage, codex: Program
) -> None:
    with ModelServer(LASTS) as model:
        stage.interrupt(
            stage.codex(codex, model, *FULL),
            lambda: stage.running(f"python3 -c import time; {WORD}"),
            containment=choose(mark=stage.mark),
        )
    assert stage.survivors() == {}


# --- whom it calls -------------------------------------------------------------------------------


def test_it_connects_only_to_its_model(stage: Stage, codex: Program, tapped: Island) -> None:
    with ModelServer(OK) as model:
        ran = stage.run(stage.codex(codex, model, *FULL))
    assert ran.code == 0
    assert tapped.attempts == ()
    assert model.visits == ("POST /v1/responses",)


def test_left_alone_it_calls_home_and_we_see_it(
    stage: Stage, codex: Program, tapped: Island
) -> None:
    with ModelServer(OK) as model:
        quiet = stage.codex(codex, model, *FULL)
        at = quiet.argv.index("analytics.enabled=false") - 1
        argv = (*quiet.argv[:at], *quiet.argv[at + len(QUIET_CODEX) :])
        assert (*argv[:at], *QUIET_CODEX, *argv[at:]) == quiet.argv
        ran = stage.run(dataclasses.replace(quiet, argv=argv))
    assert ran.code == 0
    assert "chatgpt.com" in tapped.lookups
    assert "github.com" in tapped.lookups
