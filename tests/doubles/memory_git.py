"""A Workspace with no file at all, that can be copied at any instant as a crash would find it.

Trees, commits, refs and the branch are values in memory. Every call is announced before it does
something and after it has (`call`), takes a moment, and does its work in one step, as the real one
does with a transaction on refs. To see what a crash leaves, a test takes a `copy` and goes on
with that.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.doubles.workspaces import Files, MemoryCommit, changed_paths, merged_files

from dwindle.kernel.model import AtomId
from dwindle.ports.workspace import (
    Change,
    Conflict,
    Integrated,
    Lease,
    Trailers,
    WorkspaceFailed,
)

TREES = Path("/trees")
BEGINNINGS = (
    *("lease", "change", "integrate", "set aside", "release", "rebuild"),
    *("checkout", "discard", "recover", "restore"),
)
"""Called before each step, with its name; if it raises, the step has not happened."""


@dataclass(slots=True)
class Tree:
    """A leased tree."""

    session: int
    base: str
    files: dict[str, bytes]
    saved: bool = False


def no_listener(what: str) -> None:
    """The default listener of calls: it does nothing."""
    del what


@dataclass(slots=True, kw_only=True)
class MemoryGit:
    """`call` hears what is about to be done and what was; it may raise WorkspaceFailed before."""

    start: Files = field(default_factory=dict)
    call: Callable[[str], None] = no_listener
    seconds: float = 0.02
    """What a call takes."""
    commits: dict[str, MemoryCommit] = field(default_factory=dict)
    kept: dict[str, Files] = field(default_factory=dict)
    """What was set aside, by ref."""
    former: list[str] = field(default_factory=list)
    """What the branch was before each time that it was rebuilt or restored."""
    trees: dict[Path, Tree] = field(default_factory=dict)
    branch_tip: str = ""
    aligned: str = ""
    made: int = 0

    def __post_init__(self) -> None:
        if not self.aligned:
            self.aligned = self.branch_tip = self._commit(dict(self.start), "", None)

    def copy(self) -> MemoryGit:
        """As it is now; the copy has no listener."""
        trees = {
            path: Tree(tree.session, tree.base, dict(tree.files), tree.saved)
            for path, tree in self.trees.items()
        }
        return MemoryGit(
            start=self.start,
            seconds=self.seconds,
            commits=dict(self.commits),
            kept=dict(self.kept),
            former=list(self.former),
            trees=trees,
            branch_tip=self.branch_tip,
            aligned=self.aligned,
            made=self.made,
        )

    def state(self) -> object:
        """Equal for two that a crash could not tell apart."""
        trees = tuple(
            (path, tree.session, tree.base, tree.saved, tuple(tree.files.items()))
            for path, tree in self.trees.items()
        )
        return (self.branch_tip, len(self.kept), len(self.former), trees)

    def files(self, commit: str = "") -> Files:
        """What a commit holds; that at the tip of the branch unless said otherwise."""
        return self.commits[commit or self.branch_tip].files

    def branch(self, tip: str = "") -> list[MemoryCommit]:
        """The commits of a branch, oldest first, without the one that it began with."""
        found = []
        commit = self.commits[tip or self.branch_tip]
        while commit.id != self.aligned:
            found.append(commit)
            commit = self.commits[commit.parent]
        return found[::-1]

    # --- the contract ---------------------------------------------------------------------------

    async def lease(self, session: int) -> Lease:
        await self._begun("lease")
        path = self._path("tree")
        tip = self.branch_tip
        self.trees[path] = Tree(session, tip, dict(self.files()))
        self.call("leased")
        return Lease(path=path, base=tip)

    async def change(self, lease: Lease) -> Change:
        await self._begun("change")
        return Change(paths=changed_paths(self.files(lease.base), self._of(lease).files))

    async def claim(self, lease: Lease, instead: Mapping[str, bytes | None]) -> str:
        """No plan of a simulation has work paths."""
        raise NotImplementedError

    async def changed(self, commit: str) -> tuple[str, ...]:
        return changed_paths(self.files(self.aligned), self.files(commit))

    async def integrate(self, lease: Lease, trailers: Trailers) -> Integrated | Conflict:
        await self._begun("integrate")
        tree = self._of(lease)
        merged = merged_files(self.files(lease.base), self.files(), tree.files)
        if isinstance(merged, Conflict):
            return merged
        self.branch_tip = self._commit(merged, self.branch_tip, trailers)
        tree.saved = True
        self.call("integrated")
        return Integrated(commit=self.branch_tip)

    async def set_aside(self, lease: Lease, trailers: Trailers) -> str:
        await self._begun("set aside")
        tree = self._of(lease)
        name = self._keep(f"{trailers.atom or 'root'}/{trailers.attempt}", tree.files)
        tree.saved = True
        self.call("was set aside")
        return name

    async def release(self, lease: Lease) -> None:
        await self._begun("release")
        tree = self._of(lease)
        if not tree.saved:
            self._keep_unclaimed(tree, "unclaimed")
        del self.trees[lease.path]
        self.call("released")

    async def rebuild(self, without: Sequence[AtomId]) -> tuple[AtomId, ...]:
        await self._begun("rebuild")
        tip, lost = self._replayed(tuple(without))
        if tip == self.branch_tip:
            return ()
        self.former.append(self.branch_tip)
        self.branch_tip = tip
        self.call("rebuilt")
        return lost

    def pin(self, pins: Sequence[str]) -> None:
        """Nothing: checks decide on trees that only a test can reach."""

    async def tip(self) -> str:
        return self.branch_tip

    async def tree_of(self, commit: str) -> str:
        return hashlib.sha1(
            repr(sorted(self.files(commit).items())).encode(), usedforsecurity=False
        ).hexdigest()

    async def checkout(self, commit: str, as_aligned: Sequence[str] = ()) -> Lease:  # noqa: ARG002
        await self._begun("checkout")
        path = self._path("checkout")
        self.trees[path] = Tree(0, commit, dict(self.files(commit)), saved=True)
        self.call("checked out")
        return Lease(path=path, base=commit)

    async def tidy(self, lease: Lease) -> tuple[str, ...]:  # noqa: ARG002
        return ()

    async def discard(self, lease: Lease) -> None:
        await self._begun("discard")
        self.trees.pop(lease.path, None)
        self.call("discarded")

    # --- after a crash --------------------------------------------------------------------------

    async def recover(self, atoms: Mapping[int, AtomId] | None = None) -> tuple[str, ...]:
        await self._begun("recover")
        kept = []
        for path, tree in tuple(self.trees.items()):
            if not tree.saved:
                kept += self._keep_unclaimed(tree, (atoms or {}).get(tree.session, "unclaimed"))
            del self.trees[path]
            self.call("recovered")
        return tuple(kept)

    async def integrated(self) -> tuple[tuple[AtomId, str], ...]:
        found = ((one.trailers, one.id) for one in self.branch())
        return tuple((trailers.atom, name) for trailers, name in found if trailers is not None)

    async def restore(self, atoms: Sequence[AtomId]) -> bool:
        await self._begun("restore")
        here = {commit.trailers for commit in self.branch()}
        for tip in reversed(self.former):
            there = {commit.trailers for commit in self.branch(tip)}
            if {t.atom for t in there if t is not None}.issuperset(atoms) and here <= there:
                self.former.append(self.branch_tip)
                self.branch_tip = tip
                self.call("restored")
                return True
        return False

    # --- inside ---------------------------------------------------------------------------------

    async def _begun(self, what: str) -> None:
        await asyncio.sleep(self.seconds)
        self.call(what)

    def _of(self, lease: Lease) -> Tree:
        if lease.path not in self.trees:
            raise WorkspaceFailed(f"{lease.path} is not leased to anybody")
        return self.trees[lease.path]

    def _path(self, kind: str) -> Path:
        self.made += 1
        return TREES / f"{kind}-{self.made}"

    def _commit(self, files: Files, parent: str, trailers: Trailers | None) -> str:
        name = hashlib.sha1(
            f"{parent} {trailers} {sorted(files.items())}".encode(), usedforsecurity=False
        ).hexdigest()
        self.commits[name] = MemoryCommit(id=name, files=files, parent=parent, trailers=trailers)
        return name

    def _keep(self, name: str, files: Files) -> str:
        free, count = f"refs/dwindle/attempts/{name}", 1
        while free in self.kept:
            count += 1
            free = f"refs/dwindle/attempts/{name}.{count}"
        self.kept[free] = dict(files)
        return free

    def _keep_unclaimed(self, tree: Tree, whose: str) -> list[str]:
        if not changed_paths(self.files(tree.base), tree.files):
            return []
        return [self._keep(f"{whose}/{tree.session}", tree.files)]

    def _replayed(self, without: tuple[AtomId, ...]) -> tuple[str, tuple[AtomId, ...]]:
        tip, lost = self.aligned, []
        for commit in self.branch():
            atom = commit.trailers.atom if commit.trailers else AtomId("")
            if atom in without or atom in lost:
                continue
            if commit.parent == tip:
                tip = commit.id
                continue
            merged = merged_files(self.files(commit.parent), self.files(tip), commit.files)
            if isinstance(merged, Conflict):
                lost.append(atom)
            else:
                tip = self._commit(merged, tip, commit.trailers)
        return tip, tuple(lost)
