"""Control groups: a bound on processes and memory that a program and all its children share.

A group is made beside us, or in the nearest group above us where the kernel lets us, and is used
again for the next program with the same bounds: to make one takes longer than to start a program.
What a killed runner leaves is an empty group, which the next one removes. One in which somebody is
left who got away is not used again: he would take from what the next program may have.

Both kinds of hierarchies are known: the unified one, and the older with one for each controller.
Where neither can be written to, there is no cage, and `bounds.py` does what it can without.
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
class Pen:
    """Where groups can be made that bound these controllers."""

    parent: Path
    unified: bool
    controllers: tuple[str, ...]


@dataclass(slots=True)
class Cage:
    """One program's groups; `None` of a controller is left to others."""

    bounds: Bounds
    groups: tuple[tuple[Pen, Path], ...]
    killed_before: int = 0

    @property
    def bounds_memory(self) -> bool:
        return any("memory" in pen.controllers for pen, _ in self.groups)

    def take_in(self, pid: int) -> bool:
        """Put a process in; its children will be born there. False if it is not possible."""
        try:
            for _, group in self.groups:
                (group / "cgroup.procs").write_bytes(b"%d" % pid)
        except OSError:
            return False
        self.killed_before = self._killed()
        return True

    def has_killed(self) -> bool:
        """Was anybody in it ended for want of memory since?"""
        return self._killed() > self.killed_before

    def _killed(self) -> int:
        for pen, group in self.groups:
            if "memory" in pen.controllers:
                name = "memory.events" if pen.unified else "memory.oom_control"
                with suppress(OSError, ValueError):
                    words = (group / name).read_bytes().split()
                    return int(words[words.index(b"oom_kill") + 1])
        return 0

    def clear(self) -> bool:
        """End whoever is left in it, where a group can do that; is nobody there?"""
        is_empty = True
        for pen, group in self.groups:
            try:
                if not (group / "cgroup.procs").read_bytes():
                    continue
                is_empty = False
                if pen.unified:
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


_idle: dict[Bounds, list[Cage]] = {}
_left: list[Cage] = []
"""That could not be removed, because somebody is in them."""


def cage_around(pid: int, bounds: Bounds) -> Cage | None:
    """One with nobody but this process in it; give it back with `let_go`.

    Those that wait to be used again are empty, and may have been removed by another runner.
    """
    if bounds.processes is None and bounds.memory_bytes is None:
        return None
    waiting = _idle.get(bounds, [])
    while waiting:
        if (cage := waiting.pop()).take_in(pid):
            return cage
        _put_by(cage)
    made = _made(bounds)
    if made is None or made.take_in(pid):
        return made
    _put_by(made)
    return None


def let_go(cage: Cage) -> None:
    """Its program has ended, and what came of it should have."""
    if cage.clear():
        _idle.setdefault(cage.bounds, []).append(cage)
    else:
        _put_by(cage)


def _put_by(cage: Cage) -> None:
    """It is not used again; if it cannot be removed now, then when we end."""
    if not cage.remove():
        _left.append(cage)


def _made(bounds: Bounds) -> Cage | None:
    name = f"{PREFIX}{os.getpid()}.{secrets.token_hex(4)}"
    groups: list[tuple[Pen, Path]] = []
    for pen in pens():
        group = pen.parent / name
        try:
            group.mkdir()
        except OSError:
            continue
        groups.append((pen, group))
        try:
            for file, value in _values(pen, bounds):
                (group / file).write_bytes(b"%d" % value)
        except OSError:
            groups.pop()
            with suppress(OSError):
                group.rmdir()
    return Cage(bounds=bounds, groups=tuple(groups)) if groups else None


def _values(pen: Pen, bounds: Bounds) -> Iterator[tuple[str, int]]:
    if "pids" in pen.controllers and bounds.processes is not None:
        yield "pids.max", bounds.processes
    if "memory" in pen.controllers and bounds.memory_bytes is not None:
        yield "memory.max" if pen.unified else "memory.limit_in_bytes", bounds.memory_bytes


@cache
def pens() -> tuple[Pen, ...]:
    """Tried once: the nearest places above us where a group can be made."""
    found: list[Pen] = []
    left = list(CONTROLLERS)
    for pen in _candidates(OWN):
        useful = tuple(name for name in pen.controllers if name in left)
        if useful and _works(pen.parent):
            found.append(Pen(pen.parent, pen.unified, useful))
            left = [name for name in left if name not in useful]
    if found:
        atexit.register(_remove_all)
    return tuple(found)


def _works(parent: Path) -> bool:
    for old in parent.glob(f"{PREFIX}*"):
        with suppress(OSError):
            old.rmdir()  # somebody is in it, if this fails
    trial = parent / f"{PREFIX}{os.getpid()}.trial"
    try:
        trial.mkdir()
        trial.rmdir()
    except OSError:
        return False
    return True


def _remove_all() -> None:
    for cages in (*_idle.values(), _left):
        for cage in cages:
            cage.remove()
    _idle.clear()
    _left.clear()


def _candidates(own: Path) -> Iterator[Pen]:
    """Where a group of ours could be made, the nearest first; the unified hierarchy at first."""
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
                    yield from _delegated(folder)
            elif kind == "cgroup" and wanted and all(name in names for name in wanted):
                for folder in _upwards(point, root, path):
                    yield Pen(folder, unified=False, controllers=tuple(wanted))


def _delegated(folder: Path) -> Iterator[Pen]:
    """Of the unified hierarchy: what this group hands on to those below it."""
    with suppress(OSError):
        handed_on = (folder / "cgroup.subtree_control").read_bytes().decode().split()
        controllers = tuple(name for name in CONTROLLERS if name in handed_on)
        if controllers:
            yield Pen(folder, unified=True, controllers=controllers)


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
