from __future__ import annotations

import json
import time

import pytest

from dwindle.adapters.agents.codex.trouble import SAYS, sentence, trouble_of, wait_after
from dwindle.ports.work import ENDS_THE_RUN, PASSES, Trouble


def told(code: str | None, message: str = "no", kind: str = "invalid_request_error") -> str:
    return json.dumps({"error": {"type": kind, "code": code, "message": message}})


@pytest.mark.parametrize(
    ("said", "trouble"),
    [
        ("unexpected status 401 Unauthorized: Missing bearer", Trouble.NOT_LOGGED_IN),
        ("unexpected status 403 Forbidden: rate limit reached", Trouble.NOT_LOGGED_IN),
        ("Missing environment variable: `MY_KEY`.", Trouble.NOT_LOGGED_IN),
        ("Your access token could not be refreshed. Please sign in again.", Trouble.NOT_LOGGED_IN),
        ("Quota exceeded. Check your plan and billing details.", Trouble.OUT_OF_CREDIT),
        ("Your workspace is out of credits.", Trouble.OUT_OF_CREDIT),
        (told("insufficient_quota"), Trouble.OUT_OF_CREDIT),
        ("The model `x` does not exist or you do not have access to it.", Trouble.UNKNOWN_MODEL),
        (
            "The 'gpt-5' model is not supported when using Codex with a ChatGPT account.",
            Trouble.UNKNOWN_MODEL,
        ),
        ("unexpected status 404 Not Found: , url: http://there", Trouble.UNKNOWN_MODEL),
        ("exceeded retry limit, last status: 429 Too Many Requests", Trouble.RATE_LIMITED),
        ("You’ve hit your usage limit. Try again later.", Trouble.RATE_LIMITED),  # noqa: RUF001
        (
            "You've hit your usage limit. Purchase more credits or try again at 3:05 PM.",
            Trouble.RATE_LIMITED,
        ),
        ("rate limit exceeded: Rate limit reached for gpt-5.5", Trouble.RATE_LIMITED),
        ("Selected model is at capacity. Please try a different model.", Trouble.OVERLOADED),
        ("exceeded retry limit, last status: 503 Service Unavailable", Trouble.OVERLOADED),
        ("We're currently experiencing high demand", Trouble.OVERLOADED),
        (told(None, kind="server_error"), Trouble.OVERLOADED),
        ("Codex ran out of room in the model's context window.", Trouble.CONTEXT),
        (told("context_length_exceeded", "The model is overloaded"), Trouble.CONTEXT),
        (told("invalid_prompt"), Trouble.REFUSED),
        ("Incomplete response returned, reason: content_filter", Trouble.REFUSED),
        ("Connection failed: error sending request", Trouble.OFFLINE),
        ("stream disconnected before completion: Transport error", Trouble.OFFLINE),
        ("failed to lookup address information: Try again", Trouble.OFFLINE),
        ("Incomplete response returned, reason: max_output_tokens", Trouble.FAILED),
        (told(None, "some bad parameter"), Trouble.FAILED),
        ('{"error": 5}', Trouble.FAILED),
        ("{broken", Trouble.FAILED),
        ("[" * 100_000, Trouble.FAILED),
        ("", Trouble.FAILED),
    ],
)
def test_a_sentence_is_sorted(said: str, trouble: Trouble) -> None:
    assert trouble_of(said) is trouble


def test_a_code_decides_over_words_that_may_have_been_quoted() -> None:
    quoted = told("context_length_exceeded", "You said: unexpected status 401, not logged in")
    assert trouble_of(quoted) is Trouble.CONTEXT


def test_what_ends_a_run_comes_with_the_sentence_that_helps() -> None:
    helped = [one for one in ENDS_THE_RUN if one is not Trouble.UNAVAILABLE]
    assert all(SAYS[one][1] for one in helped)
    assert all(SAYS[one][0] for one in PASSES)


def test_people_get_the_words_and_not_the_json() -> None:
    assert sentence(told("x", "Some bad parameter.")) == "Some bad parameter."
    for odd in ("plain", "{broken", '{"error": 5}', '{"error": {"message": 7}}', "{}"):
        assert sentence(odd) == odd


# --- until when ----------------------------------------------------------------------------------

NOON = time.mktime((2026, 11, 15, 12, 0, 0, 0, 0, -1))


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("Please try again in 11.054s.", 11.054),
        ("Please try again in 20ms.", 0.02),
        ("try again in 1m30s", 90.0),
        ("try again in 2 days 3 hours 4 minutes.", 2 * 86_400 + 3 * 3600 + 240.0),
        ("try again at 3:05 PM.", 3 * 3600 + 300 + 60.0),
        ("try again at 11:00 AM.", 23 * 3600 + 60.0),
        ("try again at 11:59 AM.", 60.0),
        ("try again at 12:30 AM.", 12 * 3600 + 1800 + 60.0),
        ("or try again at Nov 16th, 2026 12:00 PM.", 86_400 + 60.0),
        ("try again at Nov 14th, 2026 12:00 PM.", 60.0),
        ("try again at Nov 16th, 2027 12:00 PM.", None),
        ("try again at Nov 99th, 9999 12:00 PM.", None),
        ("try again in 999999999 days", None),
        ("try again in 0s", None),
        ("try again later", None),
        ("", None),
    ],
)
def test_a_time_is_read_as_codex_writes_it(said: str, seconds: float | None) -> None:
    assert wait_after(said, NOON) == (None if seconds is None else pytest.approx(seconds))
