"""What is really in the person's checkout.

Git's index in the checkout is the person's, and an agent can make it say anything: that a file is
not to be looked at, that a change is staged which is not on disk. So it is never asked. An index of
ours lies beside it, written only by us, that says how the files were at a commit; compared with the
disk it tells what an agent did. If anybody else has written to it, which no program can hide, it is
made anew.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from dwindle.adapters.workspaces.anchor import Anchor
from dwindle.adapters.workspaces.capture import MANY, Capture
from dwindle.adapters.workspaces.git import DURABLE, DURABLE_IN_BULK, Git, Said
from dwindle.adapters.workspaces.hidden import hidden_in, show
from dwindle.adapters.workspaces.hush import hushed
from dwindle.adapters.workspaces.ignored import RULES, Ignored, note, rules_in, with_old_rules
from dwindle.adapters.workspaces.leftovers import (
    Checkout,
    Taken,
    move_histories,
    put_back,
    put_unfit_away,
    take_in,
)
from dwindle.adapters.workspaces.repository import Repository
from dwindle.adapters.workspaces.standing import (
    ALL_BUT_OURS,
    OURS,
    STATUS,
    selective,
)
from dwindle.adapters.workspaces.submodules import Submodules
from dwindle.adapters.workspaces.tree import copy_index, remove
from dwindle.adapters.workspaces.vigil import Vigil

ROUNDS = 6
"""Putting a `.gitignore` back can bring files to light that it hid; and those hold others."""


@dataclass(slots=True, kw_only=True)
class Footing:
    repository: Repository
    git: Git
    place: Checkout
    anchor: Anchor
    submodules: Submodules
    ignored: Ignored = field(default_factory=Ignored)
    """When the iteration began; nothing until then."""
    kept_out: list[str] = field(default_factory=list)
    """A note for each time that something ignored was kept out of what is committed."""
    inner: list[str] = field(default_factory=list)
    """Folders of inner repositories."""
    _news: int | None = None
    """How many paths changed, when that was last looked at."""
    _at: str = ""
    """The commit that our index is about."""
    _ours: tuple[int, ...] = ()
    """What our index was when we last wrote it."""
    _written: tuple[int, ...] = ()
    """What git's index was when it was last in step with ours."""

    @property
    def is_ordinary(self) -> bool:
        """Nothing is known of the agent that would ask for the slower way."""
        return not self.anchor.lead and not self.place.capture.exists()

    @property
    def capturing(self) -> Git:
        return self.git.at(self.place.path, index=self.place.capture)

    def begin(self) -> None:
        """An iteration: nothing is known yet of what an agent did."""
        self.anchor.begin()
        self.inner.clear()
        self.kept_out.clear()
        self._news = None
        self.place.capture.unlink(missing_ok=True)

    async def settle(self, base: str) -> None:
        """An agent has ended, or never will: nothing that it left steers git any more."""
        self.submodules.link(self.anchor.vigil.room)
        await self.anchor.settle(base)

    # --- our index ------------------------------------------------------------------------------

    async def adopt(self) -> None:
        """Begin with what an earlier runner knew, or else with what git's own index knows."""
        self._unlock_ours()
        remove(self.place.admin / "HEAD.part")
        for source in (self.place.index, self.place.real):
            if source.exists():
                copy_index(source, self.place.index)
                at = self.git.at(self.place.path, index=self.place.index)
                hidden = await hidden_in(at)
                if hidden is None:
                    continue
                await show(at, hidden)
                break
        else:
            remove(self.place.index)
        self._ours = _facts(self.place.index)

    async def know(self, commit: str) -> None:
        """Make our index be about a commit; what it knows of unchanged files stays."""
        if _facts(self.place.index) != self._ours:
            remove(self.place.index)
        elif self._at == commit and self._ours:
            return
        self._unlock_ours()
        at = self.git.at(self.place.path, index=self.place.index)
        await at.tell("read-tree", "--reset", commit)
        self._at, self._ours = commit, _facts(self.place.index)

    def show_index(self) -> None:
        """Make git's own index what was taken in last."""
        remove(self.place.real.with_name("index.lock"))
        if self.place.real.is_dir() and not self.place.real.is_symlink():
            remove(self.place.real)
        copy_index(self.place.capture, self.place.real)
        self._written = _facts(self.place.real)

    def take_over(self, commit: str) -> None:
        """What was taken in is what the files are at this commit."""
        self.place.capture.replace(self.place.index)
        self._at, self._ours = commit, _facts(self.place.index)

    # --- looking --------------------------------------------------------------------------------

    async def status(self, commit: str, *more: str) -> Said:
        """What `git status` says by our index."""
        await self.know(commit)
        asking = selective(self.git.at(self.place.path, index=self.place.index))
        said = await asking.tell(*STATUS, *more, *ALL_BUT_OURS)
        self._news = said.out.count(b"\0")
        return said

    async def first_look(self, commit: str) -> tuple[str, ...]:
        """The status before an agent is at work; what is ignored then is remembered."""
        said = await self.status(commit, "--ignored=matching")
        self.ignored = Ignored.of(said.lines)
        return tuple(line for line in said.lines if not line.startswith("!! "))

    async def cover(self, base: str) -> Said:
        """The status, once rules hold again without which something ignored came to light."""
        said = await self.status(base)
        for number in range(ROUNDS):
            paths = [line[3:] for line in said.lines]
            exposed, rules = self.ignored.among(paths), rules_in(paths)
            if not exposed or not rules:
                break
            for path in rules:
                await self._hold_again(base, path, whole=number > 0)
            self.kept_out.append(note(exposed, rules))
            said = await self.status(base)
        return said

    async def hushed(self, base: str, said: Said) -> tuple[tuple[str, ...], Said]:
        """What had to be taken out of what differs, since it is secret; and the status then."""
        news = [line[3:] for line in said.lines]
        if self.repository.secrets and self.anchor.lead:
            words = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", base, self.anchor.lead)
            news += (await self.git.ask(*words)).lines
        secrets = self.repository.secrets
        told = await hushed(self.git, self.place.path, base, dict.fromkeys(news), secrets)
        return told, await self.status(base) if told else said

    async def _hold_again(self, base: str, path: str, *, whole: bool) -> None:
        """Let old rules win over the agent's, or, where that was not enough, be the only ones."""
        file, kept = self.place.path / path, self.anchor.vigil.room() / RULES.lstrip(".")
        with suppress(OSError):
            shutil.move(file, kept)
        old = await self.git.ask("cat-file", "blob", f"{base}:{path}")
        if whole or old.code or not kept.is_file() or kept.is_symlink():
            await put_back(self.git, self.place, base, [path])
        else:
            file.write_bytes(with_old_rules(kept.read_bytes(), old.out))

    async def staged(self, commit: str) -> tuple[str, ...]:
        """Where git's own index says something else than a commit."""
        if _facts(self.place.real) == self._written:
            return ()
        words = ("diff-index", "--cached", "--name-only", "--no-renames", "-z")
        said = await self.git.at(self.place.path).ask(*words, "--ignore-submodules=dirty", commit)
        if said.code:
            return (f"(git cannot read its index: {said.err.strip()})",)
        if not said.lines:
            self._written = _facts(self.place.real)
        return said.lines

    async def take_in(self, base: str) -> Taken:
        await self.know(base)
        mine = tuple(pattern.strip("/") for pattern in OURS if pattern.endswith("/"))
        lead = self.anchor.lead or base
        if self._news is None:
            await self.status(base)
        bulk = (self._news or 0) > MANY
        secrets = self.repository.secrets
        capture = Capture(
            tree=self.place, base=base, head=lead, shared=mine, bulk=bulk, secrets=secrets
        )
        taken = await take_in(capture)
        self.inner += taken.captured.inner
        exposed = self.ignored.among(taken.captured.paths)
        if exposed:
            await self.leave_out(exposed)
            left = tuple(path for path in taken.captured.paths if path not in exposed)
            taken = replace(taken, captured=replace(taken.captured, paths=left))
        return taken

    async def leave_out(self, paths: Sequence[str]) -> None:
        """Not in what was taken in, whatever git thinks; the files stay where they are."""
        given = b"".join(os.fsencode(path) + b"\0" for path in paths)
        await self.capturing.tell("update-index", "--force-remove", "-z", "--stdin", given=given)
        if not self.kept_out:
            self.kept_out.append(note(paths, ()))

    async def tree(self, base: str) -> str:
        """The tree of all there is, taken in; what git cannot take in is put away."""
        if self.is_ordinary:
            await self.know(base)
            copy_index(self.place.index, self.place.capture)
            settings = DURABLE_IN_BULK if (self._news or 0) > MANY else DURABLE
            quiet = "advice.addIgnoredFile=false"
            adding = selective(self.capturing.with_settings(*settings, quiet))
            before = _facts(self.place.capture)
            said = await adding.ask("add", "-A", *ALL_BUT_OURS)
            if not said.err or _is_about_ours(said):
                if _facts(self.place.capture) == before:
                    return f"{base}^{{tree}}"
                if not await self._exposed(base):
                    return await self.written()
            self.place.capture.unlink(missing_ok=True)
        if self.ignored.paths:
            await self.cover(base)
        taken = await self.take_in(base)
        await self.clear(base, taken)
        return await self.written()

    async def _exposed(self, base: str) -> bool:
        """Whether anything was taken in that was ignored."""
        if not self.ignored.paths:
            return False
        words = ("diff-index", "--cached", "--name-only", "--no-renames", "--diff-filter=A", "-z")
        return bool(self.ignored.among((await self.capturing.tell(*words, base)).lines))

    async def written(self) -> str:
        return (await self.capturing.with_settings(*DURABLE).tell("write-tree")).text

    async def clear(self, base: str, taken: Taken) -> str | None:
        """Take out of the checkout what plain git would trip over."""
        move_histories(self.repository, self.anchor.run, self.inner)
        if not taken.unfit:
            return None
        return await put_unfit_away(self.git, self.place, self.anchor.run, base, taken.unfit)

    def _unlock_ours(self) -> None:
        for path in (self.place.index, self.place.capture):
            remove(path.with_name(f"{path.name}.lock"))


def _is_about_ours(said: Said) -> bool:
    """Git warns of ignored paths that it was told to leave out, and has added all the others."""
    first, *paths = said.err.splitlines()
    mine = tuple(pattern.strip("/") for pattern in OURS if pattern.endswith("/"))
    ignored = first.startswith("The following paths are ignored")
    return said.code == 1 and ignored and all(path in mine for path in paths)


def _facts(path: Path) -> tuple[int, ...]:
    with suppress(OSError):
        found = path.lstat()
        return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    return ()


def footing(repository: Repository, run: str, ref: str, submodules: Submodules) -> Footing:
    # A commit says in its header if it is not UTF-8; ours do not depend on a person's setting.
    git = repository.git.with_settings("i18n.commitEncoding=UTF-8")
    return Footing(
        repository=repository,
        git=git,
        place=Checkout(git=git, path=repository.checkout, admin=git.git_dir),
        anchor=Anchor(
            repository=repository, run=run, ref=ref, vigil=Vigil.begin(repository, run, ref)
        ),
        submodules=submodules,
    )
