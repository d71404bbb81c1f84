"""The branch of a tree's run, for commands that only ask: no event loop, no lock, nothing written.

`adapters/git/in_place/history` parses what git says, here as in the runner.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from dwindle.adapters.git.in_place.history import (
    HEADS,
    PROTECTED,
    RUN_ID,
    RUNNER,
    BranchHistory,
    branch_history,
    file_contents,
    last_iteration,
    run_of,
)
from dwindle.app.ask_git import ask_git, read_with_git


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBranch:
    """A branch that a run is on."""

    run: str
    ref: str
    tip: str

    @property
    def name(self) -> str:
        return self.ref.removeprefix(HEADS)


def branch_here(root: Path) -> RunBranch | None:
    """The run of the checked-out branch: its own branch, or one that it stays on (`--here`)."""
    said = ask_git(root, "rev-parse", "HEAD^{commit}", "--symbolic-full-name", "HEAD")
    tip, _, ref = said.stdout.decode(errors="replace").strip().partition("\n")
    if said.returncode or not ref.startswith(HEADS):
        return None
    if ref.startswith(RUNNER):
        run = run_of(ref)
        return RunBranch(run=run, ref=ref, tip=tip) if run else None
    if ref.removeprefix(HEADS) in PROTECTED:
        return None
    last = read_with_git(root, last_iteration())
    # A branch can also have the iterations of a run because they were landed on it.
    if last is None or not _has_journal(root, last.run) or _own_branch(root, last.run):
        return None
    return RunBranch(run=last.run, ref=ref, tip=tip)


def branch_of(root: Path, run: str) -> RunBranch | None:
    """The branch of a run, if git still has it."""
    here = branch_here(root)
    return here if here is not None and here.run == run else _own_branch(root, run)


def read_branch(root: Path, branch: RunBranch) -> BranchHistory:
    return read_with_git(root, branch_history(branch.run, branch.tip))


def contents(root: Path, path: str, commits: Iterable[str]) -> dict[str, bytes]:
    """The content of a file by commit; commits without the file are left out."""
    return read_with_git(root, file_contents(path, commits))


def _own_branch(root: Path, run: str) -> RunBranch | None:
    if not RUN_ID.fullmatch(run):
        return None
    ref = f"{RUNNER}{run}"
    said = ask_git(root, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")
    tip = said.stdout.decode(errors="replace").strip()
    return RunBranch(run=run, ref=ref, tip=tip) if tip and not said.returncode else None


def _has_journal(root: Path, run: str) -> bool:
    return os.path.lexists(root / ".runner" / "journal" / f"{run}.jsonl")
