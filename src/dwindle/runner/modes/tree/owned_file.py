"""A file that the runner owns and an agent can change: read it without trust, and restore it.

An agent may leave anything under its name: nothing, a folder, a link, a pipe without a writer, a
gigabyte. None of that is followed, waited for or read to the end.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from dwindle.ports.removal import remove


def content_of(path: Path, most: int) -> bytes | None:
    """What is in a regular file, at most one byte more than `most`; None if it is none."""
    if _leads_away(path):
        return None
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        with os.fdopen(fd, "rb", closefd=False) as file:
            return file.read(most + 1)
    except OSError:
        return None
    finally:
        os.close(fd)


def make_way(path: Path) -> None:
    """Remove whatever keeps the file from being written: a folder, a link, a pipe."""
    folder = path.parent
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        folder.unlink()
    folder.mkdir(parents=True, exist_ok=True)
    if path.is_symlink() or (path.exists() and not path.is_file()):
        remove(path)


def restore(path: Path, content: bytes | None, most: int) -> bool:
    """Restore its content; True if it had changed."""
    found = content_of(path, most)
    if found == content and (content is not None or not os.path.lexists(path)):
        return False
    make_way(path)
    if content is None:
        path.unlink(missing_ok=True)
    else:
        path.write_bytes(content)
    return True


def _leads_away(path: Path) -> bool:
    """Is the folder that it should be in a link?"""
    return path.parent.is_symlink()
