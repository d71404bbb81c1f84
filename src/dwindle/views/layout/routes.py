"""Which way each line goes, in the gutters between columns and the corridors between rows.

Lines of one kind that leave the same node share their way out, and those into the same node their
way in; no other lines ever lie upon each other. Gutters and corridors are as wide as that needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Final

from dwindle.views.layout.cells import Cell
from dwindle.views.layout.parts import Box, BoxKind, Layout, LayoutNode, Link, Polyline

ATOM_WIDTH: Final = 174
GROUP_WIDTH: Final = 116
HEIGHT: Final = 60
GUTTER: Final = 22
"""Between two columns, lines not counted."""
CORRIDOR: Final = 16
"""Between two rows, lines not counted."""
LANE: Final = 8
"""Between two lines; less where there are very many."""
LIFT: Final = 8
"""How far above the middle of a box lines come in; one that runs straight stays in the middle."""

Lane = tuple[str, str, Link]
"""Lines that share a way: `out` of a node or `in` to it, and of which kind they are."""


@dataclass(slots=True)
class _Way:
    """How one line runs; corridor None if it runs along the row of its end, or beside it."""

    source: str
    target: str
    link: Link
    straight: bool
    corridor: int | None


class Drawing:
    """Lines are first given gutters and corridors, then lanes in them, then coordinates."""

    def __init__(
        self,
        known: Mapping[str, LayoutNode],
        cells: Mapping[str, Cell],
        links: tuple[tuple[str, str, Link], ...],
    ) -> None:
        self._known = known
        self._cells = cells
        self._columns = max((column for column, _ in cells.values()), default=-1) + 1
        self._rows = max((row for _, row in cells.values()), default=-1) + 1
        self._upright = [_Lanes() for _ in range(self._columns + 1)]
        self._level = [_Lanes() for _ in range(self._rows + 1)]
        rows = [0] * self._rows
        for column, row in cells.values():
            rows[row] |= 1 << column
        self._ways = [self._way(rows, *link) for link in links]

    def _way(self, rows: list[int], source: str, target: str, link: Link) -> _Way:
        (from_, row), (to, end) = self._cells[source], self._cells[target]
        between = ((1 << to) - 1) & ~((1 << (from_ + 1)) - 1) if to > from_ else -1
        along = to > from_ and not rows[end] & between
        way = _Way(source, target, link, along and row == end, None)
        if way.straight:
            return way
        here = 2 * row + 1  # rows are odd, the corridors above them even
        if along:
            self._upright[from_ + 1].note(("out", source, link), here, 2 * end + 1)
            return way
        way.corridor = end if row <= end else end + 1
        level = 2 * way.corridor
        self._upright[from_ + 1].note(("out", source, link), here, level)
        self._level[way.corridor].note(("in", target, link), from_ + 1, to)
        self._upright[to].note(("in", target, link), level, 2 * end + 1)
        return way

    def layout(self) -> Layout:
        for lanes in (*self._upright, *self._level):
            lanes.spread()
        wide = [0.0] * self._columns
        for name, (column, _) in self._cells.items():
            wide[column] = max(wide[column], _width(self._known[name]))
        lefts, gutters, x = [], [], 0.0
        for lanes, width in zip(self._upright, [*wide, 0.0], strict=True):
            gutters.append(x)
            x += lanes.width(GUTTER)
            lefts.append(x)
            x += width
        tops, corridors, y = [], [], 0.0
        for at, lanes in enumerate(self._level):
            corridors.append(y)
            y += lanes.width(CORRIDOR)
            tops.append(y)
            y += HEIGHT if at < self._rows else 0
        places = _Places(lefts, tops, gutters, corridors)
        return Layout(
            boxes=tuple(self._box(name, places) for name in self._known),
            lines=tuple(self._line(way, places) for way in self._ways),
            width=x,
            height=y,
        )

    def _box(self, name: str, places: _Places) -> Box:
        column, row = self._cells[name]
        node = self._known[name]
        return Box(name, node.kind, places.lefts[column], places.tops[row], _width(node), HEIGHT)

    def _line(self, way: _Way, places: _Places) -> Polyline:
        (from_, row), (to, end) = self._cells[way.source], self._cells[way.target]
        start = (
            places.lefts[from_] + _width(self._known[way.source]),
            places.tops[row] + HEIGHT / 2,
        )
        if way.straight:
            points: tuple[tuple[float, float], ...] = (start, (places.lefts[to], start[1]))
            return Polyline(way.source, way.target, way.link, points)
        goal = (places.lefts[to], places.tops[end] + HEIGHT / 2 - LIFT)
        out = places.gutters[from_ + 1] + self._upright[from_ + 1].at(
            ("out", way.source, way.link), GUTTER
        )
        if way.corridor is None:
            points = (start, (out, start[1]), (out, goal[1]), goal)
            return Polyline(way.source, way.target, way.link, points)
        into: Lane = ("in", way.target, way.link)
        level = places.corridors[way.corridor] + self._level[way.corridor].at(into, CORRIDOR)
        last = places.gutters[to] + self._upright[to].at(into, GUTTER)
        points = (start, (out, start[1]), (out, level), (last, level), (last, goal[1]), goal)
        return Polyline(way.source, way.target, way.link, points)


@dataclass(frozen=True, slots=True)
class _Places:
    lefts: list[float]
    tops: list[float]
    gutters: list[float]
    corridors: list[float]


class _Lanes:
    """Lines side by side in one gutter or corridor; those that never meet share a lane."""

    def __init__(self) -> None:
        self._spans: dict[Lane, tuple[int, int]] = {}
        self._at: dict[Lane, int] = {}
        self._count = 0

    def note(self, lane: Lane, a: int, b: int) -> None:
        low, high = self._spans.get(lane, (a, a))
        self._spans[lane] = (min(low, a, b), max(high, a, b))

    def spread(self) -> None:
        free: list[int] = []
        busy: list[tuple[int, int]] = []
        for lane, (low, high) in sorted(self._spans.items(), key=lambda item: item[1]):
            while busy and busy[0][0] < low:
                heappush(free, heappop(busy)[1])
            if free:
                number = heappop(free)
            else:
                number, self._count = self._count, self._count + 1
            self._at[lane] = number
            heappush(busy, (high, number))

    @property
    def _step(self) -> float:
        return LANE if self._count <= 8 else max(3.0, 8 * LANE / self._count)

    def width(self, least: float) -> float:
        return least + self._step * max(0, self._count - 1)

    def at(self, lane: Lane, least: float) -> float:
        """How far from the edge of the gutter or corridor."""
        return least / 2 + self._step * self._at[lane]


def _width(node: LayoutNode) -> float:
    return GROUP_WIDTH if node.kind is BoxKind.GROUP else ATOM_WIDTH
