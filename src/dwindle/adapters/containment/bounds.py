"""Bounds on one program: set on its first process, before that may begin.

Processes and memory are bounded by a control group where one can be made (`cage.py`), because only
that counts a program and all its children together. Without one, each process is bounded by itself:

* processes: RLIMIT_NPROC, in a user namespace of its own; elsewhere it would count everything that
  the person runs. The kernel does not hold root to it.
* memory: RLIMIT_DATA and not RLIMIT_AS. Node, Java and Go reserve far more addresses than they ever
  use, and could not start; what they really write to is counted by RLIMIT_DATA.

The size of a file is bounded by RLIMIT_FSIZE in any case, and nobody leaves a core file.
"""

from __future__ import annotations

import os
import resource
from contextlib import suppress
from dataclasses import replace

from dwindle.adapters.containment.cage import Cage, cage_around, let_go, pens
from dwindle.ports.process import UNBOUNDED, Bounds, Strength


class Bound:
    """The bounds of one program. `close` when nobody of it is left."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._cage: Cage | None = None

    def set_on(self, pid: int, *, own_users: bool) -> None:
        """`own_users`: the process is in a user namespace of its own."""
        bounds = self._bounds
        self._cage = cage_around(pid, bounds)
        if self._cage is not None and self._cage.bounds_memory:
            bounds = replace(bounds, memory_bytes=None)
        limits = _limits(bounds)
        if bounds.processes is not None and own_users:
            limits.append((resource.RLIMIT_NPROC, bounds.processes))
        for kind, most in limits:
            # It is gone already, or a lower limit of ours must not be raised.
            with suppress(OSError, ValueError):
                _lower(pid, kind, most)

    def broken(self) -> str:
        """A sentence, if the program was ended for want of memory."""
        if self._cage is None or not self._cage.has_killed():
            return ""
        most = self._bounds.memory_bytes or 0
        return f"it used more memory than it may ({most / (1 << 20):.0f} MiB) and was ended"

    def close(self) -> None:
        if self._cage is not None:
            let_go(self._cage)
            self._cage = None


def in_force(bounds: Bounds, strength: Strength) -> Bounds:
    """Those that hold here: of processes, without a group, only where users are its own."""
    grouped = any("pids" in pen.controllers for pen in pens())
    if grouped or (strength is Strength.STRONG and os.geteuid() != 0):
        return bounds
    return replace(bounds, processes=None)


def limits_from_birth(bounds: Bounds) -> tuple[tuple[int, int], ...] | None:
    """What whoever starts a program can set on itself; None if that would not be all.

    Of a program that is not in a user namespace of its own.
    """
    if bounds == UNBOUNDED:
        return ()
    grouped = bounds.processes is not None or bounds.memory_bytes is not None
    return None if grouped and pens() else tuple(_limits(bounds))


def _limits(bounds: Bounds) -> list[tuple[int, int]]:
    limits = [(resource.RLIMIT_CORE, 0)]
    if bounds.file_bytes is not None:
        limits.append((resource.RLIMIT_FSIZE, bounds.file_bytes))
    if bounds.memory_bytes is not None:
        limits.append((resource.RLIMIT_DATA, bounds.memory_bytes))
    return limits


def _lower(pid: int, kind: int, most: int) -> None:
    soft, hard = resource.prlimit(pid, kind)
    if hard != resource.RLIM_INFINITY and hard < most:
        most = hard
    if soft == resource.RLIM_INFINITY or soft > most:
        soft = most
    resource.prlimit(pid, kind, (soft, most))
