"""Where the iterations of a tree plan happen: the person's own checkout, on a branch of the run.

One agent at a time works in it. What it leaves, commits of its own included, is read as one
difference from the commit that the iteration began with, and becomes one commit on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from dwindle.ports.iteration import Iteration


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """An iteration that is on the branch."""

    iteration: Iteration
    commit: str
    parent: str = ""
    """The commit that it began with; empty if that does not matter."""
    tests: int | None = None
    """How many tests the guard has to run from then on; None: not counted yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What the branch says about the run so far."""

    done: tuple[Done, ...]
    """Oldest first; other people's commits between them are left out."""
    trees: Mapping[str, bytes]
    """The tree file by commit, the one that the run began at included, oldest first."""
    start: str = ""
    """The commit that the run began at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    paths: tuple[str, ...]
    """What differs from the base, in git's order; ignored files do not count."""
    notes: tuple[str, ...] = ()
    """What could not be taken in, and why."""
    trouble: str = ""
    """Not a plain change: history was rewritten, the branch or other refs moved."""


class InPlace(Protocol):
    """Every method may raise WorkspaceFailed. Nothing is ever deleted unsaved."""

    @property
    def path(self) -> Path: ...

    @property
    def run(self) -> str:
        """The run-id that the branch, or the last iteration on it, names."""
        ...

    @property
    def branch(self) -> str:
        """`runner/<run-id>`, or the branch that the person wanted to stay on."""
        ...

    async def head(self) -> str:
        """The commit at the end of the branch."""
        ...

    async def dirt(self) -> tuple[str, ...]:
        """What keeps the checkout from being clean, untracked files included."""
        ...

    async def history(self, since: str | None = None) -> History:
        """From the first iteration of the run on, or what came after a commit on the branch."""
        ...

    async def hand_over(self, base: str) -> None:
        """An agent is at work from now on, until its difference is asked for or it is set aside.

        The runner that follows a killed one goes back to the base, whatever was committed since. So
        this is called when an agent starts, and never to look only: what a person commits between
        two runs is theirs.
        """
        ...

    async def difference(self, base: str) -> Difference:
        """The checkout compared with a commit; the agent's own commits are folded in."""
        ...

    def ignored(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Those of the paths that git ignored when the iteration began."""
        ...

    async def unseen(self, base: str) -> tuple[str, ...]:
        """What git ignores in the checkout now, without `.runner/`; a folder ends with a slash."""
        ...

    async def preview(self, base: str, message: str) -> str:
        """The commit that `commit` would make; nothing points to it, and the branch stays."""
        ...

    async def is_still(self, base: str, commit: str) -> bool:
        """Whether `commit` would still commit what a preview has."""
        ...

    async def undo(self, base: str, outside: str, name: str) -> str | None:
        """Keep what changed outside of a folder under an attempt's name and put it back as it was.

        Returns the ref; None if nothing had changed there.
        """
        ...

    async def set_aside(self, base: str, name: str) -> str | None:
        """Keep everything that differs from the base, and go back to it. None: nothing did."""
        ...

    async def commit(self, base: str, message: str) -> str:
        """All there is, as one commit on the base, and the branch at it; clean afterwards."""
        ...

    async def patch(self, base: str, commit: str, most: int) -> bytes:
        """The difference between two commits as text, at most so many bytes of it."""
        ...

    async def restore(self, base: str, paths: Sequence[str], name: str | None = None) -> str | None:
        """Put these paths back as they are in a commit, whatever stands there now.

        With a name, everything that differs is kept under it first; returns the ref.
        """
        ...
