"""Waiting until what an earlier runner started is really over.

A runner that is killed leaves the git that it had just started, and that git goes on writing files
for a moment. A descriptor with a lock on it is therefore handed to every git: the lock is free when
the last of them has ended, and only then are the trees that they wrote taken up.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import time
from pathlib import Path

from dwindle.ports.workspace import WorkspaceFailed

_PATIENCE = 60.0


def open_presence(common: Path, run: str) -> int:
    """A descriptor for all processes of one run to share; it holds no lock yet."""
    folder = common / "dwindle" / run
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise WorkspaceFailed(f"{folder}: could not be made", error.strerror or "") from error


async def be_the_only_one(presence: int) -> None:
    """Wait for the processes of an earlier runner, and lock them out."""
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(presence, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                raise WorkspaceFailed(
                    "git processes of an earlier runner are still at work", "see `ps -C git`"
                ) from None
            await asyncio.sleep(0.01)
        else:
            return
