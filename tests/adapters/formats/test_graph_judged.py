"""What the kernel finds in a plan is placed in the text it was read from."""

from __future__ import annotations

from pathlib import Path

from dwindle.adapters.formats.graph.plan import decode
from dwindle.kernel.model import Problem
from dwindle.kernel.problems import validate

DATA = Path(__file__).parent / "data" / "graph"
START = (DATA / "legacy_start.md").read_bytes()
RUN = (DATA / "whole_run.md").read_bytes()


def changed(data: bytes, old: str, new: str) -> bytes:
    """Replace the first occurrence, which must be there."""
    assert old.encode() in data
    return data.replace(old.encode(), new.encode(), 1)


def test_problems_of_the_kernel_get_the_nearest_line() -> None:
    data = changed(RUN, "    depends_on: [A3, A4]", "    depends_on: [A3, A5]")
    decoded = decode(changed(data, "max_stall_count: 3", "max_stall_count: 0"))
    assert decoded.plan is not None
    found = [
        (problem.line, problem.where)
        for problem in decoded.judged(validate(decoded.plan))
        if not problem.warning
    ]
    assert found == [
        (55, ("objective", "constraints", "max_stall_count")),
        (93, ("atoms", 4, "depends_on")),
    ]


def test_a_place_without_a_line_of_its_own_has_the_line_around_it() -> None:
    decoded = decode(START)
    nowhere = Problem(where=(), what="x")
    deep = Problem(where=("atoms", 0, "touches", 3), what="x")
    known = Problem(where=("atoms",), what="x", line=99)
    assert [problem.line for problem in decoded.located((nowhere, deep, known))] == [1, 25, 99]


def test_a_draft_shows_what_else_is_wrong() -> None:
    data = changed(RUN, '  goal: "Let customers pay by invoice"', '  goal: ""')
    data = changed(data, "    depends_on: [A3, A4]", "    depends_on: [A3, A9]")
    decoded = decode(data)
    assert decoded.plan is None
    assert decoded.draft is not None
    assert [
        (problem.line, problem.where, problem.unaligned)
        for problem in decoded.judged(validate(decoded.draft))
    ] == [(4, ("objective", "goal"), True), (93, ("atoms", 4, "depends_on"), False)]


def test_there_is_no_draft_of_a_graph_that_could_not_be_read() -> None:
    assert decode(changed(RUN, "    depends_on: [A3, A4]", "    depends_on: 7")).draft is None
    assert decode(changed(START, "bindings: {}", "bindings: 7")).draft is None


def test_what_stands_in_for_a_refused_part_is_not_judged() -> None:
    data = changed(RUN, "max_iterations: 20", "max_iterations: many")
    data = changed(data, "iteration: 5", "iteration: five")
    data = changed(data, "    depends_on: [A3, A4]", "    depends_on: [A3, A9]")
    decoded = decode(data)
    assert decoded.draft is not None
    assert [problem.where for problem in decoded.judged(validate(decoded.draft))] == [
        ("objective", "constraints", "max_iterations"),
        ("control", "iteration"),
        ("atoms", 4, "depends_on"),
    ]


def test_a_refused_check_is_refused_once() -> None:
    old = "    depends_on: []\n"
    data = changed(START, old, old + "    check: {type: quality, pass_threshold: 9}\n")
    command = '    type: command\n    value: "make check"\n'
    data = changed(data, command, "    checklist: [{item: a, group: []}]\n")
    decoded = decode(data)
    assert decoded.draft is not None
    assert len(validate(decoded.draft)) > 0
    assert decoded.judged(validate(decoded.draft)) == decoded.problems
    assert [problem.where for problem in decoded.problems] == [
        ("objective", "base_case", "checklist", 0, "group"),
        ("atoms", 0, "check", "pass_threshold"),
        ("atoms", 0, "check"),
    ]
