"""The step `tree` of a script: an edit of `.runner/tree.json`, as an agent would make it.

    tree: {under: read, add: [{id: units, goal: One unit is read}]}
    tree: {replace: write, by: [{id: format, goal: Hours and minutes are written by hand}]}
    tree: {change: total, to: {passes: true}}

The edit is made whether it is allowed or not, so that a script can rehearse a refusal. Only the
script is checked here; the runner judges the tree.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from dwindle.kernel.model import Problem

TREE: Final = Path(".runner/tree.json")
FORMS: Final = {"under": "add", "replace": "by", "change": "to"}
"""What is edited, and what is done to it."""
WANTED: Final = "use one of {under, add}, {replace, by}, {change, to}"
NODE: Final = ("id", "goal", "title", "acceptance", "max_attempts", "children")
FIELDS: Final = (*NODE, "order", "passes", "attempts")
CUSTOMARY_ATTEMPTS: Final = 3

Where = tuple[str | int, ...]
Node = dict[str, Any]


class NotInTree(Exception):
    """The tree has nothing that could be edited so."""


# --- judging the script --------------------------------------------------------------------------


def problems(step: object, where: Where) -> Iterator[Problem]:
    if not isinstance(step, dict) or not _form(step):
        yield Problem(where=where, what="is no edit of a tree", hint=WANTED)
        return
    target, what = _form(step)
    if not isinstance(step[target], str):
        yield Problem(where=(*where, target), what="is not the id of a node", hint="quote it")
    if what == "to":
        yield from _change_problems(step[what], (*where, what))
    else:
        yield from _nodes_problems(step[what], (*where, what))


def _form(step: Mapping[str, object]) -> tuple[str, ...]:
    return next((pair for pair in FORMS.items() if step.keys() == set(pair)), ())


def _nodes_problems(nodes: object, where: Where) -> Iterator[Problem]:
    if not isinstance(nodes, list) or not nodes:
        yield Problem(where=where, what="is not a list of nodes", hint="- {id: a, goal: a works}")
        return
    for index, node in enumerate(nodes):
        here = (*where, index)
        if not isinstance(node, dict):
            yield Problem(where=here, what="a node is a mapping", hint=_some_of(NODE))
            continue
        for name, value in node.items():
            yield from _field_problems(name, value, (*here, name), NODE)
        for name in ("id", "goal"):
            if name not in node:
                yield Problem(where=here, what=f"has no {name}")


def _change_problems(fields: object, where: Where) -> Iterator[Problem]:
    if not isinstance(fields, dict) or not fields:
        yield Problem(where=where, what="is not a mapping", hint=_some_of(FIELDS))
        return
    for name, value in fields.items():
        yield from _field_problems(name, value, (*where, name), FIELDS)


def _field_problems(
    name: str, value: object, where: Where, known: tuple[str, ...]
) -> Iterator[Problem]:
    if name not in known:
        yield Problem(where=where, what=f"{name!r} is unknown", hint=_some_of(known))
    elif name == "children":
        if value != []:
            yield from _nodes_problems(value, where)
    elif name == "acceptance":
        if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
            yield Problem(where=where, what="is not a list of texts")
    else:
        kind, words = _KINDS.get(name, _TEXT)
        if type(value) is not kind:
            yield Problem(where=where, what=words)


_TEXT: Final = (str, "is not a text")
_NUMBER: Final = (int, "is not a whole number")
_KINDS: Final = {
    "passes": (bool, "is neither true nor false"),
    "order": _NUMBER,
    "attempts": _NUMBER,
    "max_attempts": _NUMBER,
}


def _some_of(names: tuple[str, ...]) -> str:
    return f"use some of {', '.join(names)}"


# --- doing it ------------------------------------------------------------------------------------


def edit(step: Mapping[str, Any]) -> None:
    """Edit the tree in the current folder. NotInTree, OSError: nothing was written."""
    try:
        tree = json.loads(TREE.read_bytes())
        _edit(tree["root"], step)
    except (ValueError, KeyError, TypeError) as error:
        raise NotInTree(f"{TREE} is no tree: {error}") from None
    TREE.write_text(json.dumps(tree, ensure_ascii=False, indent=2) + "\n", "utf-8")


def _edit(root: Node, step: Mapping[str, Any]) -> None:
    target, what = _form(step)
    node, siblings = _node_and_siblings(root, step[target])
    if target == "under":
        last = max((child["order"] for child in node["children"]), default=-1)
        node["children"] += _new(step[what], last + 1)
    elif target == "replace":
        if node is root:
            raise NotInTree("the root stands beside nothing, so it cannot be replaced")
        _replace(node, siblings, step[what])
    else:
        node |= step[what]
        if "children" in step[what]:
            node["children"] = _new(step[what]["children"], 0)


def _replace(node: Node, siblings: list[Node], by: list[Node]) -> None:
    """In the same place; later siblings move up if necessary."""
    after = [child for child in siblings if _place(child) > _place(node)]
    room = min((child["order"] for child in after), default=node["order"] + len(by)) - node["order"]
    for child in after:
        child["order"] += max(0, len(by) - room)
    siblings.remove(node)
    siblings += _new(by, node["order"])


def _node_and_siblings(root: Node, wanted: str) -> tuple[Node, list[Node]]:
    """A node, and the list that it stands in."""
    waiting = [(root, [root])]
    while waiting:
        node, siblings = waiting.pop()
        if node["id"] == wanted:
            return node, siblings
        waiting.extend((child, node["children"]) for child in node["children"])
    raise NotInTree(f"there is no node {wanted!r}")


def _place(node: Node) -> tuple[int, str]:
    return node["order"], node["id"]


def _new(nodes: list[Node], first: int) -> list[Node]:
    """In the order written, with defaults for the optional fields."""
    return [
        {
            "id": node["id"],
            "order": first + place,
            "title": node.get("title", node["id"]),
            "goal": node["goal"],
            "acceptance": node.get("acceptance", []),
            "passes": False,
            "attempts": 0,
            "max_attempts": node.get("max_attempts", CUSTOMARY_ATTEMPTS),
            "children": _new(node.get("children", []), 0),
        }
        for place, node in enumerate(nodes)
    ]
