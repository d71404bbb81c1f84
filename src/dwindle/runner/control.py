"""How people reach a running loop: a socket beside the plan's lock.

A line is an event in the journal's form; the answer is a line of JSON and comes when the request is
on record. That the run has ended is seen from its lock, which is let go then. The socket is
addressed through its folder's descriptor, because the path of a socket may be 107 bytes long and
that of a repository longer.
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
from dwindle.runner.crew import News

NAME = "control.sock"
LONGEST = 1 << 20


Decode = Callable[[bytes], Event]
"""From the journal's form of an event to the event; whatever it raises is a refusal."""

MAY_BE_ASKED = (StopRequested, Redirected, RedirectRequested)
PATIENCE = 10.0
"""Seconds that a run waits, paused, for a person who has gone."""


class Control:
    """The listening end; `asked` is the loop's queue."""

    def __init__(self, folder: Path, asked: asyncio.Queue[News], decode: Decode) -> None:
        self._folder = folder
        self._asked = asked
        self._decode = decode
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._clear()
        with _short_path(self._folder) as path:
            self._server = await asyncio.start_unix_server(self._answer, path, limit=LONGEST)
        (self._folder / NAME).chmod(0o600)
        return self

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
        (self._folder / NAME).unlink(missing_ok=True)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One person: a request a line, until they hang up. Whoever pauses must come back."""
        paused = False
        try:
            while line := await reader.readline():
                event, said = await self._taken(line)
                if said["ok"] and isinstance(event, RedirectRequested):
                    paused = event.active
                if said["ok"] and isinstance(event, Redirected):
                    paused = False
                writer.write((json.dumps(said) + "\n").encode())
                await writer.drain()
        except (OSError, ValueError):
            pass  # whoever asked is gone
        except asyncio.CancelledError:
            return  # the run is over
        finally:
            writer.close()
        if paused:
            await asyncio.sleep(PATIENCE)
            reason = "the person who wanted to redirect is gone; `dwindle redirect` takes it up"
            await self._put(StopRequested(reason=reason))

    async def _taken(self, line: bytes) -> tuple[Event | None, dict[str, Any]]:
        try:
            event = self._decode(line)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with it, it is no request
            return None, {"ok": False, "why": f"not a request: {error}"}
        if not isinstance(event, MAY_BE_ASKED):
            return event, {"ok": False, "why": f"nobody may ask for {type(event).__name__}"}
        refusal = await self._put(event)
        return event, {"ok": refusal is None, "why": str(refusal or "")}

    async def _put(self, event: Event) -> IllegalEvent | None:
        done: asyncio.Future[IllegalEvent | None] = asyncio.get_running_loop().create_future()
        await self._asked.put(News(event=event, may_be_refused=True, done=done))
        return await done


class Line:
    """The asking end: one connection to a loop that runs; None if nobody listens."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._answers = connected.makefile("rb")

    @classmethod
    def to(cls, folder: Path, seconds: float = 10.0) -> Line | None:
        connected = socket.socket(socket.AF_UNIX)
        connected.settimeout(seconds)
        try:
            with _short_path(folder) as path:
                connected.connect(path)
        except OSError:
            connected.close()
            return None
        return cls(connected)

    def ask(self, event: bytes) -> dict[str, Any] | None:
        """Send the journal's form of an event; the answer, or None if the loop is gone."""
        try:
            self._socket.sendall(event + b"\n")
            answer = self._answers.readline(LONGEST)
        except OSError:
            return None
        found = json.loads(answer) if answer else None
        return found if isinstance(found, dict) else None

    def close(self) -> None:
        self._answers.close()
        self._socket.close()


@contextlib.contextmanager
def _short_path(folder: Path) -> Iterator[str]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/{NAME}"
    finally:
        os.close(descriptor)
