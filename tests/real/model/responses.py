"""Answers of the OpenAI Responses API: one response, or the events that build it up."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.real.model.conversation import Conversation
from tests.real.model.script import Failure, Step, ToolCall

Event = dict[str, Any]


def whole(conversation: Conversation, step: Step, ident: str) -> dict[str, Any]:
    items: list[dict[str, Any]] = []
    if step.thinking:
        summary = [{"type": "summary_text", "text": step.thinking}]
        items.append({"id": f"rs_{ident}", "type": "reasoning", "summary": summary})
    if step.text or step.refusal:
        items.append(_message(step, ident))
    items += [_call(call, f"{ident}_{number}") for number, call in enumerate(step.tools)]
    usage = step.usage
    cut_short = step.stop_reason == "max_tokens"
    return {
        "id": f"resp_{ident}",
        "object": "response",
        "created_at": 0,
        "model": conversation.model,
        "status": "incomplete" if cut_short else "completed",
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if cut_short else None,
        "output": items,
        "usage": {
            "input_tokens": usage.input_tokens,
            "input_tokens_details": {"cached_tokens": usage.cached_tokens},
            "output_tokens": usage.output_tokens,
            "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
            "total_tokens": usage.input_tokens + usage.output_tokens,
        },
    }


def _message(step: Step, ident: str) -> dict[str, Any]:
    content: dict[str, Any] = {"type": "output_text", "text": step.text, "annotations": []}
    if step.refusal:
        content = {"type": "refusal", "refusal": step.refusal}
    return {
        "id": f"msg_{ident}",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [content],
    }


def _call(call: ToolCall, ident: str) -> dict[str, Any]:
    made = {"call_id": f"call_{ident}", "name": call.name, "status": "completed"}
    if isinstance(call.input, str):
        return {"id": f"ctc_{ident}", "type": "custom_tool_call", **made, "input": call.input}
    arguments = json.dumps(call.input)
    return {"id": f"fc_{ident}", "type": "function_call", **made, "arguments": arguments}


def events(response: dict[str, Any]) -> Iterator[Event]:
    for number, event in enumerate(_events(response)):
        yield {**event, "sequence_number": number}


def _events(response: dict[str, Any]) -> Iterator[Event]:
    opening = {**response, "status": "in_progress", "output": [], "usage": None}
    opening["incomplete_details"] = None
    yield {"type": "response.created", "response": opening}
    yield {"type": "response.in_progress", "response": opening}
    for index, item in enumerate(response["output"]):
        begun = {**item, "status": "in_progress"}
        if item["type"] == "message":
            begun["content"] = []
        place = {"output_index": index}
        yield {"type": "response.output_item.added", **place, "item": begun}
        if item["type"] == "message":
            yield from _text(item, {**place, "item_id": item["id"], "content_index": 0})
        yield {"type": "response.output_item.done", **place, "item": item}
    yield {"type": f"response.{response['status']}", "response": response}


def _text(item: dict[str, Any], place: dict[str, Any]) -> Iterator[Event]:
    part = item["content"][0]
    kind = part["type"]
    said = part.get("text") or part.get("refusal") or ""
    field = "text" if kind == "output_text" else "refusal"
    yield {"type": "response.content_part.added", **place, "part": {**part, field: ""}}
    yield {"type": f"response.{kind}.delta", **place, "delta": said}
    yield {"type": f"response.{kind}.done", **place, field: said}
    yield {"type": "response.content_part.done", **place, "part": part}


def failed(response: dict[str, Any], failure: Failure) -> Event:
    said = {"code": failure.code or failure.type, "message": failure.message, **failure.details}
    ended = {**response, "status": "failed", "output": [], "usage": None, "error": said}
    return {"type": "response.failed", "response": ended}


def error(failure: Failure) -> dict[str, Any]:
    said = {
        "type": failure.type,
        "code": failure.code,
        "message": failure.message,
        "param": None,
        **failure.details,
    }
    return {"error": said}
