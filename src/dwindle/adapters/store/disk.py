"""Durable files, and the lock that makes us the only one who writes them.

Three promises are kept here, for any crash, full disk or I/O error at any system call:

* **replace**: a reader finds the old content or the new, whole. The new content is synced under
  another name before it takes the old one's place, and the directory is synced after; without the
  first sync a power cut can leave an empty file under the good name, without the second it can
  take back a replacement that was already acknowledged.
* **append**: what `append` returned from stays. What it raised on is cut off again, at once if the
  disk allows it and otherwise before the next append. A failed sync is never simply retried: the
  kernel may have dropped the pages and would call the second sync a success; so the record is cut
  off and written anew.
* **lock**: one holder per directory, until it lets go or dies. The lock is on the directory itself
  because a lock file can be removed, and then two runners hold "the" lock.

All but the lock go through `ports.Disk`, so that tests can stop the world between any two calls.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import secrets
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

from dwindle.ports.store import StoreFailed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwindle.ports.store import Disk

OURS = ".runner"
"""The runner's own folder in a repository: no other user may read journals, logs and prompts."""

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC


class ChangedByOthers(Exception):
    """A file that is ours alone while we hold the lock has another length, or no name, now."""

    def __init__(self, path: Path, *, expected: int, found: int, links: int) -> None:
        super().__init__(path, expected, found, links)
        self.path = path
        self.expected = expected
        self.found = found
        self.links = links

    def __str__(self) -> str:
        if not self.links:
            return f"{self.path} was removed or replaced while it was in use"
        return f"{self.path} has {self.found} bytes, but {self.expected} were written"


class Locked(Exception):
    """Another process holds the directory; `holder` is its id where that is known."""

    def __init__(self, directory: Path, holder: int | None) -> None:
        super().__init__(directory, holder)
        self.directory = directory
        self.holder = holder

    def __str__(self) -> str:
        who = "another process" if self.holder is None else f"process {self.holder}"
        return f"{self.directory} is in use by {who}"


class RealDisk:
    """The machine's own file system."""

    def open(self, path: Path, flags: int, mode: int = 0o666) -> int:
        return os.open(path, flags, mode & 0o600 if OURS in path.parts else mode)

    def read(self, path: Path) -> bytes:
        return path.read_bytes()

    def write(self, fd: int, data: bytes) -> int:
        return os.write(fd, data)

    def fsync(self, fd: int) -> None:
        os.fsync(fd)

    fdatasync = staticmethod(getattr(os, "fdatasync", os.fsync))
    """macOS has only the stronger one."""

    def truncate(self, fd: int, size: int) -> None:
        os.ftruncate(fd, size)

    def chmod(self, fd: int, mode: int) -> None:
        os.fchmod(fd, mode)

    def close(self, fd: int) -> None:
        os.close(fd)

    def stat(self, target: Path | int) -> os.stat_result:
        return os.stat(target)  # noqa: PTH116 - a descriptor is no path

    def rename(self, source: Path, target: Path) -> None:
        source.replace(target)

    def remove(self, path: Path) -> None:
        path.unlink()

    def mkdir(self, path: Path) -> None:
        path.mkdir(0o700 if OURS in path.parts else 0o777)

    def names(self, directory: Path) -> list[str]:
        return [entry.name for entry in directory.iterdir()]

    def resolve(self, path: Path) -> Path:
        return Path(os.path.realpath(path))


def make_directory(disk: Disk, directory: Path) -> None:
    """Create `directory` and what is missing above it, so that a power cut cannot undo it."""
    with _told("create the directory", directory):
        _make_directory(disk, directory)
    make_private(directory)


def make_private(path: Path) -> None:
    """Close the runner's own folder that `path` is in, and what is in it, to all other users.

    An earlier version, or another umask, may have left it open. Work trees are closed with the
    folder around them; the modes of their files are the work's.
    """
    parts = path.parts
    if OURS not in parts:
        return
    top = os.fspath(Path(*parts[: parts.index(OURS) + 1]))
    pending = [top]
    while pending:
        folder = pending.pop()
        with suppress(OSError):
            _narrow(folder)
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        if entry.path != f"{top}/worktrees":
                            pending.append(entry.path)
                    elif entry.is_file(follow_symlinks=False):
                        _narrow(entry.path)


def _narrow(path: str) -> None:
    mode = stat.S_IMODE(os.lstat(path).st_mode)
    if mode & ~0o700:
        os.chmod(path, mode & 0o700)  # noqa: PTH101 - no need for a Path of each


class DurableFile:
    """A file that is only ever replaced whole. Of a symbolic link, the target is replaced."""

    def __init__(self, disk: Disk, path: Path) -> None:
        self._disk = disk
        self.path = path

    def read(self) -> bytes:
        with _told("read", self.path):
            return self._disk.read(self.path)

    def exists(self) -> bool:
        with _told("look for", self.path):
            return _facts(self._disk, self.path) is not None

    def replace(self, content: bytes) -> None:
        """Exchange the content; mode bits are kept, a missing file is made."""
        disk = self._disk
        with _told("replace", self.path):
            target = disk.resolve(self.path)
            old = _facts(disk, target)
            # The random part keeps two writers apart, should one of them not hold the lock.
            temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
            fd = disk.open(temporary, _NEW_FILE)
            try:
                try:
                    if old is not None:
                        disk.chmod(fd, stat.S_IMODE(old.st_mode))
                    _write_all(disk, fd, content)
                    disk.fsync(fd)
                finally:
                    disk.close(fd)
                disk.rename(temporary, target)
            except BaseException:
                with suppress(OSError):
                    disk.remove(temporary)
                raise
            _sync_directory(disk, target.parent)

    def sweep(self) -> None:
        """Remove what a replacement left behind when it was killed; only for a lock's holder."""
        with _told("clean up beside", self.path):
            target = self._disk.resolve(self.path)
            ours = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{8}}\.tmp")
            for name in filter(ours.fullmatch, self._disk.names(target.parent)):
                self._disk.remove(target.parent / name)


class AppendFile:
    """A file that only grows, by one durable piece at a time. It has to exist."""

    def __init__(self, disk: Disk, path: Path) -> None:
        self._disk = disk
        self.path = path
        self._torn = False
        with _told("open", path):
            self._size = disk.stat(path).st_size
            self._fd = disk.open(path, _APPEND)

    def append(self, data: bytes) -> None:
        disk, fd = self._disk, self._fd
        if self._torn:
            self.cut(self._size)
        with _told("append to", self.path):
            facts = disk.stat(fd)
            if facts.st_size != self._size or not facts.st_nlink:
                raise ChangedByOthers(
                    self.path, expected=self._size, found=facts.st_size, links=facts.st_nlink
                )
            try:
                _write_all(disk, fd, data)
                disk.fdatasync(fd)
            except BaseException:
                # A stray exception, such as an interrupt, must not leave half a record either.
                with suppress(StoreFailed):
                    self.cut(self._size)
                raise
            self._size += len(data)

    def cut(self, size: int) -> None:
        """Shorten the file to `size`, durably."""
        self._torn = True
        self._size = size
        with _told("shorten", self.path):
            self._disk.truncate(self._fd, size)
            self._disk.fdatasync(self._fd)
        self._torn = False

    def close(self) -> None:
        with _told("close", self.path):
            self._disk.close(self._fd)


class DirectoryLock:
    """Taken when made, or `Locked`; let go by `release`, the end of a `with`, or death."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        with _told("lock", directory):
            self._fd = os.open(directory, _DIRECTORY)
            try:
                self._take()
            except BaseException:
                os.close(self._fd)
                raise

    def _take(self) -> None:
        mine = os.fstat(self._fd)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Locked(self.directory, lock_holder(mine)) from None
        # The directory may have been moved away between opening and locking it. Then we hold the
        # moved one, and another process may lock the one that has the name now.
        if not os.path.samestat(mine, self.directory.stat()):
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))

    def release(self) -> None:
        os.close(self._fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def lock_holder(facts: os.stat_result, table: Path = Path("/proc/locks")) -> int | None:
    """Return who holds a flock on the file with these facts, where the system tells."""
    device = f"{os.major(facts.st_dev):02x}:{os.minor(facts.st_dev):02x}:{facts.st_ino}"
    line = re.compile(rf"^\d+: FLOCK +\w+ +WRITE (\d+) {device} ", re.MULTILINE)
    try:
        found = line.search(table.read_text(encoding="ascii"))
    except OSError:
        return None
    # 0 is a holder outside of our process namespace.
    return int(found[1]) or None if found else None


@contextmanager
def _told(operation: str, path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreFailed(path, operation, error.errno or errno.EIO) from error


def _facts(disk: Disk, path: Path) -> os.stat_result | None:
    try:
        return disk.stat(path)
    except FileNotFoundError:
        return None


def _write_all(disk: Disk, fd: int, data: bytes) -> None:
    while data:
        written = disk.write(fd, data)
        if not written:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        data = data[written:]


def _sync_directory(disk: Disk, directory: Path) -> None:
    fd = disk.open(directory, _DIRECTORY)
    try:
        disk.fsync(fd)
    finally:
        disk.close(fd)


def _make_directory(disk: Disk, directory: Path) -> None:
    if _facts(disk, directory) is None:
        _make_directory(disk, directory.parent)
        disk.mkdir(directory)
        _sync_directory(disk, directory.parent)
    else:
        # We may have made it in an earlier life, and died before the sync. Where we may not even
        # list what is above, we did not.
        with suppress(PermissionError):
            _sync_directory(disk, directory.parent)
