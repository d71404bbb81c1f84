"""The person's own checkout, with a run in it."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.adapters.git.places import RUN, git

from dwindle.adapters.git.in_place.checkout import GitInPlace
from dwindle.adapters.git.repository import find

BRANCH = "refs/heads/runner/01RUN"
KEPT = "refs/dwindle/attempts/01RUN"


def subject(number: int, *, run: str = RUN, node: str = "root") -> str:
    return f"chore(loop): run {run} iter {number:04} node {node} execute guard=pass"


async def at_home(
    place: Path, *, run: str | None = RUN, here: bool = False, minted: str = "01MINTED"
) -> GitInPlace:
    return await GitInPlace.open(await find(place), run=run, here=here, mint=lambda: minted)


def status(place: Path) -> str:
    """What the person's own git says, with none of our settings."""
    done = subprocess.run(
        ["git", "status", "--porcelain", "--untracked-files=all"],
        cwd=place,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def in_step(place: Path, commit: str) -> None:
    """The branch, HEAD, git's index and the files say the same."""
    assert git(place, "symbolic-ref", "HEAD") == BRANCH
    assert git(place, "rev-parse", BRANCH) == commit
    assert git(place, "write-tree") == git(place, "rev-parse", f"{commit}^{{tree}}")
    assert status(place) == ""


async def begun(place: Path) -> tuple[GitInPlace, str]:
    """A run at the start of an iteration."""
    home = await at_home(place)
    assert await home.dirt() == ()
    return home, await home.head()
