"""Programs that another process starts for us: what they get, and what becomes of them."""

from __future__ import annotations

import asyncio
import gc
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from tests.adapters.containment.nursed import Nursed, nursery
from tests.adapters.containment.survivors import survivors_after

from dwindle.adapters.containment import Bare, bounds
from dwindle.adapters.containment.nurse import MOMENT_SECONDS
from dwindle.adapters.containment.nursery import LARGEST, MANY, Nursery
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
    assert survivors_after(token, 1.0) == []
    assert after.stdout.text().strip() == str(os.getpid())


def test_a_nurse_that_goes_before_it_answers_is_heard_of() -> None:
    async def story() -> Ended:
        await nursery()
        (nurse,) = nurses()
        os.kill(nurse, signal.SIGSTOP)
        running = asyncio.create_task(Bare().run(shell("true")))
        await asyncio.sleep(LONGER)
        os.kill(nurse, signal.SIGKILL)
        return await running

    assert asyncio.run(story()).error == "the process that started it was ended"


def test_a_nurse_that_is_too_busy_to_listen_is_told_again(token: str) -> None:
    """What it cannot take is started by ourselves; that somebody has to go, it hears in the end."""

    async def story() -> tuple[list[Ended], Ended]:
        await nursery()
        (nurse,) = nurses()
        loop = asyncio.get_running_loop()
        doomed = asyncio.create_task(Bare().run(shell(f"sleep 30; : {token}", timeout_seconds=0.3)))
        await asyncio.sleep(LONGER)
        os.kill(nurse, signal.SIGSTOP)
        loop.call_later(1, os.kill, nurse, signal.SIGCONT)
        crowd = [shell("echo $PPID", stdin=b"x" * (LARGEST - 1000)) for _ in range(40)]
        return list(await asyncio.gather(*map(Bare().run, crowd))), await doomed

    crowd, doomed = asyncio.run(story())
    parents = {int(ended.stdout.text()) for ended in crowd}
    assert len(parents) == 2
    assert os.getpid() in parents
    assert doomed.timed_out
    assert survivors_after(token, 1.0) == []


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


def test_where_a_group_has_to_hold_them_programs_are_started_as_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bounds, "pens", lambda: ("a pen",))
    assert bounds.limits_from_birth(Bounds(memory_bytes=1 << 30)) is None
    assert bounds.limits_from_birth(Bounds(processes=10)) is None
    both = ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, 4096))
    assert bounds.limits_from_birth(Bounds(file_bytes=4096)) == both
