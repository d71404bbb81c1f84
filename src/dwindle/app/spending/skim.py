"""What a run has cost, read quickly from its journal, because `status` is called at every turn.

Decoding an event takes about three times as long as picking the few fields about money and time
from its line, and needs the event classes imported. So lines are skimmed here without checking
their seals; `log`, `replay` and `run` check them.

A journal that is too large to read quickly is not read at all: the plan file has the sum, and
`log --spending` has the rest.
"""

from __future__ import annotations

import os
from typing import Final

import msgspec

from dwindle.app.spending.account import Account, RunSpending

MOST: Final = 2 * 1024 * 1024
"""Bytes that are skimmed, in some 25 ms: the journal of about two thousand sessions."""


class _SkimmedUsage(msgspec.Struct, frozen=True):
    tokens: int = 0
    usd: float = 0.0
    read: int = 0
    cached: int = 0
    written: int = 0
    estimated: bool = False


_NO_USAGE: Final = _SkimmedUsage()


class _SkimmedEvent(msgspec.Struct, frozen=True):
    kind: str
    elapsed: float = 0.0
    atom: str | None = ""
    role: str = ""
    agent: str = ""
    judge: str = ""
    nonce: int | None = None
    usage: _SkimmedUsage = _NO_USAGE
    judging: _SkimmedUsage = _NO_USAGE


class _SkimmedLine(msgspec.Struct, frozen=True):
    n: int
    event: _SkimmedEvent | None = None


def spending_beside(plan: str, run: str) -> RunSpending | None:
    """The spending of the run of a plan file, whose journal is beside it."""
    folder = os.path.dirname(os.path.dirname(os.path.abspath(plan)))  # noqa: PTH100, PTH120
    return spending_on_record(os.path.join(folder, ".runner", "journal"), run)  # noqa: PTH118


def spending_on_record(journals: str, run: str, most: int = MOST) -> RunSpending | None:
    """The spending of a run; None if its journal is missing, damaged or too large."""
    if not run.replace("_", "").replace("-", "").isalnum():
        return None
    try:
        with open(os.path.join(journals, f"{run}.jsonl"), "rb") as file:  # noqa: PTH118, PTH123
            content = file.read() if os.fstat(file.fileno()).st_size <= most else None
    except OSError:
        return None
    return None if content is None else _sum_up(content)


def _sum_up(content: bytes) -> RunSpending | None:
    read = msgspec.json.Decoder(_SkimmedLine).decode
    account: Account | None = None
    # After the last newline there may be a line that is still being written.
    for text in content.split(b"\n")[:-1]:
        try:
            line = read(text)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None  # damaged; other commands report it
        if line.event is not None:
            if account is None:
                account = Account(first=line.n)
            account.add(line.event.kind, line.event)
    return None if account is None else account.spending()
