"""What is really in the person's checkout.

Git's index in the checkout is the person's, and an agent can make it say anything: that a file is
not to be looked at, that a change is staged which is not on disk. So it is never asked. An index of
ours lies beside it, written only by us, that says how the files were at a commit; compared with the
disk it tells what an agent did. If another program has written to it, which none can hide, it is
made anew.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from dwindle.adapters.git.command import DURABLE, DURABLE_IN_BULK, Git, GitResult
from dwindle.adapters.git.files import LARGEST, Tidying, tidy
from dwindle.adapters.git.in_place.head import RunHead
from dwindle.adapters.git.in_place.ignored import (
    RULES,
    Ignored,
    clear_flags,
    flagged_paths,
    note,
    rules_in,
    with_old_rules,
)
from dwindle.adapters.git.in_place.leftovers import (
    Checkout,
    CheckoutCapture,
    move_histories,
    put_back,
    put_unfit_away,
    take_in,
)
from dwindle.adapters.git.in_place.protected import GitFilesGuard
from dwindle.adapters.git.in_place.run_branch import ALL_BUT_OURS, NOTE, OURS, STATUS
from dwindle.adapters.git.redaction import redact_files
from dwindle.adapters.git.repository import Repository
from dwindle.adapters.git.snapshot import MANY, Capture
from dwindle.adapters.git.submodules import Submodules
from dwindle.adapters.git.worktrees.worktree import copy_index
from dwindle.ports.removal import remove

CLOCK_SECONDS = 0.05
"""By which the times of files may lag behind the clock."""

_OUR_FOLDERS = tuple(pattern.strip("/") for pattern in OURS if pattern.endswith("/"))
_OUR_FILES = tuple(pattern.strip("/") for pattern in OURS if not pattern.endswith("/"))
"""Locks and sockets of the runner, as patterns."""

ROUNDS = 6
"""Putting a `.gitignore` back can bring files to light that it hid; and those hold others."""


@dataclass(slots=True, kw_only=True)
class CheckoutState:
    """The files of the checkout, compared with a commit by an index of ours."""

    repository: Repository
    git: Git
    place: Checkout
    run_head: RunHead
    submodules: Submodules
    ignored: Ignored = field(default_factory=Ignored)
    """When the iteration began; nothing until then."""
    kept_out: list[str] = field(default_factory=list)
    """A note for each time that something ignored was kept out of what is committed."""
    refused: list[str] = field(default_factory=list)
    """What an agent left that no commit may hold, and that was taken out of the checkout."""
    inner: list[str] = field(default_factory=list)
    """Folders of inner repositories."""
    since: float = field(default_factory=time.time)
    """When an agent began, or could have begun."""
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
        return not self.run_head.lead and not self.place.capture.exists()

    @property
    def capturing(self) -> Git:
        return self.git.at(self.place.path, index=self.place.capture)

    def begin(self) -> None:
        """An iteration: nothing is known yet of what an agent did."""
        self.run_head.begin()
        self.inner.clear()
        self.kept_out.clear()
        self.refused.clear()
        self.since = time.time() - CLOCK_SECONDS
        self._news = None
        self.place.capture.unlink(missing_ok=True)

    async def settle(self, base: str) -> None:
        """An agent has ended, or never will: nothing that it left steers git any more."""
        self.submodules.link(self.run_head.guard.room)
        await self.run_head.settle(base)
        await self._tidy()

    async def _tidy(self) -> None:
        rooms: list[Path] = []

        def put_away(path: Path) -> None:
            if not rooms:
                rooms.append(self.run_head.guard.room())
            number = 1 + len(os.listdir(rooms[0]))  # noqa: PTH208 - few
            try:
                path.rename(rooms[0] / str(number))
            except OSError:  # on another disk
                remove(path)

        found = await tidy(
            self.git.at(self.place.path, index=self.place.index),
            Tidying(
                top=self.place.path,
                put_away=put_away,
                since=self.since,
                spared=(*_OUR_FOLDERS, *self._our_files()),
                largest=None if self.repository.filters.run else LARGEST,
            ),
        )
        if rooms:
            where = f"(put into {rooms[0]})"
            self.kept_out += [f"{note} {where}" for note in found.special]
            self.refused += [f"{note} {where}" for note in found.refused]

    def _our_files(self) -> Iterator[str]:
        for pattern in _OUR_FILES:
            for path in self.place.path.glob(pattern):
                yield str(path.relative_to(self.place.path))

    # --- our index ------------------------------------------------------------------------------

    async def adopt(self) -> None:
        """Begin with what an earlier runner knew, or else with what git's own index knows."""
        self._unlock_ours()
        remove(self.place.admin / "HEAD.part")
        for source in (self.place.index, self.place.real):
            if source.exists():
                copy_index(source, self.place.index)
                at = self.git.at(self.place.path, index=self.place.index)
                hidden = await flagged_paths(at)
                if hidden is None:
                    continue
                await clear_flags(at, hidden)
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

    async def status(self, commit: str, *more: str) -> GitResult:
        """What `git status` says by our index."""
        await self.know(commit)
        asking = self.git.at(self.place.path, index=self.place.index).with_patterns()
        said = await asking.tell(*STATUS, *more, *ALL_BUT_OURS)
        self._news = said.out.count(b"\0")
        return said

    async def first_look(self, commit: str) -> tuple[str, ...]:
        """The status before an agent is at work; what is ignored then is remembered."""
        said = await self.status(commit, "--ignored=matching")
        self.ignored = Ignored.of(said.lines)
        return tuple(line for line in said.lines if not line.startswith("!! "))

    async def cover(self, base: str) -> GitResult:
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

    async def redact_files(self, base: str, said: GitResult) -> tuple[tuple[str, ...], GitResult]:
        """What had to be taken out of what differs, since it is secret; and the status then."""
        news = [line[3:] for line in said.lines]
        if self.repository.secrets and self.run_head.lead:
            words = (
                "diff-tree",
                "-r",
                "-z",
                "--name-only",
                "--no-renames",
                base,
                self.run_head.lead,
            )
            news += (await self.git.ask(*words)).lines
        secrets = self.repository.secrets
        told = await redact_files(self.git, self.place.path, base, dict.fromkeys(news), secrets)
        return told, await self.status(base) if told else said

    async def _hold_again(self, base: str, path: str, *, whole: bool) -> None:
        """Let old rules win over the agent's, or, where that was not enough, be the only ones."""
        file, kept = self.place.path / path, self.run_head.guard.room() / RULES.lstrip(".")
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

    async def take_in(self, base: str) -> CheckoutCapture:
        await self.know(base)
        lead = self.run_head.lead or base
        if self._news is None:
            await self.status(base)
        bulk = (self._news or 0) > MANY
        secrets = self.repository.secrets
        capture = Capture(
            tree=self.place, base=base, head=lead, shared=_OUR_FOLDERS, bulk=bulk, secrets=secrets
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
            adding = self.capturing.with_settings(*settings, quiet).with_patterns()
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

    async def clear(self, base: str, taken: CheckoutCapture) -> str | None:
        """Take out of the checkout what plain git would trip over."""
        move_histories(self.repository, self.run_head.run, self.inner)
        if not taken.unfit:
            return None
        return await put_unfit_away(self.git, self.place, self.run_head.run, base, taken.unfit)

    def _unlock_ours(self) -> None:
        for path in (self.place.index, self.place.capture):
            remove(path.with_name(f"{path.name}.lock"))


def _is_about_ours(said: GitResult) -> bool:
    """Git warns of ignored paths that it was told to leave out, and has added all the others."""
    first, *paths = said.err.splitlines()
    ignored = first.startswith("The following paths are ignored")
    return said.code == 1 and ignored and all(path in _OUR_FOLDERS for path in paths)


def _facts(path: Path) -> tuple[int, ...]:
    with suppress(OSError):
        found = path.lstat()
        return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    return ()


def checkout_state(
    repository: Repository, run: str, ref: str, submodules: Submodules
) -> CheckoutState:
    # A commit says in its header if it is not UTF-8; ours do not depend on a person's setting.
    git = repository.git.with_settings("i18n.commitEncoding=UTF-8")
    since = time.time()
    with suppress(OSError):
        since = (git.git_dir / NOTE).stat().st_mtime  # an agent of a killed runner
    return CheckoutState(
        since=since - CLOCK_SECONDS,
        repository=repository,
        git=git,
        place=Checkout(git=git, path=repository.checkout, admin=git.git_dir),
        run_head=RunHead(
            repository=repository, run=run, ref=ref, guard=GitFilesGuard.begin(repository, run, ref)
        ),
        submodules=submodules,
    )
