"""One line of JSON that a program prints, read as a record with a few known fields.

Strictly, but for one thing: a number that is none (NaN, Infinity, 1e400) is taken for null. It is
known to happen with prices, in the one line that decides, and must not cost more than itself.
"""

from __future__ import annotations

import json
import math
from typing import TypeVar

import msgspec

_T = TypeVar("_T")
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError)


def read(decoder: msgspec.json.Decoder[_T], line: bytes) -> _T | None:
    """None if it is no such record."""
    try:
        return decoder.decode(line)
    except _UNREADABLE as problem:
        is_number = "out of range" in str(problem)
        if not is_number and b"NaN" not in line and b"Infinity" not in line:
            return None
    try:
        found = json.loads(line, parse_constant=lambda _: None, parse_float=_number)
        return decoder.decode(json.dumps(found).encode())
    except _UNREADABLE:
        return None


def _number(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None
