"""Starting programs in a process that does nothing else.

Whoever starts a program is held until the new process has let go of the memory that it shares with
its starter; then come its pipes, its end, and what it said. For a program that is over at once, all
this takes longer than the program, and meanwhile nobody decides what comes next. So a loop that
starts many has them started by `nurse.py`, in a process of its own: it hears of a short program
when that is over, by one packet, and is given the descriptors of a longer one.

Only for programs that are not tied to who starts them. The process ends with us, however we end,
and whatever it started ends with it. Where there is none, because too few programs were started for
it to pay or because it ended, programs are started as ever: see `program.py`.
"""

from __future__ import annotations

import asyncio
import marshal
import os
import signal
import socket
import subprocess
import sys
from array import array
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, Protocol
from weakref import WeakKeyDictionary, finalize

from dwindle.adapters.containment.environment import environment
from dwindle.adapters.containment.nurse import LARGEST, PACKET, Wanted

MANY = 16
"""So many programs have to be started before the process is."""

PIPES = 2
SPACE = socket.CMSG_SPACE(PIPES * array("i").itemsize)
"""For the pipes of a program that are handed over."""

BUSY_SECONDS = 0.001
"""Until one tries again to tell it something."""

SECONDS = 1.0
"""In which the process has ended when it should."""

SCRIPT = Path(__file__).with_name("nurse.py")

Limits = tuple[tuple[int, int], ...]
"""Of a process, and how much each of them allows."""


class Patient(Protocol):
    """Somebody whose program is in the nursery."""

    def on_said(self, stdout: bytes, stderr: bytes) -> None:
        """It has ended, and had more to say than goes into a packet."""
        ...

    def on_ended(self, code: int, stdout: bytes, stderr: bytes) -> None:
        """With the rest of what it said, but for what is in pipes that were handed over."""
        ...

    def on_handed_over(self, pid: int, pipes: tuple[int, ...]) -> None:
        """The pipes of stdout and stderr are the patient's own now; none if we have no room."""
        ...

    def on_refused(self) -> None:
        """It was not started."""
        ...

    def on_lost(self) -> None:
        """Nothing more is heard of it."""
        ...


class Nursery:
    _of: ClassVar[WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Limits, Nursery]]] = (
        WeakKeyDictionary()
    )

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._asked = 0
        self._channel: socket.socket | None = None
        self._is_ready = False
        self._last = 0
        self._patients: dict[int, Patient] = {}
        self._packet = bytearray()

    @classmethod
    def of(cls, loop: asyncio.AbstractEventLoop, limits: Limits) -> Nursery | None:
        """The one for what a loop starts with these limits; it goes with the loop."""
        if (those := cls._of.get(loop)) is None:
            those = cls._of[loop] = {}
        if (found := those.get(limits)) is None:
            found = those[limits] = cls(limits)
        if found._is_ready:
            return found
        found._asked += 1
        if found._asked == MANY:
            with suppress(OSError):  # there is no room for another process, and no need
                found._open(loop)
        return None

    def _open(self, loop: asyncio.AbstractEventLoop) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            limits = [f"{kind}={most}" for kind, most in self._limits]
            kept = {"LD_LIBRARY_PATH": path} if (path := os.environ.get("LD_LIBRARY_PATH")) else {}
            try:
                process = subprocess.Popen(
                    [sys.executable, "-I", "-S", str(SCRIPT), str(theirs.fileno()), *limits],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd="/",
                    env=environment(kept),
                    pass_fds=(theirs.fileno(),),
                    start_new_session=True,
                )
            except BaseException:
                ours.close()
                raise
        ours.settimeout(0)
        self._packet = bytearray(PACKET)
        self._channel = ours
        finalize(self, _farewell, ours, process)
        loop.add_reader(ours.fileno(), self._listen)

    # --- what is asked for -----------------------------------------------------------------------

    def start(self, patient: Patient, wanted: Wanted) -> int | None:
        """The number by which it is known; None if it is not for this process to start it."""
        number = self._last + 1
        # Python's own ways to start a program tell who audits; so does this one.
        sys.audit("os.posix_spawn", *wanted[:3])
        if not self._tell(number, wanted):
            return None
        # Nothing is heard of it before the loop goes on.
        self._last = number
        self._patients[number] = patient
        return number

    def signal(self, number: int, what: int) -> None:
        """Have it sent to the group of a program, if that lives."""
        if number in self._patients and not self._tell(number, int(what)):
            asyncio.get_running_loop().call_later(BUSY_SECONDS, self.signal, number, what)

    def forget(self, number: int) -> None:
        """Nobody is interested in it any more: it has to go, whenever the nurse hears of that."""
        if number in self._patients:
            self._patients[number] = _Forgotten()
            self.signal(number, signal.SIGKILL)

    def _tell(self, number: int, what: Wanted | int) -> bool:
        try:
            packet = marshal.dumps((number, what))
            if self._channel is None or len(packet) > LARGEST:
                return False
            self._channel.send(packet)
        except (OSError, ValueError):  # it is too busy, or gone; or no plain words were given
            return False
        return True

    # --- what is heard ---------------------------------------------------------------------------

    def _listen(self) -> None:
        while (channel := self._channel) is not None:
            try:
                size, passed, _, _ = channel.recvmsg_into(
                    [self._packet], SPACE, socket.MSG_CMSG_CLOEXEC
                )
            except (BlockingIOError, InterruptedError):
                return
            except OSError:
                size, passed = 0, []
            if not size:
                self._is_lost(channel)
                return
            pipes = array("i", passed[0][2]) if passed else ()
            words = marshal.loads(self._packet)  # noqa: S302 - it comes from ourselves
            self._heard(words, pipes)

    def _heard(self, words: tuple[Any, ...], passed: Sequence[int]) -> None:
        if not words:
            self._is_ready = True
            return
        number, *rest = words
        patient = self._patients[number]
        if len(rest) == 1:
            patient.on_handed_over(rest[0], _both(passed))
        elif rest and rest[0] is None:
            patient.on_said(*rest[1:])
        else:
            del self._patients[number]
            if rest:
                patient.on_ended(*rest)
            else:
                patient.on_refused()

    def _is_lost(self, channel: socket.socket) -> None:
        """It has ended before us; there will be no other."""
        asyncio.get_running_loop().remove_reader(channel.fileno())
        self._channel = None
        self._is_ready = False
        patients, self._patients = self._patients, {}
        for patient in patients.values():
            patient.on_lost()


def _both(pipes: Sequence[int]) -> tuple[int, ...]:
    """Or none: one alone is of no use."""
    if len(pipes) == PIPES:
        return tuple(pipes)
    for pipe in pipes:
        os.close(pipe)
    return ()


class _Forgotten:
    """A patient whom nobody asks for."""

    def on_said(self, stdout: bytes, stderr: bytes) -> None: ...
    def on_ended(self, code: int, stdout: bytes, stderr: bytes) -> None: ...
    def on_refused(self) -> None: ...
    def on_lost(self) -> None: ...

    def on_handed_over(self, pid: int, pipes: tuple[int, ...]) -> None:
        del pid
        for pipe in pipes:
            os.close(pipe)


def _farewell(channel: socket.socket, process: subprocess.Popen[bytes]) -> None:
    """It ends when the channel does."""
    channel.close()
    try:
        process.wait(SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
