"""Answers of the Anthropic Messages API: one message, or the events that build it up."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.real.model.conversation import Conversation
from tests.real.model.script import Failure, Step

PIECE = 200
"""Characters of text in one event."""

SIGNATURE = "c2lnbmVk"

Event = dict[str, Any]


def whole(conversation: Conversation, step: Step, ident: str) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = []
    if step.thinking:
        blocks.append({"type": "thinking", "thinking": step.thinking, "signature": SIGNATURE})
    text = step.refusal or step.text
    if text:
        blocks.append({"type": "text", "text": text})
    for number, call in enumerate(step.tools):
        ident_of_call = f"toolu_{ident}_{number}"
        blocks.append(
            {"type": "tool_use", "id": ident_of_call, "name": call.name, "input": call.input}
        )
    natural = "tool_use" if step.tools else "refusal" if step.refusal else "end_turn"
    return {
        "id": f"msg_{ident}",
        "type": "message",
        "role": "assistant",
        "model": conversation.model,
        "content": blocks,
        "stop_reason": step.stop_reason or natural,
        "stop_sequence": None,
        "usage": {
            "input_tokens": step.usage.input_tokens,
            "cache_creation_input_tokens": step.usage.cache_write_tokens,
            "cache_read_input_tokens": step.usage.cached_tokens,
            "output_tokens": step.usage.output_tokens,
        },
    }


def events(message: dict[str, Any]) -> Iterator[Event]:
    """The opening knows one token of output only; the count comes at the end."""
    opening = {
        **message,
        "content": [],
        "stop_reason": None,
        "usage": {**message["usage"], "output_tokens": 1},
    }
    yield {"type": "message_start", "message": opening}
    yield {"type": "ping"}
    for index, block in enumerate(message["content"]):
        empty, deltas = _pieces(block)
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": end, "usage": message["usage"]}
    yield {"type": "message_stop"}


def _pieces(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    if block["type"] == "text":
        text = block["text"]
        parts = [text[at : at + PIECE] for at in range(0, len(text), PIECE)]
        return {"type": "text", "text": ""}, [{"type": "text_delta", "text": p} for p in parts]
    if block["type"] == "thinking":
        return {"type": "thinking", "thinking": "", "signature": ""}, [
            {"type": "thinking_delta", "thinking": block["thinking"]},
            {"type": "signature_delta", "signature": block["signature"]},
        ]
    written = json.dumps(block["input"])
    half = len(written) // 2
    return {**block, "input": {}}, [
        {"type": "input_json_delta", "partial_json": part}
        for part in ("", written[:half], written[half:])
    ]


def failed(message: dict[str, Any], failure: Failure) -> Event:
    """In the middle of a stream it looks the same."""
    del message
    return error(failure)


def error(failure: Failure) -> dict[str, Any]:
    said = {"type": failure.type, "message": failure.message, **failure.details}
    return {"type": "error", "error": said}
