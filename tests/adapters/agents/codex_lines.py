"""Lines as codex 0.166 prints them."""

from __future__ import annotations

import json
from typing import Any

BEGUN = (b'{"type":"thread.started","thread_id":"0"}', b'{"type":"turn.started"}')


def line(kind: str, **fields: Any) -> bytes:
    return json.dumps({"type": kind, **fields}).encode()


def item(kind: str, *, of: str = "item.completed", **fields: Any) -> bytes:
    return line(of, item={"id": "item_0", "type": kind, **fields})


def said(text: str) -> bytes:
    return item("agent_message", text=text)


def ran(output: str = "") -> bytes:
    return item("command_execution", command="ls", aggregated_output=output, exit_code=0)


def completed(**usage: Any) -> bytes:
    return line("turn.completed", usage=usage)


def failed(message: str) -> bytes:
    return line("turn.failed", error={"message": message})


def error(message: str) -> bytes:
    return line("error", message=message)
