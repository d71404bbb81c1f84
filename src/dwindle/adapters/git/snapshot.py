"""What is in a tree that a session had, as objects in the repository.

`git add -A` into an index of our own does nearly all of it, and quickly: what we wrote and nobody
touched is known by its times. The rest of this file is about what agents leave behind and git
trips over: repositories inside of the tree (their files are taken as plain files, their history is
not), files that cannot be read, pipes and sockets, a tree that is gone. Taking in a session's
change must not fail because of these, and setting an attempt aside must never fail because of
them: what can be kept is kept, and the rest is named.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from dwindle.adapters.git.command import DURABLE, DURABLE_IN_BULK, Git, GitResult
from dwindle.adapters.git.files import (
    NO_FILE,
    OddFiles,
    Tidying,
    allow,
    entries_below,
    listed,
    tidy,
)
from dwindle.adapters.git.redaction import redact_files
from dwindle.adapters.git.worktrees.worktree import copy_index
from dwindle.ports.process import Secret
from dwindle.ports.removal import remove
from dwindle.ports.workspace import WorkspaceFailed
from dwindle.text.escape import escape

IGNORED_FILES = 2_000
IGNORED_BYTES = 32 << 20
"""How much of what git ignores is kept with an attempt: caches are not worth a repository."""

MANY = 500
"""Files, above which one pack is better than an object for each."""

_GITLINK = "160000"
_NEWS = ("ls-files", "-z", "--modified", "--others", "--exclude-standard")


class CapturePlace(Protocol):
    """Files to take in, and where an index of ours about them may lie."""

    @property
    def git(self) -> Git: ...
    @property
    def path(self) -> Path: ...
    @property
    def admin(self) -> Path:
        """A folder of git's, for the indexes."""
        ...

    @property
    def index(self) -> Path:
        """What we know of the files as they were before; only read here."""
        ...

    @property
    def capture(self) -> Path:
        """An index that takes in what was done since."""
        ...

    @property
    def is_there(self) -> bool: ...
    @property
    def hollow(self) -> tuple[str, ...]:
        """Folders that git does not look into, and that were empty."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedTree:
    paths: tuple[str, ...]
    """What differs from the base, in git's order."""
    notes: tuple[str, ...]
    """What could not be taken in, and why."""
    inner: tuple[str, ...] = ()
    """Folders with a repository of their own, whose files were taken in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """One tree, and the commits that say what in it is news."""

    tree: CapturePlace
    base: str
    """The commit that the session was given; empty if no record of it is left."""
    head: str
    """The session's own last commit on top of it, or the base."""
    shared: tuple[str, ...] = ()
    """Paths that are the person's and were only brought along."""
    settled: tuple[str, ...] = ()
    """What the setup made: ignored, and not the session's."""
    bulk: bool = False
    """Whether many files are expected, so that they had better go into one pack."""
    secrets: tuple[Secret, ...] = ()
    """What no object of ours may hold."""
    tidying: Tidying | None = None
    """Takes out what git must not see; not given where that was done before."""

    @property
    def _durable(self) -> Git:
        return self._git.with_settings(*(DURABLE_IN_BULK if self.bulk else DURABLE))

    @property
    def _git(self) -> Git:
        return self.tree.git.at(self.tree.path, index=self.tree.capture)

    async def change(self) -> CapturedTree:
        """Take in what a commit would hold."""
        odd = await self._tidy()
        told = (*odd.refused, *await self._start())
        captured = await self._take_in(self._durable)
        return replace(captured, notes=(*told, *captured.notes)) if told else captured

    async def piecemeal(self) -> CapturedTree:
        """As `change`, where one file that git cannot take in must not stop the others."""
        told = await self._start()
        git = self._durable
        listed = dict.fromkeys((await git.tell(*_NEWS, "--deleted")).lines)
        gone = [path for path in listed if not _is_there(self.tree.path / path)]
        given = b"".join(os.fsencode(path) + b"\0" for path in gone)
        if given:
            await git.tell("update-index", "--force-remove", "-z", "--stdin", given=given)
        mine = tuple(f"{path}/" for path in self.shared)
        here = [path for path in listed if path not in gone and not path.startswith(mine)]
        notes = await self._take_in_files(git, here)
        paths = tuple(path for path, _, _ in await self._changes(git))
        inner = tuple(path.rstrip("/") for path in here if path.endswith("/"))
        return CapturedTree(paths=paths, notes=(*told, *notes), inner=inner)

    async def everything(self) -> CapturedTree:
        """Take in all there is: ignored files too, as far as they are few."""
        odd = await self._tidy()
        told = (*odd.refused, *await self._start())
        if not self.tree.is_there:
            return CapturedTree(paths=(), notes=("the work tree itself, which is gone",))
        news, others = await asyncio.to_thread(survey, self.tree.path, self.tree.index)
        unseen = sorted((*others, *odd.special))
        git = self._git.with_settings(*(DURABLE_IN_BULK if news > MANY else DURABLE))
        try:
            captured = await self._take_in(git)
        except WorkspaceFailed:
            return CapturedTree(paths=(), notes=(*told, *await self._take_in_raw(git)))
        inside = await self._take_in_files(git, self.tree.hollow)
        ignored = await self._take_in_ignored(git)
        notes = (*told, *captured.notes, *inside, *unseen, *ignored)
        return CapturedTree(paths=captured.paths, notes=notes)

    async def write(self) -> str:
        """The tree object of what was taken in."""
        return (await self._git.with_settings(*DURABLE).tell("write-tree")).text

    async def _tidy(self) -> OddFiles:
        if self.tidying is None or not self.tree.is_there:
            return OddFiles()
        return await tidy(self.tree.git.at(self.tree.path, index=self.tree.index), self.tidying)

    async def _start(self) -> tuple[str, ...]:
        """An index of what the session began with, or what it last committed.

        Says where a secret was that had to be taken out.
        """
        self._disarm()
        (self.tree.admin / f"{self.tree.capture.name}.lock").unlink(missing_ok=True)
        if not self.tree.capture.exists():
            self.tree.admin.mkdir(parents=True, exist_ok=True)
            if self.tree.index.exists():
                copy_index(self.tree.index, self.tree.capture)
            elif self.base:
                await self._git.tell("read-tree", self.base)
        if self.head != self.base:
            await self._git.tell("read-tree", "-i", "-m", self.head)
        if not self.secrets or not self.tree.is_there:
            return ()
        news = (await self._git.ask(*_NEWS)).lines
        if self.head != self.base and self.base:
            words = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", self.base, self.head)
            news = (*news, *(await self._git.ask(*words)).lines)
        return await self._redact(news)

    async def _redact(self, paths: Iterable[str]) -> tuple[str, ...]:
        mine = tuple(f"{path.rstrip('/')}/" for path in (*self.shared, *self.settled))
        given = [path for path in dict.fromkeys(paths) if not f"{path}/".startswith(mine)]
        return await redact_files(self._git, self.tree.path, self.base, given, self.secrets)

    def _disarm(self) -> None:
        """Git goes into a folder of a submodule, and obeys the settings of what it finds there."""
        top = self.tree.path
        for path in self.tree.hollow:
            inside = top / path / ".git"
            if not any(one.is_symlink() for one in inside.parents if top in one.parents):
                remove(inside)

    async def _take_in(self, git: Git) -> CapturedTree:
        added = await self._add(git)
        if self.shared:
            await git.ask("rm", "-r", "--cached", "--quiet", "--ignore-unmatch", "--", *self.shared)
        notes: list[str] = []
        awkward = []
        if added.code:
            left = await git.ask("ls-files", "-z", "--others", "--exclude-standard")
            awkward = [path for path in left.lines if path.rstrip("/") not in self.shared]
            notes += _complaints(added.err, awkward)
        changes = await self._changes(git)
        links = tuple(path for path, mode, before in changes if mode == _GITLINK != before)
        if links:
            gone = b"".join(os.fsencode(path) + b"\0" for path in links)
            await git.tell("update-index", "--force-remove", "-z", "--stdin", given=gone)
        if links or awkward:
            notes += await self._take_in_files(git, (*links, *awkward))
            changes = await self._changes(git)
        inner = (*links, *(path.rstrip("/") for path in awkward if path.endswith("/")))
        paths = tuple(path for path, _, _ in changes)
        return CapturedTree(paths=paths, notes=tuple(notes), inner=inner)

    async def _add(self, git: Git) -> GitResult:
        """Add what there is. 1 is about some files; anything else is about git or its index."""
        said = await git.ask("add", "-A", "--ignore-errors", ".")
        if said.code > 1:
            self.tree.capture.unlink(missing_ok=True)
            await self._start()
            said = await git.ask("add", "-A", "--ignore-errors", ".")
        if said.code > 1:
            raise WorkspaceFailed(f"git add ended with {said.code} in {self.tree.path}", said.err)
        return said

    async def _changes(self, git: Git) -> tuple[tuple[str, str, str], ...]:
        """Path, mode and earlier mode of what differs from the base."""
        if not self.base:
            return ()
        words = ("diff-index", "--cached", "--raw", "--no-renames", "-z", self.base)
        fields = (await git.tell(*words)).lines
        facts = zip(fields[::2], fields[1::2], strict=True)
        return tuple((path, fact.split()[1], fact.split()[0][1:]) for fact, path in facts)

    async def _take_in_files(self, git: Git, paths: Iterable[str]) -> list[str]:
        """Add files that `git add` would not, and name those that cannot be."""
        files, notes = await asyncio.to_thread(_readable, self.tree.path, tuple(paths))
        if self.secrets:
            notes += await self._redact(files)
            files = [path for path in files if _is_there(self.tree.path / path)]
        given = b"".join(os.fsencode(path) + b"\0" for path in files)
        words = ("update-index", "--add", "--replace", "-z", "--stdin")
        if given and (await git.ask(*words, given=given)).code:
            # One of them is unfit, and git stopped there: find out which.
            for path in files:
                said = await git.ask(*words, given=os.fsencode(path) + b"\0")
                if said.code:
                    notes.append(f"{path}: {said.err.strip()}")
        return notes

    async def _take_in_raw(self, git: Git) -> list[str]:
        """Add every file byte for byte: a filter that git must run first does not work here."""
        files, notes = await asyncio.to_thread(_readable, self.tree.path, (".",))
        notes += await self._redact(files)
        files = [path for path in files if _is_there(self.tree.path / path)]
        mine = tuple(f"{path.rstrip('/')}/" for path in (*self.shared, *self.settled))
        links = [path for path in files if (self.tree.path / path).is_symlink()]
        plain = [path for path in files if path not in links and not path.startswith(mine)]
        notes += [f"{path!r}: its name has a line break" for path in plain if "\n" in path]
        plain = [path for path in plain if "\n" not in path]
        given = b"".join(os.fsencode(path) + b"\n" for path in plain)
        words = ("hash-object", "-w", "--no-filters", "--stdin-paths")
        objects = (await git.tell(*words, given=given)).text.split()
        lines = []
        for path, name in zip(plain, objects, strict=True):
            mode = "100755" if os.access(self.tree.path / path, os.X_OK) else "100644"
            lines.append(f"{mode} {name}\t{path}\0")
        await git.tell("read-tree", "--empty")
        given = os.fsencode("".join(lines))
        await git.tell("update-index", "-z", "--index-info", given=given)
        shared = [path.rstrip("/") for path in self.shared]
        return notes + await self._take_in_files(git, [one for one in links if one not in shared])

    async def _take_in_ignored(self, git: Git) -> list[str]:
        words = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
        notes: list[str] = []
        wanted: list[str] = []
        files, size = IGNORED_FILES, IGNORED_BYTES
        mine = {path.rstrip("/") for path in (*self.shared, *self.settled)}
        for path in (await git.ask(*words)).lines:
            if path.rstrip("/") in mine:
                continue
            count, total = await asyncio.to_thread(_extent, self.tree.path / path, files, size)
            if count > files or total > size:
                notes.append(f"{path}: ignored by git, and too much of it")
                continue
            files, size = files - count, size - total
            wanted.append(path)
        return notes + await self._take_in_files(git, wanted)


# --- files ---------------------------------------------------------------------------------------


def survey(top: Path, index: Path) -> tuple[int, tuple[str, ...]]:
    """Look at everything once, and let ourselves read what a session closed.

    Returns about how many files are newer than our index, and a note for each thing that git does
    not even look at. What belongs to another user stays closed.
    """
    since = index.stat().st_mtime if index.exists() else 0.0
    news, notes = 0, []
    pending = [os.fspath(top)]
    while pending:
        folder = pending.pop()
        for entry in listed(folder):
            if entry.name == ".git":
                if folder != os.fspath(top):
                    notes.append(f"{entry.path}: the history of an inner repository")
            elif entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
            elif not entry.is_symlink():
                facts = entry.stat(follow_symlinks=False)
                news += facts.st_ctime > since
                if not stat.S_ISREG(facts.st_mode):
                    notes.append(f"{entry.path}: {NO_FILE}")
                elif not facts.st_mode & 0o400:
                    allow(entry.path, 0o400)
    return news, tuple(sorted(note.removeprefix(f"{top}/") for note in notes))


def _readable(tree: Path, paths: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """The files at and below some paths that can be read, and a note for each that cannot."""
    files: list[str] = []
    notes: list[str] = []
    for path in paths:
        top = tree / path
        if any(parent.is_symlink() for parent in top.parents if tree in parent.parents):
            continue
        inside = [Path(entry.path) for entry in entries_below(top)] if _is_folder(top) else [top]
        if _is_folder(top) and not os.access(top, os.R_OK | os.X_OK):
            notes.append(f"{path}: cannot be read")
        for file in inside:
            name = os.path.relpath(file, tree)
            if file.is_symlink() or (file.is_file() and os.access(file, os.R_OK)):
                files.append(name)
            elif file.is_file():
                notes.append(f"{name}: cannot be read")
            elif file.is_dir() and not os.access(file, os.R_OK | os.X_OK):
                notes.append(f"{name}/: cannot be read")
    return files, notes


def _is_there(path: Path) -> bool:
    return os.path.lexists(path)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _extent(path: Path, files: int, size: int) -> tuple[int, int]:
    """How many files and bytes; counts no further than it takes to know that it is too much."""
    if not _is_folder(path):
        return 1, path.lstat().st_size
    count = total = 0
    for entry in entries_below(path):
        if not entry.is_dir(follow_symlinks=False):
            count += 1
            total += entry.stat(follow_symlinks=False).st_size
            if count > files or total > size:
                break
    return count, total


def _complaints(text: str, handled: Iterable[str]) -> list[str]:
    """What git said about files that it could not add, but for those that are seen to later."""
    names = [escape(path.rstrip("/")) for path in handled]
    lines = [line for line in text.splitlines() if line.startswith(("error:", "fatal:"))]
    return [line for line in lines if not any(name in line for name in names)]
