"""What a terminal shows of what was written to it: as much of one as our pictures need.

It knows the few sequences that we use and refuses every other, so that a new one is noticed.
"""

from __future__ import annotations

import re

from dwindle.text.terminal import columns

UNFINISHED = re.compile(r"\x1b(\[\??[0-9;]*)?\Z")
PARTS = re.compile(r"\x1b\[\??[0-9;]*[A-Za-z]|.", re.DOTALL)
BLANK = " "
REST_OF_WIDE = ""


class Emulator:
    def __init__(self, width: int = 80, height: int = 24) -> None:
        self.width, self.height = width, height
        self.scrolled: list[str] = []
        """Lines that have left the screen at its top."""
        self.row = self.column = 0
        self.wraps = True
        self._rest = ""
        """The beginning of a sequence whose end has not been read yet."""
        self._cells = [[BLANK] * width for _ in range(height)]

    @property
    def lines(self) -> list[str]:
        """What is on the screen, down to the last line that is not empty."""
        shown = ["".join(row).rstrip() for row in self._cells]
        while shown and not shown[-1]:
            shown.pop()
        return shown

    def resize(self, width: int, height: int) -> None:
        """As terminals do that do not wrap old lines anew: what does not fit is cut."""
        self.width, self.height = width, height
        while self.row >= height:
            self._scroll()
            self.row -= 1
        rows = [row[:width] + [BLANK] * (width - len(row)) for row in self._cells[:height]]
        self._cells = rows + [[BLANK] * width for _ in range(height - len(rows))]
        self.column = min(self.column, width - 1)

    def feed(self, text: str) -> Emulator:
        text = self._rest + text
        begun = UNFINISHED.search(text)
        self._rest = begun[0] if begun else ""
        for part in PARTS.findall(text.removesuffix(self._rest)):
            if part.startswith("\x1b["):
                self._obey(part[2:])
            elif part == "\n":
                self._down()
                self.column = 0
            elif part == "\r":
                self.column = 0
            else:
                self._put(part)
        return self

    def _obey(self, sequence: str) -> None:
        number = int(re.sub(r"\D", "", sequence) or 0)
        match sequence[-1]:
            case "m":
                pass
            case "J" if not number:
                self._clear_right()
                for row in self._cells[self.row + 1 :]:
                    row[:] = [BLANK] * self.width
            case "K" if not number:
                self._clear_right()
            case "A":
                self.row = max(0, self.row - (number or 1))
            case "l" | "h" if sequence[:-1] == "?7":
                self.wraps = sequence[-1] == "h"
            case _:
                raise AssertionError(f"a terminal was told {sequence!r}")

    def _clear_right(self) -> None:
        column = min(self.column, self.width - 1)
        self._cells[self.row][column:] = [BLANK] * (self.width - column)

    def _put(self, character: str) -> None:
        if not character.isprintable():
            raise AssertionError(f"a terminal was sent {character!r}")
        wide = columns(character)
        if not wide:
            self._cells[self.row][max(0, self.column - 1)] += character
            return
        if self.column + wide > self.width:
            if self.wraps:
                self._down()
                self.column = 0
            else:
                self.column = self.width - wide
        self._cells[self.row][self.column] = character
        if wide == 2:
            self._cells[self.row][self.column + 1] = REST_OF_WIDE
        self.column += wide

    def _down(self) -> None:
        if self.row + 1 < self.height:
            self.row += 1
        else:
            self._scroll()

    def _scroll(self) -> None:
        self.scrolled.append("".join(self._cells.pop(0)).rstrip())
        self._cells.append([BLANK] * self.width)
