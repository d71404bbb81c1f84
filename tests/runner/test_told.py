"""What a session is told is kept, by whoever has time for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dwindle.kernel.model import AtomId, Role
from dwindle.ports.work import Purpose, WorkOrder
from dwindle.runner.orders import order_json
from dwindle.runner.prompt import prompt_for
from dwindle.runner.told import Told

ORDER = WorkOrder(
    role=Role.WORKER,
    purpose=Purpose.WORK,
    run="01RUN",
    atom=AtomId("A1"),
    description="do it",
    goal="a goal",
    attempt=1,
    nonce=1,
    timeout_seconds=1.0,
)


def kept_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_order_and_prompt_are_kept_in_a_folder_that_is_made(tmp_path: Path) -> None:
    told = Told(ORDER, tmp_path / "0001" / "A1.1.worker")
    told.write()
    told.kept()
    assert kept_in(told.folder) == {
        "order.json": order_json(ORDER),
        "prompt.md": prompt_for(ORDER).encode(),
    }


def test_what_nobody_has_written_yet_is_written_when_it_is_needed(tmp_path: Path) -> None:
    told = Told(ORDER, tmp_path / "A1.1.worker")
    told.kept()
    assert sorted(kept_in(told.folder)) == ["order.json", "prompt.md"]


def test_it_is_not_written_again(tmp_path: Path) -> None:
    told = Told(ORDER, tmp_path / "A1.1.worker")
    told.write()
    (told.folder / "order.json").write_bytes(b"as somebody left it")
    told.kept()
    assert kept_in(told.folder)["order.json"] == b"as somebody left it"


def test_a_disk_that_says_no_is_heard_of_where_the_session_starts(tmp_path: Path) -> None:
    (tmp_path / "0001").write_bytes(b"in the way")
    told = Told(ORDER, tmp_path / "0001" / "A1.1.worker")
    told.write()
    with pytest.raises(NotADirectoryError):
        told.kept()
