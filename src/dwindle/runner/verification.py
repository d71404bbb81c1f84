"""One round of looking whether the base case holds, on a fresh checkout.

What machines can check is run first, in file order and in one tree, so that a build may come before
the file it makes. Only then is a verifier asked, and only about what still matters: where one of
several ways holds already, judging the others would cost money, or a person's time, for nothing.

An assertion that the verifier believes becomes a question: it holds when a person has said so. Of
ways that all failed only one has to be mended, and nobody knows which is the easiest; so they make
one gap together, not one each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from dwindle.kernel.base_case import Verdict, all_of, any_of, checks, items, verdict
from dwindle.kernel.events import NO_USAGE, Gap, Usage, VerificationEnded
from dwindle.kernel.model import Answer, BaseCase, Check, ChecklistItem, CheckType, Question
from dwindle.ports.checks import CheckResult, CheckRunner
from dwindle.ports.workspace import Lease, WorkspaceFailed
from dwindle.runner.judgement import (
    EVIDENCE_CHARACTERS,
    Judge,
    bounded,
    is_judged,
    judged,
    not_judged,
)
from dwindle.runner.whole import whole

Place = tuple[int, ...]
"""Where a check stands in the checklist."""


class Checkouts(Protocol):
    """The part of a `Workspace` that a round needs."""

    async def checkout(self, commit: str) -> Lease: ...
    async def discard(self, lease: Lease) -> None: ...


class By(StrEnum):
    """Whose word a verdict is."""

    HARNESS = "harness"
    VERIFIER = "verifier"
    PERSON = "person"
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True, kw_only=True)
class Jury:
    """Who decides what no machine can. Without a `judge` it is not judged."""

    judge: Judge | None = None
    answers: tuple[Question, ...] = ()
    """What a person was asked before, and said."""


NO_JURY = Jury()


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    place: Place
    item: str
    result: CheckResult
    by: By = By.HARNESS


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    commit: str
    verdict: Verdict
    findings: tuple[Finding, ...]
    """Every check, in file order."""
    gaps: tuple[Gap, ...] = ()
    questions: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """As far as machines can say; a person may have to be asked."""
        return self.verdict is Verdict.PASSED

    def ended(
        self, nonce: int, *, usage: Usage = NO_USAGE, at: str = "", elapsed: float = 0.0
    ) -> VerificationEnded:
        return VerificationEnded(
            nonce=nonce,
            usage=usage,
            at=at,
            elapsed=elapsed,
            passed=self.passed,
            gaps=self.gaps,
            questions=self.questions,
        )


async def verify(
    base_case: BaseCase,
    commit: str,
    workspace: Checkouts,
    runner: CheckRunner,
    jury: Jury = NO_JURY,
) -> Round:
    """Look at a fresh checkout of `commit`; one that cannot be made is a round that ran nothing."""
    try:
        lease = await workspace.checkout(commit)
    except WorkspaceFailed as problem:
        return round_of(base_case, commit, _nothing_ran(base_case, str(problem)))
    try:
        found = await findings(base_case, lease.path, runner, jury)
    finally:
        await whole(workspace.discard(lease))  # nobody comes back for half a tree
    return round_of(base_case, commit, found)


async def findings(
    base_case: BaseCase, tree: Path, runner: CheckRunner, jury: Jury = NO_JURY
) -> tuple[Finding, ...]:
    """Judge every check in this tree."""
    listed = tuple(checks(items(base_case)))
    names = [item for _, item, check in listed if check.type is CheckType.ASSERTION]
    answered = {question.item: question for question in jury.answers}
    seen: dict[Place, Finding] = {}
    for place, item, check in listed:
        if not is_judged(check):
            result = await runner.run(check, tree)
            seen[place] = Finding(place=place, item=item, result=result)
    for place, item, check in listed:
        if not is_judged(check):
            continue
        name = question_about(item, check, ambiguous=names.count(item) > 1)
        word = answered.get(name) if check.type is CheckType.ASSERTION else None
        if word is not None and word.answer is not Answer.OPEN:
            result, by = _person(check, word), By.PERSON
        elif not _matters(items(base_case), place, seen):
            result, by = not_judged(check, "another way to the same holds already"), By.NOBODY
        else:
            result, by = await verdict_by(jury.judge, check, tree, runner)
        seen[place] = Finding(place=place, item=name, result=result, by=by)
    return tuple(seen[place] for place, _, _ in listed)


def question_about(item: str, check: Check, *, ambiguous: bool) -> str:
    """A person answers by item; two assertions of one name are told apart by what they say."""
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
    result = judged(check, await judge(check, tree))
    return result, By.NOBODY if result.verdict is Verdict.NOT_JUDGED else By.VERIFIER


def _nothing_ran(base_case: BaseCase, why: str) -> tuple[Finding, ...]:
    evidence = bounded(f"Could not run: there is no fresh checkout: {why}")
    return tuple(
        Finding(
            place=place,
            item=item,
            result=CheckResult(check=check, verdict=Verdict.COULD_NOT_RUN, evidence=evidence),
            by=By.NOBODY,
        )
        for place, item, check in checks(items(base_case))
    )


# --- putting it together -------------------------------------------------------------------------

Seen = Mapping[Place, Finding]


def round_of(base_case: BaseCase, commit: str, found: tuple[Finding, ...]) -> Round:
    in_order = iter(found)  # the kernel asks in file order too
    whole = verdict(base_case, lambda _: next(in_order).result.verdict)
    seen = {finding.place: finding for finding in found}
    entries = [((index,), entry) for index, entry in enumerate(items(base_case))]
    passed = whole is Verdict.PASSED
    return Round(
        commit=commit,
        verdict=whole,
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
    """No choice above it has another way that holds."""
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
    """What has to be mended. Only a mechanical check can judge the atom that is to mend it."""
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
    """What a person has to be asked for this entry to hold; of several ways, the cheapest."""
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


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
