"""Finding the plan that a command is about, and reading it without being surprised.

A plan is looked for in the folder where the command was given and then upwards, as far as the root
of the repository; outside a repository nothing above is looked at, since what lies there belongs to
something else. The first folder that has a plan decides: a project inside a larger one is its own.

Paths are plain strings here: importing `pathlib` would be a twentieth of what `status` costs.
"""

# ruff: noqa: PTH100, PTH118, PTH120, PTH122

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from os.path import join
from typing import NamedTuple

from dwindle.kernel.model import PlanKind
from dwindle.surfaces.refusal import Refused
from dwindle.wiring import MAX_BYTES, PLAN_FILES

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
    """Told by the name, else by how the file begins."""
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
        # Without O_NONBLOCK a pipe that nobody writes to would hold us for ever.
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
    """Something has this name, readable or not: what cannot be read is said when it is read."""
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
