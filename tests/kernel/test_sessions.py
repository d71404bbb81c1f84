"""Starts and ends of sessions, where the case folder does not look."""

from __future__ import annotations

from dataclasses import replace

from tests.kernel.story import after, refusal, running, started, with_atoms
from tests.kernel.test_tree_edits import Shape, edit, failed, nodes, tree

from dwindle.kernel.events import (
    AlternativesProposed,
    AtomResolved,
    EarlyChecked,
    NewAtom,
    Replanned,
    SessionStarted,
)
from dwindle.kernel.model import (
    ROOT,
    AtomId,
    Binding,
    Pace,
    Plan,
    Problem,
    Role,
    Session,
    Status,
    TreeEdit,
    Verification,
)
from dwindle.kernel.tree_edits import TREE_ROOT, edit_problems, edited

A1, A2 = AtomId("A1"), AtomId("A2")
A, B = AtomId("a"), AtomId("b")
DONE = {"status": Status.RESOLVED, "attempts": 1}
VERIFIER = SessionStarted(atom=ROOT, role=Role.VERIFIER)


def test_nothing_is_verified_under_a_session_that_runs() -> None:
    """A file that `validate` refuses says that A1 is done although A2 is being worked on."""
    plan = replace(
        with_atoms(running("A1[A2]"), A1=DONE, A2={"status": Status.IN_PROGRESS}),
        sessions={A2: Session(nonce=0, number=1, role=Role.WORKER)},
    )
    assert refusal(plan, VERIFIER) == "SessionStarted: something is still open or running"


def test_only_a_verifier_reports_on_the_verification() -> None:
    judged = after(with_atoms(running("A1"), A1=DONE), VERIFIER)
    event = AtomResolved(atom=ROOT, nonce=1, summary="s")
    assert refusal(judged, event) == "AtomResolved: the verification is with a verifier"


def test_what_an_earlier_round_said_is_void_once_an_atom_is_resolved() -> None:
    plan = replace(running("A1 A2"), verification=Verification(rounds_without_gaps=2))
    done = after(plan, started("A1"), AtomResolved(atom=A1, nonce=1, summary="s"))
    assert done.verification == Verification()


def test_alternatives_may_stand_as_deep_as_the_atom_does() -> None:
    plan = after(
        running("A1[A2]", max_depth=1),
        started("A2"),
        AlternativesProposed(
            atom=A2, nonce=1, alternatives=(NewAtom(description="new"),), reason="r"
        ),
    )
    assert [d.children for d in plan.decompositions] == [("A2", "A3")]


def test_there_is_no_early_look_when_nothing_is_open() -> None:
    plan = replace(
        with_atoms(running("A1", early_verify=True), A1=DONE), pace=Pace(branch_changed=True)
    )
    assert refusal(plan, EarlyChecked(passed=True)) == (
        "EarlyChecked: an early look at the base case was not asked for"
    )


# --- trees ---------------------------------------------------------------------------------------


def test_a_repair_is_planned_at_the_root_and_nowhere_else() -> None:
    plan = failed(tree({"a": {"b": {}}}, execute_root=True), "b", refused=True)
    assert refusal(plan, started("root")) == "SessionStarted: root is not a live leaf"
    assert refusal(plan, started("a", Role.PROBE)) == "SessionStarted: a is not a live leaf"


def without_repairs(plan: Plan) -> Plan:
    """Every planning session of the root is used up, and the last edit was refused."""
    root = replace(plan.atoms[TREE_ROOT], probes=3)
    return replace(plan, atoms={**plan.atoms, TREE_ROOT: root}, refused_edits=1)


def test_refusals_are_counted_in_a_row_and_only_repairs_go_on_with_it() -> None:
    plan = without_repairs(tree({"a": {}}))
    assert failed(plan, "a").refused_edits == 0
    assert failed(plan, "a", refused=True).refused_edits == 1
    spent = replace(plan, atoms={**plan.atoms, A: replace(plan.atoms[A], attempts=2)})
    assert failed(spent, "a", Role.PROBE).refused_edits == 0


def test_a_leaf_that_passes_ends_the_row_of_refusals() -> None:
    begun = after(without_repairs(tree({"a": {}, "b": {}})), started("a"))
    done = after(begun, AtomResolved(atom=A, nonce=2, summary="green"))
    assert done.refused_edits == 0


def test_an_edit_that_cannot_be_taken_says_why() -> None:
    begun = after(tree({"a": {}}), started("a"))
    assert refusal(begun, Replanned(atom=A, nonce=2, edit=TreeEdit(nodes=()))) == (
        "Replanned: the edit of the tree cannot be taken; "
        "no open leaf is left, and nothing was done that a guard could pass; "
        "this is no tree that follows from the last one"
    )


def test_what_speaks_against_an_edit_has_a_place_and_a_hint() -> None:
    plan = after(tree({"a": {}, "b": {}}), started("a"))
    passed = after(plan, AtomResolved(atom=A, nonce=2, summary="green"))
    many: Shape = {f"n{i}": {} for i in range(6)}
    assert list(edit_problems(passed, edit({"a": {}, "b": {}, **many}))) == [
        Problem(
            where=("root",),
            what="6 new nodes, and 5 more may be made (max_nodes)",
            hint="plan with fewer",
        )
    ]
    five: Shape = {f"n{i}": {} for i in range(5)}
    assert list(edit_problems(passed, edit({"a": {}, "b": {}, **five}))) == []
    assert list(edit_problems(passed, edit({"a": {}}))) == [
        Problem(
            where=("root",),
            what="no open leaf is left, and nothing was done that a guard could pass",
            hint="replace what is not wanted by what is, instead of only removing it",
        )
    ]
    no_tree = Problem(
        where=("root",),
        what="this is no tree that follows from the last one",
        hint="keep what has passed, one root, and each id once",
    )
    two_roots = TreeEdit(nodes=(*edit({"a": {}, "b": {}}).nodes, *nodes({"c": {}})))
    assert list(edit_problems(passed, two_roots)) == [no_tree]
    assert list(edit_problems(passed, edit({"b": {}}))) == [no_tree]


def test_bindings_go_with_their_nodes() -> None:
    one, two = Binding(summary="one"), Binding(summary="two")
    plan = replace(tree({"a": {}, "b": {}}), bindings={A: one, B: two})
    assert edited(plan, edit({"a": {}, "c": {}})).bindings == {A: one}
