"""The two ways out: stdout for what was asked, stderr for why it cannot be had.

A reader that leaves early (`dwindle graph | head`) is no mistake of anybody: what is left is not
written, and the exit code is the one that it would have been.

Whatever is printed may have words of an agent in it: the reason of a failure, the name of a file.
Nothing of that may be a command to the terminal. So, last of all, every character that cannot be
seen is spelt out, but for line ends, tabs and the few colours that we use ourselves.
"""

from __future__ import annotations

import os
import sys

USAGE = 2
"""The exit code of everything that is refused."""

_OURS = frozenset(f"\x1b[{code}m" for code in ("0", "1", "2", "31", "32", "33", "34"))


def visible(text: str) -> str:
    """The same, with nothing in it that a terminal would obey."""
    if text.isprintable():
        return text
    first, *parts = text.split("\x1b")
    found = [_spelt(first)]
    for part in parts:
        end = part.find("m") + 1
        ours = end > 0 and f"\x1b{part[:end]}" in _OURS
        found.append(f"\x1b{part[:end]}{_spelt(part[end:])}" if ours else f"\\x1b{_spelt(part)}")
    return "".join(found)


def _spelt(text: str) -> str:
    return "".join(
        c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text
    )


def say(text: str, code: int = 0) -> int:
    """Print `text` and a newline; `code`, or 2 if it could not be written."""
    # Characters that the locale cannot show are spelt out rather than refused.
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        print(visible(text), flush=True)
    except BrokenPipeError:
        _close_quietly()
    except OSError as error:
        _close_quietly()
        complain(f"dwindle: the answer could not be written: {error.strerror}")
        return USAGE
    return code


def complain(text: str) -> None:
    """Print on stderr, if anybody is there to read it."""
    try:
        print(visible(text), file=sys.stderr, flush=True)
    except OSError:
        return


def _close_quietly() -> None:
    """Python flushes stdout once more when it ends, and would complain then."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return
