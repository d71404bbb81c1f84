"""Access control of the page.

A page on loopback can be reached by every other page in the same browser. Three things keep them
out. A request must name a host of ours, so that a foreign name that points to our address reads
nothing (DNS rebinding). A request that changes something must carry the token and must not come
from another page (CSRF); the token travels in a header, which no foreign page can set and no cookie
gives away to other servers on this machine. And no page of ours may be framed.

If the server listens at an address that others can reach, every request needs the token, reading
too. A browser cannot send it when it opens the page, so the link carries it once; from then on a
cookie gives access to the page and its scripts, but not to any run.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOCAL: Final = ("localhost", "127.0.0.1", "::1")
SAFE: Final = ("GET", "HEAD")
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
"""Only our own files; and no text ever becomes markup or a script."""
HEADERS: Final = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
COOKIE: Final = "dwindle-page"


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessPolicy:
    """What a request needs to be admitted."""

    host: str = "127.0.0.1"
    names: tuple[str, ...] = ()
    """Further host names that are ours."""
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))

    @property
    def is_local(self) -> bool:
        return is_loopback(self.host)

    @property
    def page_cookie(self) -> str:
        """The cookie's value, from which the token cannot be derived."""
        return hmac.new(self.token.encode(), b"page", hashlib.sha256).hexdigest()

    def knows(self, host: str) -> bool:
        """Whether a Host header names us. A bare address cannot be rebound by a name server."""
        name = _name(host)
        if name in LOCAL or name in (self.host.lower(), *(one.lower() for one in self.names)):
            return True
        return not self.is_local and _is_address(name)

    def is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self.token.encode())

    def is_page_cookie(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self.page_cookie.encode())


def is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _name(host: str) -> str:
    """Without the port: behind a tunnel it may be another than ours."""
    try:
        return (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return ""


class AccessControl:
    """Middleware before the application."""

    def __init__(self, app: ASGIApp, access: AccessPolicy) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal, is_welcome = self._refusal(scope)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                if is_welcome:
                    cookie = (
                        f"{COOKIE}={self._access.page_cookie}; Path=/; HttpOnly; SameSite=Strict"
                    )
                    headers["set-cookie"] = cookie
            await send(message)

        await (refusal or self._app)(scope, receive, with_headers)

    def _refusal(self, scope: Scope) -> tuple[Response | None, bool]:
        """Why the request is refused, if it is; and whether it came with the link."""
        headers = Headers(scope=scope)
        if not self._access.knows(headers.get("host", "")):
            return PlainTextResponse("unknown host name\n", 421), False
        about_runs = scope["path"].startswith("/api/")
        has_token = self._access.is_token(_bearer(headers))
        if scope["method"] not in SAFE:
            if not _same_origin(headers):
                return _json_refusal("this request came from another page", 403), False
            return (None, False) if has_token else (_json_refusal(WITHOUT, 401), False)
        if self._access.is_local or has_token:
            return None, False
        if about_runs:
            return _json_refusal(WITHOUT, 401), False
        linked = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if self._access.is_token(linked):
            return None, True
        if self._access.is_page_cookie(_cookie(headers)):
            return None, False
        return PlainTextResponse(f"{WITHOUT}\n", 401), False


WITHOUT: Final = "the token is missing or wrong: open the link that `dwindle serve` printed"


def _json_refusal(what: str, code: int) -> Response:
    return JSONResponse({"error": what, "hint": ""}, code)


def _bearer(headers: Headers) -> str:
    scheme, _, given = headers.get("authorization", "").partition(" ")
    return given.strip() if scheme.lower() == "bearer" else ""


def _cookie(headers: Headers) -> str:
    pairs = (pair.strip().partition("=") for pair in headers.get("cookie", "").split(";"))
    return next((value for name, _, value in pairs if name == COOKIE), "")


def _same_origin(headers: Headers) -> bool:
    """Browsers say where a request comes from; other programs need not."""
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    return origin is None or urlsplit(origin).netloc == headers.get("host")
