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

from dwindle.ports.process import Captured, Command, Ended, Strength


class BareProcess:
    strength = Strength.WEAK
    mechanism = "none"

    async def run(
        self, command: Command, watch: Callable[[bytes], str | None] | None = None
    ) -> Ended:
        del watch
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
        readers = [
            asyncio.ensure_future(_captured(stream, command.output_bytes))
            for stream in (process.stdout, process.stderr)
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
            seconds=time.monotonic() - began,
            stdout=stdout,
            stderr=stderr,
        )


async def _feed(stdin: asyncio.StreamWriter, data: bytes) -> None:
    """Whoever does not want to read need not."""
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        stdin.write(data)
        await stdin.drain()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        stdin.close()
        await stdin.wait_closed()


async def _captured(stream: asyncio.StreamReader, most: int) -> Captured:
    head, tail, size = b"", b"", 0
    room = most // 2
    while chunk := await stream.read(1 << 16):
        size += len(chunk)
        fits = room - len(head)
        head, rest = head + chunk[:fits], chunk[fits:]
        tail = (tail + rest)[-(most - room) :]
    return Captured(head=head, tail=tail, size=size)
