"""Files that are no text, or no JSON: where they stop to be, and in which words that is said."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from dwindle.adapters.formats.tree.file import MAX_BYTES, decode
from dwindle.adapters.formats.tree.json_text import MAX_NESTING, MAX_VALUES

FRESH = (Path(__file__).parent / "data" / "tree" / "fresh.json").read_bytes()


def told(data: bytes) -> list[tuple[int | None, tuple[str | int, ...], str]]:
    """What a refusal says, and that it is one."""
    decoded = decode(data)
    assert decoded.tree is None
    return [(p.line, p.where, p.what) for p in decoded.problems]


# --- bytes that are no text --------------------------------------------------------------------


def test_a_byte_order_mark_is_refused() -> None:
    assert told(b"\xef\xbb\xbf" + FRESH) == [(1, (), "a byte order mark")]


def test_crlf_is_refused_once_and_the_rest_is_still_looked_at() -> None:
    data = FRESH.replace(b'"order": 0', b'"order": "0"').replace(b"\n", b"\r\n")
    assert told(data) == [
        (1, (), "a carriage return (CR LF)"),
        (5, ("root", "order"), "order is '0', not a whole number"),
    ]


def test_bytes_that_are_no_utf8_are_refused_with_their_line() -> None:
    assert told(FRESH.replace(b"Root", b"R\xf6ot")) == [(6, (), "byte 0xf6 is no UTF-8")]


def test_utf16_is_refused() -> None:
    assert told(FRESH.decode().encode("utf-16"))[0] == (1, (), "byte 0xff is no UTF-8")


def test_a_huge_file_is_refused_at_once() -> None:
    data = b" " * 100_000_000
    began = time.perf_counter()
    assert told(data) == [
        (None, (), f"the file has 100000000 bytes, and at most {MAX_BYTES} are read")
    ]
    assert time.perf_counter() - began < 0.1


# --- text that is no JSON ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("", 1, "the file is empty"),
        (" \n\t\n", 3, "the file is empty"),
        ("{", 1, "the end of the file where a key belongs"),
        ("[1", 1, "the end of the file where ',' or ']' belongs"),
        ('{"version": 1 "root"', 1, "'\"' where ',' or '}' belongs"),
        ('{"version"\n 1}', 2, "'1' where ':' belongs"),
        ("{version: 1}", 1, "'v' where a key belongs"),
        ("{'version': 1}", 1, '"\'" where a key belongs'),
        ('{"version": 1,\n}', 2, "a comma before '}'"),
        ("[1,]", 1, "a comma before ']'"),
        ("[,1]", 1, "',' where a value belongs"),
        ('{"version": 01}', 1, "a number that goes on with '1'"),
        ('{"version": 0x1}', 1, "a number that goes on with 'x'"),
        ('{"version": 1.}', 1, "'.' where ',' or '}' belongs"),
        ('{"version": +1}', 1, "'+' where a value belongs"),
        ('{"version": True}', 1, "'True' is no JSON"),
        ('{"version": nul}', 1, "'nul' is no JSON"),
        ("// a tree\n{}", 1, "'/' where a value belongs"),
    ],
)
def test_text_that_is_no_json_is_refused_where_it_stops_to_be(
    text: str, line: int, what: str
) -> None:
    assert [(at, said) for at, _, said in told(text.encode())] == [(line, what)]


@pytest.mark.parametrize(
    "string",
    ['"open', '"tab\there"', r'"\x41"', r'"\u12"', '"\\', '"\n"', r'"\u001f\ud800\udc00\ud800\u"'],
)
def test_strings_are_strict(string: str) -> None:
    what = "a string that does not end, or holds a bare control character or a bad escape"
    assert told(f'{{"version": {string}}}'.encode()) == [(1, ("version",), what)]


def test_python_words_come_with_the_word_that_is_meant() -> None:
    hints = [decode(f"[{word}]".encode()).problems[0].hint for word in ("True", "None", "yes")]
    assert hints == ["write true", "write null", ""]


def test_two_documents_are_refused() -> None:
    assert told(FRESH + FRESH) == [(15, (), "something follows the end of the document")]


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"root":' * 100_000,
        '{"version": 1, "root": ' + '{"children": [' * 100_000,
        '{"version": 1, "root": {"children": ' + "[" * 100_000 + "]" * 100_000 + "}}",
    ],
)
def test_a_hundred_thousand_levels_are_refused_without_a_traceback(text: str) -> None:
    assert told(text.encode())[-1][2] == f"nested more than {MAX_NESTING} levels deep"


def test_too_many_values_are_refused_rather_than_looked_at() -> None:
    data = b"[" + b"0," * MAX_VALUES + b"0]"
    assert told(data) == [(1, (MAX_VALUES - 1,), f"more than {MAX_VALUES} values")]
