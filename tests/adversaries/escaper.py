"""A program that tries to outlive its session in every way it knows.

usage: escaper.py TOKEN leave|crash|stay

It starts one process of every kind in `WAYS`, some of which start others. TOKEN stands in the
command line of all of them, which is how a test finds them. When all are running it prints `ready`;
then it leaves, or crashes, or stays and is deaf.

Whoever gets away all the same gives up after a while, so that a failed test does no harm.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time

LIFETIME = 20.0
LOOK_AROUND = 0.7
"""For the test to see them all before we leave."""

CLONE = {"x86_64": 56, "aarch64": 220}.get(os.uname().machine)
CLONE_PARENT = 0x8000
TRACE_ME, SET_OPTIONS, STOP_AT_EXIT = 0, 0x4200, 1 << 6

library = ctypes.CDLL(None)


def wait() -> None:
    end = time.monotonic() + LIFETIME
    while time.monotonic() < end:
        time.sleep(0.05)


def deaf() -> None:
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)


def plain() -> None:
    """It also holds our output open."""
    wait()


def own_session() -> None:
    os.setsid()
    wait()


def daemon() -> None:
    """Forked twice, in a session of its own, deaf."""
    deaf()
    os.setsid()
    if os.fork() == 0:
        wait()


def churner() -> None:
    """Forks and exits without end, so that no process number is good for long."""
    deaf()
    os.setsid()
    end = time.monotonic() + LIFETIME
    while time.monotonic() < end:
        if os.fork():
            os._exit(0)


def stopped() -> None:
    """Gets no signal but one."""
    os.kill(os.getpid(), signal.SIGSTOP)


def traced() -> None:
    """Held by another, and would be held once more when it ends."""
    deaf()
    tracee = os.fork()
    if tracee == 0:
        library.ptrace(TRACE_ME, 0, 0, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        wait()
        os._exit(0)
    os.waitpid(tracee, os.WUNTRACED)
    library.ptrace(SET_OPTIONS, tracee, 0, STOP_AT_EXIT)
    wait()


def cut_off() -> None:
    """In a session of its own, without a descriptor."""
    os.setsid()
    os.closerange(0, 256)
    wait()


def renewed() -> None:
    """Another program, with nothing in its environment."""
    deaf()
    os.setsid()
    argv = [sys.executable, "-S", __file__, sys.argv[1], "wait"]
    os.execve(sys.executable, argv, {})  # noqa: S606 - meant


def lender() -> None:
    """Its child has its memory, and until that ends it waits in the kernel."""
    if library.vfork() == 0:
        wait()


def sibling() -> None:
    """A child of our parent's."""
    if CLONE is None:
        wait()
    elif library.syscall(CLONE, CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0) == 0:
        wait()
        os._exit(0)


WAYS = (
    *(plain, own_session, daemon, churner, stopped),
    *(traced, cut_off, renewed, lender, sibling),
)


def main() -> None:
    if sys.argv[2] == "wait":
        wait()
        return
    for way in WAYS:
        if os.fork() == 0:
            way()
            os._exit(0)
    time.sleep(0.05)
    print("ready", flush=True)  # noqa: T201 - the test waits for it
    if sys.argv[2] == "stay":
        deaf()
        wait()
    time.sleep(LOOK_AROUND)
    if sys.argv[2] == "crash":
        os.abort()


main()
