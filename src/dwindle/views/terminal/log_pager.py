"""A pager for the files of one session: its log as it grows, its prompt, report and changes."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from dwindle.text.terminal import columns, cut, shortened
from dwindle.views.read_model.attempt_files import Part, parts_of, read_part
from dwindle.views.read_model.log_lines import readable
from dwindle.views.read_model.run_view import Follower
from dwindle.views.terminal.board import Line
from dwindle.views.terminal.full_screen import FullScreen
from dwindle.views.terminal.watch_frame import Row

MOST: Final = 512 << 10
"""Bytes of a part that are shown; of a log, the last ones."""
LOOK: Final = 0.5
KEYS: Final = "q back  tab next part  up/down, page up/down, home, end"


class LogPager:
    def __init__(self, root: Path, run: Follower, nonce: int, screen: FullScreen) -> None:
        self._root = root
        self._run = run
        self._nonce = nonce
        self._screen = screen
        self._name = ""
        self._from_end: int | None = 0
        """Lines between the last one shown and the end; None counts from the top instead."""
        self._top = 0
        self._cached: tuple[object, list[str]] = ((), [])

    def run(self) -> None:
        """Draw until the user leaves."""
        while True:
            self._run.poll()
            self._screen.draw(self._page())
            self._screen.resized = False
            key = self._screen.key(LOOK)
            if key in {"q", "escape", "interrupt", "left"}:
                return
            self._obey(key)

    def _obey(self, key: str) -> None:
        room = self._screen.size.lines - 2
        if key in {"tab", "right"}:
            self._next_part()
        elif key == "home":
            self._scroll(-(10**9))
        elif key == "end":
            self._from_end = 0
        elif key in {"up", "k"}:
            self._scroll(-1)
        elif key in {"down", "j"}:
            self._scroll(1)
        elif key == "page up":
            self._scroll(-room)
        elif key in {"page down", " "}:
            self._scroll(room)
        elif key == "redraw":
            self._screen.redraw()

    def _scroll(self, lines: int) -> None:
        size = self._screen.size
        room, count = size.lines - 2, len(self._lines(size.columns - 1))
        last = max(0, count - room)
        at = last if self._from_end is not None else min(self._top, last)
        self._top = max(0, min(at + lines, last))
        # At the end of it, one wants to see what is added.
        self._from_end = 0 if self._top == last and lines > 0 else None

    # --- what is shown ---------------------------------------------------------------------------

    def _parts(self) -> list[Part]:
        return parts_of(self._root, self._run.run, self._run.sessions[self._nonce])

    def _next_part(self) -> None:
        names = [part["name"] for part in self._parts()]
        if names:
            at = names.index(self._name) + 1 if self._name in names else 0
            self._name = names[at % len(names)]
            self._from_end = 0 if self._name.endswith(".log") else None
            self._top = 0

    def _page(self) -> list[Row]:
        size = self._screen.size
        width, room = max(1, size.columns - 1), max(1, size.lines - 2)
        parts = self._parts()
        if not self._name and parts:
            logs = [part["name"] for part in parts if part["kind"] == "log" and part["size"]]
            self._name = logs[-1] if logs else parts[0]["name"]
            self._from_end = 0 if logs else None
        lines = self._lines(width)
        last = max(0, len(lines) - room)
        first = last if self._from_end is not None else min(self._top, last)
        session = self._run.sessions[self._nonce]
        title = f"{session['atom'] or 'base case'} {session['role']} {session['outcome']}"
        names = " ".join(f"[{p['name']}]" if p["name"] == self._name else p["name"] for p in parts)
        rows: list[Row] = [(Line(text=shortened(f"{title}: {names}", width), colour="bold"),)]
        rows += [(Line(text=line),) for line in lines[first : first + room]]
        rows += [()] * (room + 1 - len(rows))
        place = f"{min(first + room, len(lines))} of {len(lines)} lines  {KEYS}"
        return [*rows, (Line(text=cut(place, width), colour="dim"),)]

    def _lines(self, width: int) -> list[str]:
        """The part as lines of the screen; read again only if it has changed."""
        part = next((part for part in self._parts() if part["name"] == self._name), None)
        if part is None:
            return ["nothing is kept of this session"]
        stamp = (part["name"], part["size"], width)
        if self._cached[0] != stamp:
            self._cached = (stamp, self._read(part, width))
        return self._cached[1]

    def _read(self, part: Part, width: int) -> list[str]:
        session = self._run.sessions[self._nonce]
        is_log = part["kind"] == "log"
        found = read_part(
            self._root, self._run.run, session, part["name"], limit=MOST, from_end=is_log
        )
        if found is None:
            return ["this cannot be read"]
        said = found["text"].split("\n")
        lines = readable(said) if is_log else said
        before = [f"[{found['start']} bytes before are left out]"] if found["start"] else []
        after = found["size"] - found["end"]
        rest = [f"[{after} bytes after are left out]"] if after > 0 else []
        folded = [piece for line in lines for piece in _folded(line, width)]
        return [*before, *folded, *rest] or ["nothing yet"]


def _folded(line: str, width: int) -> list[str]:
    """As it stands, in as many lines of the screen as it needs; blanks at its beginning count."""
    flat = line.expandtabs(4)
    if flat.isascii():
        return [flat[at : at + width] for at in range(0, len(flat), width)] or [""]
    pieces: list[str] = []
    while columns(flat) > width:
        piece = cut(flat[:width], width) or flat[:1]
        pieces.append(piece)
        flat = flat[len(piece) :]
    return [*pieces, flat]
