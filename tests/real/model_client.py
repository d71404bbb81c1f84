"""Asking the scripted model by hand, as a program would."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.real.model import ModelServer

MESSAGES, RESPONSES = "/v1/messages", "/v1/responses"
HEADERS = {
    MESSAGES: {"x-api-key": "k", "anthropic-version": "2023-06-01"},
    RESPONSES: {"authorization": "Bearer k"},
}


@dataclass(frozen=True, slots=True)
class Said:
    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def events(self) -> list[dict[str, Any]]:
        return [
            json.loads(line.removeprefix("data: "))
            for line in self.text.splitlines()
            if line.startswith("data: ")
        ]


def ask(
    model: ModelServer,
    path: str,
    body: Any = None,
    *,
    method: str = "POST",
    headers: Mapping[str, str] | None = None,
) -> Said:
    connection = http.client.HTTPConnection("127.0.0.1", model.port, timeout=10)
    try:
        sent = body if isinstance(body, str) else json.dumps(body)
        given = HEADERS.get(path.partition("?")[0], {}) if headers is None else headers
        connection.request(method, path, None if body is None else sent, dict(given))
        answer = connection.getresponse()
        text = answer.read().decode()
        return Said(answer.status, {k.lower(): v for k, v in answer.getheaders()}, text)
    finally:
        connection.close()


def message(*turns: Any, stream: bool = False, **more: Any) -> dict[str, Any]:
    """A body for the Messages API: texts alternate between the user and the model."""
    roles = ("user", "assistant")
    said = [{"role": roles[at % 2], "content": content} for at, content in enumerate(turns)]
    return {"model": "m-1", "max_tokens": 9, "messages": said, "stream": stream, **more}


def item(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def response(*items: dict[str, Any], stream: bool = False, **more: Any) -> dict[str, Any]:
    return {"model": "g-1", "input": list(items), "stream": stream, **more}
