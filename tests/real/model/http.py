"""The HTTP under the scripted model: bodies in, JSON or event streams out, on one connection.

Only what the programs need, on top of the standard library's server: bodies with a length or in
chunks, and answers that can be cut off in the middle.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

from tests.real.model.conversation import NotUnderstood

BODY_BYTES = 64 << 20
IDLE_SECONDS = 120.0


class Exchange(BaseHTTPRequestHandler):
    """One connection, with words for what happens on it; the server says what is answered."""

    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS

    def do_GET(self) -> None:
        cast("Listener", self.server).answer(self)

    do_POST = do_HEAD = do_PUT = do_DELETE = do_GET  # noqa: N815 - the names that are looked for

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Said of what is not even HTTP."""
        cast("Listener", self.server).complain(f"{self.requestline!r:.80}: {message}")
        super().send_error(code, message, explain)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name above
        """Tests read `requests`, not a log."""

    def body(self) -> bytes:
        """Raises NotUnderstood."""
        if encoding := self.headers.get("content-encoding"):
            raise NotUnderstood(f"a body in the encoding {encoding}")
        if "chunked" in (self.headers.get("transfer-encoding") or ""):
            return self._chunks()
        length = int(self.headers.get("content-length") or 0)
        if length > BODY_BYTES:
            raise NotUnderstood(f"a body of {length} bytes")
        data = self.rfile.read(length)
        if len(data) < length:
            raise ConnectionAbortedError
        return data

    def _chunks(self) -> bytes:
        parts, size = [], 0
        while length := int(self._line(), 16):
            size += length
            if size > BODY_BYTES:
                raise NotUnderstood(f"a body of more than {size} bytes")
            parts.append(self.rfile.read(length))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _line(self) -> bytes:
        line = self.rfile.readline()
        if not line:
            raise ConnectionAbortedError
        return line

    def say_json(self, status: int, value: Any, headers: Mapping[str, str] | None = None) -> None:
        data = json.dumps(value).encode()
        self._open(status, "application/json", {**(headers or {}), "content-length": len(data)})
        if self.command != "HEAD":
            self.wfile.write(data)

    def open_stream(self, headers: Mapping[str, str]) -> None:
        self._open(200, "text/event-stream", {**headers, "transfer-encoding": "chunked"})

    def _open(self, status: int, kind: str, headers: Mapping[str, object]) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        for name, value in headers.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.flush()

    def say_event(self, event: Mapping[str, Any]) -> None:
        data = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def close_stream(self) -> None:
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def cut(self) -> None:
        self.close_connection = True
        hang_up(self.connection)


def hang_up(connection: socket.socket) -> None:
    with suppress(OSError):  # the other side was faster
        connection.shutdown(socket.SHUT_RDWR)


class Listener(ThreadingHTTPServer):
    """Listens in the network namespace of the thread that makes it, whichever thread serves."""

    daemon_threads = False
    request_queue_size = 128

    def __init__(self, answer: Callable[[Exchange], None], complain: Callable[[str], None]) -> None:
        super().__init__(("127.0.0.1", 0), Exchange)
        self.answer = answer
        self.complain = complain
        self._open: list[socket.socket] = []
        self._open_lock = threading.Lock()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._open_lock:
            self._open.append(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._open_lock:
            self._open.remove(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away between two requests is nothing to tell."""
        del request, client_address
        problem = sys.exception()
        if not isinstance(problem, ConnectionError | TimeoutError):
            self.complain(f"a connection ended by {problem!r}")

    def hang_up(self) -> None:
        with self._open_lock:
            for connection in self._open:
                hang_up(connection)
