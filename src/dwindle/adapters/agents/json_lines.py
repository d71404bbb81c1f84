"""A stream of JSON records, one in each line, as claude and codex print it.

A line is decoded strictly, with one exception: a number that is none (NaN, Infinity, 1e400) becomes
null. Prices are known to be such numbers, in the one line that decides, and the rest of that line
must not be lost.
"""

from __future__ import annotations

import json
import math
from typing import Final, TypeVar

import msgspec

LONGEST_LINE: Final = 1 << 20
"""The runner hands on longer lines in pieces of this size, and a piece is no record."""
MOST_TOKENS: Final = 10**12

_T = TypeVar("_T")
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError)


class JsonLines:
    """Decodes the lines of a stream and counts those that are no records."""

    def __init__(self) -> None:
        self.lines = 0
        self.odd = 0
        """Lines, or pieces of lines, that were no JSON object."""
        self._in_long_line = False

    def record(self, decoder: msgspec.json.Decoder[_T], line: bytes) -> _T | None:
        """None for a blank line, which does not count, and for an odd one."""
        is_long = len(line) >= LONGEST_LINE
        found = None
        if not is_long and not self._in_long_line:
            if not line.strip():
                return None
            found = decode_line(decoder, line)
        self._in_long_line = is_long
        self.lines += 1
        self.odd += found is None
        return found


def decode_line(decoder: msgspec.json.Decoder[_T], line: bytes) -> _T | None:
    """None if it is no such record."""
    try:
        return decoder.decode(line)
    except _UNREADABLE as problem:
        is_number = "out of range" in str(problem)
        if not is_number and b"NaN" not in line and b"Infinity" not in line:
            return None
    try:
        found = json.loads(line, parse_constant=lambda _: None, parse_float=_finite)
        return decoder.decode(json.dumps(found).encode())
    except _UNREADABLE:
        return None


def token_count(value: object) -> int:
    """The value if it can be a number of tokens, else 0."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0
    return int(value) if 0 <= value <= MOST_TOKENS else 0  # False for NaN


def _finite(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None
