"""Removing what an agent made, however deep it is: for runner and adapters alike.

`shutil.rmtree` recurses, and so fails at some hundred folders inside of each other.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path


def remove(path: Path) -> None:
    """Whatever it is, if it is there; a link itself, not what it leads to.

    Folders inside of folders are moved up to the top one first, so that no path gets long.
    """
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(mode):
        path.unlink()
        return
    path.chmod(0o700)
    top = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        token, number = f".{secrets.token_hex(8)}.", 0
        waiting = list(_emptied(top))
        while waiting:
            name = waiting.pop()
            folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=top)
            try:
                for inner in _emptied(folder):
                    number += 1
                    os.rename(inner, f"{token}{number}", src_dir_fd=folder, dst_dir_fd=top)
                    waiting.append(f"{token}{number}")
            finally:
                os.close(folder)
            os.rmdir(name, dir_fd=top)
    finally:
        os.close(top)
    path.rmdir()


def _emptied(folder: int) -> Iterator[str]:
    """Remove all but the folders in an open folder, and name those, each open for us."""
    with os.scandir(folder) as found:
        entries = list(found)
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            os.chmod(entry.name, 0o700, dir_fd=folder)
            yield entry.name
        else:
            os.unlink(entry.name, dir_fd=folder)
