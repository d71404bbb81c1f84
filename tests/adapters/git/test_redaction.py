"""A key that a session wrote into its work gets into no object of ours, and the work is kept."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from tests.adapters.git.in_place_places import subject
from tests.adapters.git.places import (
    FILES,
    RUN,
    files_at,
    git,
    opened,
    story,
    trailers,
    write,
)

from dwindle.adapters.git.in_place.checkout import GitInPlace
from dwindle.adapters.git.repository import find
from dwindle.ports.process import Secret
from dwindle.ports.workspace import Change

KEY = "canary-0123456789"
SECRETS = (Secret(KEY.encode(), b"[KEY]"),)
CLEAN = {"src/app.py": "key = '[KEY]'\n", "build/log": "[KEY]\n", "more.txt": "more\n"}
SAID = "src/app.py had the value of KEY in it, which was taken out"


def objects(place: Path) -> bytes:
    """Everything that git holds, also what nothing leads to."""
    words = ["git", "cat-file", "--batch-all-objects", "--batch"]
    return subprocess.run(words, cwd=place, capture_output=True, check=True).stdout


@story
async def test_a_change_with_a_key_in_it_is_no_plain_change(place: Path) -> None:
    workspace = await opened(place, secrets=SECRETS)
    lease = await workspace.lease(3)
    write(lease.path, {"src/app.py": f"key = '{KEY}'\n", "more.txt": "more\n"})
    write(lease.path, {"build/log": f"{KEY}\n"})
    assert await workspace.change(lease) == Change(paths=("more.txt", "src/app.py"), trouble=SAID)
    ref = await workspace.set_aside(lease, trailers("A1", 3, "with a key"))
    assert files_at(place, ref) == FILES | CLEAN
    assert KEY.encode() not in objects(place)


@story
async def test_one_that_nobody_asked_about_is_kept_without_it(place: Path) -> None:
    workspace = await opened(place, secrets=SECRETS)
    lease = await workspace.lease(3)
    write(lease.path, {"src/app.py": f"key = '{KEY}'\n", "more.txt": "more\n"})
    write(lease.path, {"build/log": f"{KEY}\n"})
    ref = await workspace.set_aside(lease, trailers("A1", 3, "cut short"))
    assert files_at(place, ref) == FILES | CLEAN
    told = git(place, "log", "-1", "--format=%B", ref)
    assert f"Not kept:\n- {SAID}\n- build/log had the value of KEY in it" in told
    assert KEY.encode() not in objects(place)


@story
async def test_names_and_links_may_hold_one(place: Path) -> None:
    workspace = await opened(place, secrets=SECRETS)
    lease = await workspace.lease(3)
    write(lease.path, {f"of-{KEY}/in": "in\n", f"{KEY}.txt": f"{KEY}\n"})
    (lease.path / "link").symlink_to(f"/nowhere/{KEY}")
    (lease.path / "src/app.py").chmod(0o755)
    found = await workspace.change(lease)
    assert set(found.paths) == {"[KEY].txt", "of-[KEY]/in", "link", "src/app.py"}
    assert KEY not in found.trouble
    assert (lease.path / "link").readlink() == Path("/nowhere/[KEY]")
    await workspace.set_aside(lease, trailers("A1", 3))
    assert KEY.encode() not in objects(place)


@story
async def test_what_was_there_before_is_the_persons_own_business(place: Path) -> None:
    write(place, {"settings.ini": f"{KEY}\n"})
    git(place, "add", "--all")
    git(place, "commit", "--quiet", "--message=A key")
    workspace = await opened(place, secrets=SECRETS)
    lease = await workspace.lease(3)
    write(lease.path, {"settings.ini": f"{KEY}\nmore\n"})
    assert await workspace.change(lease) == Change(paths=("settings.ini",))
    assert (lease.path / "settings.ini").read_text() == f"{KEY}\nmore\n"


@story
async def test_a_second_name_of_a_file_of_the_person_is_not_written_to(place: Path) -> None:
    own = place.parent / "own.env"
    own.write_text(f"{KEY}\n")
    workspace = await opened(place, secrets=SECRETS)
    lease = await workspace.lease(3)
    os.link(own, lease.path / "taken.env")
    (lease.path / "folder").symlink_to(place.parent)
    await workspace.change(lease)
    assert (own.read_text(), (lease.path / "taken.env").read_text()) == (f"{KEY}\n", "[KEY]\n")


@story
async def test_without_secrets_nothing_is_looked_at(place: Path) -> None:
    workspace = await opened(place)
    lease = await workspace.lease(3)
    write(lease.path, {"src/app.py": f"key = '{KEY}'\n"})
    assert await workspace.change(lease) == Change(paths=("src/app.py",))


@pytest.mark.slow
@story
async def test_in_place_it_is_the_same(place: Path) -> None:
    repository = replace(await find(place), secrets=SECRETS)
    home = await GitInPlace.open(repository, run=RUN, here=False, mint=lambda: "01MINTED")
    assert await home.dirt() == ()
    base = await home.head()
    write(place, {"build/own": f"{KEY}\n"})
    write(place, {"src/app.py": f"key = '{KEY}'\n", "more.txt": "more\n"})
    found = await home.difference(base)
    assert (found.paths, found.trouble) == (("more.txt", "src/app.py"), SAID)
    write(place, {"left-by-the-guard": f"{KEY}\n"})
    commit = await home.commit(base, subject(1))
    done = {name: text for name, text in CLEAN.items() if name != "build/log"}
    assert files_at(place, commit) == FILES | done | {"left-by-the-guard": "[KEY]\n"}
    assert KEY.encode() not in objects(place)
    assert (place / "build/own").read_text() == f"{KEY}\n"
