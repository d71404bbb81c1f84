"""The guard of a tree in a clean checkout: before the last leaf passes, and once as a trial.

In place, the guard sees what git ignores: build products, caches, files that a session left there.
No commit has them, so they must not decide whether the tree is done. Before the event that would
complete it, the guard also runs in a fresh checkout of exactly what would be committed, with what
`[workspace] share` and `setup` bring along.

With work paths, new tests reach the branch but do not decide: a first run leaves them out, and a
second one with them has to be green too.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Protocol

from dwindle.kernel.errors import KernelError
from dwindle.kernel.events import AtomResolved
from dwindle.kernel.graph import is_finished
from dwindle.kernel.model import Plan
from dwindle.kernel.transitions import apply
from dwindle.ports.iteration import Guarded
from dwindle.ports.workspace import WorkspaceFailed
from dwindle.runner.gate.work_paths import OutsideWorkPaths
from dwindle.runner.modes.tree.guard import Guard, Judgement, words
from dwindle.runner.modes.tree.guard_files import short_list
from dwindle.runner.shield import shielded

LOG: Final = "guard.clean.log"
LOG_WITHOUT: Final = "guard.clean.without-new-tests.log"
MEANING: Final = """\
The guard is green in place, and red in a clean checkout of the same commit: something that git \
ignores, and no commit has, decides in place (a build product, a cache, a local file)."""
MEANING_WITHOUT: Final = """\
The guard is green in place, and red in a clean checkout without the new tests ({}): they, or \
something that git ignores, decide in place."""
CHANGED: Final = "this checkout was changed while the guard ran in a clean one"
TOO_LATE: Final = "no time was left for the guard in a clean checkout"


class Checkouts(Protocol):
    """Fresh trees of a commit, outside of the repository."""

    async def changed(self, commit: str) -> tuple[str, ...]:
        """The paths in which a commit differs from the ground."""
        ...

    async def make(self, commit: str, as_aligned: Sequence[str] = ()) -> Path:
        """The paths `as_aligned` are in it as in the ground, or not at all."""
        ...

    async def discard(self, place: Path) -> None: ...

    async def discard_left(self) -> None:
        """Remove what runners that are no more have left."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanJudgement:
    """What the guard said in clean checkouts, the last one decides."""

    judgement: Judgement | None = None
    """None: it could not be asked."""
    trouble: str = ""
    """Why not, or why its word does not count."""
    without: tuple[str, ...] = ()
    """New tests that were left out when it was red."""
    timed_out: bool = False
    seconds: float = 0.0

    @property
    def verdict(self) -> Guarded:
        if self.judgement is None or self.trouble:
            return Guarded.FAIL
        return self.judgement.verdict

    def words(self, guard: Guard) -> str:
        """Why it is red, and what that means."""
        if self.trouble or self.judgement is None:
            return f"The guard is green in place, but {self.trouble}"
        named = short_list(self.without)
        meaning = MEANING_WITHOUT.format(named) if named else MEANING
        return f"{meaning}\n{words(guard, self.judgement)}"

    @property
    def facts(self) -> dict[str, Any]:
        """For `meta.json`."""
        ended = None if self.judgement is None else self.judgement.ended
        return {
            "verdict": self.verdict,
            "exit_status": None if ended is None else ended.exit_code,
            "duration_ms": round(self.seconds * 1000),
            "tests": None if self.judgement is None else self.judgement.tests,
            "without": list(self.without),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanGuard:
    guard: Guard
    """Its checkout is replaced by a clean one."""
    checkouts: Checkouts
    tests: int | None = None
    """How many tests a trial ran in a clean checkout; None: as many as in place."""

    async def new_tests(self, commit: str) -> tuple[str, ...]:
        """What a first run leaves out."""
        steering = self.guard.steering
        if not isinstance(steering, OutsideWorkPaths):
            return ()
        return steering.paths.overlay(await self.checkouts.changed(commit)).later

    async def judge(  # noqa: PLR0913 - what a round is made of
        self,
        commit: str,
        seconds: float,
        logs: Path | None = None,
        *,
        without: Sequence[str] = (),
        least: int | None = None,
        fixed: Sequence[str] = (),
    ) -> CleanJudgement:
        """Green without the new tests, and with them; what it runs cannot change `fixed`."""
        clock = asyncio.get_running_loop().time
        began = clock()
        least = self.tests if self.tests is not None else least
        rounds: list[tuple[tuple[str, ...], str, int | None]] = [((), LOG, least)]
        if without:
            rounds.insert(0, (tuple(without), LOG_WITHOUT, None))
        found = CleanJudgement()
        for left_out, name, tests in rounds:
            log = None if logs is None else logs / name
            left = seconds - (clock() - began)
            found = await self._judge(commit, left_out, left, log, tests, fixed)
            if found.verdict is not Guarded.PASS:
                break
        return replace(found, seconds=clock() - began)

    async def _judge(  # noqa: PLR0913, PLR0917 - one round of the above
        self,
        commit: str,
        without: tuple[str, ...],
        seconds: float,
        log: Path | None,
        least: int | None,
        fixed: Sequence[str],
    ) -> CleanJudgement:
        clock = asyncio.get_running_loop().time
        end = clock() + seconds
        try:
            async with asyncio.timeout_at(end):
                tree = await self.checkouts.make(commit, without)
        except TimeoutError:
            return CleanJudgement(trouble=TOO_LATE, timed_out=True)
        except WorkspaceFailed as problem:
            return CleanJudgement(trouble=f"there is no clean checkout: {problem}")
        try:
            left = end - clock()
            if left <= 0:
                return CleanJudgement(trouble=TOO_LATE, timed_out=True)
            if log is not None:
                await asyncio.to_thread(log.touch)  # exists also if nothing is printed
            judgement = await replace(self.guard, checkout=tree).run(left, log, least, fixed)
        finally:
            await shielded(self.checkouts.discard(tree))
        return CleanJudgement(
            judgement=judgement, without=without, timed_out=judgement.ended.timed_out
        )


def completed(plan: Plan, event: AtomResolved) -> Plan | None:
    """The plan after the event, if that completes the tree."""
    try:
        after = apply(plan, event)
    except KernelError:
        return None
    return after if is_finished(after) else None


def has_empty_folder(top: Path) -> bool:
    """Whether there is a folder that no commit can have, apart from `.git` and `.runner`."""
    waiting = [top]
    while waiting:
        at = waiting.pop()
        entries: list[os.DirEntry[str]] = []
        with suppress(OSError), os.scandir(at) as listing:  # what cannot be read counts as empty
            entries += listing
        if not entries:
            return True
        for entry in entries:
            ours = at == top and entry.name in (".git", ".runner")
            if entry.is_dir(follow_symlinks=False) and not ours:
                waiting.append(Path(entry.path))
    return False
