"""What agents and plans say, as text and nothing but text.

Everything that a view shows passes through here, once, before it is anywhere near a terminal or a
page: an escape sequence, a bell, a character that turns the direction of writing around are spelt
out, so that one sees that they were there. What is left still has to be escaped for the language
that it is put into (HTML, Markdown): that is the business of whoever writes it.
"""

from __future__ import annotations

from typing import Final

from dwindle.surfaces.progress import RULER

KEPT: Final = "\n\t"
LONGEST: Final = 20_000
"""Characters of one text in a view; what is longer is read from where it is kept."""


def plain(text: str, longest: int = LONGEST) -> str:
    """Lines stay lines; what cannot be seen is spelt out; the end of a long text is left out."""
    cut = text if len(text) <= longest else f"{text[:longest]}\n[{len(text) - longest} more]"
    if cut.isprintable():
        return cut
    whole = cut.replace("\r\n", "\n")
    return "".join(c if c.isprintable() or c in KEPT else spelt(c) for c in whole)


def without_rulers(text: str) -> str:
    """In one line, without the lines that test runners draw."""
    return " ".join(word for word in text.split() if len(word) < RULER or len(set(word)) > 1)


def spelt(character: str) -> str:
    return character.encode("unicode_escape").decode()


def decoded(data: bytes) -> str:
    """Bytes that anybody may have written."""
    return plain(data.decode("utf-8", "replace"), longest=max(LONGEST, len(data)))
