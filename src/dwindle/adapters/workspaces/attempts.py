"""What sessions left in their trees, read for keeping, and kept under names of its own."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from dwindle.adapters.workspaces.capture import Capture
from dwindle.adapters.workspaces.furnish import Furnishing
from dwindle.adapters.workspaces.git import DURABLE, Git
from dwindle.adapters.workspaces.merge import commit_tree
from dwindle.adapters.workspaces.message import attempt_ref, message
from dwindle.adapters.workspaces.repository import Repository
from dwindle.adapters.workspaces.tree import Note, Tree
from dwindle.kernel.model import AtomId
from dwindle.ports.workspace import Trailers

UNCLAIMED = "unclaimed"
"""Where work is kept that was neither integrated nor set aside when its tree was given back."""

_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


@dataclass(slots=True, kw_only=True)
class Held:
    """A tree in a session's hands."""

    tree: Tree
    note: Note
    refs: Mapping[str, str] = field(default_factory=dict)
    """What other refs pointed to when the session began."""
    configuration: bytes = b""
    """The repository's, at that time."""
    saved: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    repository: Repository
    furnishing: Furnishing
    moving: asyncio.Lock
    """Held while refs of ours move."""

    async def is_descendant(self, base: str, head: str) -> bool:
        if head == base:
            return True
        return bool(_COMMIT.fullmatch(head)) and await self.repository.is_ancestor(base, head)

    async def capture(self, held: Held) -> Capture:
        base, head = held.note.base, await self._head(held)
        return Capture(
            tree=held.tree,
            base=base,
            head=head if head and await self.is_descendant(base, head) else base,
            shared=self.furnishing.share,
            settled=self.furnishing.settled(held.tree),
            secrets=self.repository.secrets,
        )

    async def _head(self, held: Held) -> str:
        """The commit that the session's HEAD leads to; empty if it leads nowhere."""
        head = held.tree.head()
        if head == held.note.base:
            return head
        name = head.removeprefix("ref:").strip()
        words = ("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        said = await self.repository.git.ask(*words)
        return said.text if said.code == 0 and _COMMIT.fullmatch(said.text) else ""

    async def keep(self, held: Held, trailers: Trailers) -> str:
        capture = await self.capture(held)
        captured = await capture.everything()
        tree = await capture.write()
        # The base, or the session's commits on it; whatever else HEAD leads to is kept too.
        leads = dict.fromkeys((capture.head, await self._head(held)))
        parents = tuple(commit for commit in leads if commit)
        text = message(trailers, captured.notes, otherwise="set aside")
        commit = await commit_tree(self.repository.git, tree, parents, text)
        ref = attempt_ref(trailers.run, trailers.atom, trailers.attempt)
        async with self.moving:
            return await keep_as(self.repository.git, ref, commit)

    async def keep_unclaimed(self, held: Held, atom: AtomId | None = None) -> str | None:
        """Keep what is in a tree that nobody asked to keep, if git would call it a change.

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
