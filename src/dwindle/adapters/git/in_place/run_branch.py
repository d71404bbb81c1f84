"""Which run works in the person's own checkout, and on which branch.

Everything that could be wrong with that is found before anything is changed, and all of it is said.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from dwindle.adapters.git.command import DURABLE, Git, GitResult
from dwindle.adapters.git.commit_message import branch_of
from dwindle.adapters.git.in_place.history import (
    HEADS,
    PROTECTED,
    RUN_ID,
    last_iteration,
    read_with,
    run_of,
)
from dwindle.adapters.git.in_place.ignored import clear_flags, flagged_paths, with_flag_hints
from dwindle.adapters.git.repository import MADE_BY_US, Repository
from dwindle.adapters.git.submodules import INSIDE, submodules_of
from dwindle.adapters.git.worktrees.worktree import copy_index
from dwindle.ports.removal import remove
from dwindle.ports.workspace import WorkspaceFailed
from dwindle.text.escape import escape

COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
NOTE = "dwindle-in-place-begun"
"""Beside git's own files while an agent is at work: its run, and where it began."""
SCRATCH = "dwindle-in-place-scratch"
"""An index for one purpose at a time, of which nothing is remembered."""

OURS = (*MADE_BY_US, "/.runner/outbox/")
_NEVER = tuple(
    f":(top,exclude,glob){pattern.strip('/')}" + ("/**" if pattern.endswith("/") else "")
    for pattern in OURS
)
ALL_BUT_OURS = ("--", ".", *_NEVER)
"""What git is to look at: also where a `.gitignore` says that our files are not ignored."""

STATUS = (
    "status",
    "--porcelain",
    "-z",
    "--untracked-files=all",
    "--no-renames",
    "--ignore-submodules=dirty",
)

_OPERATIONS = (
    ("MERGE_HEAD", "a merge", "git merge --abort"),
    ("rebase-merge", "a rebase", "git rebase --abort"),
    ("rebase-apply", "a rebase or `git am`", "git rebase --abort"),
    ("CHERRY_PICK_HEAD", "a cherry-pick", "git cherry-pick --abort"),
    ("REVERT_HEAD", "a revert", "git revert --abort"),
    ("BISECT_LOG", "a bisection", "git bisect reset"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPosition:
    """The run and its branch in the checkout."""

    run: str
    ref: str
    made: bool
    """Whether the branch was made just now."""
    began_on: str = ""
    """The branch that was checked out before; empty if there was none, or if it was this one."""


def agent_note(admin: Path) -> tuple[str, str]:
    """The run of an agent whose work is not settled yet, and the commit that it was given."""
    with suppress(OSError, UnicodeDecodeError):
        run, _, base = (admin / NOTE).read_text("ascii").strip().partition(" ")
        if RUN_ID.fullmatch(run) and COMMIT.fullmatch(base):
            return run, base
    return "", ""


async def choose_branch(
    repository: Repository, *, run: str | None, here: bool, mint: Callable[[], str]
) -> RunPosition:
    """Find the run's branch, or make it at HEAD and go there; no file is touched by that."""
    problems = [
        *_in_progress(repository),
        *await _sparse(repository),
        *await _with_a_git_of_their_own(repository),
    ]
    if run is not None and not RUN_ID.fullmatch(run):
        problems.append(f"{run!r} is no run id: capital letters and digits, 64 at most")
    if problems:
        raise WorkspaceFailed(f"no run can work in {repository.checkout}", "; ".join(problems))
    ref = (await repository.git.ask("symbolic-ref", "--quiet", "HEAD")).text
    at = run_of(ref)
    if at is not None:
        if run not in (None, at):
            name = ref.removeprefix(HEADS)
            what = f"HEAD is on {name}, which is not of run {run}"
            raise WorkspaceFailed(what, f"`git switch` to another branch, or leave out {run}")
        return RunPosition(run=at, ref=ref, made=False)
    if here:
        return await _stay(repository, ref, run, mint)
    return replace(await _go(repository, run, mint), began_on=ref.removeprefix(HEADS))


async def _stay(
    repository: Repository, ref: str, run: str | None, mint: Callable[[], str]
) -> RunPosition:
    name = ref.removeprefix(HEADS)
    if not ref:
        what = "HEAD is detached: there is no branch to stay on"
        raise WorkspaceFailed(what, "`git switch` to one, or let the run make its own")
    if name in PROTECTED:
        what = f"a run does not commit on {name}"
        raise WorkspaceFailed(what, "stay on another branch, or let the run make its own")
    last = await read_with(repository.git, last_iteration())
    if last is not None and (await _rev_parse(repository.git, branch_of(last.run))).code == 0:
        last = None  # that run has a branch of its own, and was landed on this one
    if last is not None and run not in (None, last.run):
        what = f"{name} has iterations of run {last.run}, not of {run}"
        raise WorkspaceFailed(what, f"go to another branch, or leave out {run}")
    if last is None and run is None:
        run = await _killed_run(repository)
    return RunPosition(run=last.run if last else run or mint(), ref=ref, made=False)


async def _killed_run(repository: Repository) -> str | None:
    """A run whose runner was killed here before its first commit; no commit tells of it."""
    run, base = agent_note(repository.git.git_dir)
    if not run or base != await repository.head():
        return None
    has_its_own = (await _rev_parse(repository.git, branch_of(run))).code == 0
    return None if has_its_own else run


async def _go(repository: Repository, run: str | None, mint: Callable[[], str]) -> RunPosition:
    git = repository.git.with_settings(*DURABLE)
    run = run or mint()
    ref = branch_of(run)
    name = ref.removeprefix(HEADS)
    known = await _rev_parse(git, ref)
    if known.code:
        await repository.require_room_for_runs()
        head = await repository.head()
        await git.tell("update-ref", "-m", "dwindle: a new run", ref, head, "0" * len(head))
        await git.tell("symbolic-ref", "-m", f"dwindle: to {name}", "HEAD", ref)
        return RunPosition(run=run, ref=ref, made=True)
    dirt = await dirt_in(repository)
    if dirt:
        what = f"going to {name} needs a clean checkout; `git stash -u` or commit first"
        raise WorkspaceFailed(what, escape(", ".join(dirt[:10])))
    await git.tell("switch", "--quiet", "--no-guess", name)
    return RunPosition(run=run, ref=ref, made=False)


async def _rev_parse(git: Git, ref: str) -> GitResult:
    """The commit that a ref leads to; a code other than 0 where there is none."""
    return await git.ask("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")


async def dirt_in(repository: Repository) -> tuple[str, ...]:
    """What the person's own `git status` would list, whatever their settings hide."""
    git = repository.git
    hidden = await flagged_paths(git) or ()
    scratch = git.git_dir / SCRATCH
    if hidden:
        copy_index(git.git_dir / "index", scratch)
        git = git.at(repository.checkout, index=scratch)
        await clear_flags(git, hidden)
    try:
        said = await git.with_patterns().tell(*STATUS, *ALL_BUT_OURS)
    finally:
        if hidden:
            remove(scratch)
    inside = await (await submodules_of(repository)).changed()
    return (*with_flag_hints(said.lines, hidden), *(f" M {path} ({INSIDE})" for path in inside))


async def ignored_in(git: Git) -> tuple[str, ...]:
    """What git ignores in a checkout, without `.runner/`; a folder ends with a slash."""
    said = await git.with_patterns().tell(*STATUS, "--ignored=matching", *ALL_BUT_OURS)
    paths = (line[3:] for line in said.lines if line.startswith("!! "))
    return tuple(path for path in paths if not path.startswith(".runner/"))


# --- refusals ------------------------------------------------------------------------------------


def _in_progress(repository: Repository) -> Iterator[str]:
    """Half-done operations of git, and how to end them."""
    for name, what, how in _OPERATIONS:
        if os.path.lexists(repository.git.git_dir / name):
            yield f"{what} is in progress; finish it, or `{how}`"


async def _sparse(repository: Repository) -> list[str]:
    # Every call of ours says that it is off, so that the last value is no answer.
    words = ("config", "-z", "--type=bool", "--get-all", "core.sparseCheckout")
    if "true" in (await repository.git.ask(*words)).lines:
        return ["the checkout is sparse; `git sparse-checkout disable` brings all files back"]
    return []


async def _with_a_git_of_their_own(repository: Repository) -> list[str]:
    """Submodules whose `.git` an agent could write to: git outside of a sandbox would obey it."""
    if agent_note(repository.git.git_dir)[0]:
        return []  # an agent was killed, and what it left there is put back
    found = (await submodules_of(repository)).astray()
    how = "`git submodule absorbgitdirs` puts it where it is safe"
    return [f"the submodule {path} has a git folder of its own; {how}" for path in found]


def operation_files(git_dir: Path) -> list[Path]:
    """What a half-done operation left, if there is one."""
    if not any(os.path.lexists(git_dir / name) for name, _, _ in _OPERATIONS):
        return []
    more = ("MERGE_MSG", "MERGE_MODE", "AUTO_MERGE", "SQUASH_MSG", "sequencer")
    names = (*(name for name, _, _ in _OPERATIONS), *more)
    return [git_dir / name for name in names if os.path.lexists(git_dir / name)]
