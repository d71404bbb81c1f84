"""The picture below the lines: drawn in place, never waited for, and gone in the end."""

from __future__ import annotations

import asyncio
import os
import pty
import select
import termios
import time
import tty
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.model.small_plans import plan_from
from tests.views.emulator import Emulator

from dwindle.kernel.events import AttemptFailed, SessionStarted, Usage
from dwindle.kernel.measure import session_bound
from dwindle.kernel.model import AtomId, Limits, Role
from dwindle.kernel.transitions import apply
from dwindle.views.terminal.board import Line
from dwindle.views.terminal.live import Live, picture
from dwindle.views.terminal.progress import Progress
from dwindle.views.terminal.screen import Screen

A1 = AtomId("A1")
PLAN = plan_from("A1 A2", Limits(max_atoms=20))
START = SessionStarted(atom=A1, role=Role.WORKER, at="2026-11-15T09:48:56Z")
STARTED = apply(PLAN, START)
LINE = "09:48:56 A1: a worker starts  [2 open, 1 session]"
BELOW = (Line(text="how it stands"), Line(text="  A1"))


class Terminal:
    """A real one; what is written to it is not read until `read` is called."""

    def __init__(self) -> None:
        self._ours, theirs = pty.openpty()
        tty.setraw(theirs)
        termios.tcsetwinsize(theirs, (24, 80))
        self.stream = os.fdopen(theirs, "w", encoding="utf-8")

    def read(self, most: int = 1 << 16) -> str:
        """What was written by now."""
        said = b""
        while len(said) < most and select.select([self._ours], [], [], 0)[0]:
            said += os.read(self._ours, 65536)
        return said.decode()

    def hang_up(self) -> None:
        os.close(self._ours)
        self._ours = -1

    def close(self) -> None:
        self.stream.close()
        if self._ours >= 0:
            os.close(self._ours)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    monkeypatch.setenv("NO_COLOR", "1")
    made = Terminal()
    yield made
    made.close()


# --- a picture -----------------------------------------------------------------------------------


def test_lines_scroll_and_the_picture_stays_below_them() -> None:
    screen = Emulator(width=20, height=6)
    for number in range(1, 6):
        screen.feed(picture([f"line {number}"], BELOW))
    assert screen.scrolled == ["line 1", "line 2"]
    assert screen.lines == ["line 3", "line 4", "line 5", "", "how it stands", "  A1"]
    assert (screen.row, screen.column, screen.wraps) == (3, 0, True)


def test_a_picture_is_drawn_over_the_one_before() -> None:
    screen = Emulator(width=20, height=6).feed(picture(["line"], BELOW))
    screen.feed(picture([], (Line(text="shorter"),)))
    assert screen.lines == ["line", "", "shorter"]
    screen.feed(picture(["last words"], ()))
    assert screen.lines == ["line", "last words"]
    assert (screen.row, screen.column) == (2, 0)


def test_what_a_user_types_is_gone_with_the_next_picture() -> None:
    screen = Emulator(width=20, height=8).feed(picture(["line"], BELOW))
    screen.feed("^C").feed(picture([], BELOW))
    assert screen.lines == ["line", "", "how it stands", "  A1"]
    screen.feed("\n").feed(picture([], BELOW))
    assert screen.lines == ["line", "", "", "how it stands", "  A1"]


def test_a_line_that_is_wider_than_we_think_stays_one_line() -> None:
    screen = Emulator(width=10, height=6)
    screen.feed(picture(["a line of two lines"], (Line(text="0123456789abc"), Line(text="x"))))
    assert screen.lines == ["a line of", "two lines", "", "012345678", "x"]


@pytest.mark.parametrize("size", [(12, 10), (30, 10), (20, 4)])
def test_a_resized_window_is_drawn_anew(size: tuple[int, int]) -> None:
    screen = Emulator(width=20, height=10).feed(picture(["line"], BELOW))
    screen.resize(*size)
    screen.feed(picture([], (Line(text="new"),)))
    assert screen.lines == ["line", "", "new"]


# --- a terminal that is not waited for -----------------------------------------------------------


def test_a_terminal_that_takes_nothing_does_not_hold_up_the_run(terminal: Terminal) -> None:
    text = "".join(f"line {number}\n" for number in range(40_000))

    async def scene() -> tuple[float, bool, str]:
        screen = Screen(terminal.stream)
        began = time.monotonic()
        screen.write(text)
        took, behind = time.monotonic() - began, screen.is_behind
        said = ""
        while screen.is_behind:
            said += terminal.read(4096)
            await asyncio.sleep(0)
        screen.close()
        return took, behind, said + terminal.read()

    took, behind, said = asyncio.run(scene())
    assert behind
    assert took < 0.5
    assert said == text


def test_a_terminal_that_is_held_for_good_does_not_hold_up_the_end(terminal: Terminal) -> None:
    async def scene() -> None:
        screen = Screen(terminal.stream, patience=0.1)
        screen.write("x" * 100_000)
        screen.close()

    asyncio.run(asyncio.wait_for(scene(), 10))
    assert 0 < len(terminal.read()) < 100_000


def test_a_terminal_that_is_gone_ends_nothing(terminal: Terminal) -> None:
    async def scene() -> None:
        async with Progress(Live(terminal.stream)) as progress:
            terminal.hang_up()
            progress.on_event(STARTED, START)
            await asyncio.sleep(0.05)
            progress.on_event(STARTED, START)

    asyncio.run(scene())


def test_the_terminal_of_others_is_left_as_it_is(terminal: Terminal) -> None:
    async def scene() -> bool:
        screen = Screen(terminal.stream)
        screen.write("x")
        blocking = os.get_blocking(terminal.stream.fileno())
        screen.close()
        return blocking

    assert asyncio.run(scene())


def test_a_screen_without_a_size_has_the_usual_one(terminal: Terminal) -> None:
    async def scene() -> tuple[int, int]:
        screen = Screen(terminal.stream)
        found = screen.size()
        screen.close()
        return found.columns, found.lines

    termios.tcsetwinsize(terminal.stream.fileno(), (7, 33))
    assert asyncio.run(scene()) == (33, 7)
    termios.tcsetwinsize(terminal.stream.fileno(), (0, 0))
    assert asyncio.run(scene()) == (80, 24)


def test_what_is_no_terminal_is_written_to_all_the_same(tmp_path: Path) -> None:
    async def scene() -> tuple[int, int]:
        with (tmp_path / "kept").open("w", encoding="latin-1") as stream:
            screen = Screen(stream)
            screen.write("ä and 日\n")
            found = screen.size()
            screen.close()
        return found.columns, found.lines

    assert asyncio.run(scene()) == (80, 24)
    assert (tmp_path / "kept").read_text(encoding="latin-1") == "ä and \\u65e5\n"


# --- live ----------------------------------------------------------------------------------------


def test_a_run_is_shown_with_its_lines_and_leaves_only_them(terminal: Terminal) -> None:
    used = Usage(tokens=10, usd=0.25)
    earlier = AttemptFailed(atom=A1, nonce=1, reason="no", usage=used)

    async def scene() -> tuple[str, str]:
        progress = Progress(Live(terminal.stream))
        progress.recall([earlier])
        async with progress:
            progress.used(1, used)  # no session is known yet
            progress.on_event(STARTED, START)
            await asyncio.sleep(0.05)
            progress.used(STARTED.sessions[A1].nonce, used)
            await asyncio.sleep(0.15)
            shown = terminal.read()
            progress.say("last words")
        return shown, terminal.read()

    shown, rest = asyncio.run(scene())
    screen = Emulator().feed(shown.replace("\n", "\r\n"))
    bound = f"at most {session_bound(STARTED)} more sessions"
    assert screen.lines == [
        LINE,
        "",
        "2 of 2 open, 0 resolved | iteration 1/20 | 0:00 of 24 h | 0.25 USD",
        f"[..........] | {bound} | 10 tokens",
        "  A1  worker 1/3  0:00 of 30 min  (0.50 USD) A1",
    ]
    screen.feed(rest)
    assert screen.lines == [LINE, "last words"]
    assert (screen.row, screen.column, screen.wraps) == (2, 0, True)


def test_before_and_after_the_picture_lines_are_only_lines(terminal: Terminal) -> None:
    async def scene() -> None:
        progress = Progress(Live(terminal.stream))
        progress.on_event(STARTED, START)
        async with progress:
            pass
        progress.say("afterwards")

    asyncio.run(scene())
    assert terminal.read() == f"{LINE}\n\r\x1b[Jafterwards\n"


def test_the_picture_is_gone_after_a_mistake_too(terminal: Terminal) -> None:
    async def scene() -> None:
        async with Progress(Live(terminal.stream)) as progress:
            progress.on_event(STARTED, START)
            await asyncio.sleep(0.05)
            raise RuntimeError("a mistake")

    with pytest.raises(RuntimeError, match="a mistake"):
        asyncio.run(scene())
    screen = Emulator().feed(terminal.read())
    assert screen.lines == [LINE]
    assert (screen.row, screen.column, screen.wraps) == (1, 0, True)


def test_much_news_makes_few_pictures_and_loses_no_line(terminal: Terminal) -> None:
    async def scene() -> str:
        said = ""
        async with Progress(Live(terminal.stream)) as progress:
            progress.on_event(STARTED, START)
            began = time.monotonic()
            for number in range(300):
                progress.say(f"line {number}")
                await asyncio.sleep(0.001)
                said += terminal.read()
            assert said.count("2 of 2 open") <= 2 + 10 * (time.monotonic() - began)
        return said + terminal.read()

    screen = Emulator().feed(asyncio.run(scene()))
    assert [*screen.scrolled, *screen.lines][1:] == [f"line {number}" for number in range(300)]


def test_a_terminal_that_is_behind_gets_no_more_pictures(terminal: Terminal) -> None:
    async def scene() -> tuple[int, str]:
        said = ""
        async with Progress(Live(terminal.stream)) as progress:
            progress.say("x" * 50_000)
            progress.on_event(STARTED, START)
            for _ in range(5):
                progress.say("meanwhile")
                await asyncio.sleep(0.11)
            while "2 of 2 open" not in said:
                said += terminal.read(4096)
                await asyncio.sleep(0)
            pictures = said.count("2 of 2 open")
        return pictures, said + terminal.read()

    pictures, said = asyncio.run(scene())
    assert (pictures, said.count("meanwhile")) == (1, 5)


def test_the_clock_ticks_without_news(terminal: Terminal) -> None:
    async def scene() -> list[str]:
        screen, seen = Emulator(), []
        async with Progress(Live(terminal.stream)) as progress:
            progress.on_event(STARTED, START)
            for seconds in (0.2, 1.2):
                await asyncio.sleep(seconds)
                seen.append(screen.feed(terminal.read()).lines[-1].split()[3])
        return seen

    first, then = asyncio.run(scene())
    assert first < then
