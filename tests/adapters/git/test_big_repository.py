"""Twenty thousand files: a tree that is used again is ready at once."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.adapters.git.places import git, opened, story, trailers, write

from dwindle.ports.workspace import Change

COUNT = 20_000


def big_repository(place: Path) -> Path:
    place.mkdir()
    git(place, "init", "--quiet", "--initial-branch=main")
    for number in range(COUNT):
        folder = place / f"part {number % 200:03}"
        folder.mkdir(exist_ok=True)
        (folder / f"{number}.txt").write_text(f"{number}\n")
    git(place, "-c", "core.bigFileThreshold=1", "add", "--all")
    git(place, "commit", "--quiet", "--message=Begin")
    return place


@pytest.mark.slow
@story
async def test_a_tree_of_a_big_repository_is_used_again_quickly(tmp_path: Path) -> None:
    workspace = await opened(big_repository(tmp_path / "big"))
    lease = await workspace.lease(1)
    again = 9.9
    for session in range(2, 6):
        write(lease.path, {f"part 007/{session}.txt": "x\n", "junk.txt": "x\n"})
        (lease.path / "part 000" / "0.txt").unlink()
        paths = ("junk.txt", "part 000/0.txt", f"part 007/{session}.txt")
        assert await workspace.change(lease) == Change(paths=paths)
        (lease.path / "junk.txt").unlink()
        write(lease.path, {"part 000/0.txt": "0\n"})
        await workspace.integrate(lease, trailers(f"A{session}", session))
        write(lease.path, {"part 001/1.txt": "changed\n"})
        await workspace.release(lease)
        began = time.perf_counter()
        lease = await workspace.lease(session)
        again = min(again, time.perf_counter() - began)
        assert await workspace.change(lease) == Change(paths=())
    assert len(list(lease.path.rglob("*.txt"))) == COUNT + 4
    assert again < 1.0  # 0.1 s on a quiet machine; a new tree costs seconds
