from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.doubles.disk import FakeDisk
from tests.runner.story import (
    EVENTS,
    JOURNALS,
    PLAN_PATH,
    PLANS,
    Clock,
    NumberWriter,
    begin,
    found_on,
    new_disk,
    number_on,
    resume,
)

from dwindle.adapters.formats.graph.plan import GraphWriter, decode
from dwindle.adapters.store.disk import DurableFile
from dwindle.adapters.store.journal import JsonlJournal
from dwindle.kernel.errors import IllegalEvent
from dwindle.kernel.events import SessionStarted
from dwindle.kernel.model import AtomId, Plan, Role
from dwindle.kernel.transitions import apply
from dwindle.ports.store import StoreFailed
from dwindle.runner.ledger import (
    SAVE_EVERY,
    EditedByHand,
    Ledger,
    OutOfStep,
    Store,
    digest,
    refold,
)

# --- recording -----------------------------------------------------------------------------------


class CountsSyncs:
    """How often the journal of a disk was synced since."""

    def __init__(self) -> None:
        self.count = 0

    @classmethod
    def of(cls, disk: FakeDisk) -> CountsSyncs:
        counter, sync = cls(), disk.fdatasync

        def counted(fd: int) -> None:
            counter.count += 1
            sync(fd)

        disk.fdatasync = counted  # type: ignore[method-assign]
        return counter


def test_recording_gives_the_plan_that_the_kernel_says() -> None:
    ledger = begin(new_disk(), Clock())
    assert [ledger.record(event) for event in EVENTS] == PLANS[1:]
    assert ledger.plan == PLANS[-1]


def test_what_the_kernel_refuses_is_written_nowhere() -> None:
    disk = new_disk()
    ledger = begin(disk, Clock())
    ledger.record(EVENTS[0])
    before = disk.image()
    with pytest.raises(IllegalEvent):
        ledger.record(SessionStarted(atom=AtomId("nobody"), role=Role.WORKER))
    assert (disk.image(), ledger.plan) == (before, PLANS[1])


def test_the_plan_file_is_written_at_once_when_idle_and_seldom_when_busy() -> None:
    disk, clock = new_disk(), Clock()
    ledger = begin(disk, clock)
    ledger.record(EVENTS[0])
    trailing = [number_on(disk)]
    for event, pause in zip(EVENTS[1:], (0.01, 0.2, 0.4, 0.01, 5.0), strict=True):
        clock.now += pause
        ledger.record(event)
        trailing.append(number_on(disk))
    assert trailing == [1, 1, 1, 4, 4, 6]


def test_what_was_noted_becomes_durable_in_one_go() -> None:
    disk = new_disk()
    ledger = begin(disk, Clock())
    ledger.record(EVENTS[0])
    before = disk.image()
    assert [ledger.note(event) for event in EVENTS[1:4]] == PLANS[2:5]
    assert (disk.image(), ledger.plan) == (before, PLANS[4])
    syncs = CountsSyncs.of(disk)
    ledger.commit()
    assert (syncs.count, list(ledger.history())) == (1, EVENTS[:4])
    ledger.commit()
    assert syncs.count == 1
    assert (found_on(disk.image()), ledger.plan) == (PLANS[4], PLANS[4])


def test_what_was_noted_is_in_the_file_after_a_flush() -> None:
    disk = new_disk()
    ledger = begin(disk, Clock())
    ledger.record(EVENTS[0])
    ledger.note(EVENTS[1])
    ledger.flush()
    assert (number_on(disk), found_on(disk.image())) == (2, PLANS[2])


def test_what_could_not_be_committed_has_not_happened() -> None:
    disk = new_disk()
    ledger = begin(disk, Clock())
    ledger.record(EVENTS[0])
    before = disk.image()
    for event in EVENTS[1:4]:
        ledger.note(event)
    disk.limit_space(100)
    with pytest.raises(StoreFailed):
        ledger.commit()
    assert (disk.image(), ledger.plan) == (before, PLANS[1])
    disk.limit_space(None)
    assert [ledger.record(event) for event in EVENTS[1:]] == PLANS[2:]


def test_the_ledger_of_a_tree_has_a_journal_and_no_file() -> None:
    disk = new_disk()
    journal = JsonlJournal.create(disk, JOURNALS, "01RUN", after=0, versions=())
    ledger = Ledger(PLANS[0], journal)
    assert [ledger.record(event) for event in EVENTS] == PLANS[1:]
    before = disk.image()
    assert ledger.seconds_until_due() is None
    ledger.flush()
    ledger.close()
    assert disk.image() == before


def test_the_loop_can_ask_how_long_it_may_sleep() -> None:
    disk, clock = new_disk(), Clock()
    ledger = begin(disk, clock)
    assert ledger.seconds_until_due() is None
    ledger.record(EVENTS[0])
    assert ledger.seconds_until_due() is None
    clock.now += 0.1
    ledger.record(EVENTS[1])
    assert ledger.seconds_until_due() == pytest.approx(SAVE_EVERY - 0.1)
    ledger.save_when_due()
    assert number_on(disk) == 1
    clock.now += 1.0
    ledger.save_when_due()
    assert (number_on(disk), ledger.seconds_until_due()) == (2, None)


def test_flush_and_close_bring_the_file_up_to_date() -> None:
    disk = new_disk()
    ledger = begin(disk, Clock())
    for event in EVENTS[:3]:
        ledger.record(event)
    ledger.flush()
    after_flush = number_on(disk)
    ledger.record(EVENTS[3])
    ledger.close()
    assert (after_flush, number_on(disk)) == (3, 4)


def test_a_run_that_the_file_does_not_name_yet_is_not_acknowledged() -> None:
    disk = new_disk()
    ledger = begin(disk, Clock())
    ledger.record(EVENTS[0])
    assert number_on(disk) == 1  # else a crash now would leave a journal that no runner looks for

    disk = new_disk()
    ledger = begin(disk, Clock())
    disk.limit_space(200)
    with pytest.raises(StoreFailed):
        ledger.record(EVENTS[0])
    assert number_on(disk) == 0
    disk.limit_space(None)
    ledger.close()
    assert resume(disk).plan == PLANS[1]


def test_a_plan_that_does_not_fit_the_journal_is_refused() -> None:
    disk = new_disk()
    ledger = begin(disk, Clock())
    ledger.record(EVENTS[0])
    ledger._apply = lambda plan, _: replace(plan, control=replace(plan.control, revision=7))
    before = disk.image()
    with pytest.raises(OutOfStep) as refusal:
        ledger.record(EVENTS[1])
    assert (refusal.value.revision, refusal.value.expected) == (7, 2)
    assert str(refusal.value) == "the plan is at revision 7, the journal allows 2"
    assert disk.image() == before


# --- recovering ----------------------------------------------------------------------------------


def stopped_after(count: int) -> FakeDisk:
    disk = new_disk()
    ledger = begin(disk, Clock())
    for event in EVENTS[:count]:
        ledger.record(event)
    ledger.close()
    return disk


def killed_after(count: int) -> FakeDisk:
    """Only the first event got into the file."""
    disk = new_disk()
    ledger = begin(disk, Clock())
    for event in EVENTS[:count]:
        ledger.record(event)
    return FakeDisk(disk.image())


def test_what_the_file_does_not_have_yet_is_folded_over_it() -> None:
    disk = killed_after(5)
    assert number_on(disk) == 1
    ledger = resume(disk)
    assert (ledger.plan, ledger.seconds_until_due()) == (PLANS[5], 0)
    assert ledger.record(EVENTS[5]) == PLANS[6]
    ledger.close()
    assert (number_on(disk), resume(disk).plan) == (6, PLANS[6])


def test_an_edit_by_hand_is_noticed() -> None:
    for disk in (stopped_after(3), killed_after(3)):
        edited = FakeDisk({**disk.image(), PLAN_PATH: b"This is the plan after 1 events, edited"})
        journal = JsonlJournal(edited, JOURNALS, "01RUN")
        file = DurableFile(edited, PLAN_PATH)
        with pytest.raises(EditedByHand) as refusal:
            Ledger.recover(PLANS[1], Store(journal=journal, file=file, writer=NumberWriter()))
        assert (refusal.value.found, refusal.value.expected) == (
            digest(file.read()),
            journal.versions,
        )
        assert str(refusal.value) == "the plan file was edited since it was last written"


def test_going_back_to_an_older_file_is_an_edit() -> None:
    disk = stopped_after(3)
    for older in range(3):
        content = NumberWriter().encode(PLANS[older])
        back = FakeDisk({**disk.image(), PLAN_PATH: content})
        store = Store(
            journal=JsonlJournal(back, JOURNALS, "01RUN"),
            file=DurableFile(back, PLAN_PATH),
            writer=NumberWriter(),
        )
        with pytest.raises(EditedByHand):
            Ledger.recover(PLANS[older], store)


def test_a_file_ahead_of_its_journal_is_refused() -> None:
    disk = stopped_after(3)
    lines = disk.read(JOURNALS / "01RUN.jsonl").splitlines(keepends=True)
    # Drop the third event, and what follows it; the file's version stays known.
    disk = FakeDisk({**disk.image(), JOURNALS / "01RUN.jsonl": b"".join(lines[:-3])})
    journal = JsonlJournal(disk, JOURNALS, "01RUN")
    journal.expect((digest(disk.read(PLAN_PATH)),))
    store = Store(journal=journal, file=DurableFile(disk, PLAN_PATH), writer=NumberWriter())
    with pytest.raises(OutOfStep) as refusal:
        Ledger.recover(PLANS[3], store)
    assert (refusal.value.revision, refusal.value.expected) == (3, 2)


def left_at_rest(*, paused: bool = False, why: str | None = None) -> tuple[Plan, Store]:
    """A run that no runner holds, with a real plan file."""
    control = replace(PLANS[3].control, redirect_requested=paused, stop_reason=why)
    plan = replace(PLANS[3], control=control)
    writer = GraphWriter(b"A body.\n")
    content = writer.encode(plan)
    disk = FakeDisk({**stopped_after(3).image(), PLAN_PATH: content})
    journal = JsonlJournal(disk, JOURNALS, "01RUN")
    journal.expect((digest(content),))
    return plan, Store(journal=journal, file=DurableFile(disk, PLAN_PATH), writer=writer)


@pytest.mark.parametrize(
    ("left", "asked"),
    [
        ({}, {"stop_requested": True, "stop_reason": "enough"}),
        ({}, {"stop_requested": True}),
        ({}, {"redirect_requested": True}),
        ({"paused": True}, {"stop_requested": True}),
        ({"why": "nothing is left to try"}, {"stop_requested": True}),
    ],
)
def test_what_the_file_asked_for_between_runs_is_dropped(
    left: dict[str, Any], asked: dict[str, Any]
) -> None:
    plan, store = left_at_rest(**left)
    edited = replace(plan, control=replace(plan.control, **asked))
    store.file.replace(store.writer.encode(edited))
    ledger = Ledger.recover(edited, store)
    assert (ledger.plan, store.file.read()) == (plan, store.writer.encode(plan))
    assert ledger.is_ours(store.file.read())
    ledger.close()
    assert (ledger.plan, store.file.read()) == (plan, store.writer.encode(plan))


@pytest.mark.parametrize("flags", [{}, {"stop_requested": True}, {"redirect_requested": True}])
def test_more_than_a_flag_is_an_edit(flags: dict[str, Any]) -> None:
    plan, store = left_at_rest()
    objective = replace(plan.objective, goal="another")
    edited = replace(plan, objective=objective, control=replace(plan.control, **flags))
    store.file.replace(store.writer.encode(edited))
    with pytest.raises(EditedByHand):
        Ledger.recover(edited, store)


def test_an_event_that_the_kernel_refuses_on_replay_is_named() -> None:
    with pytest.raises(IllegalEvent) as refusal:
        refold(
            PLANS[1], [EVENTS[1], SessionStarted(atom=AtomId("nobody"), role=Role.WORKER)], apply
        )
    assert refusal.value.__notes__[0].startswith(
        "while replaying journal record 3: SessionStarted("
    )


def test_a_real_plan_file_at_any_age_leads_to_the_same_plan() -> None:
    """Also with a session in flight, which is then not mistaken for a stranger's."""
    for age, old in enumerate(PLANS[1:], 1):
        content = GraphWriter(b"A body.\n").encode(old)
        file_plan = decode(content).plan
        assert file_plan == old
        disk = FakeDisk({**killed_after(6).image(), PLAN_PATH: content})
        journal = JsonlJournal(disk, JOURNALS, "01RUN")
        journal.expect((digest(content),))
        store = Store(
            journal=journal, file=DurableFile(disk, PLAN_PATH), writer=GraphWriter(b"A body.\n")
        )
        ledger = Ledger.recover(file_plan, store)
        ledger.close()
        assert (age, ledger.plan) == (age, PLANS[6])
        assert decode(disk.read(PLAN_PATH)).plan == PLANS[6]


# --- what the loop asks it -----------------------------------------------------------------------


def test_it_knows_what_it_wrote_and_puts_it_back() -> None:
    disk, clock = new_disk(), Clock()
    ledger = begin(disk, clock)
    ledger.record(EVENTS[0])
    ours = disk.read(PLAN_PATH)
    assert ledger.saved == (PLANS[1],)
    assert ledger.is_ours(ours)
    assert not ledger.is_ours(b"somebody else's")
    DurableFile(disk, PLAN_PATH).replace(b"somebody else's")
    ledger.put_back()
    assert disk.read(PLAN_PATH) == ours


def test_all_that_happened_can_be_read_again() -> None:
    ledger = begin(new_disk(), Clock())
    for event in EVENTS:
        ledger.record(event)
    assert list(ledger.history()) == EVENTS
