"""The graph as the page draws it: boxes and lines, with finished parts folded on request."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection
from typing import Any, Final

import msgspec

from dwindle.views.layout.folding import MANY, unfolded_nodes
from dwindle.views.layout.layout import layout, path
from dwindle.views.layout.parts import Layout, LayoutNode
from dwindle.views.read_model.shapes import NodeView

KEPT: Final = 16


class Drawings:
    """A cache: changes of status do not change boxes and lines."""

    def __init__(self) -> None:
        self._made: OrderedDict[tuple[bool, int, tuple[LayoutNode, ...]], bytes] = OrderedDict()

    def of(self, nodes: list[NodeView], *, solved: bool | None, toggled: Collection[str]) -> bytes:
        """As JSON. `solved`: fold finished parts; None: if there are many. `toggled`: but these."""
        solved = len(nodes) > MANY if solved is None else solved
        drawn = unfolded_nodes(nodes, solved=solved, toggled=toggled)
        hidden = sum(node["kind"] != "root" for node in nodes) - len(drawn)
        key = (solved, hidden, drawn)
        if key not in self._made:
            made = _data(layout(drawn), solved=solved, hidden=hidden)
            self._made[key] = msgspec.json.encode(made)
        self._made.move_to_end(key)
        while len(self._made) > KEPT:
            self._made.popitem(last=False)
        return self._made[key]


def _data(drawn: Layout, *, solved: bool, hidden: int) -> dict[str, Any]:
    return {
        "solved": solved,
        "hidden": hidden,
        "width": drawn.width,
        "height": drawn.height,
        "boxes": [(box.id, box.x, box.y, box.width, box.height) for box in drawn.boxes],
        "lines": [(line.source, line.target, line.link, path(line.points)) for line in drawn.lines],
    }
