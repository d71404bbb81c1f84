"""The integration branch of a run: what is put on it, and what is taken off again.

We are the only one who moves it. Every move names the value that it starts from, so that a move by
somebody else is found and nothing of theirs is lost. A work tree of its own follows it, for people
to look into.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dwindle.adapters.git.command import DURABLE
from dwindle.adapters.git.commit_message import attempts_of, branch_of
from dwindle.adapters.git.merge import Commit, commit_tree, commits_between, merge_change
from dwindle.adapters.git.repository import Repository
from dwindle.adapters.git.worktrees.worktree import Tree, known_trees, make
from dwindle.kernel.model import AtomId
from dwindle.ports.workspace import Conflict, Integrated, WorkspaceFailed
from dwindle.text.escape import escape


@dataclass(slots=True, kw_only=True)
class IntegrationBranch:
    repository: Repository
    run: str
    start: str
    """The commit of alignment."""
    tip: str
    tree: Tree

    @property
    def ref(self) -> str:
        return branch_of(self.run)

    async def commits(self) -> tuple[Commit, ...]:
        """What the run put on it, oldest first."""
        return await commits_between(self.repository.git, self.start, self.tip)

    async def integrate(self, base: str, tree: str, text: str) -> Integrated | Conflict:
        """One commit with what leads from the base to this tree."""
        git, tip = self.repository.git, self.tip
        if tip != base:
            theirs = await commit_tree(git, tree, (base,), "one side of a merge")
            both = await merge_change(git, base, tip, theirs)
            if isinstance(both, Conflict):
                return both
            tree = both
        commit = await commit_tree(git, tree, (tip,), text)
        await self._move(f"update {self.ref} {commit} {tip}\n", commit)
        return Integrated(commit=commit)

    async def rebuild(self, without: Sequence[AtomId]) -> tuple[AtomId, ...]:
        """Replay all but the commits of some atoms; return the other atoms that were lost."""
        commits = await self.commits()
        tip, lost = await self._replayed(commits, tuple(without))
        while sum(commit.atom in lost for commit in commits) > len(lost):
            # An atom that lost one of several commits loses all of them, and others may follow.
            tip, more = await self._replayed(commits, (*without, *lost))
            if not more:
                break
            lost += more
        if tip == self.tip:
            return ()
        old = self.tip
        kept = await self._free_ref()
        await self._move(f"create {kept} {old}\nupdate {self.ref} {tip} {old}\n", tip)
        return lost

    async def rebase(self, start: str) -> tuple[AtomId, ...]:
        """Replay it on a later commit of the person's; return the atoms that were lost."""
        self.start = start
        return await self.rebuild(())

    async def restore(self, atoms: Sequence[AtomId]) -> bool:
        """Undo the last rebuild that took these atoms off, if nothing else has come since.

        A rebuild on a later commit has also brought the person's own commits, which they have.
        """
        theirs = ("--not", "--exclude=runner/*", "--branches")
        words = ("rev-list", f"{self.start}..{self.tip}", *theirs)
        ours = (await self.repository.git.tell(*words)).text.splitlines()
        texts = {commit.text for commit in await self.commits() if commit.id in ours}
        for tip in await self._kept_tips():
            commits = await commits_between(self.repository.git, self.start, tip)
            had = {commit.atom for commit in commits}
            if had.issuperset(atoms) and texts.issubset(commit.text for commit in commits):
                kept, old = await self._free_ref(), self.tip
                await self._move(f"create {kept} {old}\nupdate {self.ref} {tip} {old}\n", tip)
                return True
        return False

    async def _kept_tips(self) -> list[str]:
        """What the branch was before each rebuild, the latest first."""
        prefix = f"{attempts_of(self.run)}branch/"
        words = ("for-each-ref", "--sort=-version:refname", "--format=%(objectname)", prefix)
        return (await self.repository.git.tell(*words)).text.splitlines()

    async def put_back(self, found: str | None) -> None:
        """Undo a move by another program; what it moved the branch to is kept."""
        git = self.repository.git
        words = f"create {await self._free_ref()} {found}\n" if found else ""
        words += f"update {self.ref} {self.tip}\n"
        await git.with_settings(*DURABLE).tell("update-ref", "--stdin", given=words.encode())

    async def _replayed(
        self, commits: Sequence[Commit], without: Sequence[AtomId]
    ) -> tuple[str, tuple[AtomId, ...]]:
        git, tip = self.repository.git, self.start
        lost: list[AtomId] = []
        for commit in commits:
            if commit.atom in without or commit.atom in lost:
                continue
            if commit.parent == tip:
                tip = commit.id
                continue
            tree = await merge_change(git, commit.parent, tip, commit.id)
            if not isinstance(tree, Conflict):
                tip = await commit_tree(git, tree, (tip,), commit.text)
            elif commit.atom is None:
                what = f"{commit.id}, which is not of this run, does not replay"
                raise WorkspaceFailed(what, escape(", ".join(tree.paths)))
            else:
                lost.append(commit.atom)
        return tip, tuple(lost)

    async def _free_ref(self) -> str:
        prefix = f"{attempts_of(self.run)}branch/"
        words = ("for-each-ref", "--format=%(refname)", prefix)
        taken = (await self.repository.git.tell(*words)).text.splitlines()
        return next(ref for n in range(1, len(taken) + 2) if (ref := f"{prefix}{n}") not in taken)

    async def _move(self, words: str, commit: str) -> None:
        durable = self.repository.git.with_settings(*DURABLE)
        await durable.tell("update-ref", "--stdin", given=f"start\n{words}commit\n".encode())
        before, self.tip = self.tip, commit
        await self.tree.advance(before, commit, head=f"ref: {self.ref}")


async def open_branch(repository: Repository, run: str, aligned: str) -> IntegrationBranch:
    """The branch as it is, or a new one at the commit of alignment."""
    ref, start = branch_of(run), await repository.commit(aligned)
    git = repository.git
    found = await git.ask("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")
    tip = found.text if found.code == 0 else start
    if found.code:
        await repository.require_room_for_runs()
        await git.with_settings(*DURABLE).tell("update-ref", ref, start, "0" * len(start))
    elif not await repository.is_ancestor(start, tip):
        what = f"runner/{run} does not contain the commit of alignment, {start}"
        raise WorkspaceFailed(what, "it was rewritten, or belongs to another run")
    path = repository.trees / f"integration-{run}"
    known = {tree.path: tree for tree in known_trees(repository)}
    if path in known:
        tree = known[path]
        await tree.clean(tip, head=f"ref: {ref}")
    else:
        tree = await make(repository, path, tip)
        await tree.advance(tip, tip, head=f"ref: {ref}")
    return IntegrationBranch(repository=repository, run=run, start=start, tip=tip, tree=tree)
