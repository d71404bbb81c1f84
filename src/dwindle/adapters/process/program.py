"""Running one program to its end: start it, feed it, read it, end it, reap it.

This is written on bare descriptors rather than on `asyncio.subprocess`, for three reasons. Output
has to stay bounded while it is read to the last byte. The end of the program is what ends a run,
not the end of its output: a process that inherited the pipe may hold it open for ever. And a
cancelled run must not return before the killing is done, not even when it is cancelled again.

Programs are started from the thread that runs the event loop. That has to be the main thread: the
kernel sends the signal for a dead parent when the *thread* that forked ends.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable
from contextlib import closing, suppress

from dwindle.adapters.process.attachment import Attachment, ProgramExit
from dwindle.adapters.process.capture import Output
from dwindle.adapters.process.pipes import (
    Feeder,
    Reader,
    is_readable,
    pipes,
    start,
    when_gone,
)
from dwindle.ports.process import Command, Ended

GRACE_SECONDS = 0.2
"""Between asking a program to end and killing it."""

KILLED_SECONDS = 5.0
"""A killed process that is still there after this hangs in the kernel; waiting on is useless."""

Watch = Callable[[bytes], str | None]


async def run_program(command: Command, watch: Watch | None, attachment: Attachment) -> Ended:
    """Run to the end, the timeout, or the watcher's word; nothing of it is left afterwards.

    Raises only what `watch` raises.
    """
    loop = asyncio.get_running_loop()
    with closing(attachment):
        if not command.argv:
            return Ended(error="there is no program to run")
        output = Output(
            limit=command.output_bytes,
            log=command.log,
            watch=watch,
            loop=loop,
            secrets=command.secrets,
        )
        with closing(output):
            began = time.monotonic()
            try:
                program = _Program(command, attachment, output, loop)
            except (OSError, ValueError) as problem:
                return Ended(error=_sentence(problem))
            with closing(program):
                await program.ended()
            return program.account(time.monotonic() - began)


def _sentence(problem: OSError | ValueError) -> str:
    if isinstance(problem, OSError) and problem.strerror:
        return f"{problem.filename}: {problem.strerror}" if problem.filename else problem.strerror
    return str(problem)


class _Program:
    """One running program and the descriptors that tie it to the event loop."""

    def __init__(
        self,
        command: Command,
        attachment: Attachment,
        output: Output,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._command = command
        self._attachment = attachment
        self._output = output
        self._loop = loop
        self._said = ""
        self._mistake: BaseException | None = None
        self._timed_out = False
        self._survivors = False
        # Resolved when there is a reason to end: the starter is gone, or it shall go.
        self._over: asyncio.Future[None] = loop.create_future()
        self._exited: asyncio.Future[None] = loop.create_future()
        self._pid: int | None = None  # until it is reaped
        self._returncode = 0
        self._pidfd: int | None = None
        self._launch = attachment.launch()
        self._is_open = not self._launch.gated
        self._readers: tuple[Reader, ...] = ()
        self._feeder: Feeder | None = None
        try:
            self._begin()
        except BaseException:
            self.close()
            raise

    # --- how it begins ---------------------------------------------------------------------------

    def _begin(self) -> None:
        fed = bool(self._command.stdin) or self._launch.gated
        (feed, out, err), theirs = pipes(fed=fed)
        try:
            self._feeder = None if feed is None else Feeder(self._loop, feed)
            self._readers = (
                Reader(self._loop, out, self._on_stdout),
                Reader(self._loop, err, self._output.take_stderr),
            )
            self._pid = start(self._command, self._launch, theirs)
        finally:
            for fd in theirs:
                if fd is not None:
                    os.close(fd)
        try:
            self._attachment.attach(self._pid)
            self._pidfd = when_gone(self._loop, self._pid, self._on_exit)
            for reader in self._readers:
                reader.listen()
        except BaseException:
            self._attachment.kill()
            self._reap()
            raise
        if self._is_open and self._feeder is not None:
            self._feeder.feed(self._command.stdin)

    def _reap(self) -> None:
        if self._pid is None:
            return
        with suppress(ChildProcessError):
            self._returncode = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        self._pid = None

    # --- what happens ----------------------------------------------------------------------------

    def _on_stdout(self, data: bytes) -> None:
        if not self._is_open:
            self._is_open = True
            if self._launch.before_start is not None:
                self._launch.before_start()
            if self._feeder is not None:
                self._feeder.feed(b"go\n" + self._command.stdin)
            data = data.removeprefix(b"\n")
        self._listen(lambda: self._output.take_stdout(data))

    def _listen(self, watcher: Callable[[], str | None]) -> None:
        """A watcher's mistake ends the program too, and is raised when nothing is left of it."""
        try:
            said = watcher()
        except Exception as mistake:  # noqa: BLE001 - raised again in `ended`
            self._mistake = mistake
        else:
            if not said:
                return
            self._said = said
        self._output.unwatch()
        if not self._over.done():
            self._over.set_result(None)

    def _on_exit(self) -> None:
        for future in (self._exited, self._over):
            if not future.done():
                future.set_result(None)

    def _on_timeout(self) -> None:
        if not self._over.done():
            self._timed_out = True
            self._over.set_result(None)

    # --- the end ---------------------------------------------------------------------------------

    async def ended(self) -> None:
        timer = self._loop.call_later(max(self._command.timeout_seconds, 0.0), self._on_timeout)
        cancelled: asyncio.CancelledError | None = None
        try:
            await self._over
        except asyncio.CancelledError as reason:
            cancelled = reason
        finally:
            timer.cancel()
        if not self._exited.done():
            cancelled = await self._stop(cancelled)
        else:
            cancelled = await self._wait_for_last(cancelled)
        if self._exited.done():
            self._reap()
        if cancelled is not None:
            raise cancelled
        for reader in self._readers:
            reader.drain()
        self._listen(self._output.take_rest)
        if not (self._said or self._mistake or self._timed_out):
            self._listen(self._output.end)
        if self._mistake is not None:
            raise self._mistake

    async def _stop(
        self, cancelled: asyncio.CancelledError | None
    ) -> asyncio.CancelledError | None:
        """Ask, wait a moment, kill. Another cancellation cuts the moment short, nothing else."""
        if self._is_open:  # else no program has begun
            self._signal(signal.SIGTERM)
            try:
                await asyncio.wait((self._exited,), timeout=GRACE_SECONDS)
            except asyncio.CancelledError as again:
                cancelled = again
        self._signal(signal.SIGKILL)
        cancelled = await self._wait_despite_cancel(self._exited, cancelled)
        if not self._exited.done():
            self._survivors = True
            return cancelled
        return await self._wait_for_last(cancelled)

    def _signal(self, number: int) -> None:
        """Ask it to end, or end it, if it has not."""
        if self._pid is None:
            return
        if number == signal.SIGKILL:
            self._attachment.kill()
        else:
            self._attachment.terminate()

    async def _wait_for_last(
        self, cancelled: asyncio.CancelledError | None
    ) -> asyncio.CancelledError | None:
        """The starter is gone, and not reaped: its number is still its own."""
        if self._pid is not None and (last := self._attachment.last_process()) is not None:
            return await self._wait_for_pidfd(last, cancelled)
        return cancelled

    async def _wait_for_pidfd(
        self, last: int, cancelled: asyncio.CancelledError | None
    ) -> asyncio.CancelledError | None:
        """Wait until the process behind the pidfd is gone; most often it is."""
        if is_readable(last):
            return cancelled
        gone: asyncio.Future[None] = self._loop.create_future()

        def is_gone() -> None:
            self._loop.remove_reader(last)
            gone.set_result(None)

        self._loop.add_reader(last, is_gone)
        try:
            cancelled = await self._wait_despite_cancel(gone, cancelled)
        finally:
            self._loop.remove_reader(last)
        self._survivors = not gone.done()
        return cancelled

    async def _wait_despite_cancel(
        self, future: asyncio.Future[None], cancelled: asyncio.CancelledError | None
    ) -> asyncio.CancelledError | None:
        """Wait for a killed process, also if this task is cancelled meanwhile."""
        deadline = self._loop.time() + KILLED_SECONDS
        while not future.done() and (left := deadline - self._loop.time()) > 0:
            try:
                await asyncio.wait((future,), timeout=left)
            except asyncio.CancelledError as again:
                cancelled = again
        return cancelled

    def account(self, seconds: float) -> Ended:
        stdout, stderr = self._output.stdout.captured(), self._output.stderr.captured()
        if self._exited.done():
            found = self._attachment.program_exit(self._returncode, stderr, began=self._is_open)
        else:
            found = ProgramExit()
        error = self._said or found.error
        if self._output.problem is not None:
            error = error or f"the log cannot be written: {_sentence(self._output.problem)}"
        if self._survivors:
            error = error or "some of its processes were killed but did not end"
        return Ended(
            exit_code=None if self._timed_out else found.exit_code,
            signal=found.signal,
            timed_out=self._timed_out,
            error=error,
            limit=found.limit,
            seconds=seconds,
            stdout=stdout,
            stderr=stderr,
        )

    def close(self) -> None:
        for reader in self._readers:
            reader.close()
        self._readers = ()  # break the cycle: they refer to us, and we to the loop
        if self._feeder is not None:
            self._feeder.close()
        if self._pidfd is not None:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
