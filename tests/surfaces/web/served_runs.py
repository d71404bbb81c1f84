"""Runs that are looked at: a repository, its run, and the page, each a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.surfaces.command import PLAIN

ENVIRONMENT = {**PLAIN, **{n: v for n, v in os.environ.items() if n.startswith("COVERAGE_")}}
PATIENCE = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A page that is there."""

    link: str

    @property
    def port(self) -> int:
        return urlsplit(self.link).port or 0

    @property
    def token(self) -> str:
        return self.link.partition("token=")[2]

    def ask(
        self,
        path: str,
        body: object = None,
        *,
        method: str = "",
        **headers: str,
    ) -> tuple[int, dict[str, str], Any]:
        """Status, headers and content; JSON is read."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        response, data = self._asked(path, body, method, named)
        kind = response.getheader("content-type", "")
        content = json.loads(data) if kind.startswith("application/json") else data.decode()
        return response.status, {n.lower(): v for n, v in response.getheaders()}, content

    def _asked(
        self, path: str, body: object, method: str, headers: dict[str, str]
    ) -> tuple[HTTPResponse, bytes]:
        line = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        data = None if body is None else json.dumps(body).encode()
        if data is not None:
            headers = {"content-type": "application/json", **headers}
        try:
            line.request(method or ("GET" if body is None else "POST"), path, data, headers)
            response = line.getresponse()
            return response, response.read()
        finally:
            line.close()

    def do(self, path: str, body: object) -> tuple[int, Any]:
        """As the page does: with the token."""
        status, _, content = self.ask(path, body, authorization=f"Bearer {self.token}")
        return status, content


@contextmanager
def served(folder: Path, *words: str, port: int = 0) -> Iterator[Served]:
    """`dwindle serve` until the end of the test."""
    line = [sys.executable, "-m", "dwindle", "serve", "--port", str(port), *words]
    with subprocess.Popen(line, cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield Served(link=process.stdout.readline().decode().strip())
        finally:
            process.send_signal(signal.SIGINT)
            try:
                ended = process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        assert ended == 0


@contextmanager
def running(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """`dwindle run`, ended if the test does not wait for it."""
    line = [sys.executable, "-m", "dwindle", "run"]
    with subprocess.Popen(
        line, cwd=folder, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            process.wait(PATIENCE)


def until(found: Callable[[], bool], what: str, patience: float = PATIENCE) -> None:
    end = time.monotonic() + patience
    while not found():
        assert time.monotonic() < end, f"waited in vain for: {what}"
        time.sleep(0.05)
