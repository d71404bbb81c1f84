"""Does a worker's claim of success hold?

The claim itself counts for nothing. In this order:

1. its change has to be a plain one, and neither a pin nor anything that steers a test tool may be
   in it;
2. every artifact it names has to be there, inside of the tree;
3. where the atom has a check, the check decides, even if nothing was changed;
4. else something has to show for it: a difference, or an artifact outside of version control (a
   build, say) that was made since the session began.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dwindle.kernel.base_case import Verdict
from dwindle.kernel.model import Atom, Check
from dwindle.ports.checks import CheckResult, CheckRunner
from dwindle.ports.work import WorkerReport
from dwindle.ports.workspace import Change
from dwindle.runner.judgement import Judge, bounded, is_judged
from dwindle.runner.pins import touched
from dwindle.runner.steering import NOTHING_STEERS, Steering
from dwindle.runner.verification import verdict_by

IsIgnored = Callable[[str], Awaitable[bool]]
"""Does git ignore this path? A tracked file is never ignored."""

AtAlignment = Callable[[str], Awaitable[bytes | None]]
"""What a file held in the commit of alignment; None if it was not there."""

REASON_CHARACTERS = 1500
NAMES_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    holds: bool
    reason: str
    """A sentence for the log; for a failure also for the Trail and the next attempt."""
    artifacts: tuple[str, ...] = ()
    """As reported, relative to the tree."""
    check: CheckResult | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a worker's change is held against, the same for all of a run."""

    pins: Collection[str] = ()
    protected_paths: tuple[str, ...] = ()
    judge: Judge | None = None
    """For an atom whose check no machine can decide."""
    is_ignored: IsIgnored | None = None
    """Without it, artifacts outside of version control are no evidence."""
    steering: Steering = NOTHING_STEERS
    at_alignment: AtAlignment | None = None
    """Without it, a file that steers a test tool in part is held against nothing."""
    looked_into: dict[Steering, Steering] = field(default_factory=dict, compare=False)
    """What was found out already about what commands lead to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a session left behind."""

    tree: Path
    change: Change
    began_ns: Callable[[], int] | None = None
    """The file system's time when it began; without it no artifact is known to be new."""


async def judge_work(
    atom: Atom, report: WorkerReport, work: Work, checks: CheckRunner, rules: Rules
) -> Evidence:
    if not report.success:
        return _failed(report.reason or report.summary or "the worker reports a failure")
    if work.change.trouble:
        return _failed(work.change.trouble)
    if hit := touched(rules.pins, rules.protected_paths, work.change.paths):
        return _failed(f"touched what is protected: {_listed(hit)}")
    if hit := await _steered(work, rules):
        return _failed(
            f"touched what steers the tests: {_listed(hit)}; what tests need belongs into the "
            "test files themselves"
        )
    artifacts, problems = _located(work.tree, report.artifacts)
    if problems:
        return _failed("; ".join(problems))
    if atom.check is not None:
        result = await _checked(atom.check, work.tree, checks, rules.judge)
        if result.verdict is Verdict.PASSED:
            reason = bounded(f"its check holds. {result.evidence}", REASON_CHARACTERS)
            return Evidence(holds=True, reason=reason, artifacts=artifacts, check=result)
        return _failed(
            f"success was reported, but its check does not hold. {result.evidence}", result
        )
    if work.change.paths:
        reason = f"changed {_listed(work.change.paths)}"
        return Evidence(holds=True, reason=reason, artifacts=artifacts)
    if made := [path for path in artifacts if await _is_new(path, work, rules.is_ignored)]:
        return Evidence(holds=True, reason=f"made {_listed(made)}", artifacts=artifacts)
    return _failed(
        "success was reported, but there is nothing to show: no file changed, none is new"
    )


def _failed(reason: str, check: CheckResult | None = None) -> Evidence:
    return Evidence(holds=False, reason=bounded(reason, REASON_CHARACTERS), check=check)


def _listed(paths: Sequence[str]) -> str:
    more = len(paths) - NAMES_SHOWN
    shown = ", ".join(bounded(path, 200) for path in paths[:NAMES_SHOWN])
    return f"{shown} and {more} more" if more > 0 else shown


async def _checked(
    check: Check, tree: Path, checks: CheckRunner, judge: Judge | None
) -> CheckResult:
    if is_judged(check):
        return (await verdict_by(judge, check, tree, checks))[0]
    return await checks.run(check, tree)


async def _steered(work: Work, rules: Rules) -> tuple[str, ...]:
    """The changed files that steer a test tool, or whose part that does was changed."""
    found = []
    steering = await _looked_into(rules) if work.change.paths else rules.steering
    for path in work.change.paths:
        if steering.steers(path):
            found.append(path)
        elif rules.at_alignment is not None and steering.is_mixed(path):
            now, then = _content(work.tree / path), await rules.at_alignment(path)
            if steering.mended(path, then, now) != now:
                found.append(path)
    return tuple(found)


async def _looked_into(rules: Rules) -> Steering:
    """Asked after every session, and the answer is the same until the plan is another."""
    if rules.at_alignment is None:
        return rules.steering
    known = rules.looked_into.get(rules.steering)
    if known is None:
        known = await rules.steering.looked_into(rules.at_alignment)
        rules.looked_into[rules.steering] = known
    return known


def _content(path: Path) -> bytes:
    """Of a plain file; one that is gone says nothing, and so does a link."""
    try:
        return b"" if path.is_symlink() else path.read_bytes()
    except OSError:
        return b""


# --- artifacts -----------------------------------------------------------------------------------


def _located(tree: Path, artifacts: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
    """Each artifact relative to the tree, and what is wrong with them."""
    if not artifacts:
        return (), []
    missing: list[str] = []
    outside: list[str] = []
    found: list[str] = []
    root = tree.resolve()
    for artifact in artifacts:
        path = _relative(tree, artifact)
        try:
            if path is None or not (tree / path).resolve().is_relative_to(root):
                outside.append(artifact)
            elif not (tree / path).exists():
                missing.append(artifact)
            else:
                found.append(path)
        except (OSError, RuntimeError, ValueError):  # no name a file could have
            missing.append(artifact)
    problems = []
    if missing:
        problems.append(f"reported artifacts that do not exist: {_listed(missing)}")
    if outside:
        problems.append(f"reported artifacts outside of its tree: {_listed(outside)}")
    return tuple(dict.fromkeys(found)), problems


def _relative(tree: Path, artifact: str) -> str | None:
    for start in (tree, tree.resolve()):
        if artifact.startswith(f"{start}/"):
            artifact = artifact[len(str(start)) + 1 :]
    path = posixpath.normpath(artifact)
    return None if path.startswith(("/", "../")) or path in ("..", ".") else path


async def _is_new(path: str, work: Work, is_ignored: IsIgnored | None) -> bool:
    """Nothing that git sees has changed, so only an ignored file can be new.

    Its change time is taken: unlike the modification time, a program cannot set it back.
    """
    if is_ignored is None or work.began_ns is None or not await is_ignored(path):
        return False
    try:
        return os.lstat(work.tree / path).st_ctime_ns >= work.began_ns()
    except OSError:
        return False
