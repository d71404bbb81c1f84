"""The AND/OR plan as SVG, on the places that `layout` finds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dwindle.text import amounts
from dwindle.text.terminal import shortened
from dwindle.views.layout.folding import unfolded_nodes
from dwindle.views.layout.layout import layout, path
from dwindle.views.layout.parts import Box, Polyline
from dwindle.views.read_model.shapes import NodeView
from dwindle.views.report.markup import EMPTY, Markup, element, joined, text

MARKS: Final = {
    "pending": "\u00b7",
    "running": "\u25b6",
    "resolved": "\u2713",
    "parked": "\u2016",
    "failed": "\u2717",
    "left": "\u21a9",
    "unwritten": "?",
}
LETTER: Final = 6.3
PAGE: Final = 920
"""Pixels; a wider plan is made smaller."""


def drawing(nodes: Sequence[NodeView]) -> Markup:
    """Nothing for an empty plan; of a large one, what is finished is folded.

    It is as wide as the page at most, so that all of it can be seen.
    """
    known = {node["id"]: node for node in nodes}
    placed = layout(unfolded_nodes(nodes))
    if not placed.boxes:
        return EMPTY
    counted = amounts.count(len(placed.boxes), "node")
    drawn = element(
        "svg",
        element("title", text("The plan: what is part of what, what are alternatives")),
        element("desc", text(f"{counted}; the list below has all of them.")),
        *(_line(line, known) for line in placed.lines),
        *(_box(box, known[box.id]) for box in placed.boxes),
        class_="plan",
        viewBox=f"0 0 {placed.width:g} {placed.height:g}",
        width=placed.width,
        height=placed.height,
        role="img",
    )
    whole = element("div", drawn, class_="whole", tabindex="0")
    if placed.width <= PAGE:
        return whole
    return joined(
        element("details", element("summary", "In its own size"), class_="own-size"), whole
    )


def _line(line: Polyline, known: dict[str, NodeView]) -> Markup:
    target = known[line.target]
    faded = " faded" if not target["live"] else ""
    return element("path", d=path(line.points), class_=f"way {line.link}{faded}")


def _box(box: Box, node: NodeView) -> Markup:
    is_group = node["kind"] == "group"
    room = int((box.width - 16) / LETTER)
    heading = f"{MARKS[node['status']]} {node['id']}"
    below = _below(node)
    faded = "" if node["live"] else " faded"
    return element(
        "g",
        element("title", text(node_title(node))),
        element(
            "rect", x=box.x, y=box.y, width=box.width, height=box.height, rx=18 if is_group else 6
        ),
        element("text", text(shortened(heading, room)), x=box.x + 9, y=box.y + 19, class_="name"),
        element("text", text(shortened(below, room + 2)), x=box.x + 9, y=box.y + 36),
        class_=f"box {node['kind']} {node['status']}{faded}",
    )


def _below(node: NodeView) -> str:
    if node["kind"] == "group":
        return "one of all" if node["speculative"] else "one of"
    return node["description"] or "not written yet"


def node_title(node: NodeView) -> str:
    """A node in a sentence."""
    if node["kind"] == "group":
        how = "a race of" if node["speculative"] else "one of"
        taken = f"; {node['selected']} is taken" if node["selected"] else ""
        return f"{node['id']}: {node['status']}, {how} {', '.join(node['children'])}{taken}"
    tries = f", {node['attempts']} of {node['max_attempts']} attempts" if node["attempts"] else ""
    last = f" (last: {node['note']})" if node["note"] else ""
    return f"{node['id']}: {node['status']}{tries}{last}: {node['description'][:400]}"
