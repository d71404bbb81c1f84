"""What can be wrong with what stands under what and who waits for whom: each kind, in full."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.kernel.story import running, with_atoms, with_groups

from dwindle.kernel.model import (
    ROOT,
    Atom,
    AtomId,
    Binding,
    Check,
    CheckType,
    Decomposition,
    GroupId,
    OrGroup,
    Plan,
    Problem,
    Role,
    Session,
)
from dwindle.kernel.structure import is_valid_id, structure_problems

ID_HINT = "letters, digits, _ . - (64 at most), no '..', not ending in .lock"
A1, A2, A3, A9 = (AtomId(n) for n in ("A1", "A2", "A3", "A9"))
G1, G2 = GroupId("G1"), GroupId("G2")
GROUP = running("A3 G1{A1|A2}")


def with_more_atoms(plan: Plan, *more: Atom) -> Plan:
    return replace(plan, atoms={**plan.atoms, **{a.id: a for a in more}})


def with_more_groups(plan: Plan, *more: OrGroup) -> Plan:
    return replace(plan, groups={**plan.groups, **{g.id: g for g in more}})


def decomposed(plan: Plan, parent: str, *children: str) -> Plan:
    made = Decomposition(
        parent=AtomId(parent), children=tuple(AtomId(c) for c in children), reason="r"
    )
    return replace(plan, decompositions=(*plan.decompositions, made))


@pytest.mark.parametrize(
    "name", ["A1", "a", "0", "A" * 64, "a.b", "a-b_c", "lock", "a.lock.b", "A.locks"]
)
def test_an_id_that_may_become_a_folder(name: str) -> None:
    assert is_valid_id(name)


@pytest.mark.parametrize(
    "name", ["", "A" * 65, "_a", ".a", "-a", "a b", "a/b", "a..b", "a.lock", "ä", "a\n", "A²", "a?"]
)
def test_an_id_that_may_not(name: str) -> None:
    assert not is_valid_id(name)


def test_sound_plans_have_no_problems() -> None:
    for text in ("A1", "A1[A2 A3<-A2]<-A4 A4", "A3<-A2 G1{A1|A2?}", "A1[G1~{A2[A3]|A4}] A5<-A1"):
        assert structure_problems(running(text)) == ()
    assert structure_problems(with_atoms(GROUP, A3={"max_attempts": 1})) == ()


@pytest.mark.parametrize(
    ("plan", "problem"),
    [
        (
            with_more_atoms(GROUP, Atom(id=AtomId("a b"), description="d")),
            Problem(where=("atoms", 3, "id"), what="'a b' is no id", hint=ID_HINT),
        ),
        (
            with_atoms(GROUP, A3={"description": " "}),
            Problem(where=("atoms", 2, "description"), what="A3 has no description", hint="say it"),
        ),
        (
            with_atoms(GROUP, A3={"max_attempts": 0}),
            Problem(
                where=("atoms", 2, "max_attempts"),
                what="A3 may be attempted 0 times",
                hint="give 1 or more",
            ),
        ),
        (
            with_atoms(GROUP, A3={"attempts": -1}),
            Problem(where=("atoms", 2, "attempts"), what="attempts of A3 is negative"),
        ),
        (
            with_atoms(GROUP, A3={"check": Check(type=CheckType.FILE, value="")}),
            Problem(
                where=("atoms", 2, "check", "value"),
                what="a file check needs a value",
                hint="the command, path or condition to check",
            ),
        ),
        (
            with_atoms(GROUP, A3={"or_group": G1}),
            Problem(
                where=("atoms", 2, "or_group"),
                what="A3 says it is a choice of G1, which does not list it",
                hint="add it to the choices, or remove or_group",
            ),
        ),
        (
            with_atoms(GROUP, A3={"or_group": G2}),
            Problem(
                where=("atoms", 2, "or_group"),
                what="A3 says it is a choice of G2, which does not list it",
                hint="add it to the choices, or remove or_group",
            ),
        ),
        (
            with_more_groups(GROUP, OrGroup(id=GroupId("g g"), choices=(A3,), selected=A3)),
            Problem(where=("or_groups", "g g"), what="'g g' is no id", hint=ID_HINT),
        ),
        (
            with_more_groups(
                running("A1 A2"), OrGroup(id=GroupId("A1"), choices=(A2,), selected=A2)
            ),
            Problem(
                where=("or_groups", "A1"),
                what="A1 is an atom and a group",
                hint="rename one of them",
            ),
        ),
        (
            with_more_groups(running("A1"), OrGroup(id=G1, choices=(A2,), selected=A2)),
            Problem(
                where=("or_groups", "G1", "choices"),
                what="no choice of G1 is an atom",
                hint="write at least one of them out under atoms",
            ),
        ),
        (
            with_groups(GROUP, G1={"choices": (A1, A2, AtomId("A 4"))}),
            Problem(where=("or_groups", "G1", "choices"), what="'A 4' is no id", hint=ID_HINT),
        ),
        (
            with_more_groups(GROUP, OrGroup(id=G2, choices=(A3, AtomId("G1")), selected=A3)),
            Problem(
                where=("or_groups", "G2", "choices"),
                what="G1 is a group and cannot be a choice",
                hint="make it an atom that has the group below it",
            ),
        ),
        (
            with_more_groups(GROUP, OrGroup(id=G2, choices=(A3, A1), selected=A3)),
            Problem(
                where=("or_groups", "G2", "choices"),
                what="A1 is listed twice, in G1 and in G2",
                hint="a choice belongs to one group, once",
            ),
        ),
        (
            with_groups(GROUP, G1={"selected": A3}),
            Problem(
                where=("or_groups", "G1", "selected"),
                what="A3 is selected and is no choice of G1",
                hint="choose one of A1, A2",
            ),
        ),
        (
            with_groups(GROUP, G1={"failed": (A1, A1)}),
            Problem(
                where=("or_groups", "G1", "failed"),
                what="A1 is in failed of G1 twice",
                hint="list failed choices once",
            ),
        ),
        (
            with_groups(GROUP, G1={"failed": (A3,)}),
            Problem(
                where=("or_groups", "G1", "failed"),
                what="A3 is in failed of G1 and is no choice of it",
                hint="list failed choices once",
            ),
        ),
        (
            decomposed(running("A1"), "a1", "A1"),
            Problem(
                where=("decompositions", 0, "parent"),
                what="a1 does not exist",
                hint="did you mean A1?",
            ),
        ),
        (
            decomposed(running("A1[A2] A3"), "A1", "A3"),
            Problem(
                where=("decompositions", 1, "parent"),
                what="A1 is decomposed twice",
                hint="put all its children into one decomposition",
            ),
        ),
        (
            decomposed(running("A1"), "A1"),
            Problem(
                where=("decompositions", 0, "children"),
                what="A1 is decomposed into nothing",
                hint="name its children, or remove the decomposition",
            ),
        ),
        (
            decomposed(running("A1"), "A1", "B7"),
            Problem(
                where=("decompositions", 0, "children"),
                what="B7 does not exist",
                hint="add it, or remove the mention",
            ),
        ),
        (
            decomposed(running("A1[A2] A3"), "A3", "A2"),
            Problem(
                where=("decompositions", 1, "children"),
                what="A2 is listed twice, under A1 and A3",
                hint="share work through depends_on; an atom has one parent",
            ),
        ),
        (
            decomposed(decomposed(running("A3 A4 G1{A1|A2}"), "A3", "A1"), "A4", "A2"),
            Problem(
                where=("or_groups", "G1", "choices"),
                what="the choices of G1 stand under different parents: A3, A4",
                hint="a group stands in one place",
            ),
        ),
        (
            running("A1<-A1"),
            Problem(
                where=("atoms", 0, "depends_on"), what="A1 depends on itself", hint="remove it"
            ),
        ),
        (
            running("A1<-A9 A2 A3 A4"),
            Problem(
                where=("atoms", 0, "depends_on"),
                what="A9 does not exist",
                hint="add it, or remove the mention",
            ),
        ),
        (
            running("A10<-A19 A11 A12 A13"),
            Problem(
                where=("atoms", 0, "depends_on"),
                what="A19 does not exist",
                hint="did you mean A10 or A11 or A12?",
            ),
        ),
        (
            replace(GROUP, bindings={A9: Binding(summary="s")}),
            Problem(
                where=("bindings", "A9"),
                what="A9 does not exist",
                hint="add it, or remove the mention",
            ),
        ),
        (
            replace(GROUP, sessions={A9: Session(nonce=0, number=1, role=Role.WORKER)}),
            Problem(
                where=("control", "in_flight"),
                what="A9 does not exist",
                hint="add it, or remove the mention",
            ),
        ),
        (
            replace(GROUP, sessions={A1: Session(nonce=1, number=1, role=Role.WORKER)}),
            Problem(
                where=("control", "in_flight"),
                what="the session of A1 starts after the last record",
                hint="its nonce is the number of a journal record",
            ),
        ),
        (
            replace(GROUP, sessions={ROOT: Session(nonce=1, number=1, role=Role.VERIFIER)}),
            Problem(
                where=("control", "in_flight"),
                what="the session of the verification starts after the last record",
                hint="its nonce is the number of a journal record",
            ),
        ),
        (
            decomposed(decomposed(running("A1 A2 A3"), "A1", "A2"), "A2", "A1"),
            Problem(
                where=("decompositions",),
                what="A1, A2 stand under each other in a circle",
                hint="a decomposition leads from an atom to smaller ones",
            ),
        ),
        (
            running("A4<-A2 G1{A1[A2]|A3}"),
            Problem(
                where=("atoms", 3, "depends_on"),
                what="A4 depends on A2, which is only done if A1 is chosen in G1",
                hint="depend on G1 instead",
            ),
        ),
        (
            running("A1<-A2 A2<-A3 A3<-A1"),
            Problem(
                where=("atoms", 0, "depends_on"),
                what="waiting in a circle: A1 -> A2 -> A3 -> A1",
                hint="counting what parents and children wait for; remove one of the dependencies",
            ),
        ),
        (
            running("A1<-A3,A2 A2<-A1 A3"),  # A3 is no part of it
            Problem(
                where=("atoms", 0, "depends_on"),
                what="waiting in a circle: A1 -> A2 -> A1",
                hint="counting what parents and children wait for; remove one of the dependencies",
            ),
        ),
        (
            running("A1[A2<-A1]"),
            Problem(
                where=("atoms", 1, "depends_on"),
                what="waiting in a circle: A2 -> A1 -> A2",
                hint="counting what parents and children wait for; remove one of the dependencies",
            ),
        ),
        (
            running("A1[A3<-A4] A2[A4]<-A1"),
            Problem(
                where=("atoms", 0, "depends_on"),
                what="waiting in a circle: A1 -> A3 -> A4 -> A1",
                hint="counting what parents and children wait for; remove one of the dependencies",
            ),
        ),
        (
            running("A1<-G1 G1{A2<-A3|A4} A3<-G1"),
            Problem(
                where=("atoms", 0, "depends_on"),
                what="waiting in a circle: G1 -> A2 -> A3 -> G1",
                hint="counting what parents and children wait for; remove one of the dependencies",
            ),
        ),
        (
            running("G1{A1<-G1|A2}"),
            Problem(
                where=("atoms", 0, "depends_on"),
                what="waiting in a circle: A1 -> G1 -> A1",
                hint="counting what parents and children wait for; remove one of the dependencies",
            ),
        ),
    ],
)
def test_a_broken_structure(plan: Plan, problem: Problem) -> None:
    assert structure_problems(plan) == (problem,)
