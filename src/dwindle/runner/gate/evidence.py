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
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path

from dwindle.kernel.base_case import Verdict
from dwindle.kernel.model import Atom, Check
from dwindle.ports.checks import CheckResult, CheckRunner
from dwindle.ports.work import WorkerReport
from dwindle.ports.workspace import Change
from dwindle.runner.gate.judgement import Judge, bounded, is_judged, short_list
from dwindle.runner.gate.pins import how_to_unpin, protected_changes
from dwindle.runner.gate.steering import NOTHING_STEERS, ToolSteering
from dwindle.runner.gate.verification import CheckedTree, checked, verdict_by

IsIgnored = Callable[[str], Awaitable[bool]]
"""Does git ignore this path? A tracked file is never ignored."""

AtAlignment = Callable[[str], Awaitable[bytes | None]]
"""What a file held in the commit of alignment; None if it was not there."""

PROTECTED = "changed protected files"
STEERING = "changed files that steer the tests"
REASON_CHARACTERS = 1500
SUMMARY_CHARACTERS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    holds: bool
    reason: str
    """A sentence for the log; for a failure also for the Trail and the next attempt."""
    artifacts: tuple[str, ...] = ()
    """As reported, relative to the tree."""
    check: CheckResult | None = None
    set_aside: tuple[str, ...] = ()
    """What the session changed outside of the work paths: the claim was judged without it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The rules for a worker's change, the same for a whole run."""

    pins: Collection[str] = ()
    protected_paths: tuple[str, ...] = ()
    judge: Judge | None = None
    """For checks that no machine can decide."""
    least: Mapping[str, int] = field(default_factory=dict)
    """How many tests each command has to run."""
    fixed: tuple[str, ...] = ()
    """What an atom's check cannot change while it runs."""
    is_ignored: IsIgnored | None = None
    """Without it, artifacts outside of version control are no evidence."""
    steering: ToolSteering = NOTHING_STEERS
    at_alignment: AtAlignment | None = None
    """Without it, files that steer a test tool in part are not compared."""
    aligned_files: Callable[[], Awaitable[Collection[str]]] | None = None
    """Without it, recipes are not followed."""
    followed: dict[ToolSteering, ToolSteering] = field(default_factory=dict, compare=False)
    """A cache of `_with_recipes`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionWork:
    """The tree and the change that a session left."""

    tree: Path
    change: Change
    began_ns: Callable[[], int] | None = None
    """The file system's time when it began; without it no artifact is known to be new."""
    judged_in: Callable[[], AsyncGenerator[CheckedTree, None]] | None = None
    """Fresh checkouts in all of which the check has to hold, instead of in the tree."""


async def judge_work(
    atom: Atom, report: WorkerReport, work: SessionWork, checks: CheckRunner, rules: Rules
) -> Evidence:
    if not report.success:
        return _failure(report.reason or report.summary or "the worker reports a failure")
    if why := await _refusal(work, rules):
        return _failure(why)
    artifacts, problems = _locate(work.tree, report.artifacts)
    if problems:
        return _failure("; ".join(problems))
    if atom.check is not None:
        result = await _check_result(atom.check, work, checks, rules)
        if result.verdict is Verdict.PASSED:
            reason = bounded(f"its check holds. {result.evidence}", REASON_CHARACTERS)
            return Evidence(holds=True, reason=reason, artifacts=artifacts, check=result)
        return _failure(
            f"success was reported, but its check does not hold. {result.evidence}"
            + _summary_of(report),
            result,
        )
    if work.change.paths:
        reason = f"changed {short_list(work.change.paths)}"
        return Evidence(holds=True, reason=reason, artifacts=artifacts)
    if made := [path for path in artifacts if await _is_new(path, work, rules.is_ignored)]:
        return Evidence(holds=True, reason=f"made {short_list(made)}", artifacts=artifacts)
    return _failure(
        "success was reported, but no file changed and none is new" + _summary_of(report)
    )


async def _refusal(work: SessionWork, rules: Rules) -> str:
    """Why a change is none that can be judged; empty if it is."""
    paths = work.change.paths
    if work.change.trouble:
        return work.change.trouble
    if hit := protected_changes(rules.pins, rules.protected_paths, paths):
        return f"{PROTECTED}: {short_list(hit)}\n{how_to_unpin(hit)}"
    if hit := await _steering_changes(work, rules):
        return (
            f"{STEERING}: {short_list(hit)}; what tests need belongs into the test files themselves"
        )
    if leading_out := sorted(links_out(work.tree, paths)):
        return f"links that lead out of its tree are no work: {short_list(leading_out)}"
    return ""


def _summary_of(report: WorkerReport) -> str:
    """The worker's own summary, so that the next attempt knows what was tried."""
    summary = bounded(report.summary, SUMMARY_CHARACTERS)
    return f"\nThe report said: {summary}" if summary else ""


def _failure(reason: str, check: CheckResult | None = None) -> Evidence:
    return Evidence(holds=False, reason=bounded(reason, REASON_CHARACTERS), check=check)


async def _check_result(
    check: Check, work: SessionWork, checks: CheckRunner, rules: Rules
) -> CheckResult:
    async def result_in(tree: CheckedTree) -> CheckResult:
        if is_judged(check):
            return (await verdict_by(rules.judge, check, tree.path, checks))[0]
        return await checked(check, tree, checks, rules.least, rules.fixed)

    if work.judged_in is None:
        return await result_in(CheckedTree(work.tree))
    result = CheckResult(check=check, verdict=Verdict.COULD_NOT_RUN, evidence="No tree.")
    async with aclosing(work.judged_in()) as trees:
        async for tree in trees:
            result = await result_in(tree)
            if result.verdict is not Verdict.PASSED:
                break
    return result


async def _steering_changes(work: SessionWork, rules: Rules) -> tuple[str, ...]:
    """The changed files that steer a test tool, or whose part that does was changed."""
    found = []
    steering = await _with_recipes(rules) if work.change.paths else rules.steering
    for path in work.change.paths:
        if steering.steers(path, lambda other: os.path.lexists(work.tree / other)):
            found.append(path)
        elif rules.at_alignment is not None and steering.is_mixed(path):
            now, then = content_of(work.tree / path), await rules.at_alignment(path)
            if steering.merge(path, then, now) != now:
                found.append(path)
    return tuple(found)


async def _with_recipes(rules: Rules) -> ToolSteering:
    """Cached: asked after every session, and the same until the plan changes."""
    if rules.at_alignment is None or rules.aligned_files is None:
        return rules.steering
    known = rules.followed.get(rules.steering)
    if known is None:
        files = await rules.aligned_files()
        known = await rules.steering.follow_recipes(rules.at_alignment, files)
        rules.followed[rules.steering] = known
    return known


def content_of(path: Path) -> bytes:
    """The content of a plain file; empty for a missing file or a link."""
    try:
        return b"" if path.is_symlink() else path.read_bytes()
    except OSError:
        return b""


def links_out(tree: Path, paths: Iterable[str]) -> frozenset[str]:
    """Those that are links out of the tree."""
    root = tree.resolve()
    return frozenset(
        path
        for path in paths
        if (tree / path).is_symlink() and not _resolved(tree / path).is_relative_to(root)
    )


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # a loop of links leads nowhere
        return Path("/")


# --- artifacts -----------------------------------------------------------------------------------


def _locate(tree: Path, artifacts: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
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
        problems.append(f"reported artifacts that do not exist: {short_list(missing)}")
    if outside:
        problems.append(f"reported artifacts outside of its tree: {short_list(outside)}")
    return tuple(dict.fromkeys(found)), problems


def _relative(tree: Path, artifact: str) -> str | None:
    for start in (tree, tree.resolve()):
        if artifact.startswith(f"{start}/"):
            artifact = artifact[len(str(start)) + 1 :]
    path = posixpath.normpath(artifact)
    return None if path.startswith(("/", "../")) or path in ("..", ".") else path


async def _is_new(path: str, work: SessionWork, is_ignored: IsIgnored | None) -> bool:
    """Nothing that git sees has changed, so only an ignored file can be new.

    Its change time is taken: unlike the modification time, a program cannot set it back.
    """
    if is_ignored is None or work.began_ns is None or not await is_ignored(path):
        return False
    try:
        return os.lstat(work.tree / path).st_ctime_ns >= work.began_ns()
    except OSError:
        return False
