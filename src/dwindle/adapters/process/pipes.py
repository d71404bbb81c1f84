"""The descriptors between a program and the event loop: its three streams, and its pidfd."""

from __future__ import annotations

import asyncio
import os
import select
import subprocess
from collections.abc import Callable

from dwindle.adapters.process.attachment import Launch
from dwindle.ports.process import Command

CHUNK = 1 << 16
"""What a pipe holds; and no stream keeps the others waiting for longer than this takes."""

DRAINED_CHUNKS = 64
"""Chunks read at most after the end, should a process that got away go on writing."""


Ends = tuple[int | None, int, int]
"""Of the pipes for stdin, if there is one, stdout and stderr."""


def pipes(*, fed: bool) -> tuple[Ends, Ends]:
    """A pipe for each stream of a program: our ends, and its own."""
    made: list[int] = []
    try:
        for ours in (0, 0, 1) if fed else (0, 0):
            ends = os.pipe()
            made += ends
            os.set_blocking(ends[ours], False)
    except BaseException:
        for fd in made:
            os.close(fd)
        raise
    out, its_out, err, its_err, *feed = made
    its_feed, our_feed = feed or (None, None)
    return (our_feed, out, err), (its_feed, its_out, its_err)


def start(command: Command, launch: Launch, theirs: Ends) -> int:
    """Start a program, and stand still until it has begun; the number of its process.

    Raises OSError or ValueError, and says there what is missing.
    """
    process = subprocess.Popen(
        launch.argv,
        stdin=subprocess.DEVNULL if theirs[0] is None else theirs[0],
        stdout=theirs[1],
        stderr=theirs[2],
        cwd=command.cwd,
        env=launch.environment,
        pass_fds=launch.inherited,
        start_new_session=True,
    )
    process.returncode = 0  # we wait for it ourselves
    return process.pid


def when_gone(loop: asyncio.AbstractEventLoop, pid: int, then: Callable[[], None]) -> int | None:
    """Call `then` when the process has ended; returns the pidfd that is watched.

    It is not reaped yet: until then no other process can get its number, or its group's.
    """
    if not hasattr(os, "pidfd_open"):
        waiting = loop.run_in_executor(None, os.waitid, os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        waiting.add_done_callback(lambda _: then())
        return None
    pidfd = os.pidfd_open(pid)

    def gone() -> None:
        loop.remove_reader(pidfd)
        then()

    try:
        loop.add_reader(pidfd, gone)
    except BaseException:
        os.close(pidfd)
        raise
    return pidfd


def is_readable(fd: int) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(0))


class Reader:
    """Reads a pipe to its end, a chunk for each turn of the loop."""

    __slots__ = ("_fd", "_loop", "_take")

    def __init__(
        self, loop: asyncio.AbstractEventLoop, fd: int, take: Callable[[bytes], object]
    ) -> None:
        self._loop = loop
        self._fd: int | None = fd
        self._take = take

    def listen(self) -> None:
        if self._fd is not None:
            self._loop.add_reader(self._fd, self._read)

    def _read(self) -> bool:
        """Whether there may be more."""
        if self._fd is None:
            return False
        try:
            data = os.read(self._fd, CHUNK)
        except (BlockingIOError, InterruptedError):
            return False
        if not data:
            self.close()
            return False
        self._take(data)
        return True

    def drain(self) -> None:
        for _ in range(DRAINED_CHUNKS):
            if not self._read():
                break

    def close(self) -> None:
        if self._fd is not None:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = None


class Feeder:
    """Writes stdin as fast as it is read, while output is read as fast as it is written."""

    __slots__ = ("_fd", "_loop", "_rest", "_waits")

    def __init__(self, loop: asyncio.AbstractEventLoop, fd: int) -> None:
        self._loop = loop
        self._fd: int | None = fd
        self._rest = memoryview(b"")
        self._waits = False

    def feed(self, data: bytes) -> None:
        """Write all of it, and then an end."""
        self._rest = memoryview(data)
        if self._write() and self._fd is not None:
            self._waits = True
            self._loop.add_writer(self._fd, self._write)

    def _write(self) -> bool:
        """Whether there is more to write."""
        if self._fd is None:
            return False
        try:
            self._rest = self._rest[os.write(self._fd, self._rest[:CHUNK]) :]
        except (BlockingIOError, InterruptedError):
            return True
        except OSError:  # it does not want to read on, which is its right
            self._rest = self._rest[:0]
        if self._rest:
            return True
        self.close()
        return False

    def close(self) -> None:
        if self._fd is not None:
            if self._waits:
                self._loop.remove_writer(self._fd)
            os.close(self._fd)
            self._fd = None
