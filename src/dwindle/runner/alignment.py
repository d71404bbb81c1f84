"""Alignment: a draft becomes a plan that a run may start from.

What a person agreed on is only worth something if it can turn out to be false. So the base case is
run once before any work is done, where it will be run in the end: in a fresh checkout of what is
committed. Red is right. Green means that nothing would be proved by passing; a base case that
cannot even run proves nothing by failing. Both may be meant, and both have to be said.

The commit at that moment and the files that the checks consist of are written into the plan, so
that nobody can move the goal afterwards without its being noticed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Final, Protocol

from dwindle.kernel.aligned import Aligned
from dwindle.kernel.base_case import Verdict, checks, items
from dwindle.kernel.graph import view
from dwindle.kernel.model import BaseCase, CheckType, Objective, Plan, Status
from dwindle.kernel.problem import Problem
from dwindle.ports.checks import CheckRunner
from dwindle.ports.store import PlanFile, PlanWriter
from dwindle.runner.no_fewer import counted
from dwindle.runner.verification import Round, findings, round_of
from dwindle.runner.whole import whole

ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Crockford's: without letters that could be taken for digits, or for a word."""
RUN_ID: Final = re.compile(r"[0-9A-Z]{26}")
CHANCE_BYTES: Final = 10

PinsOf = Callable[[Objective, Sequence[str]], Sequence[str]]


class Ground(Protocol):
    """What is asked of the repository; nothing in it is changed."""

    async def head(self) -> str:
        """The commit that is checked out."""
        ...

    async def tracked(self, commit: str) -> tuple[str, ...]:
        """The regular files of a commit."""
        ...

    async def is_ignored(self, path: str) -> bool:
        """Git would never commit it."""
        ...

    async def uncommitted(self) -> int:
        """How many tracked files differ from the commit."""
        ...


class Checkouts(Protocol):
    """Fresh trees of a commit, outside of the repository."""

    async def make(self, commit: str) -> Path: ...
    async def discard(self, place: Path) -> None: ...


class Baseline(StrEnum):
    """What the base case says before any work is done."""

    RED = "red"
    ALREADY_GREEN = "already_green"
    COULD_NOT_RUN = "could_not_run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """A plan that is ready to be written, and what is to be said about it."""

    plan: Plan
    baseline: Baseline
    seen: Round
    warnings: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Everything that alignment asks or uses."""

    ground: Ground
    checkouts: Checkouts
    runner: CheckRunner
    pins_of: PinsOf


async def align(plan: Plan, run_id: str, around: Surroundings) -> Alignment:
    """Run the base case once and seal the plan: commit, pins, run id. Nothing is written."""
    commit = await around.ground.head()
    objective = plan.objective
    pins = around.pins_of(objective, await around.ground.tracked(commit))
    seen = await look_at(objective.base_case, commit, around)
    tests = counted([finding.result for finding in seen.findings])
    aligned = Aligned(commit=commit, pins=tuple(pins), tests=tests)
    sealed = replace(plan, control=replace(plan.control, run_id=run_id, aligned=aligned))
    warnings = [
        *_left_behind(await around.ground.uncommitted(), commit),
        *await _never_there(objective.base_case, around.ground),
        *_unproved(seen),
        *_too_few_sessions(sealed),
    ]
    return Alignment(plan=sealed, baseline=baseline_of(seen), seen=seen, warnings=tuple(warnings))


async def look_at(base_case: BaseCase, commit: str, around: Surroundings) -> Round:
    """Every check that a machine can run, in one fresh checkout."""
    place = await around.checkouts.make(commit)
    try:
        return round_of(base_case, commit, await findings(base_case, place, around.runner))
    finally:
        await whole(around.checkouts.discard(place))


def baseline_of(seen: Round) -> Baseline:
    """What only a model or a person can judge is open, and so it is not green."""
    if seen.verdict is Verdict.PASSED:
        return Baseline.ALREADY_GREEN
    if seen.verdict is Verdict.COULD_NOT_RUN:
        return Baseline.COULD_NOT_RUN
    return Baseline.RED


def record(
    alignment: Alignment, *, writer: PlanWriter, file: PlanFile, kept: PlanFile | None
) -> None:
    """Write the plan; what stood there is durable under another name first."""
    if kept is not None:
        kept.replace(file.read())
    file.replace(writer.encode(alignment.plan))


def kept_name(name: str, run_id: str | None, is_taken: Callable[[str], bool]) -> str:
    """What the plan file is called once another takes its place."""
    stem, dot, suffix = name.rpartition(".")
    number = 0
    while True:
        number += 1
        marks = [run_id] if run_id and number == 1 else [run_id, str(number)]
        candidate = ".".join([stem, *(mark for mark in marks if mark)]) + dot + suffix
        if not is_taken(candidate):
            return candidate


def minted(milliseconds: int, chance: bytes) -> str:
    """A run id: an upper-case ULID, which sorts by time."""
    number = milliseconds << 8 * CHANCE_BYTES | int.from_bytes(chance[:CHANCE_BYTES])
    return "".join(ALPHABET[number >> 5 * place & 31] for place in reversed(range(26)))


# --- what is worth saying ------------------------------------------------------------------------


def _left_behind(changed: int, commit: str) -> Iterator[Problem]:
    if changed:
        files = "1 file has" if changed == 1 else f"{changed} files have"
        yield Problem(
            where=(),
            what=f"{files} changes that are not committed; the run starts from {commit[:12]}, "
            "without them",
            hint="commit them first if they belong to it",
            warning=True,
        )


async def _never_there(base_case: BaseCase, ground: Ground) -> list[Problem]:
    """A fresh checkout has no ignored files, unless a command of the base case makes them."""
    found = []
    for _, item, check in checks(items(base_case)):
        if check.type in (CheckType.COMMAND, CheckType.NOT_COMMAND):
            break
        path = check.value or ""
        if check.type is CheckType.FILE and await ground.is_ignored(path):
            found.append(
                _about_base_case(
                    f"{item}: {path} is ignored by git, so that no fresh checkout has it",
                    "put a command that makes it before this check, or let git keep it",
                )
            )
    return found


def _unproved(seen: Round) -> Iterator[Problem]:
    """What the one look at the base case did not show."""
    for finding in seen.findings:
        if finding.result.verdict is Verdict.COULD_NOT_RUN:
            said = finding.result.evidence.partition("\n")[0]
            yield _about_base_case(
                f"{finding.item}: {said}", "mend it, if it is not the work that makes it run"
            )
    if seen.verdict is Verdict.NOT_JUDGED:
        yield _about_base_case(
            "everything that a machine can check holds ALREADY; only judgement is left",
            "add a check that fails until the work is done",
        )


def _about_base_case(what: str, hint: str) -> Problem:
    return Problem(where=("objective", "base_case"), what=what, hint=hint, warning=True)


def _too_few_sessions(plan: Plan) -> Iterator[Problem]:
    """Each open leaf needs a session at least."""
    seen, limits = view(plan), plan.limits
    needed = sum(
        name in seen.live and name not in seen.shape.kids and atom.status is not Status.RESOLVED
        for name, atom in plan.atoms.items()
    )
    width = limits.max_parallel_agents
    allowed = limits.max_iterations * width
    if needed > allowed:
        yield Problem(
            where=("objective", "constraints", "max_iterations"),
            what=f"{needed} atoms are open, and {limits.max_iterations} iterations of {width} "
            f"allow {allowed} sessions: the run will end before it is done",
            hint=f"raise max_iterations to {-(-needed // width)} or more",
            warning=True,
        )
