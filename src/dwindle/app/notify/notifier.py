"""Delivers notices to the user's program or webhook while the run goes on.

A run must not depend on its notices. Each channel has a thread of its own with a short queue: a
notice that does not fit is dropped, a delivery that hangs is given up after its timeout, and at the
end of the run the notifier waits only a few seconds for what is under way. Each channel complains
once at most, without the address of the webhook, because knowing it is enough to post there.

The notice of the end is sent after the locks are released, so that the user's program may call
`dwindle` itself.
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

from dwindle.adapters.formats.config.settings import NotifySettings
from dwindle.adapters.process.environment import environment
from dwindle.app.notify.notices import NotDelivered, Notice, Notices
from dwindle.kernel.events import Event, RunEnded
from dwindle.kernel.model import Plan
from dwindle.text import amounts

WAITING: Final = 16
"""Notices in a queue; there are seldom more than six in a run."""
LAST_WAIT: Final = 5.0
"""Seconds to wait for deliveries when the run is over."""
SHORTEST_WAIT: Final = 0.2
"""Seconds after a second Ctrl-C: enough for a thread that has nothing to deliver."""

Say = Callable[[str], None]


class Channel(Protocol):
    """A way to deliver notices."""

    @property
    def name(self) -> str: ...

    def deliver(self, notice: Notice) -> None:
        """Deliver it within the timeout; raises NotDelivered."""
        ...

    def give_up(self) -> None:
        """End the delivery under way; may be called from another thread."""
        ...


class ProgramChannel:
    """The user's program: the notice as JSON on stdin, the main fields in the environment."""

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

    def deliver(self, notice: Notice) -> None:
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
            raise NotDelivered(f"it cannot be started: {why}") from None
        self._running = process
        if self._is_over:  # `give_up` was called while the program was being started
            self._kill()
        try:
            process.communicate(notice.as_json(), timeout=self._seconds)
        except subprocess.TimeoutExpired:
            self._kill()
            process.communicate()
            raise NotDelivered(
                f"it was still running after {amounts.duration(self._seconds)}, and was ended"
            ) from None
        finally:
            self._running = None
        if process.returncode:
            raise NotDelivered(f"it ended with {process.returncode}")

    def give_up(self) -> None:
        self._is_over = True
        self._kill()

    def _kill(self) -> None:
        running = self._running
        if running is not None and running.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(running.pid, signal.SIGKILL)


def _encodable(variables: dict[str, str]) -> dict[str, str]:
    """Without lone surrogates, which an environment cannot hold."""
    return {name: text.encode("utf-8", "replace").decode() for name, text in variables.items()}


# --- in the background ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Closed:
    """The last entry of a queue."""


class DeliveryThread:
    """A channel, its queue, and the thread that empties the queue."""

    def __init__(self, channel: Channel, say: Say) -> None:
        self._channel = channel
        self._say = say
        self._waiting: queue.Queue[Notice | _Closed] = queue.Queue()
        self._has_complained = threading.Event()
        self._gave_up = False
        self._thread = threading.Thread(
            target=self._deliver_all, name="dwindle-notices", daemon=True
        )
        self._thread.start()

    def add(self, notice: Notice) -> None:
        """Queue a notice without waiting; drop it if the queue is full."""
        if self._waiting.qsize() < WAITING:
            self._waiting.put(notice)
        else:
            self._complain("too many notices are waiting")

    def close(self) -> None:
        """Let the thread end after what is queued."""
        self._waiting.put(_Closed())

    def end(self, deadline: float) -> None:
        """Wait for the queue to empty, up to `deadline` on the monotonic clock."""
        self._thread.join(max(0.0, deadline - time.monotonic()))
        if self._thread.is_alive():
            self._complain("the run is over, and not every notice could be delivered")
            self._gave_up = True
            self._channel.give_up()

    def _deliver_all(self) -> None:
        while not isinstance(notice := self._waiting.get(), _Closed) and not self._gave_up:
            try:
                self._channel.deliver(notice)
            except NotDelivered as trouble:
                self._complain(str(trouble))
            except Exception as error:  # noqa: BLE001 - whatever it is, the run goes on
                self._complain(f"this is a bug: {type(error).__name__}")

    def _complain(self, what: str) -> None:
        if not self._has_complained.is_set():
            self._has_complained.set()
            self._say(f"dwindle: {self._channel.name}: {what}; the run is not affected")


class Notifier:
    """Entered around a whole run, its locks included; `on_event` gets the events of the run."""

    def __init__(self, *, last_wait: float = LAST_WAIT) -> None:
        self._last_wait = last_wait
        self._threads: list[DeliveryThread] = []
        self._notices: Notices | None = None
        self._plan: Plan | None = None
        self._at_the_end: list[Notice] = []
        self._has_ended = False
        self._say: Say = print
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        return self

    def serve(self, settings: NotifySettings, folder: Path, say: Say) -> None:
        """Deliver to the channels of these settings; `say` prints complaints."""
        self._say = say
        self._notices = Notices(folder.name)
        self._threads = [
            DeliveryThread(channel, self._say_from_thread)
            for channel in channels_of(settings, folder, say)
        ]

    def on_event(self, plan: Plan, event: Event) -> None:
        """The loop calls this after every event."""
        if self._notices is None or not self._threads:
            return
        self._plan = plan
        try:
            notices = list(self._notices.after(plan, event))
        except Exception as error:  # noqa: BLE001 - whatever it is, the run goes on
            self._say(f"dwindle: notices: this is a bug: {type(error).__name__}")
            self._threads = []
            return
        for notice in notices:
            if isinstance(event, RunEnded):
                self._at_the_end.append(notice)
            else:
                self._send(notice)
        self._has_ended = self._has_ended or isinstance(event, RunEnded)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._threads:
            return
        if self._notices and self._plan and isinstance(error, Exception) and not self._has_ended:
            now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            self._at_the_end.append(self._notices.aborted(self._plan, now, str(error)))
        for notice in self._at_the_end:
            self._send(notice)
        is_interrupted = error is not None and not isinstance(error, Exception)
        deadline = time.monotonic() + (SHORTEST_WAIT if is_interrupted else self._last_wait)
        await asyncio.to_thread(self._end, deadline)
        await asyncio.sleep(0)  # so that complaints of the threads are printed

    def _end(self, deadline: float) -> None:
        for thread in self._threads:
            thread.close()
        for thread in self._threads:
            thread.end(deadline)

    def _send(self, notice: Notice) -> None:
        for thread in self._threads:
            thread.add(notice)

    def _say_from_thread(self, line: str) -> None:
        """Print from a thread: the event loop's own thread draws the progress."""
        if self._loop is not None:
            with suppress(RuntimeError):  # the event loop is closed
                self._loop.call_soon_threadsafe(self._say, line)


def channels_of(settings: NotifySettings, folder: Path, say: Say) -> list[Channel]:
    """The channels of the settings; complains about a webhook whose variable is not set."""
    seconds = float(settings.timeout_seconds)
    channels: list[Channel] = []
    if settings.command:
        let_through = {name: os.environ[name] for name in settings.env if name in os.environ}
        channels.append(ProgramChannel(settings.command, folder, let_through, seconds))
    address = settings.webhook
    if settings.webhook_env is not None:
        address = os.environ.get(settings.webhook_env, "")
        if not address.startswith(("http://", "https://")):
            name = settings.webhook_env
            what = "is not set" if not address else "holds no address, http or https"
            say(f"dwindle: [notify] webhook_env: {name} {what}; the run is not affected")
            address = None
    if address is not None:
        from dwindle.app.notify.webhook import WebhookChannel  # noqa: PLC0415 - few runs need a network

        channels.append(WebhookChannel(address, seconds))
    return channels
