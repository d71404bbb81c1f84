"""The part of a plan for an editor: the file's own form, without what belongs to the machine."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from tests.model.strategies import plans

from dwindle.adapters.formats.draft.plan import decode_draft
from dwindle.adapters.formats.graph.edited_part import edited_part
from dwindle.kernel.model import (
    Atom,
    AtomId,
    BaseCase,
    Binding,
    Check,
    CheckType,
    Control,
    Limits,
    Objective,
    Plan,
    Spent,
    Status,
)

PLAN = Plan(
    objective=Objective(
        goal="Read dates",
        base_case=BaseCase(check=Check(type=CheckType.COMMAND, value="make test")),
        background_intent="They are not",
        deliverables="A reader",
        definition_of_done="Tests pass",
    ),
    limits=Limits(max_atoms=52),
    spent=Spent(created=2, sessions=7),
    control=Control(revision=9, run_id="01RUN"),
    atoms={
        AtomId("A1"): Atom(
            id=AtomId("A1"), description="read", status=Status.RESOLVED, attempts=2, probes=1
        ),
        AtomId("A2"): Atom(id=AtomId("A2"), description="write", depends_on=("A1",)),
    },
    bindings={AtomId("A1"): Binding(summary="it reads")},
)
TEXT = """\
objective:
  goal: "Read dates"
  base_case:
    type: command
    value: "make test"
  background_intent: "They are not"
  deliverables: "A reader"
  definition_of_done: "Tests pass"
  constraints:
    max_iterations: 20
    max_parallel_agents: 3
    max_stall_count: 3
    max_atoms: 52
    dispatch: wave

atoms:
  - id: A1
    description: "read"
    status: resolved
    depends_on: []
  - id: A2
    description: "write"
    status: pending
    depends_on: [A1]

decompositions: []

or_groups: {}

bindings:
  A1:
    summary: "it reads"
    artifacts: []
"""


def test_nothing_of_the_machine_is_in_it() -> None:
    assert edited_part(PLAN) == TEXT


@given(plan=plans())
def test_property_it_is_read_back_as_it_was(plan: Plan) -> None:
    found = decode_draft(edited_part(plan).encode()).readable
    assert found is not None
    assert found.objective == plan.objective
    assert replace(found.limits, stated=()) == replace(plan.limits, stated=())
    assert list(found.atoms.values()) == [
        replace(
            atom.unspent(),
            status=Status.RESOLVED if atom.status is Status.RESOLVED else Status.PENDING,
        )
        for atom in plan.atoms.values()
    ]
    assert (found.decompositions, found.groups, found.bindings) == (
        plan.decompositions,
        plan.groups,
        plan.bindings,
    )
