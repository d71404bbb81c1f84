"""What a run has cost, read off its journal in a hurry: `status` is asked at every turn.

Decoding each event takes about three times as long as picking the few fields out of its line that
are about money and time, and the classes of the events would have to be imported first. So the
lines are skimmed here, and nobody looks at their seals: `log`, `replay` and `run` do that.

A journal grows with its run. One that is too large for a hurry is not read at all: the plan file
has the sum, and `log --spending` takes the time for the rest.
"""

from __future__ import annotations

import os
from typing import Final

import msgspec

from dwindle.surfaces.spending import Account, Spending

MOST: Final = 2 * 1024 * 1024
"""Bytes that are skimmed, in some 25 ms: the journal of about two thousand sessions."""


class _Usage(msgspec.Struct, frozen=True):
    tokens: int = 0
    usd: float = 0.0
    read: int = 0
    cached: int = 0
    written: int = 0
    estimated: bool = False


_NO_USAGE: Final = _Usage()


class _Event(msgspec.Struct, frozen=True):
    kind: str
    elapsed: float = 0.0
    atom: str | None = ""
    role: str = ""
    nonce: int | None = None
    usage: _Usage = _NO_USAGE
    judging: _Usage = _NO_USAGE


class _Line(msgspec.Struct, frozen=True):
    n: int
    event: _Event | None = None


def spent_beside(plan: str, run: str) -> Spending | None:
    """The same for the run of a plan file, whose journal is beside it."""
    folder = os.path.dirname(os.path.dirname(os.path.abspath(plan)))  # noqa: PTH100, PTH120
    return spent_on_record(os.path.join(folder, ".runner", "journal"), run)  # noqa: PTH118


def spent_on_record(journals: str, run: str, most: int = MOST) -> Spending | None:
    """What the journal of a run says was spent; None where it cannot say, or not soon enough."""
    if not run.replace("_", "").replace("-", "").isalnum():
        return None
    try:
        with open(os.path.join(journals, f"{run}.jsonl"), "rb") as file:  # noqa: PTH118, PTH123
            content = file.read() if os.fstat(file.fileno()).st_size <= most else None
    except OSError:
        return None
    return None if content is None else _skimmed(content)


def _skimmed(content: bytes) -> Spending | None:
    read = msgspec.json.Decoder(_Line).decode
    account: Account | None = None
    # What follows the last end of a line is one that is just being written, or never was.
    for text in content.split(b"\n")[:-1]:
        try:
            line = read(text)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None  # damaged, which is for others to say
        if line.event is not None:
            if account is None:
                account = Account(first=line.n)
            account.add(line.event.kind, line.event)
    return None if account is None else account.spending()
