"""What an agent may do to the tree between two iterations, and each way of cheating.

The story begins with a tree in which `done` has passed with all below it, `open` is being worked
on and has one passed child, and `later` is future work.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from dwindle.adapters.formats.tree.plan import (
    TreeDocument,
    TreeNode,
    changes_refused,
    decode,
    encode,
)
from dwindle.kernel.model import Problem

RESTORE = "put it back as it was; improve on it in a new node"
RUNNER = "leave this field to the runner"
DONE = ("root", "children", 0)
OPEN = ("root", "children", 1)
LATER = ("root", "children", 2)


def node(name: str, *children: TreeNode, **changes: Any) -> TreeNode:
    fields: dict[str, Any] = {
        "id": name,
        "order": 0,
        "title": name.title(),
        "goal": f"{name} holds",
        "acceptance": ("it does",),
        "passes": False,
        "attempts": 0,
        "max_attempts": 3,
        "children": children,
    }
    return TreeNode(**fields | changes)


DATA = node("data", passes=True)
VIEW = node("view", order=1, passes=True, attempts=1)
PARSER = node("parser", passes=True)
PRINTER = node("printer", order=1, attempts=2)
FINISHED = node("done", DATA, VIEW, passes=True)
UNFINISHED = node("open", PARSER, PRINTER, order=1)
FUTURE = node("later", order=2)


def tree(*children: TreeNode) -> TreeDocument:
    return TreeDocument(version=1, root=node("root", *children))


BEFORE = tree(FINISHED, UNFINISHED, FUTURE)


def refused(*children: TreeNode) -> list[tuple[tuple[str | int, ...], str, str]]:
    problems = changes_refused(BEFORE, tree(*children))
    return [(p.where, p.what, p.hint) for p in problems]


# --- what an agent may do ----------------------------------------------------------------------


def test_nothing_changed() -> None:
    assert changes_refused(BEFORE, BEFORE) == ()


def test_open_nodes_may_be_edited_in_all_their_own_fields() -> None:
    edited = replace(FUTURE, order=7, title="New", goal="Other", acceptance=())
    assert refused(FINISHED, UNFINISHED, edited) == []


def test_open_nodes_may_be_added_anywhere_under_open_nodes() -> None:
    new = node("new", order=-5, max_attempts=10)
    deeper = replace(UNFINISHED, children=(*UNFINISHED.children, node("x", node("y"))))
    assert refused(new, FINISHED, deeper, FUTURE) == []


def test_open_siblings_may_be_removed() -> None:
    assert refused(FINISHED, replace(UNFINISHED, children=(PARSER,))) == []


def test_an_open_node_may_be_moved_with_what_has_passed_under_it() -> None:
    """The passed child keeps its parent, and that is its place."""
    assert refused(FINISHED, replace(FUTURE, children=(UNFINISHED,))) == []


def test_an_open_leaf_may_be_split_and_an_open_inner_node_become_a_leaf_again() -> None:
    split = tree(replace(FUTURE, children=(node("a"), node("b"))))
    assert changes_refused(tree(FUTURE), split) == ()
    assert changes_refused(split, tree(FUTURE)) == ()


def test_an_exhausted_leaf_may_be_replaced_under_a_new_id() -> None:
    replaced = replace(UNFINISHED, children=(PARSER, node("printer-2", order=1)))
    assert refused(FINISHED, replaced, FUTURE) == []


# --- cheating with what has passed -------------------------------------------------------------


def test_a_passed_leaf_may_not_disappear() -> None:
    gone = replace(UNFINISHED, children=(PRINTER,))
    assert refused(FINISHED, gone, FUTURE) == [
        ((*OPEN, "children"), "parser has passed and is gone", RESTORE)
    ]


def test_a_passed_subtree_may_not_disappear_and_every_node_of_it_is_missed() -> None:
    assert refused(UNFINISHED, FUTURE) == [
        (("root", "children"), "done has passed and is gone", RESTORE),
        (("root", "children"), "data has passed and is gone", RESTORE),
        (("root", "children"), "view has passed and is gone", RESTORE),
    ]


def test_a_passed_root_may_not_lose_its_children() -> None:
    before = TreeDocument(1, node("root", DATA, passes=True))
    after = TreeDocument(1, node("root", passes=True))
    assert [p.what for p in changes_refused(before, after)] == ["data has passed and is gone"]


def test_an_open_parent_may_not_be_removed_together_with_its_passed_child() -> None:
    assert refused(FINISHED, FUTURE) == [
        (("root", "children"), "parser has passed and is gone", RESTORE)
    ]


def test_the_record_of_a_passed_node_may_not_be_edited() -> None:
    edited = replace(DATA, title="x", goal="x", acceptance=(), order=-1, max_attempts=4)
    done = replace(FINISHED, children=(edited, VIEW))
    assert refused(done, UNFINISHED, FUTURE) == [
        ((*DONE, "children", 0, key), f"data has passed and its {key} was changed", RESTORE)
        for key in ("order", "title", "goal", "acceptance", "max_attempts")
    ]


def test_a_passed_inner_node_may_not_be_edited_either() -> None:
    assert refused(replace(FINISHED, goal="less"), UNFINISHED, FUTURE) == [
        ((*DONE, "goal"), "done has passed and its goal was changed", RESTORE)
    ]


def test_a_passed_node_may_not_move_to_another_parent() -> None:
    moved = replace(FUTURE, children=(PARSER,))
    assert refused(FINISHED, replace(UNFINISHED, children=(PRINTER,)), moved) == [
        (
            (*LATER, "children", 0, "id"),
            "parser has passed and was moved from open to later",
            "put it back under open",
        )
    ]


def test_a_passed_node_may_not_be_given_passed_work_of_another() -> None:
    done = replace(FINISHED, children=(DATA, VIEW, PARSER))
    assert refused(done, replace(UNFINISHED, children=(PRINTER,)), FUTURE) == [
        (
            (*DONE, "children"),
            "done has passed and was given the child parser",
            "new work goes under an open node",
        ),
        (
            (*DONE, "children", 2, "id"),
            "parser has passed and was moved from open to done",
            "put it back under open",
        ),
    ]


def test_a_passed_leaf_may_not_be_split() -> None:
    """To be a valid tree at all the new child would have to claim that it passed."""
    split = replace(PARSER, children=(node("p1", passes=True),))
    assert refused(FINISHED, replace(UNFINISHED, children=(split, PRINTER)), FUTURE) == [
        (
            (*OPEN, "children", 0, "children"),
            "parser has passed and was given the child p1",
            "new work goes under an open node",
        ),
        (
            (*OPEN, "children", 0, "children", 0, "passes"),
            "the new node p1 says that it has passed",
            RUNNER,
        ),
    ]


def test_a_passed_node_may_not_be_reopened() -> None:
    reopened = replace(PARSER, passes=False)
    assert refused(FINISHED, replace(UNFINISHED, children=(reopened, PRINTER)), FUTURE) == [
        ((*OPEN, "children", 0, "passes"), "parser has passed and was reopened", RUNNER)
    ]


# --- cheating with what is the runner's --------------------------------------------------------


def test_an_agent_may_not_say_that_a_leaf_passes() -> None:
    assert refused(FINISHED, UNFINISHED, replace(FUTURE, passes=True)) == [
        ((*LATER, "passes"), "later was marked as passed by the agent", RUNNER)
    ]


def test_an_agent_may_not_pass_the_parent_by_removing_its_open_children_and_saying_so() -> None:
    passed = replace(UNFINISHED, children=(PARSER,), passes=True)
    assert refused(FINISHED, passed, FUTURE) == [
        ((*OPEN, "passes"), "open was marked as passed by the agent", RUNNER)
    ]


def test_a_new_node_may_not_be_born_passed() -> None:
    assert refused(FINISHED, UNFINISHED, FUTURE, node("new", order=9, passes=True)) == [
        (
            ("root", "children", 3, "passes"),
            "the new node new says that it has passed",
            RUNNER,
        )
    ]


def test_attempts_may_not_be_taken_back_or_added_open_or_passed() -> None:
    fresh = replace(PRINTER, attempts=0)
    done = replace(FINISHED, children=(DATA, replace(VIEW, attempts=0)))
    later = replace(FUTURE, attempts=1)
    assert refused(done, replace(UNFINISHED, children=(PARSER, fresh)), later) == [
        ((*DONE, "children", 1, "attempts"), "attempts of view went from 1 to 0", RUNNER),
        ((*OPEN, "children", 1, "attempts"), "attempts of printer went from 2 to 0", RUNNER),
        ((*LATER, "attempts"), "attempts of later went from 0 to 1", RUNNER),
    ]


def test_the_budget_of_an_existing_node_may_not_be_raised_or_lowered() -> None:
    more = replace(PRINTER, max_attempts=4)
    less = replace(FUTURE, max_attempts=1)
    fixed = "it is fixed once the node exists"
    assert refused(FINISHED, replace(UNFINISHED, children=(PARSER, more)), less) == [
        ((*OPEN, "children", 1, "max_attempts"), "max_attempts of printer went from 3 to 4", fixed),
        ((*LATER, "max_attempts"), "max_attempts of later went from 3 to 1", fixed),
    ]


def test_a_new_node_may_not_begin_with_attempts_or_allow_itself_more_than_ten() -> None:
    greedy = node("new", order=9, attempts=1, max_attempts=11)
    where = ("root", "children", 3)
    assert refused(FINISHED, UNFINISHED, FUTURE, greedy) == [
        (
            (*where, "attempts"),
            "the new node new begins with 1 attempts",
            "a new node begins with 0",
        ),
        ((*where, "max_attempts"), "the new node new allows itself 11 attempts", "1 to 10"),
    ]


# --- where it is said --------------------------------------------------------------------------


def test_with_the_text_problems_point_into_the_file_as_the_agent_left_it() -> None:
    """The agent wrote the siblings in another order; a person must find them there."""
    text = b"""{"version": 1, "root": {"id": "root", "order": 0, "title": "T", "goal": "G",
 "acceptance": [], "passes": false, "attempts": 0, "max_attempts": 3, "children": [
  {"id": "b", "order": 1, "title": "T", "goal": "G", "acceptance": [],
   "passes": true,
   "attempts": 0, "max_attempts": 3, "children": []},
  {"id": "a", "order": 0, "title": "T", "goal": "G", "acceptance": [],
   "passes": false,
   "attempts": 1, "max_attempts": 3, "children": []}
]}}
"""
    after = decode(text).tree
    assert after is not None
    plain = replace(after.root.children[0], attempts=0)
    other = replace(after.root.children[1], passes=False)
    before = replace(after, root=replace(after.root, children=(plain, other)))
    marked, charged = "b was marked as passed by the agent", "attempts of a went from 0 to 1"
    assert changes_refused(before, after, text=text) == (
        Problem(where=("root", "children", 0, "passes"), what=marked, hint=RUNNER, line=4),
        Problem(where=("root", "children", 1, "attempts"), what=charged, hint=RUNNER, line=8),
    )
    assert changes_refused(before, after) == (
        Problem(where=("root", "children", 0, "attempts"), what=charged, hint=RUNNER),
        Problem(where=("root", "children", 1, "passes"), what=marked, hint=RUNNER),
    )


def test_a_missing_node_is_pointed_out_at_the_children_of_its_parent() -> None:
    after = tree(FINISHED, replace(UNFINISHED, children=(PRINTER,)), FUTURE)
    (problem,) = changes_refused(BEFORE, after, text=encode(after))
    line = encode(after).decode().splitlines()[(problem.line or 0) - 1]
    assert (problem.where, line) == ((*OPEN, "children"), '        "children": [')
