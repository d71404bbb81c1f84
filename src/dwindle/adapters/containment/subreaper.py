"""Containment without namespaces: a warden for each program, which adopts orphans and hunts them.

Weak, and said so: a program may fork faster than it is hunted, or kill its warden, which runs as
the same user. In that case what carries the session's mark is still looked for, once.
"""

from __future__ import annotations

import os
import secrets
import signal
import sys
from pathlib import Path

from dwindle.adapters.containment.bare import NO_NETWORK_RULE
from dwindle.adapters.containment.environment import environment
from dwindle.adapters.containment.proc import signal_pid, sweep
from dwindle.adapters.containment.program import GRACE_SECONDS, Watch, run_program
from dwindle.adapters.containment.tether import Fate, Launch, plain_fate
from dwindle.ports.process import Captured, Command, Ended, Strength

WARDEN = Path(__file__).with_name("warden.py")
WARD = "DWINDLE_WARD"
STATUS_BYTES = 1 << 12


class Subreaper:
    """A subreaper that stops and kills; files not restricted."""

    strength = Strength.WEAK
    mechanism = "subreaper (files not restricted)"

    def __init__(self, *, mark: str = "") -> None:
        self._mark = mark

    def describe(self) -> str:
        return (
            "weakly contained by a subreaper: processes are hunted down when their session or the "
            "runner ends, but one that forks fast enough may escape; files are NOT restricted"
        )

    async def run(self, command: Command, watch: Watch | None = None) -> Ended:
        if not command.network:
            return Ended(error=NO_NETWORK_RULE)
        return await run_program(command, watch, _Warden(command, self._mark))


class _Warden:
    def __init__(self, command: Command, mark: str) -> None:
        self._command = command
        self._ward = secrets.token_hex(8)
        self._variables = {**environment(command.environment, mark), WARD: self._ward}
        self._pid: int | None = None
        self._status = self._theirs = -1

    def launch(self) -> Launch:
        self._status, self._theirs = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        told = (str(os.getpid()), str(self._theirs), str(GRACE_SECONDS))
        return Launch(
            argv=[sys.executable, "-I", "-S", str(WARDEN), *told, *self._command.argv],
            environment=self._variables,
            inherited=(self._theirs,),
        )

    def attach(self, pid: int) -> None:
        self._pid = pid

    def ask(self) -> None:
        if self._pid is not None:
            signal_pid(self._pid, signal.SIGTERM)

    def kill(self) -> None:
        if self._pid is not None:
            signal_pid(self._pid, signal.SIGCONT)
            signal_pid(self._pid, signal.SIGUSR1)

    def last(self) -> int | None:
        sweep(self._ward, name=WARD, seconds=0.5)
        return None

    def fate(self, returncode: int, stderr: Captured, *, began: bool) -> Fate:
        del stderr, began
        try:
            said = os.read(self._status, STATUS_BYTES)
        except BlockingIOError:
            said = b""
        return Fate(error=said.decode("utf-8", "replace")) if said else plain_fate(returncode)

    def close(self) -> None:
        for fd in (self._status, self._theirs):
            if fd >= 0:
                os.close(fd)
