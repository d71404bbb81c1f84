"""Looking for processes from the outside, and the programs that tests run."""

from __future__ import annotations

import os
import secrets
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

ADVERSARIES = Path(__file__).parents[2] / "adversaries"
PYTHON = sys.executable


def new_token() -> str:
    return f"token-{secrets.token_hex(8)}"


def survivors(token: str) -> list[int]:
    """Living processes with `token` in their command line, whatever namespace they are in."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            with suppress(OSError):
                if token.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
    return found


def survivors_after(token: str, seconds: float) -> list[int]:
    """Who is still there after a while; returns as soon as nobody is."""
    end = time.monotonic() + seconds
    while (left := survivors(token)) and time.monotonic() < end:
        time.sleep(0.01)
    return left


def put_down(token: str) -> None:
    """Clean up after a test, also after one that found an escape."""
    for _ in range(200):
        left = survivors(token)
        if not left:
            return
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
