"""Sessions' trees and the branch that their work goes to, in one repository."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from dwindle.adapters.git.attempts import REST, Attempts, LeasedTree
from dwindle.adapters.git.command import lock_presence, open_presence, report_disk_errors
from dwindle.adapters.git.commit_message import attempts_of, branch_of, message, session_in
from dwindle.adapters.git.common_dir import Filters
from dwindle.adapters.git.files import entries_below
from dwindle.adapters.git.refs import configuration, ref_moves, watched_refs
from dwindle.adapters.git.repository import MADE_BY_US, Repository, find
from dwindle.adapters.git.worktrees.branch import IntegrationBranch, open_branch
from dwindle.adapters.git.worktrees.checkouts import GitCheckouts
from dwindle.adapters.git.worktrees.provision import Setup, TreeSetup, check_share
from dwindle.adapters.git.worktrees.worktree import Note, Tree, known_trees, make, throw_away
from dwindle.kernel.model import AtomId
from dwindle.ports.process import Secret
from dwindle.ports.workspace import (
    BranchMoved,
    Change,
    Conflict,
    Integrated,
    Lease,
    Steering,
    Trailers,
    WorkspaceFailed,
)

RETIRED = "Here was the work tree of a session that was ended. What it had made is kept in git.\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Idle:
    """A tree in the pool; a commit is known where we cleaned it ourselves."""

    tree: Tree
    commit: str = ""


class GitWorkspace:
    """The Workspace of one run, for its runner. Made by `open`; call `recover` once."""

    def __init__(
        self,
        branch: IntegrationBranch,
        tree_setup: TreeSetup,
        checkouts: GitCheckouts,
        *,
        guard_refs: bool = True,
    ) -> None:
        self._branch = branch
        self._repository = branch.repository
        self._tree_setup = tree_setup
        self._checkouts = checkouts
        self._guard_refs = guard_refs
        self._idle: list[_Idle] = []
        self._held: dict[Path, LeasedTree] = {}
        self._moving = asyncio.Lock()
        """Held while refs of ours move, and while refs are compared."""
        self._attempts = Attempts(
            repository=branch.repository, tree_setup=tree_setup, moving=self._moving
        )

    @classmethod
    async def open(  # noqa: PLR0913 - the facts that a run is made of
        cls,
        repository: Path,
        *,
        run: str,
        aligned: str,
        pins: Sequence[str] = (),
        setup: Setup | None = None,
        build: Setup | None = None,
        share: Sequence[str] = (),
        checkouts: Path | None = None,
        steering: Callable[[], Steering | None] | None = None,
        guard_refs: bool = True,
        secrets: Sequence[Secret] = (),
        filters: Filters | None = None,
    ) -> Self:
        """The workspace of a run: its branch and integration tree are made if they are not there.

        `guard_refs` compares all refs before and after each session. It is not needed where a
        sandbox keeps sessions from writing to `.git`.
        """
        found = (await find(repository, filters)).raw
        await found.require_filters()
        await check_share(found, tuple(share))
        presence = open_presence(found.common, run)
        held = replace(found.git, held=(presence,))
        found = replace(found, git=held, secrets=tuple(secrets))
        try:
            # Before anything is looked at: a git of a dead runner may be about to move the branch.
            await lock_presence(presence)
            _clear_locks(found.common, run)
            found = replace(found, hollow=await found.submodules(await found.commit(aligned)))
            tree_setup = TreeSetup(
                checkout=found.checkout, share=tuple(share), setup=setup, build=build
            )
            found.exclude((*MADE_BY_US, *(f"/{name}" for name in tree_setup.share)))
            branch = await open_branch(found, run, aligned)
            fresh = GitCheckouts(
                repository=found,
                aligned=branch.start,
                pins=tuple(pins),
                tree_setup=tree_setup,
                steering=steering,
                folder=checkouts,
            )
        except BaseException:
            os.close(presence)
            raise
        return cls(branch, tree_setup, fresh, guard_refs=guard_refs)

    def close(self) -> None:
        """No call after this one. Trees stay as they are, for the next run."""
        for descriptor in self._repository.git.held:
            os.close(descriptor)

    def pin(self, pins: Sequence[str]) -> None:
        """From now on these files are put back in fresh checkouts, instead of those before."""
        self._checkouts = replace(self._checkouts, pins=tuple(pins))

    @property
    def repository(self) -> Repository:
        return self._repository

    @property
    def shared(self) -> tuple[Path, ...]:
        """The person's folders that trees lead to; a sandbox must show them, read-only."""
        return self._tree_setup.shared

    # --- leases ---------------------------------------------------------------------------------

    @report_disk_errors
    async def lease(self, session: int) -> Lease:
        tip = self._branch.tip
        note = Note(run=self._branch.run, session=session, base=tip)
        idle = self._idle.pop() if self._idle else None
        tree = idle.tree if idle else await self._new_tree(tip)
        tree.hand_out(note)  # from here on, what is in the tree belongs to the session
        try:
            if idle:
                await self._make_ready(idle, tip)
            await self._tree_setup.furnish(tree, tip)
            async with self._moving:
                refs = watched_refs(await self._repository.refs()) if self._guard_refs else {}
        except BaseException:
            tree.take_back()
            self._idle.append(_Idle(tree=tree))
            raise
        config = configuration(self._repository)
        self._held[tree.path] = LeasedTree(tree=tree, note=note, refs=refs, configuration=config)
        return Lease(path=tree.path, base=tip)

    async def _make_ready(self, idle: _Idle, tip: str) -> None:
        if idle.commit:
            await idle.tree.advance(idle.commit, tip)
        else:
            await self._clean(idle.tree, tip)

    @report_disk_errors
    async def release(self, lease: Lease) -> None:
        held = await self._let_go(lease)
        await asyncio.shield(self._to_pool(held.tree))  # half cleaned it would be of no use

    @report_disk_errors
    async def retire(self, lease: Lease) -> None:
        """Release a tree that a process may still write to: no other is ever made at that place."""
        await _retire((await self._let_go(lease)).tree)

    async def _let_go(self, lease: Lease) -> LeasedTree:
        held = self._of(lease)
        if held.integrated is not None and held.is_partial:
            rest = replace(held.integrated, summary="changed outside of the work paths")
            await self._attempts.keep(held, rest, REST)
        elif not held.saved:
            await self._attempts.keep_unclaimed(held)
        await self._remove_own_branch(held)
        del self._held[lease.path]
        return held

    async def _to_pool(self, tree: Tree) -> None:
        tip = self._branch.tip
        try:
            await self._clean(tree, tip)
        except (WorkspaceFailed, OSError):
            # Its content was saved before; a tree that does not come clean is worth nothing.
            await throw_away(tree)
            return
        tree.take_back()
        self._idle.append(_Idle(tree=tree, commit=tip))

    async def _clean(self, tree: Tree, commit: str) -> None:
        await tree.clean(commit, kept=await self._tree_setup.kept(tree))

    async def _new_tree(self, tip: str) -> Tree:
        number = 1
        taken = {tree.path for tree in known_trees(self._repository)}
        while (path := self._repository.trees / f"tree-{number}") in taken or path.exists():
            number += 1
        path.mkdir(parents=True)  # ours from now on, also if another lease is under way
        return await make(self._repository, path, tip)

    def _of(self, lease: Lease) -> LeasedTree:
        try:
            return self._held[lease.path]
        except KeyError:
            raise WorkspaceFailed(f"{lease.path} is not leased to anybody") from None

    # --- what a session did ---------------------------------------------------------------------

    @report_disk_errors
    async def change(self, lease: Lease) -> Change:
        held = self._of(lease)
        troubles = await self._troubles(held)
        if not held.tree.is_there:
            return Change(paths=(), trouble="; ".join(troubles))
        try:
            captured = await (await self._attempts.capture(held)).change()
        except WorkspaceFailed as error:
            return Change(paths=(), trouble="; ".join((*troubles, str(error))))
        return Change(paths=captured.paths, trouble="; ".join((*troubles, *captured.notes)))

    async def _troubles(self, held: LeasedTree) -> list[str]:
        troubles = []
        if not held.tree.is_there:
            troubles.append("the work tree was removed or replaced")
        elif not held.tree.is_linked():
            troubles.append("the link between the work tree and the repository was broken")
        head = held.tree.head()
        base = held.note.base
        if head.startswith("ref:"):
            troubles.append(f"HEAD was attached to {head.removeprefix('ref:').strip()}")
        elif not await self._attempts.is_descendant(base, head):
            troubles.append(f"history was rewritten: HEAD does not descend from {base}")
        async with self._moving:
            troubles += await self._moved_refs(held)
        return troubles

    async def _moved_refs(self, held: LeasedTree) -> list[str]:
        if not self._guard_refs:
            return []
        refs = await self._repository.refs()
        others = [other.tree.head() for other in self._held.values() if other is not held]
        explained = {head.removeprefix("ref:").strip() for head in others}
        troubles = list(ref_moves(self._repository, held.refs, watched_refs(refs), explained))
        if held.configuration != configuration(self._repository):
            troubles.append("the configuration of the repository was changed")
        if (found := refs.get(self._branch.ref)) != self._branch.tip:
            await self._branch.put_back(found)
            troubles.append(f"{self._branch.ref} was moved, and was put back")
        return troubles

    # --- keeping it -----------------------------------------------------------------------------

    @report_disk_errors
    async def claim(self, lease: Lease, instead: Mapping[str, bytes | None]) -> str:
        held = self._of(lease)
        held.claim = await self._attempts.claim(held, instead)
        held.is_partial = bool(instead)
        return held.claim

    @report_disk_errors
    async def integrate(self, lease: Lease, trailers: Trailers) -> Integrated | Conflict:
        held = self._of(lease)
        if held.claim:
            tree = await self.tree_of(held.claim)
        else:
            capture = await self._attempts.capture(held)
            await capture.change()
            tree = await capture.write()

        async def move() -> Integrated | Conflict:
            async with self._moving:
                return await self._branch.integrate(lease.base, tree, message(trailers))

        outcome = await asyncio.shield(move())
        held.saved = isinstance(outcome, Integrated) and not held.is_partial
        held.integrated = trailers if isinstance(outcome, Integrated) else None
        return outcome

    @report_disk_errors
    async def set_aside(self, lease: Lease, trailers: Trailers) -> str:
        held = self._of(lease)
        ref = await self._attempts.keep(held, trailers)
        held.saved = True
        return ref

    async def _remove_own_branch(self, held: LeasedTree) -> None:
        """Of a session that made a branch and went on it: the commits were kept, the name goes."""
        ref = held.tree.head().removeprefix("ref:").strip()
        if self._guard_refs and ref.startswith("refs/heads/") and ref not in held.refs:
            async with self._moving:
                if watched_refs({ref: ""}):  # no branch of a run, of this one or another
                    await self._repository.git.ask("update-ref", "-d", ref)
                for other in self._held.values():  # who saw it come must not answer for its going
                    other.refs = {name: at for name, at in other.refs.items() if name != ref}

    # --- the branch -----------------------------------------------------------------------------

    async def tip(self) -> str:
        async with self._moving:
            ref, ours = self._branch.ref, self._branch.tip
            said = await self._repository.git.ask("rev-parse", "--verify", "--quiet", ref)
        if said.text != ours:
            found = said.text or "nothing"
            raise BranchMoved(f"{ref} was moved by another program: to {found}, from {ours}")
        return ours

    async def tree_of(self, commit: str) -> str:
        said = await self._repository.git.tell("rev-parse", "--verify", f"{commit}^{{tree}}")
        return said.text.strip()

    async def integrated(self) -> tuple[tuple[AtomId, str], ...]:
        """Whose commits are on the branch, oldest first: after a crash, the loop compares."""
        commits = await self._branch.commits()
        return tuple((one.atom, one.id) for one in commits if one.atom is not None)

    async def last_session(self) -> int:
        """The highest number of a session that git has work of; a plan knows at least as many."""
        run = self._branch.run
        words = ("for-each-ref", "--format=%(contents)%00", attempts_of(run))
        kept = (await self._repository.git.tell(*words)).text.split("\0")
        texts = [*kept, *(commit.text for commit in await self._branch.commits())]
        return max((session_in(text, run) for text in texts), default=0)

    @report_disk_errors
    async def rebuild(self, without: Sequence[AtomId]) -> tuple[AtomId, ...]:
        async def move() -> tuple[AtomId, ...]:
            async with self._moving:
                return await self._branch.rebuild(without)

        return await asyncio.shield(move())

    @report_disk_errors
    async def rebase(self, start: str) -> tuple[AtomId, ...]:
        """From now on the run begins at this commit; the atoms whose work does not apply there."""
        async with self._moving:
            return await self._branch.rebase(start)

    @report_disk_errors
    async def restore(self, atoms: Sequence[AtomId]) -> bool:
        """Put the work of these atoms back: it was taken off, and that was never recorded."""
        async with self._moving:
            return await self._branch.restore(atoms)

    # --- fresh trees ----------------------------------------------------------------------------

    @report_disk_errors
    async def checkout(self, commit: str, as_aligned: Sequence[str] = ()) -> Lease:
        path = await self._checkouts.make(commit, as_aligned)
        return Lease(path=path, base=commit, settled=self._checkouts.settled(path))

    async def changed(self, commit: str) -> tuple[str, ...]:
        return await self._checkouts.changed(commit)

    @report_disk_errors
    async def tidy(self, lease: Lease) -> tuple[str, ...]:
        return await self._checkouts.tidy(lease.path)

    @report_disk_errors
    async def discard(self, lease: Lease) -> None:
        await self._checkouts.discard(lease.path)

    # --- after a crash --------------------------------------------------------------------------

    @report_disk_errors
    async def recover(
        self,
        atoms: Mapping[int, AtomId] | None = None,
        *,
        at_work: Collection[int] = (),
        reuse: bool = True,
    ) -> tuple[str, ...]:
        """Take up the trees that an earlier runner left; save what is in those it had leased.

        `atoms` says whose sessions were in flight, by their numbers. Those `at_work` still are:
        their trees stay leased, as they are (`leased`). Where the others may be alive all the same,
        their trees are not for `reuse`. Returns the refs made.
        """
        await self._checkouts.discard_left()
        kept = []
        for tree in known_trees(self._repository):
            if tree.path.parent != self._repository.trees or tree.name.startswith("integration-"):
                continue
            note = tree.note()
            if note is None:
                self._idle.append(_Idle(tree=tree))
                continue
            tree.capture.unlink(missing_ok=True)
            held = LeasedTree(tree=tree, note=note)
            if note.run == self._branch.run and note.session in at_work:
                self._held[tree.path] = held
                continue
            ref = await self._attempts.keep_unclaimed(held, (atoms or {}).get(note.session))
            kept += [ref] if ref else []
            await (self._to_pool(tree) if reuse else _retire(tree))
        return tuple(kept)

    def leased(self, session: int) -> Lease | None:
        """The tree of a session that is still at work, if it has one."""
        found = (held for held in self._held.values() if held.note.session == session)
        return next((Lease(path=one.tree.path, base=one.note.base) for one in found), None)


def _clear_locks(common: Path, run: str) -> None:
    """Locks on refs that only we move: the process that left them is dead, for we hold the plan."""
    folder = common / attempts_of(run)
    below = (Path(entry.path) for entry in entries_below(folder))
    locks = (path for path in below if path.name.endswith(".lock"))
    for lock in (*locks, common / f"{branch_of(run)}.lock"):
        with suppress(FileNotFoundError, NotADirectoryError):
            lock.unlink()


async def _retire(tree: Tree) -> None:
    with suppress(WorkspaceFailed, OSError):  # a process writes faster than we remove
        await throw_away(tree)
        tree.path.write_text(RETIRED, encoding="utf-8")  # a name in use is not given again
