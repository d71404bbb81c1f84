"""The descriptors between a program and the event loop: its three streams, and its pidfd."""

from __future__ import annotations

import asyncio
import os
import select
import subprocess
from collections.abc import Callable
from contextlib import ExitStack

from dwindle.adapters.containment.tether import Launch
from dwindle.ports.process import Command

CHUNK = 1 << 16
"""What a pipe holds; and no stream keeps the others waiting for longer than this takes."""

AFTERMATH = 64
"""Chunks read at most after the end, should somebody go on writing who got away."""


def start(
    command: Command, launch: Launch
) -> tuple[subprocess.Popen[bytes], tuple[int | None, int, int]]:
    """Start it with a pipe for each stream; return it with our ends of the pipes."""
    with ExitStack() as theirs, ExitStack() as ours:
        out, theirs_out = os.pipe()
        ours.callback(os.close, out)
        theirs.callback(os.close, theirs_out)
        err, theirs_err = os.pipe()
        ours.callback(os.close, err)
        theirs.callback(os.close, theirs_err)
        feed, theirs_in = None, subprocess.DEVNULL
        if command.stdin or launch.gated:
            theirs_in, feed = os.pipe()
            ours.callback(os.close, feed)
            theirs.callback(os.close, theirs_in)
            os.set_blocking(feed, False)
        os.set_blocking(out, False)
        os.set_blocking(err, False)
        process = subprocess.Popen(
            launch.argv,
            stdin=theirs_in,
            stdout=theirs_out,
            stderr=theirs_err,
            cwd=command.cwd,
            env=launch.environment,
            pass_fds=launch.inherited,
            start_new_session=True,
        )
        ours.pop_all()  # nothing went wrong: they stay open
    return process, (feed, out, err)


def when_gone(
    loop: asyncio.AbstractEventLoop, process: subprocess.Popen[bytes], then: Callable[[], None]
) -> int | None:
    """Call `then` when the process has ended; returns the pidfd that is watched.

    It is not reaped yet: until then its number, and its group's, can be nobody else's.
    """
    if not hasattr(os, "pidfd_open"):
        waiting = loop.run_in_executor(None, process.wait)
        waiting.add_done_callback(lambda _: then())
        return None
    pidfd = os.pidfd_open(process.pid)

    def gone() -> None:
        loop.remove_reader(pidfd)
        then()

    loop.add_reader(pidfd, gone)
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
        loop.add_reader(fd, self._read)

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
        for _ in range(AFTERMATH):
            if not self._read():
                break

    def close(self) -> None:
        if self._fd is not None:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = None


class Feeder:
    """Writes stdin as fast as it is read, while output is read as fast as it is written."""

    __slots__ = ("_fd", "_loop", "_rest")

    def __init__(self, loop: asyncio.AbstractEventLoop, fd: int) -> None:
        self._loop = loop
        self._fd: int | None = fd
        self._rest = memoryview(b"")

    def feed(self, data: bytes) -> None:
        """Write all of it, and then an end."""
        self._rest = memoryview(data)
        if self._write() and self._fd is not None:
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
            self._loop.remove_writer(self._fd)
            os.close(self._fd)
            self._fd = None
