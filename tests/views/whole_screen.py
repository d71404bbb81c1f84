"""A terminal that lends its whole screen: as the other emulator, with places on the screen."""

from __future__ import annotations

from tests.views.emulator import BLANK, Emulator


class WholeScreen(Emulator):
    """Refuses what it does not know, so that nothing gets to a terminal unnoticed."""

    def __init__(self, width: int = 80, height: int = 24) -> None:
        super().__init__(width, height)
        self.is_other = False
        """The second screen is shown, and what was there before is kept behind it."""
        self.shows_cursor = True
        self._behind: list[list[str]] = []

    def feed(self, text: str) -> WholeScreen:
        super().feed(text)
        return self

    def _obey(self, sequence: str) -> None:
        match sequence:
            case "?1049h":
                self.is_other, self._behind = True, self._cells
                self._cells = [[BLANK] * self.width for _ in range(self.height)]
            case "?1049l":
                self.is_other, self._cells = False, self._behind
            case "?25l" | "?25h":
                self.shows_cursor = sequence.endswith("h")
            case "2J":
                self._cells = [[BLANK] * self.width for _ in range(self.height)]
            case _ if sequence.endswith("H"):
                row, column = (int(part) for part in sequence[:-1].split(";"))
                assert (row <= self.height, column) == (True, 1), sequence
                self.row, self.column = row - 1, 0
            case _:
                super()._obey(sequence)

    @property
    def is_clean(self) -> bool:
        """As a person expects to find it."""
        return (self.is_other, self.shows_cursor, self.wraps) == (False, True, True)
