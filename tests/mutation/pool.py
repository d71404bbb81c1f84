"""Processes that live for one mutant each, and what became of them."""

from __future__ import annotations

import os
import resource
import select
import signal
from collections.abc import Callable
from typing import NoReturn

from tests.mutation.mutants import Mutant

SURVIVED, KILLED, TIMED_OUT = "survived", "killed", "timed out"
MEMORY = 4 << 30
"""Bytes; what grows without end is noticed by that."""
UNCHANGED = Mutant(
    module="-", number=-1, function="", lines=(0, 0), before="", after="", in_body=False
)

Told = Callable[[Mutant, str, str], None]
"""What came of a mutant, and which test noticed."""


class Pool:
    """At most so many processes at a time, one for each mutant."""

    def __init__(self, jobs: int, told: Told) -> None:
        self.jobs, self.told = jobs, told
        self.running: dict[int, tuple[Mutant, int]] = {}
        """By the end of the pipe that we read: the mutant, and its process."""

    def start(self, mutant: Mutant, attempt: Callable[[int], bool]) -> None:
        """Does it survive in a process of its own, and if not: who says that they noticed?"""
        while len(self.running) >= self.jobs:
            self.reap()
        ours, theirs = os.pipe()
        child = os.fork()
        if not child:
            os.close(ours)
            _live_and_die(attempt, theirs)
        os.close(theirs)
        self.running[ours] = (mutant, child)

    def reap(self) -> None:
        """The next of ours that ends; children of others are not waited for."""
        ours = select.select(list(self.running), [], [])[0][0]
        mutant, child = self.running.pop(ours)
        with os.fdopen(ours, "rb") as said:
            by = said.read().decode(errors="replace")
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        if code == -signal.SIGKILL:
            raise RuntimeError(f"another process has killed {mutant.key}; is there enough memory?")
        if code == -signal.SIGPROF:
            self.told(mutant, TIMED_OUT, "")
        else:
            self.told(mutant, KILLED if code else SURVIVED, by)

    def finish(self) -> None:
        while self.running:
            self.reap()


def trust(attempt: Callable[[int], bool]) -> None:
    """Without a mutant all tests pass in a process like a mutant's, or a kill proves nothing."""
    came: list[tuple[str, str]] = []
    pool = Pool(1, lambda _, what, by: came.append((what, by)))
    pool.start(UNCHANGED, attempt)
    pool.finish()
    if came != [(SURVIVED, "")]:
        raise RuntimeError(f"noticed, although nothing was changed: {came}")


def _live_and_die(attempt: Callable[[int], bool], out: int) -> NoReturn:
    code = 1
    try:
        quiet = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(quiet, stream)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        code = 0 if attempt(out) else 1
    except BaseException as error:  # noqa: BLE001 - whatever it is, it must not go on from here
        os.write(out, f"{type(error).__name__}: {error}"[:200].encode())
    finally:
        os._exit(code)
