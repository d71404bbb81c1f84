"""Running a program that is not trusted: what is run, under which restraints, and how it ended.

A `Command` is data: agents and checks describe what they want run, and one `Containment` runs it.
So limits, capture and killing are written once, and an agent's adapter does no I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final, Protocol


class Strength(StrEnum):
    """What containment can promise; said in status, report and certificate."""

    STRONG = "strong"
    """Every descendant is gone when the program is, even after kill -9 of the runner."""
    WEAK = "weak"
    """Descendants are hunted down; one that forks fast enough might escape."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A value that a program needs and that must not show in its output or in its files."""

    value: bytes = field(repr=False)
    shown: bytes
    """What stands in its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How much of the machine one program, with all that comes of it, may take; None: no bound."""

    processes: int | None = None
    """Threads count."""
    memory_bytes: int | None = None
    file_bytes: int | None = None
    """The size of any one file."""
    free_bytes: int = 0
    """When there is less left on a disk that it may write to, it is ended."""
    free_percent: float = 0.0
    """The same, as a part of the disk."""


UNBOUNDED: Final = Bounds()


class Limit(StrEnum):
    """A bound that ended a program."""

    MEMORY = "memory"
    DISK = "disk"


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    argv: tuple[str, ...]
    cwd: Path
    stdin: bytes = b""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Added to the allow-listed part of ours."""
    timeout_seconds: float = 1800.0
    output_bytes: int = 1 << 20
    """How much of each stream is kept: the head and the tail."""
    writable: tuple[Path, ...] = ()
    """Besides a private /tmp; everything else is read-only, or hidden."""
    readable: tuple[Path, ...] = ()
    """Shown read-only, though what is around it is hidden or writable."""
    hidden: tuple[Path, ...] = ()
    """Folders that the program must not see at all."""
    network: bool = True
    traces: bool = True
    """Whether its processes may trace one another, or write to one another's memory."""
    bounds: Bounds = UNBOUNDED
    log: Path | None = None
    """Where the combined output goes, within the same bounds."""
    secrets: tuple[Secret, ...] = ()
    """Redacted in all that it prints, before that is shown or kept; the longest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """The head and the tail of a stream."""

    head: bytes = b""
    tail: bytes = b""
    size: int = 0
    """All that was written, kept or not."""
    digest: str = ""
    """sha256 of all that was written, kept or not; empty if it was not computed."""

    @property
    def is_whole(self) -> bool:
        return self.size == len(self.head) + len(self.tail)

    def text(self) -> str:
        if self.is_whole:
            return (self.head + self.tail).decode("utf-8", "replace")
        cut = self.size - len(self.head) - len(self.tail)
        head, tail = (part.decode("utf-8", "replace") for part in (self.head, self.tail))
        return f"{head}\n[... {cut} bytes left out ...]\n{tail}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a program ended: with a code, by a signal, for lack of time, or it never began."""

    exit_code: int | None = None
    signal: int | None = None
    timed_out: bool = False
    error: str = ""
    """Why it could not be started, or had to be ended."""
    limit: Limit | None = None
    """The bound that ended it, if one did; `error` has the sentence."""
    seconds: float = 0.0
    stdout: Captured = field(default_factory=Captured)
    stderr: Captured = field(default_factory=Captured)

    @property
    def is_clean(self) -> bool:
        return self.exit_code == 0 and not self.timed_out and not self.error


class Containment(Protocol):
    """Runs commands. When `run` returns or is cancelled, every descendant is gone."""

    @property
    def strength(self) -> Strength: ...

    @property
    def mechanism(self) -> str:
        """A word for people: bubblewrap, unshare, subreaper."""
        ...

    async def run(
        self, command: Command, watch: Callable[[bytes], str | None] | None = None
    ) -> Ended:
        """Run to the end, or to the timeout.

        `watch` sees each line of stdout as it comes; a sentence from it ends the program at once
        and becomes the error.
        """
        ...
