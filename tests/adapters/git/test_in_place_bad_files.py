"""Agents that leave files which plain git would trip over."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.adapters.git.in_place_places import (
    BRANCH,
    KEPT,
    begun,
    in_step,
    status,
    subject,
)
from tests.adapters.git.places import FILES, files_at, files_in, git, story, write

from dwindle.ports.in_place import Difference
from dwindle.ports.removal import remove
from dwindle.ports.workspace import WorkspaceFailed

pytestmark = pytest.mark.slow


def empty(place: Path) -> None:
    for path in place.iterdir():
        if path.name != ".git":
            remove(path)


@story
async def test_everything_can_be_deleted(place: Path) -> None:
    write(place, {".runner/tree.json": "zero\n", ".runner/journal/01RUN.jsonl": "ours\n"})
    git(place, "add", ".runner/tree.json")
    git(place, "commit", "--quiet", "--message=plan")
    home, base = await begun(place)
    empty(place)
    everything = tuple(sorted([*FILES, ".runner/tree.json"]))
    assert await home.difference(base) == Difference(paths=everything)
    assert await home.set_aside(base, "A/1") == f"{KEPT}/A/1"
    assert files_in(place) == FILES
    in_step(place, base)
    shutil.rmtree(place / "src")
    in_step(place, await home.commit(base, subject(1)))


@story
async def test_a_repository_that_is_gone_is_a_failure_that_says_so(place: Path) -> None:
    home, base = await begun(place)
    shutil.rmtree(place)
    gone = f"{place}/.git is gone, and all of git's memory with it"
    with pytest.raises(WorkspaceFailed) as refused:
        await home.difference(base)
    assert str(refused.value) == gone
    with pytest.raises(WorkspaceFailed) as refused:
        await home.commit(base, subject(1))
    assert str(refused.value) == gone
    assert not os.access(place, os.F_OK)


@story
async def test_inner_repositories_become_plain_files_and_their_history_moves_out(
    place: Path,
) -> None:
    home, base = await begun(place)
    for name in ("with history", "without", "empty"):
        (place / name).mkdir()
        git(place / name, "init", "--quiet")
        if name != "empty":
            write(place / name, {"a/b.txt": f"{name}\n"})
    git(place / "with history", "add", ".")
    git(place / "with history", "commit", "--quiet", "--message=x")
    inner = git(place / "with history", "rev-parse", "HEAD")
    git(place / "src", "init", "--quiet")
    paths = ("with history/a/b.txt", "without/a/b.txt")
    assert await home.difference(base) == Difference(paths=paths)
    assert await home.difference(base) == Difference(paths=paths)
    commit = await home.commit(base, subject(1))
    in_step(place, commit)
    expected = FILES | {path: path.partition("/")[0] + "\n" for path in paths}
    assert files_at(place, commit) == expected
    kept = sorted((place / ".git/dwindle/01RUN/inner").iterdir())
    assert len(kept) == 3
    found = [git(one, "rev-list", "--all") for one in kept]
    assert inner in found
    assert await home.dirt() == ()
    (place / "another").mkdir()
    git(place / "another", "init", "--quiet")
    write(place, {"another/c.txt": "c\n", "without/more.txt": "more\n"})
    ref = await home.set_aside(commit, "A/2")
    assert ref == f"{KEPT}/A/2"
    assert files_at(place, ref) == expected | {"another/c.txt": "c\n", "without/more.txt": "more\n"}
    in_step(place, commit)


@story
async def test_what_is_no_file(place: Path) -> None:
    home, base = await begun(place)
    os.mkfifo(place / "pipe")
    (place / "README.md").unlink()
    os.mkfifo(place / "README.md")
    with socket.socket(socket.AF_UNIX) as listener:
        here = Path.cwd()
        os.chdir(place / "src")
        listener.bind("socket")
        os.chdir(here)
    (place / "src/app.py").unlink()
    (place / "src/app.py").symlink_to("/dev/full")
    (place / "loop").symlink_to("loop")
    told = await home.difference(base)
    assert (told.paths, told.trouble) == (("README.md", "loop", "src/app.py"), "")
    commit = await home.commit(base, subject(1))
    in_step(place, commit)
    assert "README.md" not in files_at(place, commit)
    (place / "src/app.py").unlink()
    os.mkfifo(place / "src/app.py")
    assert await home.set_aside(commit, "A/1") == f"{KEPT}/A/1"
    in_step(place, commit)
    assert (place / "src/app.py").is_symlink()


@story
async def test_files_that_git_cannot_take_in_are_kept_and_put_back(place: Path) -> None:
    write(place, {".gitattributes": "*.utf working-tree-encoding=UTF-16\n"})
    git(place, "add", ".")
    git(place, "commit", "--quiet", "--message=attributes")
    before = files_at(place, "HEAD")
    home, base = await begun(place)
    write(place, {"a.utf": "a\n", "b.utf": "odd", "fine.txt": "fine\n", "src/app.py": "new\n"})
    (place / "README.md").unlink()
    told = await home.difference(base)
    assert (told.paths, told.trouble) == (
        ("README.md", "a.utf", "b.utf", "fine.txt", "src/app.py"),
        "",
    )
    commit = await home.commit(base, subject(1))
    in_step(place, commit)
    after = before | {"fine.txt": "fine\n", "src/app.py": "new\n"}
    del after["README.md"]
    assert files_at(place, commit) == after
    kept = files_at(place, f"{KEPT}/unfit/1")
    assert (kept["a.utf"], kept["b.utf"]) == ("a\n", "odd\n")
    assert not (place / "a.utf").exists()


@story
async def test_a_gitattributes_that_breaks_everything_breaks_nothing(place: Path) -> None:
    home, base = await begun(place)
    write(place, {".gitattributes": "* working-tree-encoding=UTF-16\n", "new.txt": "odd"})
    write(place, {"src/app.py": "changed"})
    told = await home.difference(base)
    assert (told.paths, told.trouble) == ((".gitattributes", "new.txt", "src/app.py"), "")
    assert await home.set_aside(base, "A/1") == f"{KEPT}/A/1"
    in_step(place, base)
    assert files_in(place) == FILES
    write(place, {".gitattributes": "* working-tree-encoding=UTF-16\n", "new.txt": "odd"})
    write(place, {"src/app.py": "changed"})
    commit = await home.commit(base, subject(1))
    in_step(place, commit)


def test_what_an_agent_closed_is_opened(place: Path) -> None:
    """In a process that may not read everything: these tests may be run by root."""
    child = Path(__file__).with_name("humble_in_place_child.py")
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])}
    done = subprocess.run(
        [sys.executable, child, place], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
    added = {"closed.txt": "x\n", "closed/in.txt": "x\n"}
    assert files_at(place, BRANCH) == FILES | added
    assert files_at(place, f"{KEPT}/A/2") == FILES | added | {"src/more.txt": "x\n"}
    assert status(place) == ""
