"""Whatever an agent leaves in a tree, git is not held up by it, and what was taken out is named."""

from __future__ import annotations

import asyncio
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.adapters.git.in_place_places import at_home, begun, in_step, status, subject
from tests.adapters.git.places import FILES, files_at, files_in, git, opened, story, trailers, write

from dwindle.adapters.git import files
from dwindle.ports.in_place import Difference
from dwindle.ports.removal import remove
from dwindle.ports.workspace import Change, Integrated

SECONDS = 20
"""On a busy machine; a git that waits for a pipe would wait for a quarter of an hour."""


def nest(top: Path, depth: int, name: str = "d") -> None:
    """Folders inside of each other, however long that makes the path."""
    here = os.open(top, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=here)
        inner = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(os.open("last.txt", os.O_WRONLY | os.O_CREAT, dir_fd=here))
    os.close(here)


@contextmanager
def soon() -> Iterator[None]:
    began = time.monotonic()
    yield
    assert time.monotonic() - began < SECONDS


def pipes(top: Path) -> None:
    for name in (".gitignore", ".gitattributes", "src/.gitignore", ".mailmap", "new/.gitmodules"):
        (top / name).parent.mkdir(exist_ok=True)
        (top / name).unlink(missing_ok=True)
        os.mkfifo(top / name)


@story
async def test_pipes_where_git_reads_its_rules_hold_up_no_session(place: Path) -> None:
    workspace = await opened(place)
    lease = await workspace.lease(1)
    pipes(lease.path)
    write(lease.path, {"new.txt": "x\n"})
    with soon():
        assert await workspace.change(lease) == Change(paths=(".gitignore", "new.txt"))
        assert isinstance(await workspace.integrate(lease, trailers("A1")), Integrated)
        pipes(lease.path)
        await workspace.set_aside(lease, trailers("A1", 2))
        pipes(lease.path)
        await workspace.release(lease)
        assert (await workspace.lease(2)).path == lease.path


@story
async def test_pipes_where_git_reads_its_rules_hold_up_no_iteration(place: Path) -> None:
    home, base = await begun(place)
    pipes(place)
    write(place, {"new.txt": "x\n"})
    with soon():
        told = await home.difference(base)
        assert (told.paths, told.trouble) == ((".gitignore", "new.txt"), "")
        room = place / ".git/dwindle/01RUN/refused/1"
        assert f".gitignore: {files.NO_FILE} (put into {room})" in told.notes
        in_step(place, await home.commit(base, subject(1)))
        pipes(place)
        await home.set_aside(await home.head(), "A/1")
        assert status(place) == ""


@story
async def test_a_pipe_that_a_killed_runner_left_holds_up_no_other(place: Path) -> None:
    home, base = await begun(place)
    await home.hand_over(base)
    home.close()
    pipes(place)
    with soon():
        again = await at_home(place)
        await again.set_aside(base, "A/1")
        in_step(place, base)


@pytest.mark.parametrize("name", ["d", "a folder with a long name " * 8])
@story
async def test_folders_without_end(place: Path, name: str) -> None:
    workspace = await opened(place)
    with soon():
        lease = await workspace.lease(1)
        nest(lease.path, 1500, name)
        write(lease.path, {"new.txt": "x\n"})
        change = await workspace.change(lease)
        assert (change.paths, change.trouble.endswith(": more than 100 folders deep")) == (
            ("new.txt",),
            True,
        )
        nest(lease.path / "src", 1500, name)
        ref = await workspace.set_aside(lease, trailers("A1"))
        assert files_at(place, ref) == FILES | {"new.txt": "x\n"}
        nest(lease.path / "tests", 1500, name)
        await workspace.release(lease)
        assert files_in((await workspace.lease(2)).path) == FILES


@story
async def test_folders_without_end_in_place(place: Path) -> None:
    home, base = await begun(place)
    nest(place, 1500)
    with soon():
        told = await home.difference(base)
        assert (told.paths, "more than 100 folders deep" in told.trouble) == ((), True)
        await home.set_aside(base, "A/1")
        in_step(place, base)
        assert await home.dirt() == ()
        remove(place / ".git/dwindle/01RUN/refused")


@story
async def test_a_file_that_is_mostly_holes(place: Path) -> None:
    workspace = await opened(place)
    lease = await workspace.lease(1)
    for name in ("huge.bin", "huge.log"):
        with (lease.path / name).open("wb") as file:
            file.truncate(3 << 30)
    with soon():
        note = "huge.bin: a file of 3 GiB, more than a commit may hold"
        assert await workspace.change(lease) == Change(paths=(), trouble=note)
        assert (lease.path / "huge.log").exists()  # git ignores it
        assert "huge" not in git(
            place, "ls-tree", "-r", "--name-only", await workspace.set_aside(lease, trailers("A1"))
        )


@story
async def test_a_file_that_is_mostly_holes_in_place(place: Path) -> None:
    home, base = await begun(place)
    with (place / "huge.bin").open("wb") as file:
        file.truncate(3 << 30)
    with soon():
        told = await home.difference(base)
    room = place / ".git/dwindle/01RUN/refused/1"
    note = f"huge.bin: a file of 3 GiB, more than a commit may hold (put into {room})"
    assert told == Difference(paths=(), trouble=note)
    assert (room / "1").stat().st_size == 3 << 30
    assert status(place) == ""


@story
async def test_more_files_than_a_commit_may_add(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MOST", 100)
    workspace = await opened(place)
    lease = await workspace.lease(1)
    write(lease.path, {f"many/{number}.txt": "" for number in range(101)})
    note = "101 new files, more than the 100 that a commit may add"
    assert await workspace.change(lease) == Change(paths=(), trouble=note)
    write(lease.path, {f"build/{number}.txt": "" for number in range(101)})
    write(lease.path, {"new.txt": "x\n"})
    assert await workspace.change(lease) == Change(paths=("new.txt",))
    workspace.close()
    home = await at_home(place, run="01OTHER")
    await home.dirt()
    base = await home.head()
    write(place, {f"many/{number}.txt": "" for number in range(101)})
    told = await home.difference(base)
    assert (told.paths, told.trouble.startswith(note)) == ((), True)
    assert status(place) == ""


@story
async def test_names_with_line_breaks_are_names(place: Path) -> None:
    workspace = await opened(place)
    lease = await workspace.lease(1)
    write(lease.path, {"a\nb.txt": "x\n", "c\n/d": "y\n"})
    assert (await workspace.change(lease)).paths == ("a\nb.txt", "c\n/d")
    assert isinstance(await workspace.integrate(lease, trailers("A1")), Integrated)


@story
async def test_no_set_user_id_bit_stays(place: Path) -> None:
    home, base = await begun(place)
    before = place / "src/app.py"
    before.chmod(0o755)
    write(place, {"run": "#!/bin/sh\n", "cache.log": "x\n"})
    for name, mode in (("run", 0o6755), ("cache.log", 0o4711)):
        (place / name).chmod(mode)
    await home.difference(base)
    await home.commit(base, subject(1))
    for name, mode in (("run", 0o755), ("cache.log", 0o711)):
        assert stat.S_IMODE((place / name).stat().st_mode) == mode


@story
async def test_what_was_there_before_is_the_persons(place: Path) -> None:
    """A socket of their own server, say."""
    os.mkfifo(place / "mine")
    await asyncio.sleep(0.2)
    home, base = await begun(place)
    write(place, {"new.txt": "x\n"})
    assert await home.difference(base) == Difference(paths=("new.txt",))
    assert (place / "mine").is_fifo()


@story
async def test_the_sockets_of_the_runner_stay(place: Path) -> None:
    run, base = await begun(place)
    (place / ".runner").mkdir(exist_ok=True)
    os.mkfifo(place / ".runner/tree.sock")  # a socket's path would be too long here
    os.mkfifo(place / ".runner/pipe")
    found = await run.difference(base)
    assert (place / ".runner/tree.sock").exists()
    assert not (place / ".runner/pipe").exists()
    assert [note for note in found.notes if "tree.sock" in note] == []
