"""The control socket: how `dwindle stop` and `dwindle redirect` reach a running loop.

A request is one line: an event in the journal's form, or a list of redirects that are one change.
The answer is one line of JSON, sent when the request is on record. A change is accepted as a whole
or not at all, and the loop starts nothing in the middle of it. A client sees the end of the run by
the lock of the plan, which is released then. The socket is addressed through its folder's
descriptor, because its path may have at most 107 bytes.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from dwindle.kernel.errors import IllegalEvent
from dwindle.kernel.events import Event, Redirected, RedirectRequested, StopRequested
from dwindle.kernel.model import PlanKind
from dwindle.runner.inbox import Inbox, deliver
from dwindle.runner.sockets import SOCKETS, is_contained

LONGEST = 1 << 26
"""Bytes of a line: room for a whole plan, rewritten."""


Decode = Callable[[bytes], Event]
"""Decodes an event of the journal; any exception is a refusal."""

MAY_BE_ASKED = (StopRequested, Redirected, RedirectRequested)
PATIENCE = 10.0
"""Seconds that a paused run waits after the client has gone."""
GONE = "the person who wanted to redirect is gone; `dwindle redirect` takes it up"
FROM_SANDBOX = {"ok": False, "why": "requests from inside of a sandbox are refused"}


class Pause:
    """Which connection has paused the run: at most one, the last that asked."""

    def __init__(self) -> None:
        self.holder: object = None


class ControlSocket:
    """The server side; requests go to the inbox of the loop."""

    def __init__(
        self,
        folder: Path,
        inbox: Inbox,
        decode: Decode,
        pause: Pause | None = None,
        *,
        kind: PlanKind = PlanKind.GRAPH,
    ) -> None:
        self._folder = folder
        self._kind = kind
        self._name = SOCKETS[kind]
        self._inbox = inbox
        self._decode = decode
        self._pause = pause or Pause()
        self._server: asyncio.Server | None = None
        self.problem: OSError | None = None
        """Why the socket could not be made."""

    async def __aenter__(self) -> Self:
        """A graph run can also be reached by flags in its plan; a tree run needs the socket."""
        try:
            await self._listen()
        except OSError as problem:
            if self._kind is PlanKind.TREE:
                raise
            self.problem = problem
        return self

    async def _listen(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._clear()
        with _short_path(self._folder, self._name) as path:
            self._server = await asyncio.start_unix_server(self._answer, path, limit=LONGEST)
        (self._folder / self._name).chmod(0o600)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        if self._server is not None:
            self._server.close()
            self._clear()

    def _clear(self) -> None:
        """Remove our socket, or the one that a killed runner left."""
        (self._folder / self._name).unlink(missing_ok=True)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one client. A pause whose client is gone ends the run after `PATIENCE`."""
        me = object()
        is_person = not is_contained(writer.get_extra_info("socket"))
        try:
            while line := await reader.readline():
                said = await self._handle(line, me) if is_person else FROM_SANDBOX
                writer.write((json.dumps(said) + "\n").encode())
                await writer.drain()
        except (OSError, ValueError):
            pass  # the client is gone
        except asyncio.CancelledError:
            return  # the run is over
        finally:
            writer.close()
        if self._pause.holder is not me:
            return
        await asyncio.sleep(PATIENCE)
        if self._pause.holder is me:  # no other client has taken the pause over
            await self._put(StopRequested(reason=GONE))

    async def _handle(self, line: bytes, me: object) -> dict[str, Any]:
        try:
            events = self._decode_line(line)
        except Exception as error:  # noqa: BLE001 - any fault makes it an invalid request
            return {"ok": False, "why": f"not a request: {error}"}
        for event in events:
            if not isinstance(event, MAY_BE_ASKED):
                return {"ok": False, "why": f"{type(event).__name__} cannot be requested"}
        event, *rest = events
        also = tuple(one for one in rest if isinstance(one, Redirected))
        if rest and (len(also) < len(rest) or not isinstance(event, Redirected)):
            return {"ok": False, "why": "only redirects may be asked for together"}
        refusal = await self._put(event, also)
        if refusal is None and isinstance(event, (Redirected, RedirectRequested)):
            holds = isinstance(event, RedirectRequested) and event.active
            self._pause.holder = me if holds else None
        return {"ok": refusal is None, "why": str(refusal or "")}

    def _decode_line(self, line: bytes) -> tuple[Event, ...]:
        if not line.startswith(b"["):
            return (self._decode(line),)
        events = tuple(self._decode(json.dumps(one).encode()) for one in json.loads(line))
        if not events:
            raise ValueError("the list is empty")
        return events

    async def _put(self, event: Event, also: tuple[Redirected, ...] = ()) -> IllegalEvent | None:
        return await deliver(self._inbox, event, also, may_be_refused=True)


class ControlClient:
    """The client side: one connection to a running loop; `to` returns None if none listens."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._answers = connected.makefile("rb")

    @classmethod
    def to(
        cls, folder: Path, seconds: float = 10.0, *, kind: PlanKind = PlanKind.GRAPH
    ) -> ControlClient | None:
        connected = socket.socket(socket.AF_UNIX)
        connected.settimeout(seconds)
        try:
            with _short_path(folder, SOCKETS[kind]) as path:
                connected.connect(path)
        except OSError:
            connected.close()
            return None
        return cls(connected)

    def ask(self, *events: bytes) -> dict[str, Any] | None:
        """Send the journal's form of events; the answer, or None if the loop is gone."""
        line = events[0] if len(events) == 1 else b"[" + b",".join(events) + b"]"
        try:
            self._socket.sendall(line + b"\n")
            answer = self._answers.readline(LONGEST)
        except OSError:
            return None
        found = json.loads(answer) if answer else None
        return found if isinstance(found, dict) else None

    def close(self) -> None:
        self._answers.close()
        self._socket.close()


@contextlib.contextmanager
def _short_path(folder: Path, name: str) -> Iterator[str]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/{name}"
    finally:
        os.close(descriptor)
