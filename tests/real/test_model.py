"""The scripted model itself, asked by hand: what it says, and what trouble it makes."""

from __future__ import annotations

import http.client
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.real.model import Api, Failure, Lane, ModelServer, Step, ToolCall, Usage, failures
from tests.real.model_client import HEADERS, MESSAGES, RESPONSES, ask, item, message, response

# --- what it says --------------------------------------------------------------------------------

SPOKEN = Step(
    "Let me look.",
    (ToolCall("Bash", {"command": "ls"}),),
    usage=Usage(input_tokens=7, output_tokens=5, cached_tokens=3, reasoning_tokens=2),
)


def test_a_message_comes_whole() -> None:
    with ModelServer(Lane(steps=(SPOKEN,))) as model:
        said = ask(model, MESSAGES, message("hello"))
    assert (said.status, said.json) == (
        200,
        {
            "id": "msg_000001",
            "type": "message",
            "role": "assistant",
            "model": "m-1",
            "content": [
                {"type": "text", "text": "Let me look."},
                {
                    "type": "tool_use",
                    "id": "toolu_000001_0",
                    "name": "Bash",
                    "input": {"command": "ls"},
                },
            ],
            "stop_reason": "tool_use",
            "stop_sequence": None,
            "usage": {
                "input_tokens": 7,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 3,
                "output_tokens": 5,
            },
        },
    )


def test_a_message_comes_in_events() -> None:
    with ModelServer(Lane(steps=(SPOKEN,))) as model:
        said = ask(model, f"{MESSAGES}?beta=true", message("hello", stream=True))
    assert said.headers["content-type"] == "text/event-stream"
    assert [event["type"] for event in said.events] == [
        "message_start",
        "ping",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "content_block_start",
        *("content_block_delta", "content_block_delta", "content_block_delta"),
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    deltas = [event["delta"] for event in said.events if event["type"] == "content_block_delta"]
    assert deltas[0] == {"type": "text_delta", "text": "Let me look."}
    assert json.loads("".join(delta["partial_json"] for delta in deltas[1:])) == {"command": "ls"}
    assert said.events[0]["message"]["usage"]["output_tokens"] == 1
    assert said.events[-2]["usage"]["output_tokens"] == 5


def test_a_response_comes_in_events() -> None:
    with ModelServer(Lane(steps=(SPOKEN,))) as model:
        said = ask(model, RESPONSES, response(item("user", "hello"), stream=True))
    assert [event["type"] for event in said.events] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.output_item.added",
        "response.output_item.done",
        "response.completed",
    ]
    assert [event["sequence_number"] for event in said.events] == list(range(11))
    whole = said.events[-1]["response"]
    assert [part["type"] for part in whole["output"]] == ["message", "function_call"]
    assert json.loads(whole["output"][1]["arguments"]) == {"command": "ls"}
    assert whole["usage"] == {
        "input_tokens": 7,
        "input_tokens_details": {"cached_tokens": 3},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 2},
        "total_tokens": 12,
    }


def test_a_response_comes_whole_with_thoughts_and_a_freeform_tool() -> None:
    step = Step(thinking="hm", tools=(ToolCall("apply_patch", "*** Begin Patch"),))
    with ModelServer(Lane(steps=(step,))) as model:
        said = ask(model, RESPONSES, response(item("user", "hello")))
    thought, call = said.json["output"]
    assert thought["summary"] == [{"type": "summary_text", "text": "hm"}]
    assert (call["type"], call["input"]) == ("custom_tool_call", "*** Begin Patch")


@pytest.mark.parametrize(
    ("step", "reason", "status"),
    [
        (Step("no", stop_reason="max_tokens"), "max_tokens", "incomplete"),
        (Step(refusal="I will not."), "refusal", "completed"),
    ],
)
def test_an_answer_can_end_in_other_ways(step: Step, reason: str, status: str) -> None:
    with ModelServer(Lane(steps=(step,))) as model:
        one = ask(model, MESSAGES, message("hello")).json
        other = ask(model, RESPONSES, response(item("user", "hello"), stream=True)).events[-1]
    assert one["stop_reason"] == reason
    assert other["type"] == f"response.{status}"


def test_tokens_are_counted_models_are_listed_and_a_greeting_is_answered() -> None:
    with ModelServer(Lane(steps=(Step("x"),))) as model:
        counted = ask(model, "/v1/messages/count_tokens", message("hello")).json
        listed = ask(model, "/v1/models", method="GET")
        greeted = ask(model, "/", method="HEAD")
    assert counted["input_tokens"] > 0
    assert (listed.status, listed.json["data"], greeted.status) == (200, [], 200)
    assert model.visits == ("POST /v1/messages/count_tokens", "GET /v1/models", "HEAD /")
    assert model.requests == ()


# --- trouble -------------------------------------------------------------------------------------


def test_a_failure_has_its_status_its_words_and_its_headers() -> None:
    steps = (Step(failure=failures.rate_limited(Api.ANTHROPIC, retry_after=7, resets_at=99)),)
    with ModelServer(Lane(steps=steps)) as model:
        said = ask(model, MESSAGES, message("hello", stream=True))
    assert (said.status, said.json["error"]["type"]) == (429, "rate_limit_error")
    assert said.headers["retry-after"] == "7"
    assert said.headers["anthropic-ratelimit-unified-reset"] == "99"


def test_a_failure_can_come_in_the_middle_of_an_answer() -> None:
    steps = (Step("half", failure=Failure(type="overloaded_error", in_stream=True)),)
    with ModelServer(Lane(steps=steps)) as model:
        one = ask(model, MESSAGES, message("hello", stream=True))
        other = ask(model, RESPONSES, response(item("user", "hello"), stream=True))
    assert [event["type"] for event in one.events] == ["message_start", "error"]
    assert [event["type"] for event in other.events] == ["response.created", "response.failed"]


def test_the_first_requests_fail_and_each_session_has_its_own_first() -> None:
    steps = (Step("at last", failure=Failure(status=500), fail_first=2),)
    with ModelServer(Lane(steps=steps)) as model:
        found = [
            ask(
                model,
                MESSAGES,
                message("hello"),
                headers={**HEADERS[MESSAGES], "x-claude-code-session-id": session},
            ).status
            for session in ("a", "a", "b", "a", "b", "b")
        ]
    assert found == [500, 500, 500, 200, 500, 200]
    assert [request.session for request in model.requests] == ["a", "a", "b", "a", "b", "b"]


@pytest.mark.parametrize("path", [MESSAGES, RESPONSES])
def test_an_answer_can_break_off_and_come_whole_the_next_time(path: str) -> None:
    step = Step("word " * 200, drop=True, fail_first=1)
    body = message("hello", stream=True)
    if path == RESPONSES:
        body = response(item("user", "hello"), stream=True)
    with ModelServer(Lane(steps=(step,))) as model:
        with pytest.raises(http.client.IncompleteRead):
            ask(model, path, body)
        again = ask(model, path, body)
    assert again.events[-1]["type"] in {"message_stop", "response.completed"}


def test_a_thread_that_hangs_lets_go_when_the_test_is_over_and_no_thread_is_left() -> None:
    before = threading.active_count()
    with ThreadPoolExecutor(3) as pool:
        with ModelServer(Lane(steps=(Step("x", hang=600),))) as model:
            idle = http.client.HTTPConnection("127.0.0.1", model.port, timeout=10)
            idle.connect()
            hanging = [
                pool.submit(ask, model, MESSAGES, message("hello", stream=True)) for _ in range(2)
            ]
            assert model.wait_for(2, seconds=10)
            began = time.monotonic()
        assert time.monotonic() - began < 2
        assert all(future.exception() is not None for future in hanging)
    idle.close()
    assert threading.active_count() == before
    assert model.left == 2


def test_an_answer_can_be_late() -> None:
    with ModelServer(Lane(steps=(Step("x", delay=0.1),))) as model:
        began = time.monotonic()
        ask(model, MESSAGES, message("hello"))
    assert time.monotonic() - began >= 0.1
