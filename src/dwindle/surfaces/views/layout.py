"""Where everything stands in a drawing of the AND/OR graph, and which way its lines go.

Everything stands in the cells of one grid. A line runs in the gutters between columns and in the
corridors between rows, and through the empty cells of the row it ends in; so it can cross other
lines, but never a box. That is not looked for, it follows from where lines may run at all. The
gutters and corridors are made as wide as their lines need.

A node stands to the left of its parts, and right of what it waits for: `layout_cells` finds the
cells, `layout_ways` the ways.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from dwindle.surfaces.views.layout_cells import cells_of
from dwindle.surfaces.views.layout_parts import Box, Kind, Layout, Line, Link, Node
from dwindle.surfaces.views.layout_ways import Drawing
from dwindle.surfaces.views.shapes import NodeView

__all__ = ["Box", "Kind", "Layout", "Line", "Link", "Node", "layout", "nodes_of", "path"]

RADIUS: Final = 7


def layout(nodes: Iterable[Node]) -> Layout:
    """The drawing; nodes in the order of the plan. What names nobody is left out."""
    known = {node.id: node for node in nodes}
    return Drawing(known, cells_of(known), tuple(_links(known))).drawn()


def nodes_of(views: Iterable[NodeView], folded: Collection[str] = ()) -> tuple[Node, ...]:
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
        Node(
            name,
            known[name]["parent"] or None,
            tuple(need for need in needs[name] if need != name),
            Kind.GROUP if known[name]["kind"] == "group" else Kind.ATOM,
        )
        for name in known
        if shown[name] == name
    )


def _own_needs(known: Mapping[str, NodeView]) -> dict[str, tuple[str, ...]]:
    """What each waits for, but for what something above it waits for already.

    A part has all that its whole has; and what every choice waits for is drawn at the group.
    """
    needs = {name: tuple(seen["depends_on"]) for name, seen in known.items()}
    for name, seen in reversed(list(known.items())):
        written = [k for k in seen["children"] if k in known and known[k]["kind"] != "unwritten"]
        if seen["kind"] == "group" and written:
            rest = [needs[kid] for kid in written[1:]]
            needs[name] = tuple(n for n in needs[written[0]] if all(n in other for other in rest))
    above: dict[str, frozenset[str]] = {}
    for name, seen in known.items():
        held = above.get(seen["parent"] or "", frozenset())
        needs[name] = tuple(need for need in needs[name] if need not in held)
        above[name] = held.union(needs[name])
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


def _links(known: Mapping[str, Node]) -> Iterator[tuple[str, str, Link]]:
    for node in known.values():
        above = known.get(node.parent or "")
        if above is not None:
            link = Link.CHOICE if above.kind is Kind.GROUP else Link.PART
            yield above.id, node.id, link
        for need in dict.fromkeys(node.needs):
            if need in known and need != node.id:
                yield need, node.id, Link.NEED
