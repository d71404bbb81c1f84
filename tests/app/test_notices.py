"""What a user who does not look is told: once, in a sentence, with what to do next."""

from __future__ import annotations

import json
import re
from dataclasses import fields, replace
from pathlib import Path

import pytest
from tests.surfaces.bad_plans import GRAPH, TREE, text

from dwindle.app.notify.notices import BudgetUse, Notice, NoticeKind, Notices
from dwindle.app.plans.load import load_graph, load_tree
from dwindle.kernel.events import Event, RunEnded, RunStarted, Waited
from dwindle.kernel.model import Aligned, Answer, Plan, Question, RunStatus, StopCode, Verification

AT = "2026-01-02T03:04:05Z"
BEGUN = RunStarted(run_id="R1", aligned=Aligned(commit="c"), at=AT)


def running(source: str = GRAPH) -> Plan:
    loaded = load_graph(source.encode()) if source is GRAPH else load_tree(source.encode())
    assert loaded.plan is not None
    control = replace(loaded.plan.control, status=RunStatus.RUNNING, run_id="R1")
    return replace(loaded.plan, control=control)


def ended(plan: Plan, code: StopCode) -> Plan:
    status = RunStatus.COMPLETED if code is StopCode.COMPLETED else RunStatus.STOPPED
    return replace(plan, control=replace(plan.control, status=status, stop_code=code))


def told(*happened: tuple[Plan, Event]) -> list[Notice]:
    notices = Notices("fizz")
    return [notice for plan, event in happened for notice in notices.after(plan, event)]


def test_a_run_that_is_completed() -> None:
    event = RunEnded(code=StopCode.COMPLETED, reason="every check passed", at=AT)
    assert told((running(), BEGUN), (ended(running(), event.code), event)) == [
        Notice(
            event=NoticeKind.COMPLETED,
            repository="fizz",
            plan="graph",
            run="R1",
            at=AT,
            code=StopCode.COMPLETED,
            exit_code=0,
            reason="every check passed",
            text="fizz: the run is completed: every check passed",
            next="`dwindle diff` shows what changed, `dwindle land` brings it to your branch",
        )
    ]


def test_a_tree_that_stops() -> None:
    event = RunEnded(code=StopCode.ITERATION_LIMIT, reason="50 are used up", at=AT)
    plan = running(text(TREE))
    assert told((plan, BEGUN), (ended(plan, event.code), event)) == [
        Notice(
            event=NoticeKind.STOPPED,
            repository="fizz",
            plan="tree",
            run="R1",
            at=AT,
            code=StopCode.ITERATION_LIMIT,
            exit_code=21,
            reason="50 are used up",
            text="fizz: the run has stopped, iteration_limit: 50 are used up",
            next=(
                "raise max_iterations in .runner/config.toml under [limits], commit, `dwindle run`"
            ),
        )
    ]


def test_a_person_is_asked_for() -> None:
    event = RunEnded(code=StopCode.AWAITING_CONFIRMATION, reason="1 question is open", at=AT)
    questions = (Question(item="It reads\nwell"), Question(item="It is short", answer=Answer.YES))
    plan = replace(
        ended(running(), event.code), verification=Verification(passed=True, questions=questions)
    )
    [notice] = told((running(), BEGUN), (plan, event))
    assert (notice.event, notice.exit_code, notice.questions, notice.text, notice.next) == (
        NoticeKind.CONFIRMATION_NEEDED,
        11,
        ("It reads well",),
        "fizz: the run waits for your answer: It reads well",
        "`dwindle confirm` lists what you are asked; `dwindle confirm yes` or `no` answers",
    )


def spending(iterations: int = 0, seconds: float = 0, tokens: int = 0, usd: float = 0) -> Plan:
    plan = running()
    return replace(
        plan,
        limits=replace(
            plan.limits, max_iterations=10, max_wall_seconds=100, max_tokens=1000, max_cost_usd=5.0
        ),
        control=replace(plan.control, iteration=iterations),
        spent=replace(plan.spent, seconds=seconds, tokens=tokens, usd=usd),
    )


@pytest.mark.parametrize(
    ("before", "after", "sentence", "budget"),
    [
        (
            spending(iterations=7),
            spending(iterations=8),
            "8 of 10 iterations are spent (max_iterations)",
            BudgetUse(name="max_iterations", spent=8, limit=10),
        ),
        (
            spending(seconds=79.9),
            spending(seconds=80.0),
            "1 min 20 s of 1 min 40 s are spent (max_wall_seconds)",
            BudgetUse(name="max_wall_seconds", spent=80.0, limit=100),
        ),
        (
            spending(tokens=799),
            spending(tokens=1200),
            "1,200 of 1,000 tokens are spent (max_tokens)",
            BudgetUse(name="max_tokens", spent=1200, limit=1000),
        ),
        (
            spending(usd=3.99),
            spending(usd=4.0),
            "4.00 of 5.00 USD are spent (max_cost_usd)",
            BudgetUse(name="max_cost_usd", spent=4.0, limit=5.0),
        ),
    ],
)
def test_a_budget_at_four_fifths_is_told_once(
    before: Plan, after: Plan, sentence: str, budget: BudgetUse
) -> None:
    waited = Waited(at=AT)
    found = told((spending(), BEGUN), (before, waited), (after, waited), (after, waited))
    assert found == [
        Notice(
            event=NoticeKind.BUDGET,
            repository="fizz",
            plan="graph",
            run="R1",
            at=AT,
            budget=budget,
            text=f"fizz: {sentence}",
            next=f"`dwindle watch` shows the run; it ends when {budget.name} is reached",
        )
    ]


def test_what_was_nearly_spent_when_the_run_was_taken_up_has_been_told() -> None:
    late = spending(usd=4.5)
    assert told((late, BEGUN), (late, Waited(at=AT))) == []


def test_a_limit_that_was_raised_is_another_budget() -> None:
    raised = replace(spending(usd=9.0), limits=replace(spending().limits, max_cost_usd=10.0))
    found = told((spending(), BEGUN), (spending(usd=4.5), Waited()), (raised, Waited()))
    assert [notice.budget for notice in found] == [
        BudgetUse(name="max_cost_usd", spent=4.5, limit=5.0),
        BudgetUse(name="max_cost_usd", spent=9.0, limit=10.0),
    ]


def test_a_budget_that_is_not_set_is_never_nearly_spent() -> None:
    rich = replace(running(), spent=replace(running().spent, tokens=10**9, usd=1e6))
    assert told((running(), BEGUN), (rich, Waited())) == []


def test_words_of_agents_are_short_and_harmless() -> None:
    event = RunEnded(code=StopCode.STALLED, reason="\x1b[2J\0" + "x" * 9000, at=AT)
    [notice] = told((running(), BEGUN), (ended(running(), event.code), event))
    assert (len(notice.reason), len(notice.text)) == (1000, 300)
    assert notice.reason.startswith("\\x1b[2J\\x00xxx")
    assert json.loads(notice.as_json())["reason"] == notice.reason
    assert notice.variables == {
        "DWINDLE_EVENT": "stopped",
        "DWINDLE_RUN": "R1",
        "DWINDLE_CODE": "stalled",
        "DWINDLE_TEXT": notice.text,
    }


def test_the_page_says_what_is_told() -> None:
    page = (Path(__file__).parents[2] / "docs/notifications.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| ", page, re.MULTILINE)
    keys = [field.name for field in fields(Notice)]
    assert sorted(rows) == sorted([*NoticeKind, *keys])
    [example] = re.findall(r"^```json\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert list(json.loads(example)) == keys
    budget = BudgetUse(**json.loads(example)["budget"])
    assert f"till: {budget} are spent ({budget.name})" == json.loads(example)["text"]
