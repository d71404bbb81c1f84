"""Which trouble a failed session of claude is in, from the several ways in which it says so.

The program has words of its own for what went wrong (they come with the message that it puts into
the model's mouth), it passes on the status of the service, and it has a sentence for people. The
words are the same in all versions that were looked at and are used first; a status may be missing,
and sentences change from version to version, so that they decide last.

What it cannot tell apart: a service that fails inside (500) from one that has too much to do (529),
since both ask to come back later; and a key that is wrong from one that is not allowed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from dwindle.adapters.agents.claude.stream import ClaudeStream, Outcome
from dwindle.ports.work import Trouble

SAYS: Final[Mapping[Trouble, tuple[str, str]]] = {
    Trouble.NOT_LOGGED_IN: (
        "claude is not logged in",
        "; start `claude` and use /login, or set ANTHROPIC_API_KEY",
    ),
    Trouble.OUT_OF_CREDIT: (
        "the account that claude uses has no credit left",
        "; add credit to it, or use another login",
    ),
    Trouble.UNKNOWN_MODEL: (
        "claude cannot use this model",
        "; choose another one: `model` under [agents] in .runner/config.toml",
    ),
    Trouble.RATE_LIMITED: ("the rate limit of claude's service is reached", ""),
    Trouble.OVERLOADED: ("claude's service has too much to do", ""),
    Trouble.OFFLINE: ("claude's service cannot be reached", ""),
    Trouble.REFUSED: ("the model refused", ""),
    Trouble.CONTEXT: ("it was more than the model can hold in mind", ""),
    Trouble.TURN_LIMIT: ("its turns were used up", ""),
    Trouble.BUDGET_LIMIT: ("its share of the money was used up", ""),
    Trouble.MALFORMED: ("the report is malformed", ""),
    Trouble.KILLED: ("claude was interrupted", ""),
}
"""What the user reads before and after the program's own sentence."""

SUBTYPES: Final[Mapping[object, Trouble]] = {
    "error_max_turns": Trouble.TURN_LIMIT,
    "error_max_budget_usd": Trouble.BUDGET_LIMIT,
    "error_max_structured_output_retries": Trouble.MALFORMED,
}
ENDINGS: Final[Mapping[object, Trouble]] = {
    "prompt_too_long": Trouble.CONTEXT,
    "aborted_tools": Trouble.KILLED,
    "aborted_streaming": Trouble.KILLED,
}
WORDS: Final[Mapping[str, Trouble]] = {
    "authentication_failed": Trouble.NOT_LOGGED_IN,
    "oauth_org_not_allowed": Trouble.NOT_LOGGED_IN,
    "account_on_hold": Trouble.NOT_LOGGED_IN,
    "verification_required": Trouble.NOT_LOGGED_IN,
    "cloud_credential_error": Trouble.NOT_LOGGED_IN,
    "billing_error": Trouble.OUT_OF_CREDIT,
    "model_not_found": Trouble.UNKNOWN_MODEL,
    "rate_limit": Trouble.RATE_LIMITED,
    "overloaded": Trouble.OVERLOADED,
}
STATUSES: Final[Mapping[int, Trouble]] = {
    401: Trouble.NOT_LOGGED_IN,
    403: Trouble.NOT_LOGGED_IN,
    404: Trouble.UNKNOWN_MODEL,
    413: Trouble.CONTEXT,
    429: Trouble.RATE_LIMITED,
    **dict.fromkeys(range(500, 600), Trouble.OVERLOADED),
}
TOO_LONG: Final = re.compile(
    r"prompt is too long|context window limit|exceeds 10\s?MB", re.IGNORECASE
)
SENTENCES: Final = (
    (TOO_LONG, Trouble.CONTEXT),
    (re.compile(r"credit balance is too low", re.IGNORECASE), Trouble.OUT_OF_CREDIT),
)
WITHOUT_STATUS: Final = (
    (
        re.compile(r"not logged in|please run /login|invalid api key", re.IGNORECASE),
        Trouble.NOT_LOGGED_IN,
    ),
    (re.compile(r"\b529\b|overloaded", re.IGNORECASE), Trouble.OVERLOADED),
    (
        re.compile(
            r"unable to connect|connection (error|refused|reset|closed|timed out)"
            r"|can't reach the api|ECONN|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH"
            r"|fetch failed|socket hang up|request timed out",
            re.IGNORECASE,
        ),
        Trouble.OFFLINE,
    ),
)
"""Sentences that decide only if the service gave no answer at all."""


def trouble_of(stream: ClaudeStream, result: Outcome, said: str) -> Trouble:
    return next(_troubles(stream, result, said), Trouble.FAILED)


def _troubles(stream: ClaudeStream, result: Outcome, said: str) -> Iterator[Trouble]:
    """Whatever fits, the surest first."""
    status = result.api_error_status
    for table, key in ((SUBTYPES, result.subtype), (ENDINGS, result.terminal_reason)):
        if isinstance(key, str) and key in table:
            yield table[key]
    if result.stop_reason == "refusal":
        yield Trouble.REFUSED
    if stream.error in WORDS:
        yield WORDS[stream.error]
    if isinstance(status, int) and status in STATUSES:
        yield STATUSES[status]
    if stream.api_error == "connection_failed":
        yield Trouble.OFFLINE
    # Without a word of its own it is not the service that the sentence is about.
    more = WITHOUT_STATUS if stream.error and not status else ()
    for pattern, trouble in (*SENTENCES, *more):
        if pattern.search(said):
            yield trouble
