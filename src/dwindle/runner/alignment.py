"""Alignment: a draft becomes a plan that a run may start from.

The base case is run once before any work, in a fresh checkout of the commit, as it will be run at
the end. Red is right. Green means that passing would prove nothing; a base case that cannot run
proves nothing by failing. The user may want either, but has to say so.

The plan records the commit and the files that the checks consist of, so that no agent can move the
goal unnoticed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Final, Protocol

from dwindle.kernel.base_case import COMMANDS, Verdict, checks, items
from dwindle.kernel.model import Aligned, BaseCase, CheckType, Objective, Plan, Problem
from dwindle.kernel.proposal import too_few_sessions
from dwindle.ports.checks import CheckRunner
from dwindle.ports.store import PlanFile, PlanWriter
from dwindle.ports.workspace import BuildFailed
from dwindle.runner.gate.judgement import short_list
from dwindle.runner.gate.test_count import counts_of
from dwindle.runner.gate.verification import (
    CheckedTree,
    NoCheckout,
    Round,
    findings,
    nothing_ran,
    round_of,
)
from dwindle.runner.gate.work_paths import proposed_work_paths
from dwindle.runner.shield import shielded

ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Crockford's: without letters that look like digits, and without U."""
RUN_ID: Final = re.compile(r"[0-9A-Z]{26}")
CHANCE_BYTES: Final = 10

PinsOf = Callable[[Objective, Sequence[str]], Sequence[str]]


class CommittedFiles(Protocol):
    """Questions about the repository; nothing in it is changed."""

    async def head(self) -> str:
        """The commit that is checked out."""
        ...

    async def branch(self) -> str:
        """The branch that is checked out; empty if HEAD is detached."""
        ...

    async def tracked(self, commit: str) -> tuple[str, ...]:
        """The regular files of a commit."""
        ...

    async def is_ignored(self, path: str) -> bool:
        """Git would never commit it."""
        ...

    async def uncommitted(self) -> tuple[str, ...]:
        """The tracked files that differ from the commit."""
        ...

    async def untracked(self) -> tuple[str, ...]:
        """Files that git neither tracks nor ignores, without those of the runner."""
        ...


class FreshCheckouts(Protocol):
    """Fresh trees of a commit, outside of the repository."""

    async def make(self, commit: str) -> Path: ...
    async def discard(self, place: Path) -> None: ...


class Baseline(StrEnum):
    """The verdict of the base case before any work."""

    RED = "red"
    ALREADY_GREEN = "already_green"
    COULD_NOT_RUN = "could_not_run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """A plan that is ready to be written, with warnings."""

    plan: Plan
    baseline: Baseline
    seen: Round
    warnings: tuple[Problem, ...] = ()
    proposed: tuple[str, ...] = ()
    """Work paths for this plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What alignment needs."""

    files: CommittedFiles
    checkouts: FreshCheckouts
    runner: CheckRunner
    pins_of: PinsOf


async def align(
    plan: Plan, run_id: str, around: Surroundings, not_work: Collection[str] = ()
) -> Alignment:
    """Run the base case once and seal the plan: commit, pins, run id. Nothing is written.

    `not_work` are files that no run has to see: the draft itself.
    """
    commit = await around.files.head()
    objective = plan.objective
    tracked = await around.files.tracked(commit)
    pins = around.pins_of(objective, tracked)
    seen = await run_base_case(objective.base_case, commit, around)
    tests = counts_of([finding.result for finding in seen.findings])
    branch = await around.files.branch()
    aligned = Aligned(commit=commit, pins=tuple(pins), tests=tests, branch=branch)
    sealed = replace(plan, control=replace(plan.control, run_id=run_id, aligned=aligned))
    warnings = [
        *_unseen_warnings(
            [path for path in await around.files.uncommitted() if path not in not_work],
            [path for path in await around.files.untracked() if path not in not_work],
            commit,
        ),
        *await _ignored_file_warnings(objective.base_case, around.files),
        *_unproved_warnings(seen),
        *too_few_sessions(sealed),
    ]
    return Alignment(
        plan=sealed,
        baseline=baseline_of(seen),
        seen=seen,
        warnings=tuple(warnings),
        proposed=proposed_work_paths(plan, tracked),
    )


async def run_base_case(base_case: BaseCase, commit: str, around: Surroundings) -> Round:
    """Every check that a machine can run, in one fresh checkout."""
    try:
        place = await around.checkouts.make(commit)
    except BuildFailed as problem:
        return round_of(base_case, commit, nothing_ran(base_case, NoCheckout(problem)))
    try:
        return round_of(
            base_case, commit, await findings(base_case, CheckedTree(place), around.runner)
        )
    finally:
        await shielded(around.checkouts.discard(place))


def baseline_of(seen: Round) -> Baseline:
    """Checks that only a model or a person can judge are open, so they are not green."""
    if seen.verdict is Verdict.PASSED:
        return Baseline.ALREADY_GREEN
    if seen.verdict is Verdict.COULD_NOT_RUN:
        return Baseline.COULD_NOT_RUN
    return Baseline.RED


def record(
    alignment: Alignment, *, writer: PlanWriter, file: PlanFile, kept: PlanFile | None
) -> None:
    """Write the plan; the file that it replaces is first made durable under another name."""
    if kept is not None:
        kept.replace(file.read())
    file.replace(writer.encode(alignment.plan))


def kept_name(name: str, run_id: str | None, is_taken: Callable[[str], bool]) -> str:
    """The name under which the old plan file is kept."""
    stem, dot, suffix = name.rpartition(".")
    number = 0
    while True:
        number += 1
        marks = [run_id] if run_id and number == 1 else [run_id, str(number)]
        candidate = ".".join([stem, *(mark for mark in marks if mark)]) + dot + suffix
        if not is_taken(candidate):
            return candidate


def new_run_id(milliseconds: int, chance: bytes) -> str:
    """A run id: an upper-case ULID, which sorts by time."""
    number = milliseconds << 8 * CHANCE_BYTES | int.from_bytes(chance[:CHANCE_BYTES])
    return "".join(ALPHABET[number >> 5 * place & 31] for place in reversed(range(26)))


# --- warnings ------------------------------------------------------------------------------------


def _unseen_warnings(
    uncommitted: Sequence[str], untracked: Sequence[str], commit: str
) -> Iterator[Problem]:
    """Files of the checkout that the run will not see."""
    lists = (
        ("has changes that are not committed", "have changes that are not committed", uncommitted),
        ("is not tracked by git", "are not tracked by git", untracked),
    )
    for one, many, paths in lists:
        if paths:
            files = f"1 file {one}" if len(paths) == 1 else f"{len(paths)} files {many}"
            yield Problem(
                where=(),
                what=f"{files}, and the run starts from {commit[:12]}, without: "
                f"{short_list(paths)}",
                hint="commit first what belongs to it",
                warning=True,
            )


async def _ignored_file_warnings(base_case: BaseCase, files: CommittedFiles) -> list[Problem]:
    """A fresh checkout has no ignored files, unless a command of the base case makes them."""
    found = []
    for _, item, check in checks(items(base_case)):
        if check.type in COMMANDS:
            break
        path = check.value or ""
        if check.type is CheckType.FILE and await files.is_ignored(path):
            found.append(
                _about_base_case(
                    f"{item}: {path} is ignored by git, so that no fresh checkout has it",
                    "put a command that makes it before this check, or let git keep it",
                )
            )
    return found


def _unproved_warnings(seen: Round) -> Iterator[Problem]:
    """A base case that is nearly green."""
    if seen.verdict is Verdict.NOT_JUDGED:
        yield _about_base_case(
            "every mechanical check holds ALREADY; only judgement is left",
            "add a check that fails until the work is done",
        )


def _about_base_case(what: str, hint: str) -> Problem:
    return Problem(where=("objective", "base_case"), what=what, hint=hint, warning=True)
