"""The plan file while a run holds it: requests are honoured, anything else is tampering."""

from __future__ import annotations

import errno
import threading
from pathlib import Path

import pytest
from tests.runner.story import EVENTS, FIRST_PLAN, Clock

from dwindle.adapters.formats.graph.plan import GraphWriter, decode
from dwindle.adapters.store import disk
from dwindle.adapters.store.disk import DurableFile, RealDisk
from dwindle.adapters.store.journal import JsonlJournal
from dwindle.kernel.events import Event, RedirectRequested, StopRequested
from dwindle.kernel.model import StopCode
from dwindle.ports.store import StoreFailed
from dwindle.runner.control import GONE, PATIENCE, Pause
from dwindle.runner.file_watch import FileWatch
from dwindle.runner.ledger import Ledger, Store, digest


class Story:
    def __init__(self, folder: Path) -> None:
        self.path = folder / "plan.md"
        self.aside = folder / "logs" / "as-found.md"
        writer = GraphWriter(b"\n# Prompt\n")
        self.path.write_bytes(writer.encode(FIRST_PLAN))
        file = DurableFile(RealDisk(), self.path)
        versions = (digest(file.read()),)
        journal = JsonlJournal.create(
            RealDisk(), folder / "journal", "01RUN", after=0, versions=versions
        )
        self.ledger = Ledger(
            FIRST_PLAN, Store(journal=journal, file=file, writer=writer), clock=Clock()
        )
        self.ledger.record(EVENTS[0])
        self.pause = Pause()
        self.clock = Clock()
        self.watch = FileWatch(
            self.path,
            self.ledger,
            lambda content: (decode(content).plan, decode(content).body),
            self.aside,
            pause=self.pause,
            clock=self.clock,
        )
        assert self.watch.look() == ()
        self.ours = self.path.read_bytes()

    def edited(self, old: str, new: str) -> tuple[Event, ...]:
        text = self.path.read_text()
        assert old in text
        self.path.write_text(text.replace(old, new))
        return self.watch.look()


@pytest.fixture
def story(tmp_path: Path) -> Story:
    return Story(tmp_path)


def test_our_own_saves_are_no_news(story: Story) -> None:
    story.ledger.record(EVENTS[1])
    story.ledger.flush()
    assert story.watch.look() == ()
    assert story.watch.look() == ()


def test_a_stop_may_be_asked_for_in_the_file(story: Story) -> None:
    asked = story.edited("stop_requested: false", "stop_requested: true")
    assert asked == (StopRequested(reason="stop_requested was set in the plan file"),)
    assert story.path.read_bytes() == story.ours
    assert not story.aside.exists()


def test_with_a_reason(story: Story) -> None:
    asked = story.edited(
        "stop_requested: false\n  stop_reason: null",
        'stop_requested: true\n  stop_reason: "lunch"',
    )
    assert asked == (StopRequested(reason="lunch"),)


def test_also_in_one_whose_save_failed_when_it_was_there(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is the new one, and it was not synced."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    story.ledger.record(EVENTS[1])
    with monkeypatch.context() as patch:
        patch.setattr(disk, "_sync_directory", full)
        with pytest.raises(StoreFailed):
            story.ledger.flush()
    assert story.path.read_bytes() != story.ours
    asked = story.edited("stop_requested: false", "stop_requested: true")
    assert asked == (StopRequested(reason="stop_requested was set in the plan file"),)
    assert not story.aside.exists()
    assert story.ledger.saved == (story.ledger.plan,)


def test_a_redirect_may_be_asked_for_in_the_file(story: Story) -> None:
    asked = story.edited("redirect_requested: false", "redirect_requested: true")
    assert asked == (RedirectRequested(active=True),)


def test_a_reason_without_a_request_asks_for_nothing(story: Story) -> None:
    assert story.edited("stop_reason: null", 'stop_reason: "lunch"') == ()
    assert story.path.read_bytes() == story.ours


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("do it", "do something else", "the plan file was changed while the run held it"),
        ("status: running", "status: completed", "the plan file was changed while the run held it"),
        ("# Prompt", "# Prompt\n\nA note.", "the plan file was changed while the run held it"),
        ("objective:", "objctive:", "the plan file was changed and is not valid any more"),
    ],
)
def test_anything_else_is_tampering(story: Story, old: str, new: str, what: str) -> None:
    asked = story.edited(old, new)
    reason = f"{what}; it is kept as as-found.md"
    assert asked == (StopRequested(reason=reason, code=StopCode.TAMPERED),)
    assert story.path.read_bytes() == story.ours
    assert story.aside.read_text() == story.ours.decode().replace(old, new)


def test_a_request_that_is_read_while_it_is_being_written_is_waited_for(story: Story) -> None:
    whole = story.path.read_text().replace("stop_requested: false", "stop_requested: true")
    story.path.write_text(whole[: len(whole) // 2])
    writer = threading.Timer(0.02, story.path.write_text, (whole,))
    writer.start()
    asked = story.watch.look()
    writer.join()
    assert asked == (StopRequested(reason="stop_requested was set in the plan file"),)
    assert not story.aside.exists()


def test_a_file_that_is_gone_comes_back(story: Story) -> None:
    story.path.unlink()
    (asked,) = story.watch.look()
    assert isinstance(asked, StopRequested)
    assert asked.code is StopCode.TAMPERED
    assert story.path.read_bytes() == story.ours


# --- a pause that no client comes for ------------------------------------------------------------


def paused(story: Story) -> None:
    (asked,) = story.edited("redirect_requested: false", "redirect_requested: true")
    story.ledger.record(asked)
    story.ledger.flush()


def test_a_pause_that_the_file_asked_for_ends_the_run_when_no_client_comes(story: Story) -> None:
    paused(story)
    story.clock.now += PATIENCE / 2
    assert story.watch.look() == ()
    story.clock.now += PATIENCE / 2
    assert story.watch.look() == (StopRequested(reason=GONE),)
    assert story.watch.look() == ()


def test_a_client_came(story: Story) -> None:
    paused(story)
    story.pause.holder = story
    story.clock.now += PATIENCE
    assert story.watch.look() == ()
    story.pause.holder = None  # how they leave is between them and the run
    assert story.watch.look() == ()


def test_the_file_takes_it_back(story: Story) -> None:
    paused(story)
    (asked,) = story.edited("redirect_requested: true", "redirect_requested: false")
    assert asked == RedirectRequested(active=False)
    story.clock.now += PATIENCE
    assert story.watch.look() == ()
