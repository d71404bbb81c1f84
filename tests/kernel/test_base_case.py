"""Four-valued verdicts: only PASSED passes, and everything wrong with a base case is said."""

from __future__ import annotations

import itertools

import pytest

from dwindle.kernel.base_case import (
    Verdict,
    all_of,
    any_of,
    base_case_problems,
    checks,
    is_mechanical,
    items,
    verdict,
)
from dwindle.kernel.model import BaseCase, Check, ChecklistItem, CheckType, Criterion, Problem

PASSED, FAILED, COULD_NOT_RUN, NOT_JUDGED = Verdict
TESTS = Check(type=CheckType.COMMAND, value="make test")
DOCS = Check(type=CheckType.FILE, value="README.md")
CLEAN = Check(type=CheckType.NOT_COMMAND, value="grep -r TODO src")
WHERE = ("objective", "base_case", "checklist")


THREE = list(itertools.product(Verdict, repeat=3))


def named(check: Check) -> ChecklistItem:
    return ChecklistItem(item=str(check.value), check=check)


NESTED = BaseCase(
    checklist=(
        named(TESTS),
        ChecklistItem(item="either", any_of=(named(DOCS), named(CLEAN))),
        ChecklistItem(item="both", group=(named(DOCS), named(CLEAN))),
    )
)


@pytest.mark.parametrize("verdicts", THREE)
def test_all_of_passes_only_if_all_do(verdicts: tuple[Verdict, ...]) -> None:
    assert (all_of(verdicts) is PASSED) == (set(verdicts) == {PASSED})


@pytest.mark.parametrize("verdicts", THREE)
def test_any_of_passes_if_one_does_and_fails_only_if_all_do(verdicts: tuple[Verdict, ...]) -> None:
    assert (any_of(verdicts) is PASSED) == (PASSED in verdicts)
    assert (any_of(verdicts) is FAILED) == (set(verdicts) == {FAILED})


def test_of_what_is_not_passed_a_failure_is_the_worst() -> None:
    assert all_of([PASSED, NOT_JUDGED, COULD_NOT_RUN, FAILED]) is FAILED
    assert all_of([PASSED, NOT_JUDGED, COULD_NOT_RUN]) is COULD_NOT_RUN
    assert all_of([PASSED, NOT_JUDGED]) is NOT_JUDGED
    assert any_of([FAILED, COULD_NOT_RUN, NOT_JUDGED]) is NOT_JUDGED
    assert any_of([FAILED, COULD_NOT_RUN]) is COULD_NOT_RUN


def test_nothing_to_check_is_nothing_judged() -> None:
    assert all_of([]) is NOT_JUDGED
    assert any_of([]) is NOT_JUDGED
    assert verdict(BaseCase(), lambda _: PASSED) is NOT_JUDGED
    nothing = BaseCase(checklist=(ChecklistItem(item="empty"),))
    assert verdict(nothing, lambda _: PASSED) is NOT_JUDGED


@pytest.mark.parametrize(
    ("failing", "whole"),
    [((), PASSED), ((TESTS,), FAILED), ((DOCS,), FAILED), ((CLEAN,), FAILED)],
)
def test_a_nested_checklist_is_judged_from_its_leaves(
    failing: tuple[Check, ...], whole: Verdict
) -> None:
    assert verdict(NESTED, lambda check: FAILED if check in failing else PASSED) is whole


def test_one_of_two_ways_is_enough() -> None:
    either = BaseCase(checklist=(NESTED.checklist[1],))
    assert verdict(either, lambda check: FAILED if check is DOCS else PASSED) is PASSED


def test_of_two_ways_that_both_failed_nothing_is_left() -> None:
    either = BaseCase(checklist=(NESTED.checklist[1],))
    assert verdict(either, lambda _: FAILED) is FAILED


def test_one_check_that_needs_a_judge_is_enough_to_need_one() -> None:
    judged = named(Check(type=CheckType.ASSERTION, value="it feels fast"))
    assert is_mechanical(NESTED)
    machines = [
        kind for kind in CheckType if is_mechanical(BaseCase(check=Check(type=kind, value="v")))
    ]
    assert machines == ["command", "file", "not_command", "not_file"]
    assert not is_mechanical(BaseCase(checklist=(*NESTED.checklist, judged)))
    assert not is_mechanical(BaseCase(check=judged.check))


def test_every_check_is_listed_with_its_path() -> None:
    assert list(checks(items(NESTED))) == [
        ((0,), "make test", TESTS),
        ((1, 0), "README.md", DOCS),
        ((1, 1), "grep -r TODO src", CLEAN),
        ((2, 0), "README.md", DOCS),
        ((2, 1), "grep -r TODO src", CLEAN),
    ]


def test_the_legacy_form_is_a_checklist_of_one() -> None:
    assert items(BaseCase(check=TESTS)) == (ChecklistItem(item="make test", check=TESTS),)
    judged = Check(type=CheckType.QUALITY, criteria="it is kind", pass_threshold=4)
    assert items(BaseCase(check=judged)) == (ChecklistItem(item="base case", check=judged),)
    assert verdict(BaseCase(check=TESTS), lambda _: COULD_NOT_RUN) is COULD_NOT_RUN


# --- what can be wrong ---------------------------------------------------------------------------


def test_a_sound_base_case_has_no_problems() -> None:
    assert base_case_problems(NESTED) == ()
    assert base_case_problems(BaseCase(check=TESTS)) == ()


def test_an_empty_checklist_is_not_aligned() -> None:
    assert base_case_problems(BaseCase()) == (
        Problem(
            where=WHERE,
            what="the checklist is empty",
            hint="name at least one check that a machine can run",
            unaligned=True,
        ),
    )


def test_an_item_has_a_name_exactly_one_form_and_a_sound_check() -> None:
    wrong = BaseCase(
        checklist=(
            ChecklistItem(item=" ", check=TESTS),
            ChecklistItem(item="nothing"),
            ChecklistItem(
                item="two", check=TESTS, group=(ChecklistItem(item="below"), named(DOCS))
            ),
            ChecklistItem(
                item="all three", check=TESTS, group=(named(DOCS),), any_of=(named(DOCS),)
            ),
            ChecklistItem(
                item="way",
                any_of=(named(DOCS), ChecklistItem(item="bad", check=Check(type=CheckType.FILE))),
            ),
        )
    )
    hint = "give it exactly one of check, group and any_of, and no empty list"
    assert base_case_problems(wrong) == (
        Problem(where=(*WHERE, 0, "item"), what="the item has no name", hint="name it"),
        Problem(where=(*WHERE, 1), what="'nothing' has nothing to check", hint=hint),
        Problem(where=(*WHERE, 2), what="'two' has check and group", hint=hint),
        Problem(where=(*WHERE, 2, "group", 0), what="'below' has nothing to check", hint=hint),
        Problem(where=(*WHERE, 3), what="'all three' has check and group and any_of", hint=hint),
        Problem(
            where=(*WHERE, 4, "any_of", 1, "check", "value"),
            what="a file check needs a value",
            hint="the command, path or condition to check",
        ),
    )


CHECK = ("objective", "base_case")


@pytest.mark.parametrize(
    ("check", "problem"),
    [
        (
            Check(type=CheckType.COMMAND, value="true", timeout_seconds=0),
            Problem(
                where=(*CHECK, "timeout_seconds"),
                what="a timeout of 0 s can never be kept",
                hint="give at least 1, or leave it out",
            ),
        ),
        (
            Check(type=CheckType.FILE, value=" "),
            Problem(
                where=(*CHECK, "value"),
                what="a file check needs a value",
                hint="the command, path or condition to check",
            ),
        ),
        (
            Check(type=CheckType.QUALITY, pass_threshold=3),
            Problem(
                where=CHECK,
                what="a quality check needs either a rubric or criteria",
                hint="give exactly one of the two",
            ),
        ),
        (
            Check(type=CheckType.QUALITY, criteria=" ", pass_threshold=3),
            Problem(
                where=CHECK,
                what="a quality check needs either a rubric or criteria",
                hint="give exactly one of the two",
            ),
        ),
        (
            Check(type=CheckType.QUALITY, criteria="kind", pass_threshold=6),
            Problem(
                where=(*CHECK, "pass_threshold"),
                what="a quality check needs a pass_threshold from 1 to 5",
                hint="for example 3.5",
            ),
        ),
        (
            Check(
                type=CheckType.QUALITY,
                rubric=(Criterion(criterion="kind", weight=0),),
                pass_threshold=3,
            ),
            Problem(
                where=(*CHECK, "rubric"),
                what="the weights of the rubric do not add up to more than 0",
                hint="give each criterion a weight above 0",
            ),
        ),
        (
            Check(
                type=CheckType.QUALITY,
                rubric=(
                    Criterion(criterion="kind", weight=2),
                    Criterion(criterion="fast", weight=-1),
                ),
                pass_threshold=3,
            ),
            Problem(
                where=(*CHECK, "rubric"),
                what="the weights of the rubric do not add up to more than 0",
                hint="give each criterion a weight above 0",
            ),
        ),
    ],
)
def test_a_check_that_could_never_pass(check: Check, problem: Problem) -> None:
    assert base_case_problems(BaseCase(check=check)) == (problem,)


@pytest.mark.parametrize("threshold", [1, 1.0, 3.5, 5])
def test_a_threshold_lies_on_the_scale(threshold: float) -> None:
    check = Check(type=CheckType.QUALITY, criteria="it is kind", pass_threshold=threshold)
    assert base_case_problems(BaseCase(check=check)) == ()


@pytest.mark.parametrize("threshold", [None, 0, 0.9, 5.1])
def test_a_threshold_off_the_scale_is_refused(threshold: float | None) -> None:
    check = Check(type=CheckType.QUALITY, criteria="it is kind", pass_threshold=threshold)
    assert [p.where for p in base_case_problems(BaseCase(check=check))] == [
        ("objective", "base_case", "pass_threshold")
    ]


@pytest.mark.parametrize("kind", [kind for kind in CheckType if kind is not CheckType.QUALITY])
def test_any_check_may_have_a_control_and_a_timeout(kind: CheckType) -> None:
    check = Check(type=kind, value="x", control="y", timeout_seconds=1)
    assert base_case_problems(BaseCase(check=check)) == ()


@pytest.mark.parametrize("weights", [(1,), (0.5,), (0, 0.25), (3, 0, 2)])
def test_weights_count_among_each_other(weights: tuple[float, ...]) -> None:
    rubric = tuple(Criterion(criterion="kind", weight=w) for w in weights)
    check = Check(type=CheckType.QUALITY, rubric=rubric, pass_threshold=3)
    assert base_case_problems(BaseCase(check=check)) == ()
