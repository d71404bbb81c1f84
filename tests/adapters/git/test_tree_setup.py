"""What a tree has besides its files: shared folders, and what a setup made."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.adapters.git.places import (
    FILES,
    files_at,
    files_in,
    git,
    opened,
    story,
    trailers,
    write,
)

from dwindle.adapters.git.worktrees.workspace import GitWorkspace
from dwindle.ports.workspace import Change, Lease, WorkspaceFailed


class Builder:
    """A setup that makes what it is told to, and counts."""

    def __init__(self, files: dict[str, str]) -> None:
        self.files = files
        self.trees: list[str] = []

    async def __call__(self, tree: Path) -> None:
        self.trees.append(tree.name)
        write(tree, self.files)


@story
async def test_shared_folders_are_brought_along_and_never_committed(place: Path) -> None:
    write(place, {"node_modules/pkg/index.js": "x\n"})
    workspace = await opened(place, share=["node_modules/", "build"])
    link = {"node_modules": f"-> {place / 'node_modules'}"}
    lease = await workspace.lease(1)
    assert workspace.shared == (place / "node_modules",)
    assert files_in(lease.path) == FILES | link
    assert git(lease.path, "status", "--porcelain") == ""
    write(lease.path, {".gitignore": "!node_modules\n"})
    assert await workspace.change(lease) == Change(paths=(".gitignore",))
    await workspace.integrate(lease, trailers("A1"))
    after = FILES | {".gitignore": "!node_modules\n"}
    assert files_at(place, "runner/01RUN") == after
    kept = await workspace.set_aside(lease, trailers("A1"))
    assert files_at(place, kept) == after
    await workspace.release(lease)
    again = await workspace.lease(2)
    assert files_in(again.path) == after | link
    fresh = await workspace.checkout(await workspace.tip())
    assert files_in(fresh.path) == after | link
    await workspace.discard(fresh)
    assert (place / "node_modules/pkg/index.js").read_text() == "x\n"


@story
async def test_only_ignored_paths_can_be_shared_and_all_problems_are_named(place: Path) -> None:
    write(place, {"notes/a.txt": "x\n"})
    with pytest.raises(WorkspaceFailed) as refusal:
        await opened(place, share=["src", "notes", "../elsewhere", "node_modules"])
    assert str(refusal.value) == (
        "these cannot be shared with work trees: "
        "'src' is tracked by git: every tree has its own; "
        "'notes' is not ignored by git; add it to .gitignore; "
        "'../elsewhere' is not a path inside of the checkout"
    )


async def given_back(workspace: GitWorkspace, lease: Lease) -> Lease:
    await workspace.set_aside(lease, trailers("A1"))
    await workspace.release(lease)
    return await workspace.lease(2)


MADE = {"build/a b/[x].o": "made\n", "setup.log": "made\n"}


@story
async def test_a_setup_runs_once_in_each_new_tree(place: Path) -> None:
    setup = Builder(MADE | {"src/app.py": "changed by the setup\n", "stray.txt": "x\n"})
    workspace = await opened(place, setup=setup)
    lease = await workspace.lease(1)
    assert files_in(lease.path) == FILES | MADE
    assert await workspace.change(lease) == Change(paths=())
    lease = await given_back(workspace, lease)
    assert files_in(lease.path) == FILES | MADE
    assert setup.trees == ["tree-1"]
    other = await workspace.lease(3)
    fresh = await workspace.checkout(await workspace.tip())
    assert files_in(other.path) == files_in(fresh.path) == FILES | MADE
    assert git(fresh.path, "rev-parse", "HEAD") == await workspace.tip()
    assert setup.trees == ["tree-1", "tree-2", "checkout"]
    await workspace.discard(fresh)
    assert not fresh.path.exists()


@story
async def test_what_a_session_added_to_a_setup_goes_and_the_setup_stays(place: Path) -> None:
    setup = Builder(MADE)
    workspace = await opened(place, setup=setup)
    lease = await workspace.lease(1)
    write(lease.path, {"build/cache/x.pyc": "x", "build/a b/more.o": "x", "other.log": "x"})
    lease = await given_back(workspace, lease)
    assert files_in(lease.path) == FILES | MADE
    assert setup.trees == ["tree-1"]


@story
async def test_a_setup_that_was_tampered_with_is_made_again(place: Path) -> None:
    setup = Builder(MADE)
    workspace = await opened(place, setup=setup)
    lease = await workspace.lease(1)
    (lease.path / "build/a b/[x].o").write_text("evil\n")
    lease = await given_back(workspace, lease)
    assert files_in(lease.path) == FILES | MADE
    (lease.path / "setup.log").unlink()
    lease = await given_back(workspace, lease)
    assert files_in(lease.path) == FILES | MADE
    assert setup.trees == ["tree-1"] * 3


@story
async def test_a_setup_that_makes_nothing_runs_once_too(place: Path) -> None:
    setup = Builder({})
    workspace = await opened(place, setup=setup)
    await given_back(workspace, await workspace.lease(1))
    assert setup.trees == ["tree-1"]


@story
async def test_a_setup_that_fails_hands_out_no_tree(place: Path) -> None:
    class Failing(Builder):
        async def __call__(self, tree: Path) -> None:
            await super().__call__(tree)
            if len(self.trees) == 1:
                raise WorkspaceFailed("npm ci ended with 1", "no network")

    setup = Failing({"half.txt": "x"})
    workspace = await opened(place, setup=setup)
    with pytest.raises(WorkspaceFailed, match="npm ci ended with 1: no network"):
        await workspace.lease(1)
    lease = await workspace.lease(2)
    assert (files_in(lease.path), setup.trees) == (FILES, ["tree-1", "tree-1"])


@story
async def test_a_shared_path_that_leads_out_of_the_checkout_is_refused(
    place: Path, tmp_path: Path
) -> None:
    write(tmp_path, {"private/key": "x\n", "ignored": "build\n"})
    git(place, "config", "core.excludesFile", str(tmp_path / "ignored"))
    for target in (tmp_path / "private", place / ".git", place / ".runner"):
        (place / "build").unlink(missing_ok=True)
        (place / "build").symlink_to(target)
        with pytest.raises(WorkspaceFailed, match="'build' is a link that leads elsewhere"):
            await opened(place, share=["build"])
    (place / "build").unlink()
    workspace = await opened(place, share=["build"])
    (place / "build").symlink_to(tmp_path / "private")  # meanwhile
    assert not (await workspace.lease(1)).path.joinpath("build").exists()
    assert workspace.shared == ()
