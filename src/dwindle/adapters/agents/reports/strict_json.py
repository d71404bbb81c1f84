"""JSON from a stranger: read strictly, or found at the end of whatever it printed.

The reader in the standard library takes NaN, infinities and the second of two equal keys. A report
decides what a run does next, so none of these may pass for something that was said.
"""

from __future__ import annotations

import codecs
import json
import math
import re
from typing import Any, Final, NoReturn

MAX_BYTES: Final = 1 << 20
"""A report is a few sentences and some paths."""
MAX_DEPTH: Final = 32
SEARCH_COST: Final = 16 << 20
"""Characters that looking for an object may read; output can be made to cost its square."""

ERROR_COST: Final = 256
TOO_DEEP_COST: Final = 16_384
"""What an error costs besides, measured in characters that could have been read instead."""
STRIDE: Final = 8192

Object = dict[str, Any]


class JsonRefused(Exception):
    """What is wrong with a text that should have been one JSON object."""


def strict_object(data: bytes, most: int = MAX_BYTES) -> Object:
    """The one JSON object that `data` is."""
    if len(data) > most:
        raise JsonRefused(f"it is larger than {most} bytes")
    if not data.strip():
        raise JsonRefused("it is empty")
    try:
        text = data.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        raise JsonRefused(f"it is not UTF-8 (byte {error.start})") from None
    try:
        found = _STRICT.decode(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise JsonRefused(f"it is not JSON: {error.msg} ({where})") from None
    except RecursionError:
        raise JsonRefused(_TOO_DEEP) from None
    except ValueError:
        # The only other thing that the reader raises: more digits than Python will convert.
        raise JsonRefused("it has a number with thousands of digits") from None
    if not isinstance(found, dict):
        raise JsonRefused(f"it is {kind_of(found)}, not an object")
    _refuse_odd_values(found)
    return found


def last_object(text: str) -> str | None:
    """The last JSON object in a text, as it is spelt there; objects within it do not count.

    Leniently found, so that a report with a fault is reported as faulty and not overlooked. None
    also if looking for it would take too long.
    """
    found: str | None = None
    cost, at = 0, 0
    while candidate := _OPENING.search(text, at):
        at = candidate.start()
        if at > STRIDE:
            # An error of the reader counts the lines before it: from the beginning of the text,
            # unless that is brought nearer.
            text, at = text[at:], 0
        try:
            _, end = _LENIENT.raw_decode(text, at)
        except (json.JSONDecodeError, RecursionError, ValueError) as error:
            read = error.pos - at if isinstance(error, json.JSONDecodeError) else TOO_DEEP_COST
            cost += read + ERROR_COST
            if cost > SEARCH_COST:
                return None
            at += 1
        else:
            found, at = text[at:end], end
    return found


def kind_of(value: object) -> str:
    """What a JSON value is, in a word for people."""
    if value is None:
        return "null"
    kinds = {bool: "a boolean", int: "a number", float: "a number", str: "a text", list: "a list"}
    return kinds.get(type(value), "an object")


_TOO_DEEP: Final = f"it is nested more than {MAX_DEPTH} levels deep"


def _without_doubles(pairs: list[tuple[str, Any]]) -> Object:
    found: Object = {}
    for name, value in pairs:
        if name in found:
            raise JsonRefused(f"it has the key {name[:60]!a} twice")
        found[name] = value
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise JsonRefused(f"it has {name}, which is no number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise JsonRefused(f"it has the number {text[:30]}, which is too large")
    return number


def _refuse_odd_values(found: Object) -> None:
    """Nesting, and halves of surrogate pairs, which no file could hold."""
    level: list[Any] = [found]
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                below += [*value.keys(), *value.values()]
            elif isinstance(value, list):
                below += value
            elif isinstance(value, str) and not value.isascii():
                _refuse_surrogate(value)
        if not below:
            return
        level = below
    raise JsonRefused(_TOO_DEEP)


def _refuse_surrogate(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise JsonRefused("it has half of a surrogate pair, which is no character") from None


_STRICT: Final = json.JSONDecoder(
    object_pairs_hook=_without_doubles, parse_constant=_refuse_constant, parse_float=_finite
)
_LENIENT: Final = json.JSONDecoder()
_OPENING: Final = re.compile(r"\{(?=\s*[\"}])")
