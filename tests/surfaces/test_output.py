"""Nothing that an agent wrote is a command to the terminal."""

from __future__ import annotations

import pytest

from dwindle.surfaces.cli.output import complain, say, visible
from dwindle.surfaces.cli.text import one_line

EVIL = {
    "clears the screen": ("\x1b[2J", "\\x1b[2J"),
    "sets the title": ("\x1b]0;owned\x07", "\\x1b]0;owned\\x07"),
    "goes back in the line": ("no\ryes\b", "no\\ryes\\x08"),
    "the same in one character": ("\x9b2J", "\\x9b2J"),
    "turns the text around": ("\u202egnp.exe", "\\u202egnp.exe"),
    "paints as we do not": ("\x1b[41mred", "\\x1b[41mred"),
    "ends in the middle": ("\x1b", "\\x1b"),
}


@pytest.mark.parametrize("story", EVIL)
def test_what_a_terminal_would_obey_is_spelt_out(story: str) -> None:
    text, shown = EVIL[story]
    assert visible(f"a {text} ä\n\tb") == f"a {shown} ä\n\tb"


def test_our_own_colours_stay() -> None:
    text = "\x1b[32mgreen\x1b[0m and \x1b[1mbold\x1b[0m"
    assert visible(text) == text


def test_both_ways_out_are_covered(capsys: pytest.CaptureFixture[str]) -> None:
    say("out \x1b[2J")
    complain("err \x1b[2J")
    assert capsys.readouterr() == ("out \\x1b[2J\n", "err \\x1b[2J\n")


def test_a_line_of_a_table_has_neither_line_ends_nor_escapes() -> None:
    assert one_line("a\nb\x1b[2J\x9b") == "a b\\x1b[2J\\x9b"
