"""Where work happens, and how it is kept: leases of isolated trees, and one integration branch."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from dwindle.kernel.model import AtomId
from dwindle.ports.legible import legible


class WorkspaceFailed(Exception):
    """Git said no, or a setup; carries the command and what it printed, as text."""

    def __init__(self, what: str, output: str = "") -> None:
        super().__init__(what, output)
        self.what = legible(what)
        self.output = legible(output)

    def __str__(self) -> str:
        return f"{self.what}: {self.output.strip()}" if self.output.strip() else self.what


class BranchMoved(WorkspaceFailed):
    """The integration branch is not where we left it: somebody else has moved it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to one tree for one session."""

    path: Path
    base: str
    """The commit it was made from."""


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
    """Which files steer the tools that decide; those are as they were at alignment."""

    def steers(self, path: str) -> bool:
        """The whole file does: a new one is absent."""
        ...

    def is_mixed(self, path: str) -> bool:
        """A part of it may."""
        ...

    def mended(self, path: str, then: bytes | None, now: bytes) -> bytes | None:
        """The file of now with what steers as it was then; None if there may be no file."""
        ...

    async def looked_into(self, content: Callable[[str], Awaitable[bytes | None]]) -> Steering:
        """The same, with what the commands lead to; `content` is that of a file at alignment."""
        ...


class Workspace(Protocol):
    """Every method may raise WorkspaceFailed. Nothing is ever deleted unsaved."""

    async def lease(self, session: int) -> Lease:
        """A clean tree at the tip of the integration branch."""
        ...

    async def change(self, lease: Lease) -> Change: ...

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

    async def tip(self) -> str:
        """The commit at the end of the integration branch; BranchMoved if that is not ours."""
        ...

    async def tree_of(self, commit: str) -> str:
        """The hash of a commit's tree."""
        ...

    async def checkout(self, commit: str) -> Lease:
        """A fresh tree of a commit, outside of the repository, pins restored; for checks."""
        ...

    async def discard(self, lease: Lease) -> None:
        """Remove a tree made by `checkout`."""
        ...
