"""Whole loops that meet trouble: what is waited for, what ends the run, and what is an attempt."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.real.model import Api, Conversation, Failure, Lane, ModelServer, Step, Usage, failures
from tests.real.programs import Program
from tests.real.stage import SUBSCRIPTION, Stage
from tests.real.user_project import ONE, Desk, draft
from tests.surfaces.small_runs import plan_of

from dwindle.kernel.model import EXIT_CODES, AtomId, Status, StopCode

pytestmark = pytest.mark.slow

ONE_OF_EACH = ("claude", "codex")
"""For what both versions of claude are asked elsewhere, a session at a time."""

# --- what passes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("desk", ONE_OF_EACH, indirect=True)
def test_a_rate_limit_is_waited_out(desk: Desk) -> None:
    """A subscriber of claude is told when it ends; codex says nothing of it to who has a key."""
    desk.aligned(ONE)
    if not desk.is_codex:
        desk.variables |= SUBSCRIPTION
    works = desk.makes("", "greeting.txt")
    ends: list[int] = []

    def limited(conversation: Conversation) -> Step:
        ends.append(math.ceil(time.time()) + 1)
        if time.time() < ends[0]:
            told = None if desk.is_codex else ends[0]
            return Step(failure=failures.rate_limited(desk.api, resets_at=told))
        answer = works.answer(conversation)
        assert answer is not None
        return answer

    with ModelServer(Lane(steps=(limited,), repeats=True)) as model:
        ended = desk.calls(model, "run")
    assert (ended.code, ended.err) == (0, ""), ended
    (waited,) = desk.events("Waited")
    assert (waited["atom"], waited["note"].split(":")[0]) == ("A1", "rate limited")
    assert waited["seconds"] == 5.0 if desk.is_codex else 1 < waited["seconds"] < 4, waited
    assert "A1: waits " in ended.out
    resolved = plan_of(desk.folder).atoms[AtomId("A1")]
    assert (resolved.status, resolved.attempts) == (Status.RESOLVED, 1)


@pytest.mark.parametrize("desk", ONE_OF_EACH, indirect=True)
@pytest.mark.parametrize(
    ("trouble", "note"),
    [
        pytest.param(lambda api: Step(failure=failures.overloaded(api)), "overloaded", id="busy"),
        pytest.param(lambda _: Step("half an answer", drop=True), "offline", id="cut off"),
    ],
)
def test_so_is_a_service_that_is_busy_or_cut_off(
    desk: Desk, trouble: Callable[[Api], Step], note: str
) -> None:
    """Until a wait is on record; the program that is started after it fares better."""
    desk.aligned(ONE)
    works = desk.makes("", "greeting.txt")

    def busy(conversation: Conversation) -> Step:
        answer = works.answer(conversation)
        assert answer is not None
        return answer if desk.events("Waited") else trouble(desk.api)

    with ModelServer(Lane(steps=(busy,), repeats=True)) as model:
        ended = desk.calls(model, "run")
    assert (ended.code, ended.err) == (0, ""), ended
    (waited,) = desk.events("Waited")
    assert (waited["note"].split(":")[0], waited["seconds"]) == (note, 5.0)
    resolved = plan_of(desk.folder).atoms[AtomId("A1")]
    assert (resolved.status, resolved.attempts) == (Status.RESOLVED, 1)


# --- what only a person can fix -------------------------------------------------------------------


@pytest.mark.parametrize("desk", ONE_OF_EACH, indirect=True)
@pytest.mark.parametrize(
    ("failure", "helps"),
    [
        pytest.param(failures.out_of_credit, "add credit to it, or use another login", id="credit"),
        pytest.param(
            lambda api: failures.unknown_model(api, "x"),
            "choose another one: `model` under [agents] in .runner/config.toml",
            id="model",
        ),
    ],
)
def test_what_no_attempt_would_change_ends_the_run_and_says_what_helps(
    desk: Desk, failure: Callable[[Api], Failure], helps: str
) -> None:
    desk.aligned(ONE)
    with ModelServer(desk.lane("", Step(failure=failure(desk.api)))) as model:
        ended = desk.calls(model, "run")
    assert ended.code == EXIT_CODES[StopCode.AGENT_UNAVAILABLE] == 40
    assert ended.out.count("A1: a worker starts") == 1
    assert "the run ends, agent_unavailable: " in ended.out
    assert helps in ended.out


@pytest.mark.parametrize("desk", ONE_OF_EACH, indirect=True)
def test_without_a_login_the_run_stops_and_says_what_helps(desk: Desk) -> None:
    desk.aligned(ONE)
    desk.variables = {"ANTHROPIC_API_KEY": "", "OPENAI_API_KEY": ""}
    with ModelServer(desk.lane("", Step("unasked"))) as model:
        ended = desk.calls(model, "run")
    assert ended.code == EXIT_CODES[StopCode.AGENT_UNAVAILABLE]
    assert model.requests == ()
    if desk.is_codex:
        helps = "no login was found; run `codex login`, or set CODEX_API_KEY"
        assert (ended.code, ended.out) == (40, "")
        assert ended.err.splitlines()[0] == f"dwindle: codex: {helps}"
        return
    assert "the run ends, agent_unavailable: claude is not logged in" in ended.out
    assert "start `claude` and use /login, or set ANTHROPIC_API_KEY" in ended.out


def test_a_session_may_spend_what_is_left_of_the_run(stage: Stage, claude: Program) -> None:
    desk = Desk(stage, claude)
    limits = {"max_cost_usd": 1.5}
    desk.aligned(draft("  - {id: A1, description: Write greeting.txt}\n", limits=limits))
    spends = replace(desk.runs("echo"), usage=Usage(input_tokens=900_000))
    with ModelServer(desk.lane("", spends)) as model:
        ended = desk.calls(model, "run")
    assert (ended.code, ended.err) == (EXIT_CODES[StopCode.BUDGET_COST], "")
    # The program itself ended it, after the first answer.
    assert len(model.requests) == 1
    said = "A1: failed: its share of the money was used up: Reached maximum budget ($1.5)"
    assert said in ended.out
    assert "the run ends, budget_cost: 1.5 USD are spent (max_cost_usd)" in ended.out
