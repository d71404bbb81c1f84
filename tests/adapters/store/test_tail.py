"""A journal that is followed: only what was added is read, and nothing that does not hold."""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from dwindle.adapters.store import journal_tail as tail
from dwindle.adapters.store.disk import RealDisk
from dwindle.adapters.store.journal import JournalDamaged, JsonlJournal, read_journal
from dwindle.adapters.store.journal_tail import Tail
from dwindle.kernel.events import Event, StopRequested, Waited
from dwindle.ports.store import StoreFailed

RUN = "01RUN"


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[JsonlJournal]:
    made = JsonlJournal.create(RealDisk(), tmp_path, RUN, after=4, versions=("a",))
    yield made
    made.close()


def line(chain: bytes, body: bytes) -> bytes:
    """A line that is well sealed, whatever it says."""
    return b'%b,"chain":"%b"}\n' % (body, sha256(chain + body).hexdigest().encode())


def said(folder: Path, *bodies: bytes) -> Path:
    """A journal of these lines, each of which follows from those before."""
    chain, written = b"", b""
    for body in bodies:
        written += line(chain, body)
        chain = written[-67:-3]
    path = folder / f"{RUN}.jsonl"
    path.write_bytes(written)
    return path


HEAD = b'{"n":0,"journal":1,"run":"01RUN","versions":[]'


def seen(followed: Tail) -> list[tuple[int, Event]]:
    return list(followed.added())


def damage(followed: Tail) -> tuple[int, str]:
    with pytest.raises(JournalDamaged) as found:
        seen(followed)
    return found.value.line, found.value.reason


def test_each_event_is_given_once_with_its_number(tmp_path: Path, journal: JsonlJournal) -> None:
    followed = Tail(tmp_path, RUN)
    assert seen(followed) == []
    journal.append(Waited(note="one"), Waited(note="two"))
    assert seen(followed) == [(5, Waited(note="one")), (6, Waited(note="two"))]
    assert seen(followed) == []
    journal.expect(("a", "b"))
    journal.append(StopRequested(reason="enough"))
    assert seen(followed) == [(7, StopRequested(reason="enough"))]
    assert followed.last == 7


def test_it_gives_what_reading_the_whole_gives(tmp_path: Path, journal: JsonlJournal) -> None:
    for number in range(50):
        journal.append(Waited(note=f"{number} " + "x" * number))
    content = read_journal(RealDisk(), tmp_path, RUN)
    assert [event for _, event in seen(Tail(tmp_path, RUN))] == list(content.events(0))


def test_a_line_longer_than_a_portion(
    tmp_path: Path, journal: JsonlJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "PORTION", 64)
    journal.append(*(Waited(note="x" * 40 * n) for n in range(9)))
    assert [event for _, event in seen(Tail(tmp_path, RUN))] == [
        Waited(note="x" * 40 * n) for n in range(9)
    ]


def test_an_unfinished_line_is_waited_for(tmp_path: Path, journal: JsonlJournal) -> None:
    journal.append(Waited(note="one"))
    path = tmp_path / f"{RUN}.jsonl"
    whole = path.read_bytes()
    followed = Tail(tmp_path, RUN)
    path.write_bytes(whole[:-20])
    assert seen(followed) == []
    path.write_bytes(whole)
    assert seen(followed) == [(5, Waited(note="one"))]


def test_a_torn_last_line_is_left_until_it_is_cut_off(
    tmp_path: Path, journal: JsonlJournal
) -> None:
    journal.append(Waited(note="one"))
    path = tmp_path / f"{RUN}.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"n":6,"event":\0\0\0\0\n')
    followed = Tail(tmp_path, RUN)
    assert seen(followed) == [(5, Waited(note="one"))]
    again = JsonlJournal(RealDisk(), tmp_path, RUN)
    again.append(Waited(note="two"))
    again.close()
    assert not followed.is_another()
    assert seen(followed) == [(6, Waited(note="two"))]


def test_a_changed_line_is_damage(tmp_path: Path, journal: JsonlJournal) -> None:
    journal.append(Waited(note="one"), Waited(note="two"))
    path = tmp_path / f"{RUN}.jsonl"
    path.write_bytes(path.read_bytes().replace(b"one", b"eno"))
    assert damage(Tail(tmp_path, RUN)) == (2, "does not follow from what is here")


def test_a_first_line_that_does_not_hold(tmp_path: Path) -> None:
    (tmp_path / f"{RUN}.jsonl").write_bytes(b"hello\n")
    assert damage(Tail(tmp_path, RUN)) == (1, "does not follow from what is here")


@pytest.mark.parametrize(
    ("bodies", "found"),
    [
        ([b'{"n":0,"versions":[]'], (1, "a line of another kind should be here")),
        ([HEAD, HEAD], (2, "a line of another kind should be here")),
        ([HEAD, b'{"n":7,"event":{}'], (2, "number 7 where 1 should stand")),
        ([HEAD, b'{"n":1,"versions":[]'], (2, "number 1 where 0 should stand")),
        (
            [b'{"n":0,"journal":2,"run":"01RUN","versions":[]'],
            (1, "the journal of 01RUN, in format 2"),
        ),
        (
            [b'{"n":0,"journal":1,"run":"01OTHER","versions":[]'],
            (1, "the journal of 01OTHER, in format 1"),
        ),
    ],
)
def test_sealed_lines_that_say_nonsense(
    tmp_path: Path, bodies: list[bytes], found: tuple[int, str]
) -> None:
    said(tmp_path, *bodies)
    assert damage(Tail(tmp_path, RUN)) == found


def test_events_and_heads_that_cannot_be_read(tmp_path: Path) -> None:
    said(tmp_path, HEAD, b'{"n":1,"event":{"kind":"Nobody"}')
    assert damage(Tail(tmp_path, RUN))[0] == 2
    said(tmp_path, b'{"n":0,"journal":"x"')
    assert damage(Tail(tmp_path, RUN))[0] == 1


def test_no_journal_yet(tmp_path: Path) -> None:
    followed = Tail(tmp_path, RUN)
    assert (seen(followed), followed.is_another()) == ([], False)
    said(tmp_path, HEAD)
    assert (followed.is_another(), seen(followed), followed.last) == (False, [], 0)


def test_a_journal_that_vanishes_while_it_is_read(tmp_path: Path) -> None:
    followed = Tail(tmp_path, RUN)
    path = said(tmp_path, HEAD)
    seen(followed)
    path.unlink()
    path.mkdir()  # there, and nothing that can be read
    assert seen(followed) == []


def test_another_file_under_the_same_name(tmp_path: Path, journal: JsonlJournal) -> None:
    journal.append(Waited(note="one"))
    followed = Tail(tmp_path, RUN)
    seen(followed)
    assert not followed.is_another()
    other = tmp_path / "other"
    other.mkdir()
    made = JsonlJournal.create(RealDisk(), other, RUN, after=0, versions=())
    made.append(Waited(note="another"))
    made.close()
    (other / f"{RUN}.jsonl").replace(tmp_path / f"{RUN}.jsonl")
    assert followed.is_another()
    assert seen(followed) == [(1, Waited(note="another"))]


def test_a_shorter_file_is_another(tmp_path: Path, journal: JsonlJournal) -> None:
    journal.append(Waited(note="one"))
    followed = Tail(tmp_path, RUN)
    seen(followed)
    os.truncate(tmp_path / f"{RUN}.jsonl", 5)
    assert followed.is_another()


def test_what_can_be_no_runs_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreFailed):
        Tail(tmp_path, "../elsewhere")
