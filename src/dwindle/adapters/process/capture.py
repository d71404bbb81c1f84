"""What a program prints, kept within bounds however much it is.

Of each stream the head and the tail are kept: the head says what was begun, the tail how it
ended, and both together never need more memory than was granted. Everything is counted.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from dwindle.ports.process import Captured, Secret
from dwindle.text.escape import complete_length, escape_bytes
from dwindle.text.redact import StreamRedactor

if TYPE_CHECKING:
    from hashlib import _Hash as Hash

LONGEST_LINE = 1 << 20
"""A longer line is handed on in pieces, so that a line cannot hold all memory either."""

_LOG = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC

TAIL_SECONDS = 0.5
"""How far the tail in a log file may be behind."""


NOTHING = Captured()
"""Of a program that said nothing, as most checks do."""


class HeadAndTail:
    """A stream of bytes, of which the first and the last `limit` / 2 are kept.

    A digest of all of it is worked out from when something has to be left out; before that,
    the caller has the bytes.
    """

    __slots__ = ("_digest", "_half", "_head", "_tail", "size")

    def __init__(self, limit: int) -> None:
        self._half = max(limit, 0) // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._digest: Hash | None = None
        self.size = 0

    def add(self, data: bytes) -> bytes:
        """Take `data` in; return the part of it that went to the head."""
        self.size += len(data)
        room = self._half - len(self._head)
        if room >= len(data):
            self._head += data
            return data
        first = data[:room]
        self._head += first
        if self._digest is not None:
            self._digest.update(data)
        self._tail += data[room:]
        if (excess := len(self._tail) - self._half) > 0:
            if self._digest is None:
                self._digest = sha256(self._head)
                self._digest.update(self._tail)
            del self._tail[:excess]
        return first

    def captured(self) -> Captured:
        if not self.size:
            return NOTHING
        digest = "" if self._digest is None else self._digest.hexdigest()
        return Captured(
            head=bytes(self._head), tail=bytes(self._tail), size=self.size, digest=digest
        )


class Lines:
    """Cuts a stream into lines for a watcher."""

    __slots__ = ("_rest", "_watch")

    def __init__(self, watch: Callable[[bytes], str | None]) -> None:
        self._watch = watch
        self._rest = bytearray()

    def add(self, data: bytes) -> str | None:
        """The first sentence that the watcher had to say about these lines, if any."""
        *lines, rest = data.split(b"\n")
        for line in lines:
            whole = bytes(self._rest) + line if self._rest else line
            self._rest.clear()
            if said := self._pieces(whole):
                return said
        self._rest += rest
        while len(self._rest) >= LONGEST_LINE:
            piece = bytes(self._rest[:LONGEST_LINE])
            del self._rest[:LONGEST_LINE]
            if said := self._watch(piece):
                return said
        return None

    def end(self) -> str | None:
        """As `add`, for a last line without an end."""
        rest = bytes(self._rest)
        self._rest.clear()
        return self._watch(rest) if rest else None

    def _pieces(self, line: bytes) -> str | None:
        while len(line) > LONGEST_LINE:
            if said := self._watch(line[:LONGEST_LINE]):
                return said
            line = line[LONGEST_LINE:]
        return self._watch(line)


class Log:
    """Both streams in one file, in the order in which they came.

    A program that says nothing leaves none: to make a file costs as much as the rest of a short
    session. The head is written at once. The tail keeps moving, so it is written over itself every
    half second while more comes, and once more at the end: a runner that is killed leaves a log
    which is at most that much behind. A disk that says no ends the log, not the session.

    The file may be shown on a terminal, which must not obey it. So the log escapes what it writes,
    which is never more than the bounds allow: the rest of a flood is not looked at.
    """

    def __init__(self, path: Path, limit: int, loop: asyncio.AbstractEventLoop) -> None:
        self._path: Path | None = path
        """Where it will be, until it is there or cannot be."""
        self._fd: int | None = None
        self.problem: OSError | None = None
        """Why there is none, though something was said."""
        self._kept = HeadAndTail(limit)
        self._head_size = 0
        self._held = b""
        """The end of the head, if it may be part of a character."""
        self._loop = loop
        self._due: asyncio.TimerHandle | None = None

    def add(self, data: bytes) -> None:
        first = self._kept.add(data)
        if first:
            came = self._held + first if self._held else first
            end = complete_length(came)
            self._held = came[end:]
            shown = escape_bytes(came[:end])
            self._write(shown, self._head_size)
            self._head_size += len(shown)
        if len(first) < len(data) and self._due is None:
            self._due = self._loop.call_later(TAIL_SECONDS, self._write_tail)

    def close(self) -> None:
        if self._due is not None:
            self._due.cancel()
        if self._due is not None or self._held:
            self._write_tail()
        self._end()

    def _write_tail(self) -> None:
        self._due = None
        kept = self._kept.captured()
        left_out = kept.size - len(kept.head) - len(kept.tail)
        if left_out:
            gap = f"\n[... {left_out} bytes left out ...]\n".encode()
            shown = escape_bytes(self._held) + gap + escape_bytes(kept.tail)
        else:
            shown = escape_bytes(self._held + kept.tail)
        self._write(shown, self._head_size)
        if self._fd is not None:
            # The tail before this one may have been longer, with more in it to be escaped.
            with suppress(OSError):
                os.ftruncate(self._fd, self._head_size + len(shown))

    def _write(self, data: bytes, offset: int) -> None:
        if self._path is not None:
            self._begin(self._path)
            self._path = None
        if self._fd is None:
            return
        try:
            while data:
                done = os.pwrite(self._fd, data, offset)
                data, offset = data[done:], offset + done
        except OSError:
            self._end()

    def _begin(self, path: Path) -> None:
        try:
            self._fd = os.open(path, _LOG, 0o600)
        except OSError as problem:
            self.problem = problem

    def _end(self) -> None:
        if self._fd is not None:
            with suppress(OSError):
                os.close(self._fd)
            self._fd = None


class Output:
    """Everything one program prints: both streams, the log, and the watcher of stdout.

    None of them gets to see a secret.
    """

    def __init__(
        self,
        *,
        limit: int,
        log: Path | None,
        watch: Callable[[bytes], str | None] | None,
        loop: asyncio.AbstractEventLoop,
        secrets: Sequence[Secret] = (),
    ) -> None:
        self._out, self._err = StreamRedactor(secrets), StreamRedactor(secrets)
        self.stdout = HeadAndTail(limit)
        self.stderr = HeadAndTail(limit)
        self._lines = None if watch is None else Lines(watch)
        self._log = None if log is None else Log(log, limit, loop)

    def take_stdout(self, data: bytes) -> str | None:
        return self._keep_stdout(self._out.add(data))

    def take_stderr(self, data: bytes) -> None:
        self._keep_stderr(self._err.add(data))

    def take_rest(self) -> str | None:
        """What was held back, because it might have become a secret; no more comes."""
        self._keep_stderr(self._err.end())
        return self._keep_stdout(self._out.end())

    def _keep_stdout(self, data: bytes) -> str | None:
        if not data:
            return None
        self.stdout.add(data)
        if self._log is not None:
            self._log.add(data)
        return None if self._lines is None else self._lines.add(data)

    def _keep_stderr(self, data: bytes) -> None:
        if not data:
            return
        self.stderr.add(data)
        if self._log is not None:
            self._log.add(data)

    def end(self) -> str | None:
        return None if self._lines is None else self._lines.end()

    @property
    def problem(self) -> OSError | None:
        """Why what it said could not be logged."""
        return None if self._log is None else self._log.problem

    def unwatch(self) -> None:
        """The watcher has given its verdict."""
        self._lines = None

    def close(self) -> None:
        self.unwatch()
        self.take_rest()  # of a session that was cancelled
        if self._log is not None:
            self._log.close()
