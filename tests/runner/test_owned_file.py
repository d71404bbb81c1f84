"""Whatever an agent leaves in the place of a file of ours: read without harm, and put back."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from dwindle.runner.modes.tree.owned_file import content_of, make_way, restore


def gone(path: Path) -> None:
    path.unlink()


def folder(path: Path) -> None:
    path.unlink()
    (path / "deep").mkdir(parents=True)


def link(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.parent.parent / "secret")


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def folder_gone(path: Path) -> None:
    path.unlink()
    path.parent.rmdir()


def folder_is_a_file(path: Path) -> None:
    folder_gone(path)
    path.parent.write_text("x")


def folder_is_a_link(path: Path) -> None:
    folder_gone(path)
    elsewhere = path.parent.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / path.name).write_text("mine")
    path.parent.symlink_to(elsewhere)


@pytest.mark.parametrize(
    "harm", [gone, folder, link, pipe, folder_gone, folder_is_a_file, folder_is_a_link]
)
def test_it_is_no_file_any_more_and_comes_back(
    tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    path = tmp_path / "ours" / "tree.json"
    path.parent.mkdir()
    path.write_text("ours")
    secret = tmp_path / "secret"
    secret.write_text("secret")
    harm(path)
    assert content_of(path, 100) is None
    assert restore(path, b"ours", 100)
    assert content_of(path, 100) == b"ours"
    assert not path.parent.is_symlink()
    assert secret.read_text() == "secret"
    assert not restore(path, b"ours", 100)


def test_no_more_is_read_than_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "big"
    path.write_bytes(b"x" * 100)
    assert content_of(path, 10) == b"x" * 11


def test_what_was_not_there_is_taken_away_again(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    assert not restore(path, None, 100)
    path.mkdir()
    assert restore(path, None, 100)
    assert not path.exists()
    path.write_text("new")
    assert restore(path, None, 100)
    assert not path.exists()


def test_a_plain_file_is_left_in_the_way(tmp_path: Path) -> None:
    path = tmp_path / "tree.json"
    path.write_text("x")
    make_way(path)
    assert path.read_text() == "x"


def test_what_cannot_be_read_is_none(tmp_path: Path) -> None:
    path = tmp_path / "closed"
    path.write_text("x")
    path.chmod(0)
    expected = b"x" if os.geteuid() == 0 else None
    assert content_of(path, 10) == expected
