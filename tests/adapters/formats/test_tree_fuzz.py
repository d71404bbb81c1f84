"""Generated trees, whole and damaged.

Damage is done to the structure (a value of another kind, a key gone, added or given twice, a node
moved or repeated) and then to the bytes. Whatever comes of it, `decode` answers, its quick and its
slow way give the same verdict, and what it accepts it can write and read again.

DWINDLE_FUZZ says how many examples to try; see the conftest.
"""

from __future__ import annotations

import copy
import json
from typing import Any

import msgspec
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dwindle.adapters.formats.tree.file import decode, encode, quick, slow
from dwindle.adapters.formats.tree.json_text import Problems
from dwindle.adapters.formats.tree.plan import (
    TreeDocument,
    TreeNode,
    changes_refused,
    derive_passes,
    leftmost_open_leaf,
    to_plan,
)
from dwindle.adapters.formats.tree.walk import canonical, depth_first
from dwindle.adapters.formats.tree.wire import LARGEST
from dwindle.kernel.graph import view

HARD = settings(max_examples=3 * settings().max_examples)

texts = st.text(min_size=1, max_size=12).filter(lambda text: bool(text.strip()))
counts = st.integers(0, 4) | st.just(LARGEST)


@st.composite
def trees(draw: st.DrawFn) -> TreeDocument:
    """A valid tree of up to nine nodes, siblings in any order."""
    size = draw(st.integers(1, 9))
    below: dict[int, list[TreeNode]] = {}
    for index in reversed(range(size)):
        children = tuple(draw(st.permutations(below.get(index, []))))
        made = TreeNode(
            id="root" if index == 0 else draw(st.sampled_from("aZ09")) + f"_.-{index}",
            order=draw(st.integers(-2, 2) | st.integers(-LARGEST, LARGEST)),
            title=draw(texts),
            goal=draw(texts),
            acceptance=tuple(draw(st.lists(st.text(max_size=8), max_size=2))),
            passes=all(child.passes for child in children) if children else draw(st.booleans()),
            attempts=draw(counts),
            max_attempts=draw(counts) or 1,
            children=children,
        )
        parent = draw(st.integers(0, index - 1)) if index else -1
        below.setdefault(parent, []).append(made)
    return TreeDocument(version=1, root=below[-1][0])


ODD: st.SearchStrategy[object] = st.sampled_from(
    [
        *(None, True, False, 0, 1, -1, 1.0, 1.5, 2**53, -(2**53), 10**30, float("nan")),
        *(float("-inf"), "", " ", "root", "a..b", "a.lock", "a\n", "\ud800", "\x00", "é", "1"),
        *([], [[]], ["x"], [1], [None], {}, {"id": "x"}, [{}]),
    ]
).map(copy.deepcopy)  # a list may be put in twice, and then changed


def as_json(tree: TreeDocument) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(msgspec.to_builtins(tree)))
    return document


def objects(value: Any) -> list[dict[str, Any]]:
    """Every object in a value, outermost first."""
    found, waiting = [], [value]
    while waiting:
        at = waiting.pop()
        if isinstance(at, dict):
            found.append(at)
            waiting.extend(at.values())
        elif isinstance(at, list):
            waiting.extend(at)
    return found


def damage(draw: st.DrawFn, document: dict[str, Any]) -> None:
    """One change somewhere in the structure."""
    inside = draw(st.sampled_from(objects(document)))
    key = draw(st.sampled_from([*inside, "id", "children", "extra"]))
    how = draw(st.sampled_from(["odd", "gone", "child", "twin", "flip"]))
    if how == "odd":
        inside[key] = draw(ODD)
    elif how == "gone":
        inside.pop(key, None)
    elif how == "child" and isinstance(inside.get("children"), list):
        inside["children"].append(draw(ODD))
    elif how == "twin" and isinstance(inside.get("children"), list):
        twin = draw(st.sampled_from(objects(document)))
        inside["children"].append(json.loads(json.dumps(twin)))
    elif how == "flip" and "passes" in inside:
        inside["passes"] = inside["passes"] is False


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """A file with at most a few things wrong, often with none."""
    document = as_json(draw(trees()))
    for _ in range(draw(st.integers(0, 3))):
        damage(draw, document)
    indent = draw(st.sampled_from([None, 0, 2]))
    text = json.dumps(document, indent=indent, ensure_ascii=draw(st.booleans()))
    data = text.encode(errors=draw(st.sampled_from(["replace", "surrogatepass"])))
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        at = draw(st.integers(0, len(data)))
        end = min(len(data), at + draw(st.integers(0, 3)))
        tokens = [
            b'"',
            b"{",
            b"}",
            b"[",
            b"]",
            b",",
            b":",
            b"\\",
            b"\r",
            b"\n",
            b"\xff",
            b"\xef\xbb\xbf",
        ]
        more = [
            b'"id":"x",',
            b'"order":0,',
            b"0",
            b"1.",
            b"e1",
            b"NaN",
            b"-",
            b"\\ud800",
            b" ",
            b"\x00",
            b"",
        ]
        data = data[:at] + draw(st.sampled_from([*tokens, *more])) + data[end:]
    return data


@given(trees())
def test_a_written_tree_is_read_back_and_written_the_same(tree: TreeDocument) -> None:
    data = encode(tree)
    decoded = decode(data)
    assert decoded.problems == ()
    assert decoded.tree == canonical(tree)
    assert encode(canonical(tree)) == data
    assert json.loads(data) == as_json(canonical(tree))


@given(trees())
def test_selection_and_the_kernel_agree_on_every_tree(tree: TreeDocument) -> None:
    path = leftmost_open_leaf(tree)
    plan = to_plan(tree)
    current = view(plan)
    waiting = sorted((*current.ready, *current.exhausted), key=list(plan.atoms).index)
    assert (path[-1].id if path else None) == (waiting[0] if waiting else None)
    assert derive_passes(tree) == tree
    assert (path is None) == tree.root.passes


@HARD
@given(files())
def test_the_quick_and_the_slow_way_agree_on_every_file(data: bytes) -> None:
    problems = Problems()
    tree = slow(data, problems).tree
    assert (tree is None) == problems.refused
    fast = quick(data)
    if fast is None:
        assert problems.listed
    else:
        assert (tree, problems.listed) == (fast, [])


@HARD
@given(files())
def test_every_file_gets_an_answer_that_can_be_acted_on(data: bytes) -> None:
    decoded = decode(data)
    assert (decoded.tree is None) == any(not p.warning for p in decoded.problems)
    lines = [p.line or 0 for p in decoded.problems]
    assert lines == sorted(lines)
    assert all(1 <= line <= data.count(b"\n") + 1 for line in lines)
    assert all(problem.what for problem in decoded.problems)
    if decoded.tree is not None:
        again = decode(encode(decoded.tree))
        assert again.tree == decoded.tree
        assert encode(again.tree) == encode(decoded.tree)


@given(st.binary(max_size=60) | st.text('[]{}",:0-1eE.truefalsn\\ud8 \n').map(str.encode))
def test_noise_gets_an_answer(data: bytes) -> None:
    assert decode(data).problems


@st.composite
def edits(draw: st.DrawFn) -> tuple[TreeDocument, bytes]:
    """A tree, and the file that an agent made of it."""
    before = draw(trees())
    document = as_json(before)
    for _ in range(draw(st.integers(0, 3))):
        damage(draw, document)
    return canonical(before), json.dumps(document, indent=2).encode()


@given(edits())
def test_every_edit_that_leaves_a_valid_tree_is_judged_the_same_with_and_without_its_text(
    edit: tuple[TreeDocument, bytes],
) -> None:
    before, text = edit
    after = decode(text).tree
    assume(after is not None)
    assert after is not None
    assert changes_refused(before, before) == ()
    plain = changes_refused(before, after)
    located = changes_refused(before, after, text=text)
    assert sorted(p.what for p in plain) == sorted(p.what for p in located)
    assert all(p.line for p in located)


@given(edits())
def test_an_edit_that_is_allowed_leaves_everything_passed_as_it_was(
    edit: tuple[TreeDocument, bytes],
) -> None:
    """The other way to say what `changes_refused` enforces, written without it."""
    before, text = edit
    after = decode(text).tree
    assume(after is not None)
    assert after is not None
    old, new = placed(before), placed(after)
    kept = all(new.get(name) == entry for name, entry in old.items() if entry[1].passes)
    born = all(not entry[1].passes for name, entry in new.items() if name not in old)
    if not changes_refused(before, after):
        assert kept
        assert born
    if not kept:
        assert changes_refused(before, after)


def placed(tree: TreeDocument) -> dict[str, tuple[str | None, TreeNode]]:
    """Every node with its parent's id."""
    paths = depth_first(tree.root)
    return {path[-1].id: (path[-2].id if len(path) > 1 else None, path[-1]) for path in paths}
