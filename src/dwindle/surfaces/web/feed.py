"""One run, followed once and sent to all its viewers.

This process reads the journal as it grows; the runner knows nothing of it. Without viewers nothing
is read. A change is encoded once; a viewer that cannot keep up is not waited for, but gets the
whole picture again later.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from dwindle.views.read_model.attempt_files import last_lines
from dwindle.views.read_model.run_view import Follower
from dwindle.views.read_model.shapes import RunPicture, SessionView

PACE: Final = 0.1
"""Seconds between two looks at the journal."""
SLOWER: Final = 0.8
"""Seconds between two looks at what running agents say, and at what is long and seldom changes."""
LINES: Final = 3
HEARTBEAT: Final = 15.0
BEHIND: Final = 64
"""Messages that a viewer may be behind."""
IDLE: Final = 60.0
"""Seconds that a run is kept in memory after the last viewer has left."""
TRAIL: Final = 200
"""Entries of the Trail that are sent, the last ones."""
REASON: Final = 600
END: Final = b""
RECORD: Final = ("goal", "budgets", "spending", "corrections", "base_case", "certificate", "notes")

T = TypeVar("T")


class Feed:
    """All its reading is done by one thread, one thing after another."""

    def __init__(self, root: Path, run: str, reader: ThreadPoolExecutor) -> None:
        self._root = root
        self.run = run
        self._reader = reader
        self._follower = Follower(root, run)
        self._sessions: dict[int, SessionView] = {}
        self._viewers: dict[asyncio.Queue[bytes | None], None] = {}
        self._task: asyncio.Task[None] | None = None
        self._version = 0
        self._picture: tuple[int, bytes] | None = None
        self._tails: dict[str, list[str]] = {}
        self._record = b""
        self._recorded = 0
        self.left = time.monotonic()

    def warm(self) -> None:
        self._reader.submit(self._full_picture)

    @property
    def is_watched(self) -> bool:
        return bool(self._viewers)

    async def ask(self, question: Callable[[Follower], T]) -> T:
        """Answer a question about the run as it is now."""

        def answer() -> T:
            if not self._viewers:
                self.look()
            return question(self._follower)

        return await self._on_reader(answer)

    async def session(self, nonce: int) -> SessionView | None:
        return await self.ask(lambda _: self._sessions.get(nonce))

    async def stream(self) -> AsyncGenerator[bytes, None]:
        """Server-sent events: the picture, then changes, until the viewer leaves."""
        news: asyncio.Queue[bytes | None] = asyncio.Queue(BEHIND)
        picture = await self._on_reader(self._full_picture)
        self._viewers[news] = None
        try:
            # No event can come between the picture and this line: both run on our own thread.
            if self._task is None:
                self._task = asyncio.create_task(self._follow())
            yield picture
            while True:
                try:
                    message = await asyncio.wait_for(news.get(), HEARTBEAT)
                except TimeoutError:
                    yield b": still here\n\n"
                    continue
                if message == END:
                    return
                yield await self._on_reader(self._full_picture) if message is None else message
        finally:
            self._viewers.pop(news, None)
            self.left = time.monotonic()
            if not self._viewers and self._task is not None:
                self._task.cancel()
                self._task = None

    async def _on_reader(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._reader, work)

    def tell(self, news: bytes | None) -> None:
        """Send a message to all viewers; None: send the whole picture."""
        for viewer in self._viewers:
            if viewer.full():
                while not viewer.empty():
                    viewer.get_nowait()
                viewer.put_nowait(None)
            else:
                viewer.put_nowait(news)

    def end(self) -> None:
        """End all streams."""
        for viewer in self._viewers:
            while not viewer.empty():
                viewer.get_nowait()
            viewer.put_nowait(END)

    async def _follow(self) -> None:
        heard = time.monotonic()
        while True:
            await asyncio.sleep(PACE)
            news = await self._on_reader(self.look)
            if news is not None:
                self.tell(news or None)
            if time.monotonic() - heard >= SLOWER:
                heard = time.monotonic()
                for said in await self._on_reader(self._slower):
                    self.tell(said)

    # --- on the reader's thread ------------------------------------------------------------------

    def look(self) -> bytes | None:
        """The change as a message; empty if viewers need a new picture; None if nothing changed."""
        change = self._follower.poll()
        if change is None:
            return None
        self._version += 1
        if change["reset"]:
            self._sessions.clear()
        for session in change["sessions"]:
            self._sessions[session["nonce"]] = session
        return b"" if change["reset"] else message("change", change)

    def _full_picture(self) -> bytes:
        if not self._viewers:
            self.look()
        if self._picture is None or self._picture[0] != self._version:
            picture = self._follower.picture()
            shown = {**picture, **record_of(picture), "tails": self._tails}
            self._picture = (self._version, message("picture", shown))
        return self._picture[1]

    def _slower(self) -> list[bytes]:
        return [said for said in (self._new_tails(), self._new_record()) if said is not None]

    def _new_tails(self) -> bytes | None:
        """The last lines of every agent at work, if they are others than before."""
        running = [self._sessions[nonce] for nonce in self._follower.head()["running"]]
        tails = {str(s["nonce"]): last_lines(self._root, self.run, s, LINES) for s in running}
        if tails == self._tails:
            return None
        self._tails, self._picture = tails, None
        return message("tails", tails)

    def _new_record(self) -> bytes | None:
        if self._recorded == self._version:
            return None
        self._recorded = self._version
        record = message("record", record_of(self._follower.picture()))
        if record == self._record:
            return None
        self._record = record
        return record


def record_of(picture: RunPicture) -> Mapping[str, Any]:
    """The parts of the picture that are long and seldom change."""
    trail = [
        {**entry, "reason": str(entry["reason"])[:REASON]} for entry in picture["trail"][-TRAIL:]
    ]
    kept = {name: value for name, value in picture.items() if name in RECORD}
    return {**kept, "trail": trail, "trail_length": len(picture["trail"])}


def message(kind: str, data: object) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (kind.encode(), msgspec.json.encode(data))


class Feeds:
    """The feeds that are viewed, or were a moment ago."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="reader")
        self._open: dict[str, Feed] = {}

    def of(self, run: str) -> Feed:
        """StoreFailed if this can be no run's name."""
        now = time.monotonic()
        for name, feed in tuple(self._open.items()):
            if not feed.is_watched and now - feed.left > IDLE:
                del self._open[name]
        if run not in self._open:
            self._open[run] = Feed(self._root, run, self._reader)
        self._open[run].left = now
        return self._open[run]

    def close(self) -> None:
        for feed in self._open.values():
            feed.end()
        self._reader.shutdown(wait=False, cancel_futures=True)
