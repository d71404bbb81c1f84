"""Fresh trees of a commit, outside of the repository, for checks that decide something.

A linked work tree and not an export: build tools ask git for versions and lists of files. Pins are
put back before any file is written, in the index that the files are then written from, so that no
link or folder that the commit has in their place is ever followed.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dwindle.adapters.workspaces.furnish import Furnishing
from dwindle.adapters.workspaces.repository import Repository
from dwindle.adapters.workspaces.steered import put_steering_back
from dwindle.adapters.workspaces.tree import OWNER, Tree, known_trees, throw_away
from dwindle.ports.workspace import Steering


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkouts:
    repository: Repository
    aligned: str
    pins: tuple[str, ...]
    furnishing: Furnishing
    steering: Callable[[], Steering] | None = None
    """What steers the tools of the base case, as the plan has it now."""
    folder: Path | None = None
    """Where they are made; the system's folder for temporary files if not said."""

    async def make(self, commit: str) -> Path:
        place = await asyncio.to_thread(_new_folder, self.folder)
        try:
            await self._fill(place, commit)
        except BaseException:
            await asyncio.shield(self._remove(place))
            raise
        return place

    async def _fill(self, place: Path, commit: str) -> None:
        git = self.repository.git
        await git.add_worktree("--quiet", "--detach", "--no-checkout", place, commit)
        tree = _tree_at(self.repository, place)
        # So that a later process can tell, and remove it, if this one does not get to it.
        (tree.admin / OWNER).write_text(f"{os.getpid()}\n", "ascii")
        at = tree.git.at(place, index=tree.index)
        await at.tell("read-tree", commit)
        await self._restore_pins(tree)
        if self.steering is not None and self.aligned:
            await put_steering_back(at, self.aligned, self.steering())
        pinned = (await at.tell("write-tree")).text
        await at.tell("read-tree", "--reset", "-u", pinned)
        tree.adopt_index()
        await self.furnishing.furnish(tree, pinned, head=commit)

    async def _restore_pins(self, tree: Tree) -> None:
        """In the index: all that is at or below a pin is as it was at alignment, and no more."""
        if not self.pins:
            return
        at = tree.git.at(tree.path, index=tree.index)
        pins = [pin.rstrip("/") for pin in self.pins]
        now = (await at.tell("ls-files", "-z", "--stage", "--", *pins)).lines
        then = await at.tell("ls-tree", "-r", "-z", "--full-tree", self.aligned, "--", *pins)
        facts = (line.partition("\t") for line in now)
        gone = "".join(f"0 {fact.split()[1]}\t{path}\0" for fact, _, path in facts)
        given = os.fsencode(gone) + then.out
        if given:
            await at.tell("update-index", "--replace", "-z", "--index-info", given=given)

    async def discard(self, place: Path) -> None:
        if any(tree.path == place and _owner(tree) is not None for tree in self._known()):
            await self._remove(place)

    async def discard_left(self) -> None:
        """Remove what processes that are no more have left."""
        for tree in self._known():
            owner = _owner(tree)
            if owner is not None and not _is_alive(owner):
                await self._remove(tree.path)

    def _known(self) -> tuple[Tree, ...]:
        return known_trees(self.repository)

    async def _remove(self, place: Path) -> None:
        for tree in self._known():
            if tree.path == place:
                await throw_away(tree)
        await asyncio.to_thread(_remove_empty, place.parent)


def _new_folder(folder: Path | None) -> Path:
    """A folder that is not there yet, in a folder that only we can enter."""
    return Path(tempfile.mkdtemp(prefix="dwindle-", dir=folder)).resolve() / "checkout"


def _remove_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()


def _tree_at(repository: Repository, place: Path) -> Tree:
    link = os.fsdecode((place / ".git").read_bytes()).removeprefix("gitdir: ").rstrip("\n")
    return Tree(git=repository.git, path=place, admin=Path(link))


def _owner(tree: Tree) -> int | None:
    with suppress(OSError, ValueError):
        return int((tree.admin / OWNER).read_text("ascii"))
    return None


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def touched_pins(paths: Sequence[str], pins: Sequence[str]) -> tuple[str, ...]:
    """Which of these paths are a pin, are below one, or stand where one was."""
    return tuple(
        path
        for path in paths
        if any(
            path == pin or path.startswith(f"{pin}/") or pin.startswith(f"{path}/")
            for pin in (one.rstrip("/") for one in pins)
        )
    )
