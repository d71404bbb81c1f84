"""Scores and words of a verifier, and when they count."""

from __future__ import annotations

import pytest

from dwindle.kernel.base_case import Verdict
from dwindle.kernel.model import Check, CheckType, Criterion
from dwindle.ports.checks import CheckResult
from dwindle.ports.work import NoReport, Score, Trouble, VerifierReport
from dwindle.runner.gate.judgement import result_of_report

PASSED, FAILED, COULD_NOT_RUN, NOT_JUDGED = Verdict
PLEASANT = Check(type=CheckType.ASSERTION, value="it is pleasant")
SIMPLE = Check(type=CheckType.QUALITY, criteria="short functions", pass_threshold=3)


def rubric(threshold: float = 3.5, **weights: float) -> Check:
    lines = tuple(Criterion(criterion=name, weight=weight) for name, weight in weights.items())
    return Check(type=CheckType.QUALITY, rubric=lines, pass_threshold=threshold)


def scored(*scores: tuple[str, int], passed: bool = True) -> VerifierReport:
    return VerifierReport(
        passed=passed,
        scores=tuple(Score(criterion=c, score=s, evidence=f"seen {c}") for c, s in scores),
    )


def test_the_weighted_average_decides_and_not_what_the_verifier_thinks_of_it() -> None:
    check = rubric(clear=0.4, design=0.6)

    low = result_of_report(check, scored(("clear", 5), ("design", 2), passed=True))
    high = result_of_report(check, scored(("design", 4), ("clear", 3), passed=False))

    assert low == CheckResult(
        check=check,
        verdict=FAILED,
        evidence=(
            "Failed: 3.2 on average, 3.5 is needed.\n"
            "5 for clear: seen clear\n2 for design: seen design"
        ),
    )
    assert high == CheckResult(
        check=check,
        verdict=PASSED,
        evidence=(
            "Passed: 3.6 on average, 3.5 is needed.\n"
            "3 for clear: seen clear\n4 for design: seen design"
        ),
    )


def test_a_threshold_that_is_met_exactly_is_met_whatever_floats_make_of_it() -> None:
    weights = {f"c{n}": 0.1 for n in range(10)}
    scores = [(name, 3 + n % 2) for n, name in enumerate(weights)]
    in_floats = sum(0.1 * s for _, s in scores) / sum(weights.values())
    assert in_floats != 3.5

    assert result_of_report(rubric(3.5, **weights), scored(*scores)).verdict is PASSED
    assert result_of_report(rubric(3.5, a=0.3, b=0.1), scored(("a", 4), ("b", 2))).verdict is PASSED


def test_weights_need_not_add_up_to_one_and_one_may_be_nothing() -> None:
    assert result_of_report(rubric(4, a=3, b=0), scored(("a", 4), ("b", 1))).verdict is PASSED


def test_plain_criteria_take_one_score_under_any_name() -> None:
    assert result_of_report(SIMPLE, scored(("overall", 3))).verdict is PASSED
    assert result_of_report(SIMPLE, scored(("overall", 2))).verdict is FAILED
    assert result_of_report(SIMPLE, scored(("one", 5), ("two", 5))).verdict is NOT_JUDGED


def test_two_criteria_of_one_name_take_their_scores_in_order() -> None:
    twice = Check(
        type=CheckType.QUALITY,
        rubric=(Criterion(criterion="a", weight=9), Criterion(criterion="a", weight=1)),
        pass_threshold=4,
    )

    assert result_of_report(twice, scored(("a", 5), ("a", 1))).verdict is PASSED
    assert result_of_report(twice, scored(("a", 1), ("a", 5))).verdict is FAILED


@pytest.mark.parametrize(
    ("scores", "why"),
    [
        ((), "no score for 'a'; no score for 'b'"),
        ((Score(criterion="a", score=5, evidence="e"),), "no score for 'b'"),
        (
            tuple(Score(criterion=c, score=5, evidence="e") for c in "abc"),
            "a score for 'c', which was not asked for",
        ),
        (
            tuple(Score(criterion=c, score=5, evidence="e") for c in "aab"),
            "a score for 'a', which was not asked for",
        ),
        (
            (
                Score(criterion="a", score=6, evidence="e"),
                Score(criterion="b", score=0, evidence=" "),
            ),
            (
                "6 for 'a' is no score from 1 to 5; 0 for 'b' is no score from 1 to 5;"
                " no evidence for 'b'"
            ),
        ),
        (
            (
                Score(criterion="a", score=True, evidence="e"),
                Score(criterion="b", score=4.5, evidence="e"),  # type: ignore[arg-type]
            ),
            "True for 'a' is no score from 1 to 5; 4.5 for 'b' is no score from 1 to 5",
        ),
    ],
)
def test_scores_that_are_not_what_was_asked_for_judge_nothing(
    scores: tuple[Score, ...], why: str
) -> None:
    check = rubric(a=1, b=1)

    assert result_of_report(check, VerifierReport(passed=True, scores=scores)) == CheckResult(
        check=check, verdict=NOT_JUDGED, evidence=f"Not judged: {why}"
    )


@pytest.mark.parametrize(
    "check", [rubric(a=0), Check(type=CheckType.QUALITY, criteria="a", pass_threshold=None)]
)
def test_without_threshold_or_weight_nothing_is_judged(check: Check) -> None:
    assert result_of_report(check, scored(("a", 5))).verdict is NOT_JUDGED


@pytest.mark.parametrize(
    ("report", "verdict", "evidence"),
    [
        (
            VerifierReport(passed=True, evidence="tried it"),
            PASSED,
            "Passed: the verifier says that this holds: it is pleasant\ntried it",
        ),
        (
            VerifierReport(passed=False, evidence="tried it", failures=("slow", "ugly")),
            FAILED,
            (
                "Failed: the verifier says that this does not hold: it is pleasant\n"
                "tried it; slow; ugly"
            ),
        ),
        (
            VerifierReport(passed=True, evidence="tried it", failures=("slow",)),
            NOT_JUDGED,
            "Not judged: the verifier passed it and lists failures: tried it; slow",
        ),
        (
            VerifierReport(passed=True),
            NOT_JUDGED,
            "Not judged: the verifier passed it without any evidence",
        ),
        (
            NoReport(trouble=Trouble.TIMED_OUT, reason="1800 s"),
            NOT_JUDGED,
            "Not judged: the verifier has no verdict (timed_out): 1800 s",
        ),
    ],
)
def test_an_assertion_needs_a_word_with_evidence(
    report: VerifierReport | NoReport, verdict: Verdict, evidence: str
) -> None:
    assert result_of_report(PLEASANT, report) == CheckResult(
        check=PLEASANT, verdict=verdict, evidence=evidence
    )


def test_what_a_verifier_says_is_cut_to_a_bound() -> None:
    wordy = result_of_report(PLEASANT, VerifierReport(passed=False, evidence="x" * 10_000))

    assert len(wordy.evidence) == 1500 + len(" [...]")
