"""A runner in the person's checkout dies; the next one finds its way, and loses nothing."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.adapters.git.in_place_places import (
    BRANCH,
    KEPT,
    at_home,
    in_step,
    status,
    subject,
)
from tests.adapters.git.places import (
    FILES,
    files_at,
    files_in,
    git,
    refs,
    repository,
    story,
    write,
)

from dwindle.ports.in_place import Difference

ROOT = Path(__file__).parents[3]
CHILD = Path(__file__).with_name("in_place_child.py")


def killed_after(delay: float, place: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    argv = (sys.executable, str(CHILD), str(place))
    with subprocess.Popen(argv, stdout=subprocess.PIPE, env=environment) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        time.sleep(delay)
        child.kill()


def killed_before_call(number: int, place: Path, folder: Path) -> bool:
    """Killed when it starts git for so many times; False if it did not start it as often."""
    real = shutil.which("git")
    write(
        folder,
        {
            "calls": "",
            "git": f"#!/bin/sh\nprintf x >> '{folder}/calls'\n"
            f"if [ \"$(wc -c < '{folder}/calls')\" -eq {number} ]; then kill -9 $PPID; exit; fi\n"
            f'exec {real} "$@"\n',
        },
    )
    (folder / "git").chmod(0o755)
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "PATH": f"{folder}:{os.environ['PATH']}",
    }
    argv = (sys.executable, str(CHILD), str(place), "3")
    done = subprocess.run(argv, env=environment, check=False, capture_output=True)
    assert done.returncode in {0, -signal.SIGKILL}, done.stderr
    return done.returncode != 0


async def goes_on(place: Path) -> None:
    home = await at_home(place, run="01RUN")
    head = await home.head()
    numbers = [done.iteration.number for done in (await home.history()).done]
    assert numbers == list(range(1, len(numbers) + 1))
    assert home.begun in {None, head}
    on_disk = {name: text.rstrip() for name, text in files_in(place).items()}
    ref = await home.set_aside(head, "unfinished")
    in_step(place, head)
    assert await home.dirt() == ()
    kept = files_at(place, ref or head)
    assert {name: text.rstrip() for name, text in kept.items()} == on_disk
    write(place, {"after.txt": "after\n"})
    commit = await home.commit(head, subject(len(numbers) + 1))
    in_step(place, commit)
    assert files_at(place, commit) == files_at(place, head) | {"after.txt": "after\n"}


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0.003 + 0.012 * turn for turn in range(10)])
@story
async def test_a_kill_at_any_time_leaves_something_to_go_on_from(place: Path, delay: float) -> None:
    killed_after(delay, place)
    await goes_on(place)


@pytest.mark.slow
def test_a_kill_before_any_call_of_git_leaves_something_to_go_on_from(tmp_path: Path) -> None:
    number, killed = 0, True
    while killed:
        number += 1
        place = repository(tmp_path / f"repository {number}")
        killed = killed_before_call(number, place, tmp_path / f"bin {number}")
        asyncio.run(goes_on(place))
    assert number > 30


@story
async def test_killed_between_the_index_and_the_branch(place: Path) -> None:
    home = await at_home(place)
    base = await home.head()
    assert await home.dirt() == ()
    write(place, {"x.txt": "x\n"})
    await home._state.run_head.settle(base)
    await home._state.tree(base)
    home._state.show_index()
    home.close()
    assert status(place) == "A  x.txt\n"
    again = await at_home(place)
    assert await again.dirt() == ("?? x.txt",)
    assert await again.set_aside(base, "unfinished") == f"{KEPT}/unfinished"
    in_step(place, base)
    assert files_at(place, f"{KEPT}/unfinished") == FILES | {"x.txt": "x\n"}


@story
async def test_killed_just_after_the_branch_moved(place: Path) -> None:
    home = await at_home(place)
    base = await home.head()
    write(place, {"x.txt": "x\n"})
    before = home._state.place.index
    await home.difference(base)
    old = before.read_bytes()
    commit = await home.commit(base, subject(1))
    before.write_bytes(old)  # ours was not replaced any more
    home.close()
    again = await at_home(place)
    assert (again.begun, await again.head()) == (None, commit)
    assert await again.dirt() == ()
    in_step(place, commit)


@story
async def test_locks_and_halves_that_a_killed_git_left(place: Path) -> None:
    home = await at_home(place)
    base = await home.commit(await home.head(), subject(1))
    home.close()
    names = ("index", "HEAD", "dwindle-in-place", "dwindle-in-place-capture", BRANCH)
    for name in names:
        (place / f".git/{name}.lock").write_text("")
    write(place, {".git/dwindle-in-place": "half an ind", ".git/dwindle-in-place-capture": "h"})
    write(place, {".git/dwindle-in-place.part": "h", ".git/index.part": "h", ".git/HEAD.part": "h"})
    write(place, {"x.txt": "x\n"})
    again = await at_home(place)
    assert await again.dirt() == ("?? x.txt",)
    assert await again.difference(base) == Difference(paths=("x.txt",))
    in_step(place, await again.commit(base, subject(2)))
    assert not list((place / ".git").glob("*.lock"))
    assert not list((place / ".git").glob("*.part"))


@story
async def test_our_index_is_made_anew_where_it_is_gone_or_spoilt(place: Path) -> None:
    home = await at_home(place)
    base = await home.head()
    assert await home.dirt() == ()
    ours = place / ".git/dwindle-in-place"
    ours.unlink()
    assert await home.difference(base) == Difference(paths=())
    ours.write_bytes(b"DIRC nonsense")
    write(place, {"x.txt": "x\n"})
    assert await home.difference(base) == Difference(paths=("x.txt",))
    ours.write_bytes(b"DIRC nonsense")
    commit = await home.commit(base, subject(1))
    in_step(place, commit)


@story
async def test_after_a_kill_it_is_known_where_an_agent_with_commits_of_its_own_began(
    place: Path,
) -> None:
    home = await at_home(place)
    assert home.begun is None
    base = await home.head()
    assert await home.dirt() == ()
    await home.hand_over(base)
    write(place, {"x.txt": "x\n"})
    git(place, "add", ".")
    git(place, "commit", "--quiet", "--message=by the agent")
    mine = git(place, "rev-parse", "HEAD")
    write(place, {"y.txt": "y\n"})
    home.close()
    again = await at_home(place)
    assert (again.begun, await again.head()) == (base, mine)
    assert await again.set_aside(again.begun or "", "unfinished/1") == f"{KEPT}/unfinished/1"
    in_step(place, base)
    assert files_in(place) == FILES
    assert files_at(place, f"{KEPT}/unfinished/1") == FILES | {"x.txt": "x\n", "y.txt": "y\n"}
    assert git(place, "rev-parse", f"{KEPT}/unfinished/1^") == mine
    again.close()
    assert (await at_home(place)).begun is None


@story
async def test_an_agent_that_only_committed_has_something_to_set_aside(place: Path) -> None:
    home = await at_home(place)
    base = await home.head()
    git(place, "commit", "--quiet", "--allow-empty", "--message=empty")
    assert await home.set_aside(base, "A/1") == f"{KEPT}/A/1"
    in_step(place, base)
    assert refs(place).keys() == {"refs/heads/main", BRANCH, f"{KEPT}/A/1"}
