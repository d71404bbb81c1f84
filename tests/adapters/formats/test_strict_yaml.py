"""YAML that means what it looks like, and everything that is refused instead of guessed at."""

from __future__ import annotations

import time

import pytest
import yaml

from dwindle.adapters.formats import strict_yaml
from dwindle.adapters.formats.strict_yaml import Parsed, line_map, parse
from dwindle.adapters.formats.yaml_place import MAX_PROBLEMS, Path, clipped
from dwindle.kernel.model import Problem


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("null", None),
        ("~", None),
        ("", None),
        ("true", True),
        ("false", False),
        ("0", 0),
        ("-17", -17),
        ("3.5", 3.5),
        ("-0.25", -0.25),
        ("1e3", 1000.0),
        ("1.5e-3", 0.0015),
        ("999999999999999999", 999999999999999999),
    ],
)
def test_a_few_words_are_values(text: str, value: object) -> None:
    parsed = parse(f"a: {text}\n")
    assert parsed == Parsed({"a": value}, ())
    assert type(parsed.data["a"]) is type(value)  # type: ignore[index]


@pytest.mark.parametrize(
    "text",
    [
        *("NO", "no", "on", "Off", "y", "True", "NULL", "12:30", "12:30:45", "0o7", "007", "0x1F"),
        *(
            "1_000",
            "+1",
            "1.",
            ".5",
            "--",
            "-x",
            "2025-01-15",
            "2025-01-15T10:00:00Z",
            "NaN",
            "inf",
        ),
    ],
)
def test_all_other_words_are_the_text_they_look_like(text: str) -> None:
    assert parse(f"a: {text}\n") == Parsed({"a": text}, ())


def test_quoted_words_are_text() -> None:
    assert parse("a: \"null\"\nb: 'true'\nc: |\n  1\n") == Parsed(
        {"a": "null", "b": "true", "c": "1\n"}, ()
    )


def test_nested_values_keep_their_order() -> None:
    text = "b: [1, [x, {y: 2}]]\na:\n- c: {}\n  d: []\n- e\n"
    assert parse(text) == Parsed({"b": [1, ["x", {"y": 2}]], "a": [{"c": {}, "d": []}, "e"]}, ())


def test_a_text_may_be_one_value_or_nothing() -> None:
    assert parse("only this") == Parsed("only this", ())
    assert parse("# a comment\n") == Parsed(None, ())


def test_each_refusal_has_its_place_and_does_not_hide_the_next() -> None:
    parsed = parse(
        "a: 1\n"
        "a: {b: 2}\n"
        "c: &name [.nan, -.INF, 1e999]\n"
        "d: *name\n"
        "e:\n"
        "  - f: !!int 3\n"
        "    <<: {g: 1}\n"
        "    ? h\n"
        "    : 1234567890123456789\n"
        "  - {null: 1, null: 2, 1.5: 3, 1.5: 4}\n",
        first_line=10,
    )
    finite = "put it in quotes if it is text"
    assert parsed.problems == (
        Problem(where=("a",), what="the key 'a' is there twice", hint="keep one of them", line=11),
        Problem(
            where=("c",),
            what="'&name' makes a name for other parts of the file",
            hint="write plain values only",
            line=12,
        ),
        Problem(where=("c", 0), what="'.nan' is no finite number", hint=finite, line=12),
        Problem(where=("c", 1), what="'-.INF' is no finite number", hint=finite, line=12),
        Problem(where=("c", 2), what="'1e999' is no finite number", hint=finite, line=12),
        Problem(
            where=("d",),
            what="'*name' stands for another part of the file",
            hint="write the value out",
            line=13,
        ),
        Problem(
            where=("e", 0, "f"),
            what="'tag:yaml.org,2002:int' is a tag that asks for a type",
            hint="write plain values only",
            line=15,
        ),
        Problem(where=("e", 0, "<<"), what="merge keys are not used here", line=16),
        Problem(
            where=("e", 0, "h"),
            what="a whole number of 19 digits",
            hint="at most 18 are read; put text in quotes",
            line=18,
        ),
        Problem(
            where=("e", 1, "null"),
            what="the key null is there twice",
            hint="keep one of them",
            line=19,
        ),
        Problem(
            where=("e", 1, "1.5"),
            what="the key 1.5 is there twice",
            hint="keep one of them",
            line=19,
        ),
    )
    assert parsed.complete


def test_the_first_of_two_equal_keys_is_kept() -> None:
    assert parse("a: 1\na: [2]\nb: 3\n").data == {"a": 1, "b": 3}


def test_an_absurdly_long_number_is_refused_without_being_computed() -> None:
    parsed = parse("a: " + "9" * 5000)
    assert [problem.what for problem in parsed.problems] == ["a whole number of 5000 digits"]


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "a:\n "])
def test_a_hundred_thousand_levels_are_refused_at_once(opening: str) -> None:
    levels = 100_000
    text = opening * levels
    if opening == "a:\n ":
        text = "".join(" " * depth + "a:\n" for depth in range(2_000))
    start = time.perf_counter()
    parsed = parse(text)
    assert time.perf_counter() - start < 5
    assert [problem.what for problem in parsed.problems] == ["nested more than 64 levels deep"]
    assert not parsed.complete


def test_aliases_cannot_explode() -> None:
    lines = ["a0: &a0 [x, x]"]
    lines += [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40)]
    parsed = parse("\n".join(lines))
    assert len(parsed.problems) == 40 + 2 * 39


def test_endless_problems_come_to_an_end() -> None:
    parsed = parse("a: 1\n" * 100_000)
    assert len(parsed.problems) == MAX_PROBLEMS + 1
    assert parsed.problems[-1].what == f"there are more than these {MAX_PROBLEMS} problems"
    assert not parsed.complete


@pytest.mark.parametrize(
    ("text", "line", "what", "hint"),
    [
        ("--- a\n--- b\n", 2, "a second YAML document begins here", "keep only one"),
        ("a: 1\n? [b]\n: c\n", 2, "a key must be a single word", ""),
        (
            "a: b: c\n",
            1,
            "this is not YAML: mapping values are not allowed in this context",
            "put text that contains ': ' in double quotes",
        ),
        (
            "a:\n\tb: c\n",
            2,
            "this is not YAML: found character that cannot start any token",
            "indent with spaces; quote text that begins with @, `, % or a tab",
        ),
        (
            "a: 'x\n",
            1,
            "this is not YAML: found unexpected end of stream",
            "a quote or a bracket is never closed",
        ),
        (
            'a: "\\ud800"\n',
            1,
            "this is not YAML: found invalid Unicode character escape code",
            "half of a surrogate pair is no character",
        ),
        ("a: 1\n...\nb: 2\n", 3, "this is not YAML: did not find expected <document start>", ""),
    ],
)
def test_what_ends_the_reading(text: str, line: int, what: str, hint: str) -> None:
    parsed = parse(text)
    last = parsed.problems[-1]
    assert (last.what, last.hint, parsed.complete) == (what, hint, False)
    assert last.line is not None
    assert abs(last.line - line) <= 1, "the parser may notice the end of a token a line later"


def test_a_complaint_without_a_mark_has_no_line() -> None:
    """The reader below the parser complains of characters by position."""
    (problem,) = parse("a: \x01").problems
    assert problem == Problem(
        where=(), what="this is not YAML: control characters are not allowed", line=None
    )


def test_lines_are_known_for_keys_and_items() -> None:
    text = "a:\n  - b: 1\n    c: [1,\n      2]\n  - 2\nd: {e: f}\n1: {true: x}\na: again\n"
    places: dict[Path, int] = {
        ("a",): 2,
        ("a", 0): 3,
        ("a", 0, "b"): 3,
        ("a", 0, "c"): 4,
        ("a", 0, "c", 0): 4,
        ("a", 0, "c", 1): 5,
        ("a", 1): 6,
        ("d",): 7,
        ("d", "e"): 7,
        (1,): 8,
        (1, "true"): 8,
    }
    assert line_map(text, places, first_line=2) == places
    assert line_map(text, [("a", 1), ("a", 2), ("x",)], first_line=2) == {("a", 1): 6}


def test_long_values_are_clipped_in_messages() -> None:
    assert clipped("a" * 100) == "'" + "a" * 59 + "..."
    assert clipped("short") == "'short'"
    assert clipped("ü\n") == "'\\xfc\\n'"
    assert clipped([1, 2]) == "[1, 2]"


def test_the_parser_in_python_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "a: [NO, 1, {b: c, b: d}]\ne: &f !!str 12:30\n"
    in_c = parse(text)
    monkeypatch.setattr(strict_yaml, "LOADER", yaml.SafeLoader)
    assert parse(text) == in_c
    assert parse("[" * 100_000).problems[0].what == "nested more than 64 levels deep"
    assert parse("a: [\n").complete is False
    assert parse("a: \x01").complete is False
