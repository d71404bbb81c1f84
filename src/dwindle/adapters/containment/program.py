"""Running one program to its end: start it, feed it, read it, end it, reap it.

This is written on bare descriptors rather than on `asyncio.subprocess`, for four reasons. Output
has to stay bounded while it is read to the last byte. The end of the program is what ends a run,
not the end of its output: somebody who inherited the pipe may hold it open for ever. A cancelled
run must not return before the killing is done, not even when it is cancelled again. And a run is
started for every check, so what it costs counts.

Processes that are tied to us are started from the thread that runs the event loop. That has to be
the main thread: the kernel sends the signal for a dead parent when the *thread* that forked ends.
Others may be started by another process, while the loop goes on: see `nursery.py`.
"""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import time
from collections.abc import Callable
from contextlib import closing, suppress

from dwindle.adapters.containment.bound_tether import BoundTether
from dwindle.adapters.containment.bounds import limits_from_birth
from dwindle.adapters.containment.capture import Output
from dwindle.adapters.containment.nursery import Nursery
from dwindle.adapters.containment.pipes import (
    Descriptors,
    Ends,
    Feeder,
    Reader,
    is_readable,
    pipes,
    program_at,
    start,
    when_gone,
)
from dwindle.adapters.containment.proc import signal_group
from dwindle.adapters.containment.tether import Fate, Tether
from dwindle.ports.process import UNBOUNDED, Command, Ended

GRACE_SECONDS = 0.2
"""Between asking a program to end and killing it."""

LOST = "the process that started it was ended"

KILLED_SECONDS = 5.0
"""A killed process that is still there after this hangs in the kernel; waiting on is useless."""

Watch = Callable[[bytes], str | None]


async def run_program(command: Command, watch: Watch | None, tether: Tether) -> Ended:
    """Run to the end, the timeout, or the watcher's word; nothing of it is left afterwards.

    Raises only what `watch` raises.
    """
    loop = asyncio.get_running_loop()
    if command.bounds != UNBOUNDED:
        tether = BoundTether(tether, command.bounds)
    with closing(tether):
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
                program = _Program(command, tether, output, loop)
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
        self, command: Command, tether: Tether, output: Output, loop: asyncio.AbstractEventLoop
    ) -> None:
        self._command = command
        self._tether = tether
        self._output = output
        self._loop = loop
        self._said = ""
        self._mistake: BaseException | None = None
        self._timed_out = False
        self._survivors = False
        # Resolved when there is a reason to end: the starter is gone, or it shall go.
        self._over: asyncio.Future[None] = loop.create_future()
        self._exited: asyncio.Future[None] = loop.create_future()
        self._problem: OSError | ValueError | None = None
        self._pid: int | None = None  # until it is reaped
        self._returncode = 0
        self._pidfd: int | None = None
        self._launch = tether.launch()
        self._is_open = not self._launch.gated
        self._theirs: Ends | None = None
        self._readers: tuple[Reader, ...] = ()
        self._feeder: Feeder | None = None
        self._nursery: Nursery | None = None
        self._number: int | None = None  # by which the nursery knows it, until it has ended
        self._nursed: int | None = None  # its process, once that is known
        try:
            if not self._begin_in_nursery():
                self._begin()
        except BaseException:
            self.close()
            raise

    # --- how it begins ---------------------------------------------------------------------------

    def _begin(self) -> None:
        fed = bool(self._command.stdin) or self._launch.gated
        (feed, out, err), self._theirs = pipes(fed=fed)
        self._feeder = None if feed is None else Feeder(self._loop, feed)
        self._read(out, err)
        self._pid = start(self._command, self._launch, self._theirs)
        try:
            self._tether.attach(self._pid)
            self._pidfd = when_gone(self._loop, self._pid, self._on_exit)
        except BaseException:
            self._tether.kill()
            self._reap()
            raise
        if self._is_open and self._feeder is not None:
            self._feeder.feed(self._command.stdin)

    def _read(self, out: int, err: int) -> None:
        descriptors = Descriptors.of(self._loop)
        self._readers = (
            Reader(descriptors, out, self._on_stdout),
            Reader(descriptors, err, self._output.take_stderr),
        )
        for reader in self._readers:
            reader.listen()

    def _reap(self) -> None:
        if self._pid is None:
            return
        with suppress(ChildProcessError):
            self._returncode = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        self._pid = None

    # --- or in the nursery -----------------------------------------------------------------------

    def _begin_in_nursery(self) -> bool:
        command, launch = self._command, self._launch
        limits = limits_from_birth(command.bounds)
        if launch.tied or launch.inherited or limits is None:
            return False
        nursery = Nursery.of(self._loop, limits)
        program = program_at(launch.argv[0], launch.environment.get("PATH"))
        if nursery is None or not (program.startswith("/") and command.cwd.is_absolute()):
            return False
        self._nursery = nursery
        words, variables = tuple(launch.argv), dict(launch.environment)
        wanted = (program, words, variables, str(command.cwd), command.stdin)
        self._number = nursery.start(self, wanted)
        return self._number is not None

    def on_said(self, stdout: bytes, stderr: bytes) -> None:
        if stdout:
            self._on_stdout(stdout)
        if stderr:
            self._output.take_stderr(stderr)

    def on_ended(self, code: int, stdout: bytes, stderr: bytes) -> None:
        self._number = None
        self._returncode = code
        self.on_said(stdout, stderr)
        self._on_exit()

    def on_handed_over(self, pid: int, pipes: tuple[int, ...]) -> None:
        self._nursed = pid
        try:
            if not pipes:
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))  # noqa: TRY301 - as below
            self._read(*pipes)
        except OSError as why:  # we have no room to listen to it
            self._said = _sentence(why)
            self._signal(signal.SIGKILL)

    def on_refused(self) -> None:
        """Started by ourselves it is heard why."""
        self._number = None
        try:
            if not self._over.done():  # else it was only to be ended
                self._begin()
                return
        except (OSError, ValueError) as why:
            self._problem = why
        self._on_exit()

    def on_lost(self) -> None:
        self._number = None
        self._said, self._returncode = LOST, -signal.SIGKILL
        if self._nursed is not None:
            signal_group(self._nursed, signal.SIGKILL)
        self._on_exit()

    # --- what happens ----------------------------------------------------------------------------

    def _on_stdout(self, data: bytes) -> None:
        if not self._is_open:
            self._is_open = True
            if self._launch.opening is not None:
                self._launch.opening()
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
            cancelled = await self._see_off(cancelled)
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
        if self._is_open:  # else there is nobody to ask
            self._signal(signal.SIGTERM)
            try:
                await asyncio.wait((self._exited,), timeout=GRACE_SECONDS)
            except asyncio.CancelledError as again:
                cancelled = again
        self._signal(signal.SIGKILL)
        cancelled = await self._insist(self._exited, cancelled)
        if not self._exited.done():
            self._survivors = True
            return cancelled
        return await self._see_off(cancelled)

    def _signal(self, number: int) -> None:
        """Ask it to end, or end it, if it has not."""
        if self._nursery is not None and self._number is not None:
            self._nursery.signal(self._number, number)
        elif self._pid is None:
            pass
        elif number == signal.SIGKILL:
            self._tether.kill()
        else:
            self._tether.ask()

    async def _see_off(
        self, cancelled: asyncio.CancelledError | None
    ) -> asyncio.CancelledError | None:
        """The starter is gone, and not reaped: its number is still its own."""
        if self._pid is not None and (last := self._tether.last()) is not None:
            return await self._settle(last, cancelled)
        return cancelled

    async def _settle(
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
            cancelled = await self._insist(gone, cancelled)
        finally:
            self._loop.remove_reader(last)
        self._survivors = not gone.done()
        return cancelled

    async def _insist(
        self, future: asyncio.Future[None], cancelled: asyncio.CancelledError | None
    ) -> asyncio.CancelledError | None:
        """Wait for a killed process, whoever cancels us meanwhile."""
        deadline = self._loop.time() + KILLED_SECONDS
        while not future.done() and (left := deadline - self._loop.time()) > 0:
            try:
                await asyncio.wait((future,), timeout=left)
            except asyncio.CancelledError as again:
                cancelled = again
        return cancelled

    def account(self, seconds: float) -> Ended:
        if self._problem is not None:
            return Ended(error=_sentence(self._problem))
        stdout, stderr = self._output.stdout.captured(), self._output.stderr.captured()
        if self._exited.done():
            fate = self._tether.fate(self._returncode, stderr, began=self._is_open)
        else:
            fate = Fate()
        error = self._said or fate.error
        if self._output.problem is not None:
            error = error or f"the log cannot be written: {_sentence(self._output.problem)}"
        if self._survivors:
            error = error or "some of its processes were killed but did not end"
        return Ended(
            exit_code=None if self._timed_out else fate.exit_code,
            signal=fate.signal,
            timed_out=self._timed_out,
            error=error,
            limit=fate.limit,
            seconds=seconds,
            stdout=stdout,
            stderr=stderr,
        )

    def close(self) -> None:
        for reader in self._readers:
            reader.close()
        self._readers = ()  # they know us, and we know the loop: nobody would go before the other
        if self._feeder is not None:
            self._feeder.close()
        if self._pidfd is not None:
            Descriptors.of(self._loop).remove(self._pidfd)
            os.close(self._pidfd)
        if self._nursery is not None and self._number is not None:
            self._nursery.forget(self._number)
        for fd in self._theirs or ():
            if fd is not None:
                os.close(fd)
