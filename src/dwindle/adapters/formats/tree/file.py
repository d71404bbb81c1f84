"""The tree plan file, `.runner/tree.json`: Task Tree v1 in and out.

`decode` never raises and never guesses. A good file takes the quick way: the wire types, one pass
that looks for keys given twice (which the wire types cannot see), and the rules between nodes. As
soon as anything is amiss the text is read again, slowly, to say all that is wrong and where.

`encode` has one answer for one tree: keys in the order of the wire types, siblings by (order, id),
two spaces, characters as they are, one newline at the end.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

import msgspec

from dwindle.adapters.formats.tree.json_text import Problems, read
from dwindle.adapters.formats.tree.rules import Explained, explain, holds
from dwindle.adapters.formats.tree.walk import canonical
from dwindle.adapters.formats.tree.wire import TreeDocument
from dwindle.kernel.model import Problem

MAX_BYTES: Final = 16 * 1024 * 1024
"""Three times a tree of ten thousand nodes; a larger file is not even looked into."""

_BOM: Final = b"\xef\xbb\xbf"
_WIRE: Final = msgspec.json.Decoder(TreeDocument)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedTree:
    """`tree` is None exactly if a problem other than a warning was found."""

    tree: TreeDocument | None
    """Siblings in canonical order."""
    problems: tuple[Problem, ...] = ()
    """By line."""


def decode(data: bytes) -> DecodedTree:
    """Read a tree file; every problem at once."""
    if len(data) > MAX_BYTES:
        what = f"the file has {len(data)} bytes, and at most {MAX_BYTES} are read"
        problem = Problem(where=(), what=what, hint="is this a task tree?")
        return DecodedTree(tree=None, problems=(problem,))
    tree = quick(data)
    if tree is not None:
        return DecodedTree(tree=tree)
    problems = Problems()
    tree = slow(data, problems).tree
    return DecodedTree(tree=tree, problems=problems.by_line())


def encode(tree: TreeDocument) -> bytes:
    """The canonical bytes of a valid tree."""
    return msgspec.json.format(msgspec.json.encode(canonical(tree)), indent=2) + b"\n"


def quick(data: bytes) -> TreeDocument | None:
    """The tree if there is nothing at all to say about it, else None."""
    if b"\r" in data:
        return None
    try:
        tree = _WIRE.decode(data)
        json.loads(data, object_pairs_hook=_refuse_twice)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return canonical(tree) if holds(tree) else None


def slow(data: bytes, problems: Problems) -> Explained:
    """The tree, or all that is wrong with the file."""
    if data.startswith(_BOM):
        hint = "save the file as UTF-8 without a byte order mark"
        problems.add((), 1, "a byte order mark", hint)
        data = data.removeprefix(_BOM)
    carriage_return = data.find(b"\r")
    if carriage_return >= 0:
        line = _line(data, carriage_return)
        problems.add((), line, "a carriage return (CR LF)", "end lines with LF alone")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        what = f"byte {data[error.start]:#04x} is no UTF-8"
        problems.add((), _line(data, error.start), what, "save the file as UTF-8")
        text = data.decode(errors="replace")
    value = read(text, problems)
    return Explained(None, []) if value is None else explain(value, problems)


def _refuse_twice(pairs: list[tuple[str, object]]) -> None:
    if len(dict(pairs)) != len(pairs):
        raise ValueError


def _line(data: bytes, at: int) -> int:
    return data.count(b"\n", 0, at) + 1
