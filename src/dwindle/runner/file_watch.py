"""Watches the plan file while a run holds it.

Other tools make requests by setting flags in the file; the runner honours them. A pause requested
like that has no client: if no `dwindle redirect` follows, the run ends with the flag set. Any other
change, also of the text for people, is tampering: the runner keeps a copy of the file, restores it,
and ends the run.
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
from dwindle.runner.control import GONE, PATIENCE, Pause
from dwindle.runner.ledger import Ledger
from dwindle.text.redact import redact_bytes

EVERY = 0.5
"""Seconds between two looks."""
LOOKS, BETWEEN = 5, 0.05
"""How often, and after how many seconds, a file that seems tampered with is read once more."""

Read = Callable[[bytes], tuple[Plan | None, bytes]]
"""The plan in a file, if it is valid, and the text below it, which is for people."""


class FileWatch:
    """`read` decodes the file; a tampered file is copied to `kept_copy`, without secrets."""

    def __init__(  # noqa: PLR0913 - what it looks at, and how
        self,
        path: Path,
        ledger: Ledger,
        read: Read,
        kept_copy: Path,
        *,
        pause: Pause | None = None,
        clock: Callable[[], float] = time.monotonic,
        secrets: Sequence[Secret] = (),
    ) -> None:
        self._path = path
        self._name = str(path)
        self._ledger = ledger
        self._read = read
        self._kept_copy = kept_copy
        self._pause = pause or Pause()
        self._clock = clock
        self._secrets = secrets
        self._paused_at: float | None = None
        self._seen: tuple[int, int, int] | None = None
        self._ours = b""
        """The file as last seen unchanged."""

    def look(self) -> tuple[Event, ...]:
        """The requests in the file since the last look; usually none, for the price of a stat."""
        return self._end_of_pause() or self._requests()

    def _end_of_pause(self) -> tuple[Event, ...]:
        """End a pause that the file requested, if no client comes."""
        if self._paused_at is None:
            return ()
        if not self._ledger.plan.control.redirect_requested or self._pause.holder is not None:
            self._paused_at = None
        elif self._clock() - self._paused_at >= PATIENCE:
            self._paused_at = None
            return (StopRequested(reason=GONE),)
        return ()

    def _requests(self) -> tuple[Event, ...]:
        try:
            found = os.stat(self._name)  # noqa: PTH116 - cheap, for every event
            stamp = (found.st_mtime_ns, found.st_ino, found.st_size)
            if stamp == self._seen:
                return ()
            content = self._path.read_bytes()
        except OSError:
            return self._tampered(b"", "the plan file is gone or cannot be read")
        self._seen = stamp
        if not self._ledger.is_ours(content):
            content = self._whole(content)
        if self._ledger.is_ours(content):
            self._ours = content
            return ()
        return self._requests_in(content)

    def _whole(self, content: bytes) -> bytes:
        """The content, once it is a request or stays as it is: a tool may be writing it."""
        for _ in range(LOOKS):
            found, body = self._read(content)
            if found is not None and self._as_saved(found, body) is not None:
                return content
            time.sleep(BETWEEN)
            try:
                again = self._path.read_bytes()
            except OSError:
                return content
            if again == content:
                return content
            content, self._seen = again, None
        return content

    def _requests_in(self, content: bytes) -> tuple[Event, ...]:
        found, body = self._read(content)
        if found is None:
            return self._tampered(content, "the plan file was changed and is not valid any more")
        asked = found.control
        ours = self._as_saved(found, body)
        if ours is None:
            return self._tampered(content, "the plan file was changed while the run held it")
        self._ledger.put_back()
        if asked.stop_requested and not ours.control.stop_requested:
            reason = asked.stop_reason or "stop_requested was set in the plan file"
            return (StopRequested(reason=reason),)
        if asked.redirect_requested != ours.control.redirect_requested:
            self._paused_at = self._clock() if asked.redirect_requested else None
            return (RedirectRequested(active=asked.redirect_requested),)
        return ()

    def _as_saved(self, found: Plan, body: bytes) -> Plan | None:
        """The plan that was saved, if this is that one apart from its request flags."""
        if body != self._read(self._ours)[1]:
            return None
        return next((one for one in self._ledger.saved if _asks_only(found, one)), None)

    def _tampered(self, content: bytes, what: str) -> tuple[Event, ...]:
        """Keep a copy, restore the file, and end the run."""
        self._kept_copy.parent.mkdir(parents=True, exist_ok=True)
        self._kept_copy.write_bytes(redact_bytes(content, self._secrets))
        self._ledger.put_back()
        self._seen = None
        kept = f"{what}; it is kept as {self._kept_copy.name}"
        return (StopRequested(reason=kept, code=StopCode.TAMPERED),)


def _asks_only(found: Plan, ours: Plan) -> bool:
    """Is it this plan, apart from the request flags?"""
    same = replace(
        found.control,
        stop_requested=ours.control.stop_requested,
        stop_reason=ours.control.stop_reason,
        redirect_requested=ours.control.redirect_requested,
    )
    return replace(found, control=same) == ours
