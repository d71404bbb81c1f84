"""Task Tree v1 as bytes: what is read, what is written, and what is refused with which words."""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from dwindle.adapters.formats.tree.file import DecodedTree, decode, encode
from dwindle.adapters.formats.tree.json_text import MAX_PROBLEMS
from dwindle.adapters.formats.tree.wire import LARGEST, TreeDocument, TreeNode
from dwindle.kernel.model import Problem

DATA = Path(__file__).parent / "data" / "tree"
FRESH = (DATA / "fresh.json").read_bytes()


def node(name: str = "root", **changes: Any) -> dict[str, Any]:
    fields = {
        "id": name,
        "order": 0,
        "title": "T",
        "goal": "G",
        "acceptance": [],
        "passes": False,
        "attempts": 0,
        "max_attempts": 3,
        "children": [],
    }
    return fields | changes


def written(root: object, version: object = 1) -> bytes:
    return json.dumps({"version": version, "root": root}, indent=2).encode()


def leaf(name: str, *children: TreeNode, order: int = 0, passes: bool = False) -> TreeNode:
    return TreeNode(name, order, "T", "G", (), passes, 0, 3, children)


def told(data: bytes) -> list[tuple[int | None, tuple[str | int, ...], str]]:
    """What a refusal says, and that it is one."""
    decoded = decode(data)
    assert decoded.tree is None
    return [(p.line, p.where, p.what) for p in decoded.problems]


# --- good files --------------------------------------------------------------------------------


def test_a_fresh_tree_is_read_whole() -> None:
    root = TreeNode("root", 0, "Root", "Satisfy .runner/GOAL.md", (), False, 0, 1, ())
    assert decode(FRESH) == DecodedTree(tree=TreeDocument(version=1, root=root), problems=())


@pytest.mark.parametrize("name", ["fresh.json", "half_done.json"])
def test_a_canonical_file_is_written_back_byte_for_byte(name: str) -> None:
    data = (DATA / name).read_bytes()
    decoded = decode(data)
    assert decoded.tree is not None
    assert decoded.problems == ()
    assert encode(decoded.tree) == data


def test_however_a_tree_is_laid_out_it_is_written_the_same_way() -> None:
    """Compact, escaped, keys and siblings in any order, a number written as -0."""
    canonical = (DATA / "half_done.json").read_bytes()

    def reversed_everywhere(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: reversed_everywhere(value[key]) for key in reversed(value)}
        if isinstance(value, list) and value and isinstance(value[0], dict):
            return [reversed_everywhere(item) for item in reversed(value)]
        return value

    shuffled = json.dumps(reversed_everywhere(json.loads(canonical)), separators=(",", ":"))
    other = shuffled.replace('"order":0', '"order":-0').encode()
    decoded = decode(other)
    assert decoded.tree is not None
    assert encode(decoded.tree) == canonical
    assert decoded == decode(canonical)


def test_siblings_are_sorted_by_order_then_by_the_characters_of_the_id() -> None:
    unsorted = leaf("root", leaf("b"), leaf("Z"), leaf("a.10"), leaf("a.9"), leaf("c", order=-1))
    ids = [
        child["id"] for child in json.loads(encode(TreeDocument(1, unsorted)))["root"]["children"]
    ]
    assert ids == ["c", "Z", "a.10", "a.9", "b"]


def test_the_largest_numbers_and_the_longest_id_are_fine() -> None:
    child = node("x" * 64, order=-LARGEST, attempts=LARGEST, max_attempts=LARGEST)
    assert decode(written(node(children=[child]))).problems == ()


def test_attempts_may_exceed_the_budget() -> None:
    """A planning session that crashes is charged as well."""
    assert decode(written(node(attempts=5, max_attempts=1))).problems == ()


def test_sixty_four_levels_are_fine_and_one_more_is_not() -> None:
    def nested(levels: int) -> bytes:
        root = node(f"n{levels}")
        for level in range(levels - 1, 0, -1):
            root = node(f"n{level}" if level > 1 else "root", children=[root])
        return written(root)

    assert decode(nested(64)).problems == ()
    deep = ("root", *("children", 0) * 64)
    assert told(nested(65)) == [(643, deep, "more than 64 levels deep")]
    assert [what for _, _, what in told(nested(70))] == ["more than 64 levels deep"]


def test_a_good_file_is_read_even_when_the_stack_is_nearly_used_up() -> None:
    """The quick way may run out of stack; the slow way then gives the same answer."""
    data = (DATA / "half_done.json").read_bytes()

    def deep(levels: int) -> DecodedTree:
        return deep(levels - 1) if levels else decode(data)

    used = len(inspect.stack(0))
    answers = [deep(sys.getrecursionlimit() - used - spare) for spare in range(30, 60)]
    assert answers == [decode(data)] * len(answers)


# --- JSON that is no tree ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("[]", "a list"),
        ("null", "null"),
        ("true", "true"),
        ("false", "false"),
        ('"x"', "'x'"),
        ("1", "1"),
        ("-1.5", "-1.5"),
    ],
)
def test_a_tree_is_an_object(text: str, kind: str) -> None:
    assert told(text.encode()) == [(1, (), f"the document is {kind}, not an object")]


def test_missing_keys_are_all_named() -> None:
    assert told(b'{"root": {}}') == [
        (1, ("version",), "the document lacks the key 'version'"),
        *(
            (1, ("root", key), f"a node lacks the key {key!r}")
            for key in (
                *("id", "order", "title", "goal", "acceptance"),
                *("passes", "attempts", "max_attempts", "children"),
            )
        ),
    ]
    assert told(b"{}")[1] == (1, ("root",), "the document lacks the key 'root'")


def test_unknown_keys_are_refused_with_the_key_that_may_be_meant() -> None:
    data = written(node(gaol="x", mode="execute"))[:-2] + b', "extra": 1}'
    assert decode(data).problems == (
        Problem(
            where=("root", "gaol"),
            what="a node has no key 'gaol'",
            hint="did you mean 'goal'?",
            line=13,
        ),
        Problem(
            where=("root", "mode"),
            what="a node has no key 'mode'",
            hint="a node has only id, order, title, goal, acceptance, passes, attempts, "
            "max_attempts, children",
            line=14,
        ),
        Problem(
            where=("extra",),
            what="the document has no key 'extra'",
            hint="the document has only version, root",
            line=15,
        ),
    )


def test_a_long_unknown_key_is_shown_in_part() -> None:
    (said,) = [what for _, _, what in told(written(node() | {"k" * 500: 1}))]
    assert said == "a node has no key '" + "k" * 78 + "…"


def test_a_key_given_twice_is_refused_with_both_lines() -> None:
    data = FRESH.replace(b'"goal":', b'"title":\n  "again",\n    "goal":')
    assert decode(data).problems == (
        Problem(
            where=("root", "title"),
            what="the key 'title' stands here twice",
            hint="the first is in line 6",
            line=7,
        ),
    )


def test_a_key_given_twice_in_different_spelling_is_still_twice() -> None:
    data = FRESH.replace(b'"goal":', b'"t\\u0069tle": "again", "goal":')
    assert told(data) == [(7, ("root", "title"), "the key 'title' stands here twice")]


def test_an_empty_key_is_no_key_of_a_node() -> None:
    assert told(written(node() | {"": 1})) == [(13, ("root", ""), "a node has no key ''")]


NUMBER = "not a whole number"


@pytest.mark.parametrize(
    ("field", "value", "what"),
    [
        ("id", 7, "id is 7, not a text"),
        ("id", "", "'' is no id"),
        ("id", "-a", "'-a' is no id"),
        ("id", "a b", "'a b' is no id"),
        ("id", "a/b", "'a/b' is no id"),
        ("id", "a..b", "'a..b' is no id"),
        ("id", "a.lock", "'a.lock' is no id"),
        ("id", "a\n", "'a\\n' is no id"),
        ("id", "é", "'é' is no id"),
        ("id", "٣", "'٣' is no id"),
        ("id", "x" * 65, "'" + "x" * 65 + "' is no id"),
        ("order", None, f"order is null, {NUMBER}"),
        ("order", True, f"order is true, {NUMBER}"),
        ("order", 1.0, f"order is 1.0, {NUMBER}"),
        ("order", LARGEST + 1, f"order is {LARGEST + 1}"),
        ("order", -LARGEST - 1, f"order is {-LARGEST - 1}"),
        ("attempts", -1, "attempts is -1"),
        ("attempts", False, f"attempts is false, {NUMBER}"),
        ("attempts", "0", f"attempts is '0', {NUMBER}"),
        ("max_attempts", 0, "max_attempts is 0"),
        ("max_attempts", [], f"max_attempts is a list, {NUMBER}"),
        ("title", "", "title is blank"),
        ("title", " \n\t", "title is blank"),
        ("title", ["x"], "title is a list, not a text"),
        ("goal", "\u00a0", "goal is blank"),
        ("goal", {}, "goal is an object, not a text"),
        ("acceptance", "x", "acceptance is 'x', not a list"),
        ("acceptance", None, "acceptance is null, not a list"),
        ("passes", 0, "passes is 0, not true or false"),
        ("passes", "false", "passes is 'false', not true or false"),
        ("children", {}, "children is an object, not a list"),
    ],
)
def test_every_field_is_judged_by_type_and_value(field: str, value: object, what: str) -> None:
    child = node("a", **{field: value})
    line = 14 + list(child).index(field)
    where = ("root", "children", 0, field)
    assert told(written(node(children=[child]))) == [(line, where, what)]


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_words_for_no_number_are_refused(word: str) -> None:
    data = FRESH.replace(b'"order": 0', b'"order": ' + word.encode())
    assert told(data) == [(5, ("root", "order"), f"{word} is no number")]


def test_exponents_are_refused_even_if_whole() -> None:
    data = FRESH.replace(b'"order": 0', b'"order": 1e2')
    assert told(data) == [(5, ("root", "order"), f"order is 100.0, {NUMBER}")]


def test_a_number_of_absurd_length_is_refused_without_reading_it() -> None:
    data = FRESH.replace(b'"order": 0', b'"order": ' + b"9" * 1_000_000)
    assert told(data) == [(5, ("root", "order"), "a number of 1000000 digits")]


@pytest.mark.parametrize("half", [r"\ud800", r"\udc00", r"\ud800\ud800", r"\udc00\ud800"])
def test_half_a_surrogate_pair_is_refused(half: str) -> None:
    what = "half of a surrogate pair"
    data = FRESH.replace(b'"Root"', f'"{half}"'.encode())
    assert told(data) == [(6, ("root", "title"), what)]
    data = FRESH.replace(b'"acceptance": []', f'"acceptance": ["{half}", 1]'.encode())
    assert told(data) == [
        (8, ("root", "acceptance", 0), what),
        (8, ("root", "acceptance", 1), "an acceptance criterion is 1, not a text"),
    ]
    data = FRESH.replace(b'"title"', f'"{half}"'.encode())
    assert [what for _, _, what in told(data)] == [
        "a node lacks the key 'title'",
        what,
        "a node has no key '?'",
    ]


def test_a_whole_surrogate_pair_is_one_character() -> None:
    decoded = decode(FRESH.replace(b"Root", rb"\ud83c\udf33"))
    assert decoded.tree is not None
    assert decoded.tree.root.title == "🌳"
    assert '"title": "🌳"'.encode() in encode(decoded.tree)


def test_a_broken_value_is_complained_about_only_once() -> None:
    assert [what for _, _, what in told(b'{"version": NaN, "root": NaN}')] == [
        "NaN is no number",
        "NaN is no number",
    ]


@pytest.mark.parametrize("version", [0, 2, 1.0, True, "1", None])
def test_only_version_1_is_read(version: object) -> None:
    assert told(written(node(), version)) == [(2, ("version",), f"version is {version!r}")]


def test_the_root_is_called_root() -> None:
    assert told(written(node("top"))) == [(4, ("root", "id"), "the root's id is 'top'")]


def test_a_child_that_is_no_node_is_refused() -> None:
    data = written(node(passes=True, children=[1, node("a", passes=True), "b"]))
    assert [(where, what) for _, where, what in told(data)] == [
        (("root", "children", 0), "a node is 1, not an object"),
        (("root", "children", 2), "a node is 'b', not an object"),
    ]


# --- rules between nodes -----------------------------------------------------------------------


def test_an_id_used_twice_is_refused_wherever_it_stands() -> None:
    twin = node("a", children=[node("b", children=[node("a")]), node("root")])
    assert decode(written(node(children=[twin]))).problems == (
        Problem(
            where=("root", "children", 0, "children", 0, "children", 0, "id"),
            what="the id 'a' is taken",
            hint="ids are unique in the whole tree; the first is in line 13",
            line=34,
        ),
        Problem(
            where=("root", "children", 0, "children", 1, "id"),
            what="the id 'root' is taken",
            hint="ids are unique in the whole tree; the first is in line 3",
            line=47,
        ),
    )


def test_a_passed_node_with_open_work_below_it_is_refused() -> None:
    data = written(node(passes=True, children=[node("a", passes=True), node("b")]))
    assert told(data) == [(9, ("root", "passes"), "the node passes but not all its children do")]


def test_a_passed_leaf_under_an_open_parent_is_fine() -> None:
    data = written(node(children=[node("a", passes=True), node("b")]))
    assert decode(data).problems == ()


def test_an_inner_node_that_should_pass_by_now_is_only_worth_a_warning() -> None:
    """An agent that removed the last open sibling leaves this behind and could not do better."""
    decoded = decode(written(node(children=[node("a", passes=True)])))
    assert decoded == DecodedTree(
        tree=TreeDocument(1, leaf("root", leaf("a", passes=True))),
        problems=(
            Problem(
                where=("root", "passes"),
                what="all children pass but the node does not say so",
                hint="nothing to do: the runner derives it when it next writes the tree",
                line=9,
                warning=True,
            ),
        ),
    )


def test_everything_wrong_is_said_at_once_by_line() -> None:
    data = b"""{
  "version": 2,
  "root": {
    "id": "top",
    "order": 1.5,
    "title": " ",
    "goal": "G", "goal": "H",
    "acceptance": [1],
    "passes": false,
    "attempts": NaN,
    "children": [
      {"id": "a"},
      null
    ],
    "notes": ""
  }
}
"""
    assert told(data) == [
        (2, ("version",), "version is 2"),
        (3, ("root", "max_attempts"), "a node lacks the key 'max_attempts'"),
        (4, ("root", "id"), "the root's id is 'top'"),
        (5, ("root", "order"), "order is 1.5, not a whole number"),
        (6, ("root", "title"), "title is blank"),
        (7, ("root", "goal"), "the key 'goal' stands here twice"),
        (8, ("root", "acceptance", 0), "an acceptance criterion is 1, not a text"),
        (10, ("root", "attempts"), "NaN is no number"),
        *(
            (12, ("root", "children", 0, key), f"a node lacks the key {key!r}")
            for key in (
                *("order", "title", "goal", "acceptance"),
                *("passes", "attempts", "max_attempts", "children"),
            )
        ),
        (13, ("root", "children", 1), "a node is null, not an object"),
        (15, ("root", "notes"), "a node has no key 'notes'"),
    ]


def test_thousands_of_problems_are_counted_rather_than_listed() -> None:
    problems = decode(written(node(children=[{"x": 0}] * 1_000))).problems
    assert len(problems) == MAX_PROBLEMS + 1
    assert problems[-1] == Problem(
        where=(), what="9500 more problems are not listed", hint="fix these first"
    )
