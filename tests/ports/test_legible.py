"""Words of strangers: nothing is obeyed, nothing is hidden, and plain text stays as it is."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwindle.ports.legible import is_legible, last_whole, legible, legible_bytes

ODD = {
    "clears the screen": ("\x1b[2J", "\\x1b[2J"),
    "is a link of a terminal": ("\x1b]8;;http://x\x07y", "\\x1b]8;;http://x\\x07y"),
    "goes back in the line": ("no\ryes\b", "no\\ryes\\x08"),
    "is obeyed as one character": ("\x9b2J\x7f", "\\u009b2J\\u007f"),
    "turns the text around": ("\u202egnp\u2066", "\\u202egnp\\u2066"),
    "cannot be seen": ("a\u200bb\ufeff\U000e0041", "a\\u200bb\\ufeff\\U000e0041"),
    "is a line end of another kind": ("a\u2028b\x85c", "a\\u2028b\\u0085c"),
    "is nothing at all": ("a\0b", "a\\x00b"),
    "comes from another system": ("a\r\nb", "a\nb"),
}
PLAIN = (
    "",
    "plain",
    "two\nlines\tand a tab",
    "ä 漢字 \N{FAMILY}\u200d\N{NO-BREAK SPACE}",
    "a\\x1b",
)


@pytest.mark.parametrize("story", ODD)
def test_what_is_no_plain_text_is_spelt_out(story: str) -> None:
    text, shown = ODD[story]
    assert (legible(f"ä {text} ."), is_legible(text)) == (f"ä {shown} .", False)
    assert legible_bytes(f"ä {text} .".encode()) == f"ä {shown} .".encode()


@pytest.mark.parametrize("text", PLAIN)
def test_plain_text_stays_as_it_is(text: str) -> None:
    assert (legible(text), legible_bytes(text.encode()), is_legible(text)) == (
        text,
        text.encode(),
        True,
    )


def test_half_of_a_pair_is_spelt_out_so_that_a_file_can_hold_it() -> None:
    assert legible("a\ud800b").encode() == b"a\\ud800b"


def test_bytes_that_are_no_utf_8_are_spelt_out_where_they_stand_among_text() -> None:
    assert legible_bytes(b"a long line of text \x80\xff ends") == (
        b"a long line of text \\x80\\xff ends"
    )


def test_what_is_mostly_such_bytes_is_shown_to_have_been_there() -> None:
    assert legible_bytes(bytes(range(128, 256)) + b"end") == b"." * 128 + b"end"


def test_text_of_another_script_that_was_cut_in_a_character_is_no_rubbish() -> None:
    cut = ("漢" * 20).encode()[1:-1]
    assert legible_bytes(cut) == b"\\xbc\\xa2" + ("漢" * 18).encode() + b"\\xe6\\xbc"


def test_a_record_that_was_spelt_out_is_the_same_record() -> None:
    record = {"said": "\u202e\x9b\x7f and \u200b"}
    line = json.dumps(record, ensure_ascii=False).encode()
    assert json.loads(legible_bytes(line)) == record


@given(text=st.text("aä漢\N{FAMILY}\r\n", max_size=8), data=st.data())
def test_a_stream_may_be_cut_anywhere(text: str, data: st.DataObject) -> None:
    whole = text.encode()
    at = data.draw(st.integers(0, len(whole)))
    end = last_whole(whole[:at])
    assert at - end < 4
    shown = legible_bytes(whole[:end]) + legible_bytes(whole[end:])
    assert shown == legible_bytes(whole)


@given(text=st.text())
def test_the_two_ways_agree_and_once_is_enough(text: str) -> None:
    shown = legible(text)
    assert (legible(shown), is_legible(shown)) == (shown, True)
    if text.isascii():
        assert legible_bytes(text.encode()) == shown.encode()
