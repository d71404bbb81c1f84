"""The story is told on disks that lose power at any call, fail at any call, and run full."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from tests.doubles.disk import FakeDisk, Image
from tests.runner.story import (
    EVENTS,
    PLAN_PATH,
    PLANS,
    Clock,
    begin,
    decoded,
    found_on,
    new_disk,
    number_on,
    resume,
)

from dwindle.ports.store import StoreFailed
from dwindle.runner.ledger import digest

# --- the power goes off --------------------------------------------------------------------------


def crash_points(disk: FakeDisk) -> Iterator[tuple[int, int, Image]]:
    """Tell the story on `disk`, and yield every image that a crash could leave.

    With it come the number of events that were acknowledged by then, and of those begun.
    """
    acknowledged = begun = 0
    seen: list[tuple[int, int, Image]] = []

    def lose_power() -> None:
        # Careful disks have a few dozen images at most; careless ones soon have millions.
        images = list(islice(disk.crash_images(), 500))
        assert len(images) < 100 or type(disk) is not FakeDisk
        seen.extend((acknowledged, begun, image) for image in images)

    disk.after_each = lose_power
    clock = Clock(step=0.1)  # so that some records are followed by a save, and some are not
    ledger = begin(disk, clock)
    for begun, event in enumerate(EVENTS, 1):
        ledger.record(event)
        acknowledged = begun
        if begun == 4:
            ledger.flush()
        if begun == 5:
            ledger.close()
            ledger = resume(disk, clock)
        yield from seen
        seen.clear()
    ledger.close()
    yield from seen


def verdict(acknowledged: int, begun: int, image: Image) -> str:
    try:
        plan = found_on(image)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is garbage
        return f"garbage: {error!r}"
    count = plan.control.revision
    if plan != PLANS[count] or count > begun:
        return "garbage: a state that never was"
    return "fine" if count >= acknowledged else "lost"


def crash_points_of_recovery(image: Image) -> Iterator[Image]:
    """Go on from what a crash left, to the end of the story, and crash at any call again."""
    disk = FakeDisk(image)
    seen: list[Image] = []
    disk.after_each = lambda: seen.extend(disk.crash_images())
    ledger = resume(disk, Clock(step=0.1))
    yield from seen
    for event in EVENTS[ledger.plan.control.revision :]:
        ledger.record(event)
    ledger.close()
    disk.after_each = lambda: None
    assert found_on(disk.image()) == PLANS[-1]


def verdicts(disk: FakeDisk) -> dict[str, int]:
    counts: dict[str, int] = {}
    for acknowledged, begun, image in crash_points(disk):
        found = verdict(acknowledged, begun, image).partition(":")[0]
        counts[found] = counts.get(found, 0) + 1
    return counts


def test_no_power_cut_loses_an_acknowledged_event() -> None:
    counts = verdicts(new_disk())
    assert counts.keys() == {"fine"}
    assert counts["fine"] > 150


def test_nor_any_of_several_that_were_committed_together() -> None:
    disk = new_disk()
    ledger = begin(disk, Clock(step=0.1))
    ledger.record(EVENTS[0])
    images: list[Image] = []
    disk.after_each = lambda: images.extend(disk.crash_images())
    for event in EVENTS[1:]:
        ledger.note(event)
    assert images == []
    ledger.commit()
    disk.after_each = lambda: None
    left = {found_on(image).control.revision for image in images}
    assert left > {1, len(EVENTS)}, "some of them, the first ones, may be there after a crash"
    assert {verdict(1, len(EVENTS), image) for image in images} == {"fine"}
    after = {verdict(len(EVENTS), len(EVENTS), image) for image in disk.crash_images()}
    assert after == {"fine"}


def test_nor_does_another_one_during_recovery() -> None:
    twice = 0
    for acknowledged, begun, image in crash_points(new_disk()):
        if decoded(image[PLAN_PATH] or b"").control.run_id is None:
            continue
        for again in crash_points_of_recovery(image):
            assert verdict(acknowledged, begun, again) == "fine"
            twice += 1
    assert twice > 50


class NeverSyncs(FakeDisk):
    def fsync(self, fd: int) -> None:
        del fd


class SyncsNoFiles(FakeDisk):
    def fsync(self, fd: int) -> None:
        if fd in self.directories_open():
            super().fsync(fd)


class SyncsNoDirectories(FakeDisk):
    def fsync(self, fd: int) -> None:
        if fd not in self.directories_open():
            super().fsync(fd)


class SyncsNoAppends(FakeDisk):
    def fdatasync(self, fd: int) -> None:
        del fd


@pytest.mark.parametrize(
    ("careless", "faults"),
    [
        (NeverSyncs, {"lost"}),
        (SyncsNoFiles, {"lost", "garbage"}),
        (SyncsNoDirectories, {"lost"}),
        (SyncsNoAppends, {"lost", "garbage"}),
    ],
)
def test_this_would_be_noticed_if_a_sync_were_missing(
    careless: type[FakeDisk], faults: set[str]
) -> None:
    assert faults <= verdicts(new_disk(careless)).keys()


# --- calls fail ----------------------------------------------------------------------------------


def tell_on(disk: FakeDisk) -> list[int]:
    """Tell the story, trying an event again when it fails; return which events needed that."""
    clock = Clock(step=0.1)
    ledger = begin(disk, clock)
    failed = []
    for number, event in enumerate(EVENTS, 1):
        try:
            ledger.record(event)
        except StoreFailed:
            failed.append(number)
            if ledger.plan == PLANS[number]:  # it is recorded, but the file does not name the run
                ledger.flush()
            else:
                assert ledger.plan == PLANS[number - 1]
                assert found_on(disk.image()) == PLANS[number - 1]
                ledger.record(event)
        assert ledger.plan == PLANS[number]
        assert found_on(disk.image()) == PLANS[number]
        if number == 4:
            try:
                ledger.flush()
            except StoreFailed:
                ledger.flush()
    try:
        ledger.close()
    except StoreFailed:
        assert found_on(disk.image()) == PLANS[-1]
    return failed


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_any_one_call_may_fail_and_nothing_acknowledged_is_lost(code: int) -> None:
    whole = new_disk()
    begin(whole, Clock())
    set_up = whole.calls
    tell_on(whole := new_disk())
    reported = 0
    for number in range(set_up + 1, whole.calls + 1):
        disk = new_disk()
        disk.fail_call(number, code)
        reported += len(tell_on(disk))
        assert found_on(disk.image()) == PLANS[-1]
    assert reported > 10


def test_a_run_whose_journal_cannot_be_begun_can_be_begun_later() -> None:
    whole = new_disk()
    begin(whole, Clock())
    for number in range(1, whole.calls + 1):
        disk = new_disk()
        disk.fail_call(number, errno.EIO)
        with pytest.raises(StoreFailed):
            begin(disk, Clock())
        assert number_on(disk) == 0


def test_a_full_disk_is_reported_and_may_be_emptied_again() -> None:
    for space in range(0, 2000, 7):
        disk, clock = new_disk(), Clock(step=0.1)
        ledger = begin(disk, clock)
        disk.limit_space(space)
        recorded, failure = 0, None
        for event in EVENTS:
            try:
                ledger.record(event)
            except StoreFailed as error:
                failure = error
                break
            recorded += 1
        if failure is not None:
            assert failure.errno == errno.ENOSPC
            assert "No space left on device" in str(failure)
            assert decoded(disk.read(PLAN_PATH)).control.revision <= recorded
        disk.limit_space(None)
        for event in EVENTS[ledger.plan.control.revision :]:
            ledger.record(event)
        ledger.close()
        assert found_on(disk.image()) == PLANS[-1]


def test_a_plan_file_that_cannot_be_written_is_no_reason_to_forget_an_event() -> None:
    disk, clock = new_disk(), Clock()
    ledger = begin(disk, clock)
    ledger.record(EVENTS[0])
    for event in EVENTS[1:4]:
        clock.now += 1.0
        disk.limit_space(260)  # enough for the event, not for what a save has to say
        ledger.record(event)
        assert ledger.trouble is not None
        assert ledger.trouble.errno == errno.ENOSPC
    assert number_on(disk) == 1
    assert found_on(disk.image()) == PLANS[4]
    with pytest.raises(StoreFailed):
        ledger.flush()
    disk.limit_space(None)
    ledger.flush()
    assert (ledger.trouble, number_on(disk)) == (None, 4)


class RenamesNothing(FakeDisk):
    stuck = False

    def rename(self, source: Path, target: Path) -> None:
        if self.stuck:
            raise OSError(errno.EIO, "no")
        super().rename(source, target)


def test_a_file_that_many_saves_failed_to_replace_is_still_ours() -> None:
    disk, clock = new_disk(RenamesNothing), Clock()
    assert isinstance(disk, RenamesNothing)
    ledger = begin(disk, clock)
    ledger.record(EVENTS[0])
    disk.stuck = True
    for event in EVENTS[1:]:
        clock.now += 1.0
        ledger.record(event)
    assert (number_on(disk), len(ledger._versions)) == (1, len(EVENTS))
    assert found_on(disk.image()) == PLANS[-1]
    disk.stuck = False
    ledger.close()
    assert (number_on(disk), ledger._versions) == (6, (digest(disk.read(PLAN_PATH)),))
