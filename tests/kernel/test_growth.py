"""New atoms: names that never come back, groups whose name is taken, evidence that is bounded."""

from __future__ import annotations

from dataclasses import replace

from tests.kernel.telling import after, redirect, running, started

from dwindle.kernel.events import (
    AddAtom,
    AlternativesProposed,
    Gap,
    NewAtom,
    RemoveAtom,
)
from dwindle.kernel.growth import (
    EVIDENCE_KEPT,
    fix_description,
    free_group_id,
    next_ids,
    with_fixes,
)
from dwindle.kernel.model import AtomId, Check, CheckType

NEW = NewAtom(description="new")


def test_the_next_id_is_beyond_every_number_in_use() -> None:
    assert next_ids(running("A1 A7"), 2) == ("A8", "A9")
    assert next_ids(running("G1{A1|A7?}"), 1) == ("A8",)
    assert next_ids(running("B9 A1 Ax"), 1) == ("A4",)
    assert next_ids(running("A1 A12345678901"), 1) == ("A3",)  # a name, not a number of ours


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
    just = "x" * EVIDENCE_KEPT
    assert fix_description(Gap(item="t", evidence=just)) == f"Make this check pass: t\n{just}"
    assert fix_description(Gap(item="t", evidence=f"{just}y")) == (
        f"Make this check pass: t\n{just} [...]"
    )
