"""Whether a runner has a plan right now, for whoever only asks."""

from __future__ import annotations

import os
import re
from pathlib import Path

LOCKS = Path("/proc/locks")


def is_held(folder: Path, table: Path = LOCKS) -> bool:
    """Whether somebody has locked a folder.

    The lock is not tried where that can be avoided: whoever starts at that instant would find it
    taken.
    """
    try:
        facts = folder.stat()
    except OSError:
        return False
    device = f"{os.major(facts.st_dev):02x}:{os.minor(facts.st_dev):02x}:{facts.st_ino}"
    try:
        locks = table.read_text(encoding="ascii")
    except OSError:
        return _is_taken(folder)
    return re.search(rf"^\d+: FLOCK +\w+ +WRITE \d+ {device} ", locks, re.MULTILINE) is not None


def _is_taken(folder: Path) -> bool:
    import fcntl  # noqa: PLC0415 - seldom needed

    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
