"""No containment: what a person gets who asked for none.

The program is started as it is. At its end its process group is killed, which reaches plain
children and nobody who left the group; after a kill -9 of the runner everything lives on.
"""

from __future__ import annotations

import signal

from dwindle.adapters.containment.environment import environment
from dwindle.adapters.containment.proc import signal_group
from dwindle.adapters.containment.program import Watch, run_program
from dwindle.adapters.containment.tether import Fate, Launch, plain_fate
from dwindle.ports.process import Captured, Command, Ended, Strength

NO_NETWORK_RULE = "the network cannot be taken away under this containment"


class Bare:
    """Process group only."""

    strength = Strength.WEAK
    mechanism = "none (process group only; files not restricted)"

    def __init__(self, *, mark: str = "") -> None:
        self._mark = mark
        self._ours: dict[str, str] | None = None
        """What every program gets to know; as it was when the first was started."""

    def describe(self) -> str:
        return (
            "NOT CONTAINED: a program that leaves its process group outlives its session and the "
            "runner, and any file can be read and written"
        )

    async def run(self, command: Command, watch: Watch | None = None) -> Ended:
        if not command.network:
            return Ended(error=NO_NETWORK_RULE)
        if self._ours is None:
            self._ours = environment({}, self._mark)
        return await run_program(command, watch, _Group(command, self._ours))


class _Group:
    def __init__(self, command: Command, ours: dict[str, str]) -> None:
        self._command = command
        self._ours = ours
        self._pid: int | None = None

    def launch(self) -> Launch:
        return Launch(
            argv=self._command.argv,
            environment={**self._ours, **self._command.environment},
            tied=False,
        )

    def attach(self, pid: int) -> None:
        self._pid = pid

    def ask(self) -> None:
        if self._pid is not None:
            signal_group(self._pid, signal.SIGTERM)

    def kill(self) -> None:
        if self._pid is not None:
            signal_group(self._pid, signal.SIGKILL)

    def last(self) -> int | None:
        self.kill()  # whoever stayed in the group
        return None

    def fate(self, returncode: int, stderr: Captured, *, began: bool) -> Fate:
        del stderr, began
        return plain_fate(returncode)

    def close(self) -> None:
        self._pid = None
