"""A user at a terminal: a played one, or a real one with the real command on it."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.surfaces.command import PLAIN

PATIENCE = 30.0
BEGIN = "import os, sys; os.login_tty(0); os.execv(sys.argv[1], sys.argv[1:])"
"""Makes the terminal the one that Ctrl-C comes from, then becomes the command."""
CTRL_C, CTRL_D = "\x03", "\x04"


@dataclass
class Played:
    """A terminal whose person says these things and then leaves."""

    words: Iterator[str]
    edits: Callable[[str], str] = str.upper
    shown: list[str] = field(default_factory=list)
    can_ask: bool = True

    def ask(self, prompt: str) -> str:
        self.shown.append(prompt)
        try:
            return next(self.words)
        except StopIteration:
            raise EOFError from None

    def say(self, what: str) -> None:
        self.shown.append(what)

    def edit(self, draft: str, path: Path | None = None) -> str:  # noqa: ARG002 - as a real one
        return self.edits(draft)


class OnATerminal:
    """`expect` reads until something was said; `type` answers it."""

    def __init__(
        self, folder: Path, *words: str, size: tuple[int, int] = (80, 24), **surroundings: str
    ) -> None:
        self._ours, theirs = pty.openpty()
        self.resize(*size)
        measured = {n: value for n, value in os.environ.items() if n.startswith("COVERAGE_")}
        program = (sys.executable, "-m", "dwindle", *words)
        self._process = subprocess.Popen(
            [sys.executable, "-c", BEGIN, *program],
            cwd=folder,
            env={**PLAIN, **measured, "TERM": "dumb", **surroundings},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        self.seen = ""
        self._read = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        os.close(self._ours)

    def expect(self, text: str) -> None:
        """Wait until `text` was said after what was expected before."""
        deadline = time.monotonic() + PATIENCE
        while (found := self.seen.find(text, self._read)) < 0:
            if not self._more(deadline):
                raise AssertionError(f"{text!r} was not said, but: {self.seen[self._read :]!r}")
        self._read = found + len(text)

    def type(self, text: str, *, end: str = "\r") -> None:
        os.write(self._ours, (text + end).encode())

    def resize(self, columns: int, lines: int) -> None:
        termios.tcsetwinsize(self._ours, (lines, columns))

    def watch(self, seconds: float) -> None:
        """Read whatever is said in that time."""
        deadline = time.monotonic() + seconds
        while self._more(deadline):
            pass

    def answer(self, question: str, words: str) -> None:
        self.expect(question)
        self.type(words)

    def ended(self) -> int:
        """The exit code; everything that was said is in `seen`."""
        deadline = time.monotonic() + PATIENCE
        while self._more(deadline):
            pass
        return self._process.wait(timeout=PATIENCE)

    @property
    def pid(self) -> int:
        return self._process.pid

    def closed(self) -> int:
        """Close the terminal, as a window is closed; the exit code."""
        os.close(self._ours)
        return self._process.wait(timeout=PATIENCE)

    def _more(self, deadline: float) -> bool:
        ready, _, _ = select.select([self._ours], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return False
        try:
            data = os.read(self._ours, 65536)
        except OSError:  # no process holds the other end any more
            return False
        self.seen += data.decode(errors="replace").replace("\r\n", "\n")
        return bool(data)
