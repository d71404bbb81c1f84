"""Takes notices to where a person set them to go, while the run goes on.

Nothing about a run may depend on whether anybody hears of it. Each way to tell has a thread of its
own with a short queue; what does not fit is dropped, what hangs is given up after its time, and
when the run is over only a moment is waited for what is still on its way. What goes wrong is said
once for each way, in words that cannot hold the address of a webhook: knowing it is often all that
is needed to post there.

The end of a run is told when its locks are free again, so that a program which is told of it may
itself call `dwindle`.
"""

from __future__ import annotations

import asyncio
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Final, Protocol, Self

from dwindle.adapters.containment.environment import environment
from dwindle.adapters.formats.config_settings import NotifySettings
from dwindle.kernel.events import Event, RunEnded
from dwindle.kernel.model import Plan
from dwindle.surfaces.notices import Notice, Notices, Untold

WAITING: Final = 16
"""Notices in a queue; there are seldom more than six in a run."""
LAST_WAIT: Final = 5.0
"""Seconds for all that is on its way when the run is over."""
SHORTEST_WAIT: Final = 0.2
"""For somebody who has pressed Ctrl-C twice: enough for a thread that has nothing to do."""

Say = Callable[[str], None]


class Way(Protocol):
    """How somebody is told."""

    @property
    def name(self) -> str: ...

    def tell(self, notice: Notice) -> None:
        """Returns when they know; or Untold, within the time that was set."""
        ...

    def give_up(self) -> None:
        """End what is going on; may be called from another thread."""
        ...


class Program:
    """A program of the person's: the notice as JSON on its stdin, the gist in its environment."""

    name = "[notify] command"

    def __init__(
        self, argv: tuple[str, ...], folder: Path, env: dict[str, str], seconds: float
    ) -> None:
        self._argv = argv
        self._folder = folder
        self._env = env
        self._seconds = seconds
        self._running: subprocess.Popen[bytes] | None = None
        self._is_over = False

    def tell(self, notice: Notice) -> None:
        try:
            process = subprocess.Popen(
                self._argv,
                cwd=self._folder,
                env=environment({**self._env, **_encodable(notice.variables)}),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is meant for the run
            )
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise Untold(f"it cannot be started: {why}") from None
        self._running = process
        if self._is_over:  # it was given up while it was being started
            self._kill()
        try:
            process.communicate(notice.as_json(), timeout=self._seconds)
        except subprocess.TimeoutExpired:
            self._kill()
            process.communicate()
            raise Untold(f"it was still running after {self._seconds:g} s, and was ended") from None
        finally:
            self._running = None
        if process.returncode:
            raise Untold(f"it ended with {process.returncode}")

    def give_up(self) -> None:
        self._is_over = True
        self._kill()

    def _kill(self) -> None:
        running = self._running
        if running is not None and running.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(running.pid, signal.SIGKILL)


def _encodable(variables: dict[str, str]) -> dict[str, str]:
    """What a terminal could not show, an environment may not be able to hold."""
    return {name: text.encode("utf-8", "replace").decode() for name, text in variables.items()}


# --- in the background ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Over:
    """Nothing comes after this."""


class Errand:
    """One way to tell, and the thread that walks it."""

    def __init__(self, way: Way, say: Say) -> None:
        self._way = way
        self._say = say
        self._waiting: queue.Queue[Notice | _Over] = queue.Queue()
        self._complained = threading.Event()
        self._is_late = False
        self._thread = threading.Thread(target=self._walk, name="dwindle-notices", daemon=True)
        self._thread.start()

    def add(self, notice: Notice) -> None:
        """Never waits."""
        if self._waiting.qsize() < WAITING:
            self._waiting.put(notice)
        else:
            self._complain("too much is waiting to be told")

    def close(self) -> None:
        """Nothing is added any more."""
        self._waiting.put(_Over())

    def end(self, deadline: float) -> None:
        """Wait for what is on its way, up to a moment of the monotonic clock."""
        self._thread.join(max(0.0, deadline - time.monotonic()))
        if self._thread.is_alive():
            self._complain("the run is over, and not everything could be told")
            self._is_late = True
            self._way.give_up()

    def _walk(self) -> None:
        while not isinstance(notice := self._waiting.get(), _Over) and not self._is_late:
            try:
                self._way.tell(notice)
            except Untold as trouble:
                self._complain(str(trouble))
            except Exception as error:  # noqa: BLE001 - whatever it is, the run goes on
                self._complain(f"this is a bug: {type(error).__name__}")

    def _complain(self, what: str) -> None:
        if not self._complained.is_set():
            self._complained.set()
            self._say(f"dwindle: {self._way.name}: {what}; the run is not affected")


class Herald:
    """Entered around a whole run, its locks included; told of it by its progress."""

    def __init__(self, *, last_wait: float = LAST_WAIT) -> None:
        self._last_wait = last_wait
        self._errands: list[Errand] = []
        self._notices: Notices | None = None
        self._plan: Plan | None = None
        self._held: list[Notice] = []
        self._has_ended = False
        self._say: Say = print
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        return self

    def serve(self, settings: NotifySettings, folder: Path, say: Say) -> None:
        """From now on this is where notices go; `say` is for what goes wrong."""
        self._say = say
        self._notices = Notices(folder.name)
        self._errands = [Errand(way, self._said) for way in ways_of(settings, folder, say)]

    def told(self, plan: Plan, event: Event) -> None:
        """The loop calls this after every event."""
        if self._notices is None or not self._errands:
            return
        self._plan = plan
        try:
            notices = list(self._notices.after(plan, event))
        except Exception as error:  # noqa: BLE001 - whatever it is, the run goes on
            self._say(f"dwindle: notices: this is a bug: {type(error).__name__}")
            self._errands = []
            return
        for notice in notices:
            if isinstance(event, RunEnded):
                self._held.append(notice)
            else:
                self._send(notice)
        self._has_ended = self._has_ended or isinstance(event, RunEnded)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._errands:
            return
        if self._notices and self._plan and isinstance(error, Exception) and not self._has_ended:
            now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            self._held.append(self._notices.broken_off(self._plan, now, str(error)))
        for notice in self._held:
            self._send(notice)
        hurried = error is not None and not isinstance(error, Exception)
        deadline = time.monotonic() + (SHORTEST_WAIT if hurried else self._last_wait)
        await asyncio.to_thread(self._end, deadline)
        await asyncio.sleep(0)  # what was said from the threads

    def _end(self, deadline: float) -> None:
        for errand in self._errands:
            errand.close()
        for errand in self._errands:
            errand.end(deadline)

    def _send(self, notice: Notice) -> None:
        for errand in self._errands:
            errand.add(notice)

    def _said(self, line: str) -> None:
        """From a thread; progress is drawn in the loop's own."""
        if self._loop is not None:
            with suppress(RuntimeError):  # it is closed: there is nobody left to be told
                self._loop.call_soon_threadsafe(self._say, line)


def ways_of(settings: NotifySettings, folder: Path, say: Say) -> list[Way]:
    """Those that were set; what is set by a variable that is not there is said, and left out."""
    seconds = float(settings.timeout_seconds)
    ways: list[Way] = []
    if settings.command:
        let_through = {name: os.environ[name] for name in settings.env if name in os.environ}
        ways.append(Program(settings.command, folder, let_through, seconds))
    address = settings.webhook
    if settings.webhook_env is not None:
        address = os.environ.get(settings.webhook_env, "")
        if not address.startswith(("http://", "https://")):
            name = settings.webhook_env
            what = "is not set" if not address else "holds no address, http or https"
            say(f"dwindle: [notify] webhook_env: {name} {what}; the run is not affected")
            address = None
    if address is not None:
        from dwindle.surfaces.webhook import Webhook  # noqa: PLC0415 - few runs need a network

        ways.append(Webhook(address, seconds))
    return ways
