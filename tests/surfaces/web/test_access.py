"""Who is let in, and who is not: names, pages, tokens."""

from __future__ import annotations

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send
from tests.surfaces.web.asgi import HOST, asked

from dwindle.surfaces.web.access import AccessControl, AccessPolicy

LOCAL = AccessPolicy(token="a-token")  # noqa: S106 - for the test
OUTSIDE = AccessPolicy(host="0.0.0.0", names=("box.example",), token="a-token")  # noqa: S104, S106
BEARER = "Bearer a-token"


async def inside(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse("inside")(scope, receive, send)


def status(access: AccessPolicy, path: str, body: object = None, **headers: str) -> int:
    return asked(AccessControl(inside, access), path, body, **headers).status


@pytest.mark.parametrize("host", [HOST, "localhost", "localhost:1", "[::1]:8177", "LOCALHOST.:9"])
def test_on_loopback_anything_may_be_read_under_a_name_of_ours(host: str) -> None:
    assert status(LOCAL, "/api/runs", host=host) == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8177", "127.0.0.1.evil.example", "", "[", "8.8.8.8"]
)
def test_a_name_that_an_attacker_points_at_us_reads_nothing(host: str) -> None:
    answer = asked(AccessControl(inside, LOCAL), "/api/runs", host=host, authorization=BEARER)
    assert (answer.status, answer.body) == (421, b"unknown host name\n")


def test_changing_something_needs_the_token() -> None:
    assert status(LOCAL, "/api/runs/R/stop", {}) == 401
    assert status(LOCAL, "/api/runs/R/stop", {}, authorization="Bearer another") == 401
    assert status(LOCAL, "/api/runs/R/stop", {}, authorization="Basic a-token") == 401
    assert status(LOCAL, "/api/runs/R/stop?token=a-token", {}) == 401
    assert status(LOCAL, "/api/runs/R/stop", {}, cookie=f"dwindle-page={LOCAL.page_cookie}") == 401
    assert status(LOCAL, "/api/runs/R/stop", {}, authorization=BEARER) == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
    ],
)
def test_another_page_changes_nothing_even_with_the_token(headers: dict[str, str]) -> None:
    assert status(LOCAL, "/api/runs/R/stop", {}, authorization=BEARER, **headers) == 403


def test_our_own_page_does() -> None:
    mine = {"origin": f"http://{HOST}", "sec_fetch_site": "same-origin"}
    assert status(LOCAL, "/api/runs/R/stop", {}, authorization=BEARER, **mine) == 200


def test_every_answer_forbids_foreign_scripts_frames_and_caches() -> None:
    for path, body in (("/", None), ("/api/runs/R/stop", {})):
        headers = asked(AccessControl(inside, LOCAL), path, body).headers
        assert "default-src 'none'; script-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-frame-options"] == "DENY"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in headers


def test_elsewhere_nothing_is_had_without_the_token() -> None:
    for path in ("/", "/static/main.js", "/api/runs", "/?token=", "/?token=wrong"):
        assert status(OUTSIDE, path, host="192.0.2.7:8177") == 401
    assert status(OUTSIDE, "/api/runs", host="192.0.2.7", authorization=BEARER) == 200
    assert status(OUTSIDE, "/api/runs?token=a-token", host="192.0.2.7") == 401


def test_elsewhere_the_link_opens_the_page_and_leaves_a_cookie_that_opens_nothing_more() -> None:
    linked = asked(AccessControl(inside, OUTSIDE), "/?token=a-token", host="box.example")
    assert linked.status == 200
    cookie = linked.headers["set-cookie"]
    assert cookie == f"dwindle-page={OUTSIDE.page_cookie}; Path=/; HttpOnly; SameSite=Strict"
    assert "a-token" not in cookie
    mine = {"host": "box.example", "cookie": cookie.partition(";")[0]}
    assert status(OUTSIDE, "/static/main.js", **mine) == 200
    assert status(OUTSIDE, "/api/runs", **mine) == 401
    assert status(OUTSIDE, "/api/runs/R/stop", {}, **mine) == 401


def test_elsewhere_addresses_and_known_names_are_ours_and_other_names_are_not() -> None:
    known = [
        h
        for h in ("192.0.2.7", "box.example", "[2001:db8::1]:9", "evil.example")
        if OUTSIDE.knows(h)
    ]
    assert known == ["192.0.2.7", "box.example", "[2001:db8::1]:9"]


def test_tokens_are_long_and_never_the_same() -> None:
    assert len(AccessPolicy().token) >= 32
    assert AccessPolicy().token != AccessPolicy().token
