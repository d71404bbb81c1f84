"""A full-screen terminal, restored on every way out.

Unlike the board below the lines of `run` (see `live`), it uses the terminal's alternate screen, so
the previous content is back afterwards. Unchanged lines are not written again, for the sake of slow
connections.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import sys
import termios
import tty
from collections.abc import Callable, Iterator, Sequence
from types import FrameType, TracebackType
from typing import Any, Final, Self

from dwindle.app.console import painted
from dwindle.views.terminal.board import Line

ENTER: Final = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"
LEAVE: Final = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"
USUAL: Final = os.terminal_size((80, 24))
ENDING: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
KEYS: Final = {
    "\x1b[A": "up",
    "\x1b[B": "down",
    "\x1b[C": "right",
    "\x1b[D": "left",
    "\x1bOA": "up",
    "\x1bOB": "down",
    "\x1b[5~": "page up",
    "\x1b[6~": "page down",
    "\x1b[H": "home",
    "\x1b[F": "end",
    "\x1b[1~": "home",
    "\x1b[4~": "end",
    "\x1b": "escape",
    "\r": "enter",
    "\n": "enter",
    "\t": "tab",
    "\x7f": "backspace",
    "\x08": "backspace",
    "\x03": "interrupt",
    "\x0c": "redraw",
}


UNFINISHED: Final = re.compile(r"\x1b([\[O][0-9;?]*)?")
KEY: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z~]|\x1bO[A-Za-z]|.", re.DOTALL)
REST: Final = 0.05


class Gone(Exception):
    """The terminal is gone, or the process has to end; `signal` says which."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.signal = number


class FullScreen:
    """`with` it; `draw` shows lines, `key` waits for one that is pressed."""

    def __init__(self) -> None:
        self._out = sys.stdout.fileno()
        self._in = sys.stdin.fileno() if sys.stdin.isatty() else None
        self._kept: list[Any] | None = None
        self._shown: list[str] = []
        self._size = USUAL
        self._waiting = ""
        self._signals: dict[int, Any] = {}
        self._woken: tuple[int, int] = (-1, -1)
        self._ended = 0
        self._stopped = False
        self.resized = False

    def __enter__(self) -> Self:
        self._woken = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        wanted: dict[int, Callable[[int, FrameType | None], None]] = {
            **dict.fromkeys(ENDING, self._end),
            signal.SIGWINCH: self._resize,
            signal.SIGTSTP: self._stop,
        }
        for number, action in wanted.items():
            self._signals[number] = signal.signal(number, action)
        try:
            self.enter()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.leave()
        for number, action in self._signals.items():
            signal.signal(number, action)
        for end in self._woken:
            os.close(end)

    # --- the terminal ----------------------------------------------------------------------------

    def enter(self) -> None:
        """Take the screen."""
        if self._in is not None:
            self._kept = termios.tcgetattr(self._in)
            # Ctrl-C and Ctrl-Z stay signals; only what is typed comes at once, and unseen.
            tty.setcbreak(self._in, termios.TCSADRAIN)
        self._write(ENTER)
        self._shown = []

    def leave(self) -> None:
        """Restore the terminal."""
        try:
            self._write(LEAVE)
        except Gone:
            return
        finally:
            if self._in is not None and self._kept is not None:
                with contextlib.suppress(termios.error):
                    termios.tcsetattr(self._in, termios.TCSANOW, self._kept)
                self._kept = None

    @contextlib.contextmanager
    def suspended(self) -> Iterator[None]:
        """Lend the terminal to a child process, which then gets Ctrl-C and Ctrl-Z."""
        self.leave()
        # Else Ctrl-Z would stop the child alone, and the shell would not notice.
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        try:
            yield
        finally:
            signal.signal(signal.SIGTSTP, self._stop)
            if self._ended == signal.SIGINT:
                self._ended = 0
            self.enter()
            self.redraw()

    @property
    def size(self) -> os.terminal_size:
        """As it is now; of a terminal that does not say, the usual one."""
        try:
            found = os.get_terminal_size(self._out)
        except OSError:
            return USUAL
        return os.terminal_size((found.columns or USUAL.columns, found.lines or USUAL.lines))

    def draw(self, rows: Sequence[Sequence[Line]]) -> None:
        """Show these, from the top; what is as it was is not written again."""
        size = self.size
        said = ["".join(map(_painted, row)) for row in rows[: size.lines]]
        written = ""
        if size != self._size:
            written, self._shown = "\x1b[2J", []
        for row in range(max(len(said), len(self._shown))):
            new = said[row] if row < len(said) else ""
            if row >= len(self._shown) or self._shown[row] != new:
                written += f"\x1b[{row + 1};1H{new}\x1b[K"
        self._shown, self._size = said, size
        if written:
            self._write(written)

    def redraw(self) -> None:
        """Something else may have written there: the next picture is written as a whole."""
        self._shown = []
        self._size = os.terminal_size((0, 0))

    def _write(self, text: str) -> None:
        # Characters that the locale cannot show are escaped rather than refused.
        data = text.encode(sys.stdout.encoding or "ascii", errors="backslashreplace")
        while data:
            try:
                data = data[os.write(self._out, data) :]
            except BlockingIOError:  # another process has made it non-blocking
                select.select((), (self._out,), (), 1.0)
            except OSError:
                raise Gone(signal.SIGHUP) from None

    # --- what comes in ---------------------------------------------------------------------------

    def key(self, seconds: float) -> str:
        """The next key, by its name or as it is; empty if none was pressed in that time.

        Raises Gone when the process is to end.
        """
        if not self._waiting:
            self._listen(seconds)
        if UNFINISHED.fullmatch(self._waiting):  # a slow line may bring the rest of it later
            self._listen(REST)
        self._answer_signals()
        pressed = KEY.match(self._waiting)
        if pressed is None:
            return ""
        self._waiting = self._waiting[pressed.end() :]
        found = pressed[0]
        return KEYS.get(found, found if len(found) == 1 else "unknown")

    def _listen(self, seconds: float) -> None:
        heard = [self._woken[0]] + ([] if self._in is None else [self._in])
        ready, _, _ = select.select(heard, (), (), seconds)
        if self._woken[0] in ready:
            os.read(self._woken[0], 4096)
        if self._in is None or self._in not in ready:
            return
        try:
            data = os.read(self._in, 4096)
        except OSError:
            raise Gone(signal.SIGHUP) from None
        if not data:
            raise Gone(signal.SIGHUP)
        self._waiting += data.decode("utf-8", "replace")

    def _answer_signals(self) -> None:
        if self._ended:
            raise Gone(self._ended)
        if self._stopped:
            self._stopped = False
            self.leave()
            os.kill(os.getpid(), signal.SIGSTOP)
            self.enter()
            self.redraw()

    def _end(self, number: int, _: FrameType | None) -> None:
        self._ended = number
        self._wake()

    def _resize(self, _: int, __: FrameType | None) -> None:
        self.resized = True
        self._wake()

    def _stop(self, _: int, __: FrameType | None) -> None:
        self._stopped = True
        self._wake()

    def _wake(self) -> None:
        try:
            os.write(self._woken[1], b"!")
        except OSError:
            return


def _painted(line: Line) -> str:
    return painted(line.text, line.colour) if line.colour else line.text
