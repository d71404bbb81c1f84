"""Starting, feeding, reading and ending programs: the same under every containment."""

from __future__ import annotations

import asyncio
import os
import re
import resource
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from tests.adapters.sandbox.survivors import ADVERSARIES, PYTHON, survivors_after

from dwindle.adapters.sandbox import ProcessGroup
from dwindle.ports.process import Captured, Command, Containment, Ended


def shell(script: str, **more: object) -> Command:
    return replace(Command(argv=("/bin/sh", "-c", script), cwd=Path("/")), **more)  # type: ignore[arg-type]


def run(
    containment: Containment,
    command: Command,
    watch: Callable[[bytes], str | None] | None = None,
) -> Ended:
    """How it ended, without how long it took."""
    ended = asyncio.run(containment.run(command, watch))
    assert ended.seconds >= 0
    return replace(ended, seconds=0.0)


def whole(text: bytes) -> Captured:
    return Captured(head=text, size=len(text))


# --- ends ----------------------------------------------------------------------------------------


def test_a_program_ends_with_a_code(any_containment: Containment) -> None:
    ended = run(any_containment, shell("echo out; echo err >&2; exit 3"))
    assert ended == Ended(exit_code=3, stdout=whole(b"out\n"), stderr=whole(b"err\n"))


def test_a_program_ends_by_a_signal(any_containment: Containment) -> None:
    ended = run(any_containment, shell("kill -USR2 $$"))
    assert (ended.exit_code, ended.signal, ended.error) == (None, 12, "")


def test_a_program_can_abort(any_containment: Containment) -> None:
    """As process 1 of a namespace it could not."""
    ended = run(any_containment, shell("ulimit -c 0; kill -ABRT $$; echo still here"))
    assert (ended.signal, ended.stdout) == (6, whole(b""))


def test_a_program_that_is_asked_to_end_may_say_goodbye(
    any_containment: Containment,
) -> None:
    script = "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.01; done"
    ended = run(any_containment, shell(script, timeout_seconds=0.5))
    assert (ended.exit_code, ended.timed_out) == (None, True)
    assert ended.stdout == whole(b"up\nbye\n")


def test_a_program_that_does_not_listen_is_killed(any_containment: Containment) -> None:
    began = time.monotonic()
    ended = run(any_containment, shell("trap '' TERM; echo up; sleep 20", timeout_seconds=0.5))
    assert time.monotonic() - began < 1.5
    assert (ended.exit_code, ended.timed_out, ended.stdout) == (None, True, whole(b"up\n"))


# --- what never begins ---------------------------------------------------------------------------


def missing(name: str) -> Ended:
    return Ended(error=f"{name}: No such file or directory")


def test_a_missing_program_is_an_error(any_containment: Containment) -> None:
    ended = run(any_containment, Command(argv=("no-such-program", "-x"), cwd=Path("/")))
    assert replace(ended, stderr=Captured()) == missing("no-such-program")


def test_a_missing_folder_is_an_error(any_containment: Containment, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    assert run(any_containment, shell("true", cwd=gone)) == missing(str(gone))


def test_a_program_without_permission_is_an_error(
    any_containment: Containment, tmp_path: Path
) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n")
    ended = run(any_containment, Command(argv=(str(program),), cwd=tmp_path))
    assert replace(ended, stderr=Captured()) == Ended(error=f"{program}: Permission denied")


def test_too_long_a_command_line_is_an_error(any_containment: Containment) -> None:
    ended = run(any_containment, Command(argv=("/bin/true", "x" * 3_000_000), cwd=Path("/")))
    assert ended.error.endswith(": Argument list too long")


def test_no_program_at_all_is_an_error(any_containment: Containment) -> None:
    ended = run(any_containment, Command(argv=(), cwd=Path("/")))
    assert ended == Ended(error="there is no program to run")


def test_a_word_that_no_command_line_can_hold_is_an_error(
    any_containment: Containment,
) -> None:
    ended = run(any_containment, Command(argv=("/bin/echo", "a\0b"), cwd=Path("/")))
    assert ended == Ended(error="embedded null byte")


def test_a_log_that_cannot_be_written_is_an_error(
    any_containment: Containment, tmp_path: Path
) -> None:
    log = tmp_path / "gone" / "session.log"
    ended = run(any_containment, shell("echo began >&2", log=log))
    said = f"the log cannot be written: {log}: No such file or directory"
    assert (ended.exit_code, ended.error) == (0, said)


@pytest.mark.parametrize("name", ["subreaper", "bare"])
def test_a_network_that_cannot_be_taken_away_is_an_error(
    named: Callable[[str], Containment], name: str
) -> None:
    ended = run(named(name), shell("true", network=False))
    assert ended == Ended(error="the network cannot be taken away under this containment")


def test_running_out_of_descriptors_is_an_error_and_leaves_nothing(token: str) -> None:
    """At any point of the start."""
    held: list[int] = []

    async def story() -> list[Ended]:
        ended = []
        for spare in range(12):
            while True:
                try:
                    held.append(os.open("/dev/null", os.O_RDONLY))
                except OSError:
                    break
            for _ in range(spare):
                os.close(held.pop())
            ended.append(
                await ProcessGroup().run(shell(f"sleep 20; : {token}", timeout_seconds=0.05))
            )
        return ended

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = max(map(int, os.listdir("/proc/self/fd")))  # noqa: PTH208 - names are enough
    resource.setrlimit(resource.RLIMIT_NOFILE, (most + 64, hard))
    try:
        ended = asyncio.run(story())
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for fd in held:
            os.close(fd)
    assert all(e.timed_out or e.error.endswith("Too many open files") for e in ended)
    assert (ended[0].timed_out, ended[-1].timed_out) == (False, True)
    assert survivors_after(token, 1.0) == []


# --- what a program inherits ---------------------------------------------------------------------


def said(script: str) -> list[str]:
    ended = run(ProcessGroup(), shell(script))
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
    """Python ignores two; the runner's own starter may ignore others (nohup does), and those stay.

    Those below the first real-time signal are the C library's own.
    """
    # Not of the shell that starts it: that one may have blocked some for a moment.
    _, blocked, _, ignored = said("exec grep -E 'Sig(Blk|Ign)' /proc/self/status")
    own = sum(1 << (number - 1) for number in range(32, signal.SIGRTMIN))
    ours = sum(1 << (number - 1) for number in (signal.SIGPIPE, signal.SIGXFSZ))
    status = Path("/proc/self/status").read_text("ascii")
    handed_on = int(re.findall(r"SigIgn:\s+(\w+)", status)[0], 16) & ~ours
    assert (int(blocked, 16), int(ignored, 16) & ~own) == (0, handed_on & ~own)


def test_a_folder_may_be_named_from_where_we_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(ProcessGroup(), shell("pwd", cwd=Path())).stdout.text().strip() == str(tmp_path)


def test_many_at_once() -> None:
    async def story() -> list[int | None]:
        commands = [shell(f"sleep 0.0{n % 10}; exit {n}") for n in range(60)]
        return [
            ended.exit_code for ended in await asyncio.gather(*map(ProcessGroup().run, commands))
        ]

    assert asyncio.run(story()) == list(range(60))


def test_a_program_that_is_cancelled_at_any_time_is_gone(token: str) -> None:
    async def story() -> int:
        cancelled = 0
        for turns in range(16):
            running = asyncio.create_task(ProcessGroup().run(shell(f"sleep 20; : {token}")))
            for _ in range(turns % 8):
                await asyncio.sleep(0 if turns < 8 else 0.001)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            cancelled += running.cancelled()
        return cancelled

    assert asyncio.run(story()) == 16
    assert survivors_after(token, 1.0) == []


# --- streams -------------------------------------------------------------------------------------


def test_input_larger_than_a_pipe_comes_back_whole(any_containment: Containment) -> None:
    text = b"".join(b"%07d\n" % n for n in range(500_000))
    command = Command(argv=("cat",), cwd=Path("/"), stdin=text, output_bytes=2 * len(text))
    assert run(any_containment, command) == Ended(exit_code=0, stdout=whole(text))


def test_input_that_nobody_reads_holds_nothing_up(any_containment: Containment) -> None:
    command = Command(argv=("true",), cwd=Path("/"), stdin=b"x" * 3_000_000)
    assert run(any_containment, command) == Ended(exit_code=0)


def test_without_input_a_program_reads_an_end(any_containment: Containment) -> None:
    assert run(any_containment, Command(argv=("cat",), cwd=Path("/"))) == Ended(exit_code=0)


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_flood_is_read_to_its_end_and_kept_in_part(
    any_containment: Containment, stream: str
) -> None:
    size = 30_000_000
    text = b"".join(b"%09d\n" % n for n in range(size // 10))
    command = Command(
        argv=(PYTHON, "-S", str(ADVERSARIES / "flood.py"), str(size), stream),
        cwd=Path("/"),
        output_bytes=1000,
        readable=(ADVERSARIES,),
    )
    kept = Captured(head=text[:500], tail=text[-500:], size=size, digest=sha256(text).hexdigest())
    assert run(any_containment, command) == Ended(exit_code=0, **{stream: kept})  # type: ignore[arg-type]


def test_somebody_who_holds_the_pipe_open_holds_nothing_up(token: str) -> None:
    script = f"setsid sh -c 'sleep 20; : ' {token} & sleep 0.2; echo done"
    began = time.monotonic()
    assert run(ProcessGroup(), shell(script)) == Ended(exit_code=0, stdout=whole(b"done\n"))
    assert time.monotonic() - began < 5.0


def test_programs_know_only_what_is_listed_of_our_environment(
    any_containment: Containment, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GIT_DIR", "PYTHONPATH", "LD_LIBRARY_PATH", "SECRET_TOKEN"):
        monkeypatch.setenv(name, "ours")
    monkeypatch.setenv("TZ", "UTC")
    command = Command(argv=("env",), cwd=Path("/"), environment={"ADDED": "yes", "TERM": "dumb"})
    lines = run(any_containment, command).stdout.text().splitlines()
    found = dict(line.split("=", 1) for line in lines)
    # The reaper and bwrap may each add one.
    found = {name: value for name, value in found.items() if name not in {"DWINDLE_PROGRAM", "PWD"}}
    allowed = {n: os.environ[n] for n in ("PATH", "HOME", "LANG", "USER") if n in os.environ}
    allowed |= {n: os.environ[n] for n in ("LC_ALL", "TZ") if n in os.environ}
    assert found == {**allowed, "ADDED": "yes", "TERM": "dumb"}


# --- watching ------------------------------------------------------------------------------------


def test_a_watcher_sees_each_line_once(any_containment: Containment) -> None:
    seen: list[bytes] = []
    ended = run(any_containment, shell("printf 'a\\n\\nb'; echo no >&2; printf c"), seen.append)
    assert (seen, ended.error) == ([b"a", b"", b"bc"], "")


def test_a_watcher_sees_lines_as_they_come() -> None:
    at: list[float] = []

    def watch(line: bytes) -> None:
        del line
        at.append(time.monotonic())

    run(ProcessGroup(), shell("echo a; sleep 0.5; echo b"), watch)
    assert at[1] - at[0] > 0.4


def test_a_word_about_the_last_line_counts_too(any_containment: Containment) -> None:
    ended = run(any_containment, shell("printf half"), lambda line: f"{line.decode()} a line")
    assert ended == Ended(exit_code=0, error="half a line", stdout=whole(b"half"))


def test_a_watcher_who_fails_is_heard_after_the_program_is_gone(token: str) -> None:
    def watch(line: bytes) -> None:
        raise LookupError(line)

    with pytest.raises(LookupError):
        run(ProcessGroup(), shell(f"echo up; sleep 20; : {token}"), watch)
    assert survivors_after(token, 1.0) == []


def test_what_comes_after_the_word_is_kept_and_not_shown(tmp_path: Path) -> None:
    seen: list[bytes] = []

    def watch(line: bytes) -> str:
        seen.append(line)
        return "enough"

    log = tmp_path / "session.log"
    loop = "while :; do sleep 0.01; done"  # the shell may say that its sleep was ended
    script = f"exec 2>/dev/null; trap 'echo bye; exit 0' TERM; echo up; {loop}"
    ended = run(ProcessGroup(), shell(script, log=log), watch)
    assert ended == Ended(exit_code=0, error="enough", stdout=whole(b"up\nbye\n"))
    assert (seen, log.read_text()) == ([b"up"], "up\nbye\n")


# --- the log -------------------------------------------------------------------------------------


def test_the_log_has_both_streams_in_order(any_containment: Containment, tmp_path: Path) -> None:
    log = tmp_path / "session.log"
    script = "echo one; sleep 0.1; echo two >&2; sleep 0.1; echo three"
    run(any_containment, shell(script, log=log))
    assert log.read_text() == "one\ntwo\nthree\n"


def test_a_program_that_says_nothing_leaves_no_log(
    any_containment: Containment, tmp_path: Path
) -> None:
    ended = run(any_containment, shell("true", log=tmp_path / "session.log"))
    assert (ended.is_clean, list(tmp_path.iterdir())) == (True, [])


def test_more_than_a_pipe_holds_is_read_from_the_first_moment_on(tmp_path: Path) -> None:
    log = tmp_path / "session.log"
    size = 1_000_000
    ended = run(ProcessGroup(), shell(f"yes | head -c {size}", log=log, output_bytes=4 * size))
    assert (ended.exit_code, ended.stdout.size, log.stat().st_size) == (0, size, size)


def test_the_log_can_be_followed(tmp_path: Path) -> None:
    """Its head at once; what comes after that within a second."""
    log = tmp_path / "session.log"
    script = "echo 0123456789; sleep 0.2; echo abcdefghij; echo klmnopqrst; sleep 1; echo end"

    async def story() -> list[str]:
        session = asyncio.ensure_future(ProcessGroup().run(shell(script, log=log, output_bytes=20)))
        seen = []
        for wait in (0.1, 0.9):
            await asyncio.sleep(wait)
            seen.append(log.read_text())
        await session
        return [*seen, log.read_text()]

    assert asyncio.run(story()) == [
        "0123456789",
        "0123456789\n[... 13 bytes left out ...]\nlmnopqrst\n",
        "0123456789\n[... 17 bytes left out ...]\npqrst\nend\n",
    ]


def test_a_full_disk_ends_the_log_and_not_the_session() -> None:
    ended = run(ProcessGroup(), shell("echo one; sleep 0.1; echo two", log=Path("/dev/full")))
    assert ended == Ended(exit_code=0, stdout=whole(b"one\ntwo\n"))
