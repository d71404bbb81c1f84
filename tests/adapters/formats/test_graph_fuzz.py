"""Generated plans, and valid files that were damaged.

Damage is done to the values (one taken out, put elsewhere, doubled, replaced by something of
another kind) and to the text (bytes and lines taken out, doubled, put in). Whatever comes of it,
`decode` answers; and what it accepts can be written and is then read as the same plan.

DWINDLE_FUZZ says how many examples to try; see the conftest.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.model import strategies

from dwindle.adapters.formats.graph.front_matter import SECOND
from dwindle.adapters.formats.graph.plan import Decoded, GraphWriter, decode, writer_of
from dwindle.adapters.formats.strict_yaml import parse
from dwindle.kernel.model import Plan
from dwindle.kernel.problems import validate

DATA = Path(__file__).parent / "data" / "graph"
FILES = tuple(path.read_bytes() for path in sorted(DATA.glob("*.md")))
VALUES: tuple[Any, ...] = tuple(parse(data.decode().split("---\n")[1]).data for data in FILES)
HARD = settings(max_examples=6 * settings().max_examples)
SLOW = settings(max_examples=settings().max_examples // 2)

oddities: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, False, 0, -1, 1, 3.5, 10**17, "", " ", "A1", "NO", [], {}, [[]], {"a": None}, [1]]
)
fragments = st.sampled_from(
    [
        *(b"---\n", b"...\n", b"\t", b"\r\n", b"\xff", b"\xef\xbb\xbf", b"\0", b"&a ", b"*a"),
        *(b"!!int ", b"[", b"{", b"- ", b": ", b"\n  ", b"\n    ", b"'", b'"', b"<<: ", b".nan"),
        *(b"1e999", b"#", b"\\ud800"),
    ]
)


def accepted(decoded: Decoded) -> bytes:
    """Check that what was read can be written and read again, and give the bytes."""
    assert decoded.plan is not None
    assert decoded.problems == ()
    written = GraphWriter(decoded.body).encode(decoded.plan)
    again = decode(written)
    assert again == decoded
    assert writer_of(written).encode(decoded.plan) == written
    return written


bodies = (
    st.text(st.characters(exclude_categories=["Cs"]))
    .map(str.encode)
    .filter(lambda body: not SECOND.match(body))  # refused: it looks like another front matter
)


@given(strategies.plans(), bodies)
def test_a_written_plan_is_read_as_the_same_plan(plan: Plan, body: bytes) -> None:
    written = GraphWriter(body).encode(plan)
    ours, edited = decode(written), decode(by_hand(written))
    assert ours == Decoded(plan=plan, body=body)
    assert edited == ours
    assert accepted(edited) == written


@SLOW
@given(strategies.plans())
def test_other_readers_of_yaml_see_the_same_text(plan: Plan) -> None:
    front = GraphWriter().encode(plan)[4:-4].decode()
    theirs = yaml.safe_load(front)
    assert theirs == parse(front).data


@SLOW
@given(strategies.plans(), strategies.plans())
def test_a_used_writer_writes_what_a_new_one_writes(first: Plan, second: Plan) -> None:
    writer = GraphWriter(b"body")
    changed = replace(first, atoms={**first.atoms, **second.atoms}, trail=first.trail * 2)
    for plan in (first, changed, second, changed, first):
        assert writer.encode(plan) == GraphWriter(b"body").encode(plan)


@SLOW
@given(strategies.plans())
def test_judging_any_plan_finds_a_line_for_each_problem(plan: Plan) -> None:
    decoded = decode(GraphWriter().encode(plan))
    found = validate(plan)
    located = decoded.judged(found)
    assert len(located) == len(found)
    assert all(problem.line for problem in located)


@HARD
@given(st.data())
def test_damaged_values_are_refused_or_understood(data: st.DataObject) -> None:
    values = copy.deepcopy(data.draw(st.sampled_from(VALUES)))
    for _ in range(data.draw(st.integers(1, 3))):
        damage(values, data)
    text = yaml.dump(values, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True)
    answered(b"---\n" + text.encode() + b"---\n")


@HARD
@given(st.data())
def test_damaged_text_is_refused_or_understood(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(FILES))
    for _ in range(data.draw(st.integers(1, 3))):
        text = tear(text, data)
    answered(text)


def answered(data: bytes) -> None:
    """Decode, and hold whatever came of it to the rules."""
    decoded = decode(data)
    event("refused" if decoded.plan is None else "understood")
    if decoded.plan is None:
        assert decoded.problems
        assert all(problem.what and problem.line for problem in decoded.problems)
    else:
        accepted(decoded)


def damage(values: Any, data: st.DataObject) -> None:
    """Change one place of the values, at any depth."""
    here = values
    while True:
        keys = list(here) if isinstance(here, dict) else list(range(len(here)))
        if not keys:
            return
        key = data.draw(st.sampled_from(keys))
        if not isinstance(here[key], dict | list) or data.draw(st.integers(0, 3)) == 0:
            break
        here = here[key]
    match data.draw(st.sampled_from(["drop", "replace", "rename", "double"])):
        case "drop":
            del here[key]
        case "replace":
            here[key] = copy.deepcopy(data.draw(oddities))
        case "rename" if isinstance(here, dict):
            here[data.draw(st.sampled_from(["goal", "atom", "check", "typo", 7, None]))] = here[key]
        case "double" if isinstance(here, list):
            here.append(copy.deepcopy(here[key]))
        case _:
            here[key] = [copy.deepcopy(here[key])]


def tear(text: bytes, data: st.DataObject) -> bytes:
    """Change one place of the text."""
    start = data.draw(st.integers(0, len(text)))
    end = min(len(text), start + data.draw(st.integers(0, 40)))
    match data.draw(st.sampled_from(["cut", "insert", "double line", "cut line"])):
        case "cut":
            return text[:start] + text[end:]
        case "insert":
            return text[:start] + data.draw(fragments) + text[start:]
        case "double line":
            lines = text.splitlines(keepends=True)
            index = start % len(lines)
            return b"".join([*lines[:index], lines[index], *lines[index:]])
        case _:
            lines = text.splitlines(keepends=True)
            index = start % len(lines)
            return b"".join([*lines[:index], *lines[index + 1 :]])


def by_hand(data: bytes) -> bytes:
    """Make a file that we did not write, by a comment."""
    return data.replace(b"---\n", b"---\n# by hand\n", 1)
