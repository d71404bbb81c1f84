"""One run's journal: a text file to which a line is added, and synced, for every event.

A line is a JSON object that ends in `chain`: the SHA-256 of the chain before it and of everything
that stands before `chain` in the line. That one value is the checksum of the line and, as it goes
into the next, a seal on all lines before it: none can be changed, dropped, doubled or brought in
from another journal without breaking every line that follows.

There are three kinds of lines, and each begins with a number:

    {"n":0,"journal":1,"run":"01J...","versions":["9f..."],"chain":"..."}     the first
    {"n":1,"event":{"kind":"RunStarted","at":"..."},"chain":"..."}            what happened
    {"n":1,"versions":["9f...","c2..."],"chain":"..."}                        about the plan file

Events count up by one; any other line repeats the number of the event before it. `versions` are
the digests that the plan file may have if only the runner wrote it. They are written before the
file is replaced, so the next runner can tell a save that a crash cut short from a person's edit.

Lines that come together are added in one write and synced once. A crash can leave the last line of
the file unfinished, and only the last, because a write was synced before the next was begun. Such a
line was never acknowledged: it is put aside and cut off. A fault anywhere else is damage:
it is reported, and nothing is changed.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

import msgspec

from dwindle.adapters.store.disk import AppendFile, DurableFile, make_directory
from dwindle.adapters.store.event_codec import EventUnfit, decode, encode
from dwindle.kernel.events import Event
from dwindle.ports.store import Disk, StoreFailed

FORMAT = 1

_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_START = re.compile(rb'\{"n":(0|[1-9]\d{0,17}),"(event|versions)":')
_CHAIN_LENGTH = len(b',"chain":""}') + 64


class JournalDamaged(Exception):
    """A line that we did not write, or not there; the file is left as it was found."""

    def __init__(self, path: Path, line: int, reason: str) -> None:
        super().__init__(path, line, reason)
        self.path = path
        self.line = line
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}, line {self.line}: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """A journal as it was found: its sound lines, and what a crash left after them."""

    path: Path
    last: int
    versions: tuple[str, ...]
    chain: bytes
    size: int
    """Bytes up to the end of the last sound line."""
    torn: bytes
    lines: tuple[tuple[int, int, bytes], ...]
    """Line, number and JSON of every event."""

    def events(self, after: int) -> Iterator[Event]:
        for line, number, text in self.lines:
            if number > after:
                try:
                    yield decode(text)
                except EventUnfit as fault:
                    raise JournalDamaged(self.path, line, str(fault)) from fault


def path_of(directory: Path, run: str) -> Path:
    """Where the journal of a run is kept. The id may come from a file, so it is not trusted."""
    if not _RUN_ID.fullmatch(run):
        raise StoreFailed(directory / f"{run!r}.jsonl", "name a journal", errno.EINVAL)
    return directory / f"{run}.jsonl"


def read_journal(disk: Disk, directory: Path, run: str) -> Content:
    """Read and check a journal without changing it; good beside a running writer, too."""
    path = path_of(directory, run)
    return _scan(DurableFile(disk, path).read(), path, run)


class JsonlJournal:
    """A journal open for writing. Only for the holder of the lock."""

    def __init__(self, disk: Disk, directory: Path, run: str) -> None:
        """Open what `create` made, putting aside what a crash left unfinished."""
        content = read_journal(disk, directory, run)
        self._disk = disk
        self._directory = directory
        self._run = run
        self._chain = content.chain
        self._last = content.last
        self._versions = content.versions
        self.torn = content.torn
        """What was put aside; worth telling the person."""
        self._aside = DurableFile(disk, content.path.with_suffix(".torn"))
        for file in (DurableFile(disk, content.path), self._aside):
            file.sweep()
        self._file = AppendFile(disk, content.path)
        if content.torn:
            try:
                self._put_aside(content)
            except BaseException:
                self.close()
                raise

    @classmethod
    def create(
        cls, disk: Disk, directory: Path, run: str, *, after: int, versions: tuple[str, ...]
    ) -> JsonlJournal:
        """Begin a journal whose first event will have the number `after` + 1."""
        file = DurableFile(disk, path_of(directory, run))
        if file.exists():
            raise StoreFailed(file.path, "create", errno.EEXIST)
        make_directory(disk, directory)
        digests = msgspec.json.encode(versions)
        body = b'{"n":%d,"journal":%d,"run":"%b","versions":%b' % (
            after,
            FORMAT,
            run.encode(),
            digests,
        )
        file.replace(_line(body, _link(b"", body)))
        return cls(disk, directory, run)

    @property
    def last(self) -> int:
        return self._last

    @property
    def versions(self) -> tuple[str, ...]:
        return self._versions

    def append(self, *events: Event) -> int:
        numbered = enumerate(events, self._last + 1)
        self._write(*(b'{"n":%d,"event":%b' % (n, encode(event)) for n, event in numbered))
        self._last += len(events)
        return self._last

    def expect(self, versions: tuple[str, ...]) -> None:
        self._write(b'{"n":%d,"versions":%b' % (self._last, msgspec.json.encode(versions)))
        self._versions = versions

    def events(self, after: int) -> Iterator[Event]:
        return read_journal(self._disk, self._directory, self._run).events(after)

    def close(self) -> None:
        self._file.close()

    def _write(self, *bodies: bytes) -> None:
        chain, lines = self._chain, []
        for body in bodies:
            chain = _link(chain, body)
            lines.append(_line(body, chain))
        self._file.append(b"".join(lines))
        self._chain = chain

    def _put_aside(self, content: Content) -> None:
        earlier = self._aside.read() if self._aside.exists() else b""
        self._aside.replace(earlier + content.torn.removesuffix(b"\n") + b"\n")
        self._file.cut(content.size)


def _link(before: bytes, body: bytes) -> bytes:
    return sha256(before + body).hexdigest().encode()


def _line(body: bytes, chain: bytes) -> bytes:
    return b'%b,"chain":"%b"}\n' % (body, chain)


def _scan(data: bytes, path: Path, run: str) -> Content:
    *lines, rest = data.split(b"\n")
    if not lines:
        # The first line was put in place whole, so no crash can have torn it.
        raise JournalDamaged(path, 1, "no journal begins like this")
    head = _read_first(lines[0], path, run)
    last, versions, chain, size = head.n, head.versions, lines[0][-66:-2], len(lines[0]) + 1
    events = []
    torn = rest
    for at, line in enumerate(lines[1:], 2):
        body = line[:-_CHAIN_LENGTH]
        start = _START.match(line)
        expected = last + (start is not None and start[2] == b"event")
        if start and int(start[1]) != expected:
            raise JournalDamaged(path, at, f"number {int(start[1])} where {expected} should stand")
        link = _link(chain, body)
        if not start or line[len(body) :] != b',"chain":"%b"}' % link:
            if at == len(lines) and not rest:
                torn = line + b"\n"
                break
            raise JournalDamaged(path, at, "does not follow from the lines before it")
        if start[2] == b"event":
            events.append((at, expected, body[start.end() :]))
        else:
            versions = _decode(body[start.end() :], tuple[str, ...], path, at)
        last, chain, size = expected, link, size + len(line) + 1
    return Content(
        path=path,
        last=last,
        versions=versions,
        chain=chain,
        size=size,
        torn=torn,
        lines=tuple(events),
    )


def _read_first(line: bytes, path: Path, run: str) -> _First:
    body = line[:-_CHAIN_LENGTH]
    if line + b"\n" != _line(body, _link(b"", body)):
        raise JournalDamaged(path, 1, "no journal begins like this")
    head = _decode(body + b"}", _First, path, 1)
    if head.journal != FORMAT:
        raise JournalDamaged(path, 1, f"format {head.journal}, but only {FORMAT} is known")
    if head.run != run:
        raise JournalDamaged(path, 1, f"belongs to the run {head.run}")
    return head


class _First(msgspec.Struct, forbid_unknown_fields=True):
    n: int
    journal: int
    run: str
    versions: tuple[str, ...]


_T = TypeVar("_T")


def _decode(text: bytes, kind: type[_T], path: Path, line: int) -> _T:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise JournalDamaged(path, line, str(error)) from error
