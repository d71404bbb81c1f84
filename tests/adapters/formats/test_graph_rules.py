"""Records that have the right shape and still mean nothing: checks, checklists, trail, sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

from dwindle.adapters.formats.graph.plan import decode

DATA = Path(__file__).parent / "data" / "graph"
START = (DATA / "legacy_start.md").read_bytes()
FULL = (DATA / "everything.md").read_bytes()


def said(data: bytes) -> list[tuple[int | None, str, str]]:
    """What is wrong with a file: line, path, sentence."""
    decoded = decode(data)
    assert decoded.plan is None
    assert all(not problem.warning for problem in decoded.problems)
    return [
        (problem.line, ".".join(map(str, problem.where)), problem.what)
        for problem in decoded.problems
    ]


def changed(data: bytes, old: str, new: str) -> bytes:
    """Replace the first occurrence, which must be there."""
    assert old.encode() in data
    return data.replace(old.encode(), new.encode(), 1)


def check(fields: str) -> bytes:
    """A plan whose only atom has this check."""
    old = "    depends_on: []\n"
    return changed(START, old, f"{old}    check: {{{fields}}}\n")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ("type: command", [("value", "a command check needs a value")]),
        ("type: file, value: ' '", [("value", "a file check needs a value")]),
        (
            "type: asertion, value: x",
            [
                (
                    "type",
                    (
                        "'asertion' is none of "
                        "command, file, not_command, not_file, assertion, quality"
                    ),
                )
            ],
        ),
        (
            "type: not_file, value: x, pass_threshold: 3, scope: y",
            [
                ("pass_threshold", "pass_threshold means nothing in a not_file check"),
                ("scope", "scope means nothing in a not_file check"),
            ],
        ),
        (
            "type: quality, value: x, criteria: y, pass_threshold: 3",
            [("value", "a quality check has no value")],
        ),
        (
            "type: quality, criteria: y",
            [("pass_threshold", "a quality check without a threshold could never be judged")],
        ),
        (
            "type: quality, criteria: y, pass_threshold: 5.5",
            [("pass_threshold", "5.5 is not on the scale from 1 to 5")],
        ),
        (
            "type: quality, criteria: ' ', pass_threshold: 3",
            [("criteria", "the criteria are blank")],
        ),
        (
            "type: quality, pass_threshold: 3",
            [("", "a quality check needs either a rubric or criteria")],
        ),
        (
            "type: quality, criteria: y, rubric: [{criterion: c, weight: 1}], pass_threshold: 3",
            [("", "a quality check needs either a rubric or criteria")],
        ),
        (
            "type: quality, rubric: [], pass_threshold: 3",
            [("rubric", "the weights of the rubric add up to nothing")],
        ),
        (
            "type: quality, rubric: [{criterion: c, weight: 0}], pass_threshold: 3",
            [("rubric", "the weights of the rubric add up to nothing")],
        ),
        (
            (
                "type: quality, pass_threshold: 3, "
                "rubric: [{criterion: c, weight: -1}, {criterion: d, weight: 3}]"
            ),
            [("rubric.0.weight", "a weight of -1 would turn the score round")],
        ),
        (
            "type: quality, rubric: [{criterion: c, weight: heavy}], pass_threshold: 3",
            [("rubric.0.weight", "must be a number, not text 'heavy'")],
        ),
        (
            (
                "type: quality, pass_threshold: 3, "
                "rubric: [{criterion: c, weight: 1, levels: {6: x, a: y}}]"
            ),
            [
                ("rubric.0.levels.6", "6 is not between 1 and 5"),
                ("rubric.0.levels.a", "must be a whole number, not text 'a'"),
            ],
        ),
        (
            "type: command, value: x, timeout_seconds: 1.5",
            [("timeout_seconds", "must be a whole number, not a number 1.5")],
        ),
    ],
)
def test_a_check_that_could_not_be_judged(fields: str, expected: list[tuple[str, str]]) -> None:
    place = "atoms.0.check"
    assert [(where, what) for _, where, what in said(check(fields))] == [
        (f"{place}.{name}".rstrip("."), what) for name, what in expected
    ]


def checklist(items: str) -> bytes:
    """A plan with this checklist."""
    old = '    type: command\n    value: "make check"\n'
    return changed(START, old, f"    checklist: {items}\n")


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ("[{item: a}]", [("0", "'a' needs one of check, group and any_of, but has none of them")]),
        (
            "[{item: a, check: {type: file, value: x}, group: []}]",
            [
                ("0", "'a' needs one of check, group and any_of, but has check and group"),
                ("0.group", "'a' has an empty group, which proves nothing"),
            ],
        ),
        (
            "[{item: a, any_of: []}]",
            [("0.any_of", "'a' has an empty any_of, which proves nothing")],
        ),
        ("[{check: {type: file, value: x}}]", [("0.item", "item is missing")]),
        (
            "[{item: a, group: [{item: b, any_of: [{item: c, check: {type: file}}]}]}]",
            [("0.group.0.any_of.0.check.value", "a file check needs a value")],
        ),
    ],
)
def test_a_checklist_that_proves_nothing(items: str, expected: list[tuple[str, str]]) -> None:
    place = "objective.base_case.checklist"
    assert [(where, what) for _, where, what in said(checklist(items))] == [
        (f"{place}.{name}", what) for name, what in expected
    ]


def test_groups_within_groups_have_an_end() -> None:
    def nested(depth: int) -> bytes:
        inner = "{item: x, check: {type: file, value: y}}"
        for _ in range(depth - 1):
            inner = f"{{item: x, group: [{inner}]}}"
        return checklist(f"[{inner}]")

    assert decode(nested(16)).problems == ()
    assert [what for _, _, what in said(nested(17))] == ["groups are nested more than 16 deep"]


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("", ["a choice needs or_group", "a choice needs selected"]),
        ("or_group: g, selected: A1, atom: A1", ["a choice has no atom"]),
        ("type: backtrack, or_group: g, attempt: 1", ["a backtrack has no attempt"]),
        ("type: failure, selected: A1", ["a failure needs atom", "a failure has no selected"]),
        ("type: user_correction, or_group: g, atom: A1", ["a user_correction has no or_group"]),
    ],
)
def test_an_entry_of_the_trail_that_mixes_its_kinds(entry: str, expected: list[str]) -> None:
    written = f"trail: [{{reason: r, timestamp: t, {entry}}}, 7]".replace(", }", "}")
    found = [what for _, _, what in said(changed(START, "trail: []", written))]
    assert sorted(found) == sorted(["must be a mapping, not a whole number 7", *expected])


def test_a_backtrack_may_have_nothing_left_to_select() -> None:
    written = "trail: [{type: backtrack, or_group: g, reason: r, timestamp: t}]"
    assert decode(changed(START, "trail: []", written)).problems == ()


def test_a_session_that_is_in_flight_twice() -> None:
    data = changed(FULL, "    - role: verifier\n", "    - atom: A3\n      role: verifier\n")
    assert said(data) == [(103, "control.in_flight.1", "A3 is in flight twice")]
    data = changed(FULL, "    - atom: A3\n      role: worker\n", "    - role: worker\n")
    assert said(data) == [(102, "control.in_flight.1", "the verification is in flight twice")]
