"""Create the files of a tree plan: everything that is missing, or nothing at all.

Conflicts are found before anything is written. No existing file is replaced and no symbolic link is
followed: a link counts as an existing file. If a write fails, the files made before it are removed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dwindle.adapters.formats.config.settings import LimitSettings
from dwindle.adapters.git.in_place.run_branch import OURS
from dwindle.adapters.store.disk import DirectoryLock, DurableFile, RealDisk, make_directory
from dwindle.app.ask_git import ask_git
from dwindle.app.init.scaffold import FILES, files_for
from dwindle.app.refusal import Refused
from dwindle.app.settings import settings_for
from dwindle.ports.store import Disk

FOLDER = ".runner"
IGNORE = ".gitignore"
HEADING = "# What dwindle makes for itself"
PATTERNS = tuple(pattern.removeprefix("/") for pattern in OURS)
MOST = 1 << 20
"""Bytes of a `.gitignore` that is added to."""


class InTheWay(Exception):
    """Other things have the names of files that should be made; lists all of them."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__(*problems)
        self.problems = problems


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedFiles:
    made: tuple[str, ...]
    kept: tuple[str, ...]
    """Files that existed already."""
    ignored: tuple[str, ...]
    """Patterns that `.gitignore` did not have."""


def create_files(root: Path, disk: Disk | None = None) -> CreatedFiles:
    """Make what is missing. InTheWay, StoreFailed and Locked leave everything unchanged."""
    disk = disk or RealDisk()
    problems = tuple(_in_the_way(root))
    if problems:
        raise InTheWay(problems)
    folder = root / FOLDER
    is_new = not folder.is_dir()
    made: list[Path] = []
    make_directory(disk, folder)
    try:
        # A running iteration would take these files for the work of its agent.
        with DirectoryLock(folder):
            kept = tuple(name for name in FILES if os.path.lexists(root / name))
            for name, content in files_for(_tracked(root), _usual_attempts(root)).items():
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
    return CreatedFiles(made=names, kept=kept, ignored=missing)


def _usual_attempts(root: Path) -> int:
    """As settings that exist already say."""
    settings = settings_for(root).settings
    return (LimitSettings() if settings is None else settings.limits).max_attempts


def _tracked(root: Path) -> tuple[str, ...]:
    with suppress(Refused):
        said = ask_git(root, "ls-files", "-z")
        return tuple(os.fsdecode(path) for path in said.stdout.split(b"\0") if path)
    return ()


def _add_patterns(path: Path, disk: Disk) -> tuple[str, ...]:
    """Append the missing patterns; existing lines are not touched."""
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
    """Without a leading slash: as it has one in the middle, the meaning is the same."""
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
