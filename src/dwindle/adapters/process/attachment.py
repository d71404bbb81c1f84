"""How a program is started so that it cannot get away, and how all its processes are killed.

`program.py` starts, feeds, reads and reaps any program in the same way. Each containment mechanism
has its own attachment, which `program.py` asks for what differs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from dwindle.ports.process import Captured, Limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """The process that we start ourselves: the program, or what will start it."""

    argv: Sequence[str]
    environment: Mapping[str, str]
    inherited: tuple[int, ...] = ()
    """Descriptors that it needs besides the three."""
    gated: bool = False
    """Whether process 1 waits for our word before it starts the program; see `pid_namespace.py`."""
    before_start: Callable[[], None] | None = None
    """Called while it waits, if it is gated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramExit:
    """How the program itself ended, worked out from how its starter ended."""

    exit_code: int | None = None
    signal: int | None = None
    error: str = ""
    limit: Limit | None = None


class Attachment(Protocol):
    """Made for one program; `launch` comes first, then `attach` if it could be started."""

    def launch(self) -> Launch: ...

    def attach(self, pid: int) -> None:
        """The starter runs as `pid`; it is our child, and only we reap it."""
        ...

    def terminate(self) -> None:
        """Ask the program to end; only after it began."""
        ...

    def kill(self) -> None:
        """Kill the program and all its descendants at once."""
        ...

    def last_process(self) -> int | None:
        """When the starter is gone: the pidfd of the process that must go too, if there is one."""
        ...

    def program_exit(self, returncode: int, stderr: Captured, *, began: bool) -> ProgramExit:
        """Read how the starter ended; `began` says whether a gate was passed, if there was one."""
        ...

    def close(self) -> None:
        """Close descriptors. Always called, once."""
        ...


def direct_exit(returncode: int) -> ProgramExit:
    """Of a program that was started directly."""
    if returncode < 0:
        return ProgramExit(signal=-returncode)
    return ProgramExit(exit_code=returncode)


HIGHEST_SIGNAL = 64


def relayed_exit(returncode: int) -> ProgramExit:
    """Of a program whose death by a signal reaches us as 128 + its number, as shells do it.

    A program that itself returns such a number says, by the same custom, that a signal ended what
    it ran; so it is read as one.
    """
    if 128 < returncode <= 128 + HIGHEST_SIGNAL:
        return ProgramExit(signal=returncode - 128)
    return direct_exit(returncode)
