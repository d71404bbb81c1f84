"""What an agent may do to the tree, judged from the last valid tree and the one it left behind.

Open work is the agent's: it may add, edit, move, reorder and remove it. Two things are not. What
has passed is finished for good: its record, its parent and its `order` stay as they are, and so
does everything below it. And `passes` and `attempts` are the runner's word; `max_attempts` is a
promise made once, when a node is new.

Nodes are told apart by id alone, so a node that keeps its id and changes everything else is an
edit, and one under a new id is a new node. A parent that is itself open may move: what counts as
the place of a passed node is its parent's id and its `order`, not the way down from the root.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from dwindle.adapters.formats.tree.file import slow
from dwindle.adapters.formats.tree.json_text import Problems, Where
from dwindle.adapters.formats.tree.wire import TreeDocument, TreeNode
from dwindle.kernel.measure import TREE_ATTEMPTS
from dwindle.kernel.model import Problem

MOST_ATTEMPTS: Final = TREE_ATTEMPTS

_RECORD: Final = ("order", "title", "goal", "acceptance", "max_attempts")
_RESTORE: Final = "put it back as it was; improve on it in a new node"
_RUNNER: Final = "leave this field to the runner"


@dataclass(frozen=True, slots=True)
class _Entry:
    """One node of a tree and where to point at when it is spoken of."""

    node: TreeNode
    parent: str | None
    where: Where
    line: int | None = None
    lines: Mapping[str, int] | None = None

    def problem(self, key: str, what: str, hint: str) -> Problem:
        line = (self.lines or {}).get(key, self.line)
        return Problem(where=(*self.where, key), what=what, hint=hint, line=line)


def changes_refused(
    before: TreeDocument, after: TreeDocument, *, text: bytes | None = None
) -> tuple[Problem, ...]:
    """Everything in `after` that an agent had no right to do to `before`; both are valid trees.

    `text` is the file that `after` was decoded from: with it, problems carry the line, and the
    path as that file has it. Without, paths are those of the canonical order.
    """
    old = _index(before)
    new = _index(after) if text is None else _index_of_text(after, text)
    problems = [
        *_passed_nodes_changed(old, new),
        *_runner_fields_changed(old, new),
        *_new_nodes_refused(old, new),
    ]
    return tuple(sorted(problems, key=lambda problem: problem.line or 0))


def _passed_nodes_changed(
    old: Mapping[str, _Entry], new: Mapping[str, _Entry]
) -> Iterator[Problem]:
    for name, was in old.items():
        if not was.node.passes:
            continue
        now = new.get(name)
        if now is None:
            nearest = new.get(was.parent or "", new["root"])
            yield nearest.problem("children", f"{name} has passed and is gone", _RESTORE)
            continue
        if now.parent != was.parent:
            what = f"{name} has passed and was moved from {was.parent} to {now.parent}"
            yield now.problem("id", what, f"put it back under {was.parent}")
        for key in _RECORD:
            if getattr(now.node, key) != getattr(was.node, key):
                what = f"{name} has passed and its {key} was changed"
                yield now.problem(key, what, _RESTORE)
        had = {child.id for child in was.node.children}
        for child in now.node.children:
            if child.id not in had:
                what = f"{name} has passed and was given the child {child.id}"
                yield now.problem("children", what, "new work goes under an open node")


def _runner_fields_changed(
    old: Mapping[str, _Entry], new: Mapping[str, _Entry]
) -> Iterator[Problem]:
    for name, was in old.items():
        now = new.get(name)
        if now is None:
            continue
        if now.node.passes and not was.node.passes:
            yield now.problem("passes", f"{name} was marked as passed by the agent", _RUNNER)
        if was.node.passes and not now.node.passes:
            yield now.problem("passes", f"{name} has passed and was reopened", _RUNNER)
        if now.node.attempts != was.node.attempts:
            what = f"attempts of {name} went from {was.node.attempts} to {now.node.attempts}"
            yield now.problem("attempts", what, _RUNNER)
        if now.node.max_attempts != was.node.max_attempts and not was.node.passes:
            what = (
                f"max_attempts of {name} went from {was.node.max_attempts} "
                f"to {now.node.max_attempts}"
            )
            yield now.problem("max_attempts", what, "it is fixed once the node exists")


def _new_nodes_refused(old: Mapping[str, _Entry], new: Mapping[str, _Entry]) -> Iterator[Problem]:
    for name, now in new.items():
        if name in old:
            continue
        if now.node.passes:
            yield now.problem("passes", f"the new node {name} says that it has passed", _RUNNER)
        if now.node.attempts:
            what = f"the new node {name} begins with {now.node.attempts} attempts"
            yield now.problem("attempts", what, "a new node begins with 0")
        if now.node.max_attempts > MOST_ATTEMPTS:
            what = f"the new node {name} allows itself {now.node.max_attempts} attempts"
            yield now.problem("max_attempts", what, f"1 to {MOST_ATTEMPTS}")


def _index(tree: TreeDocument) -> dict[str, _Entry]:
    """Every node by id, parents first, with its path in the tree as it is."""
    entries: dict[str, _Entry] = {}
    waiting = [_Entry(tree.root, None, ("root",))]
    while waiting:
        entry = waiting.pop()
        entries[entry.node.id] = entry
        waiting.extend(
            reversed(
                [
                    _Entry(child, entry.node.id, (*entry.where, "children", index))
                    for index, child in enumerate(entry.node.children)
                ]
            )
        )
    return entries


def _index_of_text(tree: TreeDocument, text: bytes) -> dict[str, _Entry]:
    """As `_index`, but pointing into the file that the tree came from."""
    entries = _index(tree)
    for seen in slow(text, Problems()).nodes:
        name = str(seen.values["id"])
        entry = entries[name]
        entries[name] = _Entry(entry.node, entry.parent, seen.where, seen.line, seen.lines)
    return entries
