"""Bounded capture, for every way in which bytes can arrive."""

from __future__ import annotations

from hashlib import sha256

from hypothesis import given
from hypothesis import strategies as st

from dwindle.adapters.process.capture import LONGEST_LINE, HeadAndTail, Lines
from dwindle.ports.process import Captured

PIECES = st.lists(st.binary(max_size=12), max_size=12)


@given(pieces=PIECES, limit=st.integers(0, 40))
def test_head_and_tail_property(pieces: list[bytes], limit: int) -> None:
    kept = HeadAndTail(limit)
    for piece in pieces:
        kept.add(piece)
    text, half = b"".join(pieces), limit // 2
    rest = text[half:]
    is_cut = len(rest) > half
    assert kept.captured() == Captured(
        head=text[:half],
        tail=rest[len(rest) - half :] if is_cut else rest,
        size=len(text),
        digest=sha256(text).hexdigest() if is_cut else "",
    )


@given(pieces=st.lists(st.text("ab\n", max_size=6).map(str.encode), max_size=12))
def test_lines_property(pieces: list[bytes]) -> None:
    seen: list[bytes] = []
    lines = Lines(seen.append)
    for piece in pieces:
        assert lines.add(piece) is None
    assert lines.end() is None
    *whole, last = b"".join(pieces).split(b"\n")
    assert seen == ([*whole, last] if last else whole)


def test_a_long_line_comes_in_pieces() -> None:
    seen: list[bytes] = []
    lines = Lines(seen.append)
    line = b"x" * (2 * LONGEST_LINE + 5)
    lines.add(line[:100])
    lines.add(line[100:])
    lines.add(b"y\nz")
    lines.end()
    assert [len(piece) for piece in seen] == [LONGEST_LINE, LONGEST_LINE, 6, 1]
    lines.add(line + b"\n")
    assert [len(piece) for piece in seen[4:]] == [LONGEST_LINE, LONGEST_LINE, 5]


def test_nothing_is_shown_after_a_word() -> None:
    seen: list[bytes] = []

    def watch(line: bytes) -> str | None:
        seen.append(line)
        return "stop" if line == b"b" else None

    assert Lines(watch).add(b"a\nb\nc\n") == "stop"
    assert seen == [b"a", b"b"]
    long = Lines(lambda line: f"{len(line)} bytes")
    assert long.add(b"x" * (LONGEST_LINE + 1)) == f"{LONGEST_LINE} bytes"
    assert long.add(b"x" * (LONGEST_LINE + 1) + b"\n") == f"{LONGEST_LINE} bytes"
