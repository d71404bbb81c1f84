"""One line at a time, whatever it is, and nothing of it is kept that is not needed."""

from __future__ import annotations

import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.adapters.agents.claude_lines import init, line, result, said, synthetic

from dwindle.adapters.agents.claude.stream import ClaudeStream, LineKind, Outcome, usage_of
from dwindle.adapters.agents.json_lines import LONGEST_LINE
from dwindle.kernel.events import NO_USAGE, Usage


def fed(*lines: bytes) -> ClaudeStream:
    stream = ClaudeStream()
    for one in lines:
        stream.feed(one)
    return stream


def outcome(**fields: object) -> Outcome:
    found = fed(result(**fields)).result
    assert found is not None
    return found


# --- kinds ---------------------------------------------------------------------------------------


def test_the_kind_is_found_wherever_it_stands_in_a_line() -> None:
    first = b'{"type":"result","is_error":false,"result":"a"}'
    last = b'{"is_error":false,"result":"a","type":"result"}'
    assert [fed(one).result for one in (first, last)] == [Outcome(is_error=False, result="a")] * 2


def test_what_looks_like_a_kind_further_inside_is_none() -> None:
    told = line(type="user", message={"type": "result", "is_error": False, "result": "I won"})
    quoted = line(type="assistant", message={"content": [{"text": init().decode()}]})
    stream = fed(told, quoted)
    assert (stream.result, stream.init, stream.odd) == (None, None, 0)


def test_every_line_is_of_some_kind() -> None:
    stream = ClaudeStream()
    lines = (init(), said(), result(), line(type="system", subtype="status"), b"oops", b"[1]", b"")
    assert [stream.feed(one) for one in lines] == [
        *(
            LineKind.INIT,
            LineKind.SAID,
            LineKind.RESULT,
            LineKind.OTHER,
            LineKind.ODD,
            LineKind.ODD,
            LineKind.OTHER,
        ),
    ]
    assert (stream.lines, stream.odd) == (6, 2)


def test_a_result_is_not_the_last_word_if_the_model_goes_on() -> None:
    assert fed(result(), said()).result is None
    elsewhere = said(parent_tool_use_id="toolu_1")
    assert fed(result(), elsewhere).result is not None


@pytest.mark.parametrize(
    "odd",
    [
        b'{"type":"result"',
        b'{"type":"result","is_error":false}}',
        b"\xff\xfe{}",
        b"Segmentation fault",
        b"[" * 100_000,
        b'{"type":' + b"[" * 100_000,
        b"null",
        b'"result"',
        b'{"type":"result"} {"type":"result"}',
    ],
)
def test_a_line_that_is_no_object_is_counted_and_otherwise_ignored(odd: bytes) -> None:
    stream = ClaudeStream()
    assert stream.feed(odd) is LineKind.ODD
    assert (stream.odd, stream.result, stream.init) == (1, None, None)
    assert stream.feed(result()) is LineKind.RESULT


def test_fields_of_another_type_than_expected_cost_nothing_but_themselves() -> None:
    found = outcome(is_error="no", result=["a"], usage=3, modelUsage=[], total_cost_usd="free")
    assert (found.is_error, found.result) == ("no", ["a"])
    assert usage_of(found) == Usage(estimated=True)


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_no_line_is_too_odd(anything: bytes) -> None:
    fed(anything, b'{"type":"assistant","message":' + anything + b"}")


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
        max_leaves=8,
    ),
    st.sampled_from(["assistant", "result", "system", "rate_limit_event", "user"]),
    st.sampled_from(["message", "usage", "modelUsage", "total_cost_usd", "rate_limit_info"]),
)
def test_no_field_is_too_odd(value: object, kind: str, name: str) -> None:
    stream = fed(json.dumps({"type": kind, "subtype": "init", name: value}).encode())
    _ = stream.usage_so_far
    if stream.result is not None:
        spent = usage_of(stream.result)
        assert spent.tokens >= 0
        assert spent.usd >= 0


# --- bounds --------------------------------------------------------------------------------------


def test_a_line_that_comes_in_pieces_says_nothing_and_neither_does_its_end() -> None:
    stream = ClaudeStream()
    piece = b" " * (LONGEST_LINE - len(result())) + result()
    assert [stream.feed(one) for one in (piece, piece, result(), result(num_turns=2))] == [
        *(LineKind.ODD, LineKind.ODD, LineKind.ODD, LineKind.RESULT),
    ]
    assert stream.result is not None
    assert stream.result.num_turns == 2


def test_memory_does_not_grow_with_the_session() -> None:
    printed = "x" * 100_000
    stream = ClaudeStream()

    def turns(count: int, first: int) -> int:
        for number in range(first, first + count):
            message = {"id": f"msg_{number}", "model": "claude-opus-4-8", "content": [printed]}
            stream.feed(line(type="assistant", message=message, parent_tool_use_id=None))
            stream.feed(line(type="user", message={"content": printed}))
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    early = turns(100, 0)
    late = turns(300, 100)
    tracemalloc.stop()
    assert late - early < 50_000


# --- what went wrong -----------------------------------------------------------------------------


def test_the_last_error_of_the_main_conversation_is_remembered_until_the_model_answers() -> None:
    stream = fed(synthetic("rate_limit", parent_tool_use_id="toolu_1"))
    assert stream.error == ""
    stream.feed(synthetic("server_error", api_error="connection_failed"))
    assert (stream.error, stream.api_error) == ("server_error", "connection_failed")
    stream.feed(said())
    assert (stream.error, stream.api_error) == ("", "")


@pytest.mark.parametrize(
    ("info", "resets_at"),
    [
        ({"status": "rejected", "resetsAt": 1794746535}, 1794746535.0),
        ({"status": "allowed", "resetsAt": 1794746535}, None),
        ({"status": "rejected"}, None),
        ({"status": "rejected", "resetsAt": "soon"}, None),
        ({"status": "rejected", "resetsAt": True}, None),
        ("rejected", None),
    ],
)
def test_only_a_limit_that_was_reached_is_reset(info: object, resets_at: float | None) -> None:
    assert fed(line(type="rate_limit_event", rate_limit_info=info)).resets_at == resets_at


# --- usage ---------------------------------------------------------------------------------------

MODELS = {
    "claude-opus-4-8[1m]": {
        "inputTokens": 200,
        "outputTokens": 40,
        "cacheReadInputTokens": 1000,
        "cacheCreationInputTokens": 10,
        "costUSD": 0.3,
    },
    "claude-haiku-4-5-20251001": {"inputTokens": 7, "outputTokens": 3},
}


def test_the_sum_is_over_all_models_and_the_price_is_what_the_program_says() -> None:
    told = outcome(modelUsage=MODELS, total_cost_usd=0.25, usage={"input_tokens": 1})
    assert usage_of(told) == Usage(tokens=1260, usd=0.25, read=217, cached=1000, written=43)


def test_without_models_the_main_conversation_stands_in() -> None:
    told = outcome(usage={"input_tokens": 5, "output_tokens": 2}, total_cost_usd=0.5)
    assert usage_of(told) == Usage(tokens=7, usd=0.5, read=5, written=2)


RECKONED = (200 * 5 + 1000 * 0.5 + 10 * 6.25 + 40 * 25 + 7 * 1 + 3 * 5) / 1_000_000


@pytest.mark.parametrize("cost", ["NaN", "-0.5", "Infinity", "-Infinity", "null", '"1"', "true"])
def test_a_price_that_is_none_is_reckoned_and_marked(cost: str) -> None:
    told = result(modelUsage=MODELS, total_cost_usd=77).replace(b": 77", f": {cost}".encode())
    stream = fed(told)
    assert stream.result is not None
    found = usage_of(stream.result)
    assert found == Usage(
        tokens=1260, usd=found.usd, read=217, cached=1000, written=43, estimated=True
    )
    assert found.usd == pytest.approx(RECKONED)


@pytest.mark.parametrize("tokens", [-1, 1e300, "5", True, None, [1]])
def test_a_count_that_is_none_is_nothing(tokens: object) -> None:
    told = outcome(modelUsage={"claude-opus-4-8": {"inputTokens": tokens, "outputTokens": 2}})
    assert usage_of(told) == Usage(tokens=2, written=2)


def test_without_a_result_what_was_seen_counts_each_message_once() -> None:
    text = "a" * 400
    stream = fed(said(text), said(text), said(message={"id": "msg_2", "model": "claude-opus-4-8"}))
    seen = stream.usage_so_far
    written = 2 * len(json.dumps([{"type": "text", "text": text}])) // 4
    assert seen == Usage(
        tokens=150 + written, usd=seen.usd, read=100, cached=50, written=written, estimated=True
    )
    assert seen.usd == pytest.approx((100 * 5 + 50 * 0.5 + written * 25) / 1_000_000)


def test_messages_that_are_long_over_are_still_counted() -> None:
    usage = {"input_tokens": 10, "output_tokens": 0}
    model = "claude-opus-4-8"
    stream = ClaudeStream()
    for number in range(500):
        message = {"id": str(number), "model": model, "usage": usage}
        stream.feed(line(type="assistant", message=message))
    assert (stream.usage_so_far.read, stream.usage_so_far.tokens) == (5000, 5000)


def test_what_the_program_puts_into_the_models_mouth_costs_nothing() -> None:
    assert fed(synthetic("server_error")).usage_so_far == NO_USAGE
