"""Fresh trees of a commit, outside of the repository, for checks that decide something.

A linked work tree and not an export: build tools ask git for versions and lists of files. Pins and
what steers the test tools are restored in the index before git writes any file from it, so that no
link or folder that the commit has in their place is ever followed.
"""

from __future__ import annotations

import asyncio
import os
import posixpath
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dwindle.adapters.git.command import Git
from dwindle.adapters.git.merge import put_back
from dwindle.adapters.git.repository import Repository
from dwindle.adapters.git.worktrees.provision import TreeSetup
from dwindle.adapters.git.worktrees.worktree import OWNER, Tree, known_trees, register, throw_away
from dwindle.ports.workspace import Steering
from dwindle.toolchains.manifests import MANIFESTS


@dataclass(frozen=True, slots=True, kw_only=True)
class GitCheckouts:
    repository: Repository
    aligned: str
    pins: tuple[str, ...]
    tree_setup: TreeSetup
    steering: Callable[[], Steering | None] | None = None
    """What steers the tools of the base case, as the plan has it now; none with work paths."""
    folder: Path | None = None
    """Where they are made; the system's folder for temporary files if not said."""

    async def changed(self, commit: str) -> tuple[str, ...]:
        """The paths in which a commit differs from that of alignment."""
        words = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", self.aligned, commit)
        return (await self.repository.git.tell(*words)).lines

    async def make(self, commit: str, as_aligned: Sequence[str] = ()) -> Path:
        place = await asyncio.to_thread(_new_folder, self.folder)
        try:
            await self._fill(place, commit, as_aligned)
        except BaseException:
            await asyncio.shield(self._remove(place))
            raise
        return place

    async def _fill(self, place: Path, commit: str, as_aligned: Sequence[str]) -> None:
        commit = await self.repository.commit(commit)
        tree = register(self.repository.raw, place, commit)
        # So that a later process can tell, and remove it, if this one does not get to it.
        (tree.admin / OWNER).write_text(f"{os.getpid()}\n", "ascii")
        at = tree.git.at(place, index=tree.index)
        await at.tell("read-tree", commit)
        await put_back(at, self.aligned, [*(pin.rstrip("/") for pin in self.pins), *as_aligned])
        if self.steering is not None and self.aligned and (steering := self.steering()):
            await _restore_steering(at, self.aligned, steering)
        judged = (await at.tell("write-tree")).text
        ground = await self._ground(at, judged)
        await at.tell("read-tree", "--reset", "-u", ground)
        tree.adopt_index()
        await self.tree_setup.furnish(tree, ground, head=commit)
        if ground != judged:
            await at.tell("read-tree", "-m", "-u", ground, judged)
            tree.adopt_index()
        if self.tree_setup.build is not None:
            await self.tree_setup.build(place)
            await self.tidy(place)

    async def _ground(self, at: Git, judged: str) -> str:
        """The tree that the setup runs on: with work paths that of alignment, with new manifests.

        So a setup runs no program of a worker's, and installs the dependencies that it wants.
        """
        is_strict = self.steering is not None and self.steering() is None
        if self.tree_setup.setup is None or not self.aligned or not is_strict:
            return judged
        changed = await self.changed(judged)
        await at.tell("read-tree", self.aligned)
        await put_back(at, judged, [p for p in changed if posixpath.basename(p) in MANIFESTS])
        return (await at.tell("write-tree")).text

    def settled(self, place: Path) -> tuple[str, ...]:
        """What the setup made in a tree."""
        tree = next((tree for tree in self._known() if tree.path == place), None)
        return () if tree is None else self.tree_setup.settled(tree)

    async def tidy(self, place: Path) -> tuple[str, ...]:
        """Put back what was changed of the files that we wrote; their paths."""
        tree = next((tree for tree in self._known() if tree.path == place), None)
        if tree is None:
            return ()
        at = tree.git.at(place, index=tree.index)
        await at.ask("update-index", "-q", "--refresh")
        changed = (await at.tell("diff-files", "--name-only", "-z")).lines
        if changed:
            await at.tell("read-tree", "--reset", "-u", (await at.tell("write-tree")).text)
        return changed

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


# --- what steers the tools of a base case --------------------------------------------------------

_PLAIN = ("100644", "100755")


@dataclass(frozen=True, slots=True)
class _CheckoutEntry:
    mode: str
    blob: str


async def _restore_steering(at: Git, aligned: str, steering: Steering) -> None:
    """In the index of `at`: all that steers is as it was in the commit `aligned`, and no more."""

    async def content(path: str) -> bytes | None:
        said = await at.ask("cat-file", "blob", f"{aligned}:{path}")
        return None if said.code else said.out

    listed = await at.tell("ls-tree", "-r", "-z", "--full-tree", aligned)
    staged = await at.tell("ls-files", "-z", "--stage")
    steering = await steering.follow_recipes(content, _paths(listed.lines))
    exists = _paths(staged.lines).__contains__
    now = dict(_entries(staged.lines, 1, steering, exists))
    then = dict(_entries(listed.lines, 2, steering, exists))
    lines = []
    for path in dict.fromkeys((*now, *then)):
        old, new = then.get(path), now.get(path)
        if old == new:
            continue
        wanted = old
        if steering.is_mixed(path):
            wanted = await _merged_entry(at, path, old, new, steering)
        if wanted != new:
            mode, blob = (wanted.mode, wanted.blob) if wanted else ("0", "0" * 40)
            lines.append(f"{mode} {blob}\t{path}\0")
    if lines:
        given = os.fsencode("".join(lines))
        await at.tell("update-index", "--replace", "-z", "--index-info", given=given)


async def _merged_entry(
    at: Git, path: str, old: _CheckoutEntry | None, new: _CheckoutEntry | None, steering: Steering
) -> _CheckoutEntry | None:
    if new is not None and new.mode not in _PLAIN:
        return old  # a link has no content to merge
    before = None if old is None else await _blob(at, old)
    after = b"" if new is None else await _blob(at, new)
    text = steering.merge(path, before, after)
    if text == after:
        return new
    if text is None or text == before:
        return old
    said = await at.tell("hash-object", "-w", "--stdin", given=text)
    return _CheckoutEntry(_PLAIN[0] if new is None else new.mode, said.text)


async def _blob(at: Git, entry: _CheckoutEntry) -> bytes:
    return (await at.tell("cat-file", "blob", entry.blob)).out


def _paths(lines: tuple[str, ...]) -> frozenset[str]:
    return frozenset(line.partition("\t")[2] for line in lines)


def _entries(
    lines: tuple[str, ...], blob: int, steering: Steering, exists: Callable[[str], bool]
) -> Iterator[tuple[str, _CheckoutEntry]]:
    for line in lines:
        facts, _, path = line.partition("\t")
        if steering.steers(path, exists) or steering.is_mixed(path):
            words = facts.split()
            yield path, _CheckoutEntry(words[0], words[blob])
