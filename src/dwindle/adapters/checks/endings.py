"""What the way a command ended says about the claim it was to check.

A command answers yes with 0 and no with another code. Some codes are no answer at all: the shell's
126 and 127 (found nothing to run), 128 and a signal's number (the program was killed, and the shell
or the sandbox passed it on), and, for tools whose manual says so, everything above 1. A command
that gave no answer has neither passed nor failed, whichever way round the check is.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass
from enum import Enum, auto

from dwindle.ports.process import Ended


class Reply(Enum):
    YES = auto()
    NO = auto()
    NONE = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    reply: Reply
    sentence: str


ONE_MEANS_NO = frozenset(
    ("[", "ack", "ag", "cmp", "diff", "egrep", "fgrep", "git", "grep", "rg", "test", "zgrep")
)
"""Programs that say no with 1 and use anything above it for trouble of their own."""


def ending(ended: Ended, *, seconds: float, program: str = "") -> Ending:
    """`program` is the one word that decides the exit code, where that is known."""
    if ended.error:
        return _none(f"could not be started: {ended.error}")
    if ended.timed_out:
        return _none(f"did not end within {seconds:g} s")
    if ended.signal is not None:
        return _none(f"was ended by {_signal_name(ended.signal)}")
    code = ended.exit_code
    if code is None:
        return _none("ended, nobody knows how")
    if code == 0:
        return Ending(reply=Reply.YES, sentence="exited with 0")
    if code == 127:
        return _none("exited with 127: a command or its interpreter was not found")
    if code == 126:
        return _none("exited with 126: a command was found but could not be executed")
    if code > 128 and (name := _signal_name(code - 128)).startswith("SIG"):
        return _none(f"exited with {code}: something in it was ended by {name}")
    if code > 1 and program in ONE_MEANS_NO:
        return _none(f"exited with {code}, by which {program} reports trouble of its own")
    return Ending(reply=Reply.NO, sentence=f"exited with {code}")


def _none(sentence: str) -> Ending:
    return Ending(reply=Reply.NONE, sentence=sentence)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
