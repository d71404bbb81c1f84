"""Posting to a webhook, on loopback: what arrives, and failures that do not disturb the run."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.app.test_notifier import SECRET, a_run, script

from dwindle import __version__
from dwindle.adapters.formats.config.settings import NotifySettings


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@dataclass
class Heard:
    path: str
    headers: dict[str, str]
    body: Any


@contextmanager
def listening(
    status: int = 204, *, hangs: float = 0, to: str = ""
) -> Iterator[tuple[int, list[Heard]]]:
    heard: list[Heard] = []
    leave = threading.Event()

    class Answers(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            heard.append(Heard(self.path, dict(self.headers), json.loads(body)))
            leave.wait(hangs)
            self.send_response(status)
            if to:
                self.send_header("Location", to)
            self.end_headers()

        def log_message(self, *_words: object) -> None:
            """Quietly."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server.server_address[1], heard
    finally:
        leave.set()
        server.shutdown()
        server.server_close()


def hook(port: int) -> NotifySettings:
    return NotifySettings(webhook=f"http://127.0.0.1:{port}/{SECRET}?x=1", timeout_seconds=1)


def test_a_webhook_is_posted_to(tmp_path: Path) -> None:
    with listening() as (port, heard):
        told = a_run(hook(port), tmp_path, notices=2)
    assert told.said == []
    assert [(one.path, one.body["event"]) for one in heard] == [
        (f"/{SECRET}?x=1", "budget"),
        (f"/{SECRET}?x=1", "completed"),
    ]
    assert heard[0].headers["Content-Type"] == "application/json"
    assert heard[0].headers["User-Agent"] == f"dwindle/{__version__}"


def test_its_address_may_be_in_a_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = NotifySettings(webhook_env="MY_HOOK")
    monkeypatch.delenv("MY_HOOK", raising=False)
    assert a_run(settings, tmp_path).said == [
        "dwindle: [notify] webhook_env: MY_HOOK is not set; the run is not affected"
    ]
    monkeypatch.setenv("MY_HOOK", f"file:///{SECRET}")
    assert a_run(settings, tmp_path).said == [
        (
            "dwindle: [notify] webhook_env: MY_HOOK holds no address, http or https;"
            " the run is not affected"
        )
    ]
    with listening() as (port, heard):
        monkeypatch.setenv("MY_HOOK", f"http://127.0.0.1:{port}/")
        assert a_run(settings, tmp_path).said == []
    assert [one.body["event"] for one in heard] == ["completed"]


@pytest.mark.parametrize("status", [404, 500, 302])
def test_an_answer_that_is_no_yes(tmp_path: Path, status: int) -> None:
    """Another place that it names is not gone to."""
    with listening() as (elsewhere, heard):
        away = f"http://127.0.0.1:{elsewhere}/"
        with listening(status, to=away) as (port, _):
            told = a_run(hook(port), tmp_path, notices=3)
    assert told.said == [
        f"dwindle: [notify] webhook: the answer was {status}; the run is not affected"
    ]
    assert heard == []


def test_no_server_listens(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        told = a_run(hook(unused.getsockname()[1]), tmp_path, notices=3)
    assert told.said == ["dwindle: [notify] webhook: Connection refused; the run is not affected"]


@pytest.mark.parametrize(
    "address",
    [f"http://[::1/{SECRET}", f"http://127.0.0.1:99999/{SECRET}", f"http:///{SECRET}",
     f"http://h/{SECRET} x", f"http://h/{SECRET}\n", f"http://h/{SECRET}é", f"http://a..b/{SECRET}"],
)  # fmt: skip
def test_rubbish_for_an_address_tells_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("MY_HOOK", address)
    [said] = a_run(NotifySettings(webhook_env="MY_HOOK", timeout_seconds=2), tmp_path).said
    assert said.startswith("dwindle: [notify] webhook: ")
    assert SECRET not in said


def test_a_webhook_that_hangs_does_not_hold_up_the_run(tmp_path: Path) -> None:
    with listening(hangs=30) as (port, _):
        told = a_run(replace(hook(port), timeout_seconds=60), tmp_path, last_wait=0.5)
    assert told.said == [
        (
            "dwindle: [notify] webhook: the run is over, and not every notice could be delivered;"
            " the run is not affected"
        )
    ]
    assert told.seconds < 0.4
    assert told.all_seconds < 3


def test_a_webhook_that_drips_has_one_time_for_all_of_it(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            client, _ = server.accept()
            with client:
                try:
                    for _ in range(100):
                        client.sendall(b"H")
                        time.sleep(0.2)
                except OSError:
                    return

        threading.Thread(target=drip, daemon=True).start()
        told = a_run(hook(server.getsockname()[1]), tmp_path)
    assert told.said == ["dwindle: [notify] webhook: no answer within 1 s; the run is not affected"]


def test_both_are_told_and_one_does_not_wait_for_the_other(tmp_path: Path) -> None:
    command = script(tmp_path, "sleep 60")
    with listening() as (port, heard):
        settings = replace(hook(port), command=command, timeout_seconds=60)
        told = a_run(settings, tmp_path, last_wait=1.0)
    assert [one.body["event"] for one in heard] == ["completed"]
    assert told.said == [
        (
            "dwindle: [notify] command: the run is over, and not every notice could be delivered;"
            " the run is not affected"
        )
    ]
