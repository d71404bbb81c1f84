r"""Escaping of characters that a terminal or a prompt would obey, or that a reader cannot see.

The words of agents, programs and plans reach people on terminals, pages, and the next agent. A
character that drives a terminal, that reverses the direction of writing or that is invisible is
replaced by its escape sequence: `\x1b`, `\u202e`. Line ends and tabs stay; CRLF becomes LF. The
result does not tell an escaped character from the same sequence typed by the author.

Characters that belong to a script or to an emoji stay, also if they are invisible on their own:
joiners, variation selectors, no-break spaces.
"""

from __future__ import annotations

import re
from typing import Final

EXCERPT_CHARACTERS: Final = 20_000
"""Of one text in a view; a longer text is read from its file."""

_OBEYED: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # direction of writing
    "\u200b\u2028\u2029\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff"  # invisible
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_PRINTABLE_ASCII: Final = bytes((9, 10, *range(32, 127)))
_OBEYED_ASCII: Final = {*range(128)} - {*_PRINTABLE_ASCII}
_LAST_OF_BMP: Final = 0xFFFF
_UTF8_CONTINUATION: Final = 0x80
_UTF8_LEAD: Final = 0xC0
_DOTS: Final = bytes(code if code in _PRINTABLE_ASCII else ord(".") for code in range(256))

COLOURS: Final = {
    "red": "\x1b[31m",
    "green": "\x1b[32m",
    "yellow": "\x1b[33m",
    "blue": "\x1b[34m",
    "dim": "\x1b[2m",
    "bold": "\x1b[1m",
}
"""The only sequences that this program sends to a terminal as part of a text."""
COLOURS_OFF: Final = "\x1b[0m"
_OUR_COLOURS: Final = frozenset((*COLOURS.values(), COLOURS_OFF))

_PATH_OUT_OF_WORKSPACE: Final = re.compile(
    r"""(?<![\w\\`'"./-])@(?="?[/~]|"[^"\n]*\.\.|[^\s"]*\.\.)""",
)
_SEQUENCES: Final = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])"
)
"""What programs send to a terminal: colours, movements of the cursor, titles."""


def without_colours(text: str) -> str:
    """The words of a program that took the pipe for a terminal; each redrawn line is a line."""
    return _SEQUENCES.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def escape(text: str) -> str:
    if text.replace("\n", "").isprintable():  # nearly always, and quick
        return text
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    return _OBEYED.sub(_escape_match, text)


def is_plain(text: str) -> bool:
    """Would `escape` leave it as it is?"""
    return text.isprintable() or _OBEYED.search(text) is None


def escape_bytes(data: bytes) -> bytes:
    """As `escape`; bytes that are not UTF-8 are escaped too.

    Data that is mostly not UTF-8 is binary: each such byte becomes a dot.
    """
    odd = data.translate(None, _PRINTABLE_ASCII)  # nearly always nothing, and quick
    if not odd:
        return data
    data = data.replace(b"\r\n", b"\n")
    # Most control characters are ASCII, and one replacement for each kind is many times as quick.
    for code in {*odd} & _OBEYED_ASCII:
        data = data.replace(bytes((code,)), _escape_sequence(code).encode())
    if data.isascii():
        return data
    whole = data[_first_complete(data) : complete_length(data)]
    try:
        text = whole.decode()
    except UnicodeDecodeError:
        if len(odd) > len(data) // 4:
            return data.translate(_DOTS)
    else:
        if len(whole) == len(data):
            return _OBEYED.sub(_escape_match, text).encode()
    return _OBEYED.sub(_escape_match, data.decode("utf-8", "backslashreplace")).encode()


def complete_length(data: bytes) -> int:
    """The length up to the last complete character, without a CR that may be half of a CRLF."""
    if data.endswith(b"\r"):
        return len(data) - 1
    for back in range(1, min(3, len(data)) + 1):
        byte = data[-back]
        if byte >= _UTF8_LEAD:
            length = 2 + (byte >= 0xE0) + (byte >= 0xF0)
            return len(data) - back if back < length else len(data)
        if byte < _UTF8_CONTINUATION:
            break
    return len(data)


def _first_complete(data: bytes) -> int:
    at = 0
    while at < min(3, len(data)) and _UTF8_CONTINUATION <= data[at] < _UTF8_LEAD:
        at += 1
    return at


def _escape_match(found: re.Match[str]) -> str:
    return _escape_sequence(ord(found[0]))


def _escape_sequence(code: int) -> str:
    """As JSON spells it where JSON can: a line of JSON with such a character stays JSON."""
    if code == ord("\r"):
        return "\\r"
    if code < ord(" "):
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= _LAST_OF_BMP else f"\\U{code:08x}"


# --- for terminals, views and prompts ------------------------------------------------------------


def escape_but_colours(text: str) -> str:
    """As `escape`, but the colours of this program stay."""
    if "\x1b" not in text:
        return escape(text)
    first, *parts = text.split("\x1b")
    found = [escape(first)]
    for part in parts:
        end = part.find("m") + 1
        ours = end > 0 and f"\x1b{part[:end]}" in _OUR_COLOURS
        found.append(f"\x1b{part[:end]}{escape(part[end:])}" if ours else f"\\x1b{escape(part)}")
    return "".join(found)


def excerpt(text: str, longest: int = EXCERPT_CHARACTERS) -> str:
    """The beginning of the text, escaped.

    A view applies this once to everything that it shows. HTML and Markdown need their own escaping
    on top of it.
    """
    if len(text) <= longest:
        return escape(text)
    return f"{escape(text[:longest])}\n[{len(text) - longest} more]"


def escape_prompt(prompt: str) -> str:
    r"""As `escape`, and no `@path` that leads out of the workspace.

    Claude Code attaches the file that `@path` in a prompt names, wherever on the machine it is and
    whatever its tools may read, and a prompt quotes agents. Our adapter switches that off, but any
    program may call claude. Such a `@` becomes `\@`, which claude leaves alone. `@decorator`,
    `@scope/package` and paths inside of the workspace stay.
    """
    prompt = escape(prompt)
    return _PATH_OUT_OF_WORKSPACE.sub(r"\\@", prompt) if "@" in prompt else prompt
