"""The tree file in an agent's hands, and in ours afterwards.

An edit is taken as a whole or not at all. What is taken becomes two things: the canonical bytes of
the tree as the agent wants it, and the edit as the kernel understands it. `passes` and `attempts`
never come from the agent, even where they would agree: `written` puts them in, from the plan.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from dwindle.adapters.formats.tree.changes import changes_refused
from dwindle.adapters.formats.tree.file import decode, encode
from dwindle.adapters.formats.tree.walk import depth_first, rebuilt
from dwindle.adapters.formats.tree.wire import TreeDocument, TreeNode
from dwindle.kernel.model import AtomId, Plan, Problem, Status, TreeAtom, TreeEdit
from dwindle.ports.tree import Judged


class TaskTreeFormat:
    """Task Tree v1."""

    def root(self, content: bytes) -> TreeNode:
        return _valid(content).root

    def subtree(self, content: bytes, node: str) -> str:
        found = next(path[-1] for path in depth_first(_valid(content).root) if path[-1].id == node)
        return msgspec.json.format(msgspec.json.encode(found), indent=2).decode()

    def judged(self, before: bytes, after: bytes | None, gone: Mapping[str, None]) -> Judged:
        if after is None:
            what = "the tree file is gone, or no file any more"
            return Judged(
                content=before, problems=(Problem(where=(), what=what, hint="leave it in place"),)
            )
        decoded = decode(after)
        if decoded.tree is None:
            problems = tuple(p for p in decoded.problems if not p.warning)
            return Judged(content=before, problems=problems)
        old, new = _valid(before), decoded.tree
        problems = (*changes_refused(old, new), *_returned(old, new, gone))
        if problems:  # only now is it worth looking for the lines
            problems = (*changes_refused(old, new, text=after), *_returned(old, new, gone))
            return Judged(content=before, problems=problems)
        content = encode(new)
        return Judged(content=content, edit=None if content == before else edit_of(new, old))

    def written(self, content: bytes, plan: Plan) -> bytes:
        tree = _valid(content)

        def make(node: TreeNode, children: tuple[TreeNode, ...]) -> TreeNode:
            atom = plan.atoms[AtomId(node.id)]
            passes = atom.status is Status.RESOLVED
            return replace(node, children=children, passes=passes, attempts=atom.attempts)

        return encode(replace(tree, root=rebuilt(tree.root, make)))


def edit_of(tree: TreeDocument, before: TreeDocument) -> TreeEdit:
    """The whole tree as the kernel takes it over."""
    was = {path[-1].id: _task(path[-1]) for path in depth_first(before.root)}
    now = {path[-1].id: _task(path[-1]) for path in depth_first(tree.root)}
    return TreeEdit(
        rewritten=tuple(AtomId(n) for n, task in now.items() if was.get(n, task) != task),
        nodes=tuple(
            TreeAtom(
                id=AtomId(path[-1].id),
                parent=AtomId(path[-2].id) if len(path) > 1 else None,
                title=path[-1].title,
                description=path[-1].goal,
                max_attempts=path[-1].max_attempts,
            )
            for path in depth_first(tree.root)
        ),
    )


def _task(node: TreeNode) -> tuple[str, tuple[str, ...]]:
    return node.goal, node.acceptance


def ids_in(content: bytes) -> tuple[str, ...]:
    """Every id in some version of the file, valid or not, as far as it can be read."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return ()
    found: list[str] = []
    waiting = [value.get("root")] if isinstance(value, dict) else []
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict) and isinstance(node.get("id"), str):
            found.append(node["id"])
            children = node.get("children")
            waiting += children if isinstance(children, list) else []
    return tuple(found)


def _returned(
    old: TreeDocument, new: TreeDocument, gone: Mapping[str, None]
) -> tuple[Problem, ...]:
    known = {path[-1].id for path in depth_first(old.root)}
    back = [p[-1].id for p in depth_first(new.root) if p[-1].id in gone and p[-1].id not in known]
    return tuple(
        Problem(
            where=("root",),
            what=f"{name} was removed in an earlier iteration and is back",
            hint="give a new node a new id",
        )
        for name in back
    )


def _valid(content: bytes) -> TreeDocument:
    tree = decode(content).tree
    if tree is None:
        raise ValueError("the tree in hand is not valid")
    return tree


__all__ = ["TaskTreeFormat", "edit_of", "ids_in"]
