"""A journal that is followed while another process writes it: only what was added is read.

Every line is checked as `read_journal` checks it, so that what is shown live is what would be shown
afterwards. A last line that does not hold is left alone until there is more: it is being written,
or a crash has torn it, and the runner that resumes the run will cut it off.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from dwindle.adapters.store.event_codec import EventUnfit, decode
from dwindle.adapters.store.journal import FORMAT, JournalDamaged, path_of
from dwindle.kernel.events import Event

SEAL: Final = len(b',"chain":""}') + 64
START: Final = re.compile(rb'\{"n":(0|[1-9]\d{0,17}),"(event|versions|journal)":')
PORTION: Final = 8 << 20
"""Bytes that are read at once."""


class Tail:
    """Where we are in a journal. Reads nothing before it is asked."""

    def __init__(self, directory: Path, run: str) -> None:
        self.path = path_of(directory, run)
        self._run = run
        self._begin()

    def _begin(self) -> None:
        self.last = 0
        """The number of the last event that was given."""
        self._line = 0
        self._offset = 0
        self._chain = b""
        self._file: tuple[int, int] | None = None
        self._seen: tuple[int, int] | None = None

    def is_another(self) -> bool:
        """Whether the file is not the one, or shorter than, what was read; then it begins anew."""
        found = _facts(self.path)
        if found is None or self._file is None:
            return False
        if self._file == (found.st_dev, found.st_ino) and found.st_size >= self._offset:
            return False
        self._begin()
        return True

    def added(self) -> Iterator[tuple[int, Event]]:
        """What was added since, numbered; JournalDamaged at a line that does not follow."""
        found = _facts(self.path)
        if found is None or (found.st_size, found.st_mtime_ns) == self._seen:
            return
        self._file = (found.st_dev, found.st_ino)
        while data := _read(self.path, self._offset):
            before = self._offset
            yield from self._taken(data)
            if self._offset == before:
                break
        self._seen = (found.st_size, found.st_mtime_ns)

    def _taken(self, data: bytes) -> Iterator[tuple[int, Event]]:
        *lines, rest = data.split(b"\n")
        for at, line in enumerate(lines, 1):
            body = line[:-SEAL]
            link = sha256(self._chain + body).hexdigest().encode()
            start = START.match(line)
            if not start or line[len(body) :] != b',"chain":"%b"}' % link:
                if at == len(lines) and not rest and self._line:
                    return
                raise JournalDamaged(self.path, self._line + 1, "does not follow from what is here")
            event = self._judged(body, start)
            self._line += 1
            self._offset += len(line) + 1
            self._chain = link
            if event is not None:
                self.last += 1
                yield self.last, event

    def _judged(self, body: bytes, start: re.Match[bytes]) -> Event | None:
        """The event in a line, if it holds one."""
        kind, number = start[2], int(start[1])
        if (kind == b"journal") != (self._line == 0):
            raise JournalDamaged(self.path, self._line + 1, "a line of another kind should be here")
        if kind == b"journal":
            self._head(body)
            return None
        expected = self.last + (kind == b"event")
        if number != expected:
            what = f"number {number} where {expected} should stand"
            raise JournalDamaged(self.path, self._line + 1, what)
        if kind == b"versions":
            return None
        try:
            return decode(body[start.end() :])
        except EventUnfit as fault:
            raise JournalDamaged(self.path, self._line + 1, str(fault)) from fault

    def _head(self, body: bytes) -> None:
        try:
            head = msgspec.json.decode(body + b"}", type=_Head)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise JournalDamaged(self.path, 1, str(error)) from error
        if (head.journal, head.run) != (FORMAT, self._run):
            what = f"the journal of {head.run}, in format {head.journal}"
            raise JournalDamaged(self.path, 1, what)
        self.last = head.n


class _Head(msgspec.Struct):
    n: int
    journal: int
    run: str


def _facts(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _read(path: Path, offset: int) -> bytes:
    """A portion, or a longer one where a line is longer; nothing where there is no file."""
    try:
        with path.open("rb") as file:
            file.seek(offset)
            data = file.read(PORTION)
            while len(data) >= PORTION and b"\n" not in data and (more := file.read(PORTION)):
                data += more
            return data
    except OSError:
        return b""
