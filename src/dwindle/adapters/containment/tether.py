"""What ties one running program to us; each kind of containment has its own.

`program.py` starts, feeds, reads and reaps any program in the same way. How a program is started
so that it cannot get away, and how everything that came of it is ended, is asked of a tether.
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
    tied: bool = True
    """Whether the kernel ends it with the thread that started it."""
    gated: bool = False
    """Whether process 1 waits for our word before it starts the program; see `namespace.py`."""
    opening: Callable[[], None] | None = None
    """Called while it waits, if it is gated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """How the program itself ended, which only the tether can tell from how its starter did."""

    exit_code: int | None = None
    signal: int | None = None
    error: str = ""
    limit: Limit | None = None


class Tether(Protocol):
    """Made for one program; `launch` comes first, then `attach` if it could be started."""

    def launch(self) -> Launch: ...

    def attach(self, pid: int) -> None:
        """The starter runs as `pid`; it is our child and is reaped by nobody else."""
        ...

    def ask(self) -> None:
        """Ask the program to end; only after it began."""
        ...

    def kill(self) -> None:
        """End everything that came of it, at once."""
        ...

    def last(self) -> int | None:
        """Asked when the starter is gone: the pidfd of what must be gone too, if anything."""
        ...

    def fate(self, returncode: int, stderr: Captured, *, began: bool) -> Fate:
        """Read how the starter ended; `began` says whether a gate was passed, if there was one."""
        ...

    def close(self) -> None:
        """Let go of descriptors. Always called, once, whatever happened before."""
        ...


def plain_fate(returncode: int) -> Fate:
    """Of a program that was started directly."""
    if returncode < 0:
        return Fate(signal=-returncode)
    return Fate(exit_code=returncode)


HIGHEST_SIGNAL = 64


def relayed_fate(returncode: int) -> Fate:
    """Of a program whose death by a signal reaches us as 128 + its number, as shells do it.

    A program that itself returns such a number says, by the same custom, that a signal ended what
    it ran; so it is read as one.
    """
    if 128 < returncode <= 128 + HIGHEST_SIGNAL:
        return Fate(signal=returncode - 128)
    return plain_fate(returncode)
