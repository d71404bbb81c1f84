"""Asking an application in this process, without a server in between."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message

HOST = "127.0.0.1:8177"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def data(self) -> Any:
        return json.loads(self.body)


def asked(
    app: ASGIApp, path: str, body: object = None, *, method: str = "", **headers: str
) -> Answer:
    """One request; `host` is ours unless it is given."""
    return asyncio.run(ask(app, path, body, method=method, **headers))


async def ask(
    app: ASGIApp, path: str, body: object = None, *, method: str = "", **headers: str
) -> Answer:
    place = urlsplit(path)
    data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {"host": HOST, **({} if body is None else {"content-type": "application/json"})}
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method or ("GET" if body is None else "POST"),
        "path": place.path,
        "raw_path": place.path.encode(),
        "query_string": place.query.encode(),
        "root_path": "",
        "scheme": "http",
        "headers": [(n.encode(), v.encode("latin-1")) for n, v in named.items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8177),
    }
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": data, "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return Answer(
        status=sent[0]["status"],
        headers={n.decode(): v.decode() for n, v in sent[0]["headers"]},
        body=b"".join(message.get("body", b"") for message in sent[1:]),
    )
