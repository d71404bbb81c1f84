"""What git workspaces cost beside bare git, in a repository of 20,000 files and in a small one.

The peer is the git program, called directly and in order, with the same settings for durability:
`worktree add` for a new lease; `reset --hard` and `clean -ffdx` for one from the pool (giving back
and leasing again are counted together); `add -A` and `commit` for integrating; the same under a ref
of its own for setting aside; `rebase --onto` for rebuilding. One whole atom is compared with the
seven commands that it cannot do without: add, write-tree, commit-tree, update-ref, read-tree for
the integration tree, and clean and read-tree for the tree that is given back.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median

from dwindle.adapters.git.worktrees.workspace import GitWorkspace
from dwindle.kernel.model import AtomId
from dwindle.ports.workspace import Integrated, Lease, Trailers

SMALL, BIG = 200, 20_000
ROUNDS = 7
COMMITS = 10
PERSON = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "core.fsync=all")


def git(place: Path, *words: str, given: str = "", index: Path | None = None) -> str:
    variables = {**os.environ, "GIT_INDEX_FILE": str(index)} if index else None
    argv = ["git", *PERSON, *words]
    done = subprocess.run(
        argv, cwd=place, capture_output=True, text=True, check=True, input=given, env=variables
    )
    return done.stdout.strip()


def repository(place: Path, count: int) -> Path:
    place.mkdir()
    git(place, "init", "--quiet", "--initial-branch=main")
    for number in range(count):
        folder = place / f"part{number % 100}"
        folder.mkdir(exist_ok=True)
        (folder / f"{number}.txt").write_text(f"{number}\n")
    git(place, "-c", "core.bigFileThreshold=1", "add", "--all")
    git(place, "commit", "--quiet", "--message=Begin")
    return place


def trailers(atom: str, attempt: int) -> Trailers:
    return Trailers(run="01BENCH", atom=AtomId(atom), attempt=attempt, summary="It works")


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


async def awaited(action: Callable[[], Awaitable[object]]) -> float:
    start = time.perf_counter()
    await action()
    return time.perf_counter() - start


class Comparison:
    """Our times and bare ones, taken in turn."""

    def __init__(self) -> None:
        self.times: dict[str, list[tuple[float, float]]] = {}

    def add(self, name: str, ours: float, bare: float) -> None:
        self.times.setdefault(name, []).append((ours, bare))

    def show(self, suffix: str) -> None:
        for name, pairs in self.times.items():
            ours = median(pair[0] for pair in pairs)
            bare = median(pair[1] for pair in pairs)
            ratio = ours / bare
            print(f"{name}_{suffix} {ours * 1e3:.1f} ms ratio={ratio:.2f} bare={bare * 1e3:.1f}ms")


class Bare:
    """A tree made, used and cleaned by git alone, in the same repository."""

    def __init__(self, place: Path, path: Path) -> None:
        self.place, self.path = place, path
        self.count = 0

    def make(self) -> None:
        git(self.place, "worktree", "add", "--quiet", "--detach", str(self.path), "main")

    def remove(self) -> None:
        git(self.place, "worktree", "remove", "--force", str(self.path))

    def clean(self) -> None:
        git(self.path, "reset", "--quiet", "--hard", "main")
        git(self.path, "clean", "-ffdxq")

    def commit(self) -> None:
        git(self.path, "add", "--all")
        git(self.path, "commit", "--quiet", "--message=It works")

    def keep(self) -> None:
        self.count += 1
        git(self.path, "add", "--all")
        commit = git(self.path, "commit-tree", git(self.path, "write-tree"), "-m", "kept")
        git(self.path, "update-ref", f"refs/bare/{self.count}", commit)

    def whole_atom(self, other: Path) -> None:
        before = git_head(self.path)
        git(self.path, "add", "--all")
        tree = git(self.path, "write-tree")
        commit = git(self.path, "commit-tree", tree, "-p", before, "-F", "-", given="It works\n")
        git(self.path, "update-ref", "refs/heads/bare", commit)
        git(other, "read-tree", "-m", "-u", before, commit)
        git(self.path, "clean", "-ffdxq")
        git(self.path, "read-tree", "--reset", "-u", commit)
        git_set_head(self.path, commit)
        git_set_head(other, commit)


def _admin(tree: Path) -> Path:
    return Path((tree / ".git").read_text().removeprefix("gitdir: ").strip())


def git_head(tree: Path) -> str:
    return (_admin(tree) / "HEAD").read_text().strip()


def git_set_head(tree: Path, commit: str) -> None:
    (_admin(tree) / "HEAD").write_text(f"{commit}\n")


def work(tree: Path, number: int) -> None:
    """What a session might do: a new file, and a changed one."""
    (tree / f"new{number}.txt").write_text(f"{number}\n")
    (tree / "part1" / "1.txt").write_text(f"changed {number}\n")


async def compare(folder: Path, count: int, rounds: int) -> Comparison:
    place = repository(folder / f"repository{count}", count)
    workspace = await GitWorkspace.open(
        place, run="01BENCH", aligned="main", checkouts=folder, guard_refs=False
    )
    bare = Bare(place, folder / f"bare{count}")
    told = Comparison()
    lease = Lease(path=place, base="")

    async def again() -> None:
        await workspace.release(lease)
        await first()

    async def first() -> None:
        nonlocal lease
        lease = await workspace.lease(1)

    told.add("lease_new", await awaited(first), seconds(bare.make))
    for number in range(rounds):
        for tree in (lease.path, bare.path):
            work(tree, number)
        kept = await awaited(lambda n=number: workspace.set_aside(lease, trailers("B", n)))  # type: ignore[misc]
        told.add("set_aside", kept, seconds(bare.keep))
        back = await awaited(lambda: workspace.release(lease))
        pooled, cleaned = await awaited(first), seconds(bare.clean)
        told.add("lease_pooled", pooled, cleaned)
        told.add("give_back_and_lease_pooled", back + pooled, cleaned)
    for number in range(rounds):
        for tree in (lease.path, bare.path):
            work(tree, number)
        name = trailers(f"A{number}", number)
        done = await awaited(lambda name=name: workspace.integrate(lease, name))  # type: ignore[misc]
        told.add("integrate", done, seconds(bare.commit))
        await again()
    await workspace.release(lease)
    await whole_atoms(workspace, bare, folder / f"other{count}", rounds, told)
    await rebuilding(workspace, bare, told)
    bare.remove()
    workspace.close()
    return told


async def whole_atoms(
    workspace: GitWorkspace, bare: Bare, other: Path, rounds: int, told: Comparison
) -> None:
    bare.clean()
    git(bare.place, "worktree", "add", "--quiet", "--detach", str(other), "main")

    async def atom(number: int) -> float:
        start = time.perf_counter()
        lease = await workspace.lease(number)
        spent = time.perf_counter() - start
        work(lease.path, number)
        start = time.perf_counter()
        await workspace.change(lease)
        assert isinstance(await workspace.integrate(lease, trailers("W", number)), Integrated)  # noqa: S101
        await workspace.release(lease)
        return spent + time.perf_counter() - start

    for number in range(100, 100 + rounds):
        ours = await atom(number)
        work(bare.path, number)
        told.add("whole_atom", ours, seconds(lambda: bare.whole_atom(other)))


async def rebuilding(workspace: GitWorkspace, bare: Bare, told: Comparison) -> None:
    """Take one commit off from under ten others."""
    bare.clean()
    for number in range(COMMITS + 1):
        lease = await workspace.lease(number)
        (lease.path / f"r{number}.txt").write_text("x\n")
        await workspace.integrate(lease, trailers(f"R{number}", number))
        await workspace.release(lease)
        (bare.path / f"r{number}.txt").write_text("x\n")
        bare.commit()
    ours = await awaited(lambda: workspace.rebuild([AtomId("R0")]))
    words = ("rebase", "--quiet", "--onto", f"HEAD~{COMMITS + 1}", f"HEAD~{COMMITS}")
    told.add(f"rebuild_{COMMITS}_commits", ours, seconds(lambda: git(bare.path, *words)))


def main(folder: Path | None = None) -> None:
    for count, rounds in ((SMALL, ROUNDS), (BIG, 3)):
        with tempfile.TemporaryDirectory(dir=folder) as place:
            asyncio.run(compare(Path(place).resolve(), count, rounds)).show(f"{count}_files")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
