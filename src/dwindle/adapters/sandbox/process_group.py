"""No containment, for users who asked for none.

The program is started as it is. At its end its process group is killed, which reaches plain
children and no process that left the group; after a kill -9 of the runner all of them live on.
"""

from __future__ import annotations

import signal

from dwindle.adapters.process.attachment import Launch, ProgramExit, direct_exit
from dwindle.adapters.process.environment import environment
from dwindle.adapters.process.proc import signal_group
from dwindle.adapters.process.program import Watch
from dwindle.adapters.sandbox.limits import run_limited
from dwindle.ports.process import Captured, Command, Ended, Strength

NO_NETWORK_RULE = "the network cannot be taken away under this containment"


class ProcessGroup:
    """Kills the process group at the end; restricts nothing."""

    strength = Strength.WEAK
    mechanism = "none (process group only; files not restricted)"

    def __init__(self, *, mark: str = "") -> None:
        self._mark = mark

    async def run(self, command: Command, watch: Watch | None = None) -> Ended:
        if not command.network:
            return Ended(error=NO_NETWORK_RULE)
        return await run_limited(command, watch, _GroupAttachment(command, self._mark))


class _GroupAttachment:
    def __init__(self, command: Command, mark: str) -> None:
        self._command = command
        self._mark = mark
        self._pid: int | None = None

    def launch(self) -> Launch:
        return Launch(
            argv=self._command.argv,
            environment=environment(self._command.environment, self._mark),
        )

    def attach(self, pid: int) -> None:
        self._pid = pid

    def terminate(self) -> None:
        if self._pid is not None:
            signal_group(self._pid, signal.SIGTERM)

    def kill(self) -> None:
        if self._pid is not None:
            signal_group(self._pid, signal.SIGKILL)

    def last_process(self) -> int | None:
        self.kill()  # what stayed in the group
        return None

    def program_exit(self, returncode: int, stderr: Captured, *, began: bool) -> ProgramExit:
        del stderr, began
        return direct_exit(returncode)

    def close(self) -> None:
        self._pid = None
