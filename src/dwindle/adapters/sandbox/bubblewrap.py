"""Containment by bubblewrap: no process gets away, and files are read-only unless named writable.

bwrap makes namespaces for users, processes and IPC. `--die-with-parent` ties each process to the
one above: if we are killed, bwrap is, then process 1, then all others. The user namespace is there
for root as well: only inside of one are capabilities worthless outside, and root with its
capabilities could mount everything writable again. Further user namespaces are forbidden, because
in one of those a program would have all capabilities again. No namespace is around the kernel's
keyrings: see `seccomp.py`.
"""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path

from dwindle.adapters.process.environment import environment, missing_program
from dwindle.adapters.process.program import Watch
from dwindle.adapters.sandbox.limits import run_limited
from dwindle.adapters.sandbox.mounts import MissingFolder, mounts, toolchains
from dwindle.adapters.sandbox.pid_namespace import PROCESS_1, PidNamespace
from dwindle.adapters.sandbox.seccomp import filter_file
from dwindle.ports.process import Command, Ended, Strength

TMP_BYTES = 4 << 30
"""The most that /tmp, and HOME, may hold: it is memory."""


class Bubblewrap:
    """PID, IPC and user namespaces; files restricted."""

    strength = Strength.STRONG
    mechanism = "bubblewrap"

    def __init__(self, *, program: str, mark: str = "", home: Path | None = None) -> None:
        self._program = program
        self._mark = mark
        self._home = home
        if home is None and (named := os.environ.get("HOME")):
            self._home = Path(named)
        self._tools = toolchains(self._home, os.environ.get("PATH", os.defpath))

    def argv(self, command: Command) -> list[str]:
        """The whole command line. Raises MissingFolder."""
        can = _options(self._program)
        return [
            self._program,
            *("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-cgroup-try"),
            *(() if command.network else ("--unshare-net",)),
            *("--die-with-parent", "--new-session", "--cap-drop", "ALL"),
            *(("--disable-userns",) if "--disable-userns" in can else ()),
            *mounts(
                command,
                home=self._home,
                tools=self._tools,
                size=("--size", str(TMP_BYTES)) if "--size" in can else (),
            ),
            *("--as-pid-1", "--"),
            *PROCESS_1,
            *command.argv,
        ]

    def environment(self, command: Command) -> dict[str, str]:
        return environment(command.environment, self._mark)

    async def run(self, command: Command, watch: Watch | None = None) -> Ended:
        try:
            argv = self.argv(command)
        except (MissingFolder, OSError, ValueError) as problem:
            return Ended(error=str(problem))
        variables = self.environment(command)
        if missing := missing_program(command, variables):
            return Ended(error=missing)
        try:
            keyless = filter_file(traces=command.traces)
        except OSError as problem:
            return Ended(error=str(problem.strerror))
        if keyless is None:
            return await run_limited(command, watch, PidNamespace(argv, variables))
        argv[1:1] = ("--seccomp", str(keyless))
        return await run_limited(command, watch, PidNamespace(argv, variables, (keyless,)))


@cache
def _options(program: str) -> frozenset[str]:
    return frozenset(_output(program, "--help").replace(",", " ").split())


def _output(*argv: str) -> str:
    try:
        done = subprocess.run(argv, capture_output=True, timeout=5, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return (done.stdout + done.stderr).decode("utf-8", "replace")
