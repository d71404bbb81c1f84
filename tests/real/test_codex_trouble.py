"""The codex backend with the real program: everything that a session can come to."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace

import pytest
from tests.real.codex_session import MODEL, play, shell, variables
from tests.real.model import Api, Failure, Lane, ModelServer, Step, failures
from tests.real.programs import Program
from tests.real.stage import Stage

from dwindle.adapters.agents.codex.agent import CodexAgent
from dwindle.kernel import events
from dwindle.ports.work import NoReport, Trouble
from dwindle.testing.agents import DONE, DONE_REPORT, ORDER, set_up

pytestmark = pytest.mark.slow

REFUSED = Failure(
    status=400,
    type="invalid_request_error",
    code="invalid_prompt",
    message="Your prompt was flagged as potentially violating our usage policy.",
)
SLOW_DOWN = Failure(
    type="rate_limit_exceeded",
    code="rate_limit_exceeded",
    message="Rate limit reached for gpt-5.5: Limit 30000. Please try again in 1.5s.",
    in_stream=True,
)


@pytest.mark.parametrize(
    ("failure", "wanted"),
    [
        pytest.param(
            failures.unauthorised(Api.OPENAI),
            NoReport(
                trouble=Trouble.NOT_LOGGED_IN,
                reason="codex is not logged in, or its key is not taken: unexpected status 401 "
                "Unauthorized: Incorrect API key provided., url: URL/v1/responses"
                "; run `codex login`, or set CODEX_API_KEY",
            ),
            id="key",
        ),
        pytest.param(
            failures.out_of_credit(Api.OPENAI),
            NoReport(
                trouble=Trouble.OUT_OF_CREDIT,
                reason="the account that codex uses has no credit left: Quota exceeded. Check your "
                "plan and billing details.; add credit to it, or use another login",
            ),
            id="credit",
        ),
        pytest.param(
            failures.unknown_model(Api.OPENAI, "gpt-0"),
            NoReport(
                trouble=Trouble.UNKNOWN_MODEL,
                reason="codex cannot use this model: The model `gpt-0` does not exist or you do "
                "not have access to it.; choose another one: `model` under [agents] in "
                ".runner/config.toml",
            ),
            id="model",
        ),
        pytest.param(
            failures.rate_limited(Api.OPENAI),
            NoReport(
                trouble=Trouble.RATE_LIMITED,
                reason="the rate limit of codex's service is reached: exceeded retry limit, last "
                "status: 429 Too Many Requests",
            ),
            id="rate",
        ),
        pytest.param(
            SLOW_DOWN,
            NoReport(
                trouble=Trouble.RATE_LIMITED,
                reason="the rate limit of codex's service is reached: rate limit exceeded: Rate "
                "limit reached for gpt-5.5: Limit 30000. Please try again in 1.5s.",
                again_after=1.5,
            ),
            id="rate, with a time",
        ),
        pytest.param(
            failures.overloaded(Api.OPENAI),
            NoReport(
                trouble=Trouble.OVERLOADED,
                reason="codex's service has too much to do: Selected model is at capacity. Please "
                "try a different model.",
            ),
            id="overload",
        ),
        pytest.param(
            failures.broken(Api.OPENAI),
            NoReport(
                trouble=Trouble.OVERLOADED,
                reason="codex's service has too much to do: We’re currently experiencing high "  # noqa: RUF001
                "demand, which may cause temporary errors.",
            ),
            id="500",
        ),
        pytest.param(
            failures.too_long(Api.OPENAI),
            NoReport(
                trouble=Trouble.CONTEXT,
                reason="it was more than the model can hold in mind: Codex ran out of room in the "
                "model's context window. Start a new thread or clear earlier history before "
                "retrying.",
            ),
            id="length",
        ),
        pytest.param(
            REFUSED,
            NoReport(
                trouble=Trouble.REFUSED,
                reason="the model refused: Your prompt was flagged as potentially violating our "
                "usage policy.",
            ),
            id="refused",
        ),
    ],
)
def test_trouble_with_the_service_has_a_name(
    stage: Stage, codex: Program, failure: Failure, wanted: NoReport
) -> None:
    played = play(stage, codex, Step(failure=failure))
    address = played.command.argv[played.command.argv.index("-s") - 1].split('"')[3]
    reason = wanted.reason.replace("URL/v1", address)
    assert played.report == replace(wanted, reason=reason)
    assert played.result.usage == events.NO_USAGE


def test_a_usage_limit_says_until_when(stage: Stage, codex: Program) -> None:
    limit = failures.rate_limited(Api.OPENAI, resets_at=1_794_830_000)
    now = 1_794_830_000 - 7200.0
    played = play(stage, codex, Step(failure=limit), clock=lambda: now)
    assert played.trouble.trouble is Trouble.RATE_LIMITED
    assert played.trouble.again_after is not None
    assert 7200 - 60 <= played.trouble.again_after <= 7200 + 60


def test_a_prompt_that_it_does_not_take_is_too_long(stage: Stage, codex: Program) -> None:
    played = play(stage, codex, prompt="word " * 300_000)
    assert played.trouble.trouble is Trouble.CONTEXT
    assert "exceeds the maximum length of 1048576 characters" in played.trouble.reason


def test_a_lost_network_is_told_apart(stage: Stage, codex: Program) -> None:
    played = play(stage, codex, is_down=True)
    assert played.report == NoReport(
        trouble=Trouble.OFFLINE,
        reason="codex's service cannot be reached: Connection failed: error sending request",
    )


def test_a_connection_that_breaks_each_time_is_a_lost_network(stage: Stage, codex: Program) -> None:
    played = play(stage, codex, Step("half an answer", drop=True))
    assert played.trouble.trouble is Trouble.OFFLINE
    assert "stream disconnected" in played.trouble.reason


def test_what_takes_too_long_is_ended(stage: Stage, codex: Program) -> None:
    order = replace(ORDER, timeout_seconds=2.0)
    played = play(stage, codex, Step("late", hang=20), order=order)
    assert played.report == NoReport(
        trouble=Trouble.TIMED_OUT, reason="it was still at work after 2 s and was ended"
    )


def test_to_wait_for_the_service_until_the_end_is_no_timeout(stage: Stage, codex: Program) -> None:
    order = replace(ORDER, timeout_seconds=4.0)
    played = play(stage, codex, Step("half", drop=True), order=order, retries=50)
    assert played.ended.timed_out
    assert played.trouble.trouble is Trouble.OFFLINE


@pytest.mark.parametrize(
    ("last", "wanted"),
    [
        pytest.param(
            Step('{"success": "yes"}'),
            NoReport(
                trouble=Trouble.MALFORMED,
                reason="the report is malformed: success is a text, not true or false",
            ),
            id="a wrong report",
        ),
        pytest.param(
            Step("All is well."),
            NoReport(trouble=Trouble.NO_REPORT, reason="it ended without a report: All is well."),
            id="prose",
        ),
        pytest.param(
            Step(refusal="I will not."),
            NoReport(
                trouble=Trouble.NO_REPORT,
                reason="it ended without a report and without a word, as it does when the model "
                "refuses",
            ),
            id="a refusal",
        ),
        pytest.param(
            Step(f"Here it is: {json.dumps(DONE)} Bye.", stop_reason="max_tokens"),
            NoReport(
                trouble=Trouble.FAILED,
                reason="codex failed: Incomplete response returned, reason: max_output_tokens",
            ),
            id="cut short",
        ),
    ],
)
def test_success_is_what_a_report_says_and_nothing_else(
    stage: Stage, codex: Program, last: Step, wanted: NoReport
) -> None:
    assert play(stage, codex, last).report == wanted


def test_a_report_within_prose_is_found(stage: Stage, codex: Program) -> None:
    assert play(stage, codex, Step(f"Done: {json.dumps(DONE)} Bye.")).report == DONE_REPORT


def test_a_model_that_codex_has_not_heard_of_is_no_trouble_and_has_no_price(
    stage: Stage, codex: Program
) -> None:
    played = play(stage, codex, Step(json.dumps(DONE)), model="gpt-0-unheard-of")
    assert played.report == DONE_REPORT
    assert played.result.usage == events.Usage(tokens=120, read=100, written=20)


def test_a_killed_program_is_a_killed_session(stage: Stage, codex: Program) -> None:
    order = replace(ORDER, timeout_seconds=30.0)
    place = set_up(stage.root / "session", order)
    with ModelServer(Lane(steps=(Step(tools=(shell("sleep 300"),)),))) as model:
        agent = CodexAgent(
            program=str(codex.path), own_sandbox=True, model=MODEL, ours=variables(stage, model)
        )
        session = agent.session(order, place)

        def kill() -> None:
            leader = stage.running(str(codex.path))
            assert leader is not None
            os.kill(leader, signal.SIGKILL)

        ran = stage.interrupt(
            session.command,
            lambda: stage.running("sleep 300"),
            containment=stage.bare(),
            how=kill,
        )
    assert ran is not None
    assert session.conclude(ran.ended).report == NoReport(
        trouble=Trouble.KILLED, reason="codex was ended by SIGKILL"
    )


def test_a_program_that_will_not_end_is_ended_with_all_that_it_started(
    stage: Stage, codex: Program
) -> None:
    order = replace(ORDER, timeout_seconds=3.0)
    line = "setsid sleep 301 & trap '' TERM; touch begun; sleep 302"
    played = play(stage, codex, Step(tools=(shell(line),)), order=order)
    assert played.trouble.trouble is Trouble.TIMED_OUT
    assert played.files == ["begun"]
    assert stage.survivors() == {}
