"""Where the branch and HEAD of a run in the person's checkout really are, and putting them back.

As soon as an agent has ended, both go back to where the iteration began: what it committed is
known (the lead), and is taken in like what it only wrote. Whatever else it did to git's own files
and refs is put back as well, and named.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from dwindle.adapters.git.attempts import keep_as
from dwindle.adapters.git.command import DURABLE, Git
from dwindle.adapters.git.commit_message import attempts_of
from dwindle.adapters.git.files import content_of
from dwindle.adapters.git.in_place.protected import GitFilesGuard
from dwindle.adapters.git.in_place.run_branch import COMMIT, NOTE, agent_note, operation_files
from dwindle.adapters.git.repository import Repository
from dwindle.ports.removal import remove
from dwindle.ports.workspace import WorkspaceFailed


@dataclass(slots=True, kw_only=True)
class RunHead:
    """HEAD and the branch of the run."""

    repository: Repository
    run: str
    ref: str
    guard: GitFilesGuard
    is_sealed: bool = False
    """Agents cannot write to git's own files: what changes there is the person's, and stays."""
    lead: str = ""
    """The agent's own last commit on top of the base, if it made any."""
    _troubles: list[str] = field(default_factory=list)

    @property
    def _git(self) -> Git:
        return self.repository.git

    @property
    def _admin(self) -> Path:
        return self._git.git_dir

    @property
    def trouble(self) -> str:
        return "; ".join(dict.fromkeys(self._troubles))

    def begin(self) -> None:
        """An iteration: nothing is known yet of what an agent did."""
        self.lead = ""
        self._troubles.clear()
        self.guard.remember()

    # --- where an agent began -------------------------------------------------------------------

    @property
    def _note(self) -> Path:
        return self._admin / NOTE

    def hand_over(self, base: str) -> None:
        """An agent may be at work from now on, until `settle`; after a kill, `begun` tells."""
        self._note.write_text(f"{self.run} {base}\n", "ascii")

    def begun(self) -> str | None:
        """The commit that an agent was given, if its work is not settled yet."""
        run, base = agent_note(self._admin)
        return base if run == self.run else None

    # --- HEAD and the branch --------------------------------------------------------------------

    def head(self) -> str:
        """What HEAD says: `ref: ...`, or a commit; empty if it cannot be read."""
        with suppress(OSError):
            return os.fsdecode(content_of(self._admin / "HEAD")).strip()
        return ""

    def tip(self) -> str:
        """Where the branch is, if that can be told without asking git."""
        with suppress(OSError):
            text = os.fsdecode(content_of(self.repository.common / self.ref)).strip()
            return text if COMMIT.fullmatch(text) else ""
        return ""

    async def settle(self, base: str) -> None:
        """Whatever the agent did to git's own files, refs and HEAD: as it was, and named."""
        if not self._admin.is_dir():
            raise WorkspaceFailed(f"{self._admin} is gone, and all of git's memory with it")
        self.repository.checkout.mkdir(parents=True, exist_ok=True)
        seen = None if self.is_sealed else self.guard.look()
        if seen is not None:
            self._troubles += self.guard.put_files_back(seen)
        for name in ("HEAD.lock", "index.lock"):
            remove(self._admin / name)
        remove(self.repository.common / f"{self.ref}.lock")
        self._end_operations()
        if self.head() != f"ref: {self.ref}" or self.tip() != base:
            await self._come_back(base)
        if seen is not None:
            self._troubles += await self.guard.put_refs_back(seen)
        self._note.unlink(missing_ok=True)

    def _end_operations(self) -> None:
        """A merge or rebase that the agent did not finish: its files are kept, out of the way."""
        left = operation_files(self._admin)
        if left:
            room = self.guard.room()
            for path in left:
                path.rename(room / path.name)
            self._troubles.append(f"an operation of git was left unfinished ({left[0].name})")

    async def _come_back(self, base: str) -> None:
        said = self.head()
        away = said != f"ref: {self.ref}"
        if away:
            self._attach()
        tip = await self._commit(self.ref)
        if tip != base:
            await self._move_back(base, tip)
        if away:
            await self._account_for(base, said)

    def _attach(self) -> None:
        """Not by git: with a broken HEAD it would not even know the repository."""
        part = self._admin / "HEAD.part"
        remove(part)
        part.write_bytes(os.fsencode(f"ref: {self.ref}\n"))
        if (self._admin / "HEAD").is_dir():
            remove(self._admin / "HEAD")
        part.replace(self._admin / "HEAD")

    async def _move_back(self, base: str, tip: str) -> None:
        if not tip:
            self._troubles.append(f"{self.ref} was removed, and was put back")
        elif await self.repository.is_ancestor(base, tip):
            self.lead = tip
        else:
            self._troubles.append(f"history was rewritten: {self.ref} does not descend from {base}")
            await keep_as(self._git, f"{attempts_of(self.run)}branch/1", tip)
        git = self._git.with_settings(*DURABLE)
        words = ("update-ref", "--no-deref", "-m", "dwindle: back to where the iteration began")
        if (await git.ask(*words, self.ref, base)).code:
            remove(self.repository.common / self.ref)  # something that git does not take for a ref
            await git.tell(*words, self.ref, base)

    async def _account_for(self, base: str, said: str) -> None:
        """HEAD was elsewhere: where, and whether what it led to builds on the base."""
        name = said.removeprefix("ref:").strip()
        found = await self._commit(name) if name else ""
        if said.startswith("ref:"):
            self._troubles.append(f"HEAD was attached to {name}")
        elif found:
            self._troubles.append(f"HEAD was detached at {found}")
        else:
            self._troubles.append("HEAD was broken")
        if not found or found == base:
            return
        if await self.repository.is_ancestor(base, found):
            self.lead = found
        elif not said.startswith("ref:") and not await self.repository.is_ancestor(found, base):
            await keep_as(self._git, f"{attempts_of(self.run)}head/1", found)

    async def _commit(self, name: str) -> str:
        said = await self._git.ask("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        return said.text if not said.code and COMMIT.fullmatch(said.text) else ""
