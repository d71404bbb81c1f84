"""A terminal that is written to without ever waiting for it.

A terminal may be slow, or be stopped by Ctrl-S for an hour; the loop must not wait for it.
Non-blocking mode belongs to the open file, and the one behind stdout is shared with the shell and
its other children. So the terminal is opened once more. What it does not take at once is kept, and
written when the event loop says that it takes more.
"""

from __future__ import annotations

import asyncio
import os
import select
from typing import Final, TextIO

USUAL: Final = os.terminal_size((80, 24))
"""Of a terminal that does not say."""
PATIENCE: Final = 2.0
"""Seconds that a terminal which takes nothing more is waited for at the end."""


class Screen:
    """To be made and used while an event loop runs."""

    def __init__(self, stream: TextIO, *, patience: float = PATIENCE) -> None:
        stream.flush()
        self._patience = patience
        self._encoding = stream.encoding
        self._fd = _own_descriptor(stream.fileno())
        self._waiting = b""

    @property
    def is_behind(self) -> bool:
        """Has not taken everything yet."""
        return bool(self._waiting)

    def size(self) -> os.terminal_size:
        """As it is now: people resize their windows."""
        try:
            found = os.get_terminal_size(self._fd)
        except OSError:
            return USUAL
        return os.terminal_size((found.columns or USUAL.columns, found.lines or USUAL.lines))

    def write(self, text: str) -> None:
        begins = not self._waiting
        # Characters that the locale cannot show are escaped rather than refused.
        self._waiting += text.encode(self._encoding, errors="backslashreplace")
        self._push()
        if begins and self._waiting:
            asyncio.get_running_loop().add_writer(self._fd, self._caught_up)

    def close(self) -> None:
        asyncio.get_running_loop().remove_writer(self._fd)
        while self._waiting and select.select((), (self._fd,), (), self._patience)[1]:
            self._push()
        os.close(self._fd)

    def _caught_up(self) -> None:
        self._push()
        if not self._waiting:
            asyncio.get_running_loop().remove_writer(self._fd)

    def _push(self) -> None:
        try:
            while self._waiting:
                self._waiting = self._waiting[os.write(self._fd, self._waiting) :]
        except BlockingIOError:
            return
        except OSError:  # the terminal is gone; the run goes on
            self._waiting = b""


def _own_descriptor(fd: int) -> int:
    try:
        return os.open(os.ttyname(fd), os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:  # without a usable name, as in some containers, writes do block
        return os.dup(fd)
