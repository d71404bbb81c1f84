"""From a verifier's report to the result of a check.

The verifier reports what it saw; this module decides whether that passes. A report that leaves out
a criterion, invents one, scores outside of 1 to 5 or gives no evidence is no judgement: the check
is NOT_JUDGED, with the reason.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from fractions import Fraction
from pathlib import Path

from dwindle.kernel.base_case import MECHANICAL, Verdict
from dwindle.kernel.model import Check, CheckType, Criterion
from dwindle.ports.checks import CheckResult
from dwindle.ports.work import NoReport, Score, VerifierReport
from dwindle.text.escape import escape

Judge = Callable[[Check, Path], Awaitable[VerifierReport | NoReport]]
"""A verifier session on one check, in one tree."""

EVIDENCE_CHARACTERS = 1500
NAMES_SHOWN = 5


def is_judged(check: Check) -> bool:
    """Whether the check needs a verifier."""
    return check.type not in MECHANICAL


def result_of_report(check: Check, report: VerifierReport | NoReport) -> CheckResult:
    if isinstance(report, NoReport):
        return not_judged(check, f"the verifier has no verdict ({report.trouble}): {report.reason}")
    if check.type is CheckType.QUALITY:
        return _quality(check, report)
    return _assertion(check, report)


def not_judged(check: Check, why: str) -> CheckResult:
    verdict = Verdict.NOT_JUDGED
    return CheckResult(check=check, verdict=verdict, evidence=bounded(f"Not judged: {why}"))


def bounded(text: str, characters: int = EVIDENCE_CHARACTERS) -> str:
    """Words of agents and programs, fit for a plan: escaped and cut."""
    text = escape(text).strip()
    return text if len(text) <= characters else f"{text[:characters]} [...]"


# --- assertions ----------------------------------------------------------------------------------


def _assertion(check: Check, report: VerifierReport) -> CheckResult:
    said = "; ".join(part for part in (report.evidence.strip(), *report.failures) if part)
    if not report.passed:
        what = f"Failed: the verifier says that this does not hold: {check.value}\n{said}"
        return CheckResult(check=check, verdict=Verdict.FAILED, evidence=bounded(what))
    if report.failures:
        return not_judged(check, f"the verifier passed it and lists failures: {said}")
    if not report.evidence.strip():
        return not_judged(check, "the verifier passed it without any evidence")
    what = f"Passed: the verifier says that this holds: {check.value}\n{said}"
    return CheckResult(check=check, verdict=Verdict.PASSED, evidence=bounded(what))


# --- quality -------------------------------------------------------------------------------------


def _quality(check: Check, report: VerifierReport) -> CheckResult:
    rubric = check.rubric or (Criterion(criterion=check.criteria or "", weight=1),)
    scores = report.scores
    if not check.rubric and len(scores) == 1:  # whatever name it gave to the only criterion
        scores = (
            Score(
                criterion=rubric[0].criterion, score=scores[0].score, evidence=scores[0].evidence
            ),
        )
    if problems := _score_problems(rubric, scores):
        return not_judged(check, "; ".join(problems))
    weight = sum(_exact(line.weight) for line in rubric)
    if check.pass_threshold is None or weight <= 0:
        return not_judged(check, "the check has no threshold, or weights that add up to 0")
    # Exact, because 0.4 and 0.3 in floats can miss a threshold that the scores meet.
    average = sum(_exact(c.weight) * s.score for c, s in _pairs(rubric, scores)) / weight
    passes = average >= _exact(check.pass_threshold)
    lines = [
        f"{s.score} for {c.criterion}: {s.evidence.strip()}" for c, s in _pairs(rubric, scores)
    ]
    head = (
        f"{'Passed' if passes else 'Failed'}: {float(average):.4g} on average,"
        f" {check.pass_threshold:g} is needed."
    )
    return CheckResult(
        check=check,
        verdict=Verdict.PASSED if passes else Verdict.FAILED,
        evidence=bounded("\n".join([head, *lines])),
    )


def _exact(number: float) -> Fraction:
    return Fraction(str(number))


def _pairs(rubric: Sequence[Criterion], scores: Sequence[Score]) -> list[tuple[Criterion, Score]]:
    """Each criterion with its score; two of the same name take theirs in order."""
    left = list(scores)
    pairs = []
    for line in rubric:
        index = next(i for i, score in enumerate(left) if score.criterion == line.criterion)
        pairs.append((line, left.pop(index)))
    return pairs


def _score_problems(rubric: Sequence[Criterion], scores: Sequence[Score]) -> list[str]:
    wanted = [line.criterion for line in rubric]
    problems = []
    extra = [score.criterion for score in scores]
    for name in wanted:
        if name in extra:
            extra.remove(name)
        else:
            problems.append(f"no score for {name!r}")
    problems += [f"a score for {name!r}, which was not asked for" for name in extra]
    for score in scores:
        if type(score.score) is not int or not 1 <= score.score <= 5:
            problems.append(f"{score.score!r} for {score.criterion!r} is no score from 1 to 5")
        if not score.evidence.strip():
            problems.append(f"no evidence for {score.criterion!r}")
    return problems


def short_list(paths: Sequence[str]) -> str:
    more = len(paths) - NAMES_SHOWN
    shown = ", ".join(bounded(path, 200) for path in paths[:NAMES_SHOWN])
    return f"{shown} and {more} more" if more > 0 else shown
