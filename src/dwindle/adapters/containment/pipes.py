"""The descriptors between a program and the event loop: its three streams, and its pidfd."""

from __future__ import annotations

import asyncio
import os
import select
import subprocess
import time
from collections.abc import Callable
from functools import lru_cache
from typing import ClassVar
from weakref import WeakKeyDictionary

from dwindle.adapters.containment.tether import Launch
from dwindle.ports.process import Command

CHUNK = 1 << 16
"""What a pipe holds; and no stream keeps the others waiting for longer than this takes."""

AFTERMATH = 64
"""Chunks read at most after the end, should somebody go on writing who got away."""


class Descriptors:
    """The descriptors of all programs, of which the event loop sees a single one.

    To have the loop watch each by itself would cost more than all the rest that is done to run a
    program. Where there is no epoll, it has to.
    """

    __slots__ = ("__weakref__", "_calls", "_poll")

    _of: ClassVar[WeakKeyDictionary[asyncio.AbstractEventLoop, Descriptors]] = WeakKeyDictionary()

    def __init__(self) -> None:
        self._calls: dict[int, Callable[[], object]] = {}
        self._poll = select.epoll() if hasattr(select, "epoll") else None

    @classmethod
    def of(cls, loop: asyncio.AbstractEventLoop) -> Descriptors:
        """Those of a loop; they go with it."""
        found = cls._of.get(loop)
        if found is None:
            found = cls._of[loop] = cls()
            if found._poll is not None:
                loop.add_reader(found._poll.fileno(), found._turn)
        return found

    def add(self, fd: int, call: Callable[[], object]) -> None:
        """Call it on every turn of the loop on which there is something to read."""
        self._calls[fd] = call
        try:
            if self._poll is None:
                asyncio.get_running_loop().add_reader(fd, call)
            else:
                self._poll.register(fd, select.EPOLLIN)
        except BaseException:
            del self._calls[fd]
            raise

    def remove(self, fd: int) -> None:
        """Before it is closed; as often as one likes."""
        if self._calls.pop(fd, None) is None:
            return
        if self._poll is None:
            asyncio.get_running_loop().remove_reader(fd)
        else:
            self._poll.unregister(fd)

    def _turn(self) -> None:
        for fd, _ in self._poll.poll(0) if self._poll is not None else ():
            if (call := self._calls.get(fd)) is not None:
                call()


def program_at(name: str, path: str | None) -> str:
    """Where a program is, if that is plain to see; else its name, and whoever starts it looks.

    Popen would do: but it makes a list of every place where the program could be, each time. What
    was found is believed for a second.
    """
    if "/" in name or path is None:
        return name
    return _found(name, path, int(time.monotonic()))


@lru_cache(64)
def _found(name: str, path: str, second: int) -> str:
    del second
    for folder in path.split(os.pathsep):
        if not folder.startswith("/"):
            break  # it depends on where one stands
        place = f"{folder}/{name}"
        if os.access(place, os.X_OK) and not os.path.isdir(place):  # noqa: PTH112 - cheap
            return place
    return name


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
        executable=program_at(launch.argv[0], launch.environment.get("PATH")),
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

    It is not reaped yet: until then its number, and its group's, can be nobody else's.
    """
    if not hasattr(os, "pidfd_open"):
        waiting = loop.run_in_executor(None, os.waitid, os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        waiting.add_done_callback(lambda _: then())
        return None
    descriptors = Descriptors.of(loop)
    pidfd = os.pidfd_open(pid)

    def gone() -> None:
        descriptors.remove(pidfd)
        then()

    try:
        descriptors.add(pidfd, gone)
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

    __slots__ = ("_descriptors", "_fd", "_take")

    def __init__(self, descriptors: Descriptors, fd: int, take: Callable[[bytes], object]) -> None:
        self._descriptors = descriptors
        self._fd: int | None = fd
        self._take = take

    def listen(self) -> None:
        if self._fd is not None:
            self._descriptors.add(self._fd, self._read)

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
            self._descriptors.remove(self._fd)
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
