"""One round of the base case on a fresh checkout.

Mechanical checks run first, in file order and in one tree, so that a build may come before the file
it makes. Then a verifier judges the rest, but only what still matters: where one of several
alternatives holds already, the others are not judged.

An assertion that the verifier believes becomes a question: it holds when a person has confirmed it.
If all alternatives of an item fail, only one has to be fixed; so they make one gap together.
"""

from __future__ import annotations

from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Protocol

from dwindle.kernel.base_case import Verdict, all_of, any_of, checks, items, verdict
from dwindle.kernel.events import NO_USAGE, Gap, Usage, VerificationEnded
from dwindle.kernel.model import Answer, BaseCase, Check, ChecklistItem, CheckType, Question
from dwindle.ports.checks import CheckResult, CheckRunner
from dwindle.ports.workspace import BuildFailed, Lease, WorkspaceFailed
from dwindle.runner.gate.deciding_files import WrittenJudge
from dwindle.runner.gate.judgement import (
    EVIDENCE_CHARACTERS,
    Judge,
    bounded,
    is_judged,
    not_judged,
    result_of_report,
    short_list,
)
from dwindle.runner.gate.test_count import with_least
from dwindle.runner.gate.work_paths import Overlay
from dwindle.runner.shield import shielded

Place = tuple[int, ...]
"""Where a check stands in the checklist."""


class RoundWorkspace(Protocol):
    """The part of a `Workspace` that a round needs."""

    async def checkout(self, commit: str, as_aligned: Sequence[str] = ()) -> Lease: ...
    async def tidy(self, lease: Lease) -> tuple[str, ...]: ...
    async def discard(self, lease: Lease) -> None: ...


class By(StrEnum):
    """Who gave a verdict."""

    HARNESS = "harness"
    VERIFIER = "verifier"
    PERSON = "person"
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True, kw_only=True)
class Jury:
    """Decides what no machine can. Without a `judge`, such checks are not judged."""

    judge: Judge | None = None
    answers: tuple[Question, ...] = ()
    """Questions of earlier rounds, with the answers."""
    least: Mapping[str, int] = field(default_factory=dict)
    """How many tests each command has to run."""
    fixed: tuple[str, ...] = ()
    """What decides and must not be changed while a check runs: pins, tests, configuration."""
    written: tuple[WrittenJudge, ...] = ()
    """What decides and was written in the run; a person confirms what no deliverable names."""


NO_JURY = Jury()
ALL_OF_IT = Overlay()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckFinding:
    place: Place
    item: str
    result: CheckResult
    by: By = By.HARNESS


Seen = Mapping[Place, CheckFinding]
NOTHING_SEEN: Seen = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    commit: str
    verdict: Verdict
    findings: tuple[CheckFinding, ...]
    """Every check, in file order."""
    gaps: tuple[Gap, ...] = ()
    questions: tuple[str, ...] = ()
    overlay: Overlay = ALL_OF_IT
    """What of the commit was not laid over the judge's ground."""
    written: tuple[WrittenJudge, ...] = ()
    """What decided and was written in the run."""

    @property
    def passed(self) -> bool:
        """Questions for a person may still be open."""
        return self.verdict is Verdict.PASSED

    def ended(
        self,
        nonce: int,
        *,
        usage: Usage = NO_USAGE,
        judge: str = "",
        at: str = "",
        elapsed: float = 0.0,
    ) -> VerificationEnded:
        return VerificationEnded(
            nonce=nonce,
            usage=usage,
            judge=judge,
            at=at,
            elapsed=elapsed,
            passed=self.passed,
            gaps=self.gaps,
            questions=self.questions,
            unjudged=self.unjudged,
        )

    @property
    def unjudged(self) -> tuple[str, ...]:
        """Items that could not run, or that no judge decided; a question is for a person."""
        if self.passed:
            return ()
        open_verdicts = (Verdict.COULD_NOT_RUN, Verdict.NOT_JUDGED)
        found = (f.item for f in self.findings if f.result.verdict in open_verdicts)
        return tuple(dict.fromkeys(item for item in found if item not in self.questions))


async def verify(  # noqa: PLR0913 - what a round is made of
    base_case: BaseCase,
    commit: str,
    workspace: RoundWorkspace,
    runner: CheckRunner,
    jury: Jury = NO_JURY,
    *,
    overlay: Overlay = ALL_OF_IT,
) -> Round:
    """Run a round on a fresh checkout of `commit`; without a checkout, no check could run.

    If the commit has new tests, the mechanical checks run without them first; those that passed run
    again in a second checkout, which has them.
    """
    seen: Seen = {}
    try:
        if overlay.later:
            first = (*overlay.outside, *overlay.later)
            async with checked_out(workspace, commit, first) as tree:
                seen = await _mechanical_findings(base_case, tree, runner, jury)
        async with checked_out(workspace, commit, overlay.outside) as tree:
            found = await findings(base_case, tree, runner, jury, before=seen)
    except NoCheckout as problem:
        found = nothing_ran(base_case, problem)
    seen_all = round_of(base_case, commit, found)
    questions = (*seen_all.questions, *_questions_about(jury)) if seen_all.passed else ()
    return replace(seen_all, overlay=overlay, written=jury.written, questions=questions)


@dataclass(frozen=True, slots=True)
class CheckedTree:
    """A tree that checks run in, and how it is made as it was."""

    path: Path
    tidy: Callable[[], Awaitable[tuple[str, ...]]] | None = None
    settled: tuple[str, ...] = ()
    """What a setup made in it, before what is judged was there."""


class NoCheckout(Exception):
    """There is no fresh checkout, and why."""

    def __init__(self, problem: WorkspaceFailed) -> None:
        super().__init__(str(problem))
        self.verdict = Verdict.COULD_NOT_RUN
        if isinstance(problem, BuildFailed):  # which an agent can repair
            self.verdict = Verdict.FAILED


@asynccontextmanager
async def checked_out(
    workspace: RoundWorkspace, commit: str, as_aligned: Sequence[str]
) -> AsyncIterator[CheckedTree]:
    """A fresh checkout, while this is entered. Raises NoCheckout."""
    try:
        lease = await workspace.checkout(commit, as_aligned)
    except WorkspaceFailed as problem:
        raise NoCheckout(problem) from problem
    try:
        yield CheckedTree(lease.path, partial(workspace.tidy, lease), lease.settled)
    finally:
        await shielded(workspace.discard(lease))  # also if cancelled: no half-removed tree is left


async def _mechanical_findings(
    base_case: BaseCase,
    tree: CheckedTree,
    runner: CheckRunner,
    jury: Jury,
    before: Seen = NOTHING_SEEN,
) -> dict[Place, CheckFinding]:
    """Run the mechanical checks, but for those that have failed before."""
    seen: dict[Place, CheckFinding] = {}
    for place, item, check in checks(items(base_case)):
        if is_judged(check):
            continue
        if place in before and before[place].result.verdict is not Verdict.PASSED:
            seen[place] = before[place]
            continue
        result = await checked(check, tree, runner, jury.least, jury.fixed)
        if place in before:
            result = replace(result, seconds=result.seconds + before[place].result.seconds)
            if result.verdict is not Verdict.PASSED:
                said = f"It holds without the new tests, and not with them. {result.evidence}"
                result = replace(result, evidence=bounded(said))
        seen[place] = CheckFinding(place=place, item=item, result=result)
    return seen


async def checked(
    check: Check,
    tree: CheckedTree,
    runner: CheckRunner,
    least: Mapping[str, int],
    fixed: Sequence[str],
) -> CheckResult:
    """Run one mechanical check; the next one finds the tree as it was, but for what git ignores.

    A check that changed what decides has not passed, whatever it says.
    """
    result = with_least(await runner.run(check, tree.path, (*fixed, *tree.settled)), least)
    changed = await tree.tidy() if tree.tidy is not None else ()
    if not changed:
        return result
    judges = [path for path in changed if path in frozenset(fixed)]
    if judges:
        said = f"Failed: while it was checked, the code changed {short_list(judges)}."
        evidence = bounded(f"{said} {result.evidence}")
        return replace(result, verdict=Verdict.FAILED, evidence=evidence)
    said = f"Files of the commit that it changed were put back: {short_list(changed)}."
    return replace(result, evidence=bounded(f"{result.evidence}\n{said}"))


async def findings(
    base_case: BaseCase,
    tree: CheckedTree,
    runner: CheckRunner,
    jury: Jury = NO_JURY,
    *,
    before: Seen = NOTHING_SEEN,
) -> tuple[CheckFinding, ...]:
    """Judge every check in this tree; `before` is what the mechanical ones came to in another."""
    listed = tuple(checks(items(base_case)))
    names = [item for _, item, check in listed if check.type is CheckType.ASSERTION]
    answered = {question.item: question for question in jury.answers}
    seen = await _mechanical_findings(base_case, tree, runner, jury, before)
    for place, item, check in listed:
        if not is_judged(check):
            continue
        name = question_about(item, check, ambiguous=names.count(item) > 1)
        word = answered.get(name) if check.type is CheckType.ASSERTION else None
        if word is not None and word.answer is not Answer.OPEN:
            result, by = _person(check, word), By.PERSON
        elif not _matters(items(base_case), place, seen):
            result, by = not_judged(check, "another alternative holds already"), By.NOBODY
        else:
            result, by = await verdict_by(jury.judge, check, tree.path, runner)
        seen[place] = CheckFinding(place=place, item=name, result=result, by=by)
    return tuple(seen[place] for place, _, _ in listed)


def question_about(item: str, check: Check, *, ambiguous: bool) -> str:
    """The name of a question: the item, with the sentence if two items have the same name."""
    return f"{item}: {check.value}" if ambiguous else item


def _person(check: Check, word: Question) -> CheckResult:
    words = word.words.strip() or "(no words)"
    if word.answer is Answer.YES:
        said = f"Passed: a person confirmed it: {check.value}\n{words}"
        return CheckResult(check=check, verdict=Verdict.PASSED, evidence=bounded(said))
    said = f"Failed: a person says that this does not hold: {check.value}\n{words}"
    return CheckResult(check=check, verdict=Verdict.FAILED, evidence=bounded(said))


async def verdict_by(
    judge: Judge | None, check: Check, tree: Path, runner: CheckRunner
) -> tuple[CheckResult, By]:
    """Ask the verifier, if there is one and something to look at."""
    if judge is None:
        return not_judged(check, "no verifier was asked"), By.NOBODY
    if check.scope is not None:
        there = await runner.run(Check(type=CheckType.FILE, value=check.scope), tree)
        if there.verdict is not Verdict.PASSED:
            return not_judged(check, f"its scope {check.scope!r} matches nothing"), By.NOBODY
    result = result_of_report(check, await judge(check, tree))
    return result, By.NOBODY if result.verdict is Verdict.NOT_JUDGED else By.VERIFIER


def nothing_ran(base_case: BaseCase, why: NoCheckout) -> tuple[CheckFinding, ...]:
    how = "Failed" if why.verdict is Verdict.FAILED else "Could not run"
    evidence = bounded(f"{how}: there is no fresh checkout: {why}")
    return tuple(
        CheckFinding(
            place=place,
            item=item,
            result=CheckResult(check=check, verdict=why.verdict, evidence=evidence),
            by=By.NOBODY,
        )
        for place, item, check in checks(items(base_case))
    )


# --- putting it together -------------------------------------------------------------------------


def round_of(base_case: BaseCase, commit: str, found: tuple[CheckFinding, ...]) -> Round:
    in_order = iter(found)  # the kernel asks in file order too
    overall = verdict(base_case, lambda _: next(in_order).result.verdict)
    seen = {finding.place: finding for finding in found}
    entries = [((index,), entry) for index, entry in enumerate(items(base_case))]
    passed = overall is Verdict.PASSED
    return Round(
        commit=commit,
        verdict=overall,
        findings=found,
        gaps=() if passed else tuple(g for at, e in entries for g in _gaps(e, at, seen)),
        questions=_unique(q for at, e in entries for q in _questions(e, at, seen))
        if passed
        else (),
    )


def _below(entry: ChecklistItem, at: Place) -> list[tuple[Place, ChecklistItem]]:
    return [((*at, index), sub) for index, sub in enumerate((*entry.group, *entry.any_of))]


def verdict_at(entry: ChecklistItem, at: Place, seen: Seen) -> Verdict:
    if entry.check is not None:
        return seen[at].result.verdict if at in seen else Verdict.NOT_JUDGED
    verdicts = [verdict_at(sub, place, seen) for place, sub in _below(entry, at)]
    return any_of(verdicts) if entry.any_of else all_of(verdicts)


def _matters(entries: Sequence[ChecklistItem], place: Place, seen: Seen) -> bool:
    """Whether no alternative beside it holds already."""
    at: Place = ()
    below: list[tuple[Place, ChecklistItem]] = [((n,), entry) for n, entry in enumerate(entries)]
    choice = False
    for index in place:
        at = (*at, index)
        others = [(p, e) for p, e in below if p != at]
        if choice and any(verdict_at(e, p, seen) is Verdict.PASSED for p, e in others):
            return False
        entry = below[index][1]
        choice, below = bool(entry.any_of), _below(entry, at)
    return True


def _gaps(entry: ChecklistItem, at: Place, seen: Seen) -> tuple[Gap, ...]:
    """What has to be fixed. Only a mechanical check can judge the atom that fixes it."""
    if entry.check is not None:
        finding = seen[at]
        if finding.result.verdict is not Verdict.FAILED:
            return ()
        check = None if is_judged(entry.check) else entry.check
        return (Gap(item=finding.item, evidence=finding.result.evidence, check=check),)
    if entry.any_of and verdict_at(entry, at, seen) is Verdict.PASSED:
        return ()
    found = tuple(gap for place, sub in _below(entry, at) for gap in _gaps(sub, place, seen))
    if not entry.any_of or len(found) <= 1:
        return found
    share = EVIDENCE_CHARACTERS // len(found)
    ways = [f"- {gap.item}: {bounded(gap.evidence, share)}" for gap in found]
    return (Gap(item=entry.item, evidence="\n".join(["One way has to hold, none does:", *ways])),)


def _questions(entry: ChecklistItem, at: Place, seen: Seen) -> tuple[str, ...]:
    """The questions for a person on which this entry depends; of alternatives, the fewest."""
    if entry.check is not None:
        finding = seen[at]
        is_open = entry.check.type is CheckType.ASSERTION and finding.by is By.VERIFIER
        return (finding.item,) if is_open and finding.result.verdict is Verdict.PASSED else ()
    below = _below(entry, at)
    if not entry.any_of:
        return tuple(q for place, sub in below for q in _questions(sub, place, seen))
    ways = [
        _questions(sub, place, seen)
        for place, sub in below
        if verdict_at(sub, place, seen) is Verdict.PASSED
    ]
    return min(ways, key=len, default=())


def _questions_about(jury: Jury) -> Iterator[str]:
    """About the files that decide and that an agent wrote, unless a person has said yes."""
    confirmed = {word.item for word in jury.answers if word.answer is Answer.YES}
    for judge in jury.written:
        if not judge.is_delivered and judge.question not in confirmed:
            yield judge.question


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
