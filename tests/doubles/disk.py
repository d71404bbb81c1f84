"""A disk in memory that can lose power between any two calls, run full, and fail.

What a power cut leaves behind is less orderly than it looks from inside a process. This disk keeps
apart what a program sees and what is safe. Of everything since the last sync of a file, a crash may
keep any number of its writes and truncations, in order; the one after them may be there by half, or
as a stretch of zeros of the right length. Of everything since the last sync of a directory, a crash
may keep any number of its changes, in order. Files and directories do not wait for one another, and
syncing a file does not sync its name. `crash_images` yields every disk that could come of it.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TypeAlias

Image: TypeAlias = Mapping[Path, bytes | None]
"""Every path on a disk, with a file's content, or None for a directory."""


@dataclass(eq=False)
class _File:
    data: bytes = b""
    mode: int = 0o644
    links: int = 0
    safe: bytes = b""
    unsynced: list[bytes | int] = field(default_factory=list)
    """Bytes that were appended, or the length it was cut to, since the last sync."""

    def change(self, step: bytes | int) -> None:
        self.data = _after(self.data, step)
        self.unsynced.append(step)

    def sync(self) -> None:
        self.safe = self.data
        self.unsynced.clear()

    def crashed(self) -> Iterator[bytes]:
        data = self.safe
        yield data
        for step in self.unsynced:
            if isinstance(step, bytes):
                yield data + step[: len(step) // 2]
                yield data + bytes(len(step))
            data = _after(data, step)
            yield data


def _after(data: bytes, step: bytes | int) -> bytes:
    return data + step if isinstance(step, bytes) else data[:step]


@dataclass(eq=False)
class _Directory:
    entries: dict[str, _File | _Directory] = field(default_factory=dict)
    safe: dict[str, _File | _Directory] = field(default_factory=dict)
    unsynced: list[dict[str, _File | _Directory]] = field(default_factory=list)
    """What it held after each change since the last sync."""

    def change(self, entries: dict[str, _File | _Directory]) -> None:
        self.entries = entries
        self.unsynced.append(entries)

    def sync(self) -> None:
        self.safe = self.entries
        self.unsynced.clear()


class FakeDisk:
    """Implements `ports.Disk`; only what the durable store asks of a disk.

    `after_each` is called after every call that changes or syncs something.
    """

    def __init__(self, image: Image | None = None) -> None:
        self.after_each: Callable[[], None] = lambda: None
        self.calls = 0
        """Calls that could have failed, so far."""
        self._faults: dict[int, OSError] = {}
        self._space: int | None = None
        self._open: dict[int, _File | _Directory] = {}
        self._next_fd = 3
        self._root = _Directory()
        for path, content in sorted((image or {}).items()):
            parent = self._directory(path.parent)
            node = _Directory() if content is None else _File(content, links=1, safe=content)
            parent.entries = parent.safe = parent.entries | {path.name: node}

    # --- what a test does to it ---------------------------------------------------------------

    def fail_call(self, number: int, code: int) -> None:
        """Make the call with this number (see `calls`), from 1, raise an OSError, once."""
        self._faults[number] = OSError(code, os.strerror(code))

    def limit_space(self, size: int | None) -> None:
        """Let only so many more bytes be written, so that the last write is cut short."""
        self._space = size

    def directories_open(self) -> list[int]:
        """Descriptors of directories, for a disk that treats them carelessly."""
        return [fd for fd, node in self._open.items() if isinstance(node, _Directory)]

    def image(self) -> Image:
        """What a process sees now."""
        return dict(_walk(self._root, lambda d: d.entries, lambda f: f.data))

    def crash_images(self) -> Iterator[Image]:
        """Yield every disk that a power cut at this moment may leave."""
        directories, files = _reachable(self._root)
        for entries in product(*([d.safe, *d.unsynced] for d in directories)):
            of_directory = dict(zip(directories, entries, strict=True))
            for contents in product(*(dict.fromkeys(f.crashed()) for f in files)):
                of_file = dict(zip(files, contents, strict=True))
                yield dict(_walk(self._root, of_directory.__getitem__, of_file.__getitem__))

    # --- what the store does with it -----------------------------------------------------------

    def open(self, path: Path, flags: int, mode: int = 0o666) -> int:
        self._call()
        parent = self._directory(path.parent)
        node = parent.entries.get(path.name) if path.name else self._root
        if node is None and flags & os.O_CREAT:
            node = _File(mode=mode & 0o755, links=1)
            parent.change(parent.entries | {path.name: node})
        elif node is None:
            raise _error(errno.ENOENT)
        elif flags & os.O_EXCL:
            raise _error(errno.EEXIST)
        self._next_fd += 1
        self._open[self._next_fd] = node
        self.after_each()
        return self._next_fd

    def read(self, path: Path) -> bytes:
        self._call()
        return self._file(self._node(path)).data

    def write(self, fd: int, data: bytes) -> int:
        self._call()
        if self._space is not None:
            data = data[: self._space]
            self._space -= len(data)
            if not data:
                raise _error(errno.ENOSPC)
        self._file(self._open[fd]).change(bytes(data))
        self.after_each()
        return len(data)

    def fsync(self, fd: int) -> None:
        self._call()
        self._open[fd].sync()
        self.after_each()

    def fdatasync(self, fd: int) -> None:
        self.fsync(fd)

    def truncate(self, fd: int, size: int) -> None:
        self._call()
        self._file(self._open[fd]).change(size)
        self.after_each()

    def chmod(self, fd: int, mode: int) -> None:
        self._call()
        self._file(self._open[fd]).mode = mode

    def close(self, fd: int) -> None:
        # As on Linux, the descriptor is gone even if this reports a failure.
        del self._open[fd]
        self._call()

    def stat(self, target: Path | int) -> os.stat_result:
        self._call()
        node = self._open[target] if isinstance(target, int) else self._node(target)
        if isinstance(node, _Directory):
            return os.stat_result((stat.S_IFDIR | 0o755, 0, 0, 2, 0, 0, 0, 0, 0, 0))
        size = len(node.data)
        return os.stat_result((stat.S_IFREG | node.mode, 0, 0, node.links, 0, 0, size, 0, 0, 0))

    def rename(self, source: Path, target: Path) -> None:
        """Rename within one directory; across two of them a crash could do stranger things."""
        self._call()
        parent = self._directory(source.parent)
        if source.parent != target.parent:
            raise _error(errno.EXDEV)
        moved = self._file(self._node(source))
        others = {name: node for name, node in parent.entries.items() if name != source.name}
        if target.name in others:
            self._file(others[target.name]).links = 0
        parent.change(others | {target.name: moved})
        self.after_each()

    def remove(self, path: Path) -> None:
        self._call()
        parent = self._directory(path.parent)
        self._file(self._node(path)).links = 0
        parent.change({name: node for name, node in parent.entries.items() if name != path.name})
        self.after_each()

    def mkdir(self, path: Path) -> None:
        self._call()
        parent = self._directory(path.parent)
        if path.name in parent.entries:
            raise _error(errno.EEXIST)
        parent.change(parent.entries | {path.name: _Directory()})
        self.after_each()

    def names(self, directory: Path) -> list[str]:
        self._call()
        return list(self._directory(directory).entries)

    def resolve(self, path: Path) -> Path:
        return path

    # --- inside ----------------------------------------------------------------------------------

    def _call(self) -> None:
        self.calls += 1
        fault = self._faults.pop(self.calls, None)
        if fault:
            raise fault

    def _node(self, path: Path) -> _File | _Directory:
        node: _File | _Directory = self._root
        for name in path.parts[1:]:
            if not isinstance(node, _Directory) or name not in node.entries:
                raise _error(errno.ENOENT)
            node = node.entries[name]
        return node

    def _directory(self, path: Path) -> _Directory:
        node = self._node(path)
        if isinstance(node, _File):
            raise _error(errno.ENOTDIR)
        return node

    def _file(self, node: _File | _Directory) -> _File:
        if isinstance(node, _Directory):
            raise _error(errno.EISDIR)
        return node


def _error(code: int) -> OSError:
    return OSError(code, os.strerror(code))


def _reachable(root: _Directory) -> tuple[list[_Directory], list[_File]]:
    """Everything that is, was or may after a crash be again under some name."""
    directories = [root]
    files: list[_File] = []
    for directory in directories:
        for entries in (directory.safe, *directory.unsynced):
            for node in entries.values():
                if isinstance(node, _File):
                    files.append(node)
                else:
                    directories.append(node)
    return list(dict.fromkeys(directories)), list(dict.fromkeys(files))


def _walk(
    directory: _Directory,
    entries: Callable[[_Directory], dict[str, _File | _Directory]],
    content: Callable[[_File], bytes],
    path: Path = Path("/"),
) -> Iterator[tuple[Path, bytes | None]]:
    for name, node in entries(directory).items():
        if isinstance(node, _File):
            yield path / name, content(node)
        else:
            yield path / name, None
            yield from _walk(node, entries, content, path / name)
