"""The contract of a workspace, kept by git and by the double alike."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

import pytest
from tests.adapters.git.places import files_in, opened, repository, story, trailers, write
from tests.doubles.workspaces import MemoryWorkspace

from dwindle.kernel.model import AtomId
from dwindle.ports.workspace import Change, Conflict, Integrated, Workspace, WorkspaceFailed

START = {"a.txt": "a\n", "pinned/check.sh": "exit 1\n", "src/b.txt": "b\n"}
PINS = ("pinned",)

Opened: TypeAlias = Callable[[Path], Awaitable[Workspace]]


async def by_git(folder: Path) -> Workspace:
    return await opened(repository(folder / "repository", START), pins=PINS)


async def in_memory(folder: Path) -> Workspace:
    start = {name: content.encode() for name, content in START.items()}
    return MemoryWorkspace(folder=folder, start=start, pins=PINS)


both = pytest.mark.parametrize("open_it", [by_git, in_memory])


async def add(workspace: Workspace, atom: str, files: dict[str, str], session: int) -> None:
    lease = await workspace.lease(session)
    write(lease.path, files)
    done = await workspace.integrate(lease, trailers(atom, session))
    assert done == Integrated(commit=await workspace.tip())
    await workspace.release(lease)


async def on_the_branch(workspace: Workspace) -> dict[str, str]:
    lease = await workspace.lease(99)
    files = files_in(lease.path)
    await workspace.release(lease)
    return files


@both
@story
async def test_a_change_is_told_integrated_and_seen_by_the_next(
    tmp_path: Path, open_it: Opened
) -> None:
    workspace = await open_it(tmp_path)
    lease = await workspace.lease(1)
    assert (lease.base, files_in(lease.path)) == (await workspace.tip(), START)
    assert await workspace.change(lease) == Change(paths=())
    write(lease.path, {"new/c.txt": "c\n", "src/b.txt": "B\n"})
    (lease.path / "a.txt").unlink()
    assert await workspace.change(lease) == Change(paths=("a.txt", "new/c.txt", "src/b.txt"))
    await workspace.integrate(lease, trailers("A1"))
    await workspace.release(lease)
    after = START | {"new/c.txt": "c\n", "src/b.txt": "B\n"}
    del after["a.txt"]
    assert await on_the_branch(workspace) == after


@both
@story
async def test_nothing_of_a_failed_attempt_is_left_but_what_was_kept(
    tmp_path: Path, open_it: Opened
) -> None:
    workspace = await open_it(tmp_path)
    lease = await workspace.lease(1)
    write(lease.path, {"x.txt": "x\n", "src/b.txt": "worse\n"})
    (lease.path / "empty").mkdir()
    (lease.path / "link").symlink_to("a.txt")
    first = await workspace.set_aside(lease, trailers("A1", 1))
    second = await workspace.set_aside(lease, trailers("A1", 1))
    assert (first, second) == ("refs/dwindle/attempts/01RUN/A1/1", f"{first}.2")
    await workspace.release(lease)
    assert await on_the_branch(workspace) == START
    with pytest.raises(WorkspaceFailed, match="is not leased to anybody"):
        await workspace.change(lease)


@both
@story
async def test_work_on_an_older_base_is_merged_or_conflicts(
    tmp_path: Path, open_it: Opened
) -> None:
    workspace = await open_it(tmp_path)
    slow, late = await workspace.lease(1), await workspace.lease(2)
    await add(workspace, "A1", {"src/b.txt": "B\n", "one.txt": "1\n"}, 3)
    write(slow.path, {"a.txt": "A\n"})
    assert isinstance(await workspace.integrate(slow, trailers("A2", 1)), Integrated)
    write(late.path, {"src/b.txt": "other\n", "one.txt": "other\n"})
    tip = await workspace.tip()
    conflict = await workspace.integrate(late, trailers("A3", 2))
    assert conflict == Conflict(paths=("one.txt", "src/b.txt"))
    assert await workspace.tip() == tip
    after = START | {"a.txt": "A\n", "src/b.txt": "B\n", "one.txt": "1\n"}
    assert await on_the_branch(workspace) == after


@both
@story
async def test_the_branch_is_rebuilt_without_some_atoms(tmp_path: Path, open_it: Opened) -> None:
    workspace = await open_it(tmp_path)
    start = await workspace.tip()
    await add(workspace, "A1", {"one.txt": "1\n"}, 1)
    await add(workspace, "A2", {"two.txt": "2\n"}, 2)
    await add(workspace, "A3", {"two.txt": "3\n"}, 3)
    await add(workspace, "A4", {"four.txt": "4\n"}, 4)
    assert await workspace.rebuild([AtomId("A2")]) == ("A3",)
    assert await on_the_branch(workspace) == START | {"one.txt": "1\n", "four.txt": "4\n"}
    tip = await workspace.tip()
    assert await workspace.tree_of(tip) != await workspace.tree_of(start)
    assert await workspace.rebuild([AtomId("A2")]) == ()
    assert await workspace.tip() == tip
    await workspace.rebuild([AtomId("A1"), AtomId("A4")])
    assert await workspace.tree_of(await workspace.tip()) == await workspace.tree_of(start)


@both
@story
async def test_a_fresh_tree_has_its_pins_back(tmp_path: Path, open_it: Opened) -> None:
    workspace = await open_it(tmp_path)
    await add(workspace, "A1", {"pinned/check.sh": "exit 0\n", "pinned/new": "x\n", "x": "x\n"}, 1)
    fresh = await workspace.checkout(await workspace.tip())
    assert (fresh.base, files_in(fresh.path)) == (await workspace.tip(), START | {"x": "x\n"})
    await workspace.discard(fresh)
    assert files_in(fresh.path) == {}


@both
@story
async def test_a_checkout_is_put_back_between_checks(tmp_path: Path, open_it: Opened) -> None:
    workspace = await open_it(tmp_path)
    fresh = await workspace.checkout(await workspace.tip())
    assert await workspace.tidy(fresh) == ()
    write(fresh.path, {"src/b.txt": "changed by a check\n", "built": "stays\n"})
    (fresh.path / "a.txt").unlink()
    assert await workspace.tidy(fresh) == ("a.txt", "src/b.txt")
    assert files_in(fresh.path) == START | {"built": "stays\n"}
    await workspace.discard(fresh)


@both
@story
async def test_a_claim_is_integrated_without_what_is_set_aside(
    tmp_path: Path, open_it: Opened
) -> None:
    workspace = await open_it(tmp_path)
    lease = await workspace.lease(1)
    write(lease.path, {"a.txt": "A\n", "stray": "x\n", "src/b.txt": "B\n", "kept": "k\n"})
    commit = await workspace.claim(lease, {"a.txt": None, "stray": None, "src/b.txt": b"half\n"})
    assert set(await workspace.changed(commit)) == {"src/b.txt", "kept"}
    write(lease.path, {"late": "after the claim was judged\n"})
    await workspace.integrate(lease, trailers("A1", 1))
    await workspace.release(lease)
    assert await on_the_branch(workspace) == START | {"src/b.txt": "half\n", "kept": "k\n"}
    ground = await workspace.checkout(await workspace.tip(), ("kept", "src/b.txt"))
    assert files_in(ground.path) == START
    await workspace.discard(ground)


@both
@story
async def test_a_tree_that_is_gone_is_trouble_and_no_obstacle(
    tmp_path: Path, open_it: Opened
) -> None:
    workspace = await open_it(tmp_path)
    lease = await workspace.lease(1)
    lease.path.rename(tmp_path / "elsewhere")
    gone = Change(paths=(), trouble="the work tree was removed or replaced")
    assert await workspace.change(lease) == gone
    await workspace.set_aside(lease, trailers("A1"))
    await workspace.release(lease)
    assert await on_the_branch(workspace) == START
