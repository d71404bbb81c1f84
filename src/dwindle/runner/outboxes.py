"""Where an agent finds its order and leaves its report: a folder for each session, used again.

A session has its outbox to itself. To make one and remove it afterwards was half of what a short
session cost: a file system takes its time over inodes that come and go (ext4 steps over each one
that was freed lately when it looks for a new one). So the report is moved out rather than copied,
and an outbox that comes back as it was handed out, with a plain file and nothing else, is handed
out again with another order in the same file. Any other is removed with all that is in it.

Under a containment that promises nothing, a process that got away may still have such a file open;
but that one could have opened it by its name just as well.
"""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path

from dwindle.ports.agent import ORDER, REPORT, Place
from dwindle.ports.legible import legible_bytes
from dwindle.ports.process import Command

REPORT_BYTES = (1 << 20) + 1
"""A longer report is refused; this much of it shows that it was too long."""

_TO_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_OVER = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


class Outboxes:
    """Folders below `folder`, which holds nothing else while a run uses it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._idle: list[Path] = []
        self._made = 0

    def handed_out(self, tree: Path, order: bytes, prompt: bytes) -> Place:
        """A place to work in `tree`, with the order in its outbox and no report."""
        while self._idle:
            place = Place(workspace=tree, outbox=self._idle.pop(), words=prompt)
            try:
                write(f"{place.outbox}/{ORDER}", order)
            except OSError:  # somebody saw to it that we cannot write there
                _remove(place.outbox)
            else:
                return place
        self._made += 1
        place = Place(workspace=tree, outbox=self._folder / str(self._made), words=prompt)
        _remove(place.outbox)  # of a runner that was killed
        place.outbox.mkdir(parents=True)
        write(f"{place.outbox}/{ORDER}", order)
        return place

    def taken_back(self, place: Place, report: str | Path, command: Command | None = None) -> None:
        """Keep the agent's report as `report`, whatever it is; nobody uses the outbox any more.

        Without the secrets of its command.
        """
        with suppress(OSError):
            _keep(f"{place.outbox}/{REPORT}", report, command)
        if _is_as_handed_out(place):
            self._idle.append(place.outbox)
        else:
            _remove(place.outbox)

    def clear(self) -> None:
        """Remove what waits to be used again."""
        while self._idle:
            _remove(self._idle.pop())


def write(path: str | Path, content: bytes, *, new: bool = False) -> None:
    """Make this the content of a file; one that is there is written over and then shortened.

    To cut it to nothing first would make the file system write it out at once. Where one is
    expected to be `new`, nothing has to be cut.
    """
    fd = os.open(path, _OVER | os.O_TRUNC if new else _OVER, 0o666)
    try:
        done = os.write(fd, content)
        while done < len(content):
            done += os.write(fd, content[done:])
        if not new:
            os.ftruncate(fd, done)
    finally:
        os.close(fd)


def _keep(report: str, kept: str | Path, command: Command | None) -> None:
    """Only a file, no more of it than could be read, and nothing in it but text."""
    fd = os.open(report, _TO_READ)
    try:
        facts = os.fstat(fd)
        if not stat.S_ISREG(facts.st_mode):
            return
        data = os.read(fd, min(facts.st_size + 1, REPORT_BYTES))
    finally:
        os.close(fd)
    shown = legible_bytes(data if command is None else command.told(data))
    if shown == data and facts.st_nlink == 1 and facts.st_size == len(data):
        os.replace(report, kept)  # noqa: PTH105 - the cheap way, for nearly every session
    else:
        Path(kept).write_bytes(shown[:REPORT_BYTES])


def _is_as_handed_out(place: Place) -> bool:
    """A plain file, by no other name elsewhere, in a folder that is one."""
    try:
        folder = str(place.outbox)
        here = stat.S_ISDIR(os.lstat(folder).st_mode)
        if not here or os.listdir(folder) != [ORDER]:  # noqa: PTH208 - names are enough
            return False
        facts = os.lstat(f"{folder}/{ORDER}")
    except OSError:
        return False
    return stat.S_ISREG(facts.st_mode) and facts.st_nlink == 1


def _remove(path: Path) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink(missing_ok=True)
    else:
        shutil.rmtree(path, ignore_errors=True)
