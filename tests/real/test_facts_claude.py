"""How the real claude ends and what it tells, as far as our adapter relies on it.

Pinned for each version: a test here that turns red after a new version was pinned says which
belief has to be looked at.
"""

from __future__ import annotations

import json

import pytest
from tests.real.claude_session import outcome
from tests.real.loopback_network import Island
from tests.real.model import Api, Failure, Lane, ModelServer, Step, ToolCall, Usage, failures
from tests.real.programs import CLAUDE, NEWER_CLAUDE, Program
from tests.real.stage import QUIET, SUBSCRIPTION, Ran, Stage

from dwindle.adapters.sandbox.choice import choose

pytestmark = pytest.mark.slow

SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"verdict": {"type": "string"}},
        "required": ["verdict"],
        "additionalProperties": False,
    }
)
OK = Lane(steps=(Step("fine"),))


# --- what looks like success ---------------------------------------------------------------------


def test_a_slash_that_names_no_command_is_a_success_without_work_in_the_older_version(
    stage: Stage, claude: Program
) -> None:
    with ModelServer(OK) as model:
        ran = stage.run(stage.claude(claude, model, prompt="/no-such-thing please"))
    assert outcome(ran) == (0, "success", False)
    asked = len(model.requests)
    said = ran.one("result")["result"]
    assert (asked, said) == {
        CLAUDE: (0, "Unknown command: /no-such-thing"),
        NEWER_CLAUDE: (1, "fine"),
    }[claude.version]


def test_a_line_before_the_slash_makes_it_text(stage: Stage, claude: Program) -> None:
    with ModelServer(OK) as model:
        ran = stage.run(stage.claude(claude, model, prompt="\n/help"))
    assert outcome(ran) == (0, "success", False)
    (request,) = model.requests
    assert "/help" in request.conversation.user


ONCE = {"CLAUDE_CODE_MAX_RETRIES": "0"}


def told(ran: Ran) -> tuple[str, int | None, str]:
    """The word of the last message, the status and the sentence of the result."""
    result = ran.one("result")
    return ran.of("assistant")[-1]["error"], result["api_error_status"], result["result"]


@pytest.mark.parametrize(
    ("failure", "requests", "expected"),
    [
        pytest.param(
            failures.unauthorised(Api.ANTHROPIC),
            1,
            ("authentication_failed", 401, "Invalid API key"),
            id="key",
        ),
        pytest.param(
            failures.out_of_credit(Api.ANTHROPIC),
            1,
            ("billing_error", 400, "Credit balance is too low"),
            id="credit",
        ),
        pytest.param(
            failures.unknown_model(Api.ANTHROPIC, "x"),
            2,
            ("model_not_found", 404, "There's an issue with the selected model"),
            id="model",
        ),
        pytest.param(
            failures.too_long(Api.ANTHROPIC),
            1,
            ("invalid_request", 400, "Prompt is too long"),
            id="length",
        ),
        pytest.param(
            failures.rate_limited(Api.ANTHROPIC),
            1,
            ("rate_limit", 429, "API Error: Request rejected (429)"),
            id="rate",
        ),
        pytest.param(
            failures.overloaded(Api.ANTHROPIC),
            1,
            ("server_error", 529, "API Error: 529 Overloaded"),
            id="overload",
        ),
        pytest.param(
            failures.broken(Api.ANTHROPIC), 1, ("server_error", 500, "API Error: 500"), id="broken"
        ),
    ],
)
def test_a_failure_of_the_service_has_the_subtype_success_and_a_word_of_its_own(
    stage: Stage,
    claude: Program,
    failure: Failure,
    requests: int,
    expected: tuple[str, int, str],
) -> None:
    with ModelServer(Lane(steps=(Step(failure=failure),))) as model:
        ran = stage.run(stage.claude(claude, model, environment=ONCE))
    assert outcome(ran) == (1, "success", True)
    word, status, sentence = told(ran)
    assert (len(model.requests), word, status) == (requests, *expected[:2])
    assert sentence.startswith(expected[2])


def test_a_lost_network_and_a_missing_key_have_no_status(stage: Stage, claude: Program) -> None:
    no_server = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
    lost = stage.run(
        stage.claude(claude, None, environment={"ANTHROPIC_API_KEY": "k", **no_server, **ONCE})
    )
    keyless = stage.run(stage.claude(claude, None, environment={**no_server, **ONCE}))
    assert (outcome(lost), told(lost)) == (
        (1, "success", True),
        (
            "server_error",
            None,
            {
                CLAUDE: "API Error: Unable to connect to API (ConnectionRefused)",
                NEWER_CLAUDE: "API Error: Connection refused — a firewall or proxy may be "
                "blocking it (ECONNREFUSED)",
            }[claude.version],
        ),
    )
    assert (outcome(keyless), told(keyless)) == (
        (1, "success", True),
        ("authentication_failed", None, "Not logged in · Please run /login"),
    )


def test_a_refusal_has_a_stop_reason_of_its_own(stage: Stage, claude: Program) -> None:
    with ModelServer(Lane(steps=(Step(refusal="no"),), repeats=True)) as model:
        ran = stage.run(stage.claude(claude, model))
    assert outcome(ran) == (1, "success", True)
    assert told(ran)[:2] == ("invalid_request", None)
    assert ran.one("result")["stop_reason"] == "refusal"
    assert len(model.requests) == {CLAUDE: 1, NEWER_CLAUDE: 2}[claude.version]


def test_an_empty_answer_is_a_success(stage: Stage, claude: Program) -> None:
    with ModelServer(Lane(steps=(Step(""),), repeats=True)) as model:
        ran = stage.run(stage.claude(claude, model))
    assert outcome(ran) == (0, "success", False)
    assert ran.one("result")["result"] == ""


@pytest.mark.parametrize(
    ("login", "is_told"),
    [pytest.param({}, False, id="key"), pytest.param(SUBSCRIPTION, True, id="subscription")],
)
def test_when_a_limit_ends_is_told_to_subscribers_only(
    stage: Stage, claude: Program, login: dict[str, str], is_told: bool
) -> None:
    ends = 4_000_000_000
    failure = failures.rate_limited(Api.ANTHROPIC, resets_at=ends)
    with ModelServer(Lane(steps=(Step(failure=failure),))) as model:
        ran = stage.run(stage.claude(claude, model, environment={**login, **ONCE}))
    assert outcome(ran) == (1, "success", True)
    assert told(ran)[:2] == ("rate_limit", 429)
    found = [event["rate_limit_info"] for event in ran.of("rate_limit_event")]
    assert [(info["status"], info["resetsAt"]) for info in found] == (
        [("rejected", ends)] if is_told else []
    )


def test_left_alone_overload_is_given_up_after_three_requests(
    stage: Stage, claude: Program
) -> None:
    with ModelServer(Lane(steps=(Step(failure=failures.overloaded(Api.ANTHROPIC)),))) as model:
        ran = stage.run(stage.claude(claude, model))
    assert outcome(ran) == (1, "success", True)
    assert len(model.requests) == 3
    word, status, sentence = told(ran)
    assert (word, status) == ("server_error", {CLAUDE: None, NEWER_CLAUDE: 529}[claude.version])
    assert sentence.startswith("API Error: Repeated 529 Overloaded errors.")
    retries = [event for event in ran.of("system") if event["subtype"] == "api_retry"]
    assert [(event["error_status"], event["error"]) for event in retries] == [
        (529, "overloaded")
    ] * 2


def test_a_schema_that_the_model_never_answers_to_is_a_success_without_a_report(
    stage: Stage, claude: Program
) -> None:
    with ModelServer(Lane(steps=(Step("I would rather not."),), repeats=True)) as model:
        ran = stage.run(stage.claude(claude, model, "--json-schema", SCHEMA))
    assert outcome(ran) == (0, "success", False)
    assert "structured_output" not in ran.one("result")
    assert len(model.requests) == 2  # it was reminded once
    assert "StructuredOutput" in model.requests[0].conversation.tools


def test_a_schema_that_the_model_answers_to_ends_the_session_with_the_report(
    stage: Stage, claude: Program
) -> None:
    report = {"verdict": "it holds"}
    steps = (Step(tools=(ToolCall("StructuredOutput", report),)),)
    with ModelServer(Lane(steps=steps)) as model:
        ran = stage.run(stage.claude(claude, model, "--json-schema", SCHEMA, "--tools", ""))
    assert outcome(ran) == (0, "success", False)
    assert ran.one("result")["structured_output"] == report
    assert len(model.requests) == 1


# --- retries -------------------------------------------------------------------------------------


def test_a_refused_key_is_tried_again_and_again(stage: Stage, claude: Program) -> None:
    steps = (Step(failure=failures.unauthorised(Api.ANTHROPIC)),)
    with ModelServer(Lane(steps=steps)) as model:
        stage.interrupt(
            stage.claude(claude, model),
            lambda: len(model.requests) >= 3,
            containment=choose(mark=stage.mark),
        )
    assert [request.step for request in model.requests] == [0, 0, 0]


def test_the_number_of_retries_can_be_bounded(stage: Stage, claude: Program) -> None:
    steps = (Step(failure=failures.unauthorised(Api.ANTHROPIC)),)
    with ModelServer(Lane(steps=steps)) as model:
        ran = stage.run(stage.claude(claude, model, environment={"CLAUDE_CODE_MAX_RETRIES": "1"}))
    assert outcome(ran) == (1, "success", True)
    assert len(model.requests) == 2


def test_an_answer_that_is_cut_off_is_asked_for_again(stage: Stage, claude: Program) -> None:
    with ModelServer(Lane(steps=(Step("whole " * 100, drop=True, fail_first=1),))) as model:
        ran = stage.run(stage.claude(claude, model))
    assert outcome(ran) == (0, "success", False)
    assert ran.one("result")["result"].startswith("whole whole")
    assert [request.step for request in model.requests] == [0, 0]


# --- what it tells, and whom it calls ------------------------------------------------------------


def test_usage_and_cost_are_told_at_the_end_only(stage: Stage, claude: Program) -> None:
    counted = Usage(
        input_tokens=1000, output_tokens=300, cached_tokens=5000, cache_write_tokens=700
    )
    steps = (
        Step(tools=(ToolCall("Bash", {"command": "ls"}),), usage=counted),
        Step("done", usage=counted),
    )
    with ModelServer(Lane(steps=steps)) as model:
        ran = stage.run(stage.claude(claude, model, "--model", "haiku", "--effort", "low"))
    result = ran.one("result")
    usage = result["usage"]
    assert {name: usage[name] for name in usage if name.endswith("_tokens")} == {
        "input_tokens": 2000,
        "output_tokens": 600,
        "cache_read_input_tokens": 10000,
        "cache_creation_input_tokens": 1400,
    }
    ((name, by_model),) = result["modelUsage"].items()
    assert name.startswith("claude-haiku-")
    assert (by_model["inputTokens"], by_model["outputTokens"]) == (2000, 600)
    assert result["total_cost_usd"] == pytest.approx(by_model["costUSD"])
    assert 0 < result["total_cost_usd"] < 1
    assert [event["message"]["usage"]["output_tokens"] for event in ran.of("assistant")] == [1, 1]
    assert {request.conversation.model for request in model.requests} == {name}


def test_it_connects_only_to_its_model(stage: Stage, claude: Program, tapped: Island) -> None:
    with ModelServer(OK) as model:
        ran = stage.run(stage.claude(claude, model))
    assert outcome(ran) == (0, "success", False)
    assert tapped.attempts == ()
    known = {"HEAD /", "POST /v1/messages"}
    assert set(model.visits) <= known


def test_left_alone_it_calls_home_and_we_see_it(
    stage: Stage, claude: Program, tapped: Island
) -> None:
    with ModelServer(OK) as model:
        ran = stage.run(stage.claude(claude, model, environment=dict.fromkeys(QUIET, "")))
    assert outcome(ran) == (0, "success", False)
    assert "api.anthropic.com" in tapped.lookups
