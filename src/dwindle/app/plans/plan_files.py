"""Find the plan that a command is about, read it, and tell whether a runner has it locked.

A command looks for a plan in its working folder and then upwards, as far as the root of the
repository; outside of a repository it looks at no folder above. The first folder that has a plan
decides: a project inside of a larger one is its own.

Paths are plain strings here: importing `pathlib` would be a twentieth of what `status` costs.
"""

# ruff: noqa: PTH100, PTH118, PTH120, PTH122, PTH123

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from os.path import join
from typing import TYPE_CHECKING, Final, NamedTuple

from dwindle.app.paths import PLAN_FILE, TREE_FILE
from dwindle.app.plans.load import MAX_BYTES, PLAN_FILES
from dwindle.app.refusal import Refused
from dwindle.kernel.model import PlanKind

if TYPE_CHECKING:
    from pathlib import Path

LOCKS: Final = "/proc/locks"
SUFFIXES = {".md": PlanKind.GRAPH, ".markdown": PlanKind.GRAPH, ".json": PlanKind.TREE}
HOW_TO_MAKE_ONE = (
    "`dwindle align` agrees on one, `dwindle init` makes a tree; `dwindle validate PATH`\n"
    "  checks any file"
)


class PlanPath(NamedTuple):
    path: str
    kind: PlanKind


def repository(start: str) -> str | None:
    """The root of the git repository around a folder."""
    folders = _upwards(os.path.abspath(start))
    return next((folder for folder in folders if _is_there(join(folder, ".git"))), None)


def root_of_here() -> Path:
    """The repository around the folder where the command was given."""
    from pathlib import Path  # noqa: PLC0415 - see above

    here = Path.cwd()
    return Path(repository(str(here)) or here)


def plans_of(start: str) -> tuple[PlanPath, ...]:
    """The plans of the repository around a folder; at least one."""
    start = os.path.abspath(start)
    root = repository(start)
    looked = 0
    for folder in _upwards(start):
        looked += 1
        found = [
            PlanPath(os.path.relpath(join(folder, name)), kind)
            for kind, name in PLAN_FILES.items()
            if _is_there(join(folder, name))
        ]
        if found:
            return tuple(found)
        if root in (None, folder):
            break
    above = f" and above, up to {root}" if looked > 1 else ""
    files = " or ".join(PLAN_FILES.values())
    raise Refused(f"there is no plan: no {files} in {start}{above}", hint=HOW_TO_MAKE_ONE)


def the_plan(kind: PlanKind | None) -> PlanPath:
    """The one plan of the repository here, or the one of its two that was asked for."""
    found = plans_of(".")
    wanted = [plan for plan in found if kind is None or plan.kind is kind]
    if not wanted:
        only = found[0]
        raise Refused(
            f"there is no {kind} plan here, only a {only.kind} plan",
            where=only.path,
            hint=f"leave out --plan, or say --plan {only.kind}",
        )
    if len(wanted) > 1:
        paths = " and ".join(plan.path for plan in wanted)
        raise Refused(f"there are two plans: {paths}", hint="say --plan graph or --plan tree")
    return wanted[0]


def kind_of(path: str, data: bytes) -> PlanKind:
    """By the name of the file, else by how it begins."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix in SUFFIXES:
        return SUFFIXES[suffix]
    start = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(b"---"):
        return PlanKind.GRAPH
    if start.startswith(b"{"):
        return PlanKind.TREE
    raise Refused(
        "this is no plan: neither front matter (---) nor JSON ({)",
        where=path,
        hint="a graph plan ends in .md, a tree plan in .json",
    )


def read(path: str) -> bytes:
    """The content of a regular file of bearable size."""
    try:
        # Without O_NONBLOCK, opening a pipe without a writer would never return.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise Refused(_unreadable(error), where=path) from None
    except ValueError:  # a NUL in the name
        raise Refused("this cannot be the name of a file", where=repr(path)) from None
    try:
        _refuse_strange(path, os.fstat(fd))
        with open(fd, "rb", closefd=False) as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise Refused(_unreadable(error), where=path) from None
    finally:
        os.close(fd)


def _refuse_strange(path: str, found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise Refused("this is a folder", where=path, hint="name a plan file")
    if not stat.S_ISREG(found.st_mode):
        raise Refused("this is not a regular file", where=path, hint="name a plan file")
    if found.st_size > MAX_BYTES:
        size = f"the file has {found.st_size} bytes; at most {MAX_BYTES} are read"
        raise Refused(size, where=path, hint="is this a plan?")


def _unreadable(error: OSError) -> str:
    return f"the file cannot be read: {error.strerror or error}"


def _is_there(path: str) -> bool:
    """Whether a file has this name; a file that cannot be read is refused by `read`."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _upwards(folder: str) -> Iterator[str]:
    """The folder and all above it."""
    yield folder
    while (above := os.path.dirname(folder)) != folder:
        folder = above
        yield folder


# --- trees ---------------------------------------------------------------------------------------


def has_only_a_tree(root: Path) -> bool:
    return not (root / PLAN_FILE).exists() and (root / TREE_FILE).exists()


def refuse_for_tree(root: Path, what: str, instead: str) -> None:
    """Refuse a command that needs a graph plan, if the only plan here is a tree."""
    if has_only_a_tree(root):
        raise Refused(what, where=TREE_FILE, hint=instead)


# --- locks ---------------------------------------------------------------------------------------


def is_locked(folder: Path, table: str | Path = LOCKS) -> bool:
    """Whether a runner has locked a folder.

    Reads the kernel's list of locks, if it can: a runner that starts while we try the lock would
    find it taken.
    """
    try:
        facts = folder.stat()
    except OSError:
        return False
    device = f"{os.major(facts.st_dev):02x}:{os.minor(facts.st_dev):02x}:{facts.st_ino}"
    try:
        with open(table, encoding="ascii") as file:
            locks = file.read()
    except OSError:
        return _cannot_be_locked(folder)
    return re.search(rf"^\d+: FLOCK +\w+ +WRITE \d+ {device} ", locks, re.MULTILINE) is not None


def _cannot_be_locked(folder: Path) -> bool:
    import fcntl  # noqa: PLC0415 - seldom needed

    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
