"""Outboxes: what one session left is never there for the next."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from dwindle.ports.agent import Place
from dwindle.ports.process import Command, Secret
from dwindle.runner.outboxes import REPORT_BYTES, Outboxes

TREE = Path("/tree")


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_a_session_finds_its_order_and_nothing_else(tmp_path: Path) -> None:
    place = Outboxes(tmp_path / "outbox").handed_out(TREE, b"order", b"prompt")
    assert (place.workspace, place.outbox.parent) == (TREE, tmp_path / "outbox")
    assert files_in(place.outbox) == {"order.json": b"order"}


def test_an_outbox_that_came_back_as_it_was_is_used_again_with_other_text(tmp_path: Path) -> None:
    outboxes = Outboxes(tmp_path / "outbox")
    first = outboxes.handed_out(TREE, b"a long order", b"a long prompt")
    first.report.write_bytes(b"{}")
    outboxes.taken_back(first, tmp_path / "report.json")
    second = outboxes.handed_out(TREE, b"order", b"prompt")
    assert second == first
    assert files_in(second.outbox) == {"order.json": b"order"}
    assert (tmp_path / "report.json").read_bytes() == b"{}"


def test_a_report_is_kept_without_the_secrets_of_its_command(tmp_path: Path) -> None:
    outboxes = Outboxes(tmp_path / "outbox")
    place = outboxes.handed_out(TREE, b"order", b"prompt")
    place.report.write_bytes(b'{"reason": "sk-canary"}')
    secrets = (Secret(b"sk-canary", b"[KEY]"),)
    command = Command(argv=("true",), cwd=TREE, secrets=secrets)
    outboxes.taken_back(place, tmp_path / "report.json", command)
    assert (tmp_path / "report.json").read_bytes() == b'{"reason": "[KEY]"}'
    assert not place.report.exists()


def test_two_sessions_never_have_the_same(tmp_path: Path) -> None:
    outboxes = Outboxes(tmp_path / "outbox")
    one, two = (outboxes.handed_out(TREE, b"", b"") for _ in range(2))
    assert one.outbox != two.outbox


def another_file(place: Path) -> None:
    (place / "notes").write_text("remember me")


def a_folder(place: Path) -> None:
    (place / "folder").mkdir()


def the_order_gone(place: Path) -> None:
    (place / "order.json").unlink()


def a_link_in_place_of_the_order(place: Path) -> None:
    (place / "order.json").unlink()
    (place / "order.json").symlink_to(place.parent.parent / "elsewhere")


def the_order_under_another_name_too(place: Path) -> None:
    os.link(place / "order.json", place.parent.parent / "elsewhere")


def all_of_it_gone(place: Path) -> None:
    (place / "order.json").unlink()
    place.rmdir()


def a_link_in_place_of_it_all(place: Path) -> None:
    place.rename(place.parent.parent / "elsewhere")
    place.symlink_to(place.parent.parent / "elsewhere")


@pytest.mark.parametrize(
    "mischief",
    [
        another_file,
        a_folder,
        the_order_gone,
        a_link_in_place_of_the_order,
        the_order_under_another_name_too,
        all_of_it_gone,
        a_link_in_place_of_it_all,
    ],
)
def test_one_that_came_back_otherwise_is_removed(
    tmp_path: Path, mischief: Callable[[Path], None]
) -> None:
    outboxes = Outboxes(tmp_path / "outbox")
    first = outboxes.handed_out(TREE, b"order", b"prompt")
    mischief(first.outbox)
    outboxes.taken_back(first, tmp_path / "report.json")
    assert list((tmp_path / "outbox").iterdir()) == []
    second = outboxes.handed_out(TREE, b"other", b"words")
    assert second.outbox != first.outbox
    assert files_in(second.outbox) == {"order.json": b"other"}
    if (tmp_path / "elsewhere").is_file():
        assert (tmp_path / "elsewhere").read_bytes() == b"order"


def test_one_that_cannot_be_written_any_more_is_given_up(tmp_path: Path) -> None:
    outboxes = Outboxes(tmp_path / "outbox")
    first = outboxes.handed_out(TREE, b"order", b"prompt")
    outboxes.taken_back(first, tmp_path / "report.json")
    first.order.unlink()
    first.order.mkdir()
    second = outboxes.handed_out(TREE, b"other", b"words")
    assert (second.outbox != first.outbox, first.outbox.exists()) == (True, False)


def test_what_a_killed_runner_left_is_not_handed_out(tmp_path: Path) -> None:
    left = Outboxes(tmp_path / "outbox").handed_out(TREE, b"old", b"words")
    left.report.write_bytes(b"{}")
    place = Outboxes(tmp_path / "outbox").handed_out(TREE, b"order", b"prompt")
    assert files_in(place.outbox) == {"order.json": b"order"}


def test_nothing_is_left_when_all_is_over(tmp_path: Path) -> None:
    outboxes = Outboxes(tmp_path / "outbox")
    places = [outboxes.handed_out(TREE, b"", b"") for _ in range(2)]
    for place in places:
        outboxes.taken_back(place, tmp_path / "report.json")
    outboxes.clear()
    assert list((tmp_path / "outbox").iterdir()) == []


# --- reports -------------------------------------------------------------------------------------


def kept(tmp_path: Path, write: Callable[[Path], object]) -> bytes | None:
    """What is kept of a report that an agent wrote so."""
    outboxes = Outboxes(tmp_path / "outbox")
    place: Place = outboxes.handed_out(TREE, b"", b"")
    write(place.report)
    outboxes.taken_back(place, tmp_path / "kept.json")
    outboxes.clear()
    assert list((tmp_path / "outbox").iterdir()) == []
    path = tmp_path / "kept.json"
    return path.read_bytes() if path.exists() else None


def test_a_report_is_kept_as_it_is(tmp_path: Path) -> None:
    assert kept(tmp_path, lambda report: report.write_bytes(b"not JSON")) == b"not JSON"


def test_of_a_huge_report_no_more_is_kept_than_could_be_read(tmp_path: Path) -> None:
    huge = b"x" * (REPORT_BYTES + 1000)
    assert kept(tmp_path, lambda report: report.write_bytes(huge)) == huge[:REPORT_BYTES]
    nothing = bytes(REPORT_BYTES)
    shown = kept(tmp_path, lambda report: report.write_bytes(nothing))
    assert shown == (b"\\x00" * REPORT_BYTES)[:REPORT_BYTES]


def test_a_report_is_kept_as_text(tmp_path: Path) -> None:
    said = b'{"summary": "\x7f \xe2\x80\xae"} \x1b[2J'
    shown = b'{"summary": "\\u007f \\u202e"} \\x1b[2J'
    assert kept(tmp_path, lambda report: report.write_bytes(said)) == shown


def test_a_report_that_has_another_name_elsewhere_is_copied(tmp_path: Path) -> None:
    def linked(report: Path) -> None:
        report.write_bytes(b"{}")
        os.link(report, tmp_path / "mine")

    assert kept(tmp_path, linked) == b"{}"
    (tmp_path / "mine").write_bytes(b"changed afterwards")
    assert (tmp_path / "kept.json").read_bytes() == b"{}"


def test_what_is_no_file_is_no_report(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    assert kept(tmp_path, lambda report: report.symlink_to(tmp_path / "secret")) is None
    assert kept(tmp_path, lambda report: report.mkdir()) is None
    assert kept(tmp_path, os.mkfifo) is None
    assert kept(tmp_path, lambda _: None) is None
