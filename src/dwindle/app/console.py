"""Output of a command: answers on stdout, errors on stderr, colours, JSON.

A reader that closes the pipe early (`dwindle graph | head`) is no error: the rest is not written,
and the exit code stays the same.

A printed text may quote an agent: the reason of a failure, the name of a file. The terminal must
not obey it, so the last step before printing is to escape everything but our own colours.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO

USAGE = 2
"""The exit code of everything that is refused."""


def painted(text: str, colour: str) -> str:
    """Coloured, if stdout is a terminal and the user did not switch colours off."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    from dwindle.text.escape import COLOURS, COLOURS_OFF  # noqa: PLC0415 - as below

    return f"{COLOURS[colour]}{text}{COLOURS_OFF}"


def as_json(value: object) -> str:
    """For programs: plain ASCII, so that no locale can spoil it; keys in the documented order."""
    import json  # noqa: PLC0415 - seldom needed

    return json.dumps(value, indent=2)


def _escaped(text: str) -> str:
    if text.isprintable():
        return text  # `--version` is answered without importing more
    from dwindle.text.escape import escape_but_colours  # noqa: PLC0415

    return escape_but_colours(text)


def say(text: str, code: int = 0) -> int:
    """Print `text` and a newline; `code`, or 2 if it could not be written."""
    # Characters that the locale cannot show are escaped rather than refused.
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        print(_escaped(text), flush=True)
    except BrokenPipeError:
        _close_quietly()
    except OSError as error:
        _close_quietly()
        complain(f"dwindle: the answer could not be written: {error.strerror}")
        return USAGE
    return code


def complain(text: str) -> None:
    """Print on stderr, if that is open."""
    try:
        print(_escaped(text), file=sys.stderr, flush=True)
    except OSError:
        _close_quietly(sys.stderr)


def _close_quietly(stream: TextIO | None = None) -> None:
    """Python flushes stdout and stderr once more when it ends, and would complain then."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), (stream or sys.stdout).fileno())
    except (OSError, ValueError):
        return
