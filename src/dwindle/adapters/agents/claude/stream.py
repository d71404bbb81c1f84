"""What `claude -p --output-format stream-json` prints, taken in one line at a time.

A transcript may have hundreds of megabytes, nearly all of it what tools printed; what is needed of
it fits on a page. So each line is read twice at most: once for its kind, where everything else is
stepped over without being built, and again, for few kinds, into what is kept. Nothing but that is
held, however long the session.

The kind is never guessed from how a line begins: versions order the keys of an object differently.
Every field that another version might spell in another way is taken as it comes and judged later,
because one odd field must not cost the whole line. A line that is no JSON is counted and otherwise
ignored.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import msgspec

from dwindle.adapters.agents.json_lines import JsonLines, decode_line, token_count
from dwindle.adapters.agents.prices import claude_price
from dwindle.kernel.events import NO_USAGE, Usage

REMEMBERED: Final = 64
"""Messages that may still be going on; each comes as several lines."""
MOST_USD: Final = 10**6
BYTES_PER_TOKEN: Final = 4
"""Roughly; for what the model wrote in a session whose program never printed the sum."""
SYNTHETIC: Final = "<synthetic>"
"""The model of messages that the program itself puts into the model's mouth."""


class LineKind(StrEnum):
    """What a line is about."""

    INIT = "init"
    SAID = "said"
    """By the model, or by the program in its name."""
    RESULT = "result"
    OTHER = "other"
    ODD = "odd"
    """Not a JSON object."""


# --- lines ---------------------------------------------------------------------------------------


class _Head(msgspec.Struct):
    type: Any = None
    subtype: Any = None


class Init(msgspec.Struct):
    """What the program says about itself before it begins."""

    tools: Any = None
    permission_mode: Any = msgspec.field(default=None, name="permissionMode")
    plugins: Any = None
    mcp_servers: Any = None
    version: Any = msgspec.field(default=None, name="claude_code_version")


class _Message(msgspec.Struct):
    id: Any = None
    model: Any = None
    usage: Any = None
    content: msgspec.Raw = msgspec.Raw()


class _Said(msgspec.Struct):
    message: _Message
    parent_tool_use_id: Any = None
    error: Any = None
    api_error: Any = None


class Outcome(msgspec.Struct):
    """The `result` event. Its `subtype` says success of nearly everything."""

    is_error: Any = None
    subtype: Any = None
    api_error_status: Any = None
    terminal_reason: Any = None
    stop_reason: Any = None
    num_turns: Any = None
    result: Any = None
    errors: Any = None
    structured_output: Any = None
    total_cost_usd: Any = None
    usage: Any = None
    model_usage: Any = msgspec.field(default=None, name="modelUsage")


class _Limit(msgspec.Struct):
    status: Any = None
    resets_at: Any = msgspec.field(default=None, name="resetsAt")


class _Limited(msgspec.Struct):
    rate_limit_info: _Limit


_HEAD: Final = msgspec.json.Decoder(_Head)
_INIT: Final = msgspec.json.Decoder(Init)
_SAID: Final = msgspec.json.Decoder(_Said)
_RESULT: Final = msgspec.json.Decoder(Outcome)
_LIMITED: Final = msgspec.json.Decoder(_Limited)


@dataclass(slots=True)
class _MessageUsage:
    """What is known of one message: the same counts come with each of its lines."""

    model: str
    read: int
    cached: int
    stored: int
    written: int
    size: int = 0


class ClaudeStream(JsonLines):
    """All that is kept of a session's output."""

    def __init__(self) -> None:
        super().__init__()
        self.init: Init | None = None
        self.result: Outcome | None = None
        """The last one, unless the model has gone on since."""
        self.error = ""
        """The program's own word for what went wrong last; empty once the model has answered."""
        self.api_error = ""
        self.resets_at: float | None = None
        """When a limit that was reached will be lifted, in seconds since 1970."""
        self._messages: OrderedDict[str, _MessageUsage] = OrderedDict()
        self._counted = NO_USAGE

    def feed(self, line: bytes) -> LineKind:
        odd = self.odd
        head = self.record(_HEAD, line)
        if head is None:
            return LineKind.ODD if self.odd > odd else LineKind.OTHER
        match head.type:
            case "assistant":
                return self._said(decode_line(_SAID, line))
            case "result":
                self.result = decode_line(_RESULT, line)
                return LineKind.RESULT
            case "system" if head.subtype == "init":
                self.init = decode_line(_INIT, line)
                return LineKind.INIT
            case "rate_limit_event":
                self._limited(decode_line(_LIMITED, line))
        return LineKind.OTHER

    @property
    def usage_so_far(self) -> Usage:
        """What was used so far, as far as one can tell from the messages; always an estimate."""
        found = self._counted
        for message_usage in self._messages.values():
            found = _with(found, message_usage)
        return found

    def _said(self, line: _Said | None) -> LineKind:
        if line is None:
            return LineKind.SAID
        own = line.parent_tool_use_id is None
        if own:
            self.result = None
            self.error = _word(line.error)
            self.api_error = _word(line.api_error)
        message = line.message
        model = _word(message.model)
        if model != SYNTHETIC:
            self._count(_word(message.id), model, message)
        return LineKind.SAID

    def _count(self, name: str, model: str, message: _Message) -> None:
        message_usage = self._messages.get(name)
        if message_usage is None:
            used = message.usage if isinstance(message.usage, dict) else {}
            message_usage = self._messages[name] = _MessageUsage(
                model=model,
                read=token_count(used.get("input_tokens")),
                cached=token_count(used.get("cache_read_input_tokens")),
                stored=token_count(used.get("cache_creation_input_tokens")),
                written=token_count(used.get("output_tokens")),
            )
            if len(self._messages) > REMEMBERED:
                _, oldest = self._messages.popitem(last=False)
                self._counted = _with(self._counted, oldest)
        message_usage.size += len(memoryview(message.content))

    def _limited(self, line: _Limited | None) -> None:
        if line is None or line.rate_limit_info.status != "rejected":
            return
        resets_at = line.rate_limit_info.resets_at
        if isinstance(resets_at, (int, float)) and not isinstance(resets_at, bool):
            self.resets_at = float(resets_at) if math.isfinite(resets_at) else None


def _word(value: object) -> str:
    return value if isinstance(value, str) else ""


def _with(usage: Usage, part: _MessageUsage) -> Usage:
    written = max(part.written, part.size // BYTES_PER_TOKEN)
    usd = claude_price(part.model).cost(
        read=part.read, cached=part.cached, stored=part.stored, written=written
    )
    return Usage(
        tokens=usage.tokens + part.read + part.cached + part.stored + written,
        usd=usage.usd + usd,
        read=usage.read + part.read + part.stored,
        cached=usage.cached + part.cached,
        written=usage.written + written,
        estimated=True,
    )


# --- the sum, as the program tells it ------------------------------------------------------------


def dollars(value: object) -> float | None:
    """A price, if it can be one."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if 0 <= value <= MOST_USD else None


def usage_of(outcome: Outcome) -> Usage:
    """What a session used: all its models, subagents included.

    `usage` is of the main conversation only, and stands in where there is nothing else.
    """
    per_model = [
        _MessageUsage(
            model=str(model),
            read=token_count(part.get("inputTokens")),
            cached=token_count(part.get("cacheReadInputTokens")),
            stored=token_count(part.get("cacheCreationInputTokens")),
            written=token_count(part.get("outputTokens")),
        )
        for model, part in _object(outcome.model_usage).items()
        if isinstance(part, dict)
    ]
    if not per_model:
        main = _object(outcome.usage)
        per_model = [
            _MessageUsage(
                model="",
                read=token_count(main.get("input_tokens")),
                cached=token_count(main.get("cache_read_input_tokens")),
                stored=token_count(main.get("cache_creation_input_tokens")),
                written=token_count(main.get("output_tokens")),
            )
        ]
    summed = NO_USAGE
    for part in per_model:
        summed = _with(summed, part)
    said = dollars(outcome.total_cost_usd)
    usd = summed.usd if said is None else said
    return Usage(
        tokens=summed.tokens,
        usd=usd,
        read=summed.read,
        cached=summed.cached,
        written=summed.written,
        estimated=said is None,
    )


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
