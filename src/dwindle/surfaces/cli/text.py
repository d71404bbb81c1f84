"""Text for a terminal of 80 columns.

What stands in a plan was written by anybody. None of it reaches the terminal as a control sequence:
what cannot be seen is spelt out, and a line break becomes a space.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Any, Final

WIDTH: Final = 80
FEW: Final = 0.1
"""Dollars, below which cents say too little."""
_ESCAPES: Final = {
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "dim": "2",
    "bold": "1",
}


def painted(text: str, colour: str) -> str:
    """Coloured, if a person is looking at it and does not mind."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return f"\x1b[{_ESCAPES[colour]}m{text}\x1b[0m"


def one_line(text: str) -> str:
    """White space becomes single spaces, what cannot be seen is spelt out."""
    flat = " ".join(text.split())
    if flat.isprintable():
        return flat
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in flat)


def columns(text: str) -> int:
    """How wide a terminal shows it."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width  # noqa: PLC0415 - seldom needed

    return sum(0 if combining(c) else 2 if east_asian_width(c) in {"W", "F"} else 1 for c in text)


def shortened(text: str, width: int) -> str:
    """One line of at most `width` columns."""
    text = one_line(text)
    if columns(text) <= width:
        return text
    kept = ""
    for character in text:
        if columns(kept) + columns(character) > width - 3:
            break
        kept += character
    return kept.rstrip() + "..."


def listed(names: Iterable[str], *, width: int = WIDTH, none: str = "none") -> str:
    """As many names as fit on one line, and how many there are besides."""
    waiting = list(names)
    shown = ""
    for index, name in enumerate(waiting):
        longer = f"{shown}, {name}" if shown else name
        tail = f" and {len(waiting)} more" if index + 1 < len(waiting) else ""
        if shown and columns(longer + tail) > width:
            return f"{shown} and {len(waiting) - index} more"
        shown = longer
    return shown or none


def wrapped(text: str, width: int) -> list[str]:
    """Lines of at most `width` columns; a word that is longer is cut."""
    lines: list[str] = []
    line = ""
    for word in one_line(text).split(" "):
        while columns(word) > width:
            head = word[: width if word.isascii() else width // 2]
            if line:
                lines.append(line)
                line = ""
            lines.append(head)
            word = word[len(head) :]  # noqa: PLW2901 - what is left of it
        if line and columns(line) + 1 + columns(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line] if line or not lines else lines


def row(label: str, text: str, *, margin: int, more: str = "") -> str:
    """A label and its text beside it, wrapped under itself."""
    lines = wrapped(text, WIDTH - margin)
    lines += wrapped(more, WIDTH - margin) if more else []
    first = f"{label:<{margin}}{lines[0]}".rstrip()
    return "\n".join([first, *(f"{'':<{margin}}{line}" for line in lines[1:])])


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def money_text(usd: float, *, estimated: bool = False) -> str:
    """Dollars, marked if they are an estimate."""
    figure = f"{usd:,.2f}"
    if 0 < usd < FEW:
        cents, rest = f"{usd:.4f}"[:4], f"{usd:.4f}"[4:]
        figure = cents + rest.rstrip("0")
    return f"about {figure} USD" if estimated else f"{figure} USD"


def time_text(seconds: float) -> str:
    whole = int(seconds)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    parts = [f"{hours} h"] * bool(hours) + [f"{minutes} min"] * bool(minutes)
    return " ".join(parts + [f"{rest} s"] * bool(rest or not parts))


def as_json(value: Any) -> str:
    """For programs: plain ASCII, so that no locale can spoil it; keys in the documented order."""
    import json  # noqa: PLC0415 - seldom needed

    return json.dumps(value, indent=2)
