"""What makes a Task Tree valid, said twice on purpose.

`holds` answers yes or no for a tree that the wire types have already accepted; it runs on every
load and is quick. `explain` goes through the text's values one by one and says everything that is
wrong, with line, path and hint; it runs when the quick answer was no. A test holds the two to the
same verdict on generated and damaged files.

One disagreement between `passes` and the children is only a warning: all children pass and the
parent does not say so yet. An agent that takes away the last open sibling leaves exactly that
behind, and it may not write `passes` itself; the runner derives it. The other way round, a passed
parent with open work below it, is a lie and refused.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from dwindle.adapters.formats.tree.json_text import BROKEN, Located, Problems, Where
from dwindle.adapters.formats.tree.walk import levels, place
from dwindle.adapters.formats.tree.wire import ID_PATTERN, LARGEST, TreeDocument, TreeNode

MAX_DEPTH: Final = 64
"""Levels of nodes, the root's included."""
ROOT_ID: Final = "root"
TREE_KEYS: Final = TreeDocument.__struct_fields__
NODE_KEYS: Final = TreeNode.__struct_fields__

_ID = re.compile(ID_PATTERN)
_Complaint = tuple[str, str] | None


def holds(tree: TreeDocument) -> bool:
    """Whether the rules between nodes hold, without a word why not."""
    ids: set[str] = set()
    count = 0
    for depth, level in enumerate(levels(tree.root), start=1):
        if depth > MAX_DEPTH:
            return False
        for node in level:
            children = node.children
            if children and node.passes != all(child.passes for child in children):
                return False
        count += len(level)
        ids.update([node.id for node in level])
    return tree.root.id == ROOT_ID and len(ids) == count


@dataclass(slots=True)
class Seen:
    """A node as far as it could be understood."""

    where: Where
    line: int
    depth: int
    values: dict[str, object] = field(default_factory=dict)
    """Only fields that are in order."""
    lines: dict[str, int] = field(default_factory=dict)
    children: list[Seen] = field(default_factory=list)
    whole: bool = True
    """Every child is a node."""

    def at(self, key: str) -> tuple[Where, int]:
        """Path and line of a field."""
        return (*self.where, key), self.lines.get(key, self.line)


@dataclass(slots=True)
class Explained:
    """`nodes` parents first, as in the file; `tree` is there if nothing is wrong but warnings."""

    tree: TreeDocument | None
    nodes: list[Seen]


def explain(document: Located, problems: Problems) -> Explained:
    """Say all that is wrong with what was read; `problems` holds what the reader said already."""
    nodes: list[Seen] = []
    members = _members(document, (), TREE_KEYS, "the document", problems)
    if members is not None:
        _check_version(members, problems)
        if "root" in members:
            nodes = _nodes(members["root"], problems)
            _check_between(nodes, problems)
    return Explained(None if problems.refused else _built(nodes), nodes)


def _members(
    at: Located, where: Where, keys: tuple[str, ...], name: str, problems: Problems
) -> dict[str, Located] | None:
    """The members of an object with exactly these keys; complains of all others."""
    if not isinstance(at.value, dict):
        if at.value is not BROKEN:
            what = f"{name} is {_kind(at.value)}, not an object"
            problems.add(where, at.line, what, "write {…}")
        return None
    members: dict[str, Located] = at.value
    for key, value in members.items():
        if key not in keys:
            near = () if problems.full else _near(key, keys)
            hint = f"did you mean {near[0]!r}?" if near else f"{name} has only {', '.join(keys)}"
            what = f"{name} has no key {_short(key)}"
            problems.add((*where, key), value.line, what, hint)
    for key in keys:
        if key not in members:
            what = f"{name} lacks the key {key!r}"
            hint = "every key must be there; none has a default"
            problems.add((*where, key), at.line, what, hint)
    return members


def _check_version(members: Mapping[str, Located], problems: Problems) -> None:
    version = members.get("version")
    if version is None or version.value is BROKEN:
        return
    if type(version.value) is not int or version.value != 1:
        what = f"version is {_short(version.value)}"
        hint = "this program reads Task Tree version 1, written as the whole number 1"
        problems.add(("version",), version.line, what, hint)


def _nodes(root: Located, problems: Problems) -> list[Seen]:
    nodes: list[Seen] = []
    top = Seen((), 0, 0)
    waiting: list[tuple[Located, Where, Seen]] = [(root, ("root",), top)]
    while waiting:
        at, where, parent = waiting.pop()
        members = _members(at, where, NODE_KEYS, "a node", problems)
        if members is None:
            parent.whole = False
            continue
        seen = Seen(where, at.line, parent.depth + 1)
        parent.children.append(seen)
        nodes.append(seen)
        for key in NODE_KEYS:
            if key in members:
                _check_field(seen, key, members[key], problems)
        below = members.get("children")
        if below is not None and isinstance(below.value, list):
            children = enumerate(below.value)
            waiting.extend(
                reversed([(child, (*where, "children", index), seen) for index, child in children])
            )
    return nodes


def _check_field(seen: Seen, key: str, at: Located, problems: Problems) -> None:
    seen.lines[key] = at.line
    if at.value is BROKEN:
        return
    if key == "acceptance" and isinstance(at.value, list):
        _check_acceptance(seen, at.value, problems)
        return
    complaint = _FIELDS[key](at.value)
    if complaint is None:
        seen.values[key] = at.value
        return
    what, hint = complaint
    problems.add((*seen.where, key), at.line, what, hint)


def _check_acceptance(seen: Seen, items: list[Located], problems: Problems) -> None:
    for index, item in enumerate(items):
        if not isinstance(item.value, str) and item.value is not BROKEN:
            where = (*seen.where, "acceptance", index)
            what = f"an acceptance criterion is {_kind(item.value)}, not a text"
            hint = "write it in double quotes"
            problems.add(where, item.line, what, hint)
    seen.values["acceptance"] = tuple(item.value for item in items)


def _check_between(nodes: list[Seen], problems: Problems) -> None:
    """What no node can be asked alone."""
    first: dict[object, Seen] = {}
    for seen in nodes:
        name = seen.values.get("id")
        if seen.where == ("root",) and name not in {None, ROOT_ID}:
            what = f"the root's id is {name!r}"
            problems.add(*seen.at("id"), what, f"it must be {ROOT_ID!r}")
        if name is not None and first.setdefault(name, seen) is not seen:
            what = f"the id {name!r} is taken"
            hint = f"ids are unique in the whole tree; the first is in line {first[name].line}"
            problems.add(*seen.at("id"), what, hint)
        if seen.depth == MAX_DEPTH + 1:
            what = f"more than {MAX_DEPTH} levels deep"
            problems.add(seen.where, seen.line, what, "hang this subtree higher")
        _check_passes(seen, problems)


def _check_passes(seen: Seen, problems: Problems) -> None:
    said = seen.values.get("passes")
    below = [child.values.get("passes") for child in seen.children]
    if said is None or not below:
        return
    if said is True and False in below:
        what = "the node passes but not all its children do"
        hint = "an inner node passes only when all its children pass; the runner derives it"
        problems.add(*seen.at("passes"), what, hint)
    if said is False and seen.whole and all(below):
        what = "all children pass but the node does not say so"
        hint = "nothing to do: the runner derives it when it next writes the tree"
        problems.add(*seen.at("passes"), what, hint, warning=True)


def _built(nodes: list[Seen]) -> TreeDocument:
    """Put the nodes together, leaves first, siblings in canonical order."""
    done: dict[Where, TreeNode] = {}
    for seen in reversed(nodes):
        children = sorted((done.pop(child.where) for child in seen.children), key=place)
        fields = {**seen.values, "children": tuple(children)}
        done[seen.where] = TreeNode(**fields)  # type: ignore[arg-type]  # checked one by one
    return TreeDocument(version=1, root=done["root",])


# --- one field at a time -----------------------------------------------------------------------


def _whole_number(name: str, least: int) -> Callable[[object], _Complaint]:
    def check(value: object) -> _Complaint:
        if type(value) is not int:
            return f"{name} is {_kind(value)}, not a whole number", "write digits and nothing else"
        if not least <= value <= LARGEST:
            return f"{name} is {value}", f"it must be from {least} to {LARGEST}"
        return None

    return check


def _text(name: str) -> Callable[[object], _Complaint]:
    def check(value: object) -> _Complaint:
        if not isinstance(value, str):
            return f"{name} is {_kind(value)}, not a text", "write it in double quotes"
        if not value.strip():
            return f"{name} is blank", "say something"
        return None

    return check


def _id(value: object) -> _Complaint:
    if not isinstance(value, str):
        return f"id is {_kind(value)}, not a text", "write it in double quotes"
    if not _ID.search(value):
        hint = (
            "1 to 64 letters, digits, '_', '.', '-', beginning with a letter or digit, "
            "without '..' and without '.lock' at the end"
        )
        return f"{_short(value)} is no id", hint
    return None


def _passes(value: object) -> _Complaint:
    if not isinstance(value, bool):
        return f"passes is {_kind(value)}, not true or false", "write false for open work"
    return None


def _list(name: str) -> Callable[[object], _Complaint]:
    def check(value: object) -> _Complaint:
        if not isinstance(value, list):
            return f"{name} is {_kind(value)}, not a list", "write […]; it may be empty"
        return None

    return check


_FIELDS: Final[Mapping[str, Callable[[object], _Complaint]]] = {
    "id": _id,
    "order": _whole_number("order", -LARGEST),
    "title": _text("title"),
    "goal": _text("goal"),
    "acceptance": _list("acceptance"),
    "passes": _passes,
    "attempts": _whole_number("attempts", 0),
    "max_attempts": _whole_number("max_attempts", 1),
    "children": _list("children"),
}


def _near(key: str, keys: tuple[str, ...]) -> list[str]:
    return difflib.get_close_matches(key[:64], keys, n=1, cutoff=0.7)


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    return "null" if value is None else _short(value)


def _short(value: object) -> str:
    shown = repr(value) if not isinstance(value, list | dict) else _kind(value)
    return shown if len(shown) <= 80 else shown[:79] + "…"
