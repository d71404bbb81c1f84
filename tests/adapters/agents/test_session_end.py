from __future__ import annotations

import os
from pathlib import Path

import pytest

from dwindle.adapters.agents.reports.session_end import UnreadableReport, report_file
from dwindle.adapters.agents.reports.strict_json import MAX_BYTES

NOT_A_FILE = "the report is malformed: what is in its place is not a file"


def test_a_file_is_read_and_a_byte_more_than_is_allowed_at_most(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    assert report_file(path) is None
    path.write_bytes(b"{}")
    assert report_file(path) == b"{}"
    path.write_bytes(b"x" * (MAX_BYTES + 100))
    assert len(report_file(path) or b"") == MAX_BYTES + 1


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"{}")
    for target in ("secret", "nowhere"):
        link = tmp_path / f"to-{target}"
        link.symlink_to(tmp_path / target)
        with pytest.raises(UnreadableReport, match=f"^{NOT_A_FILE}$"):
            report_file(link)


def test_a_pipe_is_not_waited_for_and_a_folder_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises(UnreadableReport, match=f"^{NOT_A_FILE}$"):
            report_file(path)


def test_what_cannot_be_opened_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(
        UnreadableReport, match=r"^the report file could not be read: Not a directory$"
    ):
        report_file(tmp_path / "file" / "report.json")
