"""Submodules: other repositories inside of the checkout, whose files no commit of ours holds.

A commit names the commit that a submodule is at, and nothing of what is in its files. So what an
agent writes there would be judged by the guard and then be missing. It is looked for, and said.

And they are dangerous. Git goes into a submodule by way of the `.git` in it, also when it is only
told to add files around it, and there it obeys settings, which can name programs to run. That
`.git` is a file in the checkout: an agent in a sandbox can point it at settings of its own, and git
outside of the sandbox would run its programs. So before any git of ours looks at the files, each of
these links leads to where git's own folders say that it should, and where they say nothing, there
is none.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dwindle.adapters.git.command import Git
from dwindle.adapters.git.files import content_of
from dwindle.adapters.git.repository import Repository
from dwindle.ports.removal import remove

INSIDE = "changes inside of a submodule, which no commit here can hold"
_STATUS = ("status", "--porcelain", "-z", "--untracked-files=all", "--ignore-submodules=all")
_WORKTREE = re.compile(r"^\s*worktree\s*=\s*(.+?)\s*$", re.MULTILINE)
_GITLINK = "160000 "


@dataclass(frozen=True, slots=True, kw_only=True)
class Submodule:
    path: str
    admin: Path | None
    """Git's own folder about it; None if it was never fetched, and so is an empty folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submodules:
    git: Git
    top: Path
    known: tuple[Submodule, ...] = ()
    """Those inside of others too."""

    async def changed(self) -> tuple[str, ...]:
        """Those with anything in them that their own last commit does not have."""
        return tuple([one.path for one in self.known if await self._is_changed(one)])

    def astray(self) -> tuple[str, ...]:
        """Those whose `.git` does not lead to where it should, or should not be there."""
        return tuple(one.path for one in self.known if not self._is_linked(one))

    def link(self, room: Callable[[], Path]) -> None:
        """Every `.git` as it should be; what stood there is moved into a room of its own."""
        for one in self.known:
            if self._is_linked(one):
                continue
            link = self.top / one.path / ".git"
            if os.path.lexists(link):
                shutil.move(link, room() / "git")
            if one.admin is not None:
                part = (
                    one.admin / "dwindle.part"
                )  # not among the files, where a kill would leave it
                remove(part)
                leads = os.path.relpath(one.admin, os.path.realpath(link.parent))
                part.write_bytes(os.fsencode(f"gitdir: {leads}\n"))
                part.replace(link)

    def _is_linked(self, one: Submodule) -> bool:
        folder = self.top / one.path
        if not folder.is_dir() or _leads_away(self.top, one.path):
            return True  # git does not go there
        link = folder / ".git"
        if one.admin is None:
            return not os.path.lexists(link)
        with suppress(OSError):
            text = "" if link.is_symlink() else os.fsdecode(content_of(link))
            named = folder / text.removeprefix("gitdir:").strip()
            return text.startswith("gitdir:") and _real(named) == _real(one.admin)
        return False

    async def _is_changed(self, one: Submodule) -> bool:
        folder = self.top / one.path
        if not folder.is_dir() or _leads_away(self.top, one.path):
            return False  # the status of what is around it tells of that
        if one.admin is None:
            return not _is_empty(folder)
        said = await self.git.at(folder, git_dir=one.admin).ask(*_STATUS)
        return bool(said.code or said.out)


async def submodules_of(repository: Repository) -> Submodules:
    """Told from commits and from git's own folders alone: an agent may have been at the files."""
    git, top = repository.git, repository.checkout
    folders = dict(_folders(git.git_dir))
    known: list[Submodule] = []
    waiting: list[tuple[Git, str]] = [(git, "")]
    while waiting:
        at, above = waiting.pop(0)
        said = await at.ask("ls-tree", "-r", "-z", "--full-tree", "HEAD")
        for record in said.lines:
            if record.startswith(_GITLINK):
                path = above + record.partition("\t")[2]
                admin = folders.get(_real(top / path))
                known.append(Submodule(path=path, admin=admin))
                if admin is not None:
                    waiting.append((git.at(top / path, git_dir=admin), f"{path}/"))
    return Submodules(git=git, top=top, known=tuple(known))


def _folders(git_dir: Path) -> Iterator[tuple[Path, Path]]:
    """Where a submodule's files belong, and git's folder about it."""
    pending = [git_dir / "modules"]
    while pending:
        place = pending.pop()
        with suppress(OSError):
            folders = [one for one in place.iterdir() if one.is_dir() and not one.is_symlink()]
            if (place / "HEAD").is_file() and (place / "config").is_file():
                folders = [one for one in folders if one.name == "modules"]
                found = _WORKTREE.search(content_of(place / "config").decode("utf-8", "replace"))
                if found is not None:
                    yield _real(place / found[1]), place
            pending += folders


def _leads_away(top: Path, path: str) -> bool:
    """Whether it, or a folder above it, is a link."""
    parts = path.split("/")
    return any(top.joinpath(*parts[:depth]).is_symlink() for depth in range(1, len(parts) + 1))


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _is_empty(folder: Path) -> bool:
    with suppress(OSError), os.scandir(folder) as entries:
        return next(entries, None) is None
    return True
