"""Containment by `unshare`, where bubblewrap is missing: no process gets away, files stay writable.

The chain is: setpriv (asks the kernel to kill it when we die, and becomes) unshare (makes the
namespaces, asks the same for its child) -> a shell (forbids user namespaces inside of this one, and
becomes) setpriv (gives up all privileges for good, and becomes) the shell that is process 1 -> the
program. Without the first link everything would outlive a killed runner; without the third a
program could make itself another user namespace, in which it had every capability again.

The user namespace, for root too, takes away what could undo the PID namespace: with capabilities
one could unmount the new /proc and enter the namespaces of processes found in the old one.
"""

from __future__ import annotations

from dwindle.adapters.process.environment import environment, missing_program
from dwindle.adapters.process.program import Watch
from dwindle.adapters.sandbox.limits import run_limited
from dwindle.adapters.sandbox.pid_namespace import PROCESS_1, PidNamespace
from dwindle.ports.process import Command, Ended, Strength

NO_MORE_NAMESPACES = (
    *("/bin/sh", "-c"),
    'echo 0 2>/dev/null >/proc/sys/user/max_user_namespaces; exec "$@"',
    "sh",
)
"""The shell in the chain; what it writes holds for its own user namespace only."""


class Unshare:
    """PID and user namespaces; files not restricted."""

    strength = Strength.STRONG
    mechanism = "unshare (files not restricted)"

    def __init__(self, *, program: str, setpriv: str, mark: str = "") -> None:
        self._program = program
        self._setpriv = setpriv
        self._mark = mark

    def argv(self, command: Command) -> list[str]:
        return [
            *(self._setpriv, "--pdeathsig", "KILL"),
            *(self._program, "--user", "--map-current-user", "--pid", "--ipc", "--mount-proc"),
            *(() if command.network else ("--net",)),
            *("--fork", "--kill-child=KILL", "--keep-caps"),
            *NO_MORE_NAMESPACES,
            *(self._setpriv, "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"),
            "--ambient-caps=-all",
            *PROCESS_1,
            *command.argv,
        ]

    def environment(self, command: Command) -> dict[str, str]:
        return environment(command.environment, self._mark)

    async def run(self, command: Command, watch: Watch | None = None) -> Ended:
        variables = self.environment(command)
        if problem := missing_program(command, variables):
            return Ended(error=problem)
        return await run_limited(command, watch, PidNamespace(self.argv(command), variables))
