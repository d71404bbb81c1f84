"""Runs a command with nothing around it: enough to try checks with real programs."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from dwindle.ports.process import Captured, Command, Ended, Strength


@dataclass(slots=True)
class PlainContainment:
    path: str = os.defpath
    """What PATH is inside."""
    commands: list[Command] = field(default_factory=list)
    """Everything that was asked for, in order."""
    strength: Strength = Strength.WEAK
    mechanism: str = "none"

    async def run(
        self, command: Command, watch: Callable[[bytes], str | None] | None = None
    ) -> Ended:
        assert watch is None
        self.commands.append(command)
        began = time.monotonic()
        try:
            process = await asyncio.create_subprocess_exec(
                *command.argv,
                cwd=command.cwd,
                env={"PATH": self.path, **command.environment},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as problem:
            return Ended(error=str(problem))
        try:
            out, err = await asyncio.wait_for(process.communicate(), command.timeout_seconds)
        except TimeoutError:
            os.killpg(process.pid, signal.SIGKILL)
            await process.communicate()
            return Ended(timed_out=True, seconds=time.monotonic() - began)
        code = process.returncode
        assert code is not None
        return Ended(
            exit_code=code if code >= 0 else None,
            signal=-code if code < 0 else None,
            seconds=time.monotonic() - began,
            stdout=_captured(out, command.output_bytes),
            stderr=_captured(err, command.output_bytes),
        )


def _captured(data: bytes, most: int) -> Captured:
    if len(data) <= most:
        return Captured(head=data, size=len(data))
    half = most // 2
    return Captured(head=data[:half], tail=data[-half:], size=len(data))
