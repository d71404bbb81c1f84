"""What the scripted model says: lanes of steps, as Python values or as JSON.

A conversation takes the first lane that fits it. Which step it gets follows from the conversation
alone: the number of answers that are already in it. So a request that is sent again gets the same
answer again, and sessions that run at the same time do not disturb each other. The one thing that
is counted is how often a step with `fail_first` was asked for, and that per session.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.real.model.conversation import Api, Conversation


@dataclass(frozen=True, slots=True)
class ToolCall:
    name: str
    input: Mapping[str, Any] | str = field(default_factory=dict)
    """A text is the input of a freeform tool (Responses only)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    input_tokens: int = 100
    output_tokens: int = 20
    cached_tokens: int = 0
    """Read from the cache. The Messages API counts them besides the input, Responses within it."""
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An error of the service, in the shape of whichever API is asked."""

    status: int = 500
    type: str = "api_error"
    message: str = "scripted failure"
    code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    """More fields of the error object, such as `resets_at`."""
    in_stream: bool = False
    """Said inside an answer that began with status 200."""


@dataclass(frozen=True, slots=True)
class Step:
    """One answer of the model, or what comes in its place."""

    text: str | None = None
    tools: tuple[ToolCall, ...] = ()
    thinking: str = ""
    refusal: str = ""
    stop_reason: str = ""
    """In the words of the Messages API: `max_tokens` and so on. Empty: what fits the answer."""
    usage: Usage = Usage()
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    """Seconds before the first byte."""
    hang: float = 0.0
    """Seconds between the opening of the answer and its content."""
    drop: bool = False
    """Cut the connection in the middle of the answer."""
    failure: Failure | None = None
    fail_first: int | None = None
    """How many requests of a session for this step meet the failure or the drop; None: all."""

    def without_trouble(self) -> Step:
        return dataclasses.replace(self, failure=None, drop=False, hang=0.0, delay=0.0)


Answer = Step | Callable[[Conversation], Step]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """Steps for the conversations that fit. Patterns are searched for; an empty one always fits."""

    steps: tuple[Answer, ...]
    name: str = ""
    api: Api | None = None
    model: str = ""
    system: str = ""
    user: str = ""
    tools: tuple[str, ...] = ()
    """Names that must be offered."""
    lacks: tuple[str, ...] = ()
    """Names that must not be offered."""
    repeats: bool = False
    """The last step answers everything that follows; else to ask for more is an error."""

    def fits(self, conversation: Conversation) -> bool:
        return (
            self.api in {None, conversation.api}
            and re.search(self.model, conversation.model) is not None
            and re.search(self.system, conversation.system, re.DOTALL) is not None
            and re.search(self.user, conversation.user, re.DOTALL) is not None
            and all(name in conversation.tools for name in self.tools)
            and not any(name in conversation.tools for name in self.lacks)
        )

    def answer(self, conversation: Conversation) -> Step | None:
        """None if the script is at its end."""
        turn = conversation.turn
        if turn >= len(self.steps):
            if not self.repeats:
                return None
            turn = len(self.steps) - 1
        step = self.steps[turn]
        return _filled(step(conversation) if callable(step) else step, conversation)


@dataclass(frozen=True, slots=True)
class Script:
    lanes: tuple[Lane, ...]

    def __post_init__(self) -> None:
        names = [lane.name for lane in self.lanes if lane.name]
        if doubled := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"several lanes are named {', '.join(doubled)}")
        if any(not lane.steps for lane in self.lanes):
            raise ValueError("a lane without steps has nothing to say")

    def lane(self, conversation: Conversation) -> Lane | None:
        return next((lane for lane in self.lanes if lane.fits(conversation)), None)

    @classmethod
    def from_json(cls, text: str) -> Script:
        """`{"lanes": [{"user": "...", "steps": [{"text": "..."}]}]}`; unknown keys are refused."""
        data = json.loads(text)
        if set(data) != {"lanes"}:
            raise ValueError(f"a script has the key lanes and no other, not {sorted(data)}")
        return cls(tuple(_lane(lane) for lane in data["lanes"]))


def _lane(data: dict[str, Any]) -> Lane:
    given = dict(data)
    given["steps"] = tuple(_step(step) for step in given.get("steps", ()))
    if "api" in given:
        given["api"] = Api(given["api"])
    for name in ("tools", "lacks"):
        if name in given:
            given[name] = tuple(given[name])
    return Lane(**given)


def _step(data: dict[str, Any]) -> Step:
    given = dict(data)
    if "tools" in given:
        given["tools"] = tuple(ToolCall(**call) for call in given["tools"])
    if "usage" in given:
        given["usage"] = Usage(**given["usage"])
    if given.get("failure") is not None:
        given["failure"] = Failure(**given["failure"])
    return Step(**given)


# --- blanks --------------------------------------------------------------------------------------

BLANK = re.compile(r"\{\{(cwd|tool_result|user~.+?)\}\}", re.DOTALL)
"""`{{cwd}}`, `{{tool_result}}` (the last one), `{{user~REGEX}}` (its group 1, in the prompts)."""


def _filled(step: Step, conversation: Conversation) -> Step:
    return dataclasses.replace(
        step,
        text=None if step.text is None else _fill(step.text, conversation),
        tools=tuple(
            ToolCall(call.name, _fill_all(call.input, conversation)) for call in step.tools
        ),
    )


def _fill_all(value: Any, conversation: Conversation) -> Any:
    if isinstance(value, str):
        return _fill(value, conversation)
    if isinstance(value, Mapping):
        return {key: _fill_all(part, conversation) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_fill_all(part, conversation) for part in value]
    return value


def _fill(text: str, conversation: Conversation) -> str:
    def word(blank: re.Match[str]) -> str:
        what = blank[1]
        if what == "cwd":
            return conversation.cwd
        if what == "tool_result":
            return conversation.tool_results[-1].text if conversation.tool_results else ""
        found = re.search(what.removeprefix("user~"), conversation.user, re.DOTALL)
        if found is None:
            raise ValueError(f"nothing in the prompt fits the blank {blank[0]}")
        return found[1]

    return BLANK.sub(word, text)
