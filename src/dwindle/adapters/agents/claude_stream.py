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

from dwindle.adapters.agents.event_line import read
from dwindle.adapters.agents.prices import estimate
from dwindle.kernel.events import NO_USAGE, Usage

LONGEST_LINE: Final = 1 << 20
"""Whoever reads for us hands on longer lines in pieces of this size, and a piece says nothing."""
REMEMBERED: Final = 64
"""Messages that may still be going on; each comes as several lines."""
MOST_TOKENS: Final = 10**12
MOST_USD: Final = 10**6
BYTES_PER_TOKEN: Final = 4
"""Roughly; for what the model wrote in a session whose program never told the sum."""
SYNTHETIC: Final = "<synthetic>"
"""The model of messages that the program itself puts into the model's mouth."""


class Kind(StrEnum):
    """What a line was about, as far as anybody here wants to know."""

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
class _Told:
    """What is known of one message: the same counts come with each of its lines."""

    model: str
    read: int
    cached: int
    stored: int
    written: int
    size: int = 0


class ClaudeStream:
    """All that is kept of a session's output."""

    def __init__(self) -> None:
        self.lines = 0
        self.odd = 0
        """Lines, or pieces of lines, that were no JSON object."""
        self.init: Init | None = None
        self.result: Outcome | None = None
        """The last one, unless the model has gone on since."""
        self.error = ""
        """The program's own word for what went wrong last; empty once the model has answered."""
        self.api_error = ""
        self.resets_at: float | None = None
        """When a limit that was reached will be lifted, in seconds since 1970."""
        self._messages: OrderedDict[str, _Told] = OrderedDict()
        self._seen = NO_USAGE
        self._cut = False

    def feed(self, line: bytes) -> Kind:
        self.lines += 1
        if len(line) >= LONGEST_LINE or self._cut:
            self._cut = len(line) >= LONGEST_LINE
            self.odd += 1
            return Kind.ODD
        if not line.strip():
            self.lines -= 1
            return Kind.OTHER
        head = read(_HEAD, line)
        if head is None:
            self.odd += 1
            return Kind.ODD
        match head.type:
            case "assistant":
                return self._said(read(_SAID, line))
            case "result":
                self.result = read(_RESULT, line)
                return Kind.RESULT
            case "system" if head.subtype == "init":
                self.init = read(_INIT, line)
                return Kind.INIT
            case "rate_limit_event":
                self._limited(read(_LIMITED, line))
        return Kind.OTHER

    @property
    def seen(self) -> Usage:
        """What was used so far, as far as one can tell from the messages; always an estimate."""
        found = self._seen
        for told in self._messages.values():
            found = _with(found, told)
        return found

    def _said(self, line: _Said | None) -> Kind:
        if line is None:
            return Kind.SAID
        own = line.parent_tool_use_id is None
        if own:
            self.result = None
            self.error = _word(line.error)
            self.api_error = _word(line.api_error)
        message = line.message
        model = _word(message.model)
        if model != SYNTHETIC:
            self._count(_word(message.id), model, message)
        return Kind.SAID

    def _count(self, name: str, model: str, message: _Message) -> None:
        told = self._messages.get(name)
        if told is None:
            used = message.usage if isinstance(message.usage, dict) else {}
            told = self._messages[name] = _Told(
                model=model,
                read=count(used.get("input_tokens")),
                cached=count(used.get("cache_read_input_tokens")),
                stored=count(used.get("cache_creation_input_tokens")),
                written=count(used.get("output_tokens")),
            )
            if len(self._messages) > REMEMBERED:
                _, oldest = self._messages.popitem(last=False)
                self._seen = _with(self._seen, oldest)
        told.size += len(memoryview(message.content))

    def _limited(self, line: _Limited | None) -> None:
        if line is None or line.rate_limit_info.status != "rejected":
            return
        resets_at = line.rate_limit_info.resets_at
        if isinstance(resets_at, (int, float)) and not isinstance(resets_at, bool):
            self.resets_at = float(resets_at) if math.isfinite(resets_at) else None


def _word(value: object) -> str:
    return value if isinstance(value, str) else ""


def _with(usage: Usage, told: _Told) -> Usage:
    written = max(told.written, told.size // BYTES_PER_TOKEN)
    usd = estimate(
        told.model, read=told.read, cached=told.cached, stored=told.stored, written=written
    )
    return Usage(
        tokens=usage.tokens + told.read + told.cached + told.stored + written,
        usd=usage.usd + usd,
        read=usage.read + told.read + told.stored,
        cached=usage.cached + told.cached,
        written=usage.written + written,
        estimated=True,
    )


# --- the sum, as the program tells it ------------------------------------------------------------


def count(value: object) -> int:
    """A number of tokens, if it can be one."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0
    return int(value) if 0 <= value <= MOST_TOKENS else 0  # False for NaN


def dollars(value: object) -> float | None:
    """A price, if it can be one."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if 0 <= value <= MOST_USD else None


def used(outcome: Outcome) -> Usage:
    """What a session used: all its models, subagents included.

    `usage` is of the main conversation only, and stands in where there is nothing else.
    """
    per_model = [
        _Told(
            model=str(model),
            read=count(part.get("inputTokens")),
            cached=count(part.get("cacheReadInputTokens")),
            stored=count(part.get("cacheCreationInputTokens")),
            written=count(part.get("outputTokens")),
        )
        for model, part in _object(outcome.model_usage).items()
        if isinstance(part, dict)
    ]
    if not per_model:
        main = _object(outcome.usage)
        per_model = [
            _Told(
                model="",
                read=count(main.get("input_tokens")),
                cached=count(main.get("cache_read_input_tokens")),
                stored=count(main.get("cache_creation_input_tokens")),
                written=count(main.get("output_tokens")),
            )
        ]
    reckoned = NO_USAGE
    for part in per_model:
        reckoned = _with(reckoned, part)
    said = dollars(outcome.total_cost_usd)
    usd = reckoned.usd if said is None else said
    return Usage(
        tokens=reckoned.tokens,
        usd=usd,
        read=reckoned.read,
        cached=reckoned.cached,
        written=reckoned.written,
        estimated=said is None,
    )


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
