"""Limits on one program: set on its first process, before that may begin where there is a gate.

A control group bounds processes and memory where one can be made (`cgroups.py`), because only a
group counts a program and all its children together. Without one, each process is bounded alone:

* processes: RLIMIT_NPROC, in a user namespace of its own; elsewhere it would count everything that
  the user runs. The kernel does not hold root to it.
* memory: RLIMIT_DATA and not RLIMIT_AS. Node, Java and Go reserve far more addresses than they ever
  use, and could not start; what they really write to is counted by RLIMIT_DATA.

RLIMIT_FSIZE bounds the size of a file in any case, and no program leaves a core file. Without a
gate the program may have begun before the limits are set; what it started by then is not bound.
"""

from __future__ import annotations

import os
import resource
from contextlib import suppress
from dataclasses import replace

from dwindle.adapters.process.attachment import Attachment, Launch, ProgramExit
from dwindle.adapters.process.proc import children
from dwindle.adapters.process.program import Watch, run_program
from dwindle.adapters.sandbox.cgroups import ControlGroup, control_group, group_parents, release
from dwindle.ports.process import UNBOUNDED, Bounds, Captured, Command, Ended, Limit, Strength
from dwindle.text import amounts


async def run_limited(command: Command, watch: Watch | None, attachment: Attachment) -> Ended:
    """Run to the end, within the bounds of the command."""
    if command.bounds != UNBOUNDED:
        attachment = LimitedAttachment(attachment, command.bounds)
    return await run_program(command, watch, attachment)


class LimitedAttachment:
    """An attachment that also sets limits on the program."""

    def __init__(self, attachment: Attachment, bounds: Bounds) -> None:
        self._attachment = attachment
        self._limits = ProgramLimits(bounds)
        self._is_gated = False
        self._starter: int | None = None

    def launch(self) -> Launch:
        launch = self._attachment.launch()
        self._is_gated = launch.gated
        return replace(launch, before_start=self._before_start)

    def attach(self, pid: int) -> None:
        self._attachment.attach(pid)
        self._starter = pid
        if not self._is_gated:
            self._limits.set_on(pid, own_users=False)

    def _before_start(self) -> None:
        if self._starter is not None:
            for first in children(self._starter):
                self._limits.set_on(first, own_users=True)

    def terminate(self) -> None:
        self._attachment.terminate()

    def kill(self) -> None:
        self._attachment.kill()

    def last_process(self) -> int | None:
        return self._attachment.last_process()

    def program_exit(self, returncode: int, stderr: Captured, *, began: bool) -> ProgramExit:
        found = self._attachment.program_exit(returncode, stderr, began=began)
        if found == ProgramExit(exit_code=0) or not (exceeded := self._limits.exceeded()):
            return found
        return replace(found, error=found.error or exceeded, limit=Limit.MEMORY)

    def close(self) -> None:
        self._attachment.close()
        self._limits.close()


class ProgramLimits:
    """The limits of one program. Call `close` when all its processes are gone."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._group: ControlGroup | None = None

    def set_on(self, pid: int, *, own_users: bool) -> None:
        """`own_users`: the process is in a user namespace of its own."""
        bounds = self._bounds
        self._group = control_group(pid, bounds)
        if self._group is not None and self._group.bounds_memory:
            bounds = replace(bounds, memory_bytes=None)
        limits = _resource_limits(bounds)
        if bounds.processes is not None and own_users:
            limits.append((resource.RLIMIT_NPROC, bounds.processes))
        for kind, most in limits:
            # The process is gone already, or has a lower hard limit that must not be raised.
            with suppress(OSError, ValueError):
                _lower(pid, kind, most)

    def exceeded(self) -> str:
        """A sentence, if the kernel ended the program for want of memory."""
        if self._group is None or not self._group.has_killed():
            return ""
        most = self._bounds.memory_bytes or 0
        return f"it used more memory than it may ({amounts.size(most)}) and was ended"

    def close(self) -> None:
        if self._group is not None:
            release(self._group)
            self._group = None


def in_force(bounds: Bounds, strength: Strength) -> Bounds:
    """Those that hold here: of processes, without a group, only in a user namespace of its own."""
    grouped = any("pids" in parent.controllers for parent in group_parents())
    if grouped or (strength is Strength.STRONG and os.geteuid() != 0):
        return bounds
    return replace(bounds, processes=None)


def _resource_limits(bounds: Bounds) -> list[tuple[int, int]]:
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
