"""Bringing a run's result to the person's branch, when they ask for it.

The merge is made without any work tree first, so that a conflict is known before anything moves.
Where the branch is checked out, git itself fast-forwards that checkout to the finished commit: it
refuses, before it writes the first file, if that would touch anything uncommitted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from dwindle.adapters.workspaces.git import DURABLE
from dwindle.adapters.workspaces.merge import commit_tree, merged_histories
from dwindle.adapters.workspaces.message import branch_of
from dwindle.adapters.workspaces.repository import Repository
from dwindle.ports.workspace import Conflict, WorkspaceFailed


class LandRefused(WorkspaceFailed):
    """Nothing was changed; `paths` are those that stand in the way."""

    def __init__(self, what: str, paths: tuple[str, ...] = ()) -> None:
        super().__init__(what, ", ".join(paths))
        self.paths = paths


class How(StrEnum):
    ALREADY = "already there"
    FORWARD = "fast-forward"
    MERGE = "merge"


@dataclass(frozen=True, slots=True, kw_only=True)
class Landed:
    branch: str
    commit: str
    how: How


async def land(repository: Repository, run: str, onto: str | None = None) -> Landed:
    """Put the run's branch on `onto`, or on the branch that the person has checked out."""
    git = repository.git
    tip = await repository.commit(branch_of(run))
    ref = await _target(repository, onto)
    branch = ref.removeprefix("refs/heads/")
    if ref == branch_of(run):
        raise LandRefused(f"{branch} is the run's own branch; name another one")
    before = await repository.commit(ref)
    if await repository.is_ancestor(tip, before):
        return Landed(branch=branch, commit=before, how=How.ALREADY)
    if await repository.is_ancestor(before, tip):
        after, how = tip, How.FORWARD
    else:
        tree = await merged_histories(git, before, tip)
        if isinstance(tree, Conflict):
            what = f"runner/{run} and {branch} both changed the same lines"
            raise LandRefused(what, tree.paths)
        text = f"Merge branch 'runner/{run}' into {branch}\n\nDwindle-Run: {run}\n"
        after, how = await commit_tree(git, tree, (before, tip), text), How.MERGE
    places = [path for path, held in await _checkouts(repository) if held == ref]
    if not places:
        durable = git.with_settings(*DURABLE)
        await durable.tell("update-ref", "-m", f"dwindle: land {run}", ref, after, before)
    for place in places:
        await _forward(repository, place, branch, after)
    return Landed(branch=branch, commit=after, how=how)


async def _target(repository: Repository, onto: str | None) -> str:
    if onto is None:
        head = await repository.git.ask("symbolic-ref", "--quiet", "HEAD")
        if head.code:
            raise LandRefused("HEAD is detached: say which branch to land on")
        return head.text
    name = onto.removeprefix("refs/heads/")
    known = await repository.git.ask("show-ref", "--verify", "--quiet", f"refs/heads/{name}")
    if known.code:
        raise LandRefused(f"there is no branch named {name}")
    return f"refs/heads/{name}"


async def _checkouts(repository: Repository) -> list[tuple[Path, str]]:
    """Every work tree, and the branch that it has checked out."""
    said = await repository.git.tell("worktree", "list", "--porcelain", "-z")
    return list(_records(os.fsdecode(said.out)))


def _records(text: str) -> Iterator[tuple[Path, str]]:
    for record in text.split("\0\0"):
        facts = dict(line.partition(" ")[::2] for line in record.split("\0") if line)
        if "worktree" in facts and "prunable" not in facts:
            yield Path(facts["worktree"]), facts.get("branch", "")


async def _forward(repository: Repository, place: Path, branch: str, after: str) -> None:
    """Move a checked-out branch with its files; all of it or nothing."""
    at = repository.git.at(place, git_dir=place / ".git").with_settings(*DURABLE)
    quiet = ("--quiet", "--no-stat", "--no-autostash", "--no-overwrite-ignore", "--no-verify")
    said = await at.ask("merge", "--ff-only", *quiet, after)
    if said.code:
        lines = said.err.splitlines()
        paths = tuple(line.strip() for line in lines if line.startswith("\t"))
        if paths:
            what = f"{place} has uncommitted changes that landing on {branch} would overwrite"
            raise LandRefused(what, paths)
        raise LandRefused(f"git could not move {branch} in {place}", tuple(lines[:3]))
