"""Elements of HTML and SVG. No text can get into a page without being escaped.

Only what was made here is a `Markup`; every other string is foreign text and is escaped where it is
put in. Concatenating the two gives text again, so a mistake shows, and does no harm.
"""

from __future__ import annotations

from html import escape
from typing import Final


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


EMPTY: Final = Markup("")
WITHOUT_END: Final = frozenset({"meta", "br", "hr"})


def element(name: str, /, *inside: str | None, **attributes: object) -> Markup:
    """`class_` is the attribute `class`, `font_size` is `font-size`; None leaves one out."""
    said = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_number(value), quote=True)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in WITHOUT_END:
        return Markup(f"<{name}{said}>")
    return Markup(f"<{name}{said}>{joined(*inside)}</{name}>")


def joined(*parts: str | None) -> Markup:
    return Markup("".join(text(part) for part in parts if part))


def text(words: str) -> Markup:
    return words if isinstance(words, Markup) else Markup(escape(words, quote=False))


def _number(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
