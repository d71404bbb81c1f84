"""What the runner keeps in the checkout comes back after an agent that took it away."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from dwindle.runner.modes.tree.runner_files import RunnerFiles


@pytest.fixture
def ours(tmp_path: Path) -> RunnerFiles:
    (tmp_path / ".git").mkdir()
    made = RunnerFiles(
        top=tmp_path,
        journal=tmp_path / ".runner/journal/R.jsonl",
        logs=tmp_path / ".runner/iterations",
        second_name=tmp_path / ".git/journal",
    )
    made.journal.parent.mkdir(parents=True)
    made.journal.write_text("one\n", "utf-8")
    made.begin()
    return made


def log_of(ours: RunnerFiles) -> Path:
    folder = ours.logs / "R/0001"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def test_nothing_is_said_where_nothing_is_missing(ours: RunnerFiles) -> None:
    assert ours.restore(log_of(ours)) == ""


def test_the_journal_that_comes_back_is_the_one_that_is_open(ours: RunnerFiles) -> None:
    log = log_of(ours)
    with ours.journal.open("a", encoding="utf-8") as file:
        shutil.rmtree(ours.top / ".runner")

        said = ours.restore(log)
        file.write("two\n")

    missing = ".runner, .runner/journal, .runner/iterations, .runner/iterations/R"
    missing += ", .runner/iterations/R/0001, .runner/journal/R.jsonl"
    assert said == f"files of the runner were removed: {missing}"
    assert ours.journal.read_text("utf-8") == "one\ntwo\n"
    assert log.is_dir()
    assert ours.restore(log) == ""


def test_another_file_in_its_place_is_replaced(ours: RunnerFiles) -> None:
    log = log_of(ours)
    ours.journal.unlink()
    ours.journal.write_text("forged\n", "utf-8")

    said = ours.restore(log)

    assert said == "files of the runner were removed: .runner/journal/R.jsonl"
    assert ours.journal.read_text("utf-8") == "one\n"


def test_a_folder_in_place_of_the_journal(ours: RunnerFiles) -> None:
    log = log_of(ours)
    ours.journal.unlink()
    (ours.journal / "deep").mkdir(parents=True)

    assert "R.jsonl" in ours.restore(log)
    assert ours.journal.read_text("utf-8") == "one\n"


def test_links_and_files_in_place_of_folders(ours: RunnerFiles) -> None:
    """A link is not followed: what it leads to is not ours."""
    log = log_of(ours)
    elsewhere = ours.top / "elsewhere"
    ours.logs.rename(elsewhere)
    ours.logs.symlink_to(elsewhere)
    shutil.rmtree(ours.journal.parent)
    ours.journal.parent.write_text("a file\n", "utf-8")

    said = ours.restore(log)

    assert ".runner/journal, .runner/iterations" in said
    assert (ours.logs.is_symlink(), log.is_dir(), elsewhere.is_dir()) == (False, True, True)
    assert ours.journal.read_text("utf-8") == "one\n"


def test_without_a_second_name_there_is_nothing_to_come_back(ours: RunnerFiles) -> None:
    log = log_of(ours)
    ours.second_name.unlink()
    ours.journal.unlink()

    assert ours.restore(log) == ""
    assert not ours.journal.exists()
