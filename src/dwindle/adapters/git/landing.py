"""Bringing a run's result to the person's branch, when they ask for it.

The merge is made without any work tree first, so that a conflict is known before anything moves.
Where the branch is checked out, git itself fast-forwards that checkout to the finished commit: it
refuses, before it writes the first file, if that would touch anything uncommitted.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from dwindle.adapters.git.command import DURABLE, Git
from dwindle.adapters.git.commit_message import branch_of, fit
from dwindle.adapters.git.difference import changed_files
from dwindle.adapters.git.merge import commit_tree, merge_commits
from dwindle.adapters.git.repository import Repository
from dwindle.adapters.git.worktrees.worktree import known_trees
from dwindle.ports.workspace import Conflict, LandingStyle, WorkspaceFailed

_FACT = re.compile(r"^Dwindle-(\w+): (.+)$", re.MULTILINE)


class LandRefused(WorkspaceFailed):
    """Nothing was changed; `paths` are those that stand in the way."""

    def __init__(self, what: str, paths: tuple[str, ...] = ()) -> None:
        super().__init__(what, ", ".join(paths))
        self.paths = paths


class How(StrEnum):
    ALREADY = "already there"
    FORWARD = "fast-forward"
    MERGE = "merge"
    SQUASH = "squash"


@dataclass(frozen=True, slots=True, kw_only=True)
class Landed:
    branch: str
    commit: str
    how: How
    checkouts: tuple[Path, ...] = ()
    """Work trees on that branch, in which files are written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Landing:
    """What landing would do; so far nothing but objects was made, to which nothing leads."""

    run: str
    tip: str
    before: str
    after: str
    ref: str
    how: How
    places: tuple[tuple[Path, Path], ...] = ()

    @property
    def branch(self) -> str:
        return self.ref.removeprefix("refs/heads/")

    @property
    def result(self) -> Landed:
        places = tuple(place for place, _ in self.places)
        return Landed(branch=self.branch, commit=self.after, how=self.how, checkouts=places)


async def land(  # noqa: PLR0913 - what a user may ask for
    repository: Repository,
    run: str,
    onto: str | None = None,
    *,
    style: LandingStyle = LandingStyle.KEEP,
    text: str = "",
    dry_run: bool = False,
) -> Landed:
    """Put the run's branch on `onto`, or on the branch that the person has checked out.

    `text` is the message of a squashed commit. `dry_run`: find out whether it could be done, and
    do nothing.
    """
    landing = await _prepared(repository, run, onto, style, text)
    git = repository.git
    if dry_run:
        for place, admin in landing.places:
            if paths := await _in_the_way(git.at(place, git_dir=admin), landing):
                raise _overwritten(place, landing.branch, paths)
        return landing.result
    if landing.how is not How.ALREADY:
        ref, after, before = landing.ref, landing.after, landing.before
        if not landing.places:
            durable = git.with_settings(*DURABLE)
            await durable.tell("update-ref", "-m", f"dwindle: land {run}", ref, after, before)
        for place, admin in landing.places:
            await _forward(git.at(place, git_dir=admin), place, landing)
    known = await landed_before(repository, run)
    if landing.how is not How.ALREADY or known is None or known.tip != landing.tip:
        await record_landing(repository, run, landing.tip, landing.branch, landing.after)
    await _detach(repository, landing)
    return landing.result


async def _prepared(
    repository: Repository, run: str, onto: str | None, style: LandingStyle, text: str
) -> Landing:
    git = repository.git
    known = await landed_before(repository, run)
    has_branch = (await git.ask("show-ref", "--verify", "--quiet", branch_of(run))).code == 0
    if known is not None and not has_branch:
        tip = known.tip
    else:
        tip = await repository.commit(branch_of(run))
    ref = await _target(repository, onto)
    branch = ref.removeprefix("refs/heads/")
    if ref == branch_of(run):
        raise LandRefused(f"{branch} is the run's own branch; name another one")
    before = await repository.commit(ref)
    landing = Landing(run=run, tip=tip, before=before, after=before, ref=ref, how=How.ALREADY)
    became = known.commit if known is not None and known.tip == tip else tip
    if any([await repository.is_ancestor(one, before) for one in (tip, became)]):
        return landing
    places = tuple((path, admin) for path, admin, held in checkouts(repository) if held == ref)
    landing = replace(landing, places=places)
    is_ahead = await repository.is_ancestor(before, tip)
    if is_ahead and style is LandingStyle.KEEP:
        return replace(landing, after=tip, how=How.FORWARD)
    tree = f"{tip}^{{tree}}" if is_ahead else await merge_commits(git, before, tip)
    if isinstance(tree, Conflict):
        what = f"runner/{run} and {branch} both changed the same lines"
        raise LandRefused(what, tree.paths)
    if style is LandingStyle.SQUASH:
        after = await commit_tree(git, tree, (before,), text or f"Land runner/{run}\n")
        return replace(landing, after=after, how=How.SQUASH)
    text = f"Merge branch 'runner/{run}' into {branch}\n\nDwindle-Run: {run}\n"
    after = await commit_tree(git, tree, (before, tip), text)
    return replace(landing, after=after, how=How.MERGE)


# --- proof of landing ----------------------------------------------------------------------------
#
# Git knows that a branch is merged by its history. A squashed commit has no such history, and a
# branch that was removed has none left. So every landing is recorded: by a commit that names the
# last commit of the run and the one that it became, under a name of our own.


@dataclass(frozen=True, slots=True, kw_only=True)
class LandingRecord:
    tip: str
    """The last commit of the run."""
    commit: str
    """What it became."""
    branch: str


def landed_ref(run: str) -> str:
    return f"refs/dwindle/landed/{fit(run)}"


async def landed_before(repository: Repository, run: str) -> LandingRecord | None:
    """The last landing of a run."""
    ref = landed_ref(run)
    said = await repository.git.ask("log", "-1", "--no-walk", "--format=%B", f"{ref}^{{commit}}")
    found = dict(_FACT.findall(said.text)) if said.code == 0 else {}
    if not {"Tip", "Commit", "Onto"} <= found.keys():
        return None
    return LandingRecord(tip=found["Tip"], commit=found["Commit"], branch=found["Onto"])


async def record_landing(
    repository: Repository, run: str, tip: str, branch: str, commit: str | None = None
) -> None:
    """Record that a branch has the work of a run: as it is, or as another commit."""
    git, commit = repository.git.with_settings(*DURABLE), commit or tip
    text = (
        f"Landed runner/{run} on {branch}\n\nDwindle-Run: {run}\n"
        f"Dwindle-Onto: {branch}\nDwindle-Tip: {tip}\nDwindle-Commit: {commit}\n"
    )
    # The tip comes first: where both are the same commit, git keeps one parent.
    parents = tuple(dict.fromkeys((tip, commit)))
    record = await commit_tree(git, f"{commit}^{{tree}}", parents, text)
    await git.tell("update-ref", landed_ref(run), record)


async def _detach(repository: Repository, landing: Landing) -> None:
    """Take the integration tree off the branch: git removes no branch that is checked out."""
    for tree in known_trees(repository):
        mine = tree.path == repository.trees / f"integration-{landing.run}"
        if mine and tree.head() == f"ref: {branch_of(landing.run)}":
            await tree.advance(landing.tip, landing.tip)


# --- the branch ----------------------------------------------------------------------------------


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


def checkouts(repository: Repository) -> Iterator[tuple[Path, Path, str]]:
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


async def _in_the_way(git: Git, landing: Landing) -> tuple[str, ...]:
    """Files of a checkout that are not committed, and that landing would overwrite."""
    changed = {one.path for one in await changed_files(git, landing.before, landing.after)}
    words = ("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignored")
    said = await replace(git, raw=False).tell(*words, "--ignore-submodules=all")
    return tuple(path for line in said.lines if (path := line[3:]) in changed)


async def _forward(git: Git, place: Path, landing: Landing) -> None:
    """Move a checked-out branch with its files; all of it or nothing."""
    at = replace(git, raw=False).with_settings(*DURABLE)
    quiet = ("--quiet", "--no-stat", "--no-autostash", "--no-overwrite-ignore", "--no-verify")
    said = await at.ask("merge", "--ff-only", *quiet, landing.after)
    if said.code:
        lines = said.err.splitlines()
        paths = tuple(line.strip() for line in lines if line.startswith("\t"))
        if paths:
            raise _overwritten(place, landing.branch, paths)
        raise LandRefused(f"git could not move {landing.branch} in {place}", tuple(lines[:3]))


def _overwritten(place: Path, branch: str, paths: tuple[str, ...]) -> LandRefused:
    what = f"{place} has uncommitted changes that landing on {branch} would overwrite"
    return LandRefused(what, paths)
