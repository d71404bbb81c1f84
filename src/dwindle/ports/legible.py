r"""Words of strangers, as words and nothing else.

What an agent says is read by people on terminals, by pages, and by the next agent. A character that
a terminal obeys, that turns the direction of writing around or that nobody sees at all has no
business in any of these. It is spelt out, so that one sees that it was there: `\x1b` for an
escape, `\u202e` for what turns a line around. Line ends and tabs stay; a line end of two
characters becomes one. What was spelt out cannot be told from what was written so: that is lost.

Characters that belong to a script or to a picture stay, also where they are not seen by themselves:
joiners, variation selectors, spaces that do not break.
"""

from __future__ import annotations

import re
from typing import Final

_ODD: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # obeyed by terminals
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # turn writing around
    "\u200b\u2028\u2029\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff"  # not seen
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_PLAIN: Final = bytes((9, 10, *range(32, 127)))
_OBEYED: Final = {*range(128)} - {*_PLAIN}
_LAST_OF_JSON: Final = 0xFFFF
_MORE: Final = 0x80
"""The first byte that goes on with a character of UTF-8, and the first that begins one."""
_LEAD: Final = 0xC0
_DOTS: Final = bytes(code if code in _PLAIN else ord(".") for code in range(256))


def legible(text: str) -> str:
    """The same, with everything spelt out that is no plain character."""
    if text.replace("\n", "").isprintable():  # nearly always, and quick
        return text
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    return _ODD.sub(_spelt, text)


def is_legible(text: str) -> bool:
    """Would it stay as it is?"""
    return text.isprintable() or _ODD.search(text) is None


def legible_bytes(data: bytes) -> bytes:
    """As `legible`; bytes that are not UTF-8 are spelt out too.

    What is mostly that is nothing to be read, and only shown to have been there: a dot for each.
    """
    odd = data.translate(None, _PLAIN)  # nearly always nothing, and quick
    if not odd:
        return data
    data = data.replace(b"\r\n", b"\n")
    # What is obeyed most often is ASCII, and a replacement for each kind is many times as quick.
    for code in {*odd} & _OBEYED:
        data = data.replace(bytes((code,)), _spelling(code).encode())
    if data.isascii():
        return data
    whole = data[_first_whole(data) : last_whole(data)]
    try:
        text = whole.decode()
    except UnicodeDecodeError:
        if len(odd) > len(data) // 4:
            return data.translate(_DOTS)
    else:
        if len(whole) == len(data):
            return _ODD.sub(_spelt, text).encode()
    return _ODD.sub(_spelt, data.decode("utf-8", "backslashreplace")).encode()


def last_whole(data: bytes) -> int:
    """Where the last character ends that is complete, and no line end that may go on."""
    if data.endswith(b"\r"):
        return len(data) - 1
    for back in range(1, min(3, len(data)) + 1):
        byte = data[-back]
        if byte >= _LEAD:
            length = 2 + (byte >= 0xE0) + (byte >= 0xF0)
            return len(data) - back if back < length else len(data)
        if byte < _MORE:
            break
    return len(data)


def _first_whole(data: bytes) -> int:
    at = 0
    while at < min(3, len(data)) and _MORE <= data[at] < _LEAD:
        at += 1
    return at


def _spelt(found: re.Match[str]) -> str:
    return _spelling(ord(found[0]))


def _spelling(code: int) -> str:
    """In the way of JSON where that has one: a line of JSON with such a character stays JSON."""
    if code == ord("\r"):
        return "\\r"
    if code < ord(" "):
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= _LAST_OF_JSON else f"\\U{code:08x}"
