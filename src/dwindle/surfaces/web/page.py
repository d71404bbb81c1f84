"""The application: the page, its data, and its actions.

GET  /                                   the page; its parts are under /static/
GET  /api/runs                           every run on record
GET  /api/runs/RUN/events                server-sent events: picture, change, tails, record
GET  /api/runs/RUN/layout                boxes and lines (?solved=1&toggled=A3,A7)
GET  /api/runs/RUN/changes               what the run changed: by atom, tests, what was held fast
GET  /api/runs/RUN/patch                 the lines of it (?atom=A3)
GET  /api/runs/RUN/sessions/N            what is kept of a session
GET  /api/runs/RUN/sessions/N/part       one of these (?name=worker/session.log&start=0)
POST /api/runs/RUN/{stop,preview,redirect,confirm,land}

RUN may be `current`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import msgspec
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from dwindle.app.errors import JournalDamaged
from dwindle.app.refusal import Refused
from dwindle.app.review import changes_of, patch_of
from dwindle.kernel.model import PlanKind
from dwindle.ports.store import StoreFailed
from dwindle.surfaces.web import actions
from dwindle.surfaces.web.access import AccessControl, AccessPolicy
from dwindle.surfaces.web.drawing import Drawings
from dwindle.surfaces.web.feed import Feed, Feeds
from dwindle.surfaces.web.listing import Listing
from dwindle.text.escape import excerpt
from dwindle.views.read_model.attempt_files import parts_of, read_part
from dwindle.views.read_model.shapes import SessionView

KINDS: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
LARGEST: Final = 64 << 10
"""Bytes of a request body."""
PATCH: Final = 1 << 20
"""Bytes of a difference that are sent; `dwindle diff` shows more."""
CURRENT: Final = "current"
"""In place of a run: the one of the plan that is here now."""
ACTIONS: Final[dict[str, Callable[[Path, str, PlanKind, dict[str, Any]], list[str]]]] = {
    "stop": actions.stop,
    "preview": actions.preview,
    "redirect": actions.redirect,
    "confirm": actions.confirm,
    "land": actions.land,
}


class Page:
    def __init__(self, root: Path) -> None:
        self._root = root
        self._feeds = Feeds(root)
        self._drawings = Drawings()
        self._listing = Listing(root)
        self._static = {
            entry.name: entry.read_bytes()
            for entry in (files(__package__) / "static").iterdir()
            if Path(entry.name).suffix in KINDS
        }

    def close(self) -> None:
        self._feeds.close()

    # --- the page itself -------------------------------------------------------------------------

    async def index(self, _: Request) -> Response:
        return Response(self._static["index.html"], media_type=KINDS[".html"])

    async def static(self, request: Request) -> Response:
        name = request.path_params["name"]
        content = self._static.get(name)
        if content is None:
            return _refusal("there is no such file", code=404)
        return Response(content, media_type=KINDS[Path(name).suffix])

    # --- data ------------------------------------------------------------------------------------

    async def runs(self, _: Request) -> Response:
        return _json(await asyncio.to_thread(self._listing.runs))

    async def events(self, request: Request) -> Response:
        feed = await self._feed(request)
        return StreamingResponse(feed.stream(), media_type="text/event-stream")

    async def layout(self, request: Request) -> Response:
        asked = request.query_params
        toggled = [name for name in asked.get("toggled", "").split(",") if name]
        solved = {"1": True, "0": False}.get(asked.get("solved", ""))
        feed = await self._feed(request)
        drawn = await feed.ask(
            lambda follower: self._drawings.of(
                follower.picture()["nodes"], solved=solved, toggled=toggled
            )
        )
        return _json(drawn)

    async def changes(self, request: Request) -> Response:
        feed = await self._feed(request)
        found = await asyncio.to_thread(changes_of, self._root, feed.run)
        return _json(msgspec.json.encode(found))

    async def patch(self, request: Request) -> Response:
        feed = await self._feed(request)
        atom = request.query_params.get("atom")
        found = await asyncio.to_thread(patch_of, self._root, feed.run, atom=atom, most=PATCH)
        return _json(msgspec.json.encode(found))

    async def session(self, request: Request) -> Response:
        feed, session = await self._session(request)
        parts = await asyncio.to_thread(parts_of, self._root, feed.run, session)
        return _json(msgspec.json.encode(parts))

    async def part(self, request: Request) -> Response:
        feed, session = await self._session(request)
        asked = request.query_params
        try:
            start = int(asked.get("start", "0"))
        except ValueError:
            raise Refused("start has to be a number") from None
        found = await asyncio.to_thread(
            read_part,
            self._root,
            feed.run,
            session,
            asked.get("name", ""),
            start=max(0, start),
            from_end=start < 0,
        )
        if found is None:
            return _refusal("no part of this name was kept", code=404)
        return _json(msgspec.json.encode(found))

    # --- actions ---------------------------------------------------------------------------------

    async def action(self, request: Request) -> Response:
        do = ACTIONS.get(request.path_params["action"])
        if do is None:
            return _refusal("there is no such action", code=404)
        feed = await self._feed(request)
        asked = await _json_body(request)
        kind = await feed.ask(lambda follower: PlanKind(follower.kind))
        try:
            said = await asyncio.to_thread(do, self._root, feed.run, kind, asked)
        except actions.Outdated as news:
            return JSONResponse({"error": str(news), "hint": "", "said": news.lines}, 409)
        return JSONResponse({"said": said})

    # --- both ------------------------------------------------------------------------------------

    def warm(self) -> None:
        """Read the current run beforehand, so that the first viewer need not wait."""
        found = self._listing.current()
        if found is not None:
            self._feeds.of(found).warm()
        self._listing.runs()

    async def _feed(self, request: Request) -> Feed:
        run = request.path_params["run"]
        if run == CURRENT:
            run = await asyncio.to_thread(self._listing.current)
            if run is None:
                raise Refused("there is no run here yet", code=404)
        try:
            return self._feeds.of(run)
        except StoreFailed:
            raise Refused("this is not the name of a run") from None

    async def _session(self, request: Request) -> tuple[Feed, SessionView]:
        feed = await self._feed(request)
        session = await feed.session(request.path_params["nonce"])
        if session is None:
            raise Refused("there is no such session", code=404)
        return feed, session


async def _json_body(request: Request) -> dict[str, Any]:
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise Refused("the body has to be JSON")
    body = b""
    try:
        async for piece in request.stream():
            body += piece
            if len(body) > LARGEST:
                raise Refused(f"that is too long: at most {LARGEST} bytes")
        found = msgspec.json.decode(body or b"{}")
    except (msgspec.DecodeError, ClientDisconnect, UnicodeDecodeError, RecursionError):
        raise Refused("that is no JSON") from None
    if not isinstance(found, dict):
        raise Refused("that is no JSON object")
    return found


def _json(body: bytes) -> Response:
    return Response(body, media_type="application/json")


def _refusal(what: str, hint: str = "", code: int = 400) -> Response:
    return JSONResponse({"error": what, "hint": hint}, code)


async def _on_refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)  # noqa: S101 - it is registered for nothing else
    place = f"{error.where}: " if error.where else ""
    code = 404 if error.code == 404 else 400
    return _refusal(excerpt(f"{place}{error.what}"), excerpt(error.hint), code)


async def _on_damage(_: Request, error: Exception) -> Response:
    return _refusal(
        excerpt(str(error)), "what is on record cannot be read; `dwindle log` says more"
    )


def application(page: Page, access: AccessPolicy) -> Starlette:
    return Starlette(
        routes=[
            Route("/", page.index),
            Route("/static/{name}", page.static),
            Route("/api/runs", page.runs),
            Route("/api/runs/{run}/events", page.events),
            Route("/api/runs/{run}/layout", page.layout),
            Route("/api/runs/{run}/changes", page.changes),
            Route("/api/runs/{run}/patch", page.patch),
            Route("/api/runs/{run}/sessions/{nonce:int}", page.session),
            Route("/api/runs/{run}/sessions/{nonce:int}/part", page.part),
            Route("/api/runs/{run}/{action}", page.action, methods=["POST"]),
        ],
        middleware=[Middleware(AccessControl, access=access)],
        exception_handlers={
            Refused: _on_refused,
            JournalDamaged: _on_damage,
            StoreFailed: _on_damage,
        },
    )
