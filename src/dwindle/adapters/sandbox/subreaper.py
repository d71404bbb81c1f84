"""Containment without namespaces: each program gets a reaper, which adopts orphans and kills them.

Weak, and said so: a program may fork faster than the reaper kills, or kill its reaper, which
runs as the same user. Then processes that carry the mark of this program are killed once more.
"""

from __future__ import annotations

import os
import secrets
import signal
import sys
from pathlib import Path

from dwindle.adapters.process.attachment import Launch, ProgramExit, direct_exit
from dwindle.adapters.process.environment import environment
from dwindle.adapters.process.proc import signal_pid, sweep
from dwindle.adapters.process.program import GRACE_SECONDS, Watch
from dwindle.adapters.sandbox.limits import run_limited
from dwindle.adapters.sandbox.process_group import NO_NETWORK_RULE
from dwindle.ports.process import Captured, Command, Ended, Strength

REAPER = Path(__file__).with_name("subreaper_program.py")
PROGRAM_MARK = "DWINDLE_PROGRAM"
STATUS_BYTES = 1 << 12


class Subreaper:
    """A subreaper that stops and kills; files not restricted."""

    strength = Strength.WEAK
    mechanism = "subreaper (files not restricted)"

    def __init__(self, *, mark: str = "") -> None:
        self._mark = mark

    async def run(self, command: Command, watch: Watch | None = None) -> Ended:
        if not command.network:
            return Ended(error=NO_NETWORK_RULE)
        return await run_limited(command, watch, _ReaperAttachment(command, self._mark))


class _ReaperAttachment:
    def __init__(self, command: Command, mark: str) -> None:
        self._command = command
        self._program_mark = secrets.token_hex(8)
        self._variables = {
            **environment(command.environment, mark),
            PROGRAM_MARK: self._program_mark,
        }
        self._pid: int | None = None
        self._status = self._theirs = -1

    def launch(self) -> Launch:
        self._status, self._theirs = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        told = (str(os.getpid()), str(self._theirs), str(GRACE_SECONDS))
        return Launch(
            argv=[sys.executable, "-I", "-S", str(REAPER), *told, *self._command.argv],
            environment=self._variables,
            inherited=(self._theirs,),
        )

    def attach(self, pid: int) -> None:
        self._pid = pid

    def terminate(self) -> None:
        if self._pid is not None:
            signal_pid(self._pid, signal.SIGTERM)

    def kill(self) -> None:
        if self._pid is not None:
            signal_pid(self._pid, signal.SIGCONT)
            signal_pid(self._pid, signal.SIGUSR1)

    def last_process(self) -> int | None:
        sweep(self._program_mark, name=PROGRAM_MARK, seconds=0.5)
        return None

    def program_exit(self, returncode: int, stderr: Captured, *, began: bool) -> ProgramExit:
        del stderr, began
        try:
            said = os.read(self._status, STATUS_BYTES)
        except BlockingIOError:
            said = b""
        return (
            ProgramExit(error=said.decode("utf-8", "replace")) if said else direct_exit(returncode)
        )

    def close(self) -> None:
        for fd in (self._status, self._theirs):
            if fd >= 0:
                os.close(fd)
