"""What a branch says about a run: its iterations, and what the tree file held.

A branch leads back to the beginning of the repository, which may be a hundred thousand commits ago.
A run's own commits are at its end, and their numbers begin with 1: so they are read in portions,
from the end, until the first iteration or long after there should have been one.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from dwindle.adapters.workspaces.git import Git
from dwindle.adapters.workspaces.standing import LOOK_BACK
from dwindle.ports.in_place import Done, History
from dwindle.ports.iteration import TESTS, Iteration
from dwindle.ports.workspace import WorkspaceFailed

TREE_FILE = ".runner/tree.json"
MOST_DIGITS = 10
_PORTION = 200
_FORMAT = f"%H %P%n%s%n%(trailers:key={TESTS},valueonly,separator=%x2C)"


async def history_of(git: Git, run: str, tip: str, since: str | None) -> History:
    commits, start = await _commits(git, run, tip, since)
    done = []
    for commit, message in commits:
        subject, _, tests = message.partition("\n")
        found = Iteration.of(subject)
        if found is not None and found.run == run:
            counted = int(tests) if tests.isdecimal() and len(tests) < MOST_DIGITS else None
            done.append(Done(iteration=found, commit=commit, tests=counted))
    beginning = (start,) if start else ()
    trees = await _trees(git, (*beginning, *(commit for commit, _ in commits)))
    return History(done=tuple(done), trees=trees)


async def _commits(
    git: Git, run: str, tip: str, since: str | None
) -> tuple[list[tuple[str, str]], str]:
    """Commit and message since the run began, oldest first; and the commit before them.

    Of a message, the subject, and on a second line how many tests it says that there were.
    """
    found: list[tuple[str, str]] = []
    last, at, portion = -1, tip, _PORTION
    while at:
        words = ("log", "--first-parent", "-z", f"-{portion}", f"--format={_FORMAT}", at)
        records = (await git.tell(*words)).lines
        for record in records:
            ids, _, message = record.partition("\n")
            commit, _, parents = ids.partition(" ")
            if commit == since:
                return found[::-1], commit
            at = parents.partition(" ")[0]
            found.append((commit, message))
            iteration = Iteration.of(message.partition("\n")[0])
            if iteration is not None and iteration.run == run:
                last = len(found)
                if iteration.number == 1 and since is None:
                    return found[::-1], at
        if since is None and len(found) - max(last, 0) >= LOOK_BACK:
            break
        portion = min(portion * 10, 20_000)
    if since is not None:
        raise WorkspaceFailed(f"{since} is not on the branch of run {run}")
    if last < 0:  # no iteration yet: the run begins with the next commit
        return [], tip
    return found[:last][::-1], found[last][0] if last < len(found) else ""


async def _trees(git: Git, commits: Sequence[str]) -> tuple[bytes, ...]:
    """The distinct contents of the tree file in these commits, in their order."""
    asked = "".join(f"{commit}:{TREE_FILE}\n" for commit in commits)
    words = ("cat-file", "--batch-check=%(objectname) %(objecttype)")
    lines = os.fsdecode((await git.tell(*words, given=asked.encode())).out).splitlines()
    blobs = dict.fromkeys(line.split(" ")[0] for line in lines if line.endswith(" blob"))
    if not blobs:
        return ()
    given = "".join(f"{blob}\n" for blob in blobs).encode()
    out = (await git.tell("cat-file", "--batch=%(objectsize)", given=given)).out
    contents, at = [], 0
    for _ in blobs:
        end = out.index(b"\n", at)
        size = int(out[at:end])
        contents.append(out[end + 1 : end + 1 + size])
        at = end + 1 + size + 1
    return tuple(contents)
