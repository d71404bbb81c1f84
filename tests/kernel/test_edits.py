"""What a person may change, looked at closely: what is written, what is kept, what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.kernel.story import after, redirect, refusal, running, with_atoms

from dwindle.kernel.events import AddAtom, NewAtom, RemoveAtom, SetLimit
from dwindle.kernel.model import (
    Atom,
    AtomId,
    Binding,
    Control,
    Decomposition,
    Dispatch,
    GroupId,
    OrGroup,
    RunStatus,
    Spent,
    Status,
)

A1, A2, A3, A4 = (AtomId(n) for n in ("A1", "A2", "A3", "A4"))
G1 = GroupId("G1")
DONE = {"status": Status.RESOLVED, "attempts": 1}
NEW = NewAtom(description="new")


def test_fuel_that_is_set_aside_buys_no_new_atom() -> None:
    assert refusal(running("G1{A1|A2?}", max_atoms=1), redirect(AddAtom(new=NEW))) == (
        "Redirected: no fuel is left for a new atom; raise max_atoms first"
    )


def test_a_choice_is_added_beside_the_first_that_is_written() -> None:
    plan = after(
        running("A4[G1{A1?|A2<-A3}] A3"),
        redirect(AddAtom(new=NewAtom(description="another", depends_on=("A3",)), group=G1)),
    )
    new = AtomId("A5")
    assert plan.atoms[new] == Atom(id=new, description="another", depends_on=("A3",), or_group=G1)
    assert plan.groups[G1] == OrGroup(id=G1, choices=(A1, A2, new), selected=A1)
    assert [d.children for d in plan.decompositions] == [(A2, A1, new)]


def test_a_parent_that_keeps_children_keeps_its_attempts() -> None:
    plan = after(
        with_atoms(running("A1[A2 A3]"), A1={"attempts": 2}), redirect(RemoveAtom(atom=A2))
    )
    assert plan.atoms[A1].attempts == 2
    assert [d.children for d in plan.decompositions] == [(A3,)]
    leaf = after(plan, redirect(RemoveAtom(atom=A3)))
    assert (leaf.atoms[A1].attempts, leaf.decompositions) == (0, ())


def test_what_is_removed_leaves_no_binding_behind() -> None:
    """A file from elsewhere has one for an atom that is pending."""
    kept, stale = Binding(summary="one"), Binding(summary="two")
    plan = replace(with_atoms(running("A1 A2"), A1=DONE), bindings={A1: kept, A2: stale})
    assert after(plan, redirect(RemoveAtom(atom=A2))).bindings == {A1: kept}


def test_all_that_is_still_needed_is_named() -> None:
    plan = running("A1[A2 A3] A4<-A2,A3")
    assert refusal(plan, redirect(RemoveAtom(atom=A1))) == "Redirected: A4 depends on A2, A3"


def test_a_choice_may_be_removed_while_one_of_the_others_is_written() -> None:
    plan = after(running("G1{A1|A2|A3?}"), redirect(RemoveAtom(atom=A1)))
    assert plan.groups[G1] == OrGroup(id=G1, choices=(A2, A3), selected=A2)
    assert list(plan.atoms) == ["A2"]


# --- limits --------------------------------------------------------------------------------------


def test_a_way_to_dispatch_is_more_than_its_name() -> None:
    plan = after(running("A1"), redirect(SetLimit(name="dispatch", value="refill")))
    assert plan.limits.dispatch is Dispatch.REFILL


@pytest.mark.parametrize(
    ("name", "value", "taken"),
    [
        ("max_iterations", 6, "7"),
        ("max_redirects", 5, "6"),
        ("max_forgiven", 1, "2"),
        ("max_verifications", 1, "2"),
        ("max_backjumps", 0, "1"),
        ("max_atoms", 3, "4"),
        ("max_attempts", 1, "2"),
        ("max_probes", 0, "1"),
        ("max_wall_seconds", 60, "60.5"),
        ("max_tokens", 99, "100"),
        ("max_cost_usd", 0.25, "0.5"),
    ],
)
def test_no_limit_falls_below_what_is_taken(name: str, value: float, taken: str) -> None:
    plan = replace(
        with_atoms(running("A1 A2 G1{A3|A4?}", max_probes=2), A1={"attempts": 2}, A2={"probes": 1}),
        spent=Spent(
            created=3,
            redirects=5,
            forgiven=2,
            verifications=2,
            backjumps=1,
            seconds=60.5,
            tokens=100,
            usd=0.5,
        ),
        control=Control(status=RunStatus.RUNNING, iteration=7),
    )
    assert refusal(plan, redirect(SetLimit(name=name, value=value))) == (
        f"Redirected: {name} cannot be {value}: {taken} is taken already"
    )
    whole = float(taken) if name == "max_cost_usd" else -int(-float(taken) // 1)
    lowered = after(plan, redirect(SetLimit(name=name, value=whole)))
    assert getattr(lowered.limits, name) == whole


def test_redirects_are_lowered_and_never_raised() -> None:
    plan = running("A1")
    for value, reason in (
        (21, "max_redirects cannot be raised by a redirect"),
        (20, "it would change nothing"),
    ):
        assert refusal(plan, redirect(SetLimit(name="max_redirects", value=value))) == (
            f"Redirected: {reason}"
        )
    fewer = after(plan, redirect(SetLimit(name="max_redirects", value=19)))
    assert fewer.limits.max_redirects == 19


def test_with_nothing_open_nothing_holds_a_limit_up() -> None:
    done = with_atoms(running("A1"), A1=DONE)

    def limited(**given: Any) -> Any:
        ((name, value),) = given.items()
        return after(done, redirect(SetLimit(name=name, value=value))).limits

    assert limited(max_iterations=30).max_iterations == 30
    assert limited(max_probes=0).max_probes == 0
    assert limited(max_attempts=1).max_attempts == 1
    assert refusal(done, redirect(SetLimit(name="max_attempts", value=0))) == (
        "Redirected: the plan would not be sound; max_attempts is 0, which would allow nothing"
    )


def test_the_children_of_a_new_parent_are_told_why() -> None:
    plan = after(running("A1"), redirect(AddAtom(new=NEW, parent=A1)))
    assert plan.decompositions == (Decomposition(parent=A1, children=(A2,), reason="because"),)
