"""Bringing a run's result to the person's branch, when they ask for it.

The merge is made without any work tree first, so that a conflict is known before anything moves.
Where the branch is checked out, git itself fast-forwards that checkout to the finished commit: it
refuses, before it writes the first file, if that would touch anything uncommitted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from dwindle.adapters.git.command import DURABLE, Git
from dwindle.adapters.git.commit_message import branch_of
from dwindle.adapters.git.merge import commit_tree, merge_commits
from dwindle.adapters.git.repository import Repository
from dwindle.adapters.git.worktrees.worktree import known_trees
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
        tree = await merge_commits(git, before, tip)
        if isinstance(tree, Conflict):
            what = f"runner/{run} and {branch} both changed the same lines"
            raise LandRefused(what, tree.paths)
        text = f"Merge branch 'runner/{run}' into {branch}\n\nDwindle-Run: {run}\n"
        after, how = await commit_tree(git, tree, (before, tip), text), How.MERGE
    places = [(path, admin) for path, admin, held in _checkouts(repository) if held == ref]
    if not places:
        durable = git.with_settings(*DURABLE)
        await durable.tell("update-ref", "-m", f"dwindle: land {run}", ref, after, before)
    for place, admin in places:
        await _forward(git.at(place, git_dir=admin), place, branch, after)
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


def _checkouts(repository: Repository) -> Iterator[tuple[Path, Path, str]]:
    """Every work tree, git's folder about it, and the branch that it has checked out."""
    git_dir, common = repository.git.git_dir, repository.common
    if git_dir == common:
        yield repository.checkout, common, _branch(common)
    elif common.name == ".git" and (common / "index").exists():  # else it is a bare one
        yield common.parent, common, _branch(common)
    for tree in known_trees(repository):
        if os.path.lexists(tree.path / ".git"):
            yield tree.path, tree.admin, _branch(tree.admin)


def _branch(admin: Path) -> str:
    head = os.fsdecode((admin / "HEAD").read_bytes()).strip()
    return head.removeprefix("ref:").strip() if head.startswith("ref:") else ""


async def _forward(git: Git, place: Path, branch: str, after: str) -> None:
    """Move a checked-out branch with its files; all of it or nothing."""
    at = replace(git, raw=False).with_settings(*DURABLE)
    quiet = ("--quiet", "--no-stat", "--no-autostash", "--no-overwrite-ignore", "--no-verify")
    said = await at.ask("merge", "--ff-only", *quiet, after)
    if said.code:
        lines = said.err.splitlines()
        paths = tuple(line.strip() for line in lines if line.startswith("\t"))
        if paths:
            what = f"{place} has uncommitted changes that landing on {branch} would overwrite"
            raise LandRefused(what, paths)
        raise LandRefused(f"git could not move {branch} in {place}", tuple(lines[:3]))
