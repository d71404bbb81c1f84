"""Drafts: what may be left out of one, what may not, and on which line it is said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dwindle.adapters.formats.draft.plan import Draft, decode_draft
from dwindle.adapters.formats.graph import plan as graph_plan
from dwindle.adapters.formats.graph.front_matter import MAX_BYTES
from dwindle.kernel.model import (
    Atom,
    AtomId,
    BaseCase,
    Check,
    ChecklistItem,
    CheckType,
    Control,
    Dispatch,
    GroupId,
    Limits,
    Objective,
    OrGroup,
    Pace,
    Plan,
    Problem,
    Spent,
    Status,
    Verification,
)
from dwindle.kernel.problems import validate

DATA = Path(__file__).parent / "data" / "graph"

SHORT = """\
objective:
  goal: Let people log in
  background_intent: They cannot
  deliverables: A login page
  definition_of_done: Tests pass
  base_case:
    checklist:
      - item: Tests pass
        check: {type: command, value: make test}
atoms:
  - id: A1
    description: User model
  - id: A2
    description: Tokens
    depends_on: [A1]
or_groups:
  way:
    choices: [A2, A3]
"""

PLAN = Plan(
    objective=Objective(
        goal="Let people log in",
        background_intent="They cannot",
        deliverables="A login page",
        definition_of_done="Tests pass",
        base_case=BaseCase(
            checklist=(
                ChecklistItem(
                    item="Tests pass", check=Check(type=CheckType.COMMAND, value="make test")
                ),
            )
        ),
    ),
    limits=Limits(max_atoms=52, dispatch=Dispatch.REFILL, stated=("dispatch",)),
    spent=Spent(created=2),
    control=Control(),
    atoms={
        AtomId("A1"): Atom(id=AtomId("A1"), description="User model"),
        AtomId("A2"): Atom(id=AtomId("A2"), description="Tokens", depends_on=("A1",)),
    },
    groups={
        GroupId("way"): OrGroup(
            id=GroupId("way"), choices=(AtomId("A2"), AtomId("A3")), selected=AtomId("A2")
        )
    },
)


def judged(text: str | bytes) -> list[tuple[object, ...]]:
    draft = decode_draft(text if isinstance(text, bytes) else text.encode())
    found = draft.judged(() if draft.readable is None else validate(draft.readable))
    assert (draft.plan is None) >= any(not problem.warning for problem in draft.problems)
    return [(p.line, p.where, p.what, p.unaligned) for p in found]


# --- what may be left out ------------------------------------------------------------------------


def test_a_short_draft_is_a_whole_plan() -> None:
    assert decode_draft(SHORT.encode()) == Draft(plan=PLAN, body=b"", shift=1)
    assert judged(SHORT) == []


@pytest.mark.parametrize(
    ("data", "body", "shift"),
    [
        (f"---\n{SHORT}", b"", 1),
        (f"# my draft\n---\n{SHORT}", b"", 1),
        (f"{SHORT}...\n", b"", 1),
        (SHORT.replace("\n", "\r\n"), b"", 1),
        (f"---\n{SHORT}---\n", b"", 0),
        (f"---\n{SHORT}---\n\n# Please\n\nLog people in.\n", b"\n# Please\n\nLog people in.\n", 0),
        (f"{SHORT}control:\ndecompositions: []\nbindings: {{}}\ntrail: null\n", b"", 1),
        (SHORT.replace("description: User model", "description: User model\n    status:"), b"", 1),
    ],
    ids=["fenced", "comment", "ended", "crlf", "state", "body", "empty sections", "empty field"],
)
def test_the_same_in_other_words(data: str, body: bytes, shift: int) -> None:
    assert decode_draft(data.encode()) == Draft(plan=PLAN, body=body, shift=shift)


def test_a_draft_may_want_to_wait_for_whole_batches() -> None:
    text = SHORT.replace(
        "  base_case", "  constraints: {dispatch: wave, max_iterations: 9}\n  base_case"
    )
    plan = decode_draft(text.encode()).plan
    limits = replace(PLAN.limits, dispatch=Dispatch.WAVE, max_iterations=9)
    assert plan == replace(PLAN, limits=limits)


def test_constraints_may_be_there_and_empty() -> None:
    text = SHORT.replace("  base_case", "  constraints:\n  base_case")
    assert decode_draft(text.encode()).plan == PLAN


def test_of_a_choice_that_nobody_made_the_first_that_did_not_fail_is_taken() -> None:
    plan = decode_draft(SHORT.replace("[A2, A3]", "[A2, A3]\n    failed: [A2]").encode()).plan
    assert plan is not None
    way = GroupId("way")
    failed = replace(PLAN.groups[way], selected=AtomId("A3"), failed=(AtomId("A2"),))
    assert plan.groups == {way: failed}


# --- an earlier run ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(path.name for path in DATA.glob("*.md")))
def test_a_state_file_is_a_draft_whose_counters_begin_anew(name: str) -> None:
    data = (DATA / name).read_bytes()
    old = graph_plan.decode(data)
    assert old.plan is not None
    draft = decode_draft(data)
    if draft.plan is None:  # the one that nothing but a sentence decides
        assert [p.what for p in draft.problems] == [
            "nothing in the base case can be checked by a machine"
        ]
        return
    plan = draft.plan
    assert draft.body == old.body
    assert (plan.control, plan.pace, plan.verification, plan.sessions) == (
        Control(),
        Pace(),
        Verification(),
        {},
    )
    assert plan.spent == Spent(created=len(plan.atoms))
    assert [(a.id, a.attempts, a.probes) for a in plan.atoms.values()] == [
        (name, 0, 0) for name in old.plan.atoms
    ]
    kept = [a.id for a in old.plan.atoms.values() if a.status is Status.RESOLVED]
    assert [a.id for a in plan.atoms.values() if a.status is not Status.PENDING] == kept
    assert (plan.objective, plan.bindings, plan.trail, plan.decompositions) == (
        old.plan.objective,
        old.plan.bindings,
        old.plan.trail,
        old.plan.decompositions,
    )
    assert plan.limits.dispatch is (
        old.plan.limits.dispatch if "dispatch" in old.plan.limits.stated else Dispatch.REFILL
    )


def test_it_is_known_that_there_was_an_earlier_run() -> None:
    assert decode_draft(SHORT.encode()).counted is False
    draft = decode_draft(f"{SHORT}control: {{status: stopped, iteration: 7}}\n".encode())
    assert (draft.plan, draft.counted) == (PLAN, True)
    stated = SHORT.replace("  base_case", "  constraints: {max_atoms: 9}\n  base_case")
    plan = decode_draft(stated.encode()).plan
    assert plan is not None
    assert plan.limits == replace(PLAN.limits, max_atoms=9, stated=("max_atoms", "dispatch"))


# --- what may not be left out --------------------------------------------------------------------


def test_everything_that_is_missing_is_said_at_once() -> None:
    assert judged("objective: {goal: ' '}\natoms: []\n") == [
        (1, ("objective", "goal"), "goal is blank", True),
        (1, ("objective", "background_intent"), "background_intent is missing", True),
        (1, ("objective", "deliverables"), "deliverables is missing", True),
        (1, ("objective", "definition_of_done"), "definition_of_done is missing", True),
        (1, ("objective", "base_case"), "there is no base case", True),
        (2, ("atoms",), "there are no atoms", True),
    ]
    assert judged("") == [
        (1, ("objective",), "there is no objective", True),
        (1, ("atoms",), "there are no atoms", True),
    ]


def test_every_gap_has_advice() -> None:
    hints = [problem.hint for problem in decode_draft(b"objective: {goal: ''}\natoms:").problems]
    assert hints == [
        "say in a sentence what should be true in the end",
        "say why it is wanted",
        "say what should be there afterwards",
        "say how a person tells that it is done",
        "name a check that a machine can run, such as {type: command, value: make test}",
        "name at least one piece of work, with an id and a description",
    ]


def test_a_machine_must_be_able_to_say_no() -> None:
    assert decode_draft(SHORT.replace("type: command", "type: assertion").encode()).problems == (
        Problem(
            where=("objective", "base_case"),
            what="nothing in the base case can be checked by a machine",
            hint="add a check of type command, file, not_command, not_file",
            line=6,
            unaligned=True,
        ),
    )


def test_a_machine_in_a_group_is_enough() -> None:
    text = SHORT.replace(
        "        check: {type: command, value: make test}\n",
        "        any_of:\n"
        "          - {item: a, check: {type: assertion, value: It looks good}}\n"
        "          - {item: b, check: {type: not_file, value: TODO}}\n",
    )
    assert judged(text) == []


def test_missing_and_wrong_at_once() -> None:
    text = (
        SHORT.replace("type: command", "type: assertion")
        .replace("description: User", "descripton: User")
        .replace("deliverables: A login page", "deliverables:")
        .replace("or_groups", "or_group")
    )
    assert judged(text) == [
        (4, ("objective", "deliverables"), "deliverables is blank", True),
        (
            6,
            ("objective", "base_case"),
            "nothing in the base case can be checked by a machine",
            True,
        ),
        (11, ("atoms", 0, "description"), "description is missing", False),
        (12, ("atoms", 0, "descripton"), "unknown key 'descripton'", False),
        (16, ("or_group",), "unknown section 'or_group'", False),
    ]


def test_the_graph_is_judged_too() -> None:
    assert judged(SHORT.replace("[A1]", "[A9]")) == [
        (15, ("atoms", 1, "depends_on"), "A9 does not exist", False)
    ]
    assert judged(f"---\n{SHORT.replace('[A1]', '[A9]')}---\n") == [
        (16, ("atoms", 1, "depends_on"), "A9 does not exist", False)
    ]


@pytest.mark.parametrize(
    ("data", "line", "what"),
    [
        (b"- a\n- b\n", 1, "the front matter must be a mapping of sections"),
        (b"objective: [\n", 2, "this is not YAML: did not find expected node content"),
        (b"objective: x\nobjective: y\natoms: 3\n", 2, "the key 'objective' is there twice"),
        (b"objective: \xff\n", 1, "byte 12 is not UTF-8"),
        (b"\xef\xbb\xbfa: b\n", 1, "the file begins with a byte order mark"),
        (b"a: b\nb: \xe2\x80\xa8\n", 2, "the character U+2028 cannot be seen"),
        (b"#" * (MAX_BYTES + 1), 1, f"the file has {MAX_BYTES + 1} bytes; at most {MAX_BYTES}"),
        (b"a: b\n---\nsome words\n", 2, "a second YAML document begins here"),
    ],
)
def test_what_is_no_draft_at_all(data: bytes, line: int, what: str) -> None:
    draft = decode_draft(data)
    first = draft.judged(())[0]
    assert (draft.plan, first.line, first.what[: len(what)]) == (None, line, what)


@pytest.mark.parametrize(
    "section",
    [
        "objective: 3",
        "objective: {constraints: 3}",
        "atoms: {A1: x}",
        "atoms: [A1, 3, null]",
        "or_groups: [x]",
        "or_groups: {x: 3}",
        "or_groups: {x: {}}",
        "or_groups: {x: {choices: []}}",
        "or_groups: {x: {choices: [A1], failed: 3}}",
        "or_groups: {x: {choices: 3, failed: []}}",
    ],
)
def test_what_has_another_shape_is_left_to_the_strict_reader(section: str) -> None:
    draft = decode_draft(section.encode())
    assert draft.plan is None
    assert [p for p in draft.problems if not p.unaligned or p.where == ("objective",)] != []


def test_places_in_the_plan_have_lines_in_the_draft() -> None:
    problem = Problem(where=("objective", "base_case", "checklist", 0, "check", "value"), what="?")
    assert decode_draft(SHORT.encode()).located([problem]) == (replace(problem, line=9),)
    assert decode_draft(b"\xff").located([problem]) == (problem,)
