"""Which step of a script a conversation gets, and what is refused and fails the test."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.real.model import (
    Api,
    Failure,
    Lane,
    ModelServer,
    NotUnderstood,
    Script,
    Step,
    ToolCall,
    ToolResult,
    Usage,
)
from tests.real.model_client import MESSAGES, RESPONSES, ask, item, message, response

# --- which step ----------------------------------------------------------------------------------


def test_the_step_follows_from_the_conversation_alone() -> None:
    steps = (Step("one"), Step("two"), Step("three"))
    with ModelServer(Lane(steps=steps)) as model:
        found = [
            ask(model, MESSAGES, body).json["content"][0]["text"]
            for body in (
                message("a", "one", "b", "two", "c"),
                message("a"),
                message("a"),
                message("a", "one", "b"),
            )
        ]
    assert found == ["three", "one", "one", "two"]
    assert [request.step for request in model.requests] == [2, 0, 0, 1]


def test_what_the_model_says_in_one_go_is_one_turn() -> None:
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c", "output": "done"}
    thought = {"type": "reasoning", "summary": []}
    with ModelServer(Lane(steps=(Step("one"), Step("two")))) as model:
        ask(model, RESPONSES, response(item("user", "a"), thought, call, output))
    (request,) = model.requests
    assert request.step == 1
    assert request.conversation.tool_results == (ToolResult("done"),)


def test_sessions_at_the_same_time_do_not_disturb_each_other() -> None:
    steps = tuple(Step(f"answer {number}") for number in range(4))

    def talk(name: int) -> list[str]:
        turns: list[str] = [f"session {name}"]
        for _ in range(4):
            said = ask(model, MESSAGES, message(*turns)).json["content"][0]["text"]
            turns += [said, "go on"]
        return turns[1::2]

    with ModelServer(Lane(steps=steps)) as model, ThreadPoolExecutor(8) as pool:
        found = list(pool.map(talk, range(8)))
    assert found == [[f"answer {number}" for number in range(4)]] * 8
    assert len(model.requests) == 32


def test_a_conversation_takes_the_first_lane_that_fits_it() -> None:
    lanes = (
        Lane(name="openai", api=Api.OPENAI, steps=(Step("1"),)),
        Lane(name="haiku", model="haiku", steps=(Step("2"),)),
        Lane(name="judge", system="You judge", steps=(Step("3"),)),
        Lane(name="probe", tools=("Read",), lacks=("Write",), steps=(Step("4"),)),
        Lane(name="named", user=r"atom\s+A7", steps=(Step("5"),)),
        Lane(name="rest", steps=(Step("6"),)),
    )
    read, write = {"name": "Read"}, {"name": "Write"}
    with ModelServer(*lanes) as model:
        ask(model, RESPONSES, response(item("user", "x")))
        ask(model, MESSAGES, message("x", model="claude-haiku-9"))
        ask(model, MESSAGES, message("x", system=[{"type": "text", "text": "You judge."}]))
        ask(model, MESSAGES, message("x", tools=[read]))
        ask(model, MESSAGES, message("atom\nA7", tools=[read, write]))
        ask(model, MESSAGES, message("x", tools=[read, write]))
    assert [request.lane for request in model.requests] == [lane.name for lane in lanes]


def test_blanks_are_filled_from_the_conversation() -> None:
    call = ToolCall("Write", {"file_path": "{{cwd}}/a", "content": ["{{tool_result}}"]})
    use = {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "42"}
    step = Step(r"to {{user~report to (\S+)}}", (call,))
    with ModelServer(Lane(steps=(Step("x"), step))) as model:
        said = ask(
            model,
            MESSAGES,
            message("report to /r.json", [use], [result], system="working directory: /w"),
        )
    text, made = said.json["content"]
    assert text["text"] == "to /r.json"
    assert made["input"] == {"file_path": "/w/a", "content": ["42"]}


def test_a_step_can_be_worked_out_from_the_conversation() -> None:
    lane = Lane(steps=(lambda conversation: Step(conversation.last_user.upper()),))
    with ModelServer(lane) as model:
        said = ask(model, MESSAGES, message("hello"))
    assert said.json["content"][0]["text"] == "HELLO"


# --- scripts -------------------------------------------------------------------------------------


def test_a_script_can_be_json() -> None:
    script = {
        "lanes": [
            {
                "name": "worker",
                "api": "anthropic",
                "tools": ["Bash"],
                "steps": [
                    {"tools": [{"name": "Bash", "input": {"command": "ls"}}]},
                    {"text": "x", "usage": {"output_tokens": 4}, "fail_first": 1},
                    {"failure": {"status": 529, "headers": {"retry-after": "1"}}},
                ],
            }
        ]
    }
    assert Script.from_json(json.dumps(script)) == Script(
        (
            Lane(
                name="worker",
                api=Api.ANTHROPIC,
                tools=("Bash",),
                steps=(
                    Step(tools=(ToolCall("Bash", {"command": "ls"}),)),
                    Step("x", usage=Usage(output_tokens=4), fail_first=1),
                    Step(failure=Failure(status=529, headers={"retry-after": "1"})),
                ),
            ),
        )
    )


@pytest.mark.parametrize(
    "text",
    [
        '{"lane": []}',
        '{"lanes": [{"steps": []}]}',
        '{"lanes": [{"steps": [{"txt": "a"}]}]}',
        '{"lanes": [{"stesp": [{"text": "a"}]}]}',
        '{"lanes": [{"api": "other", "steps": [{"text": "a"}]}]}',
    ],
)
def test_a_script_with_a_mistake_is_refused(text: str) -> None:
    with pytest.raises((TypeError, ValueError)):
        Script.from_json(text)


# --- strictness ----------------------------------------------------------------------------------

RESULT = {"type": "tool_result", "tool_use_id": "never", "content": "x"}
OUTPUT = {"type": "function_call_output", "call_id": "never", "output": "x"}


@pytest.mark.parametrize(
    ("path", "body", "says"),
    [
        ("/v1/chat/completions", {}, "there is no such place"),
        (MESSAGES, "{", "a body that is not JSON"),
        (MESSAGES, [], "a body that is no object"),
        (MESSAGES, {"model": "m"}, "messages is None"),
        (MESSAGES, message(), "begins with the user"),
        (MESSAGES, message([RESULT]), "which was not called"),
        (MESSAGES, message([{"type": "hologram"}]), "hologram"),
        (MESSAGES, message("something else"), "no lane for 'something else'"),
        (MESSAGES, message("known", "x", "more"), "lane 0 is at its end after 1 answers"),
        (RESPONSES, response(OUTPUT), "which was not called"),
        (RESPONSES, response({"type": "hologram"}), "hologram"),
        (RESPONSES, response(previous_response_id="r"), "nothing is stored"),
    ],
)
def test_what_is_not_understood_fails_the_test(path: str, body: Any, says: str) -> None:
    model = ModelServer(Lane(user="known", steps=(Step("x"),)))
    with pytest.raises(NotUnderstood, match=says), model:
        assert ask(model, path, body).status == 400
    assert len(model.problems) == 1


@pytest.mark.parametrize("path", [MESSAGES, RESPONSES])
def test_a_request_without_a_key_fails_the_test(path: str) -> None:
    with (
        pytest.raises(NotUnderstood, match="no header"),
        ModelServer(Lane(steps=(Step("x"),))) as m,
    ):
        ask(m, path, message("x"), headers={})


def test_a_mistake_in_a_step_fails_the_test() -> None:
    lane = Lane(steps=(Step("{{user~never (said)}}"),))
    with (
        pytest.raises(NotUnderstood, match="nothing in the prompt fits"),
        ModelServer(lane) as model,
    ):
        ask(model, MESSAGES, message("hello"))


def test_a_test_that_failed_already_is_told_what_else_went_wrong() -> None:
    def story() -> None:
        with ModelServer(Lane(steps=(Step("x"),))) as model:
            ask(model, "/nowhere", method="GET")
            raise KeyError("something else")

    with pytest.raises(KeyError) as raised:
        story()
    assert raised.value.__notes__ == [
        "the model was asked what it did not understand:\nGET /nowhere: there is no such place"
    ]
