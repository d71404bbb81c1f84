"""Escaped text: a terminal obeys nothing in it, nothing is invisible, plain text is unchanged."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwindle.text.escape import (
    complete_length,
    escape,
    escape_but_colours,
    escape_bytes,
    escape_prompt,
    excerpt,
    is_plain,
)

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
def test_what_is_no_plain_text_is_escaped(story: str) -> None:
    text, shown = ODD[story]
    assert (escape(f"ä {text} ."), is_plain(text)) == (f"ä {shown} .", False)
    assert escape_bytes(f"ä {text} .".encode()) == f"ä {shown} .".encode()


@pytest.mark.parametrize("text", PLAIN)
def test_plain_text_stays_as_it_is(text: str) -> None:
    assert (escape(text), escape_bytes(text.encode()), is_plain(text)) == (
        text,
        text.encode(),
        True,
    )


def test_half_of_a_pair_is_escaped_so_that_a_file_can_hold_it() -> None:
    assert escape("a\ud800b").encode() == b"a\\ud800b"


def test_bytes_that_are_no_utf_8_are_escaped_where_they_stand_among_text() -> None:
    assert escape_bytes(b"a long line of text \x80\xff ends") == (
        b"a long line of text \\x80\\xff ends"
    )


def test_what_is_mostly_such_bytes_is_shown_to_have_been_there() -> None:
    assert escape_bytes(bytes(range(128, 256)) + b"end") == b"." * 128 + b"end"


def test_text_of_another_script_that_was_cut_in_a_character_is_no_rubbish() -> None:
    cut = ("漢" * 20).encode()[1:-1]
    assert escape_bytes(cut) == b"\\xbc\\xa2" + ("漢" * 18).encode() + b"\\xe6\\xbc"


def test_a_record_that_was_escaped_is_the_same_record() -> None:
    record = {"said": "\u202e\x9b\x7f and \u200b"}
    line = json.dumps(record, ensure_ascii=False).encode()
    assert json.loads(escape_bytes(line)) == record


@given(text=st.text("aä漢\N{FAMILY}\r\n", max_size=8), data=st.data())
def test_a_stream_may_be_cut_anywhere(text: str, data: st.DataObject) -> None:
    whole = text.encode()
    at = data.draw(st.integers(0, len(whole)))
    end = complete_length(whole[:at])
    assert at - end < 4
    shown = escape_bytes(whole[:end]) + escape_bytes(whole[end:])
    assert shown == escape_bytes(whole)


@given(text=st.text())
def test_the_two_ways_agree_and_once_is_enough(text: str) -> None:
    shown = escape(text)
    assert (escape(shown), is_plain(shown)) == (shown, True)
    if text.isascii():
        assert escape_bytes(text.encode()) == shown.encode()


# --- for terminals, views and prompts ------------------------------------------------------------

ON_A_TERMINAL = {
    "clears the screen": ("\x1b[2J", "\\x1b[2J"),
    "sets the title": ("\x1b]0;owned\x07", "\\x1b]0;owned\\x07"),
    "goes back in the line": ("no\ryes\b", "no\\ryes\\x08"),
    "the same in one character": ("\x9b2J", "\\u009b2J"),
    "turns the text around": ("\u202egnp.exe", "\\u202egnp.exe"),
    "paints as we do not": ("\x1b[41mred", "\\x1b[41mred"),
    "ends in the middle": ("\x1b", "\\x1b"),
}
REACHING_OUT = {
    "at the beginning": ("@/etc/passwd", r"\@/etc/passwd"),
    "at home": ("see @~/.ssh/id_rsa", r"see \@~/.ssh/id_rsa"),
    "of another user": ("see @~root/x", r"see \@~root/x"),
    "above": ("a\n@../../x and @a/../../b", "a\n\\@../../x and \\@a/../../b"),
    "in quotes": ('@"/etc/my file" @"a b/../c"', r'\@"/etc/my file" \@"a b/../c"'),
    "with lines": ("(@/etc/passwd#L1-2)", r"(\@/etc/passwd#L1-2)"),
    "behind another kind of blank": ("\N{NO-BREAK SPACE}@/x", "\N{NO-BREAK SPACE}\\@/x"),
}
HARMLESS = (
    "bob@in.txt",
    "@dataclass",
    "import x from '@/components/x'",
    "@types/node and @docs/spec.md",
    "`@/x`",
    r"\@/x",
    "a@/x",
)


@pytest.mark.parametrize("story", ON_A_TERMINAL)
def test_what_a_terminal_would_obey_is_escaped(story: str) -> None:
    text, shown = ON_A_TERMINAL[story]
    assert escape_but_colours(f"a {text} ä\n\tb") == f"a {shown} ä\n\tb"


def test_our_own_colours_stay() -> None:
    text = "\x1b[32mgreen\x1b[0m and \x1b[1mbold\x1b[0m"
    assert escape_but_colours(text) == text


@pytest.mark.parametrize("story", REACHING_OUT)
def test_a_path_that_leads_out_is_no_reference(story: str) -> None:
    said, escaped = REACHING_OUT[story]
    assert escape_prompt(said) == escaped


@pytest.mark.parametrize("said", HARMLESS)
def test_other_words_stay_as_they_are(said: str) -> None:
    assert escape_prompt(said) == said


def test_an_excerpt_is_escaped_and_cut() -> None:
    assert excerpt("a\r\nb\tc\rd\x00\x9b1m\u2028\ud800") == (
        "a\nb\tc\\rd\\x00\\u009b1m\\u2028\\ud800"
    )
    assert excerpt("x" * 30, longest=10) == "x" * 10 + "\n[20 more]"
