"""New atoms: names that never come back, groups whose name is taken, evidence that is bounded."""

from __future__ import annotations

from dataclasses import replace

from tests.kernel.story import after, redirect, running, started, with_atoms, with_groups

from dwindle.kernel.events import (
    AddAtom,
    AlternativesProposed,
    Gap,
    NewAtom,
    RemoveAtom,
)
from dwindle.kernel.growth import (
    fix_description,
    free_group_id,
    growth_problems,
    next_ids,
    with_alternatives,
    with_fixes,
    with_written_choice,
)
from dwindle.kernel.model import (
    Atom,
    AtomId,
    Check,
    CheckType,
    GroupId,
    OrGroup,
    Problem,
    TrailEntry,
    TrailType,
)

NEW = NewAtom(description="new")
A1, A2, A3, A4 = (AtomId(n) for n in ("A1", "A2", "A3", "A4"))
G1 = GroupId("G1")


def test_the_next_id_is_beyond_every_number_in_use() -> None:
    assert next_ids(running("A1 A7"), 2) == ("A8", "A9")
    assert next_ids(running("G1{A1|A7?}"), 1) == ("A8",)
    assert next_ids(running("B9 A1 Ax"), 1) == ("A4",)
    assert next_ids(running("A1 A12345678901"), 1) == ("A3",)  # a name, not a number of ours
    assert next_ids(running("A123456789"), 1) == ("A123456790",)
    assert next_ids(running("A1234567890"), 1) == ("A2",)


def test_the_id_of_a_removed_atom_does_not_come_back() -> None:
    plan = after(
        running("A1 A2"),
        redirect(RemoveAtom(atom=AtomId("A2"))),
        redirect(AddAtom(new=NEW)),
    )
    assert list(plan.atoms) == ["A1", "A3"]


def with_a_group_for(text: str, atom: str) -> str:
    plan = after(
        running(text),
        started(atom),
        AlternativesProposed(atom=AtomId(atom), nonce=1, alternatives=(NEW,), reason="r"),
    )
    return next(g.id for g in plan.groups.values() if atom in g.choices)


def test_a_group_whose_name_is_taken_is_numbered() -> None:
    assert with_a_group_for("A1", "A1") == "or_A1"
    assert with_a_group_for("A1 or_A1", "A1") == "or_A1_2"
    assert with_a_group_for("A1 or_A1 or_A1_2", "A1") == "or_A1_3"
    assert with_a_group_for("A1 or_A1 or_A1_2{A2|A3} G1{A4|or_A1_3?}", "A1") == "or_A1_4"


def test_a_group_whose_name_would_be_too_long_is_shortened() -> None:
    long = "A" + "x" * 63
    assert with_a_group_for(long, long) == f"or_A{'x' * 60}"
    assert with_a_group_for(f"{long} or_A{'x' * 60}", long) == f"or_A{'x' * 52}_2"


def test_a_group_whose_shortened_name_is_no_id_is_numbered() -> None:
    """Cut where it is, the name would end like a lock file of git."""
    awkward = AtomId(f"A{'x' * 55}.locksmith"[:63])
    plain = running("A1")
    atom = replace(plain.atoms[AtomId("A1")], id=awkward)
    plan = replace(plain, atoms={awkward: atom})
    assert free_group_id(plan, awkward) == f"or_A{'x' * 52}_2"


def test_a_fix_atom_tells_what_to_mend() -> None:
    check = Check(type=CheckType.COMMAND, value="make test")
    judged = Check(type=CheckType.QUALITY, criteria="kind", pass_threshold=3)
    assert fix_description(Gap(item="tests", evidence=" 2 red\n", check=check)) == (
        "Make this check pass: tests (make test)\n2 red"
    )
    assert fix_description(Gap(item="kind", evidence="", check=judged)) == (
        "Make this check pass: kind"
    )


def test_a_check_that_a_machine_can_run_judges_its_fix() -> None:
    good = Check(type=CheckType.COMMAND, value="make test")
    judged = Check(type=CheckType.ASSERTION, value="it feels fast")
    broken = Check(type=CheckType.FILE, value=" ")
    gaps = tuple(Gap(item="i", evidence="", check=c) for c in (good, judged, broken, None))
    fixes = list(with_fixes(running("A1"), gaps).atoms.values())[1:]
    assert [fix.check for fix in fixes] == [good, None, None, None]


def test_the_evidence_of_a_failed_check_is_bounded() -> None:
    just = "x" * 2000
    assert fix_description(Gap(item="t", evidence=just)) == f"Make this check pass: t\n{just}"
    assert fix_description(Gap(item="t", evidence=f"{just}y")) == (
        f"Make this check pass: t\n{just} [...]"
    )


# --- other ways ----------------------------------------------------------------------------------


def test_alternatives_stand_beside_the_atom_with_what_it_needs() -> None:
    plan = with_alternatives(
        with_atoms(running("A1[A2 A3] A4"), A2={"depends_on": ("A4",)}), A2, (NEW, NEW)
    )
    group, a5, a6 = GroupId("or_A2"), AtomId("A5"), AtomId("A6")
    assert plan.groups == {group: OrGroup(id=group, choices=(A2, a5, a6), selected=A2)}
    assert plan.atoms[A2].or_group == group
    assert [plan.atoms[a] for a in (a5, a6)] == [
        Atom(id=a, description="new", depends_on=("A4",), or_group=group) for a in (a5, a6)
    ]
    assert [d.children for d in plan.decompositions] == [(A2, a5, a6, A3)]
    assert plan.spent.created == 6


def failed(atom: AtomId, reason: str) -> TrailEntry:
    return TrailEntry(type=TrailType.FAILURE, atom=atom, reason=reason, timestamp="t")


def test_an_unwritten_alternative_says_what_went_wrong_last() -> None:
    plan = with_groups(
        with_atoms(running("G1{A1?|A2|A3} A4"), A2={"description": "go by train"}),
        G1={"failed": (A2, A3), "selected": A1},
    )
    noted = TrailEntry(type=TrailType.USER_CORRECTION, atom=A3, reason="mine", timestamp="t")
    plan = replace(
        plan, trail=(failed(A3, "late"), failed(A2, "too late"), failed(A4, "red"), noted)
    )
    written = with_written_choice(plan, A1).atoms[A1]
    assert written == Atom(
        id=A1,
        description="A1: an alternative to A2, A3 (too late). To reach the same: go by train",
        or_group=G1,
    )


def test_everything_wrong_with_a_proposal_has_a_hint() -> None:
    plan = running("A1[A2]", max_atoms=1, max_depth=1)
    new = (
        NewAtom(description=" ", depends_on=("#1",)),
        NewAtom(description="n", depends_on=("A9", "#1", "#2", "A1")),
    )
    wrong = [
        (
            "2 new atoms are proposed and fuel for 1 is left",
            "propose fewer, or raise max_atoms by a redirect",
        ),
        (
            "A2 stands at depth 1 and max_depth is 1",
            "solve it as it is, or propose alternatives",
        ),
        ("proposal 1 has no description", "say what is to be done"),
        (
            "proposal 1 depends on #1, which is not an earlier one",
            "name earlier proposals as #1, #2, ...",
        ),
        (
            "proposal 2 depends on A9, which does not exist",
            "name an atom, a group, or an earlier proposal as #1",
        ),
        (
            "proposal 2 depends on #2, which is not an earlier one",
            "name earlier proposals as #1, #2, ...",
        ),
    ]
    assert growth_problems(plan, A2, new, deeper=True) == tuple(
        Problem(where=(), what=what, hint=hint) for what, hint in wrong
    )
    nothing = Problem(where=(), what="nothing is proposed", hint="name at least one atom")
    assert growth_problems(plan, A2, (), deeper=False) == (nothing,)


def test_fuel_that_is_overdrawn_is_none() -> None:
    plan = running("G1{A1|A2?|A3?}", max_atoms=1)
    (found,) = growth_problems(plan, A1, (NEW,), deeper=False)
    assert found.what == "1 new atoms are proposed and fuel for 0 is left"
