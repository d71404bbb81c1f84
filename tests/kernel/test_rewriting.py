"""A graph rewritten by hand: what is refused, all at once, and what is done again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.kernel.story import after, redirect, refusal, running, started, with_atoms, with_groups
from tests.kernel.test_planted_rules import plant
from tests.model.model_check import check_plan
from tests.model.rewrites import rewritten, with_atom, with_group
from tests.model.small_plans import drawn, plan_from
from tests.model.world import Suite

from dwindle.kernel import rewriting
from dwindle.kernel.errors import IllegalEvent
from dwindle.kernel.events import RewriteGraph
from dwindle.kernel.model import (
    Atom,
    AtomId,
    Decomposition,
    GroupId,
    OrGroup,
    Plan,
    Problem,
    Status,
)
from dwindle.kernel.transitions import apply

DONE = {"status": Status.RESOLVED, "attempts": 1}
A1, A2, A3, A9 = (AtomId(name) for name in ("A1", "A2", "A3", "A9"))
G1 = GroupId("G1")
NEW = Atom(id=A9, description="new")
SAID = "Redirected: the graph cannot be rewritten like that"


def problems(plan: Plan, edit: RewriteGraph) -> tuple[Problem, ...]:
    with pytest.raises(IllegalEvent) as refused:
        apply(plan, redirect(edit))
    return refused.value.problems


def open_atoms(plan: Plan) -> list[str]:
    return [str(n) for n, a in plan.atoms.items() if a.status is not Status.RESOLVED]


def test_everything_that_speaks_against_it_is_said_at_once() -> None:
    plan = with_atoms(running("A1 A2 A3", max_atoms=0), A1=DONE)
    edit = RewriteGraph(
        atoms=(
            replace(plan.atoms[A2], status=Status.RESOLVED),
            plan.atoms[A3],
            replace(plan.atoms[A3], depends_on=("A8",)),
            NEW,
        )
    )

    assert problems(plan, edit) == (
        Problem(
            where=("atoms", 0, "status"),
            what="A2 cannot be set to resolved: nothing has shown that it holds",
            hint="leave it pending, or remove it if it is not needed",
        ),
        Problem(where=("atoms", 2, "id"), what="A3 is listed twice", hint="rename one of them"),
        Problem(
            where=("atoms",),
            what="A1 is resolved and cannot be removed",
            hint="keep it; or set it to pending now and remove it in another redirect",
        ),
        Problem(
            where=("atoms",),
            what="A9 would be new, and fuel for 0 is left",
            hint="raise max_atoms",
        ),
        Problem(
            where=("atoms", 1, "depends_on"),
            what="A8 does not exist",
            hint="add it, or remove the mention",
        ),
    )


def test_a_new_atom_is_not_resolved_either() -> None:
    plan = running("A1")
    edit = rewritten(plan, atoms=(plan.atoms[A1], replace(NEW, status=Status.RESOLVED)))
    what = "A9 cannot be set to resolved: nothing has shown that it holds"
    assert refusal(plan, redirect(edit)) == f"{SAID}; {what}"


def test_what_is_in_progress_in_the_file_is_pending() -> None:
    """Sessions are over by then, and what they had been charged is given back."""
    busy = after(running("A1 A2"), started("A1"))
    edit = with_atom(busy, replace(busy.atoms[A2], description="else"))
    changed = after(busy, redirect(edit))
    assert [(a.status, a.attempts) for a in changed.atoms.values()] == [("pending", 0)] * 2


def test_no_deeper_than_the_limit() -> None:
    plan = running("A1[A2]", max_depth=1)
    below = Decomposition(parent=A2, children=(A9,), reason="deeper")
    edit = rewritten(
        plan,
        atoms=(*plan.atoms.values(), NEW),
        decompositions=(*plan.decompositions, below),
    )
    assert refusal(plan, redirect(edit)) == f"{SAID}; A9 stands at depth 2 and max_depth is 1"


def test_an_open_atom_is_not_done_by_becoming_a_parent() -> None:
    plan = with_atoms(running("A1 A2"), A2=DONE)
    made = Decomposition(parent=A1, children=(A2,), reason="that was it")
    assert problems(plan, rewritten(plan, decompositions=(made,))) == (
        Problem(
            where=("decompositions", 0, "children"),
            what="A1 is open and would be done by what is resolved already",
            hint="give it a child that is open, or remove it",
        ),
    )


def test_no_atom_is_left() -> None:
    plan = running("A1")
    said = "Redirected: the plan would not be sound; there is no atom"
    assert refusal(plan, redirect(RewriteGraph(atoms=()))) == said


def test_the_same_graph_changes_nothing() -> None:
    plan = with_atoms(running("A3<-G1 G1{A1|A2}"), A1=DONE)
    assert refusal(plan, redirect(rewritten(plan))) == "Redirected: it would change nothing"


def test_counters_are_not_read() -> None:
    plan = with_atoms(running("A1"), A1={"attempts": 2, "probes": 1})
    edit = with_atom(plan, replace(plan.atoms[A1], attempts=0, probes=0))
    assert refusal(plan, redirect(edit)) == "Redirected: it would change nothing"


def test_what_is_rewritten_has_its_attempts_back_but_not_its_probes() -> None:
    plan = with_atoms(running("A1 A2"), A1={"attempts": 3, "probes": 1}, A2={"attempts": 1})
    changed = after(plan, redirect(with_atom(plan, replace(plan.atoms[A1], description="else"))))
    assert [(a.attempts, a.probes) for a in changed.atoms.values()] == [(0, 1), (1, 0)]


def test_a_resolved_parent_that_says_something_else_is_done_again_below() -> None:
    plan = with_atoms(running("A1[A2 A3] A4<-A1 A5"), A1=DONE, A2=DONE, A3=DONE, A4=DONE, A5=DONE)
    changed = after(plan, redirect(with_atom(plan, replace(plan.atoms[A1], description="else"))))
    assert open_atoms(changed) == ["A1", "A2", "A3", "A4"]


def test_an_open_parent_that_says_something_else_goes_on() -> None:
    plan = with_atoms(running("A1[A2 A3]"), A2=DONE, A3={"attempts": 2})
    changed = after(plan, redirect(with_atom(plan, replace(plan.atoms[A1], description="else"))))
    assert (open_atoms(changed), changed.atoms[A3].attempts) == (["A1", "A3"], 2)


def test_a_parent_without_its_children_is_a_leaf_to_be_done() -> None:
    plan = with_atoms(running("A1[A2] A3<-A1"), A1=DONE, A2=DONE, A3=DONE)
    changed = after(plan, redirect(rewritten(plan, decompositions=())))
    assert (drawn(changed), open_atoms(changed)) == ("A1 A2 A3<-A1", ["A1", "A3"])


def test_what_comes_to_depend_on_something_open_is_done_again() -> None:
    """A3 itself says what it said; it inherits the dependency."""
    plan = with_atoms(running("A1[A2 A3] A4 A5<-A3"), A3=DONE, A5=DONE)
    changed = after(plan, redirect(with_atom(plan, replace(plan.atoms[A1], depends_on=("A4",)))))
    assert open_atoms(changed) == ["A1", "A2", "A3", "A4", "A5"]


def test_a_choice_that_is_failed_by_hand_loses_its_result() -> None:
    plan = with_atoms(running("G1{A1|A2} A3"), A1=DONE, A3=DONE)
    edit = with_group(plan, replace(plan.groups[G1], failed=(A1,)))
    changed = after(plan, redirect(edit))
    assert open_atoms(changed) == ["A1", "A2"]
    assert [entry.atom for entry in changed.trail] == ["A2"]  # G1 was decided by that


def test_a_choice_of_a_new_group_instead_of_what_is_done() -> None:
    plan = with_atoms(running("A1 A2<-A1"), A1=DONE, A2=DONE)
    group = OrGroup(id=G1, choices=(A1, A9), selected=A9)
    atoms = (
        replace(plan.atoms[A1], or_group=G1),
        plan.atoms[A2],
        replace(NEW, or_group=G1),
    )
    changed = after(plan, redirect(rewritten(plan, atoms=atoms, groups=(group,))))
    assert open_atoms(changed) == ["A1", "A2", "A9"]
    assert [entry.atom for entry in changed.trail] == ["G1"]


def test_a_choice_may_leave_failed() -> None:
    plan = with_groups(
        with_atoms(running("G1{A1|A2}"), A1={"attempts": 1}, A2=DONE),
        G1={"failed": (A1,), "selected": A2},
    )
    changed = after(plan, redirect(with_group(plan, replace(plan.groups[G1], failed=()))))
    assert (open_atoms(changed), changed.atoms[A1].attempts) == (["A1"], 0)


def test_removed_atoms_stay_counted_and_new_ones_are_paid_for() -> None:
    plan = running("A1 A2")
    changed = after(plan, redirect(RewriteGraph(atoms=(plan.atoms[A1], NEW))))
    assert (drawn(changed), changed.spent.created) == ("A1 A9", 3)
    assert [entry.atom for entry in changed.trail] == ["A9"]


def test_a_removed_atom_is_what_the_trail_speaks_of() -> None:
    plan = running("A1 A2")
    changed = after(plan, redirect(RewriteGraph(atoms=(plan.atoms[A1],))))
    assert [entry.atom for entry in changed.trail] == ["A2"]


# --- rules that look right -----------------------------------------------------------------------

_drawn = rewriting._drawn


def unpaid(plan: Plan, edit: RewriteGraph) -> Plan:
    return replace(_drawn(plan, edit), spent=plan.spent)


@pytest.mark.parametrize(
    ("original", "naive", "caught"),
    [
        (rewriting._again, lambda _then, _now: (), "stale"),
        (rewriting._out_of_order, lambda _plan: (), "resolved before its children"),
        (rewriting._drawn, unpaid, "an atom came for nothing"),
    ],
    ids=["only what is set back is done again", "children are not looked at", "new atoms are free"],
)
def test_the_laws_catch_a_rule_that_only_looks_right(
    monkeypatch: pytest.MonkeyPatch, original: Any, naive: Any, caught: str
) -> None:
    suite = Suite(name="planted", happens=("rewrite",), redirects=1, fuel=1)
    start = plan_from("A1[G1{A2|A3}] A4<-A1", suite.limits())
    assert check_plan(start, suite).violation is None
    plant(monkeypatch, original, naive)
    found = check_plan(start, suite).violation
    assert found is not None
    assert caught in found.law
