"""What `codex exec --json` prints, taken in one line at a time.

A session may print hundreds of megabytes, nearly all of it the output of commands; what is needed
of it fits on a page. So of each line only its kind is built, and of an item what it says; the rest
is stepped over. Nothing is held but the last answer, the last complaint and the counts.

Two kinds of complaint are no failure. An event `error` says that something is tried again, or
repeats what `turn.failed` says next. An item of the kind `error` is a remark (a model that it knows
nothing about). Only `turn.failed` is a failed turn, and only `turn.completed` a completed one; a
program that said neither has not done its work, whatever its exit code.

An answer counts only if nothing was done after it: what the model says between two commands is not
its report, even if it looks like one.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

import msgspec

from dwindle.adapters.agents.json_lines import JsonLines, decode_line, token_count
from dwindle.adapters.agents.prices import openai_price
from dwindle.kernel.events import NO_USAGE, Usage

MOST_SAID: Final = 4000
"""Characters that are kept of a complaint."""
WAITING: Final = "waiting for network"

REMARKS: Final = ("agent_message", "reasoning", "todo_list", "error")
"""Items that do nothing."""


class Turn(StrEnum):
    NEVER_BEGAN = "never began"
    GOING_ON = "going on"
    COMPLETED = "completed"
    FAILED = "failed"


class _Event(msgspec.Struct):
    type: Any = None
    item: msgspec.Raw = msgspec.Raw()
    usage: Any = None
    error: Any = None
    message: Any = None


class _Item(msgspec.Struct):
    type: Any = None
    text: Any = None
    message: Any = None


_EVENT: Final = msgspec.json.Decoder(_Event)
_ITEM: Final = msgspec.json.Decoder(_Item)


class CodexStream(JsonLines):
    """All that is kept of a session's output."""

    def __init__(self) -> None:
        super().__init__()
        self.turn = Turn.NEVER_BEGAN
        self.failure = ""
        """What a failed turn failed for."""
        self.answer = ""
        """The last thing that the model said, if it did nothing after it."""
        self.notice = ""
        """What is being tried again; empty once it has gone on."""
        self.waits = 0
        """How often in a row it said that it waits for the network."""
        self.remark = ""
        """The last item of the kind `error`."""
        self._counts: dict[str, Any] = {}

    def feed(self, line: bytes) -> None:
        event = self.record(_EVENT, line)
        if event is None:
            return
        match event.type:
            case "thread.started" if self.turn is Turn.NEVER_BEGAN:
                self.turn = Turn.GOING_ON
            case "turn.started":
                self.turn = Turn.GOING_ON
            case "item.started" | "item.updated" | "item.completed":
                self._take_item(
                    decode_line(_ITEM, bytes(event.item)), ends=event.type == "item.completed"
                )
            case "error":
                self._take_error(_said(event.message))
            case "turn.completed":
                self.turn = Turn.COMPLETED
                self._count(event.usage)
            case "turn.failed":
                self.turn = Turn.FAILED
                told = event.error if isinstance(event.error, dict) else {}
                self.failure = _said(told.get("message")) or self.notice
                self._count(event.usage)

    def usage(self, model: str) -> Usage:
        """As the last turn reported it, which is the sum of all; a failed turn reports none."""
        read, cached, stored, written = (
            token_count(self._counts.get(f"{name}_tokens"))
            for name in ("input", "cached_input", "cache_write_input", "output")
        )
        # What came from the cache, or went into it, is within the input.
        cached = min(cached, read)
        stored = min(stored, read - cached)
        if not read + written:
            return NO_USAGE
        price = openai_price(model)
        usd = price and price.cost(
            read=read - cached - stored, cached=cached, stored=stored, written=written
        )
        return Usage(
            tokens=read + written,
            usd=usd or 0.0,
            read=read - cached,
            cached=cached,
            written=written,
            estimated=usd is not None,
        )

    def _take_item(self, item: _Item | None, *, ends: bool) -> None:
        kind = None if item is None else item.type
        if item is None or kind not in REMARKS:
            self.answer = ""
        elif ends and kind == "agent_message":
            self.answer = item.text if isinstance(item.text, str) else ""
        elif ends and kind == "error":
            self.remark = _said(item.message)
            return
        self.notice, self.waits = "", 0

    def _take_error(self, said: str) -> None:
        self.notice = said
        self.waits = self.waits + 1 if WAITING in said else 0

    def _count(self, usage: object) -> None:
        if isinstance(usage, dict):
            self._counts = usage


def _said(value: object) -> str:
    return value.strip()[:MOST_SAID] if isinstance(value, str) else ""
