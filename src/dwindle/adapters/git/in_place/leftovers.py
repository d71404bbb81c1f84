"""What an agent left in the person's own checkout that plain git would trip over.

After an iteration `git status` has to be clean, or the next one could not begin. So what cannot be
committed may not stay where it is, and is not lost either: the history of an inner repository goes
to a folder of ours below `.git`, and files that git refuses (a filter that fails, an encoding that
they do not have) are kept byte for byte as an attempt and then put back as they were.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from dwindle.adapters.git.attempts import keep_as
from dwindle.adapters.git.command import Git
from dwindle.adapters.git.commit_message import attempts_of
from dwindle.adapters.git.in_place.run_branch import SCRATCH
from dwindle.adapters.git.merge import commit_tree
from dwindle.adapters.git.repository import Repository
from dwindle.adapters.git.snapshot import Capture, CapturedTree, survey
from dwindle.ports.removal import remove
from dwindle.ports.workspace import WorkspaceFailed

_ENTRY = re.compile(rb"([^\0]+)\0  ctime: [^\n]*\n(?:  [^\n]*\n)*?  size: (\d+)\t[^\n]*\n")
"""Name and size, in the output of `ls-files --debug -z`."""
_AT_ONCE = 500
"""Paths on one command line, which has a limit."""


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
class CheckoutCapture:
    captured: CapturedTree
    unfit: tuple[str, ...] = ()
    """What git cannot take in, and would list for ever."""


async def take_in(capture: Capture) -> CheckoutCapture:
    """All that a commit can hold, whatever was done to make that hard."""
    captured = await _capture_or_piecemeal(capture)
    if not captured.notes:
        return CheckoutCapture(captured=captured)
    await asyncio.to_thread(survey, capture.tree.path, capture.tree.index)
    again = await _capture_or_piecemeal(capture)
    inner = tuple(dict.fromkeys((*captured.inner, *again.inner)))
    captured = replace(again, inner=inner)
    return (
        await _without_special(capture, captured)
        if captured.notes
        else CheckoutCapture(captured=captured)
    )


async def _capture_or_piecemeal(capture: Capture) -> CapturedTree:
    try:
        return await capture.change()
    except WorkspaceFailed as error:
        found = await capture.piecemeal()
        first = (error.output.strip() or str(error)).splitlines()[0]
        return replace(found, notes=(*found.notes, first))


async def _without_special(capture: Capture, captured: CapturedTree) -> CheckoutCapture:
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
    return CheckoutCapture(captured=captured, unfit=tuple(unfit))


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
    there: list[str] = []
    for at in range(0, len(paths), _AT_ONCE):
        some = paths[at : at + _AT_ONCE]
        there += (await own.tell("ls-tree", "-r", "-z", "--name-only", base, "--", *some)).lines
    parts = (one.split("/") for one in there)
    held = {"/".join(names[:depth]) for names in parts for depth in range(1, len(names) + 1)}
    for path in paths:
        if path not in held and not _through_a_link(place.path, path):
            remove(place.path / path)
    # How files are written is told by attributes: those of the base, which therefore go first.
    first = [path for path in there if path.rpartition("/")[2] == ".gitattributes"]
    for many in (first, [path for path in there if path not in first]):
        given = b"".join(os.fsencode(path) + b"\0" for path in many)
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


# --- line ends ------------------------------------------------------------------------------------
#
# With attributes such as `eol=crlf` the same commit can be on disk in several forms: git writes one
# and accepts all. The person may have left a file in another form than git would write, and undoing
# an agent's change has to bring back that form. Our index records the length of each file at the
# last commit, which tells the forms apart.


async def recorded_lengths(git: Git, place: Checkout, paths: Sequence[str]) -> dict[str, int]:
    """How long our index says that these files are; those it knows nothing of are left out."""
    if not paths or not place.index.exists():
        return {}
    said = await git.at(place.path, index=place.index).ask("ls-files", "--debug", "-z")
    wanted = {os.fsencode(path) for path in paths}
    found = ((name, int(size)) for name, size in _ENTRY.findall(said.out) if name in wanted)
    return {os.fsdecode(name): size for name, size in found if size}


async def restore_line_ends(
    git: Git, place: Checkout, base: str, known: Mapping[str, int]
) -> tuple[str, ...]:
    """Files that were just written from a commit, in the form that had this length; which ones."""
    odd = [path for path, size in known.items() if _length(place, path) not in (None, size)]
    rewritten = []
    for path in odd:
        said = await git.ask("cat-file", "blob", f"{base}:{path}")
        form = next((one for one in _forms(said.out) if len(one) == known[path]), None)
        if said.code == 0 and form is not None:
            (place.path / path).write_bytes(form)
            rewritten.append(path)
    return tuple(rewritten)


def _forms(blob: bytes) -> Iterator[bytes]:
    yield blob
    yield blob.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def _length(place: Checkout, path: str) -> int | None:
    """None if it is no regular file, or one with another name, which is not ours to write to."""
    try:
        found = (place.path / path).lstat()
    except OSError:
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) and found.st_nlink == 1 else None
