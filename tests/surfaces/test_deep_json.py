"""JSON that is nested without end, where an agent may have written it: malformed, and no crash."""

from __future__ import annotations

from pathlib import Path

import pytest

from dwindle.adapters.store.disk import RealDisk
from dwindle.adapters.store.event_codec import EventUnfit, decode
from dwindle.adapters.store.journal import JournalDamaged, JsonlJournal
from dwindle.app.host.lease import NOTE, last_lease
from dwindle.runner.modes.tree.log import REASONS, refusal_in
from dwindle.views.read_model.runs import runs

DEEP = b'{"n":' + b"[" * 100_000 + b"]" * 100_000 + b"}"


def test_the_note_of_a_host(tmp_path: Path) -> None:
    (tmp_path / NOTE).parent.mkdir()
    (tmp_path / NOTE).write_bytes(DEEP)
    assert last_lease(tmp_path) is None


def test_the_log_of_an_iteration(tmp_path: Path) -> None:
    (tmp_path / REASONS).write_bytes(DEEP)
    assert refusal_in(tmp_path) is None


def test_a_journal(tmp_path: Path) -> None:
    folder = tmp_path / ".runner/journal"
    folder.mkdir(parents=True)
    (folder / "01RUN.jsonl").write_bytes(DEEP + b"\n")
    assert [line["goal"] for line in runs(tmp_path)] == [""]
    with pytest.raises(JournalDamaged):
        JsonlJournal(RealDisk(), folder, "01RUN")
    with pytest.raises(EventUnfit):
        decode(DEEP)
