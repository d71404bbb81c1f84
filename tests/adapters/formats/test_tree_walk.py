"""Derived passes and the one next leaf."""

from __future__ import annotations

from dwindle.adapters.formats.tree.plan import (
    TreeDocument,
    TreeNode,
    derive_passes,
    leftmost_open_leaf,
)
from dwindle.adapters.formats.tree.walk import canonical, depth_first


def node(name: str, *children: TreeNode, order: int = 0, passes: bool = False) -> TreeNode:
    return TreeNode(name, order, "T", "G", (), passes, 0, 3, children)


def passed(name: str, *children: TreeNode, order: int = 0) -> TreeNode:
    return node(name, *children, order=order, passes=True)


def tree(*children: TreeNode) -> TreeDocument:
    return TreeDocument(1, node("root", *children))


def chosen(document: TreeDocument) -> list[str] | None:
    path = leftmost_open_leaf(document)
    return None if path is None else [step.id for step in path]


def test_an_inner_node_passes_when_all_below_it_does_however_deep() -> None:
    before = tree(node("a", node("b", passed("c"), passed("d"))))
    after = TreeDocument(1, passed("root", passed("a", passed("b", passed("c"), passed("d")))))
    assert derive_passes(before) == after


def test_an_inner_node_does_not_pass_while_anything_below_it_is_open() -> None:
    before = TreeDocument(1, passed("root", passed("a", node("b")), passed("c")))
    assert derive_passes(before) == tree(node("a", node("b")), passed("c"))


def test_what_a_leaf_says_is_left_alone() -> None:
    assert derive_passes(TreeDocument(1, passed("root"))) == TreeDocument(1, passed("root"))
    assert derive_passes(tree()) == tree()


def test_a_tree_that_needs_nothing_comes_back_as_the_very_same_nodes() -> None:
    settled = tree(passed("a"), node("b", node("c")))
    assert derive_passes(settled).root is settled.root
    assert canonical(settled) is settled


def test_a_lone_root_is_its_own_leaf() -> None:
    assert chosen(tree()) == ["root"]


def test_the_next_leaf_is_leftmost_by_order_and_not_by_depth_or_file() -> None:
    assert chosen(tree(node("z"), node("a", node("deep"), order=-1))) == ["root", "a", "deep"]


def test_ties_are_broken_by_id() -> None:
    assert chosen(tree(node("b"), node("B"), node("a"))) == ["root", "B"]


def test_what_has_passed_is_passed_over() -> None:
    document = tree(passed("a", passed("a1")), node("b", passed("b1"), node("b2")), node("c"))
    assert chosen(document) == ["root", "b", "b2"]


def test_no_open_leaf_means_no_work_even_if_a_parent_does_not_say_so_yet() -> None:
    assert chosen(tree(passed("a"), passed("b"))) is None


def test_depth_first_yields_paths_parents_first() -> None:
    document = tree(node("b", node("d"), node("c")), node("a"))
    assert ["/".join(step.id for step in path) for path in depth_first(document.root)] == [
        "root",
        "root/a",
        "root/b",
        "root/b/c",
        "root/b/d",
    ]


def test_depth_does_not_recurse() -> None:
    deep = passed("leaf")
    for level in range(5_000):
        deep = node(f"n{level}", deep)
    document = TreeDocument(1, deep)
    assert leftmost_open_leaf(document) is None
    assert derive_passes(document).root.passes
    assert canonical(document) is document
