"""Text laid out for a terminal."""

from __future__ import annotations

from dwindle.text.terminal import cut, listed, one_line, packed, row, shortened, without_rulers


def test_a_line_of_a_table_has_neither_line_ends_nor_escapes() -> None:
    assert one_line("a\nb\x1b[2J\x9b") == "a b\\x1b[2J\\u009b"


def test_rulers_of_test_runners_are_left_out() -> None:
    assert without_rulers("a\n====== b ------ c ==") == "a b c =="


def test_a_width_is_counted_in_columns() -> None:
    assert shortened("漢字漢字 and more", 10) == "漢字漢..."
    assert cut("a  漢字 ", 5) == "a  漢"


def test_what_fits_stands_on_one_line() -> None:
    assert packed(("one", "two", "three"), 9) == ("one | two", "three")
    assert listed(("one", "two", "three"), width=14) == "one and 2 more"
    assert listed(()) == "none"


def test_a_row_is_wrapped_under_itself() -> None:
    assert row("label", "word " * 16, margin=8, more="more") == (
        f"label   {'word ' * 13}word\n        word word\n        more"
    )
