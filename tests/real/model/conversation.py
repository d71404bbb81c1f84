"""One request of either API as the same thing: a conversation that waits for its next answer.

Reading is strict. A program that sends what we do not know is a program that changed, and a test
that goes on regardless would assert something about an answer that the program never understood.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Api(StrEnum):
    ANTHROPIC = "anthropic"
    OPENAI = "openai"


class NotUnderstood(AssertionError):
    """A request that is not what the API asks for, or that the script has no answer to."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    text: str
    is_error: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    api: Api
    model: str
    stream: bool
    system: str
    users: tuple[str, ...]
    """Everything said in the user's name, tool results left out."""
    tools: tuple[str, ...]
    tool_results: tuple[ToolResult, ...]
    turn: int
    """How many answers of the model are in it."""
    effort: str | None = None
    schema: Mapping[str, Any] | None = None
    """What the answer's text shall conform to."""

    @property
    def user(self) -> str:
        return "\n".join(self.users)

    @property
    def last_user(self) -> str:
        return self.users[-1] if self.users else ""

    @property
    def cwd(self) -> str:
        """Where the program says that it works; both say it in their own words."""
        said = f"{self.system}\n{self.user}"
        found = re.search(r"<cwd>([^<]+)</cwd>|[Ww]orking directory: (\S+)", said)
        return "" if found is None else found[1] or found[2]


def _need(condition: object, what: str) -> None:
    if not condition:
        raise NotUnderstood(what)


def _typed(body: Mapping[str, Any], name: str, kind: type | tuple[type, ...]) -> Any:
    value = body.get(name)
    _need(isinstance(value, kind), f"{name} is {value!r:.80}")
    return value


def text_of(content: Any, kinds: Sequence[str]) -> str:
    """The text of a content field: a string, or blocks of which only these kinds are expected."""
    if isinstance(content, str):
        return content
    _need(isinstance(content, list), f"content is {content!r:.80}")
    parts = []
    for block in content:
        _need(block.get("type") in kinds, f"a content block {block!r:.200}")
        parts.append(str(block.get("text", "")))
    return "\n".join(parts)


# --- Messages ------------------------------------------------------------------------------------

_ANSWERED = ("text", "thinking", "redacted_thinking", "tool_use")


def read_messages(body: Mapping[str, Any]) -> Conversation:
    """A body of `POST /v1/messages`. Raises NotUnderstood."""
    model = _typed(body, "model", str)
    messages = _typed(body, "messages", list)
    _need(isinstance(body.get("max_tokens"), int), "max_tokens is missing")
    _need(messages and messages[0].get("role") == "user", "a conversation begins with the user")
    system: list[str] = []
    if "system" in body:
        system.append(text_of(body["system"], ("text",)))
    users: list[str] = []
    results: list[ToolResult] = []
    called: list[str] = []
    turn = 0
    for message in messages:
        role = message.get("role")
        if role == "assistant":
            turn += 1
            called += _calls(message["content"])
        elif role == "system":  # in the middle of a conversation, behind a beta header
            system.append(text_of(message["content"], ("text",)))
        else:
            _need(role == "user", f"a message of the role {role!r}")
            said = _said_by_user(message["content"], called, results)
            if said:
                users.append(said)
    config = body.get("output_config") or {}
    output = config.get("format") or {}
    return Conversation(
        api=Api.ANTHROPIC,
        model=model,
        stream=bool(body.get("stream")),
        system="\n".join(system),
        users=tuple(users),
        tools=_names(body.get("tools")),
        tool_results=tuple(results),
        turn=turn,
        effort=config.get("effort"),
        schema=output.get("schema"),
    )


def _calls(content: Any) -> list[str]:
    if isinstance(content, str):
        return []
    for block in content:
        _need(block.get("type") in _ANSWERED, f"an answered block {block!r:.200}")
    return [block["id"] for block in content if block["type"] == "tool_use"]


def _said_by_user(content: Any, called: Sequence[str], results: list[ToolResult]) -> str:
    if isinstance(content, str):
        return content
    said = []
    for block in content:
        if block.get("type") == "tool_result":
            ident = block.get("tool_use_id")
            _need(ident in called, f"a result for {ident!r}, which was not called")
            text = text_of(block.get("content", ""), ("text", "image", "tool_reference"))
            results.append(ToolResult(text, bool(block.get("is_error"))))
        else:
            _need(block.get("type") in {"text", "image"}, f"a block of the user {block!r:.200}")
            said.append(str(block.get("text", "")))
    return "\n".join(said)


def _names(tools: Any) -> tuple[str, ...]:
    """A tool of the service itself has a type and may have no name."""
    return tuple(str(tool.get("name") or tool["type"]) for tool in tools or ())


# --- Responses -----------------------------------------------------------------------------------

_MODELS_OWN = ("function_call", "custom_tool_call", "reasoning")
_OUTPUTS = ("function_call_output", "custom_tool_call_output")


def read_responses(body: Mapping[str, Any]) -> Conversation:
    """A body of `POST /v1/responses`. Raises NotUnderstood."""
    model = _typed(body, "model", str)
    items = _typed(body, "input", list)
    _need(not body.get("previous_response_id"), "nothing is stored here to go on from")
    system = [str(body.get("instructions") or "")]
    users: list[str] = []
    results: list[ToolResult] = []
    called: list[str] = []
    offered: list[Any] = list(body.get("tools") or ())
    turn, models_before = 0, False
    for item in items:
        kind, role = item.get("type", "message"), item.get("role")
        models = kind in _MODELS_OWN or (kind == "message" and role == "assistant")
        turn += models and not models_before
        models_before = models
        if models:
            called += [item["call_id"]] if "call_id" in item else []
        elif kind in _OUTPUTS:
            ident = item.get("call_id")
            _need(ident in called, f"an output for {ident!r}, which was not called")
            text = text_of(item.get("output", ""), ("input_text", "input_image"))
            results.append(ToolResult(text))
        elif kind == "additional_tools":  # newer models are offered theirs like this, in groups
            offered += [tool for group in item["tools"] for tool in group["tools"]]
        else:
            _need(kind == "message", f"an input item {item!r:.200}")
            _need(role in {"user", "developer", "system"}, f"a message of the role {role!r}")
            said = text_of(item["content"], ("input_text", "input_image"))
            (users if role == "user" else system).append(said)
    output = (body.get("text") or {}).get("format") or {}
    return Conversation(
        api=Api.OPENAI,
        model=model,
        stream=bool(body.get("stream")),
        system="\n".join(system),
        users=tuple(users),
        tools=_names(offered),
        tool_results=tuple(results),
        turn=turn,
        effort=(body.get("reasoning") or {}).get("effort"),
        schema=output.get("schema"),
    )
