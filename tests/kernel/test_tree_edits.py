"""What an agent makes of a tree: taken over, charged, refused, repaired."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kernel.story import refusal, started

from dwindle.kernel.actions import Probe, Stop, Work
from dwindle.kernel.decide import decide
from dwindle.kernel.errors import IllegalEvent
from dwindle.kernel.events import (
    AtomResolved,
    AttemptFailed,
    Event,
    Interruption,
    Replanned,
    RunStarted,
    SessionInterrupted,
    SessionStarted,
)
from dwindle.kernel.graph import build, view
from dwindle.kernel.measure import gauge, measure, session_bound
from dwindle.kernel.model import (
    Atom,
    AtomId,
    BaseCase,
    Decomposition,
    Limits,
    Objective,
    Plan,
    PlanKind,
    Role,
    Spent,
    Status,
    StopCode,
    TreeAtom,
    TreeEdit,
)
from dwindle.kernel.model import Control as RunControl
from dwindle.kernel.shape import shape_of
from dwindle.kernel.transitions import apply

ROOT, A, B, C = AtomId("root"), AtomId("a"), AtomId("b"), AtomId("c")
LIMITS = Limits(
    max_iterations=50,
    max_parallel_agents=1,
    max_atoms=8,
    max_depth=63,
    max_attempts=2,
    max_probes=3,
    max_verifications=0,
    max_redirects=0,
    max_backjumps=0,
    max_winds=0,
    max_forgiven=5,
)

Shape = dict[str, "Shape"]


def nodes(shape: Shape, parent: str | None = None, most: int = 2) -> list[TreeAtom]:
    """`{"root": {"a": {}, "b": {}}}` as the nodes of a tree."""
    found: list[TreeAtom] = []
    for name, below in shape.items():
        found.append(
            TreeAtom(
                id=AtomId(name),
                parent=None if parent is None else AtomId(parent),
                title=name.upper(),
                description=f"do {name}",
                max_attempts=most,
            )
        )
        found += nodes(below, name, most)
    return found


def edit(shape: Shape, most: int = 2) -> TreeEdit:
    return TreeEdit(nodes=tuple(nodes({"root": shape}, most=most)))


def tree(shape: Shape, *, limits: Limits = LIMITS, execute_root: bool = False) -> Plan:
    """A run on a tree that has just begun."""
    made = edit(shape).nodes
    kids: dict[AtomId, list[AtomId]] = {}
    for node in made:
        if node.parent is not None:
            kids.setdefault(node.parent, []).append(node.id)
    plan = Plan(
        kind=PlanKind.TREE,
        objective=Objective(
            goal="g",
            base_case=BaseCase(),
            background_intent="",
            deliverables="",
            definition_of_done="",
        ),
        limits=limits,
        spent=Spent(created=len(made)),
        control=RunControl(),
        atoms={
            n.id: Atom(
                id=n.id,
                description=n.description,
                max_attempts=0 if n.id == ROOT and not execute_root else n.max_attempts,
            )
            for n in made
        },
        decompositions=tuple(
            Decomposition(parent=name, children=tuple(below), reason=name.upper())
            for name, below in kids.items()
        ),
    )
    return apply(plan, RunStarted(run_id="R"))


def planned(plan: Plan, atom: str, shape: Shape | None, role: Role = Role.WORKER) -> Plan:
    """A session that only planned."""
    begun = apply(plan, started(atom, role))
    change = None if shape is None else edit(shape)
    return apply(begun, Replanned(atom=AtomId(atom), nonce=begun.control.revision, edit=change))


def failed(plan: Plan, atom: str, role: Role = Role.WORKER, **more: object) -> Plan:
    begun = apply(plan, started(atom, role))
    end = AttemptFailed(atom=AtomId(atom), nonce=begun.control.revision, reason="red")
    return apply(begun, replace(end, **more))  # type: ignore[arg-type]


def next_step(plan: Plan) -> tuple[type, str]:
    action = decide(plan).actions[0]
    assert isinstance(action, (Work, Probe))
    return type(action), action.atom


def test_a_root_is_planned_and_not_worked_on() -> None:
    plan = tree({})
    why = "the root has to be planned before anything is done"
    assert decide(plan).actions == (Probe(atom=ROOT, plan=True, because=why),)
    assert next_step(tree({}, execute_root=True)) == (Work, "root")


def test_new_nodes_are_paid_from_fuel_and_come_in_the_order_of_the_tree() -> None:
    before = tree({})
    grown = planned(before, "root", {"b": {}, "a": {"c": {}}}, Role.PROBE)
    assert list(grown.atoms) == ["root", "b", "a", "c"]
    assert grown.decompositions == (
        Decomposition(parent=ROOT, children=(B, A), reason="ROOT"),
        Decomposition(parent=A, children=(C,), reason="A"),
    )
    assert (measure(before).fuel, measure(grown).fuel) == (7, 4)
    assert grown.atoms[C] == Atom(id=C, description="do c", max_attempts=2)
    assert grown.atoms[ROOT].probes == 1
    assert next_step(grown) == (Work, "b")


def test_planning_gives_the_attempt_back_and_uses_a_planning_session() -> None:
    split = planned(tree({"a": {}}), "a", {"a": {"b": {}}})
    assert (split.atoms[A].attempts, split.atoms[A].probes) == (0, 1)
    idle = planned(tree({"a": {}}), "a", None)
    assert (idle.atoms[A].attempts, idle.atoms[A].probes) == (0, 1)


def test_an_agent_that_only_plans_runs_out_of_attempts_in_the_end() -> None:
    plan = tree({"a": {}})
    for _ in range(3):
        plan = planned(plan, "a", None)
    assert next_step(plan) == (Work, "a")
    plan = planned(plan, "a", None)
    assert (plan.atoms[A].attempts, plan.atoms[A].probes) == (1, 3)
    plan = planned(plan, "a", None)
    stop = decide(plan).stop
    assert stop is not None
    assert stop.code is StopCode.ATOM_EXHAUSTED


def test_an_exhausted_leaf_is_replaced() -> None:
    plan = failed(failed(tree({"a": {}, "b": {}}), "a"), "a")
    assert next_step(plan) == (Probe, "a")
    replaced = planned(plan, "a", {"c": {}, "b": {}}, Role.PROBE)
    assert next_step(replaced) == (Work, "c")
    assert measure(replaced).fuel == measure(plan).fuel - 1


def test_what_an_agent_says_about_a_known_node_changes_its_goal_and_no_counter() -> None:
    plan = failed(tree({"a": {}}), "a")
    begun = apply(plan, started("a"))
    said = TreeEdit(
        nodes=(
            replace(edit({}).nodes[0], max_attempts=9),
            TreeAtom(id=A, parent=ROOT, title="A", description="easier", max_attempts=9),
        )
    )
    told = apply(begun, AttemptFailed(atom=A, nonce=3 + 1, reason="red", edit=said))
    assert told.atoms[A] == Atom(id=A, description="easier", max_attempts=2, attempts=2)
    assert told.atoms[ROOT].max_attempts == 0


def test_a_leaf_passes_and_the_tree_is_edited_in_one_iteration() -> None:
    begun = apply(tree({"a": {}}), started("a"))
    resolved = AtomResolved(atom=A, nonce=2, summary="green", edit=edit({"a": {}, "b": {}}))
    plan = apply(begun, resolved)
    assert {n: a.status for n, a in plan.atoms.items()} == {
        ROOT: Status.PENDING,
        A: Status.RESOLVED,
        B: Status.PENDING,
    }
    again = apply(plan, started("b"))
    done = apply(again, AtomResolved(atom=B, nonce=again.control.revision, summary="green"))
    assert decide(done).stop == Stop(
        code=StopCode.COMPLETED, reason="every leaf of the tree passed"
    )


def test_a_leaf_that_is_none_any_more_cannot_pass() -> None:
    begun = apply(tree({"a": {}}), started("a"))
    split = AtomResolved(atom=A, nonce=2, summary="s", edit=edit({"a": {"b": {}}}))
    assert refusal(begun, split) == "AtomResolved: a is no leaf of the tree any more"
    gone = AtomResolved(atom=A, nonce=2, summary="s", edit=edit({"b": {}}))
    assert refusal(begun, gone) == "AtomResolved: a is no leaf of the tree any more"


def test_removing_the_last_open_sibling_lets_the_parent_pass() -> None:
    begun = apply(tree({"a": {"b": {}, "c": {}}, "d": {}}), started("b"))
    passed = apply(begun, AtomResolved(atom=B, nonce=2, summary="green"))
    left = planned(passed, "c", {"a": {"b": {}}, "d": {}})
    assert left.atoms[A].status is Status.RESOLVED
    assert next_step(left) == (Work, "d")


def problems_of(plan: Plan, event: Event) -> list[str]:
    with pytest.raises(IllegalEvent) as refused:
        apply(plan, event)
    return [p.what for p in refused.value.problems]


def test_everything_wrong_with_an_edit_is_said_at_once() -> None:
    begun = apply(tree({"a": {}, "b": {}}), started("a"))
    passed = apply(begun, AtomResolved(atom=A, nonce=2, summary="green"))
    again = apply(passed, started("b"))
    nonce = again.control.revision
    wide: Shape = {f"n{i}": {} for i in range(9)}
    assert problems_of(again, Replanned(atom=B, nonce=nonce, edit=edit(wide))) == [
        "9 new nodes, and 5 more may be made (max_nodes)",
        "this is no tree that follows from the last one",
    ]
    assert problems_of(again, Replanned(atom=B, nonce=nonce, edit=edit({"a": {}}))) == [
        "no open leaf is left, and nothing was done that a guard could pass"
    ]
    twice = TreeEdit(nodes=(*edit({"a": {}, "c": {}}).nodes, *nodes({"c": {}}, "root")))
    assert problems_of(again, Replanned(atom=B, nonce=nonce, edit=twice)) == [
        "this is no tree that follows from the last one"
    ]


def test_only_a_tree_is_edited() -> None:
    graph = replace(
        tree({"a": {}}), kind=PlanKind.GRAPH, limits=replace(LIMITS, max_verifications=1)
    )
    begun = apply(graph, started("a"))
    words = "only a tree is planned by editing it"
    assert refusal(begun, Replanned(atom=A, nonce=2)) == f"Replanned: {words}"
    told = AttemptFailed(atom=A, nonce=2, reason="red", edit=edit({"a": {}}))
    assert refusal(begun, told) == f"AttemptFailed: {words}"


# --- repairs -------------------------------------------------------------------------------------


def test_a_refused_edit_is_repaired_before_anything_else() -> None:
    plan = failed(tree({"a": {}, "b": {}}), "a", refused=True)
    assert plan.atoms[A].attempts == 1
    why = "the last edit of the tree was refused; it is repaired first"
    assert decide(plan).actions == (Probe(atom=ROOT, plan=True, because=why),)
    fixed = planned(plan, "root", {"a": {}, "b": {}, "c": {}}, Role.PROBE)
    assert (fixed.refused_edits, fixed.atoms[ROOT].probes) == (0, 1)
    assert next_step(fixed) == (Work, "a")


def test_there_are_two_repairs_in_a_row_at_most() -> None:
    plan = failed(tree({"a": {}}), "a", refused=True)
    plan = failed(plan, "root", Role.PROBE, refused=True)
    assert next_step(plan) == (Probe, "root")
    plan = failed(plan, "root", Role.PROBE)  # it crashed
    assert (plan.refused_edits, next_step(plan)) == (3, (Work, "a"))
    plan = failed(plan, "a", refused=True)
    assert (plan.refused_edits, next_step(plan)) == (1, (Probe, "root"))


def test_no_repair_without_a_planning_session_of_the_root() -> None:
    plan = tree({"a": {}})
    plan = replace(plan, atoms={**plan.atoms, ROOT: replace(plan.atoms[ROOT], probes=3)})
    plan = failed(plan, "a", refused=True)
    assert next_step(plan) == (Work, "a")
    assert refusal(plan, started("root", Role.PROBE)) == "SessionStarted: root is not a live leaf"


def test_a_repair_that_is_interrupted_is_still_to_be_done() -> None:
    plan = failed(tree({"a": {}}), "a", refused=True)
    begun = apply(plan, started("root", Role.PROBE))
    nonce = begun.control.revision
    ended = SessionInterrupted(atom=ROOT, nonce=nonce, cause=Interruption.RUNNER_DIED)
    assert next_step(apply(begun, ended)) == (Probe, "root")


def test_a_repair_needs_budget_too() -> None:
    plan = failed(tree({"a": {}}, limits=replace(LIMITS, max_iterations=1)), "a", refused=True)
    stop = decide(plan).stop
    assert stop is not None
    assert stop.code is StopCode.ITERATION_LIMIT


def test_a_failure_that_is_no_refusal_asks_for_no_repair() -> None:
    plan = failed(tree({"a": {}}), "a")
    assert (plan.refused_edits, next_step(plan)) == (0, (Work, "a"))


# --- the law -------------------------------------------------------------------------------------


def test_a_node_that_loses_its_children_refills_nothing() -> None:
    """The children are used up, and their parent, a leaf again, has all its sessions."""
    plan = failed(failed(tree({"a": {"b": {}}, "c": {}}), "b"), "b")
    for _ in range(2):
        plan = planned(plan, "b", None, Role.PROBE)
    before = measure(plan)
    after_it = planned(plan, "b", {"a": {}, "c": {}}, Role.PROBE)
    assert measure(after_it) < before
    assert gauge(after_it) < gauge(plan)
    assert next_step(after_it) == (Work, "a")


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    """Any tree over a handful of names: parents drawn at random."""
    names = draw(st.lists(st.sampled_from("abcdefgh"), unique=True, min_size=1, max_size=6))
    top: Shape = {}
    places: list[Shape] = [top]
    for name in names:
        where = places[draw(st.integers(0, len(places) - 1))]
        where[name] = {}
        places.append(where[name])
    return top


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["pass", "fail", "refuse", "plan"]),
            shapes(),
            st.lists(st.sampled_from("abcdefgh")),
        ),
        max_size=25,
    ),
    st.booleans(),
)
def test_whatever_agents_do_to_a_tree_it_dwindles(
    story: list[tuple[str, Shape, list[str]]],
    execute_root: bool,
) -> None:
    plan = tree({}, execute_root=execute_root)
    for what, shape, others in story:
        decision = decide(plan)
        if decision.stop is not None:
            break
        (action,) = decision.actions
        assert isinstance(action, (Work, Probe))
        role = Role.WORKER if isinstance(action, Work) else Role.PROBE
        begun = _dwindled(plan, SessionStarted(atom=action.atom, role=role))
        change = edit(shape, most=10)
        known = (n.id for n in change.nodes if n.id in plan.atoms and n.id in {"root", *others})
        change = replace(change, rewritten=tuple(known))
        ends = _ends(action.atom, begun.control.revision, what, change)
        plan = next(p for e in ends if (p := _tried(begun, e)) is not None)


def _ends(atom: AtomId, nonce: int, what: str, change: TreeEdit) -> tuple[Event, ...]:
    """What is told, and what is told instead when the kernel refuses that."""
    refused = AttemptFailed(atom=atom, nonce=nonce, reason="refused", refused=True)
    first: dict[str, Event] = {
        "pass": AtomResolved(atom=atom, nonce=nonce, summary="green", edit=change),
        "fail": AttemptFailed(atom=atom, nonce=nonce, reason="red", edit=change),
        "plan": Replanned(atom=atom, nonce=nonce, edit=change),
        "refuse": refused,
    }
    return (first[what], Replanned(atom=atom, nonce=nonce, edit=change), refused)


def _tried(plan: Plan, event: Event) -> Plan | None:
    try:
        return _dwindled(plan, event)
    except IllegalEvent:
        return None


def _dwindled(plan: Plan, event: Event) -> Plan:
    new = apply(plan, event)
    assert gauge(new) < gauge(plan)
    assert view(new) == build(new, shape_of(new))
    if isinstance(event, SessionStarted):
        assert session_bound(new) < session_bound(plan)
    else:
        assert session_bound(new) <= session_bound(plan)
    return new
