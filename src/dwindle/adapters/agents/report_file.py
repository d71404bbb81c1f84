"""The report that an agent left as a file, read as what it is: something a stranger put there."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from dwindle.adapters.agents.strict_json import MAX_BYTES


class NoFile(Exception):
    """What is in the place of the report cannot be read as a file; says why."""


def left_at(path: str | Path) -> bytes | None:
    """The file's content, and one byte more than is allowed at most; None if there is none.

    A link could lead anywhere, and to open a pipe would wait for ever. Raises NoFile.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        if Path(path).is_symlink():
            raise NoFile(_NOT_A_FILE) from None
        raise NoFile(f"the report file could not be read: {error.strerror}") from None
    try:
        facts = os.fstat(fd)
        if not stat.S_ISREG(facts.st_mode):
            raise NoFile(_NOT_A_FILE)
        return os.read(fd, min(facts.st_size, MAX_BYTES) + 1)
    finally:
        os.close(fd)


_NOT_A_FILE = "the report is malformed: what is in its place is not a file"
