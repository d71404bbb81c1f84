"""Positions of boxes and lines in a drawing of the AND/OR graph.

Everything lies in the cells of one grid. A line runs in the gutters between columns, in the
corridors between rows, and through empty cells of the row where it ends; so lines may cross each
other, but never a box. Gutters and corridors are as wide as their lines need.

A node stands left of its parts, and right of what it waits for: `cells` finds the cells, `routes`
the lines.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from dwindle.views.layout.cells import cells_of
from dwindle.views.layout.parts import BoxKind, Layout, LayoutNode, Link
from dwindle.views.layout.routes import Drawing
from dwindle.views.read_model.shapes import NodeView

RADIUS: Final = 7


def layout(nodes: Iterable[LayoutNode]) -> Layout:
    """The drawing; nodes in the order of the plan. Links to unknown nodes are left out."""
    known = {node.id: node for node in nodes}
    return Drawing(known, cells_of(known), tuple(_links(known))).layout()


def nodes_of(views: Iterable[NodeView], folded: Collection[str] = ()) -> tuple[LayoutNode, ...]:
    """What is drawn of a plan: all but the root, and nothing below what is folded.

    A line from or to something below goes from or to what it is folded into.
    """
    known = {seen["id"]: seen for seen in views if seen["kind"] != "root"}
    own = _own_needs(known)
    shown: dict[str, str] = {}
    for name, seen in known.items():  # parents come before their children
        above = seen["parent"] or ""
        inside = shown.get(above, "")
        shown[name] = inside if inside and (inside != above or above in folded) else name
    needs: dict[str, dict[str, None]] = {name: {} for name in shown.values()}
    for name in known:
        needs[shown[name]].update((shown[need], None) for need in own[name] if need in shown)
    return tuple(
        LayoutNode(
            name,
            known[name]["parent"] or None,
            tuple(need for need in needs[name] if need != name),
            BoxKind.GROUP if known[name]["kind"] == "group" else BoxKind.ATOM,
        )
        for name in known
        if shown[name] == name
    )


def _own_needs(known: Mapping[str, NodeView]) -> dict[str, tuple[str, ...]]:
    """The needs of each node, without those that a node above it has already.

    A part inherits the needs of its whole; needs that all choices share are drawn at the group.
    """
    needs = {name: tuple(seen["depends_on"]) for name, seen in known.items()}
    for name, seen in reversed(list(known.items())):
        written = [k for k in seen["children"] if k in known and known[k]["kind"] != "unwritten"]
        if seen["kind"] == "group" and written:
            rest = [needs[kid] for kid in written[1:]]
            needs[name] = tuple(n for n in needs[written[0]] if all(n in other for other in rest))
    above: dict[str, frozenset[str]] = {}
    for name, seen in known.items():
        inherited = above.get(seen["parent"] or "", frozenset())
        needs[name] = tuple(need for need in needs[name] if need not in inherited)
        above[name] = inherited.union(needs[name])
    return needs


def path(points: tuple[tuple[float, float], ...], radius: float = RADIUS) -> str:
    """A line for the attribute `d` of an SVG path, its corners rounded inwards."""
    (x, y), *rest = points
    said = [f"M{x:g} {y:g}"]
    for at, (px, py) in enumerate(rest, 1):
        if at == len(points) - 1:
            said.append(f"L{px:g} {py:g}")
            continue
        before, after = points[at - 1], points[at + 1]
        bend = min(radius, _far((px, py), before) / 2, _far((px, py), after) / 2)
        ax, ay = _towards((px, py), before, bend)
        bx, by = _towards((px, py), after, bend)
        said.append(f"L{ax:g} {ay:g}Q{px:g} {py:g} {bx:g} {by:g}")
    return "".join(said)


def _far(a: tuple[float, float], b: tuple[float, float]) -> float:
    return abs(a[0] - b[0]) + abs(a[1] - b[1])


def _towards(a: tuple[float, float], b: tuple[float, float], way: float) -> tuple[float, float]:
    full = _far(a, b) or 1.0
    return (
        round(a[0] + (b[0] - a[0]) * way / full, 2),
        round(a[1] + (b[1] - a[1]) * way / full, 2),
    )


def _links(known: Mapping[str, LayoutNode]) -> Iterator[tuple[str, str, Link]]:
    for node in known.values():
        above = known.get(node.parent or "")
        if above is not None:
            link = Link.CHOICE if above.kind is BoxKind.GROUP else Link.PART
            yield above.id, node.id, link
        for need in dict.fromkeys(node.needs):
            if need in known and need != node.id:
                yield need, node.id, Link.NEED
