"""Running a program that is not trusted: what is run, under which restraints, and how it ended.

A `Command` is data: agents and checks describe what they want run, and one `Containment` runs it.
So limits, capture and killing are written once, and an agent's adapter does no I/O.
"""

from __future__ import annotations

import re
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
    """A value that a program has to know and that nobody may read in what it prints or leaves."""

    value: bytes = field(repr=False)
    shown: bytes
    """What stands in its place."""


SHORTEST_SECRET: Final = 5
"""A shorter value is a word, and no secret."""
_SECRET_NAME: Final = re.compile(
    r"(?:TOKEN|KEYS?|(?:^|_)SECRETS?|PASSWORDS?|PASSWD|PASSPHRASE|CREDENTIALS?)(?:_|$)|"
    r"(?:^|_)(?:PAT|PASS|AUTH|COOKIE|BEARER)$|_PWD$"
)


def is_secret_name(name: str) -> bool:
    """Does the name of a variable say that its value is not for everybody to read?"""
    return _SECRET_NAME.search(name.upper()) is not None


def secret_names(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Of these variables, the ones whose values are to be kept out of what people read."""
    return tuple(
        name
        for name, value in environment.items()
        if is_secret_name(name) and len(value.strip()) >= SHORTEST_SECRET
    )


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
    bounds: Bounds = UNBOUNDED
    log: Path | None = None
    """Where the combined output goes, within the same bounds."""
    secrets: tuple[Secret, ...] = ()
    """Taken out of all that it prints before anybody sees or keeps it; the longest first."""

    def told(self, data: bytes) -> bytes:
        """The same without the secrets: of what it left in files."""
        from dwindle.ports.secrecy import told_bytes  # noqa: PLC0415 - it knows of commands

        return told_bytes(data, self.secrets)


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """The head and the tail of a stream."""

    head: bytes = b""
    tail: bytes = b""
    size: int = 0
    """All that was written, kept or not."""
    digest: str = ""
    """sha256 of all that was written, kept or not; empty if nobody worked it out."""

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
