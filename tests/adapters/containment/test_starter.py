"""Programs that are started in another thread: what they get, and what becomes of them."""

from __future__ import annotations

import asyncio
import math
import os
import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.adapters.containment.survivors import survivors_after

from dwindle.adapters.containment import Bare, starter
from dwindle.adapters.containment.starter import THREADS, Start, Wanted
from dwindle.ports.process import Command, Ended

pytestmark = pytest.mark.skipif(not starter.is_possible(), reason="needs glibc 2.34")


@pytest.fixture(autouse=True, params=["on the spot", "in a thread"])
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where programs are started, however busy the machine is."""
    until = math.inf if request.param == "in a thread" else -math.inf
    monkeypatch.setattr(starter, "_BUSY", starter.Busy(until=until))
    monkeypatch.setattr(starter, "LONG_SECONDS", math.inf)
    return str(request.param)


def shell(script: str) -> Command:
    return Command(argv=("/bin/sh", "-c", script), cwd=Path("/"))


@contextmanager
def a_pipe() -> Iterator[int]:
    """The end that is written to."""
    read, write = os.pipe()
    try:
        yield write
    finally:
        os.close(read)
        os.close(write)


def true(output: int) -> Wanted:
    return Wanted(
        program="/bin/true",
        argv=("true",),
        environment=(),
        folder="/",
        stdin=None,
        stdout=output,
        stderr=output,
    )


def started_by() -> str:
    """The name of the thread that heard of a new process."""
    names: list[str] = []
    over = threading.Event()

    def begun(pid: int) -> None:
        names.append(threading.current_thread().name.partition("-")[0])
        os.waitpid(pid, 0)
        over.set()

    with a_pipe() as write:
        Start(true(write), begun, lambda _: None)
        assert over.wait(20)
    return names[0]


def said(script: str) -> list[str]:
    ended = asyncio.run(Bare().run(shell(script)))
    assert (ended.exit_code, ended.error) == (0, "")
    return ended.stdout.text().split()


def test_a_program_leads_a_session_of_its_own() -> None:
    pid, group, session = said("cut -d' ' -f5,6 /proc/$$/stat | sed s/^/$$' '/")
    assert (group, session) == (pid, pid)


def test_a_program_inherits_its_three_streams_and_no_other_descriptor() -> None:
    inherited = os.open("/", os.O_RDONLY)
    os.set_inheritable(inherited, True)
    try:
        found = said("ls /proc/$$/fd")
    finally:
        os.close(inherited)
    assert found == ["0", "1", "2"]


def test_a_program_ignores_no_signal_and_blocks_none() -> None:
    """Python ignores two; whoever started us may ignore others (nohup does), and that is handed on.

    Those below the first real-time signal are the C library's own.
    """
    # Not of the shell that starts it: that one may have blocked some for a moment.
    _, blocked, _, ignored = said("exec grep -E 'Sig(Blk|Ign)' /proc/self/status")
    own = sum(1 << (number - 1) for number in range(32, signal.SIGRTMIN))
    ours = sum(1 << (number - 1) for number in (signal.SIGPIPE, signal.SIGXFSZ))
    status = Path("/proc/self/status").read_text("ascii")
    handed_on = int(re.findall(r"SigIgn:\s+(\w+)", status)[0], 16) & ~ours
    assert (int(blocked, 16), int(ignored, 16) & ~own) == (0, handed_on & ~own)


def test_more_programs_at_once_than_there_are_threads() -> None:
    async def story() -> list[Ended]:
        bare = Bare()
        return await asyncio.gather(*(bare.run(shell(f"exit {n}")) for n in range(3 * THREADS)))

    assert [ended.exit_code for ended in asyncio.run(story())] == list(range(3 * THREADS))


def test_a_program_that_is_cancelled_while_it_is_started_is_gone(token: str) -> None:
    async def story() -> int:
        cancelled = 0
        for turns in range(40):
            running = asyncio.create_task(Bare().run(shell(f"sleep 20; : {token}")))
            for _ in range(turns % 8):
                await asyncio.sleep(0)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            cancelled += running.cancelled()
        return cancelled

    assert asyncio.run(story()) == 40
    assert survivors_after(token, 1.0) == []


def test_what_cannot_be_looked_after_is_heard_of() -> None:
    """Whoever is told of a new process may be out of descriptors; then he hears why again."""
    heard: list[str] = []
    over = threading.Event()
    problem = OSError("no room")

    def begun(pid: int) -> None:
        heard.append(f"process {os.waitpid(pid, 0) == (pid, 0)}")
        raise problem

    def refused(why: OSError | ValueError | None) -> None:
        heard.append(f"refused: {why}")
        over.set()

    with a_pipe() as write:
        start = Start(true(write), begun, refused)
        assert over.wait(20)
    assert heard == ["process True", "refused: no room"]
    assert start is not None


def test_threads_start_programs_for_a_while_after_one_took_long(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if place == "in a thread":
        assert [started_by(), started_by()] == ["starter", "starter"]
        return
    assert [started_by(), started_by()] == ["MainThread", "MainThread"]
    monkeypatch.setattr(starter, "LONG_SECONDS", 0.0)
    monkeypatch.setattr(starter, "BUSY_SECONDS", 60.0)
    assert [started_by(), started_by(), started_by()] == ["MainThread", "starter", "starter"]
