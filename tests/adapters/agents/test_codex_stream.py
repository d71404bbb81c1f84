from __future__ import annotations

import tracemalloc

import pytest
from tests.adapters.agents.codex_lines import BEGUN, completed, error, failed, item, line, ran, said

from dwindle.adapters.agents.codex.stream import CodexStream, Turn
from dwindle.adapters.agents.json_lines import LONGEST_LINE
from dwindle.adapters.agents.prices import OPENAI, openai_price
from dwindle.kernel.events import NO_USAGE, Usage


def fed(*lines: bytes) -> CodexStream:
    stream = CodexStream()
    for one in lines:
        stream.feed(one)
    return stream


def test_a_turn_is_completed_only_if_it_says_so() -> None:
    assert fed().turn is Turn.NEVER_BEGAN
    assert fed(*BEGUN, said("done")).turn is Turn.GOING_ON
    assert fed(*BEGUN, said("done"), completed()).turn is Turn.COMPLETED
    assert fed(*BEGUN, said("done"), completed(), BEGUN[1]).turn is Turn.GOING_ON
    assert fed(*BEGUN, completed(), failed("no")).turn is Turn.FAILED


def test_an_error_is_a_failure_only_if_the_turn_failed() -> None:
    remarked = fed(*BEGUN, item("error", message="Model metadata not found"), said("ok"))
    assert (remarked.remark, remarked.answer) == ("Model metadata not found", "ok")
    assert (remarked.turn, remarked.failure, remarked.notice) == (Turn.GOING_ON, "", "")
    retried = fed(*BEGUN, error("Reconnecting... 1/5 (cut)"))
    assert (retried.turn, retried.notice) == (Turn.GOING_ON, "Reconnecting... 1/5 (cut)")
    retried.feed(said("there again"))
    assert retried.notice == ""
    broken = fed(*BEGUN, error("it broke"), failed("it broke"))
    assert (broken.turn, broken.failure) == (Turn.FAILED, "it broke")


def test_a_failure_without_words_takes_those_that_came_before() -> None:
    assert fed(*BEGUN, error("it broke"), line("turn.failed", error=None)).failure == "it broke"


def test_an_answer_counts_only_if_nothing_was_done_after_it() -> None:
    assert fed(*BEGUN, said("I will look."), ran(), said("done")).answer == "done"
    assert fed(*BEGUN, said('{"success": true}'), ran(), completed()).answer == ""
    assert fed(*BEGUN, said("a"), item("command_execution", of="item.started")).answer == ""
    assert fed(*BEGUN, said("a"), item("something_new")).answer == ""
    after = (item("reasoning", text="hm"), item("todo_list", items=[]), item("error", message="x"))
    assert fed(*BEGUN, said("a"), *after, completed()).answer == "a"


def test_how_often_it_waits_for_the_network_is_counted_in_a_row() -> None:
    waits = error("Reconnecting... waiting for network (Connection failed)")
    stream = fed(*BEGUN, waits, waits)
    assert stream.waits == 2
    stream.feed(ran())
    assert stream.waits == 0
    assert fed(waits, error("Reconnecting... 1/5"), waits).waits == 1


# --- usage ---------------------------------------------------------------------------------------


def test_what_came_from_the_cache_is_within_the_input() -> None:
    stream = fed(
        *BEGUN,
        completed(
            input_tokens=1000,
            cached_input_tokens=600,
            cache_write_input_tokens=100,
            output_tokens=50,
            reasoning_output_tokens=20,
        ),
    )
    assert stream.usage("gpt-6-sol") == Usage(
        tokens=1050,
        usd=(300 * 2 + 600 * 0.2 + 100 * 2.5 + 50 * 10) / 1_000_000,
        read=400,
        cached=600,
        written=50,
        estimated=True,
    )
    assert stream.usage("") == Usage(tokens=1050, read=400, cached=600, written=50)


def test_turns_tell_the_sum_of_all() -> None:
    stream = fed(completed(input_tokens=1), completed(input_tokens=3, output_tokens=1))
    assert stream.usage("") == Usage(tokens=4, read=3, written=1)


@pytest.mark.parametrize(
    "usage",
    [
        b"NaN",
        b'{"input_tokens":NaN,"output_tokens":-Infinity}',
        b'{"input_tokens":-5,"output_tokens":1e300}',
        b'{"input_tokens":"100","output_tokens":true}',
        b'{"input_tokens":null}',
        b"[1]",
    ],
)
def test_a_count_that_cannot_be_is_none_and_costs_nothing_else(usage: bytes) -> None:
    stream = fed(*BEGUN, said("done"), b'{"type":"turn.completed","usage":' + usage + b"}")
    assert (stream.turn, stream.answer, stream.odd) == (Turn.COMPLETED, "done", 0)
    assert stream.usage("gpt-5.5") == NO_USAGE


def test_more_from_the_cache_than_was_read_is_all_of_it() -> None:
    stream = fed(completed(input_tokens=10, cached_input_tokens=50, cache_write_input_tokens=9))
    assert stream.usage("") == Usage(tokens=10, cached=10)


def test_a_dated_model_costs_what_its_family_does_and_an_unknown_one_nobody_knows() -> None:
    assert openai_price("gpt-5.5-2026-04-23") == OPENAI["gpt-5.5"]
    assert openai_price("gpt-5.5-codex") is None
    assert all(p.cached < p.read <= p.stored and p.read < p.written for p in OPENAI.values())


# --- strangers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "garbage",
    [
        b"Segmentation fault",
        b'{"type":"turn.completed"',
        b"[]",
        b"null",
        b"\xff\xfe{}",
        b'{"type":NaN',
        b"NaN",
        b'{"a":' * 5000,
    ],
)
def test_garbage_is_counted_and_nothing_else(garbage: bytes) -> None:
    stream = fed(*BEGUN, garbage, said("done"))
    assert (stream.odd, stream.lines, stream.turn) == (1, 4, Turn.GOING_ON)
    assert stream.answer == "done"


def test_blank_lines_are_none_and_unknown_events_say_nothing() -> None:
    stream = fed(*BEGUN, b"", b"  ", line("turn.paused", why=[1]), b'{"type":["turn.completed"]}')
    assert (stream.lines, stream.odd, stream.turn) == (4, 0, Turn.GOING_ON)


@pytest.mark.parametrize(
    "odd",
    [
        b'{"type":"item.completed"}',
        b'{"type":"item.completed","item":5}',
        b'{"type":"item.completed","item":{"type":"agent_message","text":7}}',
    ],
)
def test_an_item_that_cannot_be_read_takes_the_answer_away(odd: bytes) -> None:
    assert fed(*BEGUN, said("before"), odd).answer == ""


def test_the_pieces_of_a_line_that_is_too_long_say_nothing() -> None:
    piece = b'{"type":"turn.completed"}'.ljust(LONGEST_LINE)
    stream = fed(*BEGUN, said("done"), piece, completed(), completed(input_tokens=1))
    assert (stream.odd, stream.turn) == (2, Turn.COMPLETED)
    assert stream.usage("").tokens == 1


def test_memory_does_not_grow_with_the_transcript() -> None:
    stream = fed(*BEGUN)
    loud = ran("x" * 100_000)
    stream.feed(loud)
    tracemalloc.start()
    for _ in range(300):
        stream.feed(loud)
        stream.feed(said("y" * 1000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 500_000
