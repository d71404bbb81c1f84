"""A PID namespace around one program, and the gate in front of it.

Ending one is simple: kill its first process, and the kernel kills and reaps all others. The first
process is a child of the starter (bwrap, unshare), and sees itself as number 1. Its end is the
proof that no process is left, because the kernel lets it end only after all others in there, and
the starter waits for it. A pidfd makes sure that we never kill a stranger who got its number.

Beginning one is where it could go wrong. Each link of the chain asks the kernel to be killed with
the one above, and none of them looks whether that one is still alive when it asks. Killing a
runner in the first milliseconds left the program running in 78 of 120 tries. So process 1 is a
shell that starts the program only when told to:

1. it prints an empty line; by then every link has been tied to the one above;
2. it reads a line, which we send when we have seen the empty one. If we are dead it reads the end
   of its input instead, and leaves;
3. it runs the program with the rest of the input, and ends as the program did.

If we die after we have sent the line, the chain holds. The shell is needed anyway: process 1 gets
no signal that it did not ask for, so a program in its place could not be asked to end and could
not even abort.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress

from dwindle.adapters.process.attachment import Launch, ProgramExit, relayed_exit
from dwindle.adapters.process.proc import (
    children,
    open_pidfd,
    signal_group,
    signal_pid,
    signal_pidfd,
)
from dwindle.ports.process import Captured

PROCESS_1 = ("/bin/sh", "-c", 'echo; read -r go || exit 125; (exec "$@"); exit $?', "sh")

NOT_STARTED = (126, 127)
"""What a shell returns if it cannot start a program; it also says why."""


class PidNamespace:
    """Attached by the PID namespace that `argv` makes."""

    def __init__(
        self, argv: Sequence[str], variables: Mapping[str, str], inherited: tuple[int, ...] = ()
    ) -> None:
        """The inherited descriptors are closed in the end."""
        self._argv = argv
        self._variables = variables
        self._inherited = inherited
        self._starter: int | None = None
        self._first: int | None = None

    def launch(self) -> Launch:
        return Launch(
            argv=self._argv,
            environment=self._variables,
            inherited=self._inherited,
            gated=True,
        )

    def attach(self, pid: int) -> None:
        self._starter = pid

    def terminate(self) -> None:
        # The program shares its group with process 1, which does not get this signal, and under
        # unshare also with the starter, which blocks it.
        for first in self._find():
            with suppress(ProcessLookupError):
                signal_group(os.getpgid(first), signal.SIGTERM)

    def kill(self) -> None:
        if self._starter is None:
            return
        # Held still, the starter cannot fork behind our back.
        signal_pid(self._starter, signal.SIGSTOP)
        with suppress(ChildProcessError):
            os.waitid(os.P_PID, self._starter, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        self._find()
        if self._first is not None:
            signal_pidfd(self._first, signal.SIGKILL)
        signal_pid(self._starter, signal.SIGKILL)

    def _find(self) -> tuple[int, ...]:
        """Process 1, if there is one; from now on it is waited for."""
        found = () if self._starter is None else children(self._starter)
        for first in found:
            if self._first is None:
                self._first = open_pidfd(first)
        return found

    def last_process(self) -> int | None:
        # Where the starter ended by itself, it has waited for process 1.
        return self._first

    def program_exit(self, returncode: int, stderr: Captured, *, began: bool) -> ProgramExit:
        if returncode > 0 and not began:
            return ProgramExit(
                error=stderr.text().strip() or f"the sandbox failed with {returncode}"
            )
        if returncode in NOT_STARTED and stderr.head.startswith(b"sh: "):
            return ProgramExit(error=stderr.text().strip())
        return relayed_exit(returncode)

    def close(self) -> None:
        for fd in self._inherited:
            os.close(fd)
        if self._first is not None:
            os.close(self._first)
            self._first = None
