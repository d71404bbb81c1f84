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

from dwindle.adapters.agents.codex_prices import estimate
from dwindle.adapters.agents.event_line import read
from dwindle.kernel.events import NO_USAGE, Usage

LONGEST_LINE: Final = 1 << 20
"""Whoever reads for us hands on longer lines in pieces of this size, and a piece says nothing."""
MOST_TOKENS: Final = 10**12
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


class CodexStream:
    """All that is kept of a session's output."""

    def __init__(self) -> None:
        self.lines = 0
        self.odd = 0
        """Lines, or pieces of lines, that were no JSON object."""
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
        self._cut = False

    def feed(self, line: bytes) -> None:
        self.lines += 1
        if len(line) >= LONGEST_LINE or self._cut:
            self._cut = len(line) >= LONGEST_LINE
            self.odd += 1
            return
        if not line.strip():
            self.lines -= 1
            return
        event = read(_EVENT, line)
        if event is None:
            self.odd += 1
            return
        match event.type:
            case "thread.started" if self.turn is Turn.NEVER_BEGAN:
                self.turn = Turn.GOING_ON
            case "turn.started":
                self.turn = Turn.GOING_ON
            case "item.started" | "item.updated" | "item.completed":
                self._goes_on(read(_ITEM, bytes(event.item)), ends=event.type == "item.completed")
            case "error":
                self._complains(_said(event.message))
            case "turn.completed":
                self.turn = Turn.COMPLETED
                self._count(event.usage)
            case "turn.failed":
                self.turn = Turn.FAILED
                told = event.error if isinstance(event.error, dict) else {}
                self.failure = _said(told.get("message")) or self.notice
                self._count(event.usage)

    def used(self, model: str) -> Usage:
        """As the last turn told it, which is the sum of all; nothing is told of a failed one."""
        read, cached, stored, written = (
            _tokens(self._counts.get(f"{name}_tokens"))
            for name in ("input", "cached_input", "cache_write_input", "output")
        )
        # What came from the cache, or went into it, is within the input.
        cached = min(cached, read)
        stored = min(stored, read - cached)
        if not read + written:
            return NO_USAGE
        usd = estimate(
            model, read=read - cached - stored, cached=cached, stored=stored, written=written
        )
        return Usage(
            tokens=read + written,
            usd=usd or 0.0,
            read=read - cached,
            cached=cached,
            written=written,
            estimated=usd is not None,
        )

    def _goes_on(self, item: _Item | None, *, ends: bool) -> None:
        kind = None if item is None else item.type
        if item is None or kind not in REMARKS:
            self.answer = ""
        elif ends and kind == "agent_message":
            self.answer = item.text if isinstance(item.text, str) else ""
        elif ends and kind == "error":
            self.remark = _said(item.message)
            return
        self.notice, self.waits = "", 0

    def _complains(self, said: str) -> None:
        self.notice = said
        self.waits = self.waits + 1 if WAITING in said else 0

    def _count(self, usage: object) -> None:
        if isinstance(usage, dict):
            self._counts = usage


def _said(value: object) -> str:
    return value.strip()[:MOST_SAID] if isinstance(value, str) else ""


def _tokens(value: object) -> int:
    """A number of tokens, if it can be one."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0
    return int(value) if 0 <= value <= MOST_TOKENS else 0  # False for NaN
