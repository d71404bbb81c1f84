"""A tree for each session, and nothing of one session in the tree of the next."""

from __future__ import annotations

import os
import shutil
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.adapters.git.places import (
    FILES,
    files_in,
    git,
    opened,
    refs,
    story,
    trailers,
    write,
)

from dwindle.adapters.git.worktrees.worktree import scrub
from dwindle.ports.workspace import Change, Lease, WorkspaceFailed


@story
async def test_a_session_gets_a_clean_tree_and_the_persons_checkout_is_not_touched(
    place: Path,
) -> None:
    write(place, {"src/app.py": "half done\n", "note.txt": "mine\n"})
    before = files_in(place)
    workspace = await opened(place)
    lease = await workspace.lease(1)
    assert lease == Lease(path=place / ".runner/worktrees/tree-1", base=await workspace.tip())
    assert files_in(lease.path) == FILES
    assert git(lease.path, "status", "--porcelain", "--ignored") == ""
    assert git(lease.path, "rev-parse", "HEAD") == lease.base
    assert files_in(place) == before
    assert git(place, "status", "--porcelain") == " M src/app.py\n?? note.txt"
    assert git(place, "branch", "--show-current") == "main"


@story
async def test_two_sessions_have_two_trees_and_a_tree_given_back_is_used_again(
    place: Path,
) -> None:
    workspace = await opened(place)
    first, second = await workspace.lease(1), await workspace.lease(2)
    assert [lease.path.name for lease in (first, second)] == ["tree-1", "tree-2"]
    await workspace.release(first)
    assert await workspace.lease(3) == first
    assert (await workspace.lease(4)).path.name == "tree-3"


def edit_everything(tree: Path) -> None:
    write(tree, {"src/app.py": "x", "new.txt": "x", "build/out.o": "x", "deep/er/x.log": "x"})
    (tree / "README.md").unlink()
    (tree / "empty").mkdir()


def same_length_and_old_times(tree: Path) -> None:
    path = tree / "README.md"
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    path.write_text("# HELLO\n", "utf-8")
    os.utime(path, ns=times)


def hide_from_status(tree: Path) -> None:
    git(tree, "update-index", "--assume-unchanged", "src/app.py")
    git(tree, "update-index", "--skip-worktree", "README.md")
    write(tree, {"src/app.py": "hidden\n", "README.md": "hidden\n"})


def ignore_everything(tree: Path) -> None:
    write(tree, {".gitignore": "*\n", "left.txt": "x"})


def nested_repositories(tree: Path) -> None:
    for name in ("inner", "src", "deep/inner"):
        (tree / name).mkdir(parents=True, exist_ok=True)
        git(tree / name, "init", "--quiet")
        write(tree / name, {"a.txt": "a"})
    git(tree / "inner", "add", ".")
    git(tree / "inner", "commit", "--quiet", "--message=inner")


def commit_and_branch(tree: Path) -> None:
    git(tree, "checkout", "--quiet", "-b", "feature")
    write(tree, {"src/app.py": "committed\n"})
    git(tree, "commit", "--quiet", "--all", "--message=mine")


def half_a_merge(tree: Path) -> None:
    admin = Path(git(tree, "rev-parse", "--absolute-git-dir"))
    for name in ("MERGE_HEAD", "index.lock", "HEAD.lock", "config.worktree"):
        (admin / name).write_text("rubbish")
    (admin / "rebase-merge").mkdir()
    (admin / "refs" / "bisect").mkdir(parents=True)


def no_link(tree: Path) -> None:
    (tree / ".git").unlink()


def another_repository_instead(tree: Path) -> None:
    (tree / ".git").unlink()
    git(tree, "init", "--quiet")
    git(tree, "add", "--all")
    git(tree, "commit", "--quiet", "--message=all mine")


def link_to_a_link(tree: Path) -> None:
    moved = tree / "src" / "gitlink"
    (tree / ".git").rename(moved)
    (tree / ".git").symlink_to(moved)


def no_tree_at_all(tree: Path) -> None:
    shutil.rmtree(tree)


def a_link_instead_of_the_tree(tree: Path) -> None:
    tree.rename(tree.parent.parent / "elsewhere")
    tree.symlink_to(tree.parent.parent / "elsewhere")


def no_administration(tree: Path) -> None:
    shutil.rmtree(git(tree, "rev-parse", "--absolute-git-dir"))


def removed_by_git(tree: Path) -> None:
    git(tree, "worktree", "remove", "--force", str(tree))


def special_files(tree: Path) -> None:
    os.mkfifo(tree / "pipe")
    os.mkfifo(tree / "src" / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        here = Path.cwd()
        os.chdir(tree)  # the path of a socket must be short
        listener.bind("socket")
        os.chdir(here)
    (tree / "loop").symlink_to("loop")
    (tree / "everything").symlink_to("/")


def swap_files_and_folders(tree: Path) -> None:
    shutil.rmtree(tree / "src")
    (tree / "src").symlink_to("tests")
    (tree / "README.md").unlink()
    write(tree, {"README.md/inside": "x"})
    shutil.rmtree(tree / "tests")
    (tree / "tests").write_text("a file")


def hard_links_and_modes(tree: Path) -> None:
    os.link(tree / "README.md", tree.parent.parent / "linked from outside")
    (tree / "src").chmod(0o500)
    (tree / "src" / "app.py").chmod(0o777)
    (tree / "closed" / "inner").mkdir(parents=True)
    (tree / "closed" / "inner").chmod(0o000)
    (tree / "closed").chmod(0o000)


MISCHIEF = [
    edit_everything,
    same_length_and_old_times,
    hide_from_status,
    ignore_everything,
    nested_repositories,
    commit_and_branch,
    half_a_merge,
    no_link,
    another_repository_instead,
    link_to_a_link,
    no_tree_at_all,
    a_link_instead_of_the_tree,
    no_administration,
    removed_by_git,
    special_files,
    swap_files_and_folders,
    hard_links_and_modes,
]


@pytest.mark.parametrize("mischief", MISCHIEF, ids=lambda one: one.__name__)
@story
async def test_nothing_of_a_session_is_left_for_the_next(
    place: Path, mischief: Callable[[Path], None]
) -> None:
    workspace = await opened(place)
    lease = await workspace.lease(1)
    mischief(lease.path)
    await workspace.set_aside(lease, trailers("A1"))
    await workspace.release(lease)
    again = await workspace.lease(2)
    assert again == lease
    assert files_in(again.path) == FILES
    assert (
        git(again.path, "status", "--porcelain", "--ignored", "--branch") == "## HEAD (no branch)"
    )
    assert git(again.path, "ls-files", "-v") == "\n".join(f"H {name}" for name in sorted(FILES))
    assert git(again.path, "rev-parse", "HEAD") == again.base
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in again.path.rglob("*")}
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o755}
    assert {mode for path, mode in modes.items() if path.is_file()} == {0o644}
    assert {path.stat().st_nlink for path in again.path.rglob("*") if path.is_file()} == {1}
    assert await workspace.change(again) == Change(paths=())
    assert [name for name in refs(place) if not name.startswith("refs/dwindle/")] == [
        "refs/heads/main",
        "refs/heads/runner/01RUN",
    ]


@story
async def test_a_tree_that_does_not_come_clean_is_replaced(place: Path) -> None:
    workspace = await opened(place)
    lease = await workspace.lease(1)
    write(lease.path, {"kept.txt": "kept\n"})
    kept = await workspace.set_aside(lease, trailers("A1"))
    admin = Path(git(lease.path, "rev-parse", "--absolute-git-dir"))
    # Git cannot write our index here, whatever we do about it.
    (admin / "dwindle-index").unlink()
    (admin / "dwindle-index").mkdir()
    write(admin / "dwindle-index", {"x": "x"})
    await workspace.release(lease)
    assert admin.name not in os.listdir(admin.parent)  # noqa: PTH208 - blocking is fine here
    again = await workspace.lease(2)
    assert files_in(again.path) == FILES
    assert git(place, "cat-file", "blob", f"{kept}:kept.txt") == "kept"


@story
async def test_a_disk_that_says_no_is_a_failure_of_the_workspace(place: Path) -> None:
    workspace = await opened(place)
    trees = place / ".runner" / "worktrees"
    trees.rename(trees.with_name("elsewhere"))
    trees.write_text("in the way")
    with pytest.raises(WorkspaceFailed, match=r"File exists|Not a directory"):
        await workspace.lease(1)


@story
async def test_another_umask_than_before_costs_nothing_and_holds(place: Path) -> None:
    workspace = await opened(place)
    lease = await workspace.lease(1)
    await workspace.release(lease)
    before = os.umask(0o077)
    try:
        write(lease.path, {"src/app.py": "x"})
        lease = await workspace.lease(2)
        await workspace.set_aside(lease, trailers("A1"))
        await workspace.release(lease)
        inodes = [path.stat().st_ino for path in sorted(lease.path.rglob("*.txt"))]
        lease = await workspace.lease(3)
        await workspace.release(lease)
        assert [path.stat().st_ino for path in sorted(lease.path.rglob("*.txt"))] == inodes
    finally:
        os.umask(before)
    assert {stat.S_IMODE(path.stat().st_mode) for path in (lease.path / "src").iterdir()} == {0o600}


def test_scrubbing_follows_no_link_out_of_the_tree(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    write(outside, {".git/config": "x", "file": "x"})
    outside.chmod(0o700)
    tree = tmp_path / "trees" / "tree"
    tree.mkdir(parents=True)
    (tree / "out").symlink_to(outside)
    scrub(tree)
    assert (outside / ".git" / "config").read_text() == "x"
    assert stat.S_IMODE(outside.stat().st_mode) == 0o700
