"""Watching the plan file while a run holds it.

Other tools ask for things by setting flags in the file: that is part of its contract, and honoured.
A pause that was asked for like that has nobody at the other end; if nobody comes to redirect, the
run ends with the flag set.
Any other change behind the back of a running loop, of the text for people too, is tampering: what
was found is kept aside, the file is put back, and the run ends.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from dwindle.kernel.events import Event, RedirectRequested, StopRequested
from dwindle.kernel.model import Plan, StopCode
from dwindle.ports.process import Secret
from dwindle.ports.secrecy import told_bytes
from dwindle.runner.control import GONE, PATIENCE, Pause
from dwindle.runner.ledger import Ledger

EVERY = 0.5
"""Seconds between two looks."""

Read = Callable[[bytes], tuple[Plan | None, bytes]]
"""The plan in a file, if it is valid, and the text below it, which is for people."""


class FileWatch:
    """`read` decodes the file; `aside` is where a change that nobody asked for is kept.

    What is secret is not kept.
    """

    def __init__(  # noqa: PLR0913 - what it looks at, and how
        self,
        path: Path,
        ledger: Ledger,
        read: Read,
        aside: Path,
        *,
        pause: Pause | None = None,
        clock: Callable[[], float] = time.monotonic,
        secrets: Sequence[Secret] = (),
    ) -> None:
        self._path = path
        self._name = str(path)
        self._ledger = ledger
        self._read = read
        self._aside = aside
        self._pause = pause or Pause()
        self._clock = clock
        self._secrets = secrets
        self._paused_at: float | None = None
        self._seen: tuple[int, int, int] | None = None
        self._ours = b""
        """The file as we last found it untouched."""

    def look(self) -> tuple[Event, ...]:
        """What the file asks for since the last look; usually nothing, for the price of a stat."""
        return self._left_waiting() or self._asked()

    def _left_waiting(self) -> tuple[Event, ...]:
        """A pause that the file asked for ends the run when nobody comes."""
        if self._paused_at is None:
            return ()
        if not self._ledger.plan.control.redirect_requested or self._pause.holder is not None:
            self._paused_at = None
        elif self._clock() - self._paused_at >= PATIENCE:
            self._paused_at = None
            return (StopRequested(reason=GONE),)
        return ()

    def _asked(self) -> tuple[Event, ...]:
        try:
            found = os.stat(self._name)  # noqa: PTH116 - cheap, for every event
            stamp = (found.st_mtime_ns, found.st_ino, found.st_size)
            if stamp == self._seen:
                return ()
            content = self._path.read_bytes()
        except OSError:
            return self._tampered(b"", "the plan file is gone or cannot be read")
        self._seen = stamp
        if self._ledger.is_ours(content):
            self._ours = content
            return ()
        return self._judged(content)

    def _judged(self, content: bytes) -> tuple[Event, ...]:
        found, body = self._read(content)
        if found is None:
            return self._tampered(content, "the plan file was changed and is not valid any more")
        asked = found.control
        ours = next((one for one in self._ledger.saved if _asks_only(found, one)), None)
        if ours is None or body != self._read(self._ours)[1]:
            return self._tampered(content, "the plan file was changed while the run held it")
        self._ledger.put_back()
        if asked.stop_requested and not ours.control.stop_requested:
            reason = asked.stop_reason or "stop_requested was set in the plan file"
            return (StopRequested(reason=reason),)
        if asked.redirect_requested != ours.control.redirect_requested:
            self._paused_at = self._clock() if asked.redirect_requested else None
            return (RedirectRequested(active=asked.redirect_requested),)
        return ()

    def _tampered(self, content: bytes, what: str) -> tuple[Event, ...]:
        """Keep what was found, put the file back, and end the run."""
        self._aside.parent.mkdir(parents=True, exist_ok=True)
        self._aside.write_bytes(told_bytes(content, self._secrets))
        self._ledger.put_back()
        self._seen = None
        kept = f"{what}; it is kept as {self._aside.name}"
        return (StopRequested(reason=kept, code=StopCode.TAMPERED),)


def _asks_only(found: Plan, ours: Plan) -> bool:
    """Is it this plan, but for what somebody asks for?"""
    same = replace(
        found.control,
        stop_requested=ours.control.stop_requested,
        stop_reason=ours.control.stop_reason,
        redirect_requested=ours.control.redirect_requested,
    )
    return replace(found, control=same) == ours
