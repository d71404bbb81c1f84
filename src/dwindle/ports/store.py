"""Keeping a run: the disk, the journal, the plan file, and the error that belongs to them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dwindle.kernel.events import Event
    from dwindle.kernel.model import Plan


class StoreFailed(Exception):
    """The file system said no; what it held before still stands."""

    def __init__(self, path: Path, operation: str, errno: int) -> None:
        super().__init__(path, operation, errno)
        self.path = path
        self.operation = operation
        self.errno = errno

    def __str__(self) -> str:
        return f"{self.path}: could not {self.operation}: {os.strerror(self.errno)}"


class Disk(Protocol):
    """The system calls that durability is made of; each may raise OSError, as `os` does."""

    def open(self, path: Path, flags: int, mode: int = 0o666) -> int: ...
    def read(self, path: Path) -> bytes:
        """Return the whole file."""
        ...

    def write(self, fd: int, data: bytes) -> int:
        """Write some of `data`, perhaps not all; return how much."""
        ...

    def fsync(self, fd: int) -> None: ...
    def fdatasync(self, fd: int) -> None: ...
    def truncate(self, fd: int, size: int) -> None: ...
    def chmod(self, fd: int, mode: int) -> None: ...
    def close(self, fd: int) -> None: ...
    def stat(self, target: Path | int) -> os.stat_result: ...
    def rename(self, source: Path, target: Path) -> None: ...
    def remove(self, path: Path) -> None: ...
    def mkdir(self, path: Path) -> None: ...
    def names(self, directory: Path) -> list[str]: ...
    def resolve(self, path: Path) -> Path:
        """Follow symbolic links; the end of the chain need not exist."""
        ...


class Journal(Protocol):
    """Everything that happened in one run, numbered. What `append` returned from is durable."""

    @property
    def last(self) -> int:
        """The number of the last event."""
        ...

    @property
    def versions(self) -> tuple[str, ...]:
        """Digests, any one of which the plan file may have if only the runner wrote it."""
        ...

    def append(self, *events: Event) -> int:
        """Make these durable, in one step, and return the number of the last.

        Or raise and leave the journal as it was. A crash may leave some of them, the first ones.
        """
        ...

    def expect(self, versions: tuple[str, ...]) -> None:
        """Make it durable that the plan file may have any of these digests from now on."""
        ...

    def events(self, after: int) -> Iterator[Event]:
        """Yield the events numbered `after` + 1 and later, oldest first."""
        ...

    def close(self) -> None: ...


class PlanFile(Protocol):
    """The file that people and tools read."""

    def read(self) -> bytes: ...
    def replace(self, content: bytes) -> None:
        """Exchange the whole content in one durable step, or raise and leave the old one."""
        ...


class PlanWriter(Protocol):
    """Turns a plan into the content of its file; may remember what it encoded before."""

    def encode(self, plan: Plan) -> bytes: ...
