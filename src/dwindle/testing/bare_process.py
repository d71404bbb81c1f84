"""A containment that contains nothing: it runs a command as it is, for programs one trusts.

Not for agents at work. It kills the process group at the end, which is what can be done without
help of the kernel, and calls itself weak.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable
from typing import Final

from dwindle.ports.process import Captured, Command, Ended, Strength

LONGEST_LINE: Final = 1 << 20
"""What is longer comes in pieces."""


class BareProcess:
    strength = Strength.WEAK
    mechanism = "none"

    async def run(
        self, command: Command, watch: Callable[[bytes], str | None] | None = None
    ) -> Ended:
        began = time.monotonic()
        try:
            process = await asyncio.create_subprocess_exec(
                *command.argv,
                cwd=command.cwd,
                env={**os.environ, **command.environment},
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            return Ended(error=f"{command.argv[0]} could not be started: {error.strerror}")
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        said: list[str] = []

        def ended_by(sentence: str) -> None:
            said.append(sentence)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

        lines = None if watch is None else _Lines(watch, ended_by)
        readers = [
            asyncio.ensure_future(_captured(process.stdout, command.output_bytes, lines)),
            asyncio.ensure_future(_captured(process.stderr, command.output_bytes)),
        ]
        timed_out = False
        try:
            async with asyncio.timeout(command.timeout_seconds):
                await asyncio.gather(_feed(process.stdin, command.stdin), process.wait())
        except TimeoutError:
            timed_out = True
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        code = await process.wait()
        stdout, stderr = await asyncio.gather(*readers)
        return Ended(
            exit_code=code if code >= 0 else None,
            signal=-code if code < 0 else None,
            timed_out=timed_out,
            error=said[0] if said else "",
            seconds=time.monotonic() - began,
            stdout=stdout,
            stderr=stderr,
        )


async def _feed(stdin: asyncio.StreamWriter, data: bytes) -> None:
    """The program need not read it."""
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        stdin.write(data)
        await stdin.drain()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        stdin.close()
        await stdin.wait_closed()


class _Lines:
    """Hands lines to the watcher, until it returns a reason to end the program."""

    def __init__(
        self, watch: Callable[[bytes], str | None], ended_by: Callable[[str], None]
    ) -> None:
        self._watch: Callable[[bytes], str | None] | None = watch
        self._ended_by = ended_by
        self._rest = bytearray()

    def add(self, data: bytes) -> None:
        *lines, rest = data.split(b"\n")
        for line in lines:
            whole = bytes(self._rest) + line
            self._rest.clear()
            self._see(whole)
        self._rest += rest
        if len(self._rest) >= LONGEST_LINE:
            self.end()

    def end(self) -> None:
        """Also the rest of a line that is longer than what is kept."""
        if self._rest:
            self._see(bytes(self._rest))
            self._rest.clear()

    def _see(self, line: bytes) -> None:
        sentence = self._watch(line) if self._watch else None
        if sentence:
            self._watch = None
            self._ended_by(sentence)


async def _captured(
    stream: asyncio.StreamReader, most: int, lines: _Lines | None = None
) -> Captured:
    head, tail, size = b"", b"", 0
    room = most // 2
    while chunk := await stream.read(1 << 16):
        size += len(chunk)
        if lines is not None:
            lines.add(chunk)
        fits = room - len(head)
        head, rest = head + chunk[:fits], chunk[fits:]
        tail = (tail + rest)[-(most - room) :]
    if lines is not None:
        lines.end()
    return Captured(head=head, tail=tail, size=size)
