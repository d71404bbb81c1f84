"""The branch of a run on a tree, made commit by commit, without a runner."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.surfaces.command import TREE_FILE, git, repository, write
from tests.surfaces.small_runs import asked_git

from dwindle.adapters.formats.tree.plan import decode, encode
from dwindle.adapters.store.disk import RealDisk
from dwindle.adapters.store.journal import JsonlJournal
from dwindle.kernel.events import Event
from dwindle.ports.iteration import Guarded, Iteration, Kind

RUN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
BRANCH = f"runner/{RUN}"
JOURNAL = f".runner/journal/{RUN}.jsonl"

Node = dict[str, Any]


def node(name: str, *children: Node, order: int = 0, **more: Any) -> Node:
    about = {"id": name, "order": order, "title": f"The {name}", "goal": f"{name} is done"}
    owned = {"acceptance": [], "passes": False, "attempts": 0, "max_attempts": 3}
    return about | owned | {"children": list(children)} | more


def written(root: Node) -> bytes:
    """The canonical file."""
    tree = decode(json.dumps({"version": 1, "root": root}).encode()).tree
    assert tree is not None
    return encode(tree)


def begun(folder: Path, root: Node, files: Mapping[str, str] | None = None) -> Path:
    """A repository with this tree on main, at the branch of a run that has done nothing yet."""
    folder.mkdir(exist_ok=True)
    for name, content in (files or {}).items():
        write(folder, name, content)
    write(folder, ".gitignore", ".runner/journal/\n.runner/iterations/\n")
    repository(folder, tree=written(root).decode())
    git(folder, "switch", "--quiet", "--create", BRANCH)
    return folder


def iterated(
    folder: Path, line: str, root: Node | None = None, *, run: str = RUN, tree: bytes | None = None
) -> str:
    """Commit an iteration, `0001 root decompose skipped`, with the tree after it."""
    number, name, kind, guard = line.split()
    done = Iteration(run=run, number=int(number), node=name, kind=Kind(kind), guard=Guarded(guard))
    if root is not None or tree is not None:
        write(folder, TREE_FILE, tree if tree is not None else written(root or {}))
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", f"--message={done.subject}")
    return asked_git(folder, "rev-parse", "HEAD")


def journalled(folder: Path, *events: Event, run: str = RUN) -> None:
    journal = JsonlJournal.create(RealDisk(), folder / ".runner/journal", run, after=0, versions=())
    if events:
        journal.append(*events)
    journal.close()


# --- a run of four iterations --------------------------------------------------------------------

START = node("root")
SPLIT = node("root", node("parse", order=1), node("store", order=2))
RED = node("root", node("parse", order=1, attempts=1), node("store", order=2))
GREEN = node("root", node("parse", order=1, attempts=1, passes=True), node("store", order=2))
DONE = node(
    "root",
    node("parse", order=1, attempts=1, passes=True),
    node("store", order=2, attempts=0, passes=True),
    passes=True,
)
STORY = (
    ("0001 root decompose skipped", SPLIT),
    ("0002 parse execute fail", RED),
    ("0003 parse execute pass", GREEN),
    ("0004 store execute pass", DONE),
)


def half_way(folder: Path) -> Path:
    """Three of the four iterations."""
    begun(folder, START)
    for line, root in STORY[:3]:
        iterated(folder, line, root)
    return folder
