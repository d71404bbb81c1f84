from __future__ import annotations

import errno
import json
import time
from collections.abc import Callable
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import pytest
from tests.doubles.disk import FakeDisk

from dwindle.adapters.store.disk import ChangedByOthers, RealDisk
from dwindle.adapters.store.event_codec import EventUnfit, encode
from dwindle.adapters.store.journal import (
    JournalDamaged,
    JsonlJournal,
    path_of,
    read_journal,
)
from dwindle.kernel.events import EarlyChecked, Event, Waited
from dwindle.ports.store import Disk, StoreFailed

FOLDER = Path("/journal")
RUN = "01RUN"
PATH = FOLDER / "01RUN.jsonl"
TORN = FOLDER / "01RUN.torn"


def event(number: int) -> Event:
    return Waited(note=f"event {number}")


def begun(disk: Disk, *, after: int = 0) -> JsonlJournal:
    return JsonlJournal.create(disk, FOLDER, RUN, after=after, versions=("v0",))


def three_events() -> FakeDisk:
    """A disk with a journal of a first line, two events, a version and a third event."""
    disk = FakeDisk()
    journal = begun(disk)
    journal.append(event(1))
    journal.append(event(2))
    journal.expect(("v0", "v1"))
    journal.append(event(3))
    journal.close()
    return disk


def lines_of(disk: FakeDisk) -> list[bytes]:
    return disk.read(PATH).splitlines(keepends=True)


def holding(content: bytes) -> FakeDisk:
    return FakeDisk({FOLDER: None, PATH: content})


def test_what_was_appended_is_there_after_opening_again() -> None:
    journal = JsonlJournal(three_events(), FOLDER, RUN)
    assert (journal.last, journal.versions, journal.torn) == (3, ("v0", "v1"), b"")
    assert list(journal.events(after=0)) == [event(1), event(2), event(3)]
    assert list(journal.events(after=2)) == [event(3)]
    assert list(journal.events(after=3)) == []
    assert journal.append(event(4)) == 4
    assert list(journal.events(after=2)) == [event(3), event(4)]


def test_several_at_once_make_the_same_lines_as_one_by_one() -> None:
    disk = FakeDisk()
    journal = begun(disk)
    assert journal.append(event(1), event(2)) == 2
    journal.expect(("v0", "v1"))
    assert journal.append(event(3)) == 3
    assert lines_of(disk) == lines_of(three_events())


def test_several_at_once_are_written_whole_or_not_at_all() -> None:
    disk = three_events()
    journal = JsonlJournal(disk, FOLDER, RUN)
    before = disk.image()
    with pytest.raises(EventUnfit):
        journal.append(event(4), Waited(note="\ud800"))
    disk.limit_space(150)
    with pytest.raises(StoreFailed):
        journal.append(event(4), event(5))
    assert disk.image() == before
    disk.limit_space(None)
    assert journal.append(event(4), event(5)) == 5


def test_a_line_is_json_with_a_number_and_a_chain_that_seals_all_before_it() -> None:
    lines = lines_of(three_events())
    documents = [json.loads(line) for line in lines]
    chains = [document.pop("chain") for document in documents]
    assert documents == [
        {"n": 0, "journal": 1, "run": RUN, "versions": ["v0"]},
        {"n": 1, "event": {"kind": "Waited", "note": "event 1"}},
        {"n": 2, "event": {"kind": "Waited", "note": "event 2"}},
        {"n": 2, "versions": ["v0", "v1"]},
        {"n": 3, "event": {"kind": "Waited", "note": "event 3"}},
    ]
    for (before, chain), line in zip(pairwise(chains), lines[1:], strict=True):
        body = line[: line.index(b',"chain":')]
        assert chain == sha256(before.encode() + body).hexdigest()


def test_a_journal_may_begin_where_a_plan_file_already_is() -> None:
    disk = FakeDisk()
    journal = begun(disk, after=41)
    assert (journal.last, journal.append(event(42))) == (41, 42)
    assert list(JsonlJournal(disk, FOLDER, RUN).events(after=41)) == [event(42)]


def test_a_journal_is_never_begun_twice() -> None:
    disk = three_events()
    before = disk.image()
    with pytest.raises(StoreFailed) as refusal:
        begun(disk)
    assert (refusal.value.path, refusal.value.errno) == (PATH, errno.EEXIST)
    assert disk.image() == before


def test_there_is_nothing_to_open_before_it_was_begun() -> None:
    with pytest.raises(StoreFailed) as refusal:
        JsonlJournal(FakeDisk(), FOLDER, RUN)
    assert refusal.value.errno == errno.ENOENT


@pytest.mark.parametrize("run", ["", "../x", "a/b", ".hidden", "a\n", "x" * 65, "a.b", "ä"])
def test_a_run_id_that_would_lead_elsewhere_is_refused(run: str) -> None:
    with pytest.raises(StoreFailed) as refusal:
        path_of(FOLDER, run)
    assert refusal.value.errno == errno.EINVAL


def test_an_event_that_cannot_be_written_leaves_the_journal_as_it_was() -> None:
    disk = three_events()
    journal = JsonlJournal(disk, FOLDER, RUN)
    before = disk.image()
    with pytest.raises(EventUnfit):
        journal.append(Waited(note="\ud800"))
    assert (disk.image(), journal.append(event(4))) == (before, 4)


# --- what a crash leaves -------------------------------------------------------------------------


def half(line: bytes) -> bytes:
    return line[: len(line) // 2]


TAILS: dict[str, Callable[[bytes], bytes]] = {
    "half a line": half,
    "one byte": lambda line: line[:1],
    "all but the newline": lambda line: line[:-1],
    "zeros": lambda line: bytes(len(line)),
    "zeros, then the end of the line": lambda line: bytes(40) + line[40:],
    "a line with one bit flipped": lambda line: line[:30] + bytes([line[30] ^ 1]) + line[31:],
    "something else": lambda _: b"hello\n",
    "an empty line": lambda _: b"\n",
}


@pytest.mark.parametrize("tail", TAILS.values(), ids=TAILS)
def test_an_unfinished_last_line_is_put_aside_and_cut_off(tail: Callable[[bytes], bytes]) -> None:
    *whole, last = lines_of(three_events())
    disk = holding(b"".join(whole) + tail(last))
    assert (read_journal(disk, FOLDER, RUN).last, TORN in disk.image()) == (2, False)

    journal = JsonlJournal(disk, FOLDER, RUN)
    assert (journal.last, journal.versions, journal.torn) == (2, ("v0", "v1"), tail(last))
    assert disk.image() == {
        FOLDER: None,
        PATH: b"".join(whole),
        TORN: tail(last).removesuffix(b"\n") + b"\n",
    }
    assert journal.append(event(3)) == 3
    assert disk.read(PATH) == b"".join([*whole, last])


def test_two_torn_tails_are_both_kept() -> None:
    disk = three_events()
    for tail in (b"{first", b"{second"):
        image = disk.image()
        disk = FakeDisk({**image, PATH: (image[PATH] or b"") + tail})
        JsonlJournal(disk, FOLDER, RUN).close()
    assert disk.read(TORN) == b"{first\n{second\n"


def test_a_tail_that_cannot_be_put_aside_is_not_cut_off() -> None:
    disk = three_events()
    image = {**disk.image(), PATH: disk.read(PATH) + b"{torn"}
    disk = FakeDisk(image)
    disk.limit_space(0)
    with pytest.raises(StoreFailed) as failure:
        JsonlJournal(disk, FOLDER, RUN)
    assert (failure.value.path, failure.value.errno) == (TORN, errno.ENOSPC)
    assert disk.image() == image


# --- damage --------------------------------------------------------------------------------------

FLIPPED = "does not follow from the lines before it"

DAMAGE: dict[str, tuple[Callable[[list[bytes]], list[bytes]], int, str]] = {
    "empty": (lambda _: [], 1, "no journal begins like this"),
    "first line torn": (lambda ls: [half(ls[0])], 1, "no journal begins like this"),
    "first line lost": (lambda ls: ls[1:], 1, "no journal begins like this"),
    "first line changed": (
        lambda ls: [ls[0].replace(b"v0", b"v9"), *ls[1:]],
        1,
        "no journal begins like this",
    ),
    "an event changed": (lambda ls: [ls[0], ls[1].replace(b"1", b"7", 2), *ls[2:]], 2, "number 7"),
    "a note changed": (
        lambda ls: [*ls[:2], ls[2].replace(b"event 2", b"event 9"), *ls[3:]],
        3,
        FLIPPED,
    ),
    "a line lost": (lambda ls: [ls[0], *ls[2:]], 2, "number 2 where 1 should stand"),
    "a line doubled": (lambda ls: [*ls[:2], *ls[1:]], 3, "number 1 where 2 should stand"),
    "the last doubled": (lambda ls: [*ls, ls[-1]], 6, "number 3 where 4 should stand"),
    "two lines swapped": (lambda ls: [ls[0], ls[2], ls[1], *ls[3:]], 2, "number 2 where 1"),
    "a foreign line": (lambda ls: [*ls[:2], b"hello\n", *ls[2:]], 3, FLIPPED),
    "a foreign event": (lambda ls: [*ls[:3], b'{"n":3,"event":{}}\n', ls[4]], 4, FLIPPED),
    "an empty line": (lambda ls: [*ls[:2], b"\n", *ls[2:]], 3, FLIPPED),
    "a bad line before a torn one": (lambda ls: [*ls, b"hello\n", b"{"], 6, FLIPPED),
    "a second beginning": (lambda ls: [*ls[:2], ls[0], *ls[2:]], 3, FLIPPED),
}


@pytest.mark.parametrize(("damage", "line", "reason"), DAMAGE.values(), ids=DAMAGE)
def test_damage_is_reported_and_nothing_is_changed(
    damage: Callable[[list[bytes]], list[bytes]], line: int, reason: str
) -> None:
    disk = holding(b"".join(damage(lines_of(three_events()))))
    before = disk.image()
    with pytest.raises(JournalDamaged) as refusal:
        JsonlJournal(disk, FOLDER, RUN)
    assert (refusal.value.path, refusal.value.line) == (PATH, line)
    assert reason in refusal.value.reason
    assert str(refusal.value) == f"{PATH}, line {line}: {refusal.value.reason}"
    assert disk.image() == before


def test_a_last_line_that_does_not_follow_cannot_be_told_from_a_torn_one() -> None:
    *whole, _, last = lines_of(three_events())
    journal = JsonlJournal(holding(b"".join(whole) + last), FOLDER, RUN)
    assert (journal.last, journal.torn) == (2, last)


def sealed(*bodies: bytes) -> FakeDisk:
    """A journal whose chain is right, whatever its lines say."""
    chain, lines = "", []
    for body in bodies:
        chain = sha256(chain.encode() + body).hexdigest()
        lines.append(b'%b,"chain":"%b"}\n' % (body, chain.encode()))
    return holding(b"".join(lines))


FIRST = b'{"n":0,"journal":1,"run":"01RUN","versions":[]'


@pytest.mark.parametrize(
    ("bodies", "line", "reason"),
    [
        ([FIRST.replace(b'journal":1', b'journal":2')], 1, "format 2, but only 1 is known"),
        ([FIRST.replace(b"01RUN", b"01OTHER")], 1, "belongs to the run 01OTHER"),
        ([FIRST + b',"more":1'], 1, "Object contains unknown field `more`"),
        ([FIRST, b'{"n":0,"versions":3'], 2, "Expected `array`, got `int`"),
        ([FIRST, b'{"n":1,"event":{"kind":"Abducted"}'], 2, "kind: no such kind: 'Abducted'"),
    ],
)
def test_a_journal_of_another_version_or_run_is_refused(
    bodies: list[bytes], line: int, reason: str
) -> None:
    disk = sealed(*bodies)
    with pytest.raises(JournalDamaged) as refusal:
        list(JsonlJournal(disk, FOLDER, RUN).events(after=0))
    assert (refusal.value.line, refusal.value.reason) == (line, reason)


# --- others at the file --------------------------------------------------------------------------


def test_a_journal_that_others_write_to_is_not_written_any_more(tmp_path: Path) -> None:
    journal = JsonlJournal.create(RealDisk(), tmp_path / "a/b", RUN, after=0, versions=())
    path = tmp_path / "a/b/01RUN.jsonl"
    with path.open("ab") as stranger:
        stranger.write(b"hello\n")
    with pytest.raises(ChangedByOthers) as refusal:
        journal.append(event(1))
    size = path.stat().st_size
    assert (refusal.value.expected, refusal.value.found) == (size - 6, size)
    assert str(refusal.value) == f"{path} has {size} bytes, but {size - 6} were written"
    journal.close()


def test_an_event_is_not_acknowledged_into_a_file_that_was_removed(tmp_path: Path) -> None:
    journal = JsonlJournal.create(RealDisk(), tmp_path, RUN, after=0, versions=())
    path = tmp_path / "01RUN.jsonl"
    path.unlink()
    with pytest.raises(ChangedByOthers) as refusal:
        journal.append(event(1))
    assert str(refusal.value) == f"{path} was removed or replaced while it was in use"
    journal.close()


def test_reading_is_not_quadratic() -> None:
    bodies = [FIRST]
    text = encode(EarlyChecked(at="2030-01-01T00:00:00Z", elapsed=1.5, passed=True))
    bodies += [b'{"n":%d,"event":%b' % (number, text) for number in range(1, 100_001)]
    disk = sealed(*bodies)
    start = time.perf_counter()
    assert JsonlJournal(disk, FOLDER, RUN).last == 100_000
    opened = time.perf_counter()
    assert sum(1 for _ in read_journal(disk, FOLDER, RUN).events(after=0)) == 100_000
    # Generous, for busy machines; a quadratic one would take minutes.
    assert (opened - start < 10, time.perf_counter() - opened < 20) == (True, True)
