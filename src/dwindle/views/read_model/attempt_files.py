"""The files of a session: its prompt, its log, its report, its changes. Read on demand.

The page names a part, and an agent without a sandbox may have changed the folders. So a part is
always one that was found in the folder, never a path from a request, and no file outside of the
run's logs is opened, whatever links lead there.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final, TypedDict

from dwindle.adapters.git.commit_message import attempt_ref
from dwindle.adapters.store.journal import path_of
from dwindle.app.ask_git import ask_git
from dwindle.app.paths import JOURNALS, LOGS
from dwindle.app.refusal import Refused
from dwindle.kernel.model import PlanKind
from dwindle.text.escape import escape
from dwindle.views.read_model.log_lines import readable
from dwindle.views.read_model.origin import kind_of_run
from dwindle.views.read_model.shapes import SessionView

DIFF: Final = "diff"
LIMIT: Final = 256 << 10
"""Bytes of a part that are handed out at once."""
TAIL: Final = 16 << 10
ORDER: Final = (
    "prompt.md",
    "session.log",
    "executor.log",
    "guard.log",
    "report.json",
    "diff.patch",
)


class Part(TypedDict):
    name: str
    """To be given to `read_part`: `worker/prompt.md`, `guard.log`, `diff`."""
    kind: str
    """prompt, log, guard, report, diff or file."""
    path: str
    """Below the repository; empty for what git has."""
    size: int
    """In bytes; -1 where that takes asking git."""


class Text(TypedDict):
    name: str
    text: str
    size: int
    start: int
    """Bytes that are left out before the text."""
    end: int
    """Bytes up to the end of the text; less than `size` if more is left out after it."""


def parts_of(root: Path, run: str, session: SessionView) -> list[Part]:
    """The parts of a session, the most important first."""
    found = [
        Part(name=name, kind=_kind(name), path=str(path.relative_to(root)), size=size)
        for name, path, size in _files(root, run, session)
    ]
    if kind_of_run(root, run) is PlanKind.GRAPH and session["atom"] and session["end"] is not None:
        found.append(Part(name=DIFF, kind="diff", path="", size=-1))
    return found


def read_part(  # noqa: PLR0913 - which part of what, and how much of it
    root: Path,
    run: str,
    session: SessionView,
    name: str,
    *,
    start: int = 0,
    limit: int = LIMIT,
    from_end: bool = False,
) -> Text | None:
    """A part, or a piece of it; None if there is no such part. `from_end`: the last `limit`."""
    if name == DIFF:
        data = _git_diff(root, run, session)
        return None if data is None else _piece(name, data, start, limit, from_end=from_end)
    path = next((path for known, path, _ in _files(root, run, session) if known == name), None)
    opened = None if path is None else _open_file(path)
    if opened is None:
        return None
    fd, size = opened
    try:
        begin = max(0, size - limit) if from_end else min(max(0, start), size)
        data = os.pread(fd, limit, begin)
    finally:
        os.close(fd)
    return _text(name, data, size, begin)


def last_lines(root: Path, run: str, session: SessionView, count: int) -> list[str]:
    """The last lines of its log; JSON records of agents are put into words."""
    logs = [
        name for name, _, size in _files(root, run, session) if _kind(name) == "log" and size > 0
    ]
    if not logs:
        return []
    found = read_part(root, run, session, logs[-1], limit=TAIL, from_end=True)
    if found is None:
        return []
    lines = found["text"].split("\n")
    return readable(lines[1:] if found["start"] else lines)[-count:] if count else []


def log_stamp(root: Path, run: str, session: SessionView) -> tuple[tuple[str, int, int], ...]:
    """Changes when there is more to read."""
    return tuple(
        (name, size, path.stat().st_mtime_ns)
        for name, path, size in _files(root, run, session)
        if _kind(name) == "log"
    )


def _kind(name: str) -> str:
    last = name.rpartition("/")[2]
    if last == "guard.log":
        return "guard"
    if last.endswith(".log"):
        return "log"
    return {"prompt.md": "prompt", "report.json": "report", "diff.patch": "diff"}.get(last, "file")


def _files(root: Path, run: str, session: SessionView) -> list[tuple[str, Path, int]]:
    """Name, place and size of every file of a session."""
    path_of(root / JOURNALS, run)  # what can be no run's name is refused
    logs = root / LOGS / run
    folder = logs / f"{session['iteration']:04}"
    if kind_of_run(root, run) is PlanKind.TREE:
        found = [(entry.name, entry) for entry in _entries(folder)]
    else:
        begins = f"{session['atom'] or 'verification'}.{session['number']}."
        own = [entry for entry in _entries(folder) if entry.name.startswith(begins)]
        found = [
            (f"{below.name.removeprefix(begins)}/{entry.name}", entry)
            for below in own
            for entry in _entries(below)
        ]
    real = logs.resolve()
    sizes = [(name, path, _size(path, real)) for name, path in found]
    inside = real.is_relative_to(root.resolve())
    kept = [(name, path, size) for name, path, size in sizes if size is not None and inside]
    return sorted(kept, key=lambda one: (_place(one[0]), one[0]))


def _place(name: str) -> int:
    last = name.rpartition("/")[2]
    return ORDER.index(last) if last in ORDER else len(ORDER)


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _size(path: Path, inside: Path) -> int | None:
    """Of a regular file that is where it seems to be; None for anything else."""
    try:
        found = path.lstat()
        is_there = path.parent.resolve().is_relative_to(inside)
    except OSError:
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) and is_there else None


def _open_file(path: Path) -> tuple[int, int] | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode):
        os.close(fd)
        return None
    return fd, found.st_size


def _piece(name: str, data: bytes, start: int, limit: int, *, from_end: bool) -> Text:
    size = len(data)
    begin = max(0, size - limit) if from_end else min(max(0, start), size)
    piece = data[begin : begin + limit]
    return _text(name, piece, size, begin)


def _text(name: str, piece: bytes, size: int, begin: int) -> Text:
    text = escape(piece.decode("utf-8", "replace"))
    return Text(name=name, text=text, size=size, start=begin, end=begin + len(piece))


def _git_diff(root: Path, run: str, session: SessionView) -> bytes | None:
    """What a session of a graph changed: as it was taken, or as it was set aside."""
    commit = change_of(root, run, session)
    if commit is None:
        return None
    words = ("--no-color", "--no-ext-diff", "--no-textconv", "--stat", "--patch", "--format=")
    try:
        shown = ask_git(root, "show", "--first-parent", "-m", *words, commit, "--")
    except Refused:
        return None
    return None if shown.returncode else shown.stdout


def change_of(root: Path, run: str, session: SessionView) -> str | None:
    """What git calls the work of a session of a graph: the ref that keeps it, or its commit."""
    ref = attempt_ref(run, session["atom"], session["number"])
    try:
        found = ask_git(root, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")
        if found.returncode == 0:
            return ref
        facts = (f"Dwindle-Run: {run}", f"Dwindle-Atom: {session['atom']}")
        lines = (*facts, f"Dwindle-Attempt: {session['number']}")
        grep = [f"--grep={line}" for line in lines]
        # Without an asterisk git would look for what is below such a name.
        kept = (f"refs/heads/runner/{run}*", f"refs/dwindle/attempts/{run}/*")
        where = ("HEAD", *(f"--glob={refs}" for refs in kept))
        asked = ("log", "-50", "--format=%H%x00%B%x01", "--fixed-strings", "--all-match", *grep)
        found = ask_git(root, *asked, *where, "--")
    except Refused:
        return None
    for record in found.stdout.decode("utf-8", "replace").split("\x01"):
        commit, _, message = record.strip().partition("\0")
        # The text that is looked for may also stand within a longer one.
        if set(lines) <= set(message.splitlines()):
            return commit
    return None
