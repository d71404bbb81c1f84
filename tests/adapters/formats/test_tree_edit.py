"""The tree file in an agent's hands: taken as a whole, or refused as a whole."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import Any

import pytest

from dwindle.adapters.formats.tree.atoms import TreeStep, plannings_used, to_plan
from dwindle.adapters.formats.tree.edit import TaskTreeFormat, ids_in
from dwindle.adapters.formats.tree.file import decode, encode
from dwindle.kernel.model import AtomId, Problem, Status, TreeAtom, TreeEdit
from dwindle.ports.tree import Judged

FORM = TaskTreeFormat()


def node(name: str, *children: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "id": name,
        "order": 0,
        "title": name.title(),
        "goal": f"do {name}",
        "acceptance": [],
        "passes": False,
        "attempts": 0,
        "max_attempts": 3,
        "children": list(children),
        **more,
    }


def file(*children: dict[str, Any], **more: Any) -> bytes:
    """The canonical bytes of a tree."""
    data = json.dumps({"version": 1, "root": node("root", *children, **more)}).encode()
    tree = decode(data).tree
    assert tree is not None
    return encode(tree)


def judged(before: bytes, after: bytes | None, *gone: str) -> Judged:
    return FORM.judged(before, after, dict.fromkeys(gone))


def test_an_untouched_file_is_no_edit() -> None:
    before = file(node("a"))
    assert judged(before, before) == Judged(content=before)


def test_another_layout_is_no_edit_and_is_put_right() -> None:
    before = file(node("a"))
    assert judged(before, json.dumps(json.loads(before)).encode()) == Judged(content=before)


def test_an_edit_is_taken_in_canonical_form() -> None:
    untidy = {"version": 1, "root": node("root", node("b", order=2), node("a", order=1))}
    found = judged(file(), json.dumps(untidy).encode())
    assert found == Judged(
        content=file(node("a", order=1), node("b", order=2)),
        edit=TreeEdit(
            nodes=(
                TreeAtom(
                    id=AtomId("root"),
                    parent=None,
                    title="Root",
                    description="do root",
                    max_attempts=3,
                ),
                TreeAtom(
                    id=AtomId("a"),
                    parent=AtomId("root"),
                    title="A",
                    description="do a",
                    max_attempts=3,
                ),
                TreeAtom(
                    id=AtomId("b"),
                    parent=AtomId("root"),
                    title="B",
                    description="do b",
                    max_attempts=3,
                ),
            )
        ),
    )


@pytest.mark.parametrize(
    ("after", "what"),
    [
        (None, "the tree file is gone, or no file any more"),
        (b"{", "the end of the file where a key belongs"),
        (file(node("a", passes=True), node("b")), "a was marked as passed by the agent"),
        (file(node("a", attempts=2)), "attempts of a went from 0 to 2"),
        (file(node("a"), node("old")), "old was removed in an earlier iteration and is back"),
    ],
)
def test_a_bad_edit_leaves_the_last_valid_tree(after: bytes | None, what: str) -> None:
    before = file(node("a"))
    found = judged(before, after, "old", "a")
    assert (found.content, found.edit) == (before, None)
    assert what in [problem.what for problem in found.problems] or after == b"{"


def test_everything_refused_is_said_at_once() -> None:
    before = file(node("a", passes=True), node("b"))
    after = file(node("b", attempts=1), node("old"))
    assert [p.what for p in judged(before, after, "old").problems] == [
        "a has passed and is gone",
        "attempts of b went from 0 to 1",
        "old was removed in an earlier iteration and is back",
    ]
    assert judged(before, None).problems == (
        Problem(
            where=(), what="the tree file is gone, or no file any more", hint="leave it in place"
        ),
    )


def test_the_runner_writes_its_own_fields() -> None:
    content = file(node("a", node("b"), node("c")), node("d"))
    tree = decode(content).tree
    assert tree is not None
    plan = to_plan(tree)
    passed = {
        name: replace(
            atom,
            status=Status.RESOLVED if name in "abc" else Status.PENDING,
            attempts=2 if name == "d" else 0,
        )
        for name, atom in plan.atoms.items()
    }
    assert FORM.written(content, replace(plan, atoms=passed)) == file(
        node("a", node("b", passes=True), node("c", passes=True), passes=True),
        node("d", attempts=2),
    )


def test_a_subtree_is_shown_as_the_file_has_it() -> None:
    content = file(node("a", node("b")))
    assert json.loads(FORM.subtree(content, "a")) == node("a", node("b"))
    assert FORM.root(content).children[0].id == "a"
    with pytest.raises(ValueError, match="not valid"):
        FORM.root(b"nothing")


def test_ids_are_found_even_in_what_is_no_tree() -> None:
    assert ids_in(file(node("a", node("b")), node("c"))) == ("root", "c", "a", "b")
    assert ids_in(b"no json") == ()
    assert ids_in(b"[1]") == ()
    assert ids_in(b'{"root": {"id": "x", "children": 7}}') == ("x",)
    assert ids_in(b'{"root": {"id": 7}}') == ()


def used(*steps: tuple[str, bytes], **more: bool) -> dict[AtomId, int]:
    """Iterations one after the other: the node, and the tree that each left; the first began so."""
    pairs = itertools.pairwise(steps)
    found = [TreeStep(node=name, before=was, after=now) for (_, was), (name, now) in pairs]
    return plannings_used(found, **more)


def test_planning_is_what_leaves_the_attempts_alone() -> None:
    """And a failure after the last attempt: a failure before it was work."""
    trees = [file(node("a", attempts=n), node("b")) for n in (0, 0, 1, 2, 3, 4, 4)]
    assert used(*(("a", tree) for tree in trees)) == {"a": 3}
    gone = file(node("b"))
    passed = file(node("a", attempts=4, passes=True), node("b"))
    assert used(("a", trees[-1]), ("a", gone)) == {}
    assert used(("a", trees[-1]), ("a", passed)) == {}
    assert used(("a", b"no tree"), ("a", passed)) == {}


def test_whoever_rewrote_a_leaf_it_paid_with_a_planning_session() -> None:
    spent, again = file(node("a", attempts=3), node("b")), file(node("a"), node("b"))
    assert used(("", spent), ("a", again)) == {"a": 1}
    assert used(("", spent), ("b", again)) == {"a": 1, "b": 1}
    assert used(("", spent), ("b", file(node("a"), node("b", attempts=1)))) == {"a": 1}
    once = file(node("a", max_attempts=1))
    assert used(("", once), ("a", once)) == {"a": 1}  # it failed, was rewritten, and paid


def test_a_root_that_is_only_planned_has_planning_sessions_alone() -> None:
    steps = [("root", file(attempts=n)) for n in (0, 1, 2)]
    assert used(*steps, execute_root=False) == {"root": 2}
    assert used(*steps) == {}


def test_what_was_rewritten_is_named() -> None:
    before = file(node("a"), node("b"), node("c"), node("d", acceptance=["x"]))
    now = (node("a", goal="easier"), node("b", title="B!"), node("c", acceptance=["y"]), node("d"))
    edit = judged(before, file(*now, node("e"))).edit
    assert edit is not None
    assert edit.rewritten == ("a", "c", "d")


def test_a_root_may_be_worked_on_unless_told_otherwise() -> None:
    tree = decode(file()).tree
    assert tree is not None
    plan = to_plan(tree, planned={AtomId("root"): 2}, execute_root=False)
    root = plan.atoms[AtomId("root")]
    assert (root.max_attempts, root.probes) == (0, 2)
    assert to_plan(tree).atoms[AtomId("root")].max_attempts == 3
