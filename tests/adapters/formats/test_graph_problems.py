"""Graph plan files that are wrong: every problem at once, with its place, and never a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from dwindle.adapters.formats.graph.plan import decode
from dwindle.adapters.formats.yaml_place import MAX_PROBLEMS
from dwindle.kernel.model import Problem

DATA = Path(__file__).parent / "data" / "graph"
START = (DATA / "legacy_start.md").read_bytes()
RUN = (DATA / "whole_run.md").read_bytes()
OLD = (DATA / "older_contract.md").read_bytes()
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


def test_an_empty_front_matter_is_a_plan_that_nobody_aligned() -> None:
    decoded = decode(b"---\n---\nDo something\n")
    assert decoded.plan is None
    assert decoded.body == b"Do something\n"
    hint = "align the plan first"
    assert decoded.problems == (
        Problem(
            where=("objective",), what="there is no objective", hint=hint, line=1, unaligned=True
        ),
        Problem(where=("atoms",), what="there are no atoms", hint=hint, line=1, unaligned=True),
    )


def test_alignment_that_is_missing_or_blank_is_told_apart_from_what_is_wrong() -> None:
    data = START
    for name, value in (("goal", '""'), ("deliverables", '"  \\n"'), ("background_intent", "")):
        data = changed(data, f'  {name}: "..."\n', f"  {name}: {value}\n")
    data = changed(data, '  definition_of_done: "..."\n', "")
    data = changed(data, '    type: command\n    value: "make check"\n', "")
    data = data.partition(b"atoms:\n")[0] + b"atoms: []\n---\n"
    decoded = decode(data)
    assert [(problem.line, problem.where, problem.what) for problem in decoded.problems] == [
        (2, ("objective", "definition_of_done"), "definition_of_done is missing"),
        (3, ("objective", "goal"), "goal is blank"),
        (4, ("objective", "base_case"), "the base case is blank"),
        (5, ("objective", "background_intent"), "background_intent is blank"),
        (6, ("objective", "deliverables"), "deliverables is blank"),
        (21, ("atoms",), "there are no atoms"),
    ]
    assert all(problem.unaligned for problem in decoded.problems)


@pytest.mark.parametrize(
    ("old", "new", "where", "what"),
    [
        (
            '  base_case:\n    type: command\n    value: "make check"\n',
            "",
            "objective.base_case",
            "there is no base case",
        ),
        (
            "    type: command\n",
            "",
            "objective.base_case",
            "the base case has neither a type nor a checklist",
        ),
        (
            '"make check"',
            '" "',
            "objective.base_case.value",
            "the base case does not say what to check",
        ),
        (
            '    type: command\n    value: "make check"\n',
            "    checklist: []\n",
            "objective.base_case.checklist",
            "the checklist is empty, so nothing could pass",
        ),
    ],
)
def test_a_base_case_that_says_nothing(old: str, new: str, where: str, what: str) -> None:
    data = changed(START, old, new)
    assert [(place, sentence) for _, place, sentence in said(data)] == [(where, what)]
    assert all(problem.unaligned for problem in decode(data).problems)


def test_everything_is_said_at_once_with_lines_and_hints() -> None:
    data = RUN
    for old, new in (
        ("  goal: ", "  gaol: "),
        ("pass_threshold: 3.5", "pass_threshold: high"),
        ("max_iterations: 20", "max_iterations: true"),
        ("max_parallel_agents: 3", "max_paralel_agents: 3"),
        ("max_stall_count: 3", "max_stall_count: 3.0"),
        ("status: running ", "status: runing "),
        ("iteration: 5", "iteration: '5'"),
        ("status: pending\n", "status: pendng\n"),
        ("    depends_on: [A3, A4]", "    depends_on: A3"),
        ("children: [A3, A4]", "children: [A3, 4]"),
        ("    selected: A4\n    failed", "    failed"),
        ('artifacts: ["src/invoices/model.py"]', "artifacts: null"),
        ('timestamp: "2025', 'type: choice\n    timestamp: "2025'),
        ("corrections: []", "corrections: [{}]\nbindigns: {}"),
    ):
        data = changed(data, old, new)
    assert decode(data).problems == (
        Problem(
            where=("objective", "goal"),
            what="goal is missing",
            hint="align the plan first",
            line=3,
            unaligned=True,
        ),
        Problem(
            where=("objective", "gaol"),
            what="unknown key 'gaol'",
            hint="did you mean goal?",
            line=4,
        ),
        Problem(
            where=("objective", "base_case", "checklist", 2, "check", "pass_threshold"),
            what="must be a number, not text 'high'",
            line=47,
        ),
        Problem(
            where=("objective", "constraints", "max_iterations"),
            what="must be a whole number, not true",
            line=53,
        ),
        Problem(
            where=("objective", "constraints", "max_paralel_agents"),
            what="unknown key 'max_paralel_agents'",
            hint="did you mean max_parallel_agents?",
            line=54,
        ),
        Problem(
            where=("objective", "constraints", "max_stall_count"),
            what="must be a whole number, not a number 3.0",
            line=55,
        ),
        Problem(
            where=("control", "status"),
            what="'runing' is none of pending, running, stopped, completed",
            hint="did you mean running?",
            line=59,
        ),
        Problem(
            where=("control", "iteration"), what="must be a whole number, not text '5'", line=60
        ),
        Problem(
            where=("atoms", 1, "status"),
            what="'pendng' is none of pending, in_progress, resolved",
            hint="did you mean pending?",
            line=76,
        ),
        Problem(
            where=("atoms", 4, "depends_on"),
            what="must be a list, not text 'A3'",
            hint="write [] for none",
            line=93,
        ),
        Problem(
            where=("decompositions", 0, "children", 1),
            what="must be text, not a whole number 4",
            hint="put it in double quotes",
            line=98,
        ),
        Problem(
            where=("or_groups", "pdf_method", "selected"),
            what="selected is missing",
            hint="add it",
            line=103,
        ),
        Problem(
            where=("bindings", "A1", "artifacts"),
            what="must be a list, not nothing",
            hint="write [] for none",
            line=111,
        ),
        Problem(
            where=("trail", 0, "type"),
            what="'choice' is none of backtrack, failure, user_correction, wind",
            line=121,
        ),
        *(
            Problem(
                where=("corrections", 0, name), what=f"{name} is missing", hint="add it", line=125
            )
            for name in ("timestamp", "type", "description", "trail_cleared")
        ),
        Problem(
            where=("bindigns",),
            what="unknown section 'bindigns'",
            hint="did you mean bindings?",
            line=126,
        ),
    )


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "atoms:\n  - id: A1",
            "atoms:\n  - id: A1\n    id: A2",
            [(26, "atoms.0.id", "the key 'id' is there twice")],
        ),
        (
            "  iteration: 0",
            "  iteration: .nan",
            [(17, "control.iteration", "'.nan' is no finite number")],
        ),
        (
            "  iteration: 0",
            "  iteration: " + "9" * 5000,
            [(17, "control.iteration", "a whole number of 5000 digits")],
        ),
        (
            "  iteration: 0",
            "  iteration: &a 0",
            [(17, "control.iteration", "'&a' makes a name for other parts of the file")],
        ),
        (
            "  iteration: 0",
            "  iteration: !!int 0",
            [(17, "control.iteration", "'tag:yaml.org,2002:int' is a tag that asks for a type")],
        ),
        (
            "  iteration: 0",
            "  iteration: null",
            [(17, "control.iteration", "must be a whole number, not nothing")],
        ),
        (
            "  stop_requested: false",
            "  stop_requested: no",
            [(20, "control.stop_requested", "must be true or false, not text 'no'")],
        ),
        (
            "  stop_requested: false",
            "  stop_requested: 0",
            [(20, "control.stop_requested", "must be true or false, not a whole number 0")],
        ),
        (
            "control:\n",
            "control: 3\nother:\n",
            [
                (15, "control", "must be a mapping, not a whole number 3"),
                (16, "other", "unknown section 'other'"),
            ],
        ),
        ("atoms:\n  - id: A1", "atoms:\n  - id: ''", [(25, "atoms.0.id", "is empty")]),
        (
            "atoms:\n  - id: A1\n",
            "atoms: A1\nx:\n  - z: 1\n",
            [(24, "atoms", "must be a list, not text 'A1'"), (25, "x", "unknown section 'x'")],
        ),
        (
            "atoms:\n",
            "atoms:\n  - 7\n",
            [(25, "atoms.0", "must be a mapping, not a whole number 7")],
        ),
        ("or_groups: {}", "or_groups: []", [(31, "or_groups", "must be a mapping, not a list")]),
        (
            "or_groups: {}",
            "or_groups: {1: {choices: [A1], selected: A1}}",
            [(31, "or_groups.1", "must be text, not a whole number 1")],
        ),
        (
            "or_groups: {}",
            "or_groups: {null: 3}",
            [
                (31, "or_groups.null", "must be text, not nothing"),
                (31, "or_groups.null", "must be a mapping, not a whole number 3"),
            ],
        ),
        (
            "    depends_on: []",
            "    depends_on: []\n    1: x",
            [(29, "atoms.0.1", "unknown key 1")],
        ),
        (
            "    depends_on: []",
            "    depends_on: []\n    true: x",
            [(29, "atoms.0.true", "unknown key true")],
        ),
        (
            "    type: command",
            "    type: quality",
            [(5, "objective.base_case.type", "quality is only for the items of a checklist")],
        ),
        (
            "    type: command",
            "    checklist:\n    - {item: a, check: {type: command, value: x}}\n    type: command",
            [(4, "objective.base_case", "a checklist stands beside type, value")],
        ),
        (
            "objective:\n",
            "objective: 7\nx:\n",
            [
                (2, "objective", "must be a mapping, not a whole number 7"),
                (3, "x", "unknown section 'x'"),
            ],
        ),
    ],
)
def test_one_thing_wrong(old: str, new: str, expected: list[tuple[int, str, str]]) -> None:
    found = said(changed(START, old, new))
    assert sorted(found) == sorted(expected)


def test_an_id_that_is_taken() -> None:
    data = changed(RUN, "  - id: A3\n", "  - id: A1\n")
    assert said(data) == [(79, "atoms.2.id", "the id 'A1' is taken by atom number 1")]
    assert decode(data).draft is None


def test_a_section_in_two_places() -> None:
    data = changed(OLD, "atoms:\n", "control: {iteration: 1}\natoms:\n")
    assert said(data) == [(11, "objective.control", "control is there twice, here and at the top")]


@pytest.mark.parametrize(
    "entry", ["  - 7\n", "  - {id: A1, description: d, status: pending, depends_on: []}\n"]
)
def test_ten_thousand_problems_are_not_all_listed(entry: str) -> None:
    found = said(changed(START, "atoms:\n", "atoms:\n" + entry * 10_000))
    assert len(found) == MAX_PROBLEMS
