"""What an agent left in the person's own checkout that plain git would trip over.

After an iteration `git status` has to be clean, or the next one could not begin. So what cannot be
committed may not stay where it is, and is not lost either: the history of an inner repository goes
to a folder of ours below `.git`, and files that git refuses (a filter that fails, an encoding that
they do not have) are kept byte for byte as an attempt and then put back as they were.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from dwindle.adapters.workspaces.attempts import keep_as
from dwindle.adapters.workspaces.capture import Capture, Captured, survey
from dwindle.adapters.workspaces.git import Git
from dwindle.adapters.workspaces.merge import commit_tree
from dwindle.adapters.workspaces.message import attempts_of
from dwindle.adapters.workspaces.repository import Repository
from dwindle.adapters.workspaces.standing import SCRATCH
from dwindle.adapters.workspaces.tree import remove
from dwindle.ports.workspace import WorkspaceFailed


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    """The person's own files, and two indexes of ours about them."""

    git: Git
    path: Path
    admin: Path
    hollow: tuple[str, ...] = ()

    @property
    def index(self) -> Path:
        return self.admin / "dwindle-in-place"

    @property
    def capture(self) -> Path:
        return self.admin / "dwindle-in-place-capture"

    @property
    def scratch(self) -> Path:
        return self.admin / SCRATCH

    @property
    def real(self) -> Path:
        """The index that the person's own git uses."""
        return self.admin / "index"

    @property
    def is_there(self) -> bool:
        with suppress(OSError):
            return stat.S_ISDIR(self.path.lstat().st_mode)
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    captured: Captured
    unfit: tuple[str, ...] = ()
    """What git cannot take in, and would list for ever."""


async def take_in(capture: Capture) -> Taken:
    """All that a commit can hold, whatever was done to make that hard."""
    captured = await _attempted(capture)
    if not captured.notes:
        return Taken(captured=captured)
    await asyncio.to_thread(survey, capture.tree.path, capture.tree.index)
    again = await _attempted(capture)
    inner = tuple(dict.fromkeys((*captured.inner, *again.inner)))
    captured = replace(again, inner=inner)
    return await _sorted_out(capture, captured) if captured.notes else Taken(captured=captured)


async def _attempted(capture: Capture) -> Captured:
    try:
        return await capture.change()
    except WorkspaceFailed as error:
        found = await capture.piecemeal()
        first = (error.output.strip() or str(error)).splitlines()[0]
        return replace(found, notes=(*found.notes, first))


async def _sorted_out(capture: Capture, captured: Captured) -> Taken:
    """Forget tracked paths where something stands that is no file, and name what is unfit."""
    git = capture.tree.git.at(capture.tree.path, index=capture.tree.capture)
    words = ("ls-files", "-z", "--modified", "--others", "--exclude-standard")
    left = [path for path in dict.fromkeys((await git.tell(*words)).lines) if path[-1] != "/"]
    special = [path for path in left if _is_special(capture.tree.path / path)]
    if special:
        given = b"".join(os.fsencode(path) + b"\0" for path in special)
        await git.tell("update-index", "--force-remove", "-z", "--stdin", given=given)
        changed = ("diff-index", "--cached", "--name-only", "--no-renames", "-z", capture.base)
        captured = replace(captured, paths=(await git.tell(*changed)).lines)
    mine = tuple(f"{path}/" for path in capture.shared)
    unfit = (path for path in left if path not in special and not path.startswith(mine))
    return Taken(captured=captured, unfit=tuple(unfit))


def move_histories(repository: Repository, run: str, folders: Iterable[str]) -> None:
    """Out of the checkout: git would neither look past them nor call the checkout clean."""
    top = repository.common / "dwindle" / run / "inner"
    for folder in folders:
        inner = repository.checkout / folder / ".git"
        if not os.path.lexists(inner):
            continue
        top.mkdir(parents=True, exist_ok=True)
        number = 1 + len(list(top.iterdir()))
        while os.path.lexists(top / str(number)):
            number += 1
        shutil.move(inner, top / str(number))
        with suppress(OSError):
            inner.parent.rmdir()  # if there was nothing else in it


async def put_unfit_away(
    git: Git, place: Checkout, run: str, base: str, paths: Sequence[str]
) -> str | None:
    """Keep files byte for byte, and put them back as they are in the base; the ref, if any."""
    own = git.at(place.path, index=place.scratch)
    await own.tell("read-tree", base)
    lines, kept = [], []
    for path in paths:
        file = place.path / path
        if file.is_symlink() or not file.is_file():
            continue
        said = await own.ask("hash-object", "-w", "--no-filters", "--", path)
        if said.code == 0:
            mode = "100755" if os.access(file, os.X_OK) else "100644"
            lines.append(f"{mode} {said.text}\t{path}\0")
            kept.append(path)
    if not kept:
        return None
    await own.tell("update-index", "-z", "--index-info", given=os.fsencode("".join(lines)))
    tree = (await own.tell("write-tree")).text
    text = f"What git could not take in\n\nDwindle-Run: {run}\n"
    commit = await commit_tree(git, tree, (base,), text)
    ref = await keep_as(git, f"{attempts_of(run)}unfit/1", commit)
    await put_back(git, place, base, kept)
    return ref


async def put_back(git: Git, place: Checkout, base: str, paths: Sequence[str]) -> None:
    """These paths as they are in a commit, whatever stands there now."""
    own = git.at(place.path, index=place.scratch)
    remove(place.scratch)
    there = (await own.tell("ls-tree", "-r", "-z", "--name-only", base, "--", *paths)).lines
    for path in paths:
        held = any(one == path or one.startswith(f"{path}/") for one in there)
        if not held and not _through_a_link(place.path, path):
            remove(place.path / path)
    # How files are written is told by attributes: those of the base, which therefore go first.
    first = [path for path in there if path.rpartition("/")[2] == ".gitattributes"]
    for some in (first, [path for path in there if path not in first]):
        given = b"".join(os.fsencode(path) + b"\0" for path in some)
        if given:
            words = ("restore", f"--source={base}", "--worktree", "--ignore-skip-worktree-bits")
            await own.tell(*words, "--pathspec-from-file=-", "--pathspec-file-nul", given=given)
    remove(place.scratch)


def _is_special(path: Path) -> bool:
    with suppress(OSError):
        mode = path.lstat().st_mode
        return not (stat.S_ISREG(mode) or stat.S_ISLNK(mode) or stat.S_ISDIR(mode))
    return False


def _through_a_link(top: Path, path: str) -> bool:
    parents = (top / path).parents
    return any(parent.is_symlink() for parent in parents if top in parent.parents)
