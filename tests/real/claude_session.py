"""What a session of claude said about itself, first and last, and how it calls a subagent."""

from __future__ import annotations

from typing import Any

from tests.real.model import ToolCall
from tests.real.stage import Ran


def outcome(ran: Ran) -> tuple[int | None, str, bool]:
    """Exit code, subtype and is_error: three ways to say it, which need not agree."""
    result = ran.one("result")
    return ran.code, result["subtype"], result["is_error"]


def init(ran: Ran) -> dict[str, Any]:
    return next(event for event in ran.of("system") if event["subtype"] == "init")


def agent_call(name: str) -> ToolCall:
    """The newer version does not wait for a subagent unless it is told to."""
    return ToolCall(
        "Agent",
        {
            "description": "d",
            "prompt": "begin as a subagent",
            "subagent_type": name,
            "run_in_background": False,
        },
    )
