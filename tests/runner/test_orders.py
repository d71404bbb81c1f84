"""What an agent is told: all that the frontier holds, and nothing that only history holds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import reduce
from statistics import median
from typing import Any

from tests.runner.story import FIRST_PLAN

from dwindle.kernel.actions import Probe, Work
from dwindle.kernel.decide import decide
from dwindle.kernel.events import (
    AtomResolved,
    AttemptFailed,
    Decomposed,
    Event,
    NewAtom,
    OverrideBinding,
    Redirected,
    RunStarted,
    SessionStarted,
)
from dwindle.kernel.model import (
    ROOT,
    Aligned,
    Atom,
    AtomId,
    BaseCase,
    Binding,
    Check,
    ChecklistItem,
    CheckType,
    Control,
    CorrectionType,
    Criterion,
    GroupId,
    Limits,
    OrGroup,
    Plan,
    Role,
    Session,
    Spent,
    Status,
)
from dwindle.kernel.transitions import apply
from dwindle.ports.work import Briefing, Failure, Purpose, Step, WorkOrder
from dwindle.runner.orders.work import (
    bounded_briefing,
    briefing_json,
    check_json,
    order_for,
    order_json,
    order_to_judge,
)

CHECK = Check(type=CheckType.COMMAND, value="make test")


def plan_of(*atoms: Atom, groups: tuple[OrGroup, ...] = (), **limits: Any) -> Plan:
    roomy = Limits(
        max_iterations=10**6, max_parallel_agents=3, max_stall_count=10**6, max_atoms=10**4
    )
    return replace(
        FIRST_PLAN,
        limits=replace(roomy, **limits),
        spent=Spent(created=len(atoms)),
        control=Control(),
        atoms={atom.id: atom for atom in atoms},
        groups={group.id: group for group in groups},
    )


def atom(name: str, *depends_on: str, **given: Any) -> Atom:
    return Atom(id=AtomId(name), description=f"do {name}", depends_on=depends_on, **given)


def told(plan: Plan, *events: Event) -> Plan:
    return reduce(apply, events, plan)


def started(plan: Plan, name: str, role: Role = Role.WORKER) -> tuple[Plan, Session]:
    plan = apply(plan, SessionStarted(atom=AtomId(name), role=role))
    return plan, plan.sessions[AtomId(name)]


def resolved(plan: Plan, name: str, summary: str = "", artifacts: tuple[str, ...] = ()) -> Plan:
    plan, session = started(plan, name)
    said = summary or f"{name} is done"
    return apply(
        plan,
        AtomResolved(atom=AtomId(name), nonce=session.nonce, summary=said, artifacts=artifacts),
    )


def order_on(plan: Plan, name: str) -> WorkOrder:
    plan, session = started(plan, name)
    return order_for(plan, Work(atom=AtomId(name), because=""), session)


def running(*atoms: Atom, **given: Any) -> Plan:
    return told(plan_of(*atoms, **given), RunStarted(run_id="01RUN", at="2030-01-01T00:00:00Z"))


# --- what is in it -------------------------------------------------------------------------------


WHY: Any = {
    "intent": "an intent",
    "deliverables": "something",
    "definition_of_done": "done",
}


def test_a_first_order_is_short() -> None:
    plan = running(atom("A1", check=CHECK, touches=("src",)), session_timeout_seconds=60)
    assert order_on(plan, "A1") == WorkOrder(
        role=Role.WORKER,
        purpose=Purpose.WORK,
        run="01RUN",
        atom=AtomId("A1"),
        description="do A1",
        goal="a goal",
        attempt=1,
        nonce=2,
        checks=(CHECK,),
        timeout_seconds=60.0,
        session_of_atom=1,
        touches=("src",),
        base_case=("true",),
        **WHY,
    )


def test_an_atom_knows_what_it_and_everything_above_it_depends_on() -> None:
    plan = running(atom("A1"), atom("A2"), atom("A3", "A1"))
    plan = resolved(resolved(plan, "A1", artifacts=("a.py",)), "A2")
    plan, session = started(plan, "A3")
    children = (NewAtom(description="first half", depends_on=("A2",)), NewAtom(description="rest"))
    split = Decomposed(atom=AtomId("A3"), nonce=session.nonce, children=children, reason="large")
    order = order_on(apply(plan, split), "A4")
    assert order.path == (Step(atom=AtomId("A3"), description="do A3"),)
    assert order.bindings == (
        (AtomId("A1"), Binding(summary="A1 is done", artifacts=("a.py",))),
        (AtomId("A2"), Binding(summary="A2 is done")),
    )


def test_a_group_stands_for_its_selected_choice() -> None:
    group = OrGroup(id=GroupId("g"), choices=(AtomId("A1"), AtomId("A2")), selected=AtomId("A2"))
    choices = [atom(name, or_group=GroupId("g")) for name in ("A1", "A2")]
    plan = resolved(running(*choices, atom("A3", "A1"), groups=(group,)), "A2")
    assert order_on(plan, "A3").bindings == ((AtomId("A2"), Binding(summary="A2 is done")),)


def test_what_was_resolved_by_hand_and_left_no_binding_is_not_told() -> None:
    plan = running(atom("A1", status=Status.RESOLVED), atom("A2", "A1"))
    assert order_on(plan, "A2").bindings == ()


def decomposed_and_done(parts: int, summary: str) -> Plan:
    plan = running(atom("A1"), atom("A2", "A1"))
    plan, session = started(plan, "A1")
    children = tuple(NewAtom(description="part") for _ in range(parts))
    plan = apply(
        plan, Decomposed(atom=AtomId("A1"), nonce=session.nonce, children=children, reason="r")
    )
    for number in range(parts):
        plan = resolved(plan, f"A{number + 3}", summary, (f"{number}.py",))
    return plan


def test_a_composite_is_told_by_its_parts() -> None:
    order = order_on(decomposed_and_done(2, "a part"), "A2")
    binding = Binding(summary="A3: a part\nA4: a part", artifacts=("0.py", "1.py"))
    assert order.bindings == ((AtomId("A1"), binding),)


def test_a_part_that_is_itself_composite_is_told_by_its_own_parts() -> None:
    plan = running(atom("A1"), atom("A2", "A1"))
    for parent, child in (("A1", "A3"), ("A3", "A4")):
        plan, session = started(plan, parent)
        children = (NewAtom(description=child),)
        plan = apply(
            plan,
            Decomposed(atom=AtomId(parent), nonce=session.nonce, children=children, reason="r"),
        )
    order = order_on(resolved(plan, "A4", "the heart of it"), "A2")
    assert order.bindings == ((AtomId("A1"), Binding(summary="A4: the heart of it")),)


def test_a_composite_that_a_person_described_is_told_in_their_words() -> None:
    edits = (OverrideBinding(atom=AtomId("A1"), summary="as I said"),)
    kind = CorrectionType.BINDINGS_OVERRIDE
    plan = apply(
        decomposed_and_done(2, "a part"), Redirected(type=kind, edits=edits, description="d")
    )
    assert order_on(plan, "A2").bindings == ((AtomId("A1"), Binding(summary="as I said")),)


def test_a_retry_is_told_what_went_wrong_and_when_nothing_moves() -> None:
    plan = running(atom("A1"), max_attempts=9)
    for number in range(1, 6):
        plan, session = started(plan, "A1")
        reason = f"failure {number}"
        plan = apply(plan, AttemptFailed(atom=AtomId("A1"), nonce=session.nonce, reason=reason))
    order = order_on(plan, "A1")
    assert order.failures == tuple(
        Failure(attempt=number, reason=f"failure {number}") for number in (3, 4, 5)
    )
    assert (order.stalled, order.attempt, order.session_of_atom) == (True, 6, 6)


def test_only_its_own_failures_are_told() -> None:
    plan, session = started(running(atom("A1"), atom("A2")), "A1")
    plan = apply(plan, AttemptFailed(atom=AtomId("A1"), nonce=session.nonce, reason="not mine"))
    assert order_on(plan, "A2").failures == ()


def test_a_caller_with_better_evidence_may_give_it() -> None:
    plan, session = started(running(atom("A1")), "A1")
    better = [Failure(attempt=n, reason="x" * 5000 + " the end") for n in range(9)]
    work = Work(atom=AtomId("A1"), because="")
    order = order_for(plan, work, session, failures=better, findings="f" * 9000)
    assert [f.attempt for f in order.failures] == [6, 7, 8]
    assert [len(f.reason) for f in order.failures] == [2000] * 3
    assert order.failures[0].reason.endswith(" the end")
    assert order.findings == "f" * 3994 + " [...]"


def test_a_probe_looks_or_plans() -> None:
    plan, session = started(running(atom("A1")), "A1", Role.PROBE)
    orders = [
        order_for(plan, Probe(atom=AtomId("A1"), plan=planning, because=""), session)
        for planning in (False, True)
    ]
    assert [(o.role, o.purpose, o.session_of_atom) for o in orders] == [
        (Role.PROBE, Purpose.LOOK, 1),
        (Role.PROBE, Purpose.PLAN, 1),
    ]


def test_a_verifier_judges_one_claim() -> None:
    plan = resolved(running(atom("A1")), "A1")
    plan = apply(plan, SessionStarted(atom=ROOT, role=Role.VERIFIER))
    claim = Check(type=CheckType.ASSERTION, value="it reads well")
    assert order_to_judge(plan, plan.sessions[ROOT], claim, item="The text") == WorkOrder(
        role=Role.VERIFIER,
        purpose=Purpose.JUDGE,
        run="01RUN",
        atom=ROOT,
        description="The text",
        goal="a goal",
        attempt=2,
        nonce=4,
        checks=(claim,),
        session_of_atom=1,
        **WHY,
    )


def test_protected_paths_are_told_without_the_exceptions() -> None:
    plan = running(atom("A1"))
    plan = replace(
        plan,
        objective=replace(plan.objective, protected_paths=("tests", "!tests/new.py", "ci.sh")),
        control=replace(plan.control, aligned=Aligned(commit="c", pins=("ci.sh", "Makefile"))),
    )
    assert order_on(plan, "A1").protected == ("tests", "ci.sh", "Makefile")


def with_items(plan: Plan, *values: str) -> Plan:
    checklist = tuple(
        ChecklistItem(item=f"item {n}", check=Check(type=CheckType.COMMAND, value=value))
        for n, value in enumerate(values, start=1)
    )
    objective = replace(plan.objective, base_case=BaseCase(checklist=checklist))
    return replace(plan, objective=objective)


def test_an_atom_is_told_of_the_items_that_name_its_files_or_else_of_all() -> None:
    plan = running(atom("A1", touches=("src/dates.py",)), atom("A2"))
    plan = with_items(plan, "pytest tests/test_x.py", "grep -q iso 'src/dates.py'", "make e.g.")
    assert order_on(plan, "A1").base_case == ("item 2: grep -q iso 'src/dates.py'",)
    assert len(order_on(plan, "A2").base_case) == 3
    many = with_items(plan, *(f"check {'x' * 999} {n}" for n in range(99)))
    told_of = order_on(many, "A2").base_case
    assert (len(told_of), max(map(len, told_of))) == (10, 300)


def test_a_briefing_is_bounded() -> None:
    long = "x" * 10**6
    rules = (("AGENTS.md", long), ("CLAUDE.md", long))
    found = bounded_briefing(Briefing(request=long, rules=rules, more_rules=("a/AGENTS.md",) * 99))
    assert len(json.dumps(briefing_json(found))) < 18_000
    assert briefing_json(Briefing()) == {}
    assert bounded_briefing(Briefing(request=" do it\n")) == Briefing(request="do it")


# --- how large it is -----------------------------------------------------------------------------


def test_everything_is_bounded() -> None:
    plan = running(*(atom(f"A{n}") for n in range(1, 4)), atom("A4", "A1", "A2", "A3"))
    plan = resolved(plan, "A1", "s" * 50_000, tuple(f"{n}.py" for n in range(500)))
    plan = resolved(resolved(plan, "A2", "s" * 1000), "A3", "s" * 1001)
    found = dict(order_on(plan, "A4").bindings)
    assert found[AtomId("A1")] == Binding(
        summary="s" * 994 + " [...] (450 more artifacts are not listed)",
        artifacts=tuple(f"{n}.py" for n in range(50)),
    )
    assert found[AtomId("A2")].summary == "s" * 1000
    assert found[AtomId("A3")].summary == "s" * 994 + " [...]"


def test_a_composite_of_many_parts_is_bounded() -> None:
    order = order_on(decomposed_and_done(100, "s" * 1000), "A2")
    assert [len(binding.summary) for _, binding in order.bindings] == [
        2000 + len(" (50 more artifacts are not listed)")
    ]


def test_hundreds_of_dependencies_share_what_there_is() -> None:
    names = [f"A{n}" for n in range(1, 301)]
    plan = running(*(atom(name) for name in names), atom("A301", *names))
    for name in names:
        plan = resolved(plan, name, "s" * 1000)
    order = order_on(plan, "A301")
    assert {len(binding.summary) for _, binding in order.bindings} == {200}
    assert len(order.bindings) == 300


def chain_orders(length: int) -> Iterator[bytes]:
    """The orders of a run along a chain, on which every fifth atom fails at first."""
    atoms = [atom("A1"), *(atom(f"A{n}", f"A{n - 1}") for n in range(2, length + 1))]
    described = [replace(a, description=f"{a.id:<5} " + "does one more thing " * 10) for a in atoms]
    plan = running(*described, max_parallel_agents=1)
    for number in range(1, length + 1):
        decision = decide(plan)
        action = decision.actions[0]
        assert isinstance(action, Work)
        plan, session = started(plan, action.atom)
        order = order_for(plan, action, session)
        if number % 5 == 0:
            end = AttemptFailed(atom=action.atom, nonce=session.nonce, reason="r" * 300)
            plan, session = started(apply(plan, end), action.atom)
        plan = apply(
            plan,
            AtomResolved(
                atom=action.atom,
                nonce=session.nonce,
                summary=f"{action.atom:<5} " + "has been done " * 10,
                artifacts=("src/part.py",),
            ),
        )
        yield order_json(order)


def test_the_thousandth_order_is_as_large_as_the_tenth() -> None:
    sizes = [len(text) for text in chain_orders(1000)]
    early, late = median(sizes[4:15]), median(sizes[989:1000])
    assert len(sizes) == 1000
    assert abs(late - early) <= 0.1 * early, (early, late)


# --- as agents read it ---------------------------------------------------------------------------


def test_the_public_fields_come_first_and_are_as_promised() -> None:
    plan = resolved(running(atom("A1"), atom("A2", "A1", check=CHECK)), "A1", "Größe", ("a.py",))
    plan, session = started(plan, "A2")
    plan = apply(plan, AttemptFailed(atom=AtomId("A2"), nonce=session.nonce, reason="no"))
    text = order_json(order_on(plan, "A2"))
    found = json.loads(text)
    public = ("role", "run", "atom", "description", "attempt", "nonce")
    assert list(found)[:9] == [*public, "bindings", "checks", "failures"]
    assert found == {
        "role": "worker",
        "run": "01RUN",
        "atom": "A2",
        "description": "do A2",
        "attempt": 3,
        "nonce": 6,
        "bindings": {"A1": {"summary": "Größe", "artifacts": ["a.py"]}},
        "checks": [{"type": "command", "value": "make test"}],
        "failures": [{"attempt": 1, "reason": "no"}],
        "purpose": "work",
        "goal": "a goal",
        "path": [],
        "findings": "",
        "stalled": True,
        "failed": 1,
        "session_of_atom": 2,
        "timeout_seconds": 1800.0,
        "touches": [],
        "protected": [],
        "base_case": ["true"],
        **WHY,
    }
    assert "Größe" in text.decode()


def test_there_is_no_time_in_it() -> None:
    """Two runs that differ in nothing but when things happened give the same bytes."""

    def told_at(year: str) -> bytes:
        at = f"{year}-01-01T00:00:00Z"
        plan = told(plan_of(atom("A1")), RunStarted(run_id="01RUN", at=at, elapsed=float(year)))
        plan = apply(plan, SessionStarted(atom=AtomId("A1"), role=Role.WORKER, at=at))
        plan = apply(plan, AttemptFailed(atom=AtomId("A1"), nonce=2, reason="no", at=at))
        return order_json(order_on(plan, "A1"))

    assert told_at("2030") == told_at("2031")


def test_a_check_is_written_as_the_plan_file_has_it() -> None:
    line = Criterion(criterion="clear", weight=2, description="d", levels=((1, "no"), (5, "yes")))
    check = Check(type=CheckType.QUALITY, rubric=(line,), pass_threshold=3.5, scope="docs")
    assert json.loads(json.dumps(check_json(check))) == {
        "type": "quality",
        "rubric": [
            {
                "criterion": "clear",
                "weight": 2,
                "description": "d",
                "levels": {"1": "no", "5": "yes"},
            }
        ],
        "pass_threshold": 3.5,
        "scope": "docs",
    }
