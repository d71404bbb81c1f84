"""Watching that a program leaves room on the disks that it may write to.

Looked at twice a second, which is often enough for what a disk can take in that time, and for less
than it costs to notice. Whoever begins with too little room is not even started.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from dwindle.ports.process import Bounds, Command, Containment, Ended, Limit

EVERY = 0.5


async def run_with_room(
    containment: Containment, command: Command, watch: Callable[[bytes], str | None] | None
) -> Ended:
    """Run it, and end it when a disk gets full."""
    bounds = command.bounds
    if not (bounds.free_bytes or bounds.free_percent):
        return await containment.run(command, watch)
    disks = _disks((command.cwd, *command.writable))
    if full := too_full(disks, bounds):
        return Ended(error=f"it was not started: {full}", limit=Limit.DISK)
    began = time.monotonic()
    running = asyncio.ensure_future(containment.run(command, watch))
    full = ""
    try:
        while not running.done() and not full:
            await asyncio.wait((running,), timeout=EVERY)
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
    """A sentence, if one of the disks has less room left than must be."""
    for path in disks:
        try:
            facts = os.statvfs(path)
        except OSError:
            continue
        free, size = facts.f_bavail * facts.f_frsize, facts.f_blocks * facts.f_frsize
        least = max(bounds.free_bytes, size * bounds.free_percent / 100)
        if free < least:
            gib = 1 << 30
            return (
                f"the disk of {path} has only {free / gib:.1f} GiB left, and must keep "
                f"{least / gib:.1f}"
            )
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
