"""A program that tries to outlive its session in every way it knows.

usage: escaper.py TOKEN leave|stay

It starts a plain child, a child in a session of its own, a daemon (forked twice, in a session of
its own, deaf to SIGTERM and SIGHUP) and a churner, which forks and exits without end so that no
process number is good for long. TOKEN stands in the command line of all of them, which is how a
test finds them. When all are running it prints `ready`; then it leaves, or stays and is deaf too.

Whoever gets away all the same gives up after a while, so that a failed test does no harm.
"""

from __future__ import annotations

import os
import signal
import sys
import time

LIFETIME = 20.0
LOOK_AROUND = 0.7
"""For the test to see them all before we leave."""


def wait() -> None:
    end = time.monotonic() + LIFETIME
    while time.monotonic() < end:
        time.sleep(0.05)


def deaf() -> None:
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)


def plain() -> None:
    wait()


def own_session() -> None:
    os.setsid()
    wait()


def daemon() -> None:
    deaf()
    os.setsid()
    if os.fork() == 0:
        wait()


def churner() -> None:
    deaf()
    os.setsid()
    end = time.monotonic() + LIFETIME
    while time.monotonic() < end:
        if os.fork():
            os._exit(0)


def main() -> None:
    for way in (plain, own_session, daemon, churner):
        if os.fork() == 0:
            way()
            os._exit(0)
    time.sleep(0.05)
    print("ready", flush=True)  # noqa: T201 - the test waits for it
    if sys.argv[2] == "stay":
        deaf()
        wait()
    time.sleep(LOOK_AROUND)


main()
