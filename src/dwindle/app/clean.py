"""Remove what landed or old runs have left: work trees, branches, attempts, logs.

The journal of a run, its certificate and the record of its landing stay; they are small, and `log`,
`report`, `verify` and `diff` read them. What was not landed stays unless the user says `unlanded`,
and so does a run that can still go on. While a runner is at work nothing is removed at all.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypedDict

from dwindle.adapters.git.cleaning import (
    Remains,
    branches_with,
    pool_of,
    remains_of_runs,
    remove_refs,
)
from dwindle.adapters.git.commit_message import branch_of
from dwindle.adapters.git.landing import LandingRecord, checkouts, landed_before, record_landing
from dwindle.adapters.git.repository import Repository, find
from dwindle.adapters.git.worktrees.worktree import throw_away
from dwindle.adapters.store.disk import DirectoryLock, RealDisk
from dwindle.adapters.store.journal import JournalDamaged, path_of, read_journal
from dwindle.app.errors import StoreFailed, WorkspaceFailed
from dwindle.app.host.lease import refuse_hosted
from dwindle.app.paths import JOURNALS, LOGS, PLAN_FILE, PLANNING, TREE_FILE, certificate_path
from dwindle.app.refusal import Refused, refused_by
from dwindle.kernel.events import RunEnded, RunStarted
from dwindle.kernel.model import StopCode
from dwindle.ports.removal import remove
from dwindle.text.escape import escape
from dwindle.text.terminal import one_line

DAYS: Final = 30
DAY: Final = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanRequest:
    run: str | None = None
    """Only this one."""
    days: int = DAYS
    """Logs that are older, and with `unlanded` runs that are older."""
    unlanded: bool = False
    """Also runs that were not landed: those that are old, or the one that is named."""
    dry_run: bool = False


class CleanedRun(TypedDict):
    run: str
    why: str
    branch: str
    """The commit that its branch was at; empty if there was none."""
    attempts: int
    trees: int
    logs: int
    """Bytes."""
    bytes: int
    """Of trees and logs."""


class KeptRun(TypedDict):
    run: str
    why: str


class Cleaned(TypedDict):
    """What was removed, or would be; JSON as it is."""

    is_done: bool
    runs: list[CleanedRun]
    pool_trees: int
    """Work trees that the sessions of all runs had used in turn."""
    kept: list[KeptRun]
    bytes: int


def clean_runs(start: Path, request: CleanRequest) -> Cleaned:
    """Raises Refused and Locked."""
    try:
        return asyncio.run(_clean(start, request))
    except WorkspaceFailed as error:
        raise refused_by(error) from None


async def _clean(start: Path, request: CleanRequest) -> Cleaned:
    repository = await find(start)
    root = repository.checkout
    with ExitStack() as locks:
        for folder in dict.fromkeys(((root / PLAN_FILE).parent, (root / TREE_FILE).parent)):
            if folder.is_dir():
                locks.enter_context(DirectoryLock(folder))
        refuse_hosted(root)
        return await _Cleaning(repository, request).done()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Standing:
    is_completed: bool
    has_journal: bool
    age: float
    """Seconds since it was last heard of."""


class _Cleaning:
    """One pass over all runs, with both locks held."""

    def __init__(self, repository: Repository, request: CleanRequest) -> None:
        self._repository = repository
        self._root = repository.checkout
        self._request = request
        self._is_done = not request.dry_run
        self._can_go_on = False
        """Some run of a graph, which would use the pool of work trees again."""

    async def done(self) -> Cleaned:
        found = await remains_of_runs(self._repository)
        for run in self._runs_on_record():
            found.setdefault(run, Remains())
        wanted = self._request.run
        if wanted is not None and wanted not in found:
            raise Refused(f"there is no run {one_line(wanted)}", hint="`dwindle clean --dry-run`")
        runs, kept = [], []
        for run in sorted(found):
            why_kept, landed = await self._judge(run, found[run])
            if wanted not in (None, run):
                continue
            if why_kept:
                kept.append(KeptRun(run=escape(run), why=why_kept))
            elif (cleaned := await self._removed(run, found[run], landed)) is not None:
                runs.append(cleaned)
        trees, size = await self._pool() if wanted is None else (0, 0)
        return Cleaned(
            is_done=self._is_done,
            runs=runs,
            pool_trees=trees,
            kept=kept,
            bytes=size + sum(one["bytes"] for one in runs),
        )

    def _runs_on_record(self) -> Iterator[str]:
        for folder, suffix in ((JOURNALS, ".jsonl"), (LOGS, "")):
            for path in sorted((self._root / folder).glob(f"*{suffix}")):
                if path.is_dir() is bool(suffix) or path == self._root / PLANNING:
                    continue
                if _is_run(path.stem):
                    yield path.stem

    # --- which ----------------------------------------------------------------------------------

    async def _judge(self, run: str, remains: Remains) -> tuple[str, str]:
        """Why it is kept; else, if it was landed, on which branch."""
        standing = self._standing(run)
        if not standing.is_completed and remains.tree is not None:
            self._can_go_on = True
        ref = branch_of(run)
        place = next((path for path, _, held in checkouts(self._repository) if held == ref), None)
        if place is not None and (remains.tree is None or place != remains.tree.path):
            return f"its branch is checked out in {place}; `git switch` to another one first", ""
        record = await landed_before(self._repository, run)
        landed = await self._landed_on(remains, record, standing)
        if landed and (standing.is_completed or not standing.has_journal):
            return "", landed
        asked = self._request.unlanded
        is_old = standing.age > self._request.days * DAY
        if asked and (is_old or self._request.run == run):
            return "", ""
        if not standing.is_completed:
            why = "not completed: `dwindle run` goes on"
        else:
            why = "not landed: `dwindle land` brings it to your branch"
        more = "" if asked else "; --unlanded removes it all the same"
        return f"{why}{more}", ""

    async def _landed_on(
        self, remains: Remains, record: LandingRecord | None, standing: _Standing
    ) -> str:
        """A branch of the user's that has its work; empty if there is none."""
        commits = [remains.tip] if remains.tip and standing.is_completed else []
        if record is not None and remains.tip in ("", record.tip):
            commits.append(record.commit)
        for commit in commits:
            if names := await branches_with(self._repository, commit):
                return names[0]
        return ""

    def _standing(self, run: str) -> _Standing:
        path = path_of(self._root / JOURNALS, run)
        ended = None
        try:
            for event in read_journal(RealDisk(), path.parent, run).events(0):
                if isinstance(event, RunStarted | RunEnded):
                    ended = event
            heard = path.stat().st_mtime
        except (JournalDamaged, StoreFailed, OSError):
            return _Standing(is_completed=False, has_journal=path.exists(), age=0.0)
        is_completed = isinstance(ended, RunEnded) and ended.code is StopCode.COMPLETED
        return _Standing(is_completed=is_completed, has_journal=True, age=time.time() - heard)

    # --- away with it ---------------------------------------------------------------------------

    async def _removed(self, run: str, remains: Remains, landed: str) -> CleanedRun | None:
        """Trees first, then all refs at once, then logs: a kill in between loses no proof."""
        tree, refs = remains.tree, remains.refs(run)
        logs = self._old_logs(run)
        size = sum(_size(path) for path in logs)
        freed = 0 if tree is None else _size(tree.path)
        if tree is None and not refs and not logs:
            return None
        if self._is_done:
            record = await landed_before(self._repository, run)
            if landed and remains.tip and (record is None or record.tip != remains.tip):
                await record_landing(self._repository, run, remains.tip, landed)
            if tree is not None:
                await throw_away(tree)
            await remove_refs(self._repository, refs)
            for path in logs:
                remove(path)
            remove(self._repository.common / "dwindle" / run)
        return CleanedRun(
            run=escape(run),
            why=f"landed on {landed}" if landed else "not landed",
            branch=remains.tip,
            attempts=len(remains.attempts),
            trees=int(tree is not None),
            logs=size,
            bytes=size + freed,
        )

    def _old_logs(self, run: str) -> list[Path]:
        """Of sessions and iterations; the certificate stays."""
        folder, spared = self._root / LOGS / run, certificate_path(self._root, run)
        oldest = time.time() - self._request.days * DAY
        try:
            return [
                path
                for path in sorted(folder.iterdir())
                if path.stem != spared.stem and path.lstat().st_mtime < oldest
            ]
        except OSError:
            return []

    async def _pool(self) -> tuple[int, int]:
        """Trees without unsaved work, once no run would use them again."""
        if self._can_go_on:
            return 0, 0
        trees = [tree for tree in pool_of(self._repository) if tree.note() is None]
        size = sum(_size(tree.path) for tree in trees)
        if self._is_done:
            for tree in trees:
                await throw_away(tree)
        return len(trees), size


def _is_run(name: str) -> bool:
    try:
        path_of(Path(), name)
    except StoreFailed:
        return False
    return True


def _size(top: Path) -> int:
    """Bytes of all files below; what cannot be read counts as nothing."""
    found, waiting = 0, [os.fspath(top)]
    while waiting:
        place = waiting.pop()
        try:
            if not os.path.isdir(place) or os.path.islink(place):  # noqa: PTH112, PTH114
                found += os.lstat(place).st_size
                continue
            with os.scandir(place) as entries:
                waiting += [entry.path for entry in entries]
        except OSError:
            continue
    return found
