"""Rounds of verification: from single checks to what the kernel is told."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.runner.fake_checks import (
    TREE,
    OneTree,
    ToldChecks,
    ToldVerifier,
    assertion,
    both,
    checklist,
    command,
    either,
    named,
    result,
)

from dwindle.kernel.base_case import Verdict
from dwindle.kernel.events import Gap, Usage, VerificationEnded
from dwindle.kernel.model import Answer, BaseCase, Check, CheckType, Question
from dwindle.ports.checks import CheckResult
from dwindle.ports.work import NoReport, Score, Trouble, VerifierReport
from dwindle.ports.workspace import Lease
from dwindle.runner.gate.verification import By, CheckFinding, Jury, Round, verify

PASSED, FAILED, COULD_NOT_RUN, NOT_JUDGED = Verdict
BUILD, TEST, LINT = command("make"), command("make test"), command("make lint")
NICE, FAST = assertion("it is nice"), assertion("it is fast")
QUALITY = Check(type=CheckType.QUALITY, criteria="clear", pass_threshold=4)
BELIEVED = VerifierReport(passed=True, evidence="looked at it")


def looked(
    base_case: BaseCase,
    told: dict[str, Verdict] | None = None,
    jury: Jury | None = None,
) -> Round:
    checks = ToldChecks(told or {})
    return asyncio.run(verify(base_case, "c0ffee", OneTree(), checks, jury or Jury()))


def verdicts(seen: Round) -> list[tuple[str, Verdict, By]]:
    return [(f.item, f.result.verdict, f.by) for f in seen.findings]


def test_checks_run_in_file_order_in_one_fresh_tree_that_is_given_back() -> None:
    base_case = checklist(named("builds", BUILD), both("good", named("t", TEST), named("l", LINT)))
    workspace, checks = OneTree(), ToldChecks()

    seen = asyncio.run(verify(base_case, "c0ffee", workspace, checks))

    assert seen == Round(
        commit="c0ffee",
        verdict=PASSED,
        findings=(
            CheckFinding(place=(0,), item="builds", result=result(BUILD, PASSED)),
            CheckFinding(place=(1, 0), item="t", result=result(TEST, PASSED)),
            CheckFinding(place=(1, 1), item="l", result=result(LINT, PASSED)),
        ),
    )
    assert checks.asked == ["make", "make test", "make lint"]
    assert (workspace.given, workspace.taken_back) == (
        ["c0ffee"],
        [Lease(path=TREE, base="c0ffee")],
    )


def test_the_kernel_hears_of_every_check_that_said_no() -> None:
    base_case = checklist(named("builds", BUILD), named("tests", TEST), named("lints", LINT))

    seen = looked(base_case, {"make": FAILED, "make test": COULD_NOT_RUN, "make lint": FAILED})

    assert seen.ended(7, usage=Usage(tokens=3), at="now", elapsed=2.0) == VerificationEnded(
        nonce=7,
        usage=Usage(tokens=3),
        at="now",
        elapsed=2.0,
        passed=False,
        gaps=(
            Gap(item="builds", evidence="make: failed", check=BUILD),
            Gap(item="lints", evidence="make lint: failed", check=LINT),
        ),
        unjudged=("tests",),
    )


@pytest.mark.parametrize("verdict", [COULD_NOT_RUN, NOT_JUDGED])
def test_what_gave_no_answer_is_no_gap_and_no_pass(verdict: Verdict) -> None:
    seen = looked(checklist(named("tests", TEST)), {"make test": verdict})

    assert (seen.verdict, seen.passed, seen.gaps) == (verdict, False, ())


def test_a_checkout_that_cannot_be_made_is_a_round_in_which_nothing_ran() -> None:
    checks = ToldChecks()
    workspace = OneTree(trouble="disk full")

    seen = asyncio.run(verify(checklist(named("tests", TEST)), "c0ffee", workspace, checks))

    nothing = CheckResult(
        check=TEST,
        verdict=COULD_NOT_RUN,
        evidence="Could not run: there is no fresh checkout: git worktree add: disk full",
    )
    assert seen == Round(
        commit="c0ffee",
        verdict=COULD_NOT_RUN,
        findings=(CheckFinding(place=(0,), item="tests", result=nothing, by=By.NOBODY),),
    )
    assert checks.asked == []


def test_the_tree_is_given_back_when_the_round_is_cancelled() -> None:
    workspace = OneTree()

    class Endless(ToldChecks):
        async def run(
            self,
            check: Check,
            tree: Path,
            fixed: Sequence[str] = (),  # noqa: ARG002
        ) -> CheckResult:
            await asyncio.sleep(60)
            raise AssertionError((check, tree))

    async def story() -> None:
        task = asyncio.create_task(
            verify(checklist(named("tests", TEST)), "c0ffee", workspace, Endless())
        )
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(story())

    assert workspace.taken_back == [Lease(path=TREE, base="c0ffee")]


def test_a_round_that_is_cancelled_while_its_tree_is_given_back_gives_all_of_it_back() -> None:
    class Slow(OneTree):
        async def discard(self, lease: Lease) -> None:
            giving_back.set()
            await asyncio.sleep(0.01)
            self.taken_back.append(lease)

    workspace, giving_back = Slow(), asyncio.Event()

    async def story() -> None:
        round_ = verify(checklist(named("tests", TEST)), "c0ffee", workspace, ToldChecks())
        task = asyncio.create_task(round_)
        await giving_back.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(story())

    assert workspace.taken_back == [Lease(path=TREE, base="c0ffee")]


def test_the_single_check_of_an_older_file_is_a_checklist_of_one() -> None:
    seen = looked(BaseCase(check=TEST), {"make test": FAILED})

    assert seen.gaps == (Gap(item="make test", evidence="make test: failed", check=TEST),)


def test_equal_checks_may_differ_before_and_after_a_command() -> None:
    made = Check(type=CheckType.NOT_FILE, value="dist")
    base_case = checklist(named("clean", made), named("builds", BUILD), named("still", made))
    answers = iter([PASSED, PASSED, FAILED])

    class Changing(ToldChecks):
        async def run(
            self,
            check: Check,
            tree: Path,
            fixed: Sequence[str] = (),  # noqa: ARG002
        ) -> CheckResult:
            assert tree == TREE
            return result(check, next(answers))

    seen = asyncio.run(verify(base_case, "c0ffee", OneTree(), Changing()))

    assert (seen.verdict, seen.gaps) == (
        FAILED,
        (Gap(item="still", evidence="dist: failed", check=made),),
    )


# --- one of several ways -------------------------------------------------------------------------

WAYS = checklist(either("tested", named("npm", TEST), named("yarn", LINT)), named("builds", BUILD))


def test_a_way_that_failed_is_no_gap_if_another_holds() -> None:
    seen = looked(WAYS, {"make test": FAILED, "make": FAILED})

    assert seen.gaps == (Gap(item="builds", evidence="make: failed", check=BUILD),)
    assert looked(WAYS, {"make test": FAILED}).passed


def test_ways_that_all_failed_are_one_gap_because_one_is_enough() -> None:
    seen = looked(WAYS, {"make test": FAILED, "make lint": FAILED})

    assert seen.gaps == (
        Gap(
            item="tested",
            evidence=(
                "One way has to hold, none does:\n"
                "- npm: make test: failed\n- yarn: make lint: failed"
            ),
        ),
    )


def test_the_only_way_that_said_no_keeps_its_check() -> None:
    seen = looked(WAYS, {"make test": FAILED, "make lint": COULD_NOT_RUN})

    assert (seen.verdict, seen.gaps) == (
        COULD_NOT_RUN,
        (Gap(item="npm", evidence="make test: failed", check=TEST),),
    )


# --- what needs judgement ------------------------------------------------------------------------


def test_without_a_verifier_what_needs_one_is_not_judged_and_nothing_passes() -> None:
    seen = looked(checklist(named("tests", TEST), named("nice", NICE), named("clear", QUALITY)))

    assert verdicts(seen) == [
        ("tests", PASSED, By.HARNESS),
        ("nice", NOT_JUDGED, By.NOBODY),
        ("clear", NOT_JUDGED, By.NOBODY),
    ]
    assert (seen.verdict, seen.gaps, seen.questions) == (NOT_JUDGED, (), ())


def test_the_verifier_is_asked_after_all_machines_and_a_low_score_is_a_gap() -> None:
    score = Score(criterion="clear", score=2, evidence="one function of 400 lines")
    verifier = ToldVerifier({"clear": VerifierReport(passed=True, scores=(score,))})
    checks = ToldChecks()
    base_case = checklist(named("clear", QUALITY), named("tests", TEST))

    seen = asyncio.run(verify(base_case, "c0ffee", OneTree(), checks, Jury(judge=verifier)))

    assert verdicts(seen) == [("clear", FAILED, By.VERIFIER), ("tests", PASSED, By.HARNESS)]
    assert seen.gaps == (
        Gap(
            item="clear",
            evidence=("Failed: 2 on average, 4 is needed.\n2 for clear: one function of 400 lines"),
        ),
    )


def test_a_scope_without_a_file_leaves_nothing_to_judge() -> None:
    verifier = ToldVerifier({})
    scoped = replace(QUALITY, scope="src/**/*.ts")

    seen = looked(checklist(named("clear", scoped)), {"src/**/*.ts": FAILED}, Jury(judge=verifier))

    assert [f.result.evidence for f in seen.findings] == [
        "Not judged: its scope 'src/**/*.ts' matches nothing"
    ]
    assert verifier.asked == []


def test_a_verifier_that_came_to_nothing_judged_nothing() -> None:
    verifier = ToldVerifier({"it is nice": NoReport(trouble=Trouble.FAILED, reason="exit 1")})

    seen = looked(checklist(named("nice", NICE)), jury=Jury(judge=verifier))

    assert (seen.verdict, seen.gaps) == (NOT_JUDGED, ())
    assert verdicts(seen) == [("nice", NOT_JUDGED, By.NOBODY)]


# --- a person's word -----------------------------------------------------------------------------

BOTH = checklist(named("nice", NICE), named("fast", FAST), named("tests", TEST))


def believing() -> ToldVerifier:
    return ToldVerifier({"it is nice": BELIEVED, "it is fast": BELIEVED})


def test_an_assertion_that_the_verifier_believes_is_a_question() -> None:
    seen = looked(BOTH, jury=Jury(judge=believing()))

    assert seen.ended(7) == VerificationEnded(nonce=7, passed=True, questions=("nice", "fast"))


def test_no_person_is_asked_while_something_else_does_not_hold() -> None:
    seen = looked(BOTH, {"make test": FAILED}, Jury(judge=believing()))

    assert seen.ended(7) == VerificationEnded(
        nonce=7,
        passed=False,
        gaps=(Gap(item="tests", evidence="make test: failed", check=TEST),),
    )


def test_a_no_is_a_failed_check_with_the_persons_words() -> None:
    verifier = believing()
    answers = (
        Question(item="nice", answer=Answer.NO, words="it shouts at me"),
        Question(item="fast", answer=Answer.YES),
    )

    seen = looked(BOTH, jury=Jury(judge=verifier, answers=answers))

    assert verdicts(seen) == [
        ("nice", FAILED, By.PERSON),
        ("fast", PASSED, By.PERSON),
        ("tests", PASSED, By.HARNESS),
    ]
    assert seen.gaps == (
        Gap(
            item="nice",
            evidence="Failed: a person says that this does not hold: it is nice\nit shouts at me",
        ),
    )
    assert verifier.asked == []


def test_a_yes_is_not_asked_for_again_and_an_open_question_is() -> None:
    answers = (Question(item="nice", answer=Answer.YES), Question(item="fast"))

    seen = looked(BOTH, jury=Jury(judge=believing(), answers=answers))

    assert (seen.passed, seen.questions) == (True, ("fast",))


def test_two_assertions_of_one_name_are_told_apart() -> None:
    base_case = checklist(named("good", NICE), named("good", FAST))
    answers = (Question(item="good: it is nice", answer=Answer.YES),)

    assert looked(base_case, jury=Jury(judge=believing())).questions == (
        "good: it is nice",
        "good: it is fast",
    )
    assert looked(base_case, jury=Jury(judge=believing(), answers=answers)).questions == (
        "good: it is fast",
    )


def test_where_a_machine_holds_one_way_neither_verifier_nor_person_is_asked() -> None:
    verifier = believing()
    base_case = checklist(either("nice enough", named("nice", NICE), named("tests", TEST)))

    seen = looked(base_case, jury=Jury(judge=verifier))

    assert (seen.passed, seen.questions, verifier.asked) == (True, (), [])
    assert verdicts(seen) == [("nice", NOT_JUDGED, By.NOBODY), ("tests", PASSED, By.HARNESS)]


def test_of_several_ways_a_person_is_asked_about_one() -> None:
    verifier = believing()
    base_case = checklist(either("good", named("nice", NICE), named("fast", FAST)))

    seen = looked(base_case, jury=Jury(judge=verifier))

    assert (seen.passed, seen.questions, verifier.asked) == (True, ("nice",), ["it is nice"])


def test_after_a_no_to_one_way_the_next_is_looked_at() -> None:
    verifier = believing()
    base_case = checklist(either("good", named("nice", NICE), named("fast", FAST)))
    answers = (Question(item="nice", answer=Answer.NO, words="no"),)

    seen = looked(base_case, jury=Jury(judge=verifier, answers=answers))

    assert (seen.passed, seen.questions) == (True, ("fast",))
