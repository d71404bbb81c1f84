"""One work tree that sessions use in turn, and what makes it new again.

A new tree of a big repository costs seconds, a cleaned one a tenth of a second; but cleaning must
leave nothing of the session before, whatever that session did. What makes this possible:

* Git's own knowledge of the tree (the folder under `.git/worktrees`, its index, the `.git` link) is
  never believed. Beside it lies an index of ours, written only by us, with the times and inodes of
  the files as we wrote them. A file that was so much as touched has another change time, which no
  program can set, and is written anew: so hard links, modes and times go as well.
* Untracked and ignored files are removed by `git clean -ffdx`. What git does not see is removed
  before that: pipes, sockets, and folders that hold a repository of their own. Folders get their
  modes back; the `.git` link and the administrative folder are written anew.
* A note says which session has the tree. It is written before the tree is handed out and removed
  after it was cleaned, so that after a crash one knows which trees hold something unsaved.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import stat
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dwindle.adapters.git.command import Git
from dwindle.adapters.git.files import content_of, is_too_deep
from dwindle.adapters.git.repository import Repository
from dwindle.ports.removal import remove
from dwindle.ports.workspace import WorkspaceFailed

_NOTE = "dwindle-lease.json"
_INDEX = "dwindle-index"
_CAPTURE = "dwindle-capture"
SETUP = "dwindle-setup.json"
OWNER = "dwindle-checkout"
_OURS = ("HEAD", "index", "commondir", "gitdir", _NOTE, _INDEX, SETUP, OWNER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Who has a tree."""

    run: str
    session: int
    base: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    git: Git
    """Speaks of the shared repository; which tree is said with each call."""
    path: Path
    admin: Path
    """Git's folder about this tree."""
    hollow: tuple[str, ...] = ()
    """Folders that git does not look into, and that are empty in a clean tree."""

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def index(self) -> Path:
        return self.admin / _INDEX

    @property
    def capture(self) -> Path:
        """An index that starts as a copy of ours and takes in what a session did."""
        return self.admin / _CAPTURE

    @property
    def is_there(self) -> bool:
        """A folder of its own: neither gone nor a link to somewhere else."""
        with suppress(OSError):
            return stat.S_ISDIR(self.path.lstat().st_mode)
        return False

    # --- who has it -----------------------------------------------------------------------------

    def note(self) -> Note | None:
        """Who has it. A note that cannot be read stands for an unknown session."""
        try:
            found = json.loads((self.admin / _NOTE).read_bytes())
            return Note(run=found["run"], session=found["session"], base=found["base"])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return Note(run="unknown", session=0, base="")

    def hand_out(self, note: Note) -> None:
        text = json.dumps({"run": note.run, "session": note.session, "base": note.base})
        _write(self.admin / _NOTE, text)
        self.capture.unlink(missing_ok=True)

    def take_back(self) -> None:
        (self.admin / _NOTE).unlink(missing_ok=True)

    # --- what it is at --------------------------------------------------------------------------

    def head(self) -> str:
        """What HEAD says: a commit, or `ref: ...`; empty if it is gone."""
        with suppress(OSError, UnicodeDecodeError):
            return content_of(self.admin / "HEAD").decode("ascii").strip()
        return ""

    def is_linked(self) -> bool:
        """Whether the tree's `.git` and git's folder still name one another."""
        link = self.path / ".git"
        with suppress(OSError):
            mine = not link.is_symlink() and content_of(link) == _line(f"gitdir: {self.admin}")
            return mine and (self.admin / "gitdir").read_bytes() == _line(str(link))
        return False

    async def advance(self, old: str, new: str, *, head: str = "") -> None:
        """From one commit to another, in a tree that is clean."""
        self._unlock()
        at = self.git.at(self.path, index=self.index)
        if old != new and (await at.ask("read-tree", "-m", "-u", old, new)).code:
            await self.clean(new, head=head)
        else:
            self._administer(head or new)

    async def clean(self, commit: str, *, head: str = "", kept: tuple[str, ...] = ()) -> None:
        """Nothing but the files of a commit, all written by us, and what is `kept`."""
        self._unlock()
        self.admin.mkdir(parents=True, exist_ok=True)
        if not self.is_there:
            self.path.unlink(missing_ok=True)
            self.path.mkdir(parents=True)
        await asyncio.to_thread(scrub, self.path, kept, self.hollow)
        at = self.git.at(self.path, index=self.index)
        spared = [word for path in kept for word in ("-e", _pattern(path))]
        if (await at.ask("clean", "-ffdxq", *spared)).code:
            # Our index cannot be read, or folders were closed to us: without it all is untracked.
            self.index.unlink(missing_ok=True)
            await at.tell("clean", "-ffdxq", *spared)
        await at.tell("read-tree", "--reset", "-u", commit)
        self._administer(head or commit)

    # --- git's folder ---------------------------------------------------------------------------

    def _unlock(self) -> None:
        """Remove what a killed git left; only one process at a time works on a tree."""
        for name in (_INDEX, _CAPTURE, "index", "HEAD"):
            (self.admin / f"{name}.lock").unlink(missing_ok=True)

    def adopt_index(self) -> None:
        """Show to git, and so to the programs that work here, what we know of the files."""
        copy_index(self.index, self.admin / "index")

    def _administer(self, head: str) -> None:
        """Write git's folder and the link to it, as git itself would have."""
        for entry in list(os.scandir(self.admin)):
            if entry.name not in _OURS or not entry.is_file(follow_symlinks=False):
                remove(Path(entry.path))
        _write(self.admin / "HEAD", head)
        _write(self.admin / "commondir", "../..")
        _write(self.admin / "gitdir", str(self.path / ".git"))
        self.adopt_index()
        link = self.path / ".git"
        with suppress(OSError):
            if link.lstat().st_nlink == 1 and self.is_linked():
                return
        remove(link)
        _write(link, f"gitdir: {self.admin}")


async def make(repository: Repository, path: Path, commit: str) -> Tree:
    """A new tree with the files of a commit, known to git."""
    tree = register(repository, path, commit)
    await tree.git.at(path, index=tree.index).tell("read-tree", "--reset", "-u", commit)
    tree.adopt_index()
    return tree


def register(repository: Repository, path: Path, commit: str) -> Tree:
    """A new tree without files, as `git worktree add --no-checkout` would make it.

    Not by that command: it writes down where it finds git's folder, which for git of ours is a
    folder of ours.
    """
    admins = repository.common / "worktrees"
    admins.mkdir(exist_ok=True)
    path.mkdir(parents=True, exist_ok=True)
    admin, number = admins / path.name, 0
    while True:
        try:
            admin.mkdir()
            break
        except FileExistsError:
            number += 1
            admin = admins / f"{path.name}{number}"
    _write(admin / "locked", "initializing")  # `git worktree prune` leaves it alone
    tree = Tree(git=repository.git, path=path, admin=admin, hollow=repository.hollow)
    _write(admin / "gitdir", str(path / ".git"))
    _write(admin / "commondir", "../..")
    _write(admin / "HEAD", commit)
    _write(path / ".git", f"gitdir: {admin}")
    (admin / "locked").unlink()
    return tree


def known_trees(repository: Repository) -> tuple[Tree, ...]:
    """All trees but the main one, by what git's side says about them, in order of their paths."""
    admins = repository.common / "worktrees"
    found = []
    for admin in admins.iterdir() if admins.is_dir() else ():
        with suppress(OSError):
            link = os.fsdecode((admin / "gitdir").read_bytes()).rstrip("\n")
            path, hollow = Path(link).parent, repository.hollow
            found.append(Tree(git=repository.git, path=path, admin=admin, hollow=hollow))
    return tuple(sorted(found, key=lambda tree: tree.path))


async def throw_away(tree: Tree) -> None:
    """Remove a tree and what git knows of it."""
    try:
        await asyncio.to_thread(remove, tree.path)
        await asyncio.to_thread(remove, tree.admin)
    except OSError as error:
        raise WorkspaceFailed(f"{tree.path} could not be removed", error.strerror or "") from error


# --- files ---------------------------------------------------------------------------------------


def copy_index(source: Path, target: Path) -> None:
    """With its time: git tells by it which entries may have changed right after it was written."""
    part = target.with_name(f"{target.name}.part")
    shutil.copy2(source, part)
    part.replace(target)


def scrub(top: Path, kept: tuple[str, ...] = (), hollow: tuple[str, ...] = ()) -> None:
    """Remove what git would not see, and give folders their usual mode; follow no link.

    Git compares times by the second, so in the second in which a file was written only its content
    counts. A file with a second name or an odd mode is therefore removed, to be written anew.
    """
    _empty(top, hollow)
    usual = _usual_mode(top)
    file_modes = (usual & ~0o111, usual)
    spared = {os.path.join(top, path) for path in kept}  # noqa: PTH118 - as scandir spells it
    pending = [os.fspath(top)]
    while pending:
        folder = pending.pop()
        if is_too_deep(os.path.relpath(folder, top)):
            remove(Path(folder))  # git would take minutes
            continue
        if stat.S_IMODE(os.lstat(folder).st_mode) != usual:
            os.chmod(folder, usual)  # noqa: PTH101 - a folder, as lstat found it
        with os.scandir(folder) as entries:
            found = [entry for entry in entries if entry.path not in spared]
        if folder != os.fspath(top) and any(entry.name == ".git" for entry in found):
            remove(Path(folder))
            continue
        for entry in found:
            if entry.is_dir(follow_symlinks=False):
                if entry.name != ".git":
                    pending.append(entry.path)
            elif not entry.is_symlink():
                facts = entry.stat(follow_symlinks=False)
                plain = stat.S_ISREG(facts.st_mode) and facts.st_nlink == 1
                if not plain or stat.S_IMODE(facts.st_mode) not in file_modes:
                    os.unlink(entry.path)  # noqa: PTH108 - no need for a Path of each


def _usual_mode(top: Path) -> int:
    """What a new folder beside this one gets; asking for the umask would mean to change it."""
    with tempfile.TemporaryDirectory(prefix=".mode-", dir=top.parent) as place:
        folder = Path(place, "folder")
        folder.mkdir()
        return stat.S_IMODE(folder.stat().st_mode)


def _empty(top: Path, hollow: tuple[str, ...]) -> None:
    for path in hollow:
        if not any(one.is_symlink() for one in (top / path).parents if top in one.parents):
            remove(top / path)


def _write(path: Path, text: str) -> None:
    """One line, whole or not at all, and through no link that stands in its place."""
    part = path.with_name(f"{path.name}.part")
    remove(part)
    part.write_bytes(_line(text))
    if path.is_dir() and not path.is_symlink():
        remove(path)
    part.replace(path)


def _line(text: str) -> bytes:
    return os.fsencode(text + "\n")


def _pattern(path: str) -> str:
    """A pattern for git that matches this path only."""
    special = "\\*?[!#"
    escaped = "".join(f"\\{char}" if char in special else char for char in path.rstrip("/"))
    return "/" + escaped.replace(" ", "\\ ")
