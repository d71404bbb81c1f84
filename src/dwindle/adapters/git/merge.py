"""Three-way merges and commits without any work tree.

`git merge-tree` finds the base of a merge from history; our bases are not in history: a session's
change starts from the commit it was leased at, and a commit that is replayed starts from its own
parent. So our side is given to git as a commit made for the purpose, whose only parent is the base.
Nothing refers to it afterwards, and git forgets it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from dwindle.adapters.git.command import DURABLE, Git
from dwindle.adapters.git.commit_message import atom_in
from dwindle.kernel.model import AtomId
from dwindle.ports.workspace import Conflict, WorkspaceFailed


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    id: str
    tree: str
    parent: str
    text: str

    @property
    def subject(self) -> str:
        return self.text.partition("\n")[0]

    @property
    def atom(self) -> AtomId | None:
        return atom_in(self.text)


async def commit_tree(git: Git, tree: str, parents: tuple[str, ...], text: str) -> str:
    """A commit that nothing points to yet, on disk."""
    named = [word for parent in parents for word in ("-p", parent)]
    given = text.encode("utf-8", "replace")
    durable = git.with_settings(*DURABLE)
    return (await durable.tell("commit-tree", tree, *named, "-F", "-", given=given)).text


async def merge_change(git: Git, base: str, ours: str, theirs: str) -> str | Conflict:
    """The tree of `ours` with what leads from `base` to `theirs`, a child of `base`."""
    if ours != base:
        words = ("commit-tree", f"{ours}^{{tree}}", "-p", base, "-m", "one side of a merge")
        ours = (await git.tell(*words)).text
    return await merge_commits(git, ours, theirs)


async def merge_commits(git: Git, ours: str, theirs: str) -> str | Conflict:
    """The tree of a plain merge of two commits."""
    durable = git.with_settings(*DURABLE)
    words = ("merge-tree", "--write-tree", "--name-only", "--no-messages", "-z")
    said = await durable.ask(*words, ours, theirs)
    if said.code > 1 or not said.lines:
        raise WorkspaceFailed(f"git merge-tree ended with {said.code}", said.err)
    tree, *paths = said.lines
    return Conflict(paths=tuple(paths)) if said.code else tree


async def commits_between(git: Git, start: str, tip: str) -> tuple[Commit, ...]:
    """The commits after `start`, oldest first, along first parents."""
    shape = "--format=%H%n%T%n%P%n%B"
    words = ("log", "-z", "--reverse", "--first-parent", shape)
    said = await git.tell(*words, f"{start}..{tip}")
    commits = []
    for record in said.lines:
        commit, tree, parents, text = record.split("\n", 3)
        parent = parents.partition(" ")[0]
        commits.append(Commit(id=commit, tree=tree, parent=parent, text=text))
    return tuple(commits)


MANY = 1_000
"""Paths, above which git is asked about all: a command line has an end."""


async def put_back(at: Git, commit: str, paths: Sequence[str]) -> None:
    """In the index of `at`: all that is at or below these paths is as in `commit`, and no more."""
    if not paths:
        return
    asked = ("--", *paths) if len(paths) <= MANY else ()
    now = (await at.tell("ls-files", "-z", "--stage", *asked)).lines
    then = (await at.tell("ls-tree", "-r", "-z", "--full-tree", commit, *asked)).lines
    wanted = frozenset(paths)
    gone = "".join(
        f"0 {fact.split()[1]}\t{path}\0"
        for fact, _, path in (line.partition("\t") for line in now)
        if _is_below(path, wanted)
    )
    back = "".join(f"{line}\0" for line in then if _is_below(line.partition("\t")[2], wanted))
    if given := os.fsencode(gone + back):
        await at.tell("update-index", "--replace", "-z", "--index-info", given=given)


def _is_below(path: str, tops: frozenset[str]) -> bool:
    parts = path.split("/")
    return any("/".join(parts[: n + 1]) in tops for n in range(len(parts)))
