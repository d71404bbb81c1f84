"""Watching the plan file while a run holds it.

Other tools ask for things by setting flags in the file: that is part of its contract, and honoured.
Any other change behind the back of a running loop is tampering: the change is kept aside, the file
is put back, and the run ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from dwindle.kernel.events import Event, RedirectRequested, StopRequested
from dwindle.kernel.model import Plan, StopCode
from dwindle.runner.ledger import Ledger

EVERY = 0.5
"""Seconds between two looks."""

Read = Callable[[bytes], Plan | None]


class FileWatch:
    """`read` decodes the file; `aside` is where a change that nobody asked for is kept."""

    def __init__(self, path: Path, ledger: Ledger, read: Read, aside: Path) -> None:
        self._path = path
        self._ledger = ledger
        self._read = read
        self._aside = aside
        self._seen: tuple[int, int, int] | None = None

    def look(self) -> tuple[Event, ...]:
        """What the file asks for since the last look; usually nothing, for the price of a stat."""
        try:
            found = self._path.stat()
            stamp = (found.st_mtime_ns, found.st_ino, found.st_size)
            if stamp == self._seen:
                return ()
            content = self._path.read_bytes()
        except OSError:
            return self._tampered(b"", "the plan file is gone or cannot be read")
        self._seen = stamp
        if self._ledger.is_ours(content):
            return ()
        return self._judged(content)

    def _judged(self, content: bytes) -> tuple[Event, ...]:
        found, ours = self._read(content), self._ledger.saved
        if found is None:
            return self._tampered(content, "the plan file was changed and is not valid any more")
        asked = found.control
        same = replace(
            asked,
            stop_requested=ours.control.stop_requested,
            stop_reason=ours.control.stop_reason,
            redirect_requested=ours.control.redirect_requested,
        )
        if replace(found, control=same) != ours:
            return self._tampered(content, "the plan file was changed while the run held it")
        self._ledger.put_back()
        if asked.stop_requested and not ours.control.stop_requested:
            reason = asked.stop_reason or "stop_requested was set in the plan file"
            return (StopRequested(reason=reason),)
        if asked.redirect_requested != ours.control.redirect_requested:
            return (RedirectRequested(active=asked.redirect_requested),)
        return ()

    def _tampered(self, content: bytes, what: str) -> tuple[Event, ...]:
        """Keep what was found, put the file back, and end the run."""
        self._aside.parent.mkdir(parents=True, exist_ok=True)
        self._aside.write_bytes(content)
        self._ledger.put_back()
        self._seen = None
        kept = f"{what}; it is kept as {self._aside.name}"
        return (StopRequested(reason=kept, code=StopCode.TAMPERED),)
