"""Which cell of the grid each node stands in.

Everything below a node is packed into one rectangle, near a pleasant shape, and the rectangles of
siblings into the rectangle of the node above: what belongs together stays together, and a thousand
atoms are not one column. A sibling that waits for another stands right of it. Where parts of two
siblings wait for each other crosswise there is no such order, and the plan's is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import ceil, sqrt
from typing import Final

from dwindle.views.layout.parts import LayoutNode

SHAPE: Final = 1.3
"""Rows squared for each cell: with boxes this much wider than high, about as wide as a screen."""
FEWEST_ROWS: Final = 5
"""So many siblings always stand in one column."""

Cell = tuple[int, int]
"""Column and row."""


@dataclass(slots=True)
class _Block:
    """A node and all that stands below it, in cells counted from its own corner."""

    width: int = 1
    height: int = 1
    inner: dict[str, Cell] = field(default_factory=dict)
    """Corners of the blocks below."""


def cells_of(known: Mapping[str, LayoutNode]) -> dict[str, Cell]:
    kids: dict[str, list[str]] = {"": []}
    above = {name: _above(known, name) for name in known}
    for name, parent in above.items():
        kids.setdefault(parent, []).append(name)
    order = list(_from_the_top(kids))
    after = _needs_of_siblings(known, above)
    blocks: dict[str, _Block] = {}
    for name in reversed(order):
        blocks[name] = _block_of(kids.get(name, []), blocks, after, inset=name != "")
    corners: dict[str, Cell] = {"": (0, 0)}
    for name in order:
        left, top = corners[name]
        for kid, (column, row) in blocks[name].inner.items():
            corners[kid] = (left + column, top + row)
    del corners[""]
    return corners


def _above(known: Mapping[str, LayoutNode], name: str) -> str:
    """The parent; the top for a node without one, or in a cycle of an invalid plan."""
    parent = known[name].parent
    if parent is None or parent not in known:
        return ""
    seen, at = {name}, parent
    while True:
        if at in seen:
            return "" if at == name else parent
        seen.add(at)
        higher = known[at].parent
        if higher is None or higher not in known:
            return parent
        at = higher


def _from_the_top(kids: Mapping[str, list[str]]) -> Iterator[str]:
    waiting = [""]
    while waiting:
        name = waiting.pop()
        yield name
        waiting.extend(reversed(kids.get(name, ())))


def _needs_of_siblings(
    known: Mapping[str, LayoutNode], above: Mapping[str, str]
) -> dict[str, list[str]]:
    """For each node, the siblings that it, or something below it, waits for."""

    def chain(name: str) -> list[str]:
        found = [name]
        while above[found[-1]]:
            found.append(above[found[-1]])
        found.reverse()
        return found

    after: dict[str, dict[str, None]] = {}
    for node in known.values():
        mine = chain(node.id) if node.needs else []
        for need in node.needs:
            if need not in known:
                continue
            for a, b in zip(mine, chain(need), strict=False):
                if a != b:
                    after.setdefault(a, {})[b] = None
                    break
    return {name: list(found) for name, found in after.items()}


def _block_of(
    kids: list[str],
    blocks: Mapping[str, _Block],
    after: Mapping[str, list[str]],
    *,
    inset: bool,
) -> _Block:
    """The blocks of siblings in one rectangle, beside the box of the node above them."""
    made = _Block()
    if not kids:
        return made
    area = sum(blocks[kid].width * blocks[kid].height for kid in kids)
    highest = max(FEWEST_ROWS, ceil(sqrt(area * SHAPE)), *(blocks[kid].height for kid in kids))
    grid = _Grid(highest)
    places: dict[str, Cell] = {}
    for kid in _in_order_of_needs(kids, after):
        block = blocks[kid]
        first = row = 0
        for need in after.get(kid, ()):
            if need in places:
                column, beside = places[need]
                if column + blocks[need].width > first:
                    first, row = column + blocks[need].width, beside
        places[kid] = grid.take(block.width, block.height, first, row)
    made.width, made.height = grid.width + inset, grid.height
    made.inner = {kid: (places[kid][0] + inset, places[kid][1]) for kid in kids}
    return made


def _in_order_of_needs(kids: list[str], after: Mapping[str, list[str]]) -> list[str]:
    """Needed siblings first, else in the order of the plan; needs may be circular."""
    mine = frozenset(kids)
    done: dict[str, None] = {}
    for kid in kids:
        waiting, opened = [kid], {kid}
        while waiting:
            name = waiting[-1]
            ahead = [
                n for n in after.get(name, ()) if n in mine and n not in done and n not in opened
            ]
            if ahead and name not in done:
                waiting.append(ahead[0])
                opened.add(ahead[0])
            else:
                done[waiting.pop()] = None
    return list(done)


class _Grid:
    """Cells that are taken: for each column, the rows as the bits of a number."""

    def __init__(self, highest: int) -> None:
        self._highest = highest
        self._columns: list[int] = []
        self.height = 0

    @property
    def width(self) -> int:
        return len(self._columns)

    def take(self, width: int, height: int, first: int, row: int) -> Cell:
        """A free place, not left of `first`: beside `row` if that can be, else near the top."""
        column, top = self._free_cell(width, height, first, row)
        while self.width < column + width:
            self._columns.append(0)
        for at in range(column, column + width):
            self._columns[at] |= ((1 << height) - 1) << top
        self.height = max(self.height, top + height)
        return column, top

    def _free_cell(self, width: int, height: int, first: int, row: int) -> Cell:
        top = self._top(width, height, first, row)
        if top + height <= self._highest:
            return first, top
        for column in range(first, max(first, self.width) + 1):
            top = self._top(width, height, column, 0)
            if top + height <= self._highest:
                return column, top
        return max(first, self.width), 0

    def _top(self, width: int, height: int, column: int, row: int) -> int:
        taken = 0
        for at in range(column, min(column + width, self.width)):
            taken |= self._columns[at]
        clear, seen = taken, 1
        while seen < height:  # a bit for each row from which `height` rows are not all free
            step = min(seen, height - seen)
            clear |= clear >> step
            seen += step
        free = ~(clear >> row)
        return row + (free & -free).bit_length() - 1
