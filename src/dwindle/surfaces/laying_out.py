"""Laying out the folder of a tree plan: all of what is missing, or nothing at all.

What stands in the way is found before anything is written. Nothing that is there is replaced, and
no symbolic link is followed: a link counts as there, whatever it leads to. If a write fails, what
was made before it is taken away again.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dwindle.adapters.disk import DirectoryLock, DurableFile, make_directory
from dwindle.adapters.workspaces.standing import OURS
from dwindle.ports.store import Disk
from dwindle.surfaces.scaffold import FILES

FOLDER = ".runner"
IGNORE = ".gitignore"
HEADING = "# What dwindle makes for itself"
PATTERNS = tuple(pattern.removeprefix("/") for pattern in OURS)
MOST = 1 << 20
"""Bytes of a `.gitignore` that is added to."""


class InTheWay(Exception):
    """Something else has the name of what should be made; every such place."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__(*problems)
        self.problems = problems


@dataclass(frozen=True, slots=True, kw_only=True)
class LaidOut:
    made: tuple[str, ...]
    kept: tuple[str, ...]
    """What was there already, and is as it was."""
    ignored: tuple[str, ...]
    """Patterns that `.gitignore` did not have."""


def lay_out(root: Path, disk: Disk) -> LaidOut:
    """Make what is missing. InTheWay, StoreFailed and Locked leave everything as it was."""
    problems = tuple(_in_the_way(root))
    if problems:
        raise InTheWay(problems)
    folder = root / FOLDER
    is_new = not folder.is_dir()
    made: list[Path] = []
    make_directory(disk, folder)
    try:
        # An iteration that is under way would take what we make for the work of its agent.
        with DirectoryLock(folder):
            kept = tuple(name for name in FILES if os.path.lexists(root / name))
            for name, content in FILES.items():
                if name not in kept:
                    file = DurableFile(disk, root / name)
                    file.sweep()
                    made.append(file.path)
                    file.replace(content)
            missing = _add_patterns(root / IGNORE, disk)
    except BaseException:
        for path in made:
            with suppress(OSError):
                path.unlink()
        if is_new:
            with suppress(OSError):
                folder.rmdir()
        raise
    names = tuple(str(path.relative_to(root)) for path in made)
    return LaidOut(made=names, kept=kept, ignored=missing)


def _add_patterns(path: Path, disk: Disk) -> tuple[str, ...]:
    """Behind what stands there, which is not touched."""
    before = path.read_bytes() if path.exists() else b""
    known = {_plain(line) for line in before.decode("utf-8", "replace").splitlines()}
    missing = tuple(pattern for pattern in PATTERNS if _plain(pattern) not in known)
    if missing:
        end = "\r\n" if b"\r\n" in before else "\n"
        lines = "".join(f"{line}{end}" for line in (HEADING, *missing))
        apart = b"" if not before else b"\n" if before.endswith(b"\n") else b"\n\n"
        apart = apart.replace(b"\n", end.encode())
        DurableFile(disk, path).replace(before + apart + lines.encode())
    return missing


def _plain(pattern: str) -> str:
    """With or without the slash at its beginning it means the same: there is one in its middle."""
    return pattern.strip().removeprefix("/").removesuffix("/")


# --- what stands in the way ----------------------------------------------------------------------


def _in_the_way(root: Path) -> Iterator[str]:
    mode = _mode(root / FOLDER)
    if mode and stat.S_ISLNK(mode):
        yield f"{FOLDER} is a symbolic link; a run needs a folder of this repository"
    elif mode and not stat.S_ISDIR(mode):
        yield f"{FOLDER} is there, and is no folder"
    elif mode:
        for name in FILES:
            found = _mode(root / name)
            if found and not stat.S_ISREG(found) and not stat.S_ISLNK(found):
                yield f"{name} is there, and is no file"
    mode = _mode(root / IGNORE)
    if mode and stat.S_ISLNK(mode):
        yield f"{IGNORE} is a symbolic link, which git does not follow"
    elif mode and not stat.S_ISREG(mode):
        yield f"{IGNORE} is there, and is no file"
    elif mode and (root / IGNORE).stat().st_size > MOST:
        yield f"{IGNORE} has more than {MOST} bytes"


def _mode(path: Path) -> int:
    """0 if nothing has this name."""
    try:
        return path.lstat().st_mode
    except FileNotFoundError:
        return 0
