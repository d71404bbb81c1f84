"""The AND/OR plan as lines of a terminal: parts, alternatives, and how each of them stands.

What is solved or left is folded away where there is no room for it; what runs is always shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from dwindle.text.terminal import columns, cut, shortened
from dwindle.views.read_model.shapes import NodeView
from dwindle.views.terminal.board import Line

COLOURS: Final = {
    "pending": "",
    "running": "blue",
    "resolved": "green",
    "parked": "yellow",
    "failed": "red",
    "left": "dim",
    "unwritten": "dim",
}
NAME: Final = 20
"""No more columns for the name of an atom, which may have 64."""
OVER: Final = ("resolved", "failed", "left")
NOTED: Final = 3
"""Of a line, this part is for why something is parked."""
DEEPEST: Final = 12
"""Levels that are indented."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """What stands for what; a terminal may not be able to show all of them."""

    status: Mapping[str, str]
    taken: str
    bar: tuple[str, str]
    rule: str


FINE: Final = Signs(
    status={
        "pending": "\u00b7",
        "running": "\u25b6",
        "resolved": "\u2713",
        "parked": "\u2016",
        "failed": "\u2717",
        "left": "\u21a9",
        "unwritten": "?",
    },
    taken="\u2192",
    bar=("\u2588", "\u2591"),
    rule="\u2500",
)
PLAIN: Final = Signs(
    status={
        "pending": ".",
        "running": ">",
        "resolved": "x",
        "parked": "|",
        "failed": "!",
        "left": "-",
        "unwritten": "?",
    },
    taken="=",
    bar=("#", "."),
    rule="-",
)


class ListedNode(NamedTuple):
    """A node on the list."""

    id: str
    depth: int
    folded: int
    """How many stand below it that are not on the list."""


def listed_nodes(nodes: Mapping[str, NodeView], room: int | None = None) -> list[ListedNode]:
    """All nodes but the root, or so many that they have room if what is over is folded away."""
    listed = _listed(nodes, {})
    return listed if room is None or len(listed) <= room else _listed(nodes, _sizes(nodes))


def window(listed: list[ListedNode], room: int, focus: str | None) -> tuple[int, list[ListedNode]]:
    """As many as there is room for, around the one that matters; and how many are above."""
    if len(listed) <= room:
        return 0, listed
    at = next((i for i, place in enumerate(listed) if place.id == focus), 0)
    first = max(0, min(at - room // 2, len(listed) - room))
    return first, listed[first : first + room]


def plan_line(
    nodes: Mapping[str, NodeView], place: ListedNode, *, width: int, signs: Signs
) -> Line:
    node = nodes[place.id]
    above = nodes.get(node["parent"] or "")
    margin = "  " * min(place.depth, DEEPEST)
    if above is not None and above["kind"] == "group":
        # A choice has a parent, so that there is room for the sign in front of it.
        margin = margin[:-1] + (signs.taken if above["selected"] == place.id else " ")
    begun = f"{margin}{signs.status[node['status']]} {shortened(place.id, NAME)}"
    after = _after(node, width) + (f" (+{place.folded})" if place.folded else "")
    room = width - columns(begun) - columns(after) - 2
    words = shortened(_words(node)[: 2 * width], room) if room > 3 else ""
    text = f"{begun}  {words}{after}" if words else f"{begun}{after}"
    colour = "dim" if not node["live"] else COLOURS[node["status"]]
    return Line(text=cut(text, width), colour=colour)


def _listed(nodes: Mapping[str, NodeView], below: Mapping[str, int]) -> list[ListedNode]:
    """What is over is folded if it is known how many stand below it."""
    found: list[ListedNode] = []
    waiting = [(name, 0) for name in reversed(nodes[""]["children"])] if "" in nodes else []
    while waiting:
        name, depth = waiting.pop()
        node = nodes[name]
        folded = below.get(name, 0) if node["status"] in OVER else 0
        found.append(ListedNode(name, depth, folded))
        if not folded:
            waiting.extend((kid, depth + 1) for kid in reversed(node["children"]))
    return found


def _sizes(nodes: Mapping[str, NodeView]) -> dict[str, int]:
    """How many stand below each."""
    sizes: dict[str, int] = {}
    for name in reversed(list(nodes)):
        sizes[name] = sum(1 + sizes[kid] for kid in nodes[name]["children"])
    return sizes


def _words(node: NodeView) -> str:
    if node["kind"] == "group":
        return "a race of" if node["speculative"] else "one of"
    return node["description"] or "not written yet"


def _after(node: NodeView, width: int) -> str:
    if node["status"] != "parked" and (node["kind"] != "atom" or node["children"]):
        return ""
    words = {"exhausted": " exhausted", "parked": " parked", "reserve": " in reserve"}
    standing = words.get(node["standing"], "")
    tries = f" {node['attempts']}/{node['max_attempts']}" if node["attempts"] else ""
    note = f": {shortened(node['note'], width // NOTED)}" if node["note"] else ""
    return f"{tries}{standing}{note}"
