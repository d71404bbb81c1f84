"""Log lines for people: JSON records of agents are put into words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from dwindle.text.escape import excerpt

LONGEST = 2000
"""Characters of one line that are worth looking at."""


def readable(lines: Iterable[str]) -> list[str]:
    """Blank lines are left out; a record without words in it, too."""
    return [said for line in lines for said in _lines_in(line[: LONGEST * 20]) if said.strip()]


def _lines_in(line: str) -> Iterator[str]:
    if not line.startswith("{"):
        yield line[:LONGEST]
        return
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        yield line[:LONGEST]
        return
    words = list(_words(record)) if isinstance(record, dict) else []
    for said in words:
        # Decoding the record has turned its escapes into control characters again.
        yield from excerpt(said, LONGEST).split("\n")


def _words(record: dict[str, Any]) -> Iterator[str]:
    """What is said, and which tool is used, wherever these programs put it."""
    message = record.get("message")
    blocks = message.get("content") if isinstance(message, dict) else None
    item = record.get("item")
    if isinstance(item, dict):
        yield from (item[name] for name in ("text", "command") if isinstance(item.get(name), str))
    if isinstance(blocks, str):
        yield blocks
    for block in blocks if isinstance(blocks, list) else ():
        if not isinstance(block, dict):
            continue
        if isinstance(block.get("text"), str):
            yield block["text"]
        elif block.get("type") == "tool_use":
            yield f"[{block.get('name', 'tool')}] {_argument(block.get('input'))}".rstrip()
    for name in ("result", "error"):
        if isinstance(record.get(name), str):
            yield record[name]


def _argument(given: object) -> str:
    if not isinstance(given, dict):
        return ""
    wanted = ("command", "file_path", "path", "pattern", "description")
    return next((str(given[name]) for name in wanted if isinstance(given.get(name), str)), "")
