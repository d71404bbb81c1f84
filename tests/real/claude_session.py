"""What a session of claude said about itself, first and last."""

from __future__ import annotations

from typing import Any

from tests.real.stage import Ran


def outcome(ran: Ran) -> tuple[int | None, str, bool]:
    """Exit code, subtype and is_error: three ways to say it, which need not agree."""
    result = ran.one("result")
    return ran.code, result["subtype"], result["is_error"]


def init(ran: Ran) -> dict[str, Any]:
    return next(event for event in ran.of("system") if event["subtype"] == "init")
