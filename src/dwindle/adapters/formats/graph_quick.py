"""Read back what we wrote ourselves, without a YAML parser.

A canonical front matter has one value per line and one spelling per value, so its lines can be
read by their indentation. This reader knows nothing else and checks next to nothing: whoever uses
it must encode the plan again and compare the bytes. If they are the same, then the plan is the one
that the bytes mean, however carelessly they were read; if not, the strict reader reads the file.
Anything unexpected is therefore simply given up on.
"""

from __future__ import annotations

import re
from typing import Any, Final

from msgspec.json import Decoder

from dwindle.adapters.formats.yaml_place import MAX_DIGITS

LINE: Final = re.compile(r'^( *)(- )?("[^"]*"|[^\s":]+):(?: (.*))?$', re.MULTILINE)
WORDS: Final[dict[str, Any]] = {"true": True, "false": False, "null": None}
STEP: Final = 2
DEEPEST: Final = 80
CHUNK: Final = 1 << 16
"""Characters whose lines are taken apart at once; all at once would take ten times the memory."""

_json = Decoder().decode


def quick_read(text: str) -> dict[str, Any] | None:
    """Give the values of a canonical front matter, or of some other text, or None."""
    try:
        return _read(text)
    except (ValueError, TypeError, LookupError):
        return None


def _read(text: str) -> dict[str, Any]:
    root: dict[str, Any] = {}
    # What is open at each indentation: the mapping whose keys stand there, the list whose dashes
    # do, and the key one step to the left that is waiting to become one or the other.
    mappings: list[Any] = [None] * DEEPEST
    lists: list[Any] = [None] * DEEPEST
    waiting: list[Any] = [None] * DEEPEST
    mappings[0] = root
    start = 0
    while start < len(text):
        end = text.find("\n", start + CHUNK) + 1 or len(text)
        for spaces, dash, key, value in LINE.findall(text, start, end):
            depth = len(spaces) // STEP
            if dash:
                items = lists[depth]
                if items is None:
                    owner, name = waiting[depth]
                    owner[name] = items = lists[depth] = []
                depth += 1
                mapping = mappings[depth] = {}
                items.append(mapping)
            else:
                mapping = mappings[depth]
                if mapping is None:
                    owner, name = waiting[depth]
                    owner[name] = mapping = mappings[depth] = {}
            name = key if key[0].isalpha() else _key(key)
            if value:
                mapping[name] = _value(value)
            else:
                depth += 1
                waiting[depth] = mapping, name
                mappings[depth] = lists[depth] = None
        start = end
    return root


def _key(text: str) -> str | int:
    return int(text) if text.isdigit() else text[1:-1]


def _value(text: str) -> Any:
    first = text[0]
    if first == '"':
        return _json(text) if "\\" in text else text[1:-1]
    if first == "[":
        return _list(text)
    if first.isalpha():
        return WORDS.get(text, text)
    if first == "{":
        return {}
    if "." in text or "e" in text:
        return float(text)
    if len(text) > MAX_DIGITS:
        raise ValueError(text)
    return int(text)


def _list(text: str) -> Any:
    if '"' not in text:
        if text == "[]":
            return []
        parts = text[1:-1].split(", ")
        return parts if parts[0][0].isalpha() else [int(part) for part in parts]
    try:
        return _json(text)
    except ValueError:
        return [part.strip('"') for part in text[1:-1].split(", ")]
