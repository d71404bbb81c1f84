"""Processes by /proc: children, signals, and those that carry the mark of a run."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from dwindle.adapters.process.environment import MARK

PROC = Path("/proc")


def parents() -> dict[int, int]:
    """Every process that we can see, with its parent."""
    found = {}
    for name in os.listdir(PROC):  # noqa: PTH208 - hundreds of entries, often; names are enough
        if name.isdecimal():
            with suppress(OSError):
                found[int(name)] = parent_of((PROC / name / "stat").read_bytes())
    return found


def parent_of(stat: bytes) -> int:
    """The parent's number; a program may have put anything into its own name."""
    return int(stat[stat.rindex(b")") + 1 :].split(maxsplit=2)[1])


def children(pid: int) -> tuple[int, ...]:
    try:
        listed = (PROC / str(pid) / "task" / str(pid) / "children").read_bytes()
    except OSError:  # gone, or a kernel without this file
        return tuple(child for child, parent in parents().items() if parent == pid)
    return tuple(int(word) for word in listed.split())


def signal_pid(pid: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def signal_group(pid: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def signal_pidfd(pidfd: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        signal.pidfd_send_signal(pidfd, number)


def open_pidfd(pid: int) -> int | None:
    """A handle of that process, even if another one gets its number later; None if it is gone."""
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        return None


def marked(mark: str, name: str = MARK) -> tuple[int, ...]:
    """The living processes that were started with this mark in their environment."""
    wanted = f"{name}={mark}".encode()
    found = []
    for entry in os.listdir(PROC):  # noqa: PTH208 - as above
        if entry.isdecimal() and int(entry) != os.getpid():
            with suppress(OSError):
                if wanted in (PROC / entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry))
    return tuple(found)


def sweep(mark: str, *, name: str = MARK, seconds: float = 2.0) -> tuple[int, ...]:
    """Kill what a runner that was itself killed may have left; return the numbers of the killed.

    Only the holder of a run's lock may do this: it ends everything that carries the run's mark.
    They are all stopped before any is killed, because one that still runs could fork meanwhile.
    """
    killed: dict[int, None] = {}
    deadline = time.monotonic() + seconds
    while (left := marked(mark, name)) and time.monotonic() < deadline:
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in left:
                signal_pid(pid, number)
        killed.update(dict.fromkeys(left))
        time.sleep(0.005)
    return tuple(killed)
