"""Every trouble, as 2.1.197 and 2.1.325 tell it; the lines are cut to what matters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.agents.claude_lines import (
    ended,
    init,
    line,
    result,
    session_in,
    synthetic,
    watched,
)

from dwindle.ports.process import Ended
from dwindle.ports.work import ENDS_THE_RUN, PASSES, NoReport, Report, Trouble
from dwindle.testing.agents import DONE, DONE_REPORT

LOGIN = "; start `claude` and use /login, or set ANTHROPIC_API_KEY"
ACCOUNT = "the account that claude uses has no credit left"
CANNOT = "claude cannot use this model"
CREDIT = "; add credit to it, or use another login"
MODEL = "; choose another one: `model` under [agents] in .runner/config.toml"


def concluded(folder: Path, *lines: bytes, end: Ended | None = None, **agent: Any) -> Report:
    session = session_in(folder, **agent)
    watched(session, *lines)
    return session.conclude(end or ended()).report


def failed(folder: Path, text: str, *before: bytes, **fields: Any) -> NoReport:
    """A session that says of itself that it failed, after it had begun as it should."""
    told = result(is_error=True, result=text, **fields)
    report = concluded(folder, init(), *before, told, end=ended(1))
    assert isinstance(report, NoReport)
    return report


# --- failures that the program has a word for ----------------------------------------------------


@pytest.mark.parametrize(
    ("word", "status", "says", "expected"),
    [
        pytest.param(
            "authentication_failed",
            401,
            "Invalid API key · Fix external API key",
            (
                Trouble.NOT_LOGGED_IN,
                f"claude is not logged in: Invalid API key · Fix external API key{LOGIN}",
            ),
            id="401",
        ),
        pytest.param(
            "authentication_failed",
            403,
            "Failed to authenticate. API Error: 403 no access",
            (
                Trouble.NOT_LOGGED_IN,
                f"claude is not logged in: Failed to authenticate. API Error: 403 no access{LOGIN}",
            ),
            id="403",
        ),
        pytest.param(
            "authentication_failed",
            None,
            "Not logged in · Please run /login",
            (
                Trouble.NOT_LOGGED_IN,
                f"claude is not logged in: Not logged in · Please run /login{LOGIN}",
            ),
            id="no key",
        ),
        pytest.param(
            "account_on_hold",
            None,
            "Your account is on hold",
            (
                Trouble.NOT_LOGGED_IN,
                f"claude is not logged in: Your account is on hold{LOGIN}",
            ),
            id="on hold",
        ),
        pytest.param(
            "billing_error",
            400,
            "Credit balance is too low",
            (
                Trouble.OUT_OF_CREDIT,
                f"{ACCOUNT}: Credit balance is too low{CREDIT}",
            ),
            id="credit",
        ),
        pytest.param(
            "model_not_found",
            404,
            "There's an issue with the selected model (x).",
            (
                Trouble.UNKNOWN_MODEL,
                f"{CANNOT}: There's an issue with the selected model (x).{MODEL}",
            ),
            id="model",
        ),
        pytest.param(
            "rate_limit",
            429,
            "API Error: Request rejected (429) · Rate limited",
            (
                Trouble.RATE_LIMITED,
                (
                    "the rate limit of claude's service is reached: "
                    "API Error: Request rejected (429) · Rate limited"
                ),
            ),
            id="rate",
        ),
        pytest.param(
            "server_error",
            529,
            "API Error: 529 Overloaded.",
            (
                Trouble.OVERLOADED,
                "claude's service has too much to do: API Error: 529 Overloaded.",
            ),
            id="529",
        ),
        pytest.param(
            "server_error",
            None,
            "API Error: Repeated 529 Overloaded errors.",
            (
                Trouble.OVERLOADED,
                "claude's service has too much to do: API Error: Repeated 529 Overloaded errors.",
            ),
            id="529 without a status",
        ),
        pytest.param(
            "server_error",
            500,
            "API Error: 500 Internal server error.",
            (
                Trouble.OVERLOADED,
                "claude's service has too much to do: API Error: 500 Internal server error.",
            ),
            id="500",
        ),
        pytest.param(
            "server_error",
            None,
            "API Error: Unable to connect to API (ConnectionRefused)",
            (
                Trouble.OFFLINE,
                (
                    "claude's service cannot be reached: "
                    "API Error: Unable to connect to API (ConnectionRefused)"
                ),
            ),
            id="offline",
        ),
        pytest.param(
            "unknown",
            400,
            "API Error: 400 connection refused by your mother",
            (
                Trouble.FAILED,
                "claude failed: API Error: 400 connection refused by your mother",
            ),
            id="400",
        ),
        pytest.param(
            "max_output_tokens",
            None,
            "API Error: Claude's response exceeded the 64000 output token maximum.",
            (
                Trouble.FAILED,
                (
                    "claude failed: "
                    "API Error: Claude's response exceeded the 64000 output token maximum."
                ),
            ),
            id="too much output",
        ),
        pytest.param(
            "max_output_tokens",
            None,
            "API Error: The model has reached its context window limit.",
            (
                Trouble.CONTEXT,
                (
                    "it was more than the model can hold in mind: "
                    "API Error: The model has reached its context window limit."
                ),
            ),
            id="context",
        ),
    ],
)
def test_a_failure_of_the_service(
    tmp_path: Path, word: str, status: int | None, says: str, expected: tuple[Trouble, str]
) -> None:
    found = failed(tmp_path, says, synthetic(word), api_error_status=status)
    assert found == NoReport(trouble=expected[0], reason=expected[1])


def test_newer_versions_have_a_word_for_a_lost_network(tmp_path: Path) -> None:
    lost = synthetic("server_error", api_error="connection_failed")
    found = failed(tmp_path, "API Error: check your internet or DNS", lost)
    assert (found.trouble, found.trouble in PASSES) == (Trouble.OFFLINE, True)


@pytest.mark.parametrize("status", [401, 404, 413, 429, 503, 529])
def test_a_status_is_enough(tmp_path: Path, status: int) -> None:
    expected = {
        401: Trouble.NOT_LOGGED_IN,
        404: Trouble.UNKNOWN_MODEL,
        413: Trouble.CONTEXT,
        429: Trouble.RATE_LIMITED,
        503: Trouble.OVERLOADED,
        529: Trouble.OVERLOADED,
    }
    assert failed(tmp_path, "", api_error_status=status).trouble is expected[status]


def test_a_word_of_a_subagent_does_not_count(tmp_path: Path) -> None:
    elsewhere = synthetic("billing_error", parent_tool_use_id="toolu_1")
    assert failed(tmp_path, "it broke", elsewhere).trouble is Trouble.FAILED


def test_a_sentence_that_is_not_about_the_service_does_not_count(tmp_path: Path) -> None:
    hook = "a hook failed: ECONNREFUSED, overloaded, not logged in"
    found = failed(tmp_path, hook, subtype="error_during_execution")
    assert found == NoReport(trouble=Trouble.FAILED, reason=f"claude failed: {hook}")


def test_what_passes_and_what_ends_the_run() -> None:
    assert ENDS_THE_RUN[1:] == (
        *(Trouble.NOT_LOGGED_IN, Trouble.OUT_OF_CREDIT, Trouble.UNKNOWN_MODEL),
    )
    assert PASSES == (Trouble.RATE_LIMITED, Trouble.OVERLOADED, Trouble.OFFLINE)


@pytest.mark.parametrize(
    ("resets_at", "wait"), [(4600, 3600.0), (999, None), (10**12, None), (None, None)]
)
def test_a_limit_that_says_when_it_ends_is_waited_for(
    tmp_path: Path, resets_at: int | None, wait: float | None
) -> None:
    told = line(
        type="rate_limit_event", rate_limit_info={"status": "rejected", "resetsAt": resets_at}
    )
    says = "You've hit your 5-hour limit · resets 12:42pm (UTC)"
    found = failed(tmp_path, says, told, synthetic("rate_limit"), api_error_status=429)
    assert found == NoReport(
        trouble=Trouble.RATE_LIMITED,
        reason=f"the rate limit of claude's service is reached: {says}",
        again_after=wait,
    )


# --- endings that are its own --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param(
            {"subtype": "error_max_turns", "errors": ["Reached maximum number of turns (2)"]},
            NoReport(
                trouble=Trouble.TURN_LIMIT,
                reason="its turns were used up: Reached maximum number of turns (2)",
            ),
            id="turns",
        ),
        pytest.param(
            {"subtype": "error_max_budget_usd", "errors": ["Reached maximum budget ($1)"]},
            NoReport(
                trouble=Trouble.BUDGET_LIMIT,
                reason="its share of the money was used up: Reached maximum budget ($1)",
            ),
            id="money",
        ),
        pytest.param(
            {
                "subtype": "error_max_structured_output_retries",
                "errors": ["Failed to provide valid structured output after 5 attempts"],
            },
            NoReport(
                trouble=Trouble.MALFORMED,
                reason=(
                    "the report is malformed: "
                    "Failed to provide valid structured output after 5 attempts"
                ),
            ),
            id="report",
        ),
        pytest.param(
            {"subtype": "error_during_execution", "terminal_reason": "aborted_streaming"},
            NoReport(trouble=Trouble.KILLED, reason="claude was interrupted"),
            id="interrupted",
        ),
        pytest.param(
            {"stop_reason": "refusal", "result": "I will not."},
            NoReport(trouble=Trouble.REFUSED, reason="the model refused: I will not."),
            id="refused",
        ),
        pytest.param(
            {"terminal_reason": "prompt_too_long", "api_error_status": 400, "result": "Too long."},
            NoReport(
                trouble=Trouble.CONTEXT,
                reason="it was more than the model can hold in mind: Too long.",
            ),
            id="too long",
        ),
        pytest.param(
            {"errors": [3, None]},
            NoReport(trouble=Trouble.FAILED, reason="claude failed"),
            id="without a word",
        ),
    ],
)
def test_an_ending_of_its_own(tmp_path: Path, fields: dict[str, Any], expected: NoReport) -> None:
    (tmp_path / "outbox").mkdir()
    (tmp_path / "outbox/report.json").write_text(json.dumps(DONE), "utf-8")
    told = {"result": None, **fields}
    found = concluded(tmp_path, init(), result(is_error=True, **told), end=ended(1))
    assert found == expected


@pytest.mark.parametrize("is_error", [True, None, "false", 0, 1])
@pytest.mark.parametrize("code", [0, 1])
def test_success_is_what_says_that_it_is_no_error_and_nothing_else(
    tmp_path: Path, is_error: object, code: int
) -> None:
    told = result(is_error=is_error, subtype="success", structured_output=DONE)
    found = concluded(tmp_path, init(), told, end=ended(code))
    assert found == NoReport(trouble=Trouble.FAILED, reason="claude failed: done")


def test_an_exit_code_decides_nothing(tmp_path: Path) -> None:
    told = result(subtype="error_of_the_day", structured_output=DONE)
    assert concluded(tmp_path, init(), told, end=ended(1)) == DONE_REPORT
