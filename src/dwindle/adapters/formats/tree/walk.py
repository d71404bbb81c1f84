"""Going through a tree: canonical order, derived passes, the next leaf.

Nothing here recurses: how deep a tree may be is for `tree_rules` to say, not for the interpreter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from dwindle.adapters.formats.tree.wire import TreeDocument, TreeNode


def place(node: TreeNode) -> tuple[int, str]:
    """What siblings are sorted by."""
    return (node.order, node.id)


def levels(root: TreeNode) -> Iterator[list[TreeNode]]:
    """The root alone, then its children, then theirs."""
    level = [root]
    while level:
        yield level
        level = [child for node in level for child in node.children]


def depth_first(root: TreeNode) -> Iterator[tuple[TreeNode, ...]]:
    """Every node as its path from the root, parents first, siblings by (order, id)."""
    path: list[TreeNode] = []
    waiting = [(0, root)]
    while waiting:
        depth, node = waiting.pop()
        del path[depth:]
        path.append(node)
        yield tuple(path)
        children = sorted(node.children, key=place, reverse=True)
        waiting.extend((depth + 1, child) for child in children)


def rebuilt(root: TreeNode, make: Callable[[TreeNode, tuple[TreeNode, ...]], TreeNode]) -> TreeNode:
    """The tree with every node made anew from itself and its new children, leaves first."""
    new: dict[int, TreeNode] = {}
    for level in reversed(list(levels(root))):
        for node in level:
            new[id(node)] = make(node, tuple([new[id(child)] for child in node.children]))
    return new[id(root)]


def canonical(tree: TreeDocument) -> TreeDocument:
    """The same tree with all siblings sorted by (order, id)."""
    if all(_in_order(node.children) for level in levels(tree.root) for node in level):
        return tree

    def make(node: TreeNode, children: tuple[TreeNode, ...]) -> TreeNode:
        in_order = tuple(sorted(children, key=place)) if len(children) > 1 else children
        return _with(node, children=in_order)

    return replace(tree, root=rebuilt(tree.root, make))


def derive_passes(tree: TreeDocument) -> TreeDocument:
    """An inner node passes when all its children do; what leaves say is left alone."""

    def make(node: TreeNode, children: tuple[TreeNode, ...]) -> TreeNode:
        passes = all(child.passes for child in children) if children else node.passes
        return _with(node, children=children, passes=passes)

    return replace(tree, root=rebuilt(tree.root, make))


def leftmost_open_leaf(tree: TreeDocument) -> tuple[TreeNode, ...] | None:
    """The one next piece of work as its path from the root; None when no leaf is open."""
    for path in depth_first(tree.root):
        if not path[-1].children and not path[-1].passes:
            return path
    return None


def _with(
    node: TreeNode, *, children: tuple[TreeNode, ...], passes: bool | None = None
) -> TreeNode:
    """Keep the very node where nothing changes; most of a tree does not."""
    passes = node.passes if passes is None else passes
    if passes == node.passes and _same(children, node.children):
        return node
    return replace(node, children=children, passes=passes)


def _in_order(children: tuple[TreeNode, ...]) -> bool:
    places = [place(child) for child in children]
    return places == sorted(places)


def _same(left: tuple[TreeNode, ...], right: tuple[TreeNode, ...]) -> bool:
    return all(one is other for one, other in zip(left, right, strict=True))
