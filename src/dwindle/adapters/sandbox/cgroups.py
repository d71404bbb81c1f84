"""Control groups: a bound on processes and memory that a program and all its children share.

A group is made beside us, or in the nearest group above us where the kernel lets us, and is used
again for the next program with the same bounds: to make one takes longer than to start a program.
A killed runner leaves an empty group, which the next one removes. A group with a process left in it
is not used again: that process would count against the next program.

Both kinds of hierarchies are known: the unified one, and the older with one for each controller.
Where neither can be written to, there is no group, and `limits.py` does what it can without.
"""

from __future__ import annotations

import atexit
import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dwindle.ports.process import Bounds

PREFIX = "dwindle."
OWN = Path("/proc/self")
CONTROLLERS = ("memory", "pids")


@dataclass(frozen=True, slots=True)
class GroupParent:
    """A group under which groups can be made that bound these controllers."""

    folder: Path
    unified: bool
    controllers: tuple[str, ...]


@dataclass(slots=True)
class ControlGroup:
    """The groups of one program: one in each hierarchy that can be written to."""

    bounds: Bounds
    groups: tuple[tuple[GroupParent, Path], ...]
    killed_before: int = 0

    @property
    def bounds_memory(self) -> bool:
        return any("memory" in parent.controllers for parent, _ in self.groups)

    def add(self, pid: int) -> bool:
        """Put a process in; its children will be born there. False if it is not possible."""
        try:
            for _, group in self.groups:
                (group / "cgroup.procs").write_bytes(b"%d" % pid)
        except OSError:
            return False
        self.killed_before = self._killed()
        return True

    def has_killed(self) -> bool:
        """Has the kernel killed a process in it for want of memory since `add`?"""
        return self._killed() > self.killed_before

    def _killed(self) -> int:
        for parent, group in self.groups:
            if "memory" in parent.controllers:
                name = "memory.events" if parent.unified else "memory.oom_control"
                with suppress(OSError, ValueError):
                    words = (group / name).read_bytes().split()
                    return int(words[words.index(b"oom_kill") + 1])
        return 0

    def clear(self) -> bool:
        """Whether it is empty; processes that are left are killed, where the kernel can do that."""
        is_empty = True
        for parent, group in self.groups:
            try:
                if not (group / "cgroup.procs").read_bytes():
                    continue
                is_empty = False
                if parent.unified:
                    (group / "cgroup.kill").write_bytes(b"1")
            except OSError:  # it is gone, or the kernel is too old to know of this
                is_empty = False
        return is_empty

    def remove(self) -> bool:
        gone = True
        for _, group in self.groups:
            try:
                group.rmdir()
            except FileNotFoundError:
                pass
            except OSError:
                gone = False
        return gone


_idle: dict[Bounds, list[ControlGroup]] = {}
_not_removed: list[ControlGroup] = []
"""Groups that could not be removed, because a process is in them."""


def control_group(pid: int, bounds: Bounds) -> ControlGroup | None:
    """A group with only this process in it; give it back with `release`.

    Idle groups are empty, and another runner may have removed them.
    """
    if bounds.processes is None and bounds.memory_bytes is None:
        return None
    waiting = _idle.get(bounds, [])
    while waiting:
        if (group := waiting.pop()).add(pid):
            return group
        _discard(group)
    made = _new_group(bounds)
    if made is None or made.add(pid):
        return made
    _discard(made)
    return None


def release(group: ControlGroup) -> None:
    """Called when the program and its descendants should be gone."""
    if group.clear():
        _idle.setdefault(group.bounds, []).append(group)
    else:
        _discard(group)


def _discard(group: ControlGroup) -> None:
    """Remove it; what cannot be removed now is removed at the end of the runner."""
    if not group.remove():
        _not_removed.append(group)


def _new_group(bounds: Bounds) -> ControlGroup | None:
    name = f"{PREFIX}{os.getpid()}.{secrets.token_hex(4)}"
    groups: list[tuple[GroupParent, Path]] = []
    for parent in group_parents():
        group = parent.folder / name
        try:
            group.mkdir()
        except OSError:
            continue
        groups.append((parent, group))
        try:
            for file, value in _values(parent, bounds):
                (group / file).write_bytes(b"%d" % value)
        except OSError:
            groups.pop()
            with suppress(OSError):
                group.rmdir()
    return ControlGroup(bounds=bounds, groups=tuple(groups)) if groups else None


def _values(parent: GroupParent, bounds: Bounds) -> Iterator[tuple[str, int]]:
    if "pids" in parent.controllers and bounds.processes is not None:
        yield "pids.max", bounds.processes
    if "memory" in parent.controllers and bounds.memory_bytes is not None:
        yield "memory.max" if parent.unified else "memory.limit_in_bytes", bounds.memory_bytes


@cache
def group_parents() -> tuple[GroupParent, ...]:
    """The nearest groups above us where a group can be made; tried once."""
    found: list[GroupParent] = []
    left = list(CONTROLLERS)
    for parent in _candidates(OWN):
        useful = tuple(name for name in parent.controllers if name in left)
        if useful and _works(parent.folder):
            found.append(GroupParent(parent.folder, parent.unified, useful))
            left = [name for name in left if name not in useful]
    if found:
        atexit.register(_remove_all)
    return tuple(found)


def _works(parent: Path) -> bool:
    for old in parent.glob(f"{PREFIX}*"):
        with suppress(OSError):
            old.rmdir()  # fails if a process is in it
    trial = parent / f"{PREFIX}{os.getpid()}.trial"
    try:
        trial.mkdir()
        trial.rmdir()
    except OSError:
        return False
    return True


def _remove_all() -> None:
    for groups in (*_idle.values(), _not_removed):
        for group in groups:
            group.remove()
    _idle.clear()
    _not_removed.clear()


def _candidates(own: Path) -> Iterator[GroupParent]:
    """Where a group could be made, the unified hierarchy first, and in each the nearest first."""
    try:
        belongs = (own / "cgroup").read_bytes().decode().splitlines()
        mounted = (own / "mountinfo").read_bytes().decode().splitlines()
    except (OSError, UnicodeDecodeError):
        return
    mounts = [_mount(line) for line in mounted if " - cgroup" in line]
    places = [line.split(":", 2) for line in belongs if line.count(":") >= 2]
    for kind, names, root, point in sorted(mounts, key=lambda mount: mount[0] != "cgroup2"):
        for _, listed, path in places:
            wanted = [name for name in CONTROLLERS if name in listed.split(",")]
            if kind == "cgroup2" and not listed:
                for folder in _upwards(point, root, path):
                    yield from _delegating(folder)
            elif kind == "cgroup" and wanted and all(name in names for name in wanted):
                for folder in _upwards(point, root, path):
                    yield GroupParent(folder, unified=False, controllers=tuple(wanted))


def _delegating(folder: Path) -> Iterator[GroupParent]:
    """Of the unified hierarchy: what this group hands on to those below it."""
    with suppress(OSError):
        handed_on = (folder / "cgroup.subtree_control").read_bytes().decode().split()
        controllers = tuple(name for name in CONTROLLERS if name in handed_on)
        if controllers:
            yield GroupParent(folder, unified=True, controllers=controllers)


def _mount(line: str) -> tuple[str, tuple[str, ...], str, str]:
    before, _, after = line.partition(" - ")
    words, kind = before.split(), after.split()
    return kind[0], tuple(kind[2].split(",")), words[3], words[4]


def _upwards(point: str, root: str, path: str) -> Iterator[Path]:
    """Our own group, and those above it, as far as they can be seen."""
    inside = os.path.relpath(path, root)
    if inside.startswith(".."):
        inside = "."
    folder = Path(point)
    parts = () if inside == "." else Path(inside).parts
    for depth in range(len(parts), -1, -1):
        yield folder.joinpath(*parts[:depth])
