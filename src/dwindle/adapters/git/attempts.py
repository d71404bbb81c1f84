"""What sessions left in their trees, read for keeping, and kept under names of its own."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from dwindle.adapters.git.command import DURABLE, Git
from dwindle.adapters.git.commit_message import attempt_ref, message
from dwindle.adapters.git.files import LARGEST, Tidying
from dwindle.adapters.git.merge import commit_tree, put_back
from dwindle.adapters.git.repository import Repository
from dwindle.adapters.git.snapshot import Capture
from dwindle.adapters.git.worktrees.provision import TreeSetup
from dwindle.adapters.git.worktrees.worktree import Note, Tree
from dwindle.kernel.model import AtomId
from dwindle.ports.removal import remove
from dwindle.ports.workspace import Trailers

REST = ".rest"
"""After the name of an attempt whose work was integrated in part."""
UNCLAIMED = "unclaimed"
"""Where work is kept that was neither integrated nor set aside when its tree was given back."""

_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


@dataclass(slots=True, kw_only=True)
class LeasedTree:
    """A tree that a session works in."""

    tree: Tree
    note: Note
    refs: Mapping[str, str] = field(default_factory=dict)
    """What other refs pointed to when the session began."""
    configuration: bytes = b""
    """The repository's, at that time."""
    saved: bool = False
    claim: str = ""
    """The commit in which its work was judged."""
    is_partial: bool = False
    """There is more in the tree than in the claim."""
    integrated: Trailers | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    repository: Repository
    tree_setup: TreeSetup
    moving: asyncio.Lock
    """Held while refs of ours move."""

    async def is_descendant(self, base: str, head: str) -> bool:
        if head == base:
            return True
        return bool(_COMMIT.fullmatch(head)) and await self.repository.is_ancestor(base, head)

    async def capture(self, held: LeasedTree) -> Capture:
        base, head = held.note.base, await self._head(held)
        return Capture(
            tree=held.tree,
            base=base,
            head=head if head and await self.is_descendant(base, head) else base,
            shared=self.tree_setup.share,
            settled=self.tree_setup.settled(held.tree),
            secrets=self.repository.secrets,
            tidying=self._tidying(held.tree),
        )

    def _tidying(self, tree: Tree) -> Tidying:
        since = 0.0
        with suppress(OSError):
            since = tree.index.stat().st_mtime
        largest = None if self.repository.filters.run else LARGEST
        return Tidying(top=tree.path, put_away=remove, since=since, largest=largest)

    async def _head(self, held: LeasedTree) -> str:
        """The commit that the session's HEAD leads to; empty if it leads nowhere."""
        head = held.tree.head()
        if head == held.note.base:
            return head
        name = head.removeprefix("ref:").strip()
        words = ("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        said = await self.repository.git.ask(*words)
        return said.text if said.code == 0 and _COMMIT.fullmatch(said.text) else ""

    async def claim(self, held: LeasedTree, instead: Mapping[str, bytes | None]) -> str:
        """The work as a commit on its base, but for these paths."""
        capture = await self.capture(held)
        await capture.change()
        git, base = self.repository.git, held.note.base
        at = git.at(held.tree.path, index=held.tree.capture)
        await put_back(at, base, [path for path, content in instead.items() if content is None])
        for path, content in instead.items():
            if content is not None:
                blob = (await at.tell("hash-object", "-w", "--stdin", given=content)).text
                line = os.fsencode(f"100644 {blob}\t{path}\0")
                await at.tell("update-index", "--replace", "-z", "--index-info", given=line)
        return await commit_tree(git, await capture.write(), (base,), "a claim, as it was judged")

    async def keep(self, held: LeasedTree, trailers: Trailers, suffix: str = "") -> str:
        capture = await self.capture(held)
        captured = await capture.everything()
        tree = await capture.write()
        # The base, or the session's commits on it; whatever else HEAD leads to is kept too.
        leads = dict.fromkeys((capture.head, await self._head(held)))
        parents = tuple(commit for commit in leads if commit)
        text = message(trailers, captured.notes, otherwise="set aside")
        commit = await commit_tree(self.repository.git, tree, parents, text)
        ref = attempt_ref(trailers.run, trailers.atom, trailers.attempt) + suffix
        async with self.moving:
            return await keep_as(self.repository.git, ref, commit)

    async def keep_unclaimed(self, held: LeasedTree, atom: AtomId | None = None) -> str | None:
        """Keep the content of a tree that no one asked to keep, if git would call it a change.

        Ignored files alone are no reason: every program that runs leaves some.
        """
        captured = await (await self.capture(held)).everything()
        if not captured.paths and not captured.notes and held.tree.head() == held.note.base:
            return None
        trailers = Trailers(
            run=held.note.run,
            atom=atom or AtomId(UNCLAIMED),
            attempt=held.note.session,
            summary="left in a tree that was given back",
        )
        return await self.keep(held, trailers)


async def keep_as(git: Git, ref: str, commit: str) -> str:
    """Keep a commit under this name, or the next like it: what is there already stays."""
    durable = git.with_settings(*DURABLE)
    zero = "0" * len(commit)
    words = ("for-each-ref", "--format=%(refname)", ref.rpartition("/")[0])
    taken = (await durable.tell(*words)).text.splitlines()
    name, count = ref, 1
    while name in taken:
        count += 1
        name = f"{ref}.{count}"
    await durable.tell("update-ref", name, commit, zero)
    return name
