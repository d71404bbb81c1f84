"""Fresh trees for checks: outside of the repository, and with pins put back."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.adapters.git.places import (
    FILES,
    files_in,
    git,
    opened,
    story,
    trailers,
    write,
)

from dwindle.ports.workspace import BranchMoved, WorkspaceFailed


@story
async def test_a_fresh_tree_is_outside_and_gone_when_discarded(place: Path) -> None:
    workspace = await opened(place)
    fresh = await workspace.checkout(await workspace.tip())
    assert place not in fresh.path.parents
    assert files_in(fresh.path) == FILES
    assert git(fresh.path, "status", "--porcelain", "--ignored") == ""
    assert git(fresh.path, "rev-parse", "HEAD") == await workspace.tip()
    before = git(place, "worktree", "list").count("\n")
    await workspace.discard(fresh)
    assert not fresh.path.parent.exists()
    assert git(place, "worktree", "list").count("\n") == before - 1


@story
async def test_pins_are_as_they_were_at_alignment(place: Path) -> None:
    write(place, {"tests/data/in.txt": "in\n", "check.sh": "exit 1\n", "*.md": "a star\n"})
    git(place, "add", ".")
    git(place, "commit", "--quiet", "--message=aligned")
    workspace = await opened(place, pins=("tests/", "check.sh", "src/app.py", "later.py", "*.md"))
    lease = await workspace.lease(1)
    tree = lease.path
    write(tree, {"tests/test_app.py": "pass\n", "tests/conftest.py": "cheat\n", "*.md": "x\n"})
    write(
        tree, {"later.py": "x\n", "README.md": "changed\n", "src/app.py": "x\n", "work.py": "1\n"}
    )
    (tree / "tests/data/in.txt").unlink()
    (tree / "check.sh").unlink()
    write(tree, {"check.sh/a/folder": "x\n"})
    await workspace.integrate(lease, trailers("A1"))
    fresh = await workspace.checkout(await workspace.tip())
    assert files_in(fresh.path) == FILES | {
        "tests/data/in.txt": "in\n",
        "check.sh": "exit 1\n",
        "*.md": "a star\n",
        "README.md": "changed\n",
        "work.py": "1\n",
    }
    assert git(fresh.path, "rev-parse", "HEAD") == await workspace.tip()
    assert git(fresh.path, "diff", "--name-only") == ""


class Steers:
    """`*.ini` steers as a whole, the first line of `mixed` in part."""

    def steers(self, path: str, exists: object) -> bool:
        del exists
        return path.endswith(".ini")

    def is_mixed(self, path: str) -> bool:
        return path.endswith("mixed")

    def merge(self, path: str, old: bytes | None, new: bytes) -> bytes | None:
        del path
        if new == b"unreadable\n":
            return old
        return (old or b"").split(b"\n", 1)[0] + b"\n" + new.partition(b"\n")[2]

    async def follow_recipes(self, content: object, files: object) -> Steers:
        del content, files
        return self


@story
async def test_what_steers_is_as_it_was_at_alignment_and_no_more(place: Path) -> None:
    write(place, {"a.ini": "a\n", "gone.ini": "g\n", "mixed": "old\nx\n", "b/mixed": "b\nx\n"})
    write(place, {"c/mixed": "c\nx\n", "d/mixed": "d\n"})
    git(place, "add", ".")
    git(place, "commit", "--quiet", "--message=aligned")
    workspace = await opened(place, steering=Steers)
    lease = await workspace.lease(1)
    tree = lease.path
    write(tree, {"a.ini": "cheat\n", "new.ini": "cheat\n", "src/deep/new.ini": "cheat\n"})
    write(tree, {"mixed": "cheat\nhonest\n", "b/mixed": "unreadable\n", "new/mixed": "z\ny\n"})
    write(tree, {"bad/mixed": "unreadable\n", "work.py": "1\n"})
    (tree / "gone.ini").unlink()
    (tree / "c/mixed").unlink()
    (tree / "c/mixed").symlink_to("../mixed")
    (tree / "d/mixed").unlink()
    await workspace.integrate(lease, trailers("A1"))
    fresh = await workspace.checkout(await workspace.tip())
    assert files_in(fresh.path) == FILES | {
        "a.ini": "a\n",
        "gone.ini": "g\n",
        "mixed": "old\nhonest\n",
        "b/mixed": "b\nx\n",
        "c/mixed": "c\nx\n",
        "d/mixed": "d\n",
        "new/mixed": "\ny\n",
        "work.py": "1\n",
    }
    assert git(fresh.path, "diff", "--name-only") == ""


@story
async def test_a_branch_that_somebody_else_moved_has_no_tip_of_ours(place: Path) -> None:
    workspace = await opened(place)
    tip = await workspace.tip()
    write(place, {"more": "x\n"})
    git(place, "add", ".")
    git(place, "commit", "--quiet", "--message=more")
    git(place, "update-ref", "refs/heads/runner/01RUN", "HEAD")
    moved = git(place, "rev-parse", "HEAD")
    with pytest.raises(BranchMoved) as raised:
        await workspace.tip()
    assert str(raised.value) == (
        f"refs/heads/runner/01RUN was moved by another program: to {moved}, from {tip}"
    )


@story
async def test_no_link_is_followed_to_put_a_pin_back(place: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    workspace = await opened(place, pins=("tests/test_app.py",))
    lease = await workspace.lease(1)
    (lease.path / "tests" / "test_app.py").unlink()
    (lease.path / "tests").rmdir()
    (lease.path / "tests").symlink_to(outside)
    await workspace.integrate(lease, trailers("A1"))
    fresh = await workspace.checkout(await workspace.tip())
    assert files_in(fresh.path) == FILES
    assert list(outside.iterdir()) == []


@story
async def test_a_tree_that_cannot_be_set_up_leaves_nothing(place: Path) -> None:
    async def setup(tree: Path) -> None:
        raise WorkspaceFailed(f"{tree.name}: no network")

    workspace = await opened(place, setup=setup)
    before = git(place, "worktree", "list"), sorted(path.name for path in place.parent.iterdir())
    with pytest.raises(WorkspaceFailed, match="checkout: no network"):
        await workspace.checkout("HEAD")
    with pytest.raises(WorkspaceFailed, match="beef is no commit"):
        await workspace.checkout("beef")
    after = git(place, "worktree", "list"), sorted(path.name for path in place.parent.iterdir())
    assert after == before


def process_that_ended() -> int:
    with subprocess.Popen(["true"]) as process:
        return process.pid


@story
async def test_what_a_dead_process_left_is_removed_by_the_next(place: Path) -> None:
    workspace = await opened(place)
    left, mine = [await workspace.checkout("HEAD") for _ in range(2)]
    ended = process_that_ended()
    admin = Path(git(left.path, "rev-parse", "--absolute-git-dir"))
    (admin / "dwindle-checkout").write_text(f"{ended}\n")
    await workspace.recover()
    assert (left.path.exists(), mine.path.exists()) == (False, True)


class HidesModules(Steers):
    def steers(self, path: str, exists: object) -> bool:
        assert callable(exists)
        return path == "price/__init__.py" and exists("price.py")


@pytest.mark.parametrize("is_kept", [True, False])
@story
async def test_a_file_may_steer_only_beside_another(place: Path, is_kept: bool) -> None:
    write(place, {"price.py": "1\n"})
    git(place, "add", ".")
    git(place, "commit", "--quiet", "--message=aligned")
    workspace = await opened(place, steering=HidesModules)
    lease = await workspace.lease(1)
    write(lease.path, {"price/__init__.py": "2\n"})
    if not is_kept:
        (lease.path / "price.py").unlink()
    await workspace.integrate(lease, trailers("A1"))
    fresh = await workspace.checkout(await workspace.tip())
    price = {"price.py": "1\n"} if is_kept else {"price/__init__.py": "2\n"}
    assert files_in(fresh.path) == FILES | price
