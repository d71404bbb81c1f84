"""What runs have left in git: branches, attempts, work trees. Found, and removed when asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dwindle.adapters.git.command import DURABLE
from dwindle.adapters.git.commit_message import attempts_of, branch_of
from dwindle.adapters.git.repository import Repository
from dwindle.adapters.git.worktrees.worktree import Tree, known_trees

_BRANCHES = "refs/heads/runner/"
_ATTEMPTS = "refs/dwindle/attempts/"
_INTEGRATION = "integration-"


@dataclass(slots=True, kw_only=True)
class Remains:
    """What git has of one run."""

    tip: str = ""
    """The end of its branch; empty if there is none."""
    attempts: dict[str, str] = field(default_factory=dict)
    """Commit by ref."""
    tree: Tree | None = None
    """The work tree that follows its branch."""

    def refs(self, run: str) -> dict[str, str]:
        return {**({branch_of(run): self.tip} if self.tip else {}), **self.attempts}


async def remains_of_runs(repository: Repository) -> dict[str, Remains]:
    found: dict[str, Remains] = {}
    for ref, commit in (await repository.refs()).items():
        if ref.startswith(_BRANCHES):
            found.setdefault(ref.removeprefix(_BRANCHES), Remains()).tip = commit
        elif ref.startswith(_ATTEMPTS):
            run = ref.removeprefix(_ATTEMPTS).partition("/")[0]
            if ref.startswith(attempts_of(run)):
                found.setdefault(run, Remains()).attempts[ref] = commit
    for tree in known_trees(repository):
        if tree.path.parent == repository.trees and tree.name.startswith(_INTEGRATION):
            found.setdefault(tree.name.removeprefix(_INTEGRATION), Remains()).tree = tree
    return found


def pool_of(repository: Repository) -> tuple[Tree, ...]:
    """The work trees that sessions use in turn."""
    trees = (tree for tree in known_trees(repository) if tree.path.parent == repository.trees)
    return tuple(tree for tree in trees if not tree.name.startswith(_INTEGRATION))


async def branches_with(repository: Repository, commit: str) -> list[str]:
    """The user's branches, here and as last fetched, that have a commit."""
    words = ("for-each-ref", "--format=%(refname)", f"--contains={commit}")
    said = await repository.git.ask(*words, "refs/heads/", "refs/remotes/")
    names = said.text.splitlines() if said.code == 0 else []
    return [name.removeprefix("refs/heads/") for name in names if not name.startswith(_BRANCHES)]


async def remove_refs(repository: Repository, refs: Mapping[str, str]) -> None:
    """All of them or none: a ref that has moved meanwhile keeps every one."""
    if refs:
        words = "".join(f"delete {ref} {commit}\n" for ref, commit in refs.items())
        given = f"start\n{words}commit\n".encode()
        await repository.git.with_settings(*DURABLE).tell("update-ref", "--stdin", given=given)
