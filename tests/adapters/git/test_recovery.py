"""A runner dies; the next one finds everything, and loses nothing of it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from tests.adapters.git.places import (
    FILES,
    files_at,
    files_in,
    git,
    opened,
    refs,
    repository,
    story,
    trailers,
    write,
)

from dwindle.adapters.git.command import Git
from dwindle.kernel.model import AtomId
from dwindle.ports.workspace import Change

ROOT = Path(__file__).parents[3]
CHILD = Path(__file__).with_name("leasing_child.py")


def started(place: Path, aligned: str, *more: str) -> subprocess.Popen[bytes]:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, CHILD, place, aligned, *more], stdout=subprocess.PIPE, env=environment
    )


@story
async def test_what_a_killed_runner_had_leased_is_saved_and_its_trees_are_used_again(
    place: Path,
) -> None:
    aligned = git(place, "rev-parse", "HEAD")
    with started(place, aligned) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        child.kill()
    workspace = await opened(place, aligned=aligned)
    assert [atom for atom, _ in await workspace.integrated()] == ["A1"]
    saved = await workspace.recover({2: AtomId("A2")})
    prefix = "refs/dwindle/attempts/01RUN"
    assert saved == (f"{prefix}/A2/2", f"{prefix}/unclaimed/3")
    for number, ref in enumerate(saved, 2):
        kept = {f"by {number}.txt": f"{number}\n", "trace.log": f"{number}\n"}
        assert files_at(place, ref) == FILES | kept
    leases = [await workspace.lease(session) for session in (4, 5, 6)]
    assert sorted(lease.path.name for lease in leases) == ["tree-1", "tree-2", "tree-3"]
    for lease in leases:
        assert files_in(lease.path) == FILES | {"by 1.txt": "1\n"}
        assert await workspace.change(lease) == Change(paths=())
    listed = git(place, "worktree", "list").splitlines()
    assert len(listed) == 1 + 1 + 3  # the person's, the integration tree, three for sessions


@story
async def test_recovering_twice_saves_once(place: Path) -> None:
    aligned = git(place, "rev-parse", "HEAD")
    first = await opened(place, aligned=aligned)
    write((await first.lease(1)).path, {"x.txt": "x\n"})
    first.close()
    second = await opened(place, aligned=aligned)
    assert len(await second.recover()) == 1
    second.close()
    third = await opened(place, aligned=aligned)
    assert await third.recover() == ()


@story
async def test_locks_that_a_killed_git_left_are_cleared_where_only_we_write(place: Path) -> None:
    aligned = git(place, "rev-parse", "HEAD")
    first = await opened(place, aligned=aligned)
    lease = await first.lease(1)
    write(lease.path, {"x.txt": "x\n"})
    admin = Path(git(lease.path, "rev-parse", "--absolute-git-dir"))
    integration = place / ".runner/worktrees/integration-01RUN"
    theirs = Path(git(integration, "rev-parse", "--absolute-git-dir"))
    first.close()
    for folder in (admin, theirs):
        for name in ("index.lock", "HEAD.lock", "dwindle-index.lock", "dwindle-capture.lock"):
            (folder / name).write_text("")
    (admin / "dwindle-capture").write_text("half an ind")
    write(place / ".git", {"refs/heads/runner/01RUN.lock": ""})
    write(place / ".git", {"refs/dwindle/attempts/01RUN/unclaimed/1.lock": ""})
    second = await opened(place, aligned=aligned)
    assert await second.recover() == ("refs/dwindle/attempts/01RUN/unclaimed/1",)
    again = await second.lease(2)
    write(again.path, {"y.txt": "y\n"})
    await second.integrate(again, trailers("A1"))
    assert files_at(place, "runner/01RUN") == FILES | {"y.txt": "y\n"}


@story
async def test_a_half_made_tree_is_completed(place: Path) -> None:
    aligned = git(place, "rev-parse", "HEAD")
    first = await opened(place, aligned=aligned)
    lease = await first.lease(1)
    await first.release(lease)
    first.close()
    admin = Path(git(lease.path, "rev-parse", "--absolute-git-dir"))
    (admin / "dwindle-index").unlink()
    (admin / "index").unlink()
    (admin / "locked").write_text("initializing")
    (lease.path / "README.md").unlink()
    second = await opened(place, aligned=aligned)
    assert await second.recover() == ()
    assert await second.lease(2) == lease
    assert files_in(lease.path) == FILES
    assert "locked" not in git(place, "worktree", "list")


@story
async def test_a_note_that_cannot_be_read_costs_no_work(place: Path) -> None:
    aligned = git(place, "rev-parse", "HEAD")
    first = await opened(place, aligned=aligned)
    lease = await first.lease(1)
    write(lease.path, {"x.txt": "x\n"})
    first.close()
    admin = Path(git(lease.path, "rev-parse", "--absolute-git-dir"))
    (admin / "dwindle-lease.json").write_text("{")
    second = await opened(place, aligned=aligned)
    assert await second.recover() == ("refs/dwindle/attempts/unknown/unclaimed/0",)
    kept = files_at(place, "refs/dwindle/attempts/unknown/unclaimed/0")
    assert kept == FILES | {"x.txt": "x\n"}


@story
async def test_trees_of_others_are_left_alone(place: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    git(place, "worktree", "add", "--quiet", "-b", "mine", str(mine))
    write(mine, {"x.txt": "x\n"})
    workspace = await opened(place)
    assert await workspace.recover() == ()
    await workspace.lease(1)
    assert files_in(mine) == FILES | {"x.txt": "x\n"}


def lingering(held: int, *then: str) -> subprocess.Popen[bytes]:
    """What a git that outlives its runner looks like from outside."""
    words = ["sh", "-c", 'sleep 1; exec "$@"', "sh", *(then or ("true",))]
    return subprocess.Popen(words, pass_fds=[held])


@story
async def test_the_next_runner_waits_for_what_the_dead_one_started(place: Path) -> None:
    aligned = git(place, "rev-parse", "HEAD")
    first = await opened(place, aligned=aligned)
    (held,) = first.repository.git.held
    with lingering(held):
        first.close()
        began = time.monotonic()
        second = await opened(place, aligned=aligned)
        assert 0.3 < time.monotonic() - began < 10
    assert await second.recover() == ()


@story
async def test_a_branch_that_moves_after_its_runner_was_killed_is_not_taken_for_tampering(
    place: Path,
) -> None:
    """The runner dies, and the git that it had just started puts its last commit on the branch."""
    aligned = git(place, "rev-parse", "HEAD")
    first = await opened(place, aligned=aligned)
    lease = await first.lease(1)
    write(lease.path, {"x.txt": "x\n"})
    await first.integrate(lease, trailers("A1"))
    branch, commit = "refs/heads/runner/01RUN", await first.tip()
    git(place, "update-ref", branch, aligned)
    (held,) = first.repository.git.held
    with lingering(held, "git", "-C", str(place), "update-ref", branch, commit):
        first.close()
        second = await opened(place, aligned=aligned)
        await second.recover()
    assert await second.tip() == commit
    assert await second.integrated() == (("A1", commit),)
    assert files_in(place / ".runner/worktrees/integration-01RUN") == FILES | {"x.txt": "x\n"}
    assert await second.change(await second.lease(2)) == Change(paths=())


@story
async def test_a_lock_left_on_a_branch_that_was_never_made_is_cleared(place: Path) -> None:
    write(place / ".git", {"refs/heads/runner/01RUN.lock": ""})
    workspace = await opened(place)
    assert await workspace.tip() == git(place, "rev-parse", "HEAD")


def wait_for(marker: Path) -> None:
    while not marker.exists() or not marker.read_text():
        time.sleep(0.01)


@story
async def test_a_cancelled_call_leaves_no_process_and_no_lock(place: Path, tmp_path: Path) -> None:
    marker = tmp_path / "pid"
    script = f"!echo $$ > '{marker}'; sleep 30"
    slow = Git(git_dir=place / ".git", tree=place).with_settings(f"alias.slow={script}")
    task = asyncio.create_task(slow.ask("slow"))
    await asyncio.to_thread(wait_for, marker)
    began = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - began < 10
    with pytest.raises(ProcessLookupError):
        os.kill(int(marker.read_text()), signal.SIGCONT)


@story
async def test_a_call_that_is_cancelled_while_it_starts_leaves_no_process(
    place: Path, tmp_path: Path
) -> None:
    """Git runs and has children before we have got to the point of listening to it."""
    marker = tmp_path / "pid"
    script = f"!echo $$ > '{marker}'; sleep 30"
    slow = Git(git_dir=place / ".git", tree=place).with_settings(f"alias.slow={script}")
    task = asyncio.create_task(slow.ask("slow"))
    while not marker.exists() or not marker.read_text():
        await asyncio.sleep(0)  # one step of ours,
        time.sleep(0.5)  # noqa: ASYNC251 - and time for git, in which we do not get on
    task.cancel()
    began = time.monotonic()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - began < 10
    with pytest.raises(ProcessLookupError):
        os.kill(int(marker.read_text()), signal.SIGCONT)


HANGING = """
import asyncio, sys
from pathlib import Path
from dwindle.adapters.git.command import Git

place = Path(sys.argv[1])
asyncio.run(Git(git_dir=place / ".git", tree=place).ask("hash-object", "--", "pipe"))
"""


def processes_in(place: Path) -> list[int]:
    """Those of git whose folder this is."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (entry / "cwd").readlink() == place and b"hash-object" in (
                entry / "cmdline"
            ).read_bytes().split(b"\0"):
                found.append(int(entry.name))
    return found


def wait_until(holds: Callable[[], bool]) -> bool:
    end = time.monotonic() + 20
    while not holds() and time.monotonic() < end:
        time.sleep(0.01)
    return holds()


def test_a_killed_runner_leaves_no_git_that_hangs(place: Path) -> None:
    os.mkfifo(place / "pipe")
    with subprocess.Popen([sys.executable, "-c", HANGING, str(place)]) as runner:
        assert wait_until(lambda: processes_in(place) != [])
        runner.kill()
    assert wait_until(lambda: processes_in(place) == [])


def killed_after(place: Path, aligned: str, number: int, seconds: float) -> list[int]:
    """What a runner said to be done before it was killed."""
    with started(place, aligned, str(number)) as child:
        assert child.stdout is not None
        first = child.stdout.readline()
        time.sleep(seconds)
        child.kill()
        said = first + child.stdout.read()
    return [int(line.split()[1]) for line in said.splitlines()]


@pytest.mark.slow
@story
async def test_killing_at_any_moment_loses_nothing(place: Path) -> None:
    aligned = git(place, "rev-parse", "HEAD")
    done: list[int] = []
    for turn in range(12):
        done += killed_after(place, aligned, turn * 1000, turn * 0.017)
        workspace = await opened(place, aligned=aligned)
        await workspace.recover()
        atoms = [atom for atom, _ in await workspace.integrated()]
        assert [number for number in done if f"A{number}" not in atoms] == []
        expected = FILES | {f"{atom[1:]}.txt": f"{atom[1:]}\n" for atom in atoms}
        lease = await workspace.lease(turn)
        assert files_in(lease.path) == expected
        assert files_in(place / ".runner/worktrees/integration-01RUN") == expected
        assert await workspace.change(lease) == Change(paths=())
        await workspace.release(lease)
        workspace.close()
    kept = [name for name in refs(place) if name.startswith("refs/dwindle/")]
    lost = [name for name in kept if "/unclaimed/" not in name]
    assert lost == []
    assert git(place, "fsck", "--no-dangling") == ""


@pytest.mark.slow
@story
async def test_cancelling_at_any_moment_loses_nothing(tmp_path: Path) -> None:
    """An integration that is cancelled happened, or did not; the next one works either way."""
    place = repository(tmp_path / "repository")
    workspace = await opened(place)
    for turn in range(25):
        lease = await workspace.lease(turn)
        write(lease.path, {f"{turn}.txt": f"{turn}\n"})
        task = asyncio.create_task(workspace.integrate(lease, trailers(f"A{turn}", turn)))
        await asyncio.sleep(turn * 0.003)
        task.cancel()
        await asyncio.wait([task])
        kept = await workspace.set_aside(lease, trailers(f"A{turn}", turn))
        assert files_at(place, kept)[f"{turn}.txt"] == f"{turn}\n"
        await workspace.release(lease)
    lease = await workspace.lease(99)
    write(lease.path, {"last.txt": "last\n"})
    await workspace.integrate(lease, trailers("A99", 99))
    atoms = [atom for atom, _ in await workspace.integrated()]
    expected = FILES | {"last.txt": "last\n"}
    expected |= {f"{atom[1:]}.txt": f"{atom[1:]}\n" for atom in atoms if atom != "A99"}
    assert files_at(place, "runner/01RUN") == expected
    assert refs(place)["refs/heads/runner/01RUN"] == await workspace.tip()
