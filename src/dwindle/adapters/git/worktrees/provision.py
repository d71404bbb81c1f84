"""What a tree needs besides the files of a commit: shared folders of the person, and a setup.

What the setup made is ignored by git, so cleaning would take it away, and making it again may take
minutes. It is kept if it can be shown to be untouched: every file has the inode and the change time
that it had when the setup ended, and a change time cannot be set by any program. Files that were
added are removed. If anything was changed or is missing, all of it goes and the setup runs again.
"""

from __future__ import annotations

import asyncio
import json
import os
import stat
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from dwindle.adapters.git.repository import Repository
from dwindle.adapters.git.worktrees.worktree import SETUP, Tree
from dwindle.ports.removal import remove
from dwindle.ports.workspace import WorkspaceFailed

_UNTRACKED = ("ls-files", "-z", "--others", "--exclude-standard", "--directory")
_IGNORED = (*_UNTRACKED, "--ignored")

Setup: TypeAlias = Callable[[Path], Awaitable[None]]
"""Makes a tree ready to work in; raises WorkspaceFailed if it cannot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeSetup:
    checkout: Path
    share: tuple[str, ...] = ()
    """Ignored paths of the checkout, without a slash at their ends."""
    setup: Setup | None = None
    build: Setup | None = None
    """Runs in a checkout for checks, on the code that is judged; raises BuildFailed."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "share", tuple(name.strip("/") for name in self.share))

    @property
    def shared(self) -> tuple[Path, ...]:
        """What exists of it; a sandbox must let these be read, and not written."""
        return shared_paths(self.checkout, self.share)

    async def furnish(self, tree: Tree, commit: str, *, head: str = "") -> None:
        """Bring along what is shared, and set up what is not set up already.

        Of what a setup leaves, only what git ignores stays: the rest would pass for the work of
        the next session.
        """
        self.link(tree.path)
        if self.setup is None or (tree.admin / SETUP).exists():
            return
        await self.setup(tree.path)
        made = await self._ignored(tree)
        await tree.clean(commit, head=head, kept=made)
        self.link(tree.path)
        known = await asyncio.to_thread(_inventory, tree.path, made)
        (tree.admin / SETUP).write_text(json.dumps(known), "ascii")

    def link(self, tree: Path) -> None:
        for source in self.shared:
            target = tree / source.relative_to(self.checkout)
            if not os.path.lexists(target):
                target.parent.mkdir(parents=True, exist_ok=True)
                target.symlink_to(source)

    async def kept(self, tree: Tree) -> tuple[str, ...]:
        """What the setup made, if it is as it was; else nothing, and it will be made again."""
        known = _read_inventory(tree)
        if known is not None and await asyncio.to_thread(_untouched, tree.path, known):
            return tuple(known)
        with suppress(FileNotFoundError):
            (tree.admin / SETUP).unlink()
        return ()

    def settled(self, tree: Tree) -> tuple[str, ...]:
        """The paths that the setup made."""
        return tuple(_read_inventory(tree) or ())

    async def _ignored(self, tree: Tree) -> tuple[str, ...]:
        listed = await tree.git.at(tree.path, index=tree.index).tell(*_IGNORED)
        paths = (path.rstrip("/") for path in listed.lines)
        return tuple(path for path in paths if path not in self.share)


def shared_paths(checkout: Path, share: Iterable[str]) -> tuple[Path, ...]:
    """What exists of what is shared, but for links that lead out of the checkout or into git."""
    paths = (checkout / name for name in share)
    return tuple(path for path in paths if path.exists() and not leads_away(checkout, path))


def leads_away(checkout: Path, path: Path) -> bool:
    top = Path(os.path.realpath(checkout))
    real = Path(os.path.realpath(path))
    inside = real.parts[len(top.parts) :] if real.is_relative_to(top) else ()
    return not inside or inside[0] in (".git", ".runner", ".claude")


async def check_share(repository: Repository, share: tuple[str, ...]) -> None:
    """Only ignored paths of the checkout can be shared; names every one that is not."""
    problems = []
    for name in share:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or not path.parts or ".git" in path.parts:
            problems.append(f"{name!r} is not a path inside of the checkout")
        elif (await repository.git.tell("ls-files", "-z", "--", name)).lines:
            problems.append(f"{name!r} is tracked by git: every tree has its own")
        elif (await repository.git.tell(*_UNTRACKED, "--", name)).lines:
            problems.append(f"{name!r} is not ignored by git; add it to .gitignore")
        elif leads_away(repository.checkout, repository.checkout / name):
            problems.append(f"{name!r} is a link that leads elsewhere")
    if problems:
        raise WorkspaceFailed("these cannot be shared with work trees", "; ".join(problems))


# --- inventories ---------------------------------------------------------------------------------

_Facts: TypeAlias = list[int]
_Inventory: TypeAlias = dict[str, dict[str, _Facts]]
"""Top path to all that is below it, each with what must not change."""


def _below(top: str) -> Iterator[tuple[str, _Facts]]:
    pending = [top]
    while pending:
        path = pending.pop()
        found = os.lstat(path)
        if stat.S_ISDIR(found.st_mode):
            yield os.path.relpath(path, top), [found.st_mode]
            with os.scandir(path) as entries:
                pending += [entry.path for entry in entries]
        else:
            facts = [found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]
            yield os.path.relpath(path, top), [*facts, found.st_mode]


def _inventory(tree: Path, paths: tuple[str, ...]) -> _Inventory:
    return {path: dict(_below(os.fspath(tree / path))) for path in paths}


def _read_inventory(tree: Tree) -> _Inventory | None:
    with suppress(OSError, ValueError, RecursionError):
        found: _Inventory = json.loads((tree.admin / SETUP).read_bytes())
        return found
    return None


def _untouched(tree: Path, known: _Inventory) -> bool:
    """Whether all that was there is as it was; what was added is removed."""
    with suppress(OSError):
        for path, before in known.items():
            now = dict(_below(os.fspath(tree / path)))
            if any(now.get(name) != facts for name, facts in before.items()):
                return False
            for name in now:
                if name not in before:
                    remove(tree / path / name)
        return True
    return False
