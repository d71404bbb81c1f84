"""What an agent in the person's own checkout must leave alone: how it was, and putting it back.

Without a sandbox, an agent can reach everything in `.git`: move branches, plant hooks, define
filters, hide its files through `info/exclude`. All of that is remembered before it starts and
compared when it ended, before any git of ours runs. That takes reading a few small files and no
process, because it is done in every iteration. What is put back is never lost: refs are kept under
the names of attempts, files in a folder of ours below `.git`.

Some moves are the person's, in other work trees of theirs: what the log of such a tree tells of,
and whatever a fetch brings, is left alone.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from dwindle.adapters.git.command import DURABLE
from dwindle.adapters.git.commit_message import attempts_of
from dwindle.adapters.git.files import content_of, entries_below
from dwindle.adapters.git.refs import ref_moves, watched_refs
from dwindle.adapters.git.repository import Repository
from dwindle.ports.removal import remove
from dwindle.ports.workspace import WorkspaceFailed

_OBJECT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_STASH = "logs/refs/stash"
"""A stash is its log: the ref alone is only the last entry."""

_SHARED = ("config", "info/exclude", "info/attributes", "info/grafts", _STASH)
_OWN = ("config.worktree", "info/sparse-checkout")
_NOT_LOOSE = {"refs/remotes", "refs/prefetch", "refs/dwindle", "refs/heads/runner"}

File: TypeAlias = tuple[int, bytes]
"""Mode and content; of a link, where it leads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GitFilesState:
    """Git's own files and refs at one time."""

    loose: Mapping[str, str]
    packed: tuple[int, ...]
    """What tells one packed-refs file from another without reading it."""
    packed_text: bytes
    files: Mapping[Path, File]

    @property
    def refs(self) -> dict[str, str]:
        packed = {}
        for line in os.fsdecode(self.packed_text).splitlines():
            if line and line[0] not in "#^":
                value, _, name = line.partition(" ")
                packed[name] = value
        return watched_refs(dict(sorted({**packed, **self.loose}.items())))


@dataclass(slots=True, kw_only=True)
class GitFilesGuard:
    """Remembers git's own files and refs, and puts back what an agent changed."""

    repository: Repository
    run: str
    own: str
    """The ref that the run moves; not watched here."""
    seen: GitFilesState

    @classmethod
    def begin(cls, repository: Repository, run: str, own: str) -> GitFilesGuard:
        return cls(repository=repository, run=run, own=own, seen=_look(repository, None))

    def remember(self) -> None:
        """Take the present state as the right one: only the person and the runner changed it."""
        self.seen = _look(self.repository, self.seen)

    def look(self) -> GitFilesState:
        return _look(self.repository, self.seen)

    def put_files_back(self, seen: GitFilesState) -> list[str]:
        """The small files that steer git, as they were; no git is needed for it."""
        before, now = self.seen.files, seen.files
        paths = sorted({*before, *now})
        changed = [path for path in paths if before.get(path) != now.get(path)]
        # The stash comes back with its ref, and what is new in a folder goes with the folder.
        stash = self.repository.common / _STASH
        names = [
            path
            for path in changed
            if path != stash and (path in before or path.parent not in changed)
        ]
        if not names:
            return []
        place = self.room()
        for path in names:
            _put_back(path, before.get(path), place)
        listed = ", ".join(_shown(self.repository, path) for path in names)
        were = "were" if len(names) > 1 else "was"
        return [f"{listed} {were} changed, and put back (see {_shown(self.repository, place)})"]

    async def put_refs_back(self, now: GitFilesState) -> list[str]:
        """Other branches and tags, as they were; where they were moved to is kept."""
        if (now.loose, now.packed) == (self.seen.loose, self.seen.packed):
            return []
        before, after = self.seen.refs, now.refs
        mine = set(_elsewhere(self.repository))
        theirs = {self.own, *(name for name in after if (name, after[name]) in mine)}
        troubles = list(ref_moves(self.repository, before, after, theirs))
        moved = [
            name
            for name in dict.fromkeys((*before, *after))
            if before.get(name) != after.get(name) and name not in theirs
        ]
        try:
            await self._move_back(moved, before, after)
        except WorkspaceFailed as error:
            troubles.append(f"refs could not be put back: {error}")
        self.remember()
        return troubles

    async def _move_back(
        self, names: list[str], before: Mapping[str, str], after: Mapping[str, str]
    ) -> None:
        git = self.repository.git.with_settings(*DURABLE)
        prefix = f"{attempts_of(self.run)}refs/"
        taken = (await git.tell("for-each-ref", "--format=%(refname)", prefix)).text.split()
        number, words = 0, []
        for name in names:
            if _OBJECT.fullmatch(after.get(name, "")):
                number += 1
                while f"{prefix}{number}" in taken:
                    number += 1
                words.append(f"create {prefix}{number} {after[name]}\n")
            old = before.get(name)
            words.append("option no-deref\n")
            words.append(f"update {name} {old}\n" if old else f"delete {name}\n")
        if words:
            await git.tell("update-ref", "--stdin", given=os.fsencode("".join(words)))
        log = self.repository.common / _STASH
        if "refs/stash" in names and log in self.seen.files:
            _put_back(log, self.seen.files[log], self.room())

    def room(self) -> Path:
        """A new folder for what was put away."""
        top = self.repository.common / "dwindle" / self.run / "refused"
        top.mkdir(parents=True, exist_ok=True)
        number = 1
        while os.path.lexists(top / str(number)):
            number += 1
        (top / str(number)).mkdir()
        return top / str(number)


def _elsewhere(repository: Repository) -> Iterator[tuple[str, str]]:
    """What the person's other checkouts are on, and where their own logs say that it went last."""
    trees = repository.common / "worktrees"
    admins = [repository.common, *(sorted(trees.iterdir()) if trees.is_dir() else ())]
    for admin in admins:
        if admin == repository.git.git_dir:
            continue
        with suppress(OSError, IndexError):
            head = os.fsdecode((admin / "HEAD").read_bytes()).removeprefix("ref:").strip()
            last = (admin / "logs" / "HEAD").read_bytes().splitlines()[-1]
            yield head, os.fsdecode(last.split(b" ", 2)[1])


def _shown(repository: Repository, path: Path) -> str:
    if path.is_relative_to(repository.checkout):
        return str(path.relative_to(repository.checkout))
    return f".git/{os.path.relpath(path, repository.common)}"


# --- looking -------------------------------------------------------------------------------------


def _look(repository: Repository, known: GitFilesState | None) -> GitFilesState:
    common = repository.common
    facts = _facts(common / "packed-refs")
    if known is not None and known.packed == facts:
        text = known.packed_text
    else:
        text = (common / "packed-refs").read_bytes() if facts else b""
    return GitFilesState(
        loose=dict(_loose(common, "refs")),
        packed=facts,
        packed_text=text,
        files=dict(_files(repository)),
    )


def _facts(path: Path) -> tuple[int, ...]:
    with suppress(FileNotFoundError):
        found = path.stat()
        return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    return ()


def _loose(common: Path, folder: str) -> Iterator[tuple[str, str]]:
    for entry in entries_below(common / folder, {f"{common}/{name}" for name in _NOT_LOOSE}):
        if not entry.is_dir(follow_symlinks=False) and not entry.name.endswith(".lock"):
            with suppress(OSError):
                name = os.path.relpath(entry.path, common)
                yield name, os.fsdecode(content_of(Path(entry.path))).strip()


def _files(repository: Repository) -> Iterator[tuple[Path, File]]:
    common, own = repository.common, repository.git.git_dir
    paths = [common / name for name in _SHARED] + [own / name for name in _OWN]
    with suppress(OSError):
        hooks = common / "hooks"
        inside = (path for path in hooks.iterdir() if path.suffix != ".sample")
        paths += [hooks] if hooks.is_symlink() else sorted(inside)
    paths.append(repository.checkout / ".git")  # a file, if it is a linked work tree
    for path in paths:
        with suppress(OSError):
            mode = path.lstat().st_mode
            if stat.S_ISREG(mode):
                yield path, (mode, path.read_bytes())
            elif stat.S_ISLNK(mode):
                yield path, (mode, os.fsencode(path.readlink()))


def _put_back(path: Path, before: File | None, place: Path) -> None:
    if os.path.lexists(path):
        number = len(list(place.iterdir()))
        path.rename(place / f"{number}-{path.name}")
    if before is None:
        return
    mode, content = before
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    remove(part)
    if stat.S_ISLNK(mode):
        part.symlink_to(os.fsdecode(content))
    else:
        part.write_bytes(content)
        part.chmod(stat.S_IMODE(mode))
    part.replace(path)
