"""Running the real command, and the folders to run it in."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.surfaces.bad_plans import GRAPH, TREE, text

PLAIN = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": "/nonexistent"}
GRAPH_FILE = ".claude/aot-loop-state.md"
TREE_FILE = ".runner/tree.json"


@dataclass(frozen=True, kw_only=True)
class Ended:
    code: int
    out: str = ""
    err: str = ""


def dwindle(folder: Path, *words: str, **surroundings: str) -> Ended:
    """The command as a person would call it, in another process."""
    ended = subprocess.run(
        [sys.executable, "-m", "dwindle", *words],
        cwd=folder,
        env=PLAIN | _coverage() | surroundings,
        capture_output=True,
        check=False,
        timeout=60,
    )
    return Ended(code=ended.returncode, out=ended.stdout.decode(), err=ended.stderr.decode())


def _coverage() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}


def git(folder: Path, *words: str) -> None:
    me = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *me, *words], cwd=folder, env=PLAIN, check=True, capture_output=True)


def repository(folder: Path, *, graph: str | None = None, tree: str | None = None) -> Path:
    """A git repository with these plans in its first commit."""
    git(folder, "init", "--quiet", "--initial-branch=main")
    write(folder, "README", "a project\n")
    if graph is not None:
        write(folder, GRAPH_FILE, graph)
    if tree is not None:
        write(folder, TREE_FILE, tree)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=first")
    return folder


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def graph_repository(folder: Path, graph: str = GRAPH) -> Path:
    return repository(folder, graph=graph)


def tree_repository(folder: Path) -> Path:
    return repository(folder, tree=text(TREE))
