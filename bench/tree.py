"""One iteration of the tree runner beside bare git, and a tree of 10,000 nodes.

The peer of an iteration is what every such loop needs: the agent's and the guard's process, `git
status`, `git add -A` and `git commit`, started one after the other from Python, with the same
settings for durability, in a second copy of the same repository. Ours has prompt, order, journal,
judged tree, log folder with patch, and the commit. Agent and guard are not contained here, as they
are not in the peer.

For the tree file the peer is the goal itself: 150 ms to validate, select and write, with its sync.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench.workspaces import git, repository, seconds

from dwindle.adapters.formats.tree.edit import TaskTreeFormat
from dwindle.adapters.formats.tree.file import decode, encode
from dwindle.adapters.formats.tree.walk import leftmost_open_leaf
from dwindle.adapters.store.disk import DurableFile, RealDisk
from dwindle.app import run_tree as tree_running
from dwindle.app.run import RunRequest
from dwindle.kernel.events import Event, IterationCommitted, RunStarted
from dwindle.kernel.model import Plan
from dwindle.views.terminal.progress import PlainLines, Progress

LEAVES = 12
AGENT = ("sh", "-c", "echo more >> work.txt")
NODES = 10_000
GOAL = 0.150


def node(name: str, children: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": name,
        "order": 0,
        "title": name,
        "goal": f"{name} holds",
        "acceptance": ["it is there"],
        "passes": False,
        "attempts": 0,
        "max_attempts": 3,
        "children": children,
    }


def scaffold(place: Path) -> None:
    """A tree of leaves that pass one after the other, and a file for agents to write to."""
    tree = {"version": 1, "root": node("root", [node(f"n{i:03}", []) for i in range(LEAVES)])}
    (place / ".runner").mkdir()
    (place / ".runner" / "tree.json").write_text(json.dumps(tree))
    (place / ".runner" / "config.toml").write_text(
        "[agents.worker]\n"
        'backend = "command"\n'
        f"command = {json.dumps(list(AGENT))}\n"
        "[guard]\n"
        'command = ["true"]\n'
    )
    (place / "work.txt").write_text("")
    git(place, "add", "--all")
    git(place, "commit", "--quiet", "--message=A tree")


class Stopwatch(Progress):
    """The moments at which iterations were on the branch."""

    def __init__(self) -> None:
        super().__init__(PlainLines())
        self.moments: list[float] = []

    def told(self, plan: Plan, event: Event) -> None:
        del plan
        if isinstance(event, (RunStarted, IterationCommitted)):
            self.moments.append(time.perf_counter())


def ours(place: Path) -> list[float]:
    watch = Stopwatch()
    request = RunRequest(sandbox=False, run_id="01BENCH0000000000000000000")
    asyncio.run(tree_running.run(place, request, watch))
    return [b - a for a, b in zip(watch.moments[1:], watch.moments[2:], strict=False)]


def bare(place: Path) -> list[float]:
    def iteration() -> None:
        git(place, "status", "--porcelain")
        subprocess.run(AGENT, cwd=place, check=True)
        subprocess.run(("true",), cwd=place, check=True)
        git(place, "add", "--all")
        git(place, "commit", "--quiet", "--message=It works")

    return [seconds(iteration) for _ in range(LEAVES)][1:]


def iterations(folder: Path, count: int) -> None:
    place = repository(folder / f"repository{count}", count)
    scaffold(place)
    other = folder / f"bare{count}"
    shutil.copytree(place, other, symlinks=True)
    floor, mine = median(bare(other)), median(ours(place))
    ratio = mine / floor
    name = f"tree_iteration_{count}_files"
    print(f"{name} {mine * 1e3:.1f} ms ratio={ratio:.2f} limit=3 bare={floor * 1e3:.1f}ms")


def big_tree(folder: Path) -> None:
    wide = [node(f"p{i}", [node(f"p{i}.{j}", []) for j in range(99)]) for i in range(NODES // 100)]
    tree = decode(json.dumps({"version": 1, "root": node("root", wide)}).encode()).tree
    assert tree is not None  # noqa: S101
    data = encode(tree)
    file = DurableFile(RealDisk(), folder / "tree.json")

    def whole() -> None:
        found = decode(data).tree
        assert found is not None  # noqa: S101
        leftmost_open_leaf(found)
        file.replace(encode(found))

    took = min(seconds(whole) for _ in range(5))
    ratio = took / GOAL
    print(f"tree_of_{NODES}_nodes {took * 1e3:.1f} ms ratio={ratio:.2f} limit=1")
    form = TaskTreeFormat()
    judged = min(seconds(lambda: form.judged(data, data, {})) for _ in range(3))
    print(f"tree_of_{NODES}_nodes_judged {judged * 1e3:.1f} ms ratio={judged / GOAL:.2f}")


def main() -> None:
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as folder:
        big_tree(Path(folder))
        for count in (1_000, 20_000):
            iterations(Path(folder), count)


if __name__ == "__main__":
    main()
