"""Where work happens, and how it is kept: leases of isolated trees, and one integration branch."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final, Protocol

from dwindle.kernel.model import AtomId

NO_ROOM: Final = ("No space left on device", "Out of diskspace", "Disk quota exceeded")
"""How the system and git say that a disk is full."""


class WorkspaceFailed(Exception):
    """Git or a setup failed; carries the command and its output, escaped by who raises it."""

    def __init__(self, what: str, output: str = "") -> None:
        super().__init__(what, output)
        self.what = what
        self.output = output

    def __str__(self) -> str:
        return f"{self.what}: {self.output.strip()}" if self.output.strip() else self.what

    @property
    def is_disk_full(self) -> bool:
        return any(words in str(self) for words in NO_ROOM)


class BranchMoved(WorkspaceFailed):
    """The integration branch is not where the runner left it: another process moved it."""


class BuildFailed(WorkspaceFailed):
    """The build step of a checkout failed: what was to be judged cannot be built."""


class LandingStyle(StrEnum):
    """What becomes of the run's commits."""

    KEEP = "keep"
    """They come along: by a fast-forward where that is possible, else by a merge."""
    MERGE = "merge"
    """As before, always with a commit that merges them."""
    SQUASH = "squash"
    """One commit with all of the change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to one tree for one session."""

    path: Path
    base: str
    """The commit it was made from."""
    settled: tuple[str, ...] = ()
    """What the setup made in it: part of the judge's ground."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a session changed in its tree, its own commits folded in."""

    paths: tuple[str, ...]
    trouble: str = ""
    """Not a plain change: history was rewritten, other refs moved, the tree is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trailers:
    """What a commit of ours says about itself."""

    run: str
    atom: AtomId
    attempt: int
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Integrated:
    commit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    paths: tuple[str, ...]


class Steering(Protocol):
    """Which files steer the tools that decide; a checkout has them as they were at alignment."""

    def steers(self, path: str, exists: Callable[[str], bool]) -> bool:
        """The whole file steers; one that did not exist at alignment is left out.

        `exists` tells which files there are now.
        """
        ...

    def is_mixed(self, path: str) -> bool:
        """Only a part of the file steers."""
        ...

    def merge(self, path: str, old: bytes | None, new: bytes) -> bytes | None:
        """The new file with the old part that steers; None if there may be no file."""
        ...

    async def follow_recipes(
        self, content: Callable[[str], Awaitable[bytes | None]], files: Collection[str]
    ) -> Steering:
        """The same, with the recipes that commands run; both arguments are of the alignment."""
        ...


class Workspace(Protocol):
    """Every method may raise WorkspaceFailed. Nothing is ever deleted unsaved."""

    async def lease(self, session: int) -> Lease:
        """A clean tree at the tip of the integration branch."""
        ...

    async def change(self, lease: Lease) -> Change: ...

    async def claim(self, lease: Lease, instead: Mapping[str, bytes | None]) -> str:
        """The work as a commit on its base, which `integrate` then takes as it is.

        The paths in `instead` are in it as they were in the base (None), or with this content; the
        lease itself is left as it is.
        """
        ...

    async def integrate(self, lease: Lease, trailers: Trailers) -> Integrated | Conflict:
        """One commit on the integration branch; the lease itself is left as it is."""
        ...

    async def set_aside(self, lease: Lease, trailers: Trailers) -> str:
        """Everything in the tree, untracked files too, kept under a ref; returns its name."""
        ...

    async def release(self, lease: Lease) -> None:
        """Give the tree back; nothing of this session is left in it for the next one."""
        ...

    async def rebuild(self, without: Sequence[AtomId]) -> tuple[AtomId, ...]:
        """Take these atoms' commits off the branch; return the others that did not replay."""
        ...

    def pin(self, pins: Sequence[str]) -> None:
        """From now on fresh checkouts have these files as they were at alignment, and no others."""

    async def tip(self) -> str:
        """The commit at the end of the integration branch; BranchMoved if that is not ours."""
        ...

    async def tree_of(self, commit: str) -> str:
        """The hash of a commit's tree."""
        ...

    async def changed(self, commit: str) -> tuple[str, ...]:
        """The paths in which a commit differs from that of alignment."""
        ...

    async def checkout(self, commit: str, as_aligned: Sequence[str] = ()) -> Lease:
        """A fresh tree of a commit, outside of the repository, pins restored; for checks.

        The paths `as_aligned` are in it as they were at alignment too, or not at all.
        """
        ...

    async def tidy(self, lease: Lease) -> tuple[str, ...]:
        """Put back what was changed of the commit's files in a tree made by `checkout`: its paths.

        What a check has made besides, such as a build, stays.
        """
        ...

    async def discard(self, lease: Lease) -> None:
        """Remove a tree made by `checkout`."""
        ...
