"""What of a large plan is put away, so that what is left to do can be read.

Nothing is drawn below a node that is over; and among the parts of a node that is still open, those
that are finished are left out.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from dwindle.views.layout.layout import nodes_of
from dwindle.views.layout.parts import LayoutNode
from dwindle.views.read_model.shapes import NodeView

MANY: Final = 120
"""With more nodes than this, finished parts are folded at first."""
_OVER: Final = ("resolved", "left", "failed")
_FINISHED: Final = ("resolved", "left")


def unfolded_nodes(
    nodes: Sequence[NodeView], *, solved: bool | None = None, toggled: Collection[str] = ()
) -> tuple[LayoutNode, ...]:
    """What is drawn. `solved`: fold what is finished; None: if it is much. `toggled`: not these."""
    solved = len(nodes) > MANY if solved is None else solved
    away = finished_parts(nodes) if solved else frozenset()
    folded = folded_parents(nodes, solved=solved, toggled=toggled)
    return nodes_of([node for node in nodes if node["id"] not in away], folded)


def folded_parents(
    nodes: Sequence[NodeView], *, solved: bool, toggled: Collection[str]
) -> frozenset[str]:
    """The parents below which nothing is drawn."""
    parents = [node for node in nodes if node["children"] and node["kind"] != "root"]
    over = {node["id"] for node in parents if solved and node["status"] in _OVER}
    return frozenset(over.symmetric_difference(toggled).intersection(n["id"] for n in parents))


def finished_parts(nodes: Sequence[NodeView]) -> frozenset[str]:
    """What is finished among the parts of what is open, with all that is below it.

    The ways of a choice stay: which of them were given up is what one wants to see.
    """
    status = {node["id"]: node["status"] for node in nodes}
    found: set[str] = set()
    for node in nodes:  # parents come before their children
        if node["id"] in found:
            found.update(node["children"])
        elif node["kind"] != "group" and node["status"] not in _OVER:
            done = [kid for kid in node["children"] if status.get(kid) in _FINISHED]
            found.update(done if len(done) < len(node["children"]) else ())
    return frozenset(found)
