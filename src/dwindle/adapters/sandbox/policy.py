"""What a run allows every program, applied to each command in one place.

Secrets are redacted in the output of all programs, not only of those that were given them: a check
may print a file that an agent wrote, and an agent may read the environment of the runner where no
sandbox hides it. Disk space is checked twice a second while a program runs, which costs nothing
that can be measured; a program is not started on a disk that is too full already.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from dwindle.adapters.process.program import Watch
from dwindle.ports.process import (
    UNBOUNDED,
    Bounds,
    Command,
    Containment,
    Ended,
    Limit,
    Secret,
    Strength,
)
from dwindle.text import amounts
from dwindle.text.redact import longest_first, variable_secrets

DISK_CHECK_SECONDS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxPolicy:
    bounds: Bounds = UNBOUNDED
    secrets: tuple[Secret, ...] = ()
    """Redacted in the output, besides the values of variables whose names tell that they are."""
    readable: tuple[Path, ...] = ()
    """Shown read-only though the folder around may be hidden, if they exist at the start."""
    hidden: tuple[Path, ...] = ()

    def apply(self, command: Command) -> Command:
        shown = (path for path in self.readable if path.exists())
        named = variable_secrets(command.environment)
        return replace(
            command,
            bounds=self.bounds,
            secrets=longest_first((*command.secrets, *self.secrets, *named)),
            readable=tuple(dict.fromkeys((*command.readable, *shown))),
            hidden=tuple(dict.fromkeys((*command.hidden, *self.hidden))),
        )


@dataclass(frozen=True, slots=True)
class Sandbox:
    """Runs programs by a containment, each under the same policy."""

    containment: Containment
    policy: SandboxPolicy

    @property
    def strength(self) -> Strength:
        return self.containment.strength

    @property
    def mechanism(self) -> str:
        return self.containment.mechanism

    async def run(self, command: Command, watch: Watch | None = None) -> Ended:
        command, bounds = self.policy.apply(command), self.policy.bounds
        if not (bounds.free_bytes or bounds.free_percent):
            return await self.containment.run(command, watch)
        disks = _disks((command.cwd, *command.writable))
        if full := too_full(disks, bounds):
            return Ended(error=f"it was not started: {full}", limit=Limit.DISK)
        began = time.monotonic()
        running = asyncio.ensure_future(self.containment.run(command, watch))
        full = ""
        try:
            while not running.done() and not full:
                await asyncio.wait((running,), timeout=DISK_CHECK_SECONDS)
                full = "" if running.done() else too_full(disks, bounds)
        finally:
            if not running.done():
                running.cancel()
                await asyncio.wait((running,))
        if not running.cancelled():
            return running.result()
        return Ended(
            signal=signal.SIGKILL,
            error=f"it was ended: {full}",
            limit=Limit.DISK,
            seconds=time.monotonic() - began,
        )


def too_full(disks: Iterable[Path], bounds: Bounds) -> str:
    """A sentence, if a disk has less room left than it must keep."""
    for path in disks:
        try:
            facts = os.statvfs(path)
        except OSError:
            continue
        free, size = facts.f_bavail * facts.f_frsize, facts.f_blocks * facts.f_frsize
        least = max(bounds.free_bytes, size * bounds.free_percent / 100)
        if free < least:
            left, needed = amounts.size(free), amounts.size(least)
            return f"the disk of {path} has only {left} left, and must keep {needed}"
    return ""


def _disks(paths: Iterable[Path]) -> tuple[Path, ...]:
    """One path for each disk."""
    found: dict[int, Path] = {}
    for path in paths:
        try:
            found.setdefault(path.stat().st_dev, path)
        except OSError:
            continue
    return tuple(found.values())
