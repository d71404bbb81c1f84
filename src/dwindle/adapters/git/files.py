"""Files in a tree that an agent had: listing them, and what git must not see of them.

Git opens `.gitignore` and its like wherever it finds them, and waits for ever if that is a pipe. It
hashes whatever is large, and follows folders as deep as they go. So before git looks at such a
tree, what is no file, too deep, too large or too much is taken out, and named.

Nothing here recurses: an agent decides how deep a tree is, and a path may be longer than the kernel
takes.
"""

from __future__ import annotations

import asyncio
import errno
import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from dwindle.adapters.git.command import Git
from dwindle.text import amounts

DEEPEST = 100
"""Folders inside of each other."""
LONGEST = 3000
"""Bytes of a path below the top; the kernel takes 4,096 with what is above."""
LARGEST = 512 << 20
"""Bytes of a file: above it git takes many seconds, and no host takes it."""
MOST = 200_000
"""New files: git takes many seconds for more."""

_READ_BY_GIT = (".gitignore", ".gitattributes", ".gitmodules", ".mailmap")
_SET_ID = stat.S_ISUID | stat.S_ISGID
NO_FILE = "neither a file nor a folder"


def entries_below(top: Path, spared: Collection[str] = ()) -> Iterator[os.DirEntry[str]]:
    """Every entry below a folder, in order, `.git` and spared paths left out; follows no link."""
    waiting = [iter(_sorted(os.fspath(top)))]
    while waiting:
        entry = next(waiting[-1], None)
        if entry is None:
            waiting.pop()
        elif entry.name != ".git" and entry.path not in spared:
            yield entry
            if entry.is_dir(follow_symlinks=False):
                waiting.append(iter(_sorted(entry.path)))


def _sorted(folder: str) -> list[os.DirEntry[str]]:
    with suppress(OSError), os.scandir(folder) as found:
        return sorted(found, key=lambda entry: entry.name)
    return []


def content_of(path: Path) -> bytes:
    """What is in a regular file; OSError for anything else, and no waiting for a pipe."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:  # noqa: PTH123 - it is open
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, NO_FILE, str(path))
        return file.read()


def listed(folder: str) -> list[os.DirEntry[str]]:
    """What is in a folder, once we have opened it if need be; nothing if we may not."""
    with suppress(OSError):
        if os.lstat(folder).st_mode & 0o700 != 0o700:
            allow(folder, 0o700)
        with os.scandir(folder) as entries:
            return list(entries)
    return []


def allow(path: str, bits: int) -> None:
    with suppress(OSError):
        os.chmod(path, stat.S_IMODE(os.lstat(path).st_mode) | bits)  # noqa: PTH101 - as listed


def is_too_deep(path: str) -> bool:
    """Whether a path below the top is longer than git should have to walk."""
    return path.count("/") >= DEEPEST or len(os.fsencode(path)) > LONGEST


@dataclass(slots=True, kw_only=True)
class OddFiles:
    """What was taken out of a tree, by its path, and why."""

    special: list[str] = field(default_factory=list)
    """What is no file, link or folder: no commit could hold it."""
    refused: list[str] = field(default_factory=list)
    """What a commit would have held."""
    large: list[str] = field(default_factory=list)
    """Paths that are still there: git may ignore them."""
    news: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tidying:
    """One tree, and how to take something out of it."""

    top: Path
    put_away: Callable[[Path], object]
    since: float = 0.0
    """What was changed before is not an agent's, and stays unless git would wait for it."""
    spared: tuple[str, ...] = ()
    """Folders that git does not look into."""
    largest: int | None = LARGEST

    def take_out(self) -> OddFiles:
        """All that git must not see, but for what is large or too much."""
        found = OddFiles()
        top = os.fspath(self.top)
        spared = {f"{top}/{path}" for path in (".git", *self.spared)}
        pending = [top]
        while pending:
            folder = pending.pop()
            for entry in listed(folder):
                if entry.name == ".git" or entry.path in spared:
                    continue
                if not entry.is_dir(follow_symlinks=False):
                    if not entry.is_symlink():
                        self._look_at(entry, found)
                elif is_too_deep(name := entry.path[len(top) + 1 :]):
                    self._put_away(entry.path)
                    found.refused.append(f"{name[:80]}...: more than {DEEPEST} folders deep")
                else:
                    pending.append(entry.path)
        for notes in (found.special, found.refused, found.large):
            notes.sort()
        return found

    def _look_at(self, entry: os.DirEntry[str], found: OddFiles) -> None:
        try:
            facts = entry.stat(follow_symlinks=False)
        except OSError:
            return  # it is gone
        is_new = facts.st_ctime > self.since
        found.news += is_new
        is_file = stat.S_ISREG(facts.st_mode)
        if is_file and not is_new:
            return
        name = os.path.relpath(entry.path, self.top)
        if not is_file:
            if is_new or entry.name in _READ_BY_GIT:
                self._put_away(entry.path)
                found.special.append(f"{name}: {NO_FILE}")
            return
        if facts.st_mode & _SET_ID:
            with suppress(OSError):
                os.chmod(entry.path, stat.S_IMODE(facts.st_mode) & ~_SET_ID)  # noqa: PTH101
        if self.largest is not None and facts.st_size > self.largest:
            found.large.append(name)

    def _put_away(self, path: str) -> None:
        with suppress(FileNotFoundError):
            self.put_away(Path(path))

    def refuse_large(self, paths: Iterable[str]) -> Iterator[str]:
        """Take these out too; a note for each."""
        for path in paths:
            with suppress(FileNotFoundError):
                size = amounts.size((self.top / path).lstat().st_size)
                self._put_away(os.fspath(self.top / path))
                yield f"{path}: a file of {size}, more than a commit may hold"


async def tidy(git: Git, tidying: Tidying) -> OddFiles:
    """Take out all that git must not see. Git ignores some of what is large: that may stay."""
    found = await asyncio.to_thread(tidying.take_out)
    if found.large:
        given = b"".join(b"./" + os.fsencode(path) + b"\0" for path in found.large)
        said = await git.with_patterns().ask("check-ignore", "-z", "--stdin", given=given)
        ignored = {path.removeprefix("./") for path in said.lines}
        found.refused += tidying.refuse_large(p for p in found.large if p not in ignored)
    if found.news > MOST:
        words = ("ls-files", "-z", "--others", "--exclude-standard")
        count = len((await git.ask(*words)).lines)
        if count > MOST:
            for path in (await git.ask(*words, "--directory")).lines:
                await asyncio.to_thread(tidying.put_away, tidying.top / path)
            found.refused.append(f"{count} new files, more than the {MOST} that a commit may add")
    return found
