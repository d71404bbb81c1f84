"""What runs in the process that starts programs for us; `nursery.py` is our side of it.

A script that needs nothing of ours, so that it begins quickly and stays small:

    python nurse.py CHANNEL [RLIMIT=BYTES ...]

CHANNEL is the descriptor of a socket that keeps packets apart. What comes in:

    (number, (program, argv, environment, folder, stdin))   start it
    (number, signal)                                        send this to its group

And what goes out:

    ()                              ready
    (number,)                       it could not be started
    (number, pid)                   it lives on; with the pipes of its stdout and stderr
    (number, None, stdout, stderr)  it has ended; this is the beginning of what it said, and its
                                    pipes, with the rest, come next
    (number, code, stdout, stderr)  it has ended, and whoever was left of its group with it

Most programs that are started often are over in a moment, and of these one packet tells all. The
pipes of who lives longer are handed over, to be read as he writes. A limit is set on this process:
all that it starts are born with it. When the channel is closed nobody looks after them any more,
and all are killed.
"""

from __future__ import annotations

import marshal
import os
import resource
import select
import signal
import socket
import sys
import time
from contextlib import suppress

MOMENT_SECONDS = 0.004
"""Of a program that is over by then, no pipe is handed over."""

PACKET = 1 << 16
LARGEST = 1 << 15
"""Bytes of what one packet is about: a socket takes that at once, and a pipe holds it."""
MUCH = LARGEST // 2
"""Who has said so much may have said more, which is left in the pipe."""

Wanted = tuple[str, tuple[str, ...], dict[str, str], str, bytes]
"""A program, its words and its environment, where it is to be, and what it may read."""

_TO = os.POSIX_SPAWN_DUP2
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
"""A program expects to get them."""


class Child:
    __slots__ = ("due", "number", "pid", "pidfd", "pipes")

    def __init__(self, number: int, pid: int, pipes: tuple[int, int]) -> None:
        self.number = number
        self.pid = pid
        self.pidfd = -1
        self.pipes: tuple[int, ...] = pipes
        """Of stdout and stderr, until they are handed over."""
        self.due = time.monotonic() + MOMENT_SECONDS

    def signal(self, number: int) -> None:
        """To its group, whose number is its own until it is reaped."""
        with suppress(OSError):
            os.killpg(self.pid, number)

    def said(self) -> list[bytes]:
        return [_read(pipe) for pipe in self.pipes] or [b"", b""]

    def hand_over(self) -> None:
        for pipe in self.pipes:
            os.close(pipe)
        self.pipes = ()

    def let_go(self) -> None:
        self.hand_over()
        if self.pidfd >= 0:
            os.close(self.pidfd)


class Nurse:
    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._poll = select.epoll()
        self._poll.register(channel.fileno(), select.EPOLLIN)
        self._packet = bytearray(PACKET)  # for each a new one would cost more than what is in it
        self._nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        self._children: dict[int, Child] = {}
        """By their pidfds, the oldest first."""

    def serve(self) -> None:
        try:
            self._tell()
            while self._turn():
                pass
        finally:
            for child in self._children.values():
                child.signal(signal.SIGKILL)

    def _turn(self) -> bool:
        """Whether there is somebody to serve."""
        young = [child for child in self._children.values() if child.pipes]
        if young:
            wait = max(young[0].due - time.monotonic(), 0.0)
        else:
            wait = -1
            os.chdir("/")  # nobody's folder is held for long
        for fd, _ in self._poll.poll(wait):
            if fd in self._children:
                self._ended(self._children[fd])
                continue
            if not self._channel.recv_into(self._packet):
                return False
            self._heard(*marshal.loads(self._packet))  # noqa: S302 - it comes from ourselves
        if young:
            now = time.monotonic()
            for child in young:
                if child.pipes and child.due <= now:
                    self._hand_over(child)
        return True

    def _heard(self, number: int, what: Wanted | int) -> None:
        if isinstance(what, tuple):
            self._start(number, what)
            return
        for child in self._children.values():
            if child.number == number:
                child.signal(what)

    def _start(self, number: int, wanted: Wanted) -> None:
        program, argv, environment, folder, stdin = wanted
        ours: list[int] = []
        theirs: list[int] = []
        try:
            for _ in range(2):
                read, write = os.pipe()
                ours.append(read)
                theirs.append(write)
                os.set_blocking(read, False)
            feed = self._nothing
            if stdin:
                feed, write = os.pipe()
                theirs += (feed, write)
                # It fits into a pipe; but who has many of them gets small ones.
                os.set_blocking(write, False)
                if os.write(write, stdin) < len(stdin):
                    raise BlockingIOError
            os.chdir(folder)
            pid = os.posix_spawn(
                program,
                argv,
                environment,
                file_actions=((_TO, feed, 0), (_TO, theirs[0], 1), (_TO, theirs[1], 2)),
                setsid=True,
                setsigdef=_IGNORED_BY_PYTHON,
            )
        except (OSError, ValueError):
            self._tell(number)
            for fd in ours:
                os.close(fd)
            return
        finally:
            for fd in theirs:
                os.close(fd)
        child = Child(number, pid, (ours[0], ours[1]))
        try:
            child.pidfd = os.pidfd_open(pid)
            self._poll.register(child.pidfd, select.EPOLLIN)
        except OSError:  # there is no room to look after it
            self._ended(child)
        else:
            self._children[child.pidfd] = child

    def _ended(self, child: Child) -> None:
        child.signal(signal.SIGKILL)  # to whoever stayed in the group
        code = os.waitstatus_to_exitcode(os.waitpid(child.pid, 0)[1])
        if self._children.pop(child.pidfd, None) is not None:
            self._poll.unregister(child.pidfd)
        out, err = child.said()
        if MUCH in (len(out), len(err)):
            self._tell(child.number, None, out, err)
            self._hand_over(child)
            out, err = b"", b""
        child.let_go()
        self._tell(child.number, code, out, err)

    def _hand_over(self, child: Child) -> None:
        packet = marshal.dumps((child.number, child.pid))
        socket.send_fds(self._channel, [packet], child.pipes)
        child.hand_over()

    def _tell(self, *words: int | bytes | None) -> None:
        self._channel.send(marshal.dumps(words))


def _read(pipe: int) -> bytes:
    try:
        return os.read(pipe, MUCH)
    except BlockingIOError:
        return b""


def main(channel: str, *limits: str) -> None:
    for limit in limits:
        kind, most = map(int, limit.split("="))
        # One that is lower already must not be raised, nor could it be.
        soft, hard = (
            most if old == resource.RLIM_INFINITY else min(old, most)
            for old in resource.getrlimit(kind)
        )
        resource.setrlimit(kind, (soft, hard))
    with socket.socket(fileno=int(channel)) as connected:
        connected.set_inheritable(False)
        with suppress(BrokenPipeError, ConnectionResetError):  # nobody listens any more
            Nurse(connected).serve()


if __name__ == "__main__":
    main(*sys.argv[1:])
