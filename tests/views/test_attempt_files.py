"""What is kept of a session: read piece by piece, as text, and nothing that lies elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.surfaces.command import write
from tests.views.recorded import RUN, Recorded, plan_to_run

from dwindle.ports.store import StoreFailed
from dwindle.views.read_model.attempt_files import last_lines, log_stamp, parts_of, read_part
from dwindle.views.read_model.log_lines import readable
from dwindle.views.read_model.run_view import Follower
from dwindle.views.read_model.shapes import SessionView

LOGS = f".runner/iterations/{RUN}/0001"


@pytest.fixture
def session(tmp_path: Path) -> SessionView:
    """One of A1, with a prompt, a log and a judge of its check; A11 has one of its own."""
    with Recorded(tmp_path, plan_to_run("A1 A11")) as made:
        made.begin().start("A1", "A11")
    write(tmp_path, f"{LOGS}/A1.1.worker/prompt.md", "do it")
    write(tmp_path, f"{LOGS}/A1.1.worker/session.log", "one\ntwo\nthree\n")
    write(tmp_path, f"{LOGS}/A1.1.worker/order.json", "{}")
    write(tmp_path, f"{LOGS}/A1.1.verifier.1/prompt.md", "judge it")
    write(tmp_path, f"{LOGS}/A11.2.worker/prompt.md", "another")
    followed = Follower(tmp_path, RUN)
    followed.poll()
    return followed.sessions[2]


def test_the_parts_of_a_session_and_of_no_other(tmp_path: Path, session: SessionView) -> None:
    found = [
        (part["name"], part["kind"], part["size"]) for part in parts_of(tmp_path, RUN, session)
    ]
    assert found == [
        ("verifier.1/prompt.md", "prompt", 8),
        ("worker/prompt.md", "prompt", 5),
        ("worker/session.log", "log", 14),
        ("worker/order.json", "file", 2),
    ]


def test_pieces_of_a_part(tmp_path: Path, session: SessionView) -> None:
    name = "worker/session.log"
    assert read_part(tmp_path, RUN, session, name, start=4, limit=3) == {
        "name": name,
        "text": "two",
        "size": 14,
        "start": 4,
        "end": 7,
    }
    last = read_part(tmp_path, RUN, session, name, limit=6, from_end=True)
    assert last is not None
    assert (last["text"], last["start"], last["end"]) == ("three\n", 8, 14)
    beyond = read_part(tmp_path, RUN, session, name, start=99)
    assert beyond is not None
    assert (beyond["text"], beyond["start"]) == ("", 14)


@pytest.mark.parametrize(
    "name", ["../../../etc/passwd", "/etc/passwd", "worker/../A11.2.worker/prompt.md", "", "nobody"]
)
def test_what_is_no_part_is_not_read(tmp_path: Path, session: SessionView, name: str) -> None:
    assert read_part(tmp_path, RUN, session, name) is None


def test_links_pipes_and_folders_are_not_followed(tmp_path: Path, session: SessionView) -> None:
    secret = write(tmp_path, "secret", "the key")
    folder = tmp_path / LOGS / "A1.1.worker"
    (folder / "report.json").symlink_to(secret)
    os.mkfifo(folder / "guard.log")
    (folder / "diff.patch").mkdir()
    (tmp_path / LOGS / "A1.1.probe").symlink_to(tmp_path)
    names = [part["name"] for part in parts_of(tmp_path, RUN, session)]
    assert names == [
        "verifier.1/prompt.md",
        "worker/prompt.md",
        "worker/session.log",
        "worker/order.json",
    ]
    assert read_part(tmp_path, RUN, session, "worker/report.json") is None
    assert read_part(tmp_path, RUN, session, "probe/secret") is None


def test_logs_that_lie_outside_of_the_repository_are_not_read(
    tmp_path: Path, session: SessionView, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (tmp_path / ".runner/iterations").rename(elsewhere / "iterations")
    (tmp_path / ".runner/iterations").symlink_to(elsewhere / "iterations")
    assert parts_of(tmp_path, RUN, session) == []


def test_what_can_be_no_run_is_refused(tmp_path: Path, session: SessionView) -> None:
    with pytest.raises(StoreFailed):
        parts_of(tmp_path, "../x", session)


def test_the_last_lines_of_a_log_that_grows(tmp_path: Path, session: SessionView) -> None:
    before = log_stamp(tmp_path, RUN, session)
    assert last_lines(tmp_path, RUN, session, 2) == ["two", "three"]
    write(tmp_path, f"{LOGS}/A1.1.worker/session.log", "one\ntwo\nthree\n\x1b[2Jfour")
    assert last_lines(tmp_path, RUN, session, 1) == ["\\x1b[2Jfour"]
    assert log_stamp(tmp_path, RUN, session) != before
    assert last_lines(tmp_path, RUN, {**session, "iteration": 7}, 3) == []


def test_records_are_put_into_words() -> None:
    assert readable(
        [
            "plain words",
            "",
            '{"type":"system","subtype":"init"}',
            '{"message":{"content":[{"type":"text","text":"I look\\naround"},"odd"]}}',
            '{"message":{"content":[{"type":"tool_use","name":"Bash","input":{"command":"ls"}}]}}',
            '{"result":"\\u001b[2J\\u202e"}',
            '{"message":{"content":"all at once"}}',
            '{"item":{"text":"thinking","command":3}}',
            '{"type":"result","result":"done"}',
            '{"type":"tool","message":{"content":[{"type":"tool_use","input":7}]}}',
            '["a list"]',
            "{half a record",
            '{"a":' * 5000,
        ]
    )[:-1] == [
        "plain words",
        "I look",
        "around",
        "[Bash] ls",
        "\\x1b[2J\\u202e",
        "all at once",
        "thinking",
        "done",
        "[tool]",
        '["a list"]',
        "{half a record",
    ]
