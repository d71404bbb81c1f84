"""A script that runs one program and kills all its descendants.

It is started as a process of its own, one for each program, because a subreaper adopts orphans
without being told whose they were: with one for all, the orphans of two sessions could not be told
apart. It imports nothing of dwindle, so that it starts fast.

usage: subreaper_program.py RUNNER-PID STATUS-FD GRACE PROGRAM [ARGUMENT...]

SIGTERM asks the program to end and kills after the grace; SIGUSR1 kills at once. The kernel sends
SIGTERM when the runner dies. What cannot be started is written to STATUS-FD. It ends as the
program did, with its exit code or by its signal.

It kills in two ways, in turns. The quick one kills our own children, again and again: a process
that loses its parent becomes our child. It looks often enough to catch one that forks and exits
without end, which a walk through all of /proc nearly always finds gone. The thorough one finds all
descendants, stops them, looks again until no new one turns up, then kills them, so that those that
fork cannot do so meanwhile. Neither is a proof that one which forks fast enough is caught in the
end. Hence: weak.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import signal
import sys
import time
from contextlib import suppress

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
WATCHED = (signal.SIGTERM, signal.SIGUSR1, signal.SIGCHLD)
LOOKS = 10
"""Walks through /proc between two rounds of killing."""

QUICK_LOOKS = 300

KILL_SECONDS = 4.0


def parents() -> dict[int, int]:
    found = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - no pathlib: it costs milliseconds to import
        if name.isdecimal():
            with suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                stat = file.read()
                found[int(name)] = int(stat[stat.rindex(b")") + 1 :].split(maxsplit=2)[1])
    return found


def descendants(root: int) -> set[int]:
    """All processes below `root`."""
    below: dict[int, list[int]] = {}
    for pid, parent in parents().items():
        below.setdefault(parent, []).append(pid)
    found: set[int] = set()
    look_at = [root]
    while look_at:
        for child in below.get(look_at.pop(), ()):
            if child not in found:
                found.add(child)
                look_at.append(child)
    return found


def send(pids: set[int], number: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def reap(program: int) -> int | None:
    """Collect the dead; returns how `program` ended if it is one of them."""
    status = None
    while True:
        try:
            pid, how = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status
        if pid == 0:
            return status
        if pid == program:
            status = how


def kill_all(program: int) -> int | None:
    """Kill until no process is left; returns how `program` ended if that was not known yet."""
    status = None
    deadline = time.monotonic() + KILL_SECONDS
    while has_children() and time.monotonic() < deadline:
        for way in (kill_children, kill_descendants):
            way()
            how = reap(program)
            status = status if how is None else how
    return status


def has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def kill_children() -> None:
    me = os.getpid()
    try:
        listing = os.open(f"/proc/{me}/task/{me}/children", os.O_RDONLY)
    except OSError:  # a kernel without this file
        return
    try:
        for _ in range(QUICK_LOOKS):
            children = os.pread(listing, 1 << 16, 0).split()
            if not children:
                return
            send({int(pid) for pid in children}, signal.SIGKILL)
    finally:
        os.close(listing)


def kill_descendants() -> None:
    me = os.getpid()
    seen = descendants(me)
    send(seen, signal.SIGSTOP)
    for _ in range(LOOKS):
        new = descendants(me) - seen
        if not new:
            break
        send(new, signal.SIGSTOP)
        seen |= new
    send(seen, signal.SIGKILL)


def main(argv: list[str]) -> int:
    runner, status_fd, grace = int(argv[1]), int(argv[2]), float(argv[3])
    signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
    if os.getppid() != runner:  # it died before we could ask to be told
        return 1
    fcntl.fcntl(status_fd, fcntl.F_SETFD, fcntl.FD_CLOEXEC)
    try:
        program = os.posix_spawnp(
            argv[4],
            argv[4:],
            os.environ,
            setpgroup=0,
            setsigmask=(),
            setsigdef=(signal.SIGPIPE, signal.SIGXFSZ),
        )
    except OSError as problem:
        os.write(status_fd, f"{argv[4]}: {problem.strerror}".encode())
        return 127
    status = watch_over(program, grace)
    left = kill_all(program)
    status = left if status is None else status
    code = -signal.SIGKILL if status is None else os.waitstatus_to_exitcode(status)
    if code < 0:
        die_by(-code)
    return code


def watch_over(program: int, grace: float) -> int | None:
    """Wait until the program ends by itself (its status) or has to (None)."""
    deadline: float | None = None
    while deadline is None or time.monotonic() < deadline:
        left = 3600.0 if deadline is None else max(deadline - time.monotonic(), 0.0)
        news = signal.sigtimedwait(WATCHED, left)
        if news is None:
            continue
        if news.si_signo == signal.SIGUSR1:
            return None
        if news.si_signo == signal.SIGTERM and deadline is None:
            deadline = time.monotonic() + grace
            with suppress(ProcessLookupError):
                os.killpg(program, signal.SIGTERM)
        if (status := reap(program)) is not None:
            return status
    return None


def die_by(number: int) -> None:
    """End by the same signal, without leaving a second core file."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if number not in {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
    os.kill(os.getpid(), number)


if __name__ == "__main__":
    sys.exit(main(sys.argv))
