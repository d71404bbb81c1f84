"""The person's own checkout, in which the agents of a tree plan work one after another.

The order of steps is what makes a kill harmless: first the objects, then git's index, then the
branch. Before the branch has moved, the checkout has the rest of an unfinished iteration, to be set
aside; afterwards, the iteration is done. Nothing in between needs to be mended.

An iteration that is nothing out of the ordinary takes few git processes: one to see that all is
clean, one to list what changed, four for the commit. Whatever is out of the ordinary (commits by
the agent, inner repositories, complaints by git) takes the slower way through `Capture`.
"""

from __future__ import annotations

import asyncio
import os
import stat
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Self

from dwindle.adapters.git.attempts import keep_as
from dwindle.adapters.git.command import DURABLE, lock_presence, open_presence, report_disk_errors
from dwindle.adapters.git.commit_message import attempts_of, fit, message
from dwindle.adapters.git.in_place.contents import ROUNDS, CheckoutState, checkout_state
from dwindle.adapters.git.in_place.history import branch_history, read_with
from dwindle.adapters.git.in_place.ignored import flagged_paths, rules_in, with_flag_hints
from dwindle.adapters.git.in_place.leftovers import put_back, recorded_lengths, restore_line_ends
from dwindle.adapters.git.in_place.run_branch import OURS, choose_branch, ignored_in
from dwindle.adapters.git.merge import commit_tree
from dwindle.adapters.git.repository import Repository
from dwindle.adapters.git.snapshot import survey
from dwindle.adapters.git.submodules import INSIDE, submodules_of
from dwindle.adapters.git.worktrees.worktree import copy_index
from dwindle.kernel.model import AtomId
from dwindle.ports.in_place import Difference, History
from dwindle.ports.workspace import Trailers, WorkspaceFailed

_PEOPLE = tuple(
    f"GIT_{who}_{what}" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL", "DATE")
)
"""Who commits, and when: the only variables of the surroundings that git of ours gets to see."""


class GitInPlace:
    """The InPlace of one run. Made by `open`, ended by `close`."""

    def __init__(self, state: CheckoutState, *, made_branch: bool, began_on: str) -> None:
        self._state = state
        self.made_branch = made_branch
        """Whether the branch of the run did not exist before."""
        self.began_on = began_on
        """The branch that was checked out before; empty if there was none, or it was this one."""
        self.begun = state.run_head.begun()
        """The commit that an agent of a killed runner began with; None if none was at work."""
        self._end = weakref.finalize(self, os.close, state.git.held[-1])

    @classmethod
    async def open(
        cls, repository: Repository, *, run: str | None, here: bool = False, mint: Callable[[], str]
    ) -> Self:
        """The run that the checkout is at, or a new one on a branch of its own.

        Raises WorkspaceFailed, before anything was changed, where no run can work.
        """
        await repository.require_filters()
        standing = await choose_branch(repository, run=run, here=here, mint=mint)
        presence = open_presence(repository.common, standing.run)
        try:
            await lock_presence(presence)
            git = replace(repository.git, held=(*repository.git.held, presence))
            repository = replace(repository, git=git)
            repository.exclude(OURS)
            inside = await submodules_of(repository)
            found = checkout_state(repository, standing.run, standing.ref, inside)
            await found.adopt()
        except BaseException:
            os.close(presence)
            raise
        return cls(found, made_branch=standing.made, began_on=standing.began_on)

    def close(self) -> None:
        """No call after this one."""
        self._end()

    @property
    def run(self) -> str:
        return self._state.run_head.run

    @property
    def path(self) -> Path:
        return self._state.place.path

    @property
    def branch(self) -> str:
        return self._state.run_head.ref.removeprefix("refs/heads/")

    def seal(self) -> None:
        """Agents cannot write to git's own files from now on: whatever changes there is not theirs.

        HEAD, the branch of the run and git's index are the run's all the same.
        """
        self._state.run_head.is_sealed = True

    # --- looking --------------------------------------------------------------------------------

    @report_disk_errors
    async def head(self) -> str:
        return self._state.run_head.tip() or await self._state.repository.commit(
            self._state.run_head.ref
        )

    @report_disk_errors
    async def dirt(self) -> tuple[str, ...]:
        """As `git status --porcelain` puts it."""
        at = self._state.run_head.head()
        if at != f"ref: {self._state.run_head.ref}":
            where = at.removeprefix("ref:").strip() or "nothing"
            what = f"{self.path} is not on {self.branch} any more, but on {where}"
            raise WorkspaceFailed(what, f"`git switch {self.branch}` leads back")
        self._state.begin()
        head = await self.head()
        found = await self._state.first_look(head)
        known = {line[3:] for line in found}
        staged = await self._state.staged(head)
        inside = await self._state.submodules.changed()
        hidden = (await flagged_paths(self._state.git) or ()) if found else ()
        return (
            *with_flag_hints(found, hidden),
            *(f"M  {path}" for path in staged if path not in known),
            *(f" M {path} ({INSIDE})" for path in inside),
        )

    @report_disk_errors
    async def history(self, since: str | None = None) -> History:
        reader = branch_history(self.run, await self.head(), since)
        return (await read_with(self._state.git, reader)).summary

    @report_disk_errors
    async def difference(self, base: str) -> Difference:
        here = self._state
        await here.settle(base)
        inside = await here.submodules.changed()
        told, said = await here.redact_files(base, await here.cover(base))
        trouble = "; ".join(
            filter(None, (here.run_head.trouble, *here.refused, *_words(inside), *told))
        )
        paths = sorted({line[3:] for line in said.lines}, key=os.fsencode)
        is_plain = here.is_ordinary and not said.err and not here.ignored.among(paths)
        if is_plain and await asyncio.to_thread(_are_plain, self.path, paths):
            return Difference(paths=tuple(paths), notes=tuple(here.kept_out), trouble=trouble)
        taken = await here.take_in(base)
        found = sorted({*taken.captured.paths, *taken.unfit}, key=os.fsencode)
        notes = (*here.kept_out, *taken.captured.notes)
        return Difference(paths=tuple(found), notes=notes, trouble=trouble)

    def ignored(self, paths: Sequence[str]) -> tuple[str, ...]:
        return tuple(self._state.ignored.among(paths))

    @report_disk_errors
    async def unseen(self, base: str) -> tuple[str, ...]:
        await self._state.know(base)
        return await ignored_in(self._state.git.at(self.path, index=self._state.place.index))

    @report_disk_errors
    async def patch(self, base: str, commit: str, most: int) -> bytes:
        words = ("diff-tree", "-p", "-r", "--no-color", "--no-ext-diff", "--no-textconv")
        return await self._state.git.beginning(most, *words, "--no-renames", base, commit)

    # --- changing -------------------------------------------------------------------------------

    @report_disk_errors
    async def hand_over(self, base: str) -> None:
        self._state.run_head.hand_over(base)

    @report_disk_errors
    async def commit(self, base: str, message: str) -> str:
        here = self._state
        commit = await self._made(base, message)
        subject = message.partition("\n")[0]

        async def move() -> None:
            here.show_index()
            words = ("update-ref", "-m", f"commit: {subject}", here.run_head.ref, commit, base)
            await here.git.with_settings(*DURABLE).tell(*words)
            here.take_over(commit)

        await asyncio.shield(move())
        here.begin()
        return commit

    @report_disk_errors
    async def preview(self, base: str, message: str) -> str:
        commit = await self._made(base, message)
        self._state.place.capture.unlink(missing_ok=True)
        return commit

    @report_disk_errors
    async def is_still(self, base: str, commit: str) -> bool:
        tree = await self._tree(base)
        self._state.place.capture.unlink(missing_ok=True)
        said = await self._state.git.tell("rev-parse", tree, f"{commit}^{{tree}}")
        return len(set(said.text.split())) == 1

    async def _tree(self, base: str) -> str:
        here = self._state
        await here.settle(base)
        if here.repository.secrets:  # a guard writes files too
            await here.redact_files(base, await here.status(base))
        return await here.tree(base)

    async def _made(self, base: str, message: str) -> str:
        """All there is, as a commit on the base that nothing points to yet."""
        here, tree = self._state, await self._tree(base)
        people = {name: os.environ[name] for name in _PEOPLE if os.environ.get(name)}
        git = replace(here.git, variables={**here.git.variables, **people})
        return await commit_tree(git, tree, (base,), message)

    @report_disk_errors
    async def set_aside(self, base: str, name: str) -> str | None:
        here = self._state
        first = await self._put_away(base, name, "")
        await here.know(base)
        copy_index(here.place.index, here.place.capture)
        here.show_index()
        here.begin()
        return first

    @report_disk_errors
    async def undo(self, base: str, outside: str, name: str) -> str | None:
        """The folder that is spared is one at the top."""
        first = await self._put_away(base, name, outside.strip("/"))
        self._state.place.capture.unlink(missing_ok=True)
        return first

    @report_disk_errors
    async def restore(self, base: str, paths: Sequence[str], name: str | None = None) -> str | None:
        here, ref = self._state, None
        await here.settle(base)
        if name is not None or any(_is_folder(self.path / path) for path in paths):
            taken = await here.take_in(base)
            ref = await self._keep(base, name or "restored/1", taken.captured.notes)
        if not paths:
            return ref
        await here.know(base)
        known = await recorded_lengths(here.git, here.place, paths)
        await put_back(here.git, here.place, base, paths)
        await restore_line_ends(here.git, here.place, base, known)
        return ref

    async def _put_away(self, base: str, name: str, spared: str) -> str | None:
        """Keep what differs, but for what is in a folder, and make it as in the base.

        What was ignored is the person's, even if an agent took it out of a `.gitignore`. So the
        rules are put back before anything else is, and what they hide then stays.
        """
        here = self._state
        await here.settle(base)
        first, before, kept = None, None, set[str]()
        for _ in range(ROUNDS):
            taken = await here.take_in(base)
            paths = [path for path in taken.captured.paths if not _is_in(path, spared)]
            unfit = tuple(path for path in taken.unfit if not _is_in(path, spared))
            news = paths or unfit or here.inner or (here.run_head.lead and not spared)
            if not news or paths == before:  # the same again: it is not ours to remove
                break
            before = paths
            rules = rules_in(paths)
            if rules:
                paths = await self._under_old_rules(base, rules, paths)
            if first is None or not kept.issuperset(paths):
                ref = await self._keep(base, name, taken.captured.notes)
                first = first or ref
                kept.update(paths)
            if rules:
                here.place.capture.unlink(missing_ok=True)
                here.run_head.lead = here.run_head.lead if spared else ""
                continue
            await here.clear(base, replace(taken, unfit=unfit))
            await self._reset(base, await self._grafted(base, spared) if spared else base, paths)
            here.run_head.lead = here.run_head.lead if spared else ""
            here.inner.clear()
        return first

    async def _under_old_rules(
        self, base: str, rules: Sequence[str], paths: Sequence[str]
    ) -> list[str]:
        """Put back what says what is ignored; without what it hides, which is no longer taken in.

        This has to do without what was seen when the iteration began: its runner may be dead.
        """
        here = self._state
        await put_back(here.git, here.place, base, rules)
        asking = here.git.at(self.path, index=here.place.index).with_patterns()
        given = b"".join(b"./" + os.fsencode(path) + b"\0" for path in paths)
        said = await asking.ask("check-ignore", "-z", "--stdin", given=given)
        hidden = [path.removeprefix("./") for path in said.lines]
        if hidden:
            await here.leave_out(hidden)
        return [path for path in paths if path not in hidden]

    async def _keep(self, base: str, name: str, notes: Sequence[str]) -> str:
        """All that was taken in, as an attempt."""
        here = self._state
        atom, _, number = name.rpartition("/")
        told = Trailers(
            run=self.run,
            atom=AtomId(atom or name),
            attempt=int(number) if number.isdecimal() else 0,
            summary="",
        )
        text = message(told, notes, otherwise="set aside")
        commit = await commit_tree(
            here.git, await here.written(), (here.run_head.lead or base,), text
        )
        ref = attempts_of(self.run) + "/".join(fit(part) for part in name.split("/"))
        return await keep_as(here.git, ref, commit)

    async def _grafted(self, base: str, folder: str) -> str:
        """The tree of the base, with this one folder as it was taken in."""
        git, tree = self._state.git, await self._state.written()
        named = os.fsencode(f"\t{folder}")
        records = (await git.tell("ls-tree", "-z", base)).out.split(b"\0")
        others = (record for record in records if record and not record.endswith(named))
        mine = (await git.tell("ls-tree", "-z", tree, "--", folder)).out
        given = b"".join(record + b"\0" for record in others) + mine
        return (await git.tell("mktree", "-z", given=given)).text

    async def _reset(self, base: str, tree: str, paths: Sequence[str]) -> None:
        """These files as in a tree; git only mutters if it may not remove one."""
        here = self._state
        known = await recorded_lengths(here.git, here.place, paths)
        if not await asyncio.to_thread(_are_in_open_folders, self.path, paths):
            await asyncio.to_thread(survey, self.path, here.place.index)
        await here.capturing.tell("read-tree", "--reset", "-u", tree)
        again = await restore_line_ends(here.git, here.place, base, known)
        if again:
            given = b"".join(os.fsencode(path) + b"\0" for path in again)
            await here.capturing.tell("update-index", "-z", "--stdin", given=given)
        here.take_over("")


def _is_in(path: str, folder: str) -> bool:
    return bool(folder) and (path == folder or path.startswith(f"{folder}/"))


def _words(inside: Sequence[str]) -> Iterator[str]:
    """What is wrong with work in these submodules."""
    for path in inside:
        yield f"{path}: {INSIDE}"


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _are_in_open_folders(top: Path, paths: Sequence[str]) -> bool:
    folders = {(top / path).parent for path in paths}
    return all(os.access(one, os.W_OK | os.X_OK) for one in folders if os.access(one, os.F_OK))


def _are_plain(top: Path, paths: Sequence[str]) -> bool:
    """Whether a plain `git add` takes them in: files that can be read, links, or nothing."""
    for path in paths:
        with suppress(FileNotFoundError, NotADirectoryError):
            mode = (top / path).lstat().st_mode
            if path.endswith("/") or not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
                return False
            if stat.S_ISREG(mode) and not os.access(top / path, os.R_OK):
                return False
    return True
