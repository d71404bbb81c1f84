"""Programs that another process starts for us: what they get, and what becomes of them."""

from __future__ import annotations

import asyncio
import fcntl
import gc
import marshal
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.containment.nursed import Nursed, nursery
from tests.adapters.containment.survivors import survivors_after

from dwindle.adapters.containment import Bare, bounds, nurse, program
from dwindle.adapters.containment.nurse import LARGEST, MOMENT_SECONDS
from dwindle.adapters.containment.nursery import MANY, Nursery
from dwindle.ports.process import Bounds, Command, Ended

ROOT = Path(__file__).parents[3]
STATUS = Path("/proc/self/status")
LONGER = 50 * MOMENT_SECONDS


def shell(script: str, **more: object) -> Command:
    return replace(Command(argv=("/bin/sh", "-c", script), cwd=Path("/")), **more)  # type: ignore[arg-type]


def run(command: Command, watch: Callable[[bytes], str | None] | None = None) -> Ended:
    return asyncio.run(Nursed().run(command, watch))


def said(script: str) -> list[str]:
    ended = run(shell(script))
    assert (ended.exit_code, ended.error) == (0, "")
    return ended.stdout.text().split()


def nurses() -> list[int]:
    """Children of ours that start programs."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdecimal() and b"nurse.py" in (entry / "cmdline").read_bytes():
                parent = re.search(r"PPid:\s+(\d+)", (entry / "status").read_text("utf-8"))
                found += [int(entry.name)] if parent and int(parent[1]) == os.getpid() else []
    return found


@pytest.fixture(autouse=True)
def _alone() -> None:
    """Loops that an exception knows of, from tests before, go when garbage is collected."""
    gc.collect()


# --- what a program gets -------------------------------------------------------------------------


def test_a_program_leads_a_session_of_its_own() -> None:
    pid, group, session = said("cut -d' ' -f5,6 /proc/$$/stat | sed s/^/$$' '/")
    assert (group, session) == (pid, pid)


def test_a_program_is_started_by_the_nurse() -> None:
    async def story() -> tuple[str, list[int]]:
        ended = await Nursed().run(shell("echo $PPID"))
        return ended.stdout.text(), nurses()

    parent, found = asyncio.run(story())
    assert [int(parent)] == found


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
    handed_on = int(re.findall(r"SigIgn:\s+(\w+)", STATUS.read_text("ascii"))[0], 16) & ~ours
    assert (int(blocked, 16), int(ignored, 16) & ~own) == (0, handed_on & ~own)


def test_a_program_has_its_environment_its_folder_and_its_input(tmp_path: Path) -> None:
    command = replace(
        shell("pwd; echo $COLOUR; env | cut -d= -f1 | sort | grep -v '^_$'; cat; exit 7"),
        cwd=tmp_path,
        stdin=b"read me",
        environment={"COLOUR": "grün"},
    )
    ended, plain = run(command), asyncio.run(Bare().run(command))
    assert (ended.exit_code, ended.stdout) == (7, plain.stdout)
    assert ended.stdout.text().startswith(f"{tmp_path}\ngrün\n")
    assert ended.stdout.text().endswith("read me")


# --- short and long ------------------------------------------------------------------------------


def test_all_that_a_short_program_says_is_heard() -> None:
    ended = run(shell("head -c 65536 /dev/zero; head -c 65536 /dev/zero >&2"))
    assert (ended.exit_code, ended.stdout.size, ended.stderr.size) == (0, 65536, 65536)


def test_a_long_one_is_listened_to_while_it_lives() -> None:
    heard: list[tuple[bytes, bool]] = []
    over = False

    def watch(line: bytes) -> None:
        heard.append((line, over))

    async def story() -> Ended:
        nonlocal over
        ended = await Nursed().run(
            shell(f"echo early; sleep {LONGER}; echo late; head -c 300000 /dev/zero >&2"), watch
        )
        over = True
        return ended

    ended = asyncio.run(story())
    assert heard == [(b"early", False), (b"late", False)]
    assert (ended.exit_code, ended.stderr.size) == (0, 300000)


def test_whoever_stays_in_the_group_goes_with_it(token: str) -> None:
    for wait in ("", f"sleep {LONGER}; "):
        ended = run(shell(f"sh -c 'sleep 30; : {token}' & {wait}exit 5"))
        assert (ended.exit_code, ended.error) == (5, "")
        assert survivors_after(token, 1.0) == []


def test_what_would_not_fit_into_a_pipe_is_fed_by_ourselves() -> None:
    ended = run(shell("wc -c; echo $PPID", stdin=b"x" * LARGEST))
    assert ended.stdout.text().split() == [str(LARGEST), str(os.getpid())]


def test_a_folder_may_be_named_from_where_we_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(replace(shell("pwd"), cwd=Path())).stdout.text().strip() == str(tmp_path)


def test_many_at_once() -> None:
    async def story() -> list[int | None]:
        await nursery()
        commands = [shell(f"sleep 0.0{n % 10}; exit {n}") for n in range(60)]
        return [ended.exit_code for ended in await asyncio.gather(*map(Bare().run, commands))]

    assert asyncio.run(story()) == list(range(60))


# --- what does not go well -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        Command(argv=("/no/such/program",), cwd=Path("/")),
        Command(argv=("/etc/passwd",), cwd=Path("/")),
        Command(argv=("/bin/sh",), cwd=Path("/no/such/folder")),
        Command(argv=("/bin/sh", "-c", "a\0b"), cwd=Path("/")),
    ],
    ids=["program", "permission", "folder", "word"],
)
def test_what_cannot_be_started_is_explained_as_ever(command: Command) -> None:
    ended = run(command)
    assert ended.error
    assert ended == replace(asyncio.run(Bare().run(command)), seconds=ended.seconds)


def test_a_program_that_is_cancelled_at_any_time_is_gone(token: str) -> None:
    async def story() -> int:
        cancelled = 0
        await nursery()
        for turns in range(40):
            running = asyncio.create_task(Bare().run(shell(f"sleep 20; : {token}")))
            for _ in range(turns % 8):
                await asyncio.sleep(0 if turns < 20 else MOMENT_SECONDS / 4)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            cancelled += running.cancelled()
        return cancelled

    assert asyncio.run(story()) == 40
    assert survivors_after(token, 1.0) == []


def test_a_nurse_that_is_killed_takes_its_programs_along_and_others_go_on(token: str) -> None:
    async def story() -> tuple[Ended, Ended]:
        await nursery()
        running = asyncio.create_task(Bare().run(shell(f"echo up; sleep 30; : {token}")))
        await asyncio.sleep(LONGER)
        os.kill(nurses()[0], signal.SIGKILL)
        lost = await running
        return lost, await Bare().run(shell("echo $PPID"))

    lost, after = asyncio.run(story())
    assert (lost.exit_code, lost.error) == (None, "the process that started it was ended")
    assert (lost.signal, lost.stdout.text()) == (signal.SIGKILL, "up\n")  # it began: no lack of it
    assert survivors_after(token, 1.0) == []
    assert after.stdout.text().strip() == str(os.getpid())


def test_a_nurse_that_goes_before_it_answers_is_heard_of() -> None:
    async def story() -> Ended:
        await nursery()
        (process,) = nurses()
        os.kill(process, signal.SIGSTOP)
        running = asyncio.create_task(Bare().run(shell("true")))
        await asyncio.sleep(LONGER)
        os.kill(process, signal.SIGKILL)
        return await running

    assert asyncio.run(story()).error == "the process that started it was ended"


def test_a_nurse_that_is_too_busy_to_listen_is_told_again(token: str) -> None:
    """What it cannot take is started by ourselves; that somebody has to go, it hears in the end."""

    async def story() -> tuple[list[Ended], Ended]:
        await nursery()
        (process,) = nurses()
        loop = asyncio.get_running_loop()
        doomed = asyncio.create_task(Bare().run(shell(f"sleep 30; : {token}", timeout_seconds=0.3)))
        await asyncio.sleep(LONGER)
        os.kill(process, signal.SIGSTOP)
        loop.call_later(1, os.kill, process, signal.SIGCONT)
        crowd = [shell("echo $PPID", stdin=b"x" * (LARGEST - 1000)) for _ in range(40)]
        return list(await asyncio.gather(*map(Bare().run, crowd))), await doomed

    crowd, doomed = asyncio.run(story())
    parents = {int(ended.stdout.text()) for ended in crowd}
    assert len(parents) == 2
    assert os.getpid() in parents
    assert doomed.timed_out
    assert survivors_after(token, 1.0) == []


def test_who_was_to_be_ended_is_ended_however_late_the_nurse_hears_of_it(
    token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "KILLED_SECONDS", 0.2)

    async def story() -> Ended:
        await nursery()
        (process,) = nurses()
        doomed = asyncio.create_task(Bare().run(shell(f"sleep 30; : {token}", timeout_seconds=0.2)))
        await asyncio.sleep(0.1)
        os.kill(process, signal.SIGSTOP)
        crowd = [shell("true", stdin=b"x" * (LARGEST - 1000)) for _ in range(20)]
        others = asyncio.gather(*map(Bare().run, crowd))
        ended = await doomed
        os.kill(process, signal.SIGCONT)
        await others
        return ended

    assert asyncio.run(story()).error == "some of its processes were killed but did not end"
    assert survivors_after(token, 1.0) == []


def test_without_room_for_its_pipes_a_program_is_ended(token: str) -> None:
    """It is the runner that has no descriptor left when they are handed over."""

    async def story() -> Ended:
        await nursery()
        running = asyncio.create_task(Bare().run(shell(f"sleep 30; : {token}")))
        await asyncio.sleep(0)
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        lowest = os.dup(0)
        os.close(lowest)
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, before[1]))
        try:
            return await running
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)

    ended = asyncio.run(story())
    assert (ended.error, ended.signal) == ("Too many open files", signal.SIGKILL)
    assert survivors_after(token, 1.0) == []


def test_without_room_in_the_nurse_programs_are_started_as_ever() -> None:
    async def story() -> list[int]:
        await nursery()
        (process,) = nurses()
        found = [process]
        soft, hard = resource.prlimit(process, resource.RLIMIT_NOFILE)
        for most in (7, soft):
            resource.prlimit(process, resource.RLIMIT_NOFILE, (most, hard))
            ended = await Bare().run(shell("echo $PPID", stdin=b"x"))
            found.append(int(ended.stdout.text()))
        return found

    process, *parents = asyncio.run(story())
    assert parents == [os.getpid(), process]


def test_without_room_for_another_process_programs_are_started_as_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuses(*_: object, **__: object) -> None:
        raise BlockingIOError

    monkeypatch.setattr(subprocess, "Popen", refuses)

    async def story() -> Nursery | None:
        loop = asyncio.get_running_loop()
        return [Nursery.of(loop, ()) for _ in range(MANY + 2)][-1]

    assert asyncio.run(story()) is None


# --- the nurse by itself -------------------------------------------------------------------------


def told(packet: bytes) -> tuple[Any, ...]:
    found: tuple[Any, ...] = marshal.loads(packet)  # noqa: S302 - from ourselves
    return found


@contextmanager
def a_nurse(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """In a thread, and patient: no program lives long enough to be handed over."""
    monkeypatch.setattr(nurse, "MOMENT_SECONDS", 60.0)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    thread = threading.Thread(target=nurse.Nurse(theirs).serve)
    folder = Path.cwd()
    thread.start()
    try:
        with ours:
            ours.settimeout(20)
            assert told(ours.recv(100)) == ()
            yield ours
    finally:
        thread.join(20)
        theirs.close()
        os.chdir(folder)
    assert not thread.is_alive()


def test_what_one_had_to_say_who_made_his_pipe_larger_is_heard(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    larger = "import fcntl, os; fcntl.fcntl(1, fcntl.F_SETPIPE_SZ, 1 << 20)"
    words = (sys.executable, "-c", f"{larger}; os.write(1, b'x' * 300_000)")
    with a_nurse(monkeypatch) as channel:
        channel.send(marshal.dumps((1, (words[0], words, dict(os.environ), "/", b""))))
        said = told(channel.recv(nurse.PACKET))
        packet, (out, err), _, _ = socket.recv_fds(channel, 100, 2)
        over = told(channel.recv(100))
    with os.fdopen(out, "rb", 0) as rest, os.fdopen(err, "rb", 0) as nothing:
        assert (len(said[2]) + len(rest.read()), nothing.read()) == (300_000, b"")
    assert (said[:2], said[3]) == ((1, None), b"")
    assert (told(packet)[0], over) == (1, (1, 0, b"", b""))


def test_what_does_not_fit_into_a_small_pipe_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who has many pipes gets small ones, and nobody reads what is written before the start."""
    pipe = os.pipe

    def small() -> tuple[int, int]:
        ends = pipe()
        fcntl.fcntl(ends[0], fcntl.F_SETPIPE_SZ, 4096)
        return ends

    with a_nurse(monkeypatch) as channel:
        monkeypatch.setattr(os, "pipe", small)
        for number, size in ((1, 4000), (2, 5000)):
            words = ("/bin/cat",)
            channel.send(marshal.dumps((number, (words[0], words, {}, "/", b"x" * size))))
        heard = [told(channel.recv(nurse.PACKET)) for _ in range(2)]
    assert sorted(heard) == [(1, 0, b"x" * 4000, b""), (2,)]


# --- how long it lives ---------------------------------------------------------------------------


def test_few_programs_need_no_nursery_and_many_have_one() -> None:
    async def story() -> tuple[list[int], list[int]]:
        before = [await Bare().run(shell("true")) for _ in range(MANY - 1)]
        assert all(ended.is_clean for ended in before)
        few = nurses()
        await Bare().run(shell("true"))
        return few, nurses()

    few, many = asyncio.run(story())
    assert few == []
    assert len(many) == 1


def test_it_goes_with_its_loop() -> None:
    run(shell("true"))
    end = time.monotonic() + 20
    while nurses() and time.monotonic() < end:
        time.sleep(0.01)
    assert nurses() == []


@pytest.mark.parametrize("wait", [0.0, LONGER])
def test_when_we_are_killed_all_are_gone_within_a_second(token: str, wait: float) -> None:
    script = f"""
import asyncio, os, signal, sys
from tests.adapters.containment.nursed import Nursed, nursery
from dwindle.ports.process import Command
from pathlib import Path

async def story():
    await nursery()
    for _ in range(3):
        words = ("/bin/sh", "-c", "trap '' TERM; sleep 30; : {token}")
        asyncio.ensure_future(Nursed().run(Command(argv=words, cwd=Path("/"))))
    await asyncio.sleep(0.02 + {wait})
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(story())
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert survivors_after(token, 1.0) == []


# --- bounds --------------------------------------------------------------------------------------


def test_bounds_hold_from_birth(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(bounds, "pens", lambda: ())
    held = Bounds(file_bytes=4096, memory_bytes=1 << 30, processes=5000)
    command = shell("ulimit -c; ulimit -f; ulimit -d; echo $PPID", bounds=held, cwd=tmp_path)

    async def story() -> tuple[list[str], list[int]]:
        ended = await Nursed().run(command)
        return ended.stdout.text().split(), nurses()

    (core, file, data, parent), found = asyncio.run(story())
    assert (core, file, data) == ("0", "8", str((1 << 30) // 1024))
    assert [int(parent)] == found


def test_a_limit_that_is_lower_already_is_not_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "pens", lambda: ())
    held = Bounds(file_bytes=1 << 30)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, before[1]))
    try:
        ended = run(shell("ulimit -S -f; ulimit -H -f", bounds=held))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert ended.stdout.text().split() == ["2048", str((1 << 30) // 512)]


def test_where_a_group_has_to_hold_them_programs_are_started_as_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bounds, "pens", lambda: ("a pen",))
    assert bounds.limits_from_birth(Bounds(memory_bytes=1 << 30)) is None
    assert bounds.limits_from_birth(Bounds(processes=10)) is None
    both = ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, 4096))
    assert bounds.limits_from_birth(Bounds(file_bytes=4096)) == both
