"""A disk that is full ends every command with the same exit code, wherever it is noticed."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.loop.story import RUN, Story, did
from tests.loop.tree_story import TreeStory
from tests.surfaces.command import Ended, dwindle, git

pytestmark = pytest.mark.slow

SPARE = "free_disk_bytes = 1\nfree_disk_percent = 0.0001"
"""No reserve, so that the disk itself says no."""
SIZES = (0, 8, 16, 32, 64, 96)
"""KiB that are left: each is noticed by another part, the first by most."""
CODES = {0, 43}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    small = ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(place)]
    if subprocess.run(small, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a small disk")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def fill(disk: Path, left: int) -> None:
    facts = os.statvfs(disk)
    size = facts.f_bavail * facts.f_frsize - left * 1024
    (disk / "filler").write_bytes(b"x" * max(size, 0))


def graph(disk: Path, name: str) -> Story:
    story = Story(disk, name).atom("A1", did({"a.txt": "a\n"})).done_when("test -e a.txt")
    return story.settings("limits", SPARE)


def ended(disk: Path, command: str, left: int) -> Ended:
    (disk / "filler").unlink(missing_ok=True)
    name = f"{command} {left}"
    if command == "run a tree":
        tree = TreeStory(disk, name).leaves("a", "b").settings("limits", SPARE).prepared()
        fill(disk, left)
        return tree.called("run", "--run-id", RUN)
    if command == "run a graph":
        story = graph(disk, name).aligned()
        fill(disk, left)
        return dwindle(story.folder, "run")
    if command == "align":
        story = graph(disk, name).aligned()
        (story.folder / ".claude/aot-loop-state.md").unlink()
        fill(disk, left)
        draft = f"--from={disk / 'draft.yaml'}"
        more = ("--yes", "--cannot-run-yet-ok")
        return dwindle(story.folder, "align", draft, *more)
    folder = disk / name
    folder.mkdir()
    git(folder, "init", "--quiet")
    fill(disk, left)
    return dwindle(folder, "init")


@pytest.mark.parametrize("command", ["run a graph", "run a tree", "align", "init"])
def test_a_full_disk_is_said_and_ends_with_43(disk: Path, command: str) -> None:
    found = {left: ended(disk, command, left) for left in SIZES}
    codes = {left: said.code for left, said in found.items()}
    assert codes[0] == 43, json.dumps([found[0].out, found[0].err])
    assert set(codes.values()) <= CODES, codes
    assert all("Traceback" not in said.err and "a bug" not in said.err for said in found.values())
