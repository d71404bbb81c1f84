"""Layout for a terminal: one line, a width in columns, wrapping, lists that fit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from dwindle.text.escape import escape

WIDTH: Final = 80
RULER: Final = 5
"""A word that repeats one character so often is a line that a test runner drew."""
BETWEEN: Final = " | "


def one_line(text: str) -> str:
    """Escaped; white space becomes single spaces."""
    return escape(" ".join(text.split()))


def without_rulers(text: str) -> str:
    """In one line, without the lines that test runners draw."""
    return " ".join(word for word in text.split() if not _is_ruler(word))


def _is_ruler(word: str) -> bool:
    return len(word) >= RULER and len(set(word)) == 1 and not word[0].isalnum()


def columns(text: str) -> int:
    """How wide a terminal shows it."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width  # noqa: PLC0415 - seldom needed

    return sum(0 if combining(c) else 2 if east_asian_width(c) in {"W", "F"} else 1 for c in text)


def shortened(text: str, width: int) -> str:
    """One line of at most `width` columns; `...` stands for the rest."""
    text = one_line(text)
    if columns(text) <= width:
        return text
    kept = ""
    for character in text:
        if columns(kept) + columns(character) > width - 3:
            break
        kept += character
    return kept.rstrip() + "..."


def cut(text: str, width: int) -> str:
    """At most `width` columns of a line that is escaped already; blanks inside of it stay."""
    while text and columns(text) > width:
        text = text[:-1]
    return text.rstrip()


def packed(parts: Iterable[str], width: int) -> tuple[str, ...]:
    """As many parts on each line as fit, with a bar between them."""
    lines: list[str] = []
    for part in parts:
        if lines and columns(lines[-1] + BETWEEN + part) <= width:
            lines[-1] += BETWEEN + part
        else:
            lines.append(cut(shortened(part, width), width))
    return tuple(lines)


def listed(names: Iterable[str], *, width: int = WIDTH, none: str = "none") -> str:
    """As many names as fit on one line, and the number of the others."""
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
    """Lines of at most `width` columns; a longer word is cut."""
    lines: list[str] = []
    line = ""
    for word in one_line(text).split(" "):
        while columns(word) > width:
            head = word[: width if word.isascii() else width // 2]
            if line:
                lines.append(line)
                line = ""
            lines.append(head)
            word = word[len(head) :]  # noqa: PLW2901 - the rest of it
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
