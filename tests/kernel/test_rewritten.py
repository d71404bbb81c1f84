"""A graph rewritten by hand, looked at closely: what stays as it is, and what is said."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.kernel.story import after, redirect, refusal, running, with_atoms, with_groups
from tests.kernel.test_rewriting import problems
from tests.model.rewrites import rewritten, with_atom

from dwindle.kernel.events import RewriteGraph
from dwindle.kernel.model import (
    Atom,
    AtomId,
    Binding,
    Decomposition,
    GroupId,
    OrGroup,
    Plan,
    Problem,
    Status,
)
from dwindle.kernel.rewriting import first_change, taken_choices, with_rewritten

DONE = {"status": Status.RESOLVED, "attempts": 1}
A1, A2, A3, A4, A5, A7, A8, A9 = (AtomId(f"A{n}") for n in (1, 2, 3, 4, 5, 7, 8, 9))
G1 = GroupId("G1")
NEW = Atom(id=A9, description="new")


def resolved(plan: Plan) -> list[str]:
    return [str(n) for n, a in plan.atoms.items() if a.status is Status.RESOLVED]


def says(plan: Plan, name: AtomId, **changes: object) -> RewriteGraph:
    return with_atom(plan, replace(plan.atoms[name], **changes))  # type: ignore[arg-type]


def test_what_was_built_upon_a_choice_that_stays_is_kept() -> None:
    plan = with_atoms(running("A3<-G1 G1{A1|A2} A4"), A1=DONE, A3=DONE, A4=DONE)
    assert resolved(after(plan, redirect(says(plan, A4, description="else")))) == ["A1", "A3"]


def test_what_was_out_of_order_before_is_kept() -> None:
    """A file from elsewhere, about which `validate` has a warning."""
    plan = with_atoms(running("A1 A2<-A1 A3"), A2=DONE, A3=DONE)
    assert resolved(after(plan, redirect(says(plan, A3, description="else")))) == ["A2"]


def test_a_person_may_say_that_something_has_to_be_done_again() -> None:
    plan = with_atoms(running("A1 A2<-A1 A3"), A1=DONE, A2=DONE, A3=DONE)
    changed = after(plan, redirect(says(plan, A1, status=Status.PENDING)))
    assert resolved(changed) == ["A3"]


def test_an_edit_cannot_set_a_parent_to_in_progress() -> None:
    plan = running("A1[A2]")
    event = redirect(says(plan, A1, status=Status.IN_PROGRESS))
    assert refusal(plan, event) == "Redirected: it would change nothing"


def test_new_atoms_are_paid_for_to_the_last() -> None:
    plan = running("A1", max_atoms=1)
    one = rewritten(plan, atoms=(*plan.atoms.values(), NEW))
    assert list(after(plan, redirect(one)).atoms) == ["A1", "A9"]
    two = rewritten(plan, atoms=(*plan.atoms.values(), NEW, replace(NEW, id=A8)))
    assert problems(plan, two) == (
        Problem(
            where=("atoms",),
            what="A9, A8 would be new, and fuel for 1 is left",
            hint="raise max_atoms",
        ),
    )


def below(plan: Plan, parent: AtomId, *children: AtomId) -> tuple[Decomposition, ...]:
    made = Decomposition(parent=parent, children=children, reason="r")
    return (*(d for d in plan.decompositions if d.parent != parent), made)


@pytest.mark.parametrize("limit", [1, 2])
def test_the_limit_of_depth_may_be_reached(limit: int) -> None:
    plan = running("A1[A2]", max_depth=limit)
    edit = rewritten(plan, atoms=(*plan.atoms.values(), NEW), decompositions=below(plan, A2, A9))
    if limit == 2:
        assert list(after(plan, redirect(edit)).atoms) == ["A1", "A2", "A9"]
        return
    assert problems(plan, edit) == (
        Problem(
            where=("atoms", 2),
            what="A9 stands at depth 2 and max_depth is 1",
            hint="raise max_depth, or put it higher",
        ),
    )


def test_a_resolved_atom_may_become_the_parent_of_resolved_ones() -> None:
    """It is a parent now, and so it is done again with what is below it."""
    plan = with_atoms(running("A1 A2"), A1=DONE, A2=DONE)
    changed = after(plan, redirect(rewritten(plan, decompositions=below(plan, A1, A2))))
    assert resolved(changed) == []


def test_what_is_removed_leaves_no_binding_behind() -> None:
    plan = replace(running("A1 A2"), bindings={A2: Binding(summary="stale")})
    changed = after(plan, redirect(rewritten(plan, atoms=(plan.atoms[A1],))))
    assert changed.bindings == {}


def test_a_new_child_opens_what_waits_for_its_parent_in_reserve_too() -> None:
    plan = with_atoms(running("G1{A1|A2[A7[A8] A6<-A7]}"), A7=DONE, A8=DONE, A6=DONE)
    edit = rewritten(
        plan, atoms=(*plan.atoms.values(), NEW), decompositions=below(plan, A7, A8, A9)
    )
    assert resolved(after(plan, redirect(edit))) == ["A8"]


def test_in_reserve_an_inherited_dependency_is_not_looked_at() -> None:
    """As `validate` has it: only what is live must add up, before the rest is chosen."""
    plan = with_atoms(running("G1{A1|A2[A5]} A4"), A5=DONE)
    assert resolved(after(plan, redirect(says(plan, A2, depends_on=("A4",))))) == ["A5"]


def test_one_that_is_done_is_enough_to_take_a_new_group_anew() -> None:
    plan = with_atoms(running("A1 A2 A3<-A1"), A1=DONE, A3=DONE)
    group = OrGroup(id=G1, choices=(A1, A2, A9), selected=A9)
    atoms = (
        *(replace(plan.atoms[a], or_group=G1) for a in (A1, A2)),
        plan.atoms[A3],
        replace(NEW, or_group=G1),
    )
    changed = after(plan, redirect(rewritten(plan, atoms=atoms, groups=(group,))))
    assert resolved(changed) == []


def test_a_parent_with_the_same_children_keeps_what_stands_for_it() -> None:
    own = Binding(summary="in my own words")
    plan = replace(
        with_atoms(running("A1[A2] A3"), A1=DONE, A2=DONE, A3=DONE),
        bindings={A1: own, A2: Binding(summary="two")},
    )
    changed = after(plan, redirect(says(plan, A3, description="else")))
    assert changed.bindings == plan.bindings


def test_a_parent_with_other_children_stands_for_them_when_it_settles() -> None:
    plan = replace(
        with_atoms(running("A1[A2 A3]"), A1=DONE, A2=DONE, A3=DONE),
        bindings={a: Binding(summary=a) for a in (A1, A2, A3)},
    )
    edit = rewritten(plan, decompositions=below(plan, A1, A3))
    loose = with_rewritten(plan, edit, redirect(edit))
    assert (resolved(loose), list(loose.bindings)) == (["A2", "A3"], ["A2", "A3"])
    settled = after(plan, redirect(edit))
    assert settled.bindings[A1] == Binding(summary="Completed via A3 resolution")


# --- for the Trail -------------------------------------------------------------------------------


def test_choices_that_were_taken_are_those_that_are_in_force_only_now() -> None:
    plan = running("G1{A1|A2} G2~{A3|A4}")
    other = with_groups(plan, G1={"selected": A2})
    assert taken_choices(plan, plan) == ()
    assert taken_choices(plan, other) == ("A2",)
    assert taken_choices(plan, with_groups(plan, G1={"failed": (A1, A2)})) == ()
    assert taken_choices(replace(plan, groups={}), other) == ()


def test_the_first_change_is_a_new_atom_a_lost_one_or_another_text() -> None:
    plan = running("A1 A2 A3")
    more = replace(plan, atoms={**plan.atoms, A9: NEW})
    other = with_atoms(plan, A2={"description": "else"}, A3={"description": "else"})
    assert first_change(plan, more) == "A9"
    assert first_change(more, plan) == "A9"
    assert first_change(plan, other) == "A2"
    assert first_change(plan, plan) == "A1"
