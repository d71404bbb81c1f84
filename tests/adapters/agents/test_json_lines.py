"""A line of JSON: strict, except about numbers that are none."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dwindle.adapters.agents.json_lines import decode_line


class Record(msgspec.Struct):
    cost: Any = None
    text: str = ""
    rest: msgspec.Raw = msgspec.Raw()


DECODER = msgspec.json.Decoder(Record)


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "Infinity", "1e400", "-1e999"])
def test_a_number_that_is_none_is_null_and_the_rest_is_kept(number: str) -> None:
    found = decode_line(
        DECODER, f'{{"cost": {number}, "text": "NaN \\u00e9", "rest": [1.5]}}'.encode()
    )
    assert found is not None
    assert (found.cost, found.text, bytes(found.rest)) == (None, "NaN é", b"[1.5]")


@pytest.mark.parametrize(
    "line",
    [
        b"NaN",
        b"[NaN]",
        b'{"cost": NaN',
        b'{"cost": NaN, "text": 5}',
        b'{"cost": NaN, "text": "\\ud800"}',
        b'{"text": "\\ud800"}',
        b'{"cost": NaN, "text": "\xff"}',
        b'{"cost": NaN, "rest": ' + b"[" * 100_000,
        b'{"cost": NaN, "rest": ' + b"9" * 5_000 + b"}",
    ],
)
def test_everything_else_is_as_strict_as_ever(line: bytes) -> None:
    assert decode_line(DECODER, line) is None
