"""The graph as the page draws it: boxes and lines, with finished parts folded on request."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection
from typing import Any, Final

import msgspec

from dwindle.views.layout.layout import layout, nodes_of, path
from dwindle.views.layout.parts import Layout, LayoutNode
from dwindle.views.read_model.shapes import NodeView

KEPT: Final = 16
MANY: Final = 120
"""With more nodes than this, finished parts are folded at first."""


class Drawings:
    """A cache: changes of status do not change boxes and lines."""

    def __init__(self) -> None:
        self._made: OrderedDict[tuple[bool, tuple[LayoutNode, ...]], bytes] = OrderedDict()

    def of(self, nodes: list[NodeView], *, solved: bool | None, toggled: Collection[str]) -> bytes:
        """As JSON. `solved`: fold finished parts; None: if there are many. `toggled`: but these."""
        solved = len(nodes) > MANY if solved is None else solved
        folded = folded_parents(nodes, solved=solved, toggled=toggled)
        drawn = nodes_of(nodes, folded)
        key = (solved, drawn)
        if key not in self._made:
            self._made[key] = msgspec.json.encode(_data(layout(drawn), solved=solved))
        self._made.move_to_end(key)
        while len(self._made) > KEPT:
            self._made.popitem(last=False)
        return self._made[key]


def folded_parents(
    nodes: list[NodeView], *, solved: bool, toggled: Collection[str]
) -> frozenset[str]:
    """The parents below which nothing is drawn."""
    parents = [node for node in nodes if node["children"] and node["kind"] != "root"]
    over = {node["id"] for node in parents if solved and node["status"] in _OVER}
    return frozenset(over.symmetric_difference(toggled).intersection(n["id"] for n in parents))


_OVER: Final = ("resolved", "left", "failed")


def _data(drawn: Layout, *, solved: bool) -> dict[str, Any]:
    return {
        "solved": solved,
        "width": drawn.width,
        "height": drawn.height,
        "boxes": [(box.id, box.x, box.y, box.width, box.height) for box in drawn.boxes],
        "lines": [(line.source, line.target, line.link, path(line.points)) for line in drawn.lines],
    }
