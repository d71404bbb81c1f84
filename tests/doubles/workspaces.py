"""A Workspace without git: trees are folders, the branch and its commits are held in memory.

It keeps the whole contract: leases are clean, work on an older base is merged file by file, a file
that both sides changed is a conflict, attempts are kept, and the branch can be rebuilt. So a loop
can be tested, and its own cost measured, without the cost of git. What only git has (refs, hooks,
merges inside of a file) is not here.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from dwindle.kernel.model import AtomId
from dwindle.ports.workspace import (
    Change,
    Conflict,
    Integrated,
    Lease,
    Trailers,
    WorkspaceFailed,
)

Files: TypeAlias = Mapping[str, bytes]
"""Path to content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCommit:
    id: str
    files: Files
    parent: str = ""
    trailers: Trailers | None = None


@dataclass(slots=True)
class _Held:
    session: int
    base: str
    saved: bool = False
    left: tuple[Files, list[str]] | None = None
    """What was in the tree when it was integrated, after which no session works there."""
    claim: Files | None = None
    """What is integrated instead of what lies in the tree."""


@dataclass(slots=True, kw_only=True)
class MemoryWorkspace:
    """Trees are made below `folder`, which is the caller's to remove."""

    folder: Path
    start: Files = field(default_factory=dict)
    pins: tuple[str, ...] = ()
    commits: dict[str, MemoryCommit] = field(default_factory=dict)
    """Every commit ever made, also those that are on the branch no more."""
    attempts: dict[str, Files] = field(default_factory=dict)
    """What was set aside, by the name that git would keep it under."""
    _tip: str = ""
    _held: dict[Path, _Held] = field(default_factory=dict)
    _idle: list[tuple[Path, str]] = field(default_factory=list)
    _aligned: str = ""
    _checkouts: dict[Path, Files] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._tip = self._aligned = self._commit(dict(self.start), "", None)

    def branch(self) -> tuple[MemoryCommit, ...]:
        """The commits on the branch, oldest first, without the one that it began with."""
        found = []
        commit = self.commits[self._tip]
        while commit.id != self._aligned:
            found.append(commit)
            commit = self.commits[commit.parent]
        return tuple(reversed(found))

    # --- the contract ---------------------------------------------------------------------------

    async def lease(self, session: int) -> Lease:
        tip = self._tip
        path, at = self._idle.pop() if self._idle else (self._folder("tree"), "")
        before = self.commits[at].files if at else {}
        _become(path, before, self.commits[tip].files)
        self._held[path] = _Held(session, tip)
        return Lease(path=path, base=tip)

    async def change(self, lease: Lease) -> Change:
        self._of(lease)
        if not lease.path.is_dir():
            return Change(paths=(), trouble="the work tree was removed or replaced")
        base, now = self.commits[lease.base].files, _read(lease.path)
        return Change(paths=changed_paths(base, now))

    async def claim(self, lease: Lease, instead: Mapping[str, bytes | None]) -> str:
        held = self._of(lease)
        held.claim = claimed_files(self.commits[lease.base].files, _read(lease.path), instead)
        return self._commit(held.claim, lease.base, None)

    async def integrate(self, lease: Lease, trailers: Trailers) -> Integrated | Conflict:
        held = self._of(lease)
        odd: list[str] = []
        base, now = self.commits[lease.base].files, _read(lease.path, odd)
        work = now if held.claim is None else held.claim
        merged = merged_files(base, self.commits[self._tip].files, work)
        if isinstance(merged, Conflict):
            return merged
        self._tip = self._commit(merged, self._tip, trailers)
        if work != now:
            await self.set_aside(lease, trailers)
        held.saved, held.left = True, (now, odd)
        return Integrated(commit=self._tip)

    async def set_aside(self, lease: Lease, trailers: Trailers) -> str:
        held = self._of(lease)
        name = self._keep(
            f"refs/dwindle/attempts/{trailers.run}/{trailers.atom or 'root'}/{trailers.attempt}",
            _read(lease.path),
        )
        held.saved = True
        return name

    async def release(self, lease: Lease) -> None:
        held = self._of(lease)
        odd: list[str] = []
        files, odd = held.left or (_read(lease.path, odd), odd)
        base = self.commits[held.base].files
        if not held.saved and files != base:
            self._keep(f"refs/dwindle/attempts/unclaimed/{held.session}", files)
        del self._held[lease.path]
        if files == base and not odd:
            self._idle.append((lease.path, held.base))
        else:
            _remove(lease.path)

    async def rebuild(self, without: Sequence[AtomId]) -> tuple[AtomId, ...]:
        tip = self._aligned
        lost: list[AtomId] = []
        for commit in self.branch():
            atom = commit.trailers.atom if commit.trailers else AtomId("")
            if atom in without or atom in lost:
                continue
            if commit.parent == tip:
                tip = commit.id
                continue
            before, ours = self.commits[commit.parent].files, self.commits[tip].files
            merged = merged_files(before, ours, commit.files)
            if isinstance(merged, Conflict):
                lost.append(atom)
            else:
                tip = self._commit(merged, tip, commit.trailers)
        self._tip = tip
        return tuple(lost)

    def pin(self, pins: Sequence[str]) -> None:
        """Nothing: checks decide on trees that only a test can reach."""

    async def tip(self) -> str:
        return self._tip

    async def tree_of(self, commit: str) -> str:
        """A hash of the names and contents: the same files, the same tree."""
        seal = hashlib.sha1(usedforsecurity=False)
        for path, content in sorted(self.commits[commit].files.items()):
            seal.update(f"{path} {len(content)}\0".encode("utf-8", "surrogateescape") + content)
        return seal.hexdigest()

    async def changed(self, commit: str) -> tuple[str, ...]:
        return changed_paths(self.commits[self._aligned].files, self.commits[commit].files)

    async def checkout(self, commit: str, as_aligned: Sequence[str] = ()) -> Lease:
        if commit not in self.commits:
            raise WorkspaceFailed(f"{commit} is no commit")

        def is_ground(path: str) -> bool:
            return self._is_pinned(path) or path in as_aligned

        work, aligned = self.commits[commit].files, self.commits[self._aligned].files
        files = {path: content for path, content in work.items() if not is_ground(path)}
        files |= {path: content for path, content in aligned.items() if is_ground(path)}
        path = self._folder("checkout")
        _become(path, {}, files)
        self._checkouts[path] = files
        return Lease(path=path, base=commit)

    async def tidy(self, lease: Lease) -> tuple[str, ...]:
        files, now = self._checkouts[lease.path], _read(lease.path)
        changed = tuple(path for path in sorted(files) if now.get(path) != files[path])
        _become(lease.path, {}, {path: files[path] for path in changed})
        return changed

    async def discard(self, lease: Lease) -> None:
        _remove(lease.path)

    # --- inside ---------------------------------------------------------------------------------

    def _of(self, lease: Lease) -> _Held:
        if lease.path not in self._held:
            raise WorkspaceFailed(f"{lease.path} is not leased to anybody")
        return self._held[lease.path]

    def _folder(self, prefix: str) -> Path:
        return Path(tempfile.mkdtemp(prefix=f"{prefix}-", dir=self.folder))

    def _commit(self, files: Files, parent: str, trailers: Trailers | None) -> str:
        name = hashlib.sha1(f"{len(self.commits)} {parent}".encode(), usedforsecurity=False)
        commit = MemoryCommit(id=name.hexdigest(), files=files, parent=parent, trailers=trailers)
        self.commits[commit.id] = commit
        return commit.id

    def _keep(self, name: str, files: Files) -> str:
        free, count = name, 1
        while free in self.attempts:
            count += 1
            free = f"{name}.{count}"
        self.attempts[free] = files
        return free

    def _is_pinned(self, path: str) -> bool:
        pins = (pin.rstrip("/") for pin in self.pins)
        return any(path == pin or path.startswith(f"{pin}/") for pin in pins)


# --- files ---------------------------------------------------------------------------------------


def _read(top: Path, odd: list[str] | None = None) -> dict[str, bytes]:
    """Every regular file, in order; a link counts as a file that says where it leads.

    `odd` is told of whatever else there is than plain files and the folders that they need.
    """
    files: dict[str, bytes] = {}
    _read_into(files, [] if odd is None else odd, str(top), "")
    return dict(sorted(files.items())) if len(files) > 1 else files


def _read_into(files: dict[str, bytes], odd: list[str], folder: str, prefix: str) -> None:
    before = len(files)
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_symlink():
                    odd.append(entry.path)
                    files[prefix + entry.name] = os.fsencode(os.readlink(entry.path))  # noqa: PTH115
                elif entry.is_dir():
                    _read_into(files, odd, entry.path, f"{prefix}{entry.name}/")
                elif entry.is_file():
                    files[prefix + entry.name] = Path(entry.path).read_bytes()
                else:
                    odd.append(entry.path)
    except OSError:
        odd.append(folder)
    if prefix and len(files) == before:
        odd.append(folder)


def _become(top: Path, before: Files, after: Files) -> None:
    for path in before:
        if path not in after:
            (top / path).unlink()
            _remove_empty((top / path).parent, top)
    for path, content in after.items():
        if before.get(path) != content:
            (top / path).parent.mkdir(parents=True, exist_ok=True)
            (top / path).write_bytes(content)


def _remove_empty(folder: Path, top: Path) -> None:
    while folder != top and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def claimed_files(base: Files, now: Files, instead: Mapping[str, bytes | None]) -> Files:
    """What lies in a tree, but for some paths: as in the base, or with a content of their own."""
    files = {path: content for path, content in now.items() if path not in instead}
    for path, content in instead.items():
        if content is not None:
            files[path] = content
        elif path in base:
            files[path] = base[path]
    return files


def changed_paths(before: Files, after: Files) -> tuple[str, ...]:
    names = sorted({*before, *after})
    return tuple(name for name in names if before.get(name) != after.get(name))


def merged_files(base: Files, ours: Files, theirs: Files) -> dict[str, bytes] | Conflict:
    """Ours with what leads from the base to theirs, file by file."""
    merged = dict(ours)
    both = []
    for path in changed_paths(base, theirs):
        wanted = theirs.get(path)
        if ours.get(path) not in (base.get(path), wanted):
            both.append(path)
        elif wanted is None:
            merged.pop(path, None)
        else:
            merged[path] = wanted
    return Conflict(paths=tuple(both)) if both else dict(sorted(merged.items()))
