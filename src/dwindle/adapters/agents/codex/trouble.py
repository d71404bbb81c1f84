"""Which trouble a failed turn of codex is in, from the one sentence that it has for people.

codex gives neither a status nor a code of its own. What it says is one of three: the answer of the
service as JSON, a sentence around a status ("unexpected status 401 Unauthorized: ..."), or a
sentence of its own. They are looked at in this order, the surest first, so that words which the
service quotes from a prompt decide nothing as long as there is anything better.

What cannot be told apart: a service that fails inside from one that has too much to do; a key that
is wrong from one that is missing or not allowed to; a network that is down from a service that does
not answer.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from typing import Final

from dwindle.ports.work import Trouble

LONGEST_WAIT: Final = 14 * 86_400.0

SAYS: Final[Mapping[Trouble, tuple[str, str]]] = {
    Trouble.NOT_LOGGED_IN: (
        "codex is not logged in, or its key is not taken",
        "; run `codex login`, or set CODEX_API_KEY",
    ),
    Trouble.OUT_OF_CREDIT: (
        "the account that codex uses has no credit left",
        "; add credit to it, or use another login",
    ),
    Trouble.UNKNOWN_MODEL: (
        "codex cannot use this model",
        "; choose another one: `model` under [agents] in .runner/config.toml",
    ),
    Trouble.RATE_LIMITED: ("the rate limit of codex's service is reached", ""),
    Trouble.OVERLOADED: ("codex's service has too much to do", ""),
    Trouble.OFFLINE: ("codex's service cannot be reached", ""),
    Trouble.REFUSED: ("the model refused", ""),
    Trouble.CONTEXT: ("it was more than the model can hold in mind", ""),
}
"""What the user reads before and after the program's own sentence."""

CODES: Final[Mapping[str, Trouble]] = {
    "invalid_api_key": Trouble.NOT_LOGGED_IN,
    "insufficient_quota": Trouble.OUT_OF_CREDIT,
    "billing_hard_limit_reached": Trouble.OUT_OF_CREDIT,
    "model_not_found": Trouble.UNKNOWN_MODEL,
    "rate_limit_exceeded": Trouble.RATE_LIMITED,
    "usage_limit_reached": Trouble.RATE_LIMITED,
    "server_is_overloaded": Trouble.OVERLOADED,
    "slow_down": Trouble.OVERLOADED,
    "server_error": Trouble.OVERLOADED,
    "context_length_exceeded": Trouble.CONTEXT,
    "invalid_prompt": Trouble.REFUSED,
    "content_policy_violation": Trouble.REFUSED,
    "cyber_policy_violation": Trouble.REFUSED,
}
STATUSES: Final[Mapping[int, Trouble]] = {
    401: Trouble.NOT_LOGGED_IN,
    402: Trouble.OUT_OF_CREDIT,
    403: Trouble.NOT_LOGGED_IN,
    404: Trouble.UNKNOWN_MODEL,
    413: Trouble.CONTEXT,
    429: Trouble.RATE_LIMITED,
    **dict.fromkeys(range(500, 600), Trouble.OVERLOADED),
}
OWN: Final = tuple(
    (re.compile("|".join(patterns), re.IGNORECASE), trouble)
    for trouble, *patterns in (
        (Trouble.OUT_OF_CREDIT, "^quota exceeded", "out of credits", "spend(ing)? (cap|limit)"),
        (Trouble.RATE_LIMITED, "hit your usage limit", "rate limit (reached|exceeded)"),
        (
            Trouble.CONTEXT,
            *("ran out of room", "context window", "maximum context length", "input_too_large"),
        ),
        (
            Trouble.UNKNOWN_MODEL,
            r"\bmodel\b.{0,200}(does not exist|is not supported|not available|not found)",
            "requires a newer version of codex",
        ),
        (
            Trouble.OVERLOADED,
            *("at capacity", "high demand", "overloaded", "internal server error"),
        ),
        (
            Trouble.REFUSED,
            *("usage polic", "flagged (as|for)", "content[_ ](policy|filter)", "^invalid prompt"),
        ),
        (
            Trouble.NOT_LOGGED_IN,
            *("missing environment variable", "missing bearer", "not logged in"),
            *("(log ?in|sign in) again", "could not be refreshed", "refresh token"),
        ),
        (
            Trouble.OFFLINE,
            *("connection (failed|refused|reset|closed)", "error sending request"),
            *("stream disconnected", "waiting for network", "network error", "lookup address"),
            *("timed out", "timeout", "unreachable"),
        ),
    )
)
"""Sentences of the program's own; where two fit, the upper one counts."""


def trouble_of(said: str) -> Trouble:
    return next(_troubles(said), Trouble.FAILED)


def _troubles(said: str) -> Iterator[Trouble]:
    """Whatever fits, the surest first."""
    for code in _codes(said):
        if code in CODES:
            yield CODES[code]
    if (status := _STATUS.search(said)) and int(status[1]) in STATUSES:
        yield STATUSES[int(status[1])]
    for pattern, trouble in OWN:
        if pattern.search(said):
            yield trouble


def _codes(said: str) -> Iterator[str]:
    """Of an error that the service sent as JSON and codex passed on as it was."""
    if not said.startswith("{"):
        return
    try:
        told = json.loads(said)
    except (ValueError, RecursionError):
        return
    error = told.get("error") if isinstance(told, dict) else None
    if isinstance(error, dict):
        for name in ("code", "type"):
            if isinstance(error.get(name), str):
                yield error[name]


def sentence(said: str) -> str:
    """What there is to read in it."""
    if said.startswith("{"):
        try:
            told = json.loads(said)["error"]["message"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return said
        return told if isinstance(told, str) else said
    return said


# --- when it is worth trying again ---------------------------------------------------------------


def wait_after(said: str, now: float) -> float | None:
    """Seconds, if it says so: "try again in 11.054s", "try again at Nov 16th, 2026 11:53 AM"."""
    if found := _IN.search(said):
        parts = _PART.findall(found[0])
        seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    elif found := _AT.search(said):
        seconds = _until(found, now)
    else:
        return None
    return seconds if 0 < seconds <= LONGEST_WAIT else None


def _until(found: re.Match[str], now: float) -> float:
    """Local time to the minute, as codex has it; the minute after it is safe."""
    today = time.localtime(now)
    month, day, year = today.tm_mon, today.tm_mday, today.tm_year
    if found["month"] is not None:
        month = _MONTHS.index(found["month"].lower()) + 1
        day, year = int(found["day"]), int(found["year"])
    hour = int(found["hour"]) % 12 + (12 if found["half"].upper() == "PM" else 0)
    try:
        then = time.mktime((year, month, day, hour, int(found["minute"]), 0, 0, 0, -1))
    except (OverflowError, ValueError):
        return 0.0
    if found["month"] is None and then < now - _MINUTE * 2:
        then += 86_400
    return max(then + _MINUTE - now, _MINUTE)


_STATUS: Final = re.compile(r"(?:unexpected|last) status:? (\d{3})\b")
_MINUTE: Final = 60.0
_MONTHS: Final = (
    *("jan", "feb", "mar", "apr", "may", "jun"),
    *("jul", "aug", "sep", "oct", "nov", "dec"),
)
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_PART: Final = re.compile(r"(\d{1,9}(?:\.\d{1,9})?) ?(ms|[smhd])")
_IN: Final = re.compile(r"try again in (?:\d{1,9}(?:\.\d{1,9})? ?(?:ms|[smhd])[a-z]*[ ,]*)+")
_AT: Final = re.compile(
    rf"try again at (?:(?P<month>{'|'.join(_MONTHS)})[a-z]* (?P<day>\d{{1,2}})[a-z]{{2}},? "
    r"(?P<year>\d{4}),? )?(?P<hour>\d{1,2}):(?P<minute>\d{2}) (?P<half>[ap]m)",
    re.IGNORECASE,
)
