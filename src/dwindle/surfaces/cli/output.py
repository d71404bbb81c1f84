"""The two ways out: stdout for what was asked, stderr for why it cannot be had.

A reader that leaves early (`dwindle graph | head`) is no mistake of anybody: what is left is not
written, and the exit code is the one that it would have been.
"""

from __future__ import annotations

import os
import sys

USAGE = 2
"""The exit code of everything that is refused."""


def say(text: str, code: int = 0) -> int:
    """Print `text` and a newline; `code`, or 2 if it could not be written."""
    # Characters that the locale cannot show are spelt out rather than refused.
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        print(text, flush=True)
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
        print(text, file=sys.stderr, flush=True)
    except OSError:
        return


def _close_quietly() -> None:
    """Python flushes stdout once more when it ends, and would complain then."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return
