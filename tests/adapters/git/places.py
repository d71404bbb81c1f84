"""Repositories to tell stories in, and how to look at them with git alone."""

from __future__ import annotations

import asyncio
import functools
import os
import subprocess
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, ParamSpec

from dwindle.adapters.git.worktrees.workspace import GitWorkspace
from dwindle.kernel.model import AtomId
from dwindle.ports.workspace import Trailers

P = ParamSpec("P")
RUN = "01RUN"

FILES = {
    "README.md": "# Hello\n",
    "src/app.py": "print('one')\nprint('two')\nprint('three')\n",
    "src/größe und maß.txt": "spaces and unicode\n",
    "tests/test_app.py": "assert True\n",
    ".gitignore": "*.log\nbuild/\nnode_modules/\n",
}


def story(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Run a test that awaits things."""

    @functools.wraps(test)
    def told(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(test(*args, **kwargs))

    return told


def quiet_environment(home: Path) -> dict[str, str]:
    """One in which nobody is known to git."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {**kept, "HOME": str(home), "XDG_CONFIG_HOME": str(home), "LC_ALL": "C"}


def git(place: Path, *words: str, given: str | None = None) -> str:
    """The person's own git, which knows who they are."""
    person = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    done = subprocess.run(
        ["git", "-c", "core.quotePath=false", *person, *words],
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
        input=given,
    )
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout.rstrip("\n")


def write(place: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8")


def repository(place: Path, files: dict[str, str] | None = None) -> Path:
    place.mkdir(parents=True)
    git(place, "init", "--quiet", "--initial-branch=main")
    write(place, FILES if files is None else files)
    git(place, "add", "--all")
    git(place, "commit", "--quiet", "--message=Begin")
    return place


def files_in(place: Path) -> dict[str, str]:
    """All there is, but for git's own; links as what they lead to."""
    found = {}
    for path in sorted(place.rglob("*")):
        name = path.relative_to(place).as_posix()
        if name == ".git" or name.startswith((".git/", ".runner/")):
            continue
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        elif path.is_file():
            found[name] = path.read_text("utf-8", "replace")
        elif not path.is_dir():
            found[name] = "(special)"
        elif not any(path.iterdir()):
            found[name + "/"] = ""
    return found


def files_at(place: Path, commit: str) -> dict[str, str]:
    """The files of a commit."""
    names = git(place, "ls-tree", "-r", "-z", "--name-only", commit).split("\0")
    return {
        name: git(place, "cat-file", "blob", f"{commit}:{name}") + "\n" for name in names if name
    }


def refs(place: Path) -> dict[str, str]:
    listed = git(place, "for-each-ref", "--format=%(refname) %(objectname)")
    return dict(line.split(" ") for line in listed.splitlines())


def trailers(atom: str, attempt: int = 1, summary: str = "It works now") -> Trailers:
    return Trailers(run=RUN, atom=AtomId(atom), attempt=attempt, summary=summary)


async def opened(place: Path, **options: Any) -> GitWorkspace:
    options.setdefault("aligned", git(place, "rev-parse", "HEAD"))
    options.setdefault("run", RUN)
    options.setdefault("checkouts", place.parent)
    return await GitWorkspace.open(place, **options)
