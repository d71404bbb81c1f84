"""What was made of a plan by hand, as redirects; and what a user may not change."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.kernel.story import after, redirect, running, with_atoms, with_groups
from tests.model.small_plans import drawn

from dwindle.app.redirect.adopt import INSTEAD, PUT_BACK, owned_problems
from dwindle.app.redirect.plan_edits import edits_between
from dwindle.kernel.events import (
    ChangeObjective,
    Edit,
    OverrideBinding,
    RewriteGraph,
    SetLimit,
)
from dwindle.kernel.model import (
    Aligned,
    Atom,
    AtomId,
    Binding,
    Decomposition,
    GroupId,
    OrGroup,
    Pace,
    Plan,
    Problem,
    RunStatus,
    Status,
    TrailEntry,
    Verification,
)

A1, A2, A3, A9 = (AtomId(name) for name in ("A1", "A2", "A3", "A9"))
G1 = GroupId("G1")
DONE = {"status": Status.RESOLVED, "attempts": 1}
NEW = Atom(id=A9, description="new")
SHOWN = replace(
    with_atoms(running("A1 A2<-A1"), A1=DONE, A2={"attempts": 1}),
    bindings={A1: Binding(summary="one")},
)


def edits(shown: Plan, made: Plan, now: Plan | None = None) -> list[tuple[Edit, ...]]:
    found = edits_between(shown, made, now or shown, "by hand")
    assert found.problems == []
    return [event.edits for event in found.events]


def refused(shown: Plan, made: Plan) -> list[Problem]:
    return edits_between(shown, made, shown, "by hand").problems


def renamed(plan: Plan, name: AtomId, description: str) -> Plan:
    return with_atoms(plan, **{name: {"description": description}})


# --- redirects -----------------------------------------------------------------------------------


def test_nothing_was_changed() -> None:
    assert edits(SHOWN, SHOWN) == []


def test_counters_and_sessions_are_no_difference() -> None:
    """In an editor they are not there; in the file they are judged apart."""
    made = with_atoms(SHOWN, A1={"attempts": 0}, A2={"attempts": 0, "status": Status.IN_PROGRESS})
    assert edits(SHOWN, made) == []


def test_each_scope_is_one_redirect_in_the_order_in_which_they_make_room() -> None:
    made = replace(
        SHOWN,
        objective=replace(SHOWN.objective, goal="another", protected_paths=("tests",)),
        limits=replace(SHOWN.limits, max_atoms=9, max_attempts=4, stated=("max_atoms",)),
        atoms={**SHOWN.atoms, A9: NEW},
        bindings={A1: Binding(summary="not one", artifacts=("a.txt",))},
    )
    fresh = replace(SHOWN.atoms[A2], attempts=0)  # as the new objective has left it
    assert edits(SHOWN, made) == [
        (ChangeObjective(goal="another", protected_paths=("tests",)),),
        (SetLimit(name="max_atoms", value=9), SetLimit(name="max_attempts", value=4)),
        (RewriteGraph(atoms=(SHOWN.atoms[A1], fresh, NEW)),),
        (OverrideBinding(atom=A1, summary="not one", artifacts=("a.txt",)),),
    ]


def test_the_default_of_max_atoms_follows_the_atoms_and_is_no_edit() -> None:
    unstated = replace(SHOWN.limits, stated=())
    made = replace(SHOWN, limits=replace(unstated, max_atoms=99))
    assert edits(replace(SHOWN, limits=unstated), made) == []


def test_what_failed_stays_forgotten_when_the_objective_changes_too() -> None:
    """The user left `failed` alone: the new objective clears it, and the new graph leaves it so."""
    shown = with_groups(
        with_atoms(running("G1{A1|A2} A3"), A1={"attempts": 1}),
        G1={"failed": (A1,), "selected": A2},
    )
    made = renamed(replace(shown, objective=replace(shown.objective, goal="another")), A3, "else")
    after_all = edits_between(shown, made, shown, "by hand")
    assert (after_all.problems, after_all.plan.groups[G1].failed) == ([], ())


def test_what_happened_since_it_was_shown_is_kept() -> None:
    """The runner was killed before the file had caught up, and then a user edited it."""
    now = replace(
        with_atoms(running("A1[A2] G1{A3|A4}"), A2=DONE),
        spent=replace(SHOWN.spent, created=4),
    )
    shown = running("A1")
    found = edits_between(shown, renamed(shown, A1, "else"), now, "by hand")
    assert (found.problems, drawn(found.plan)) == ([], "A1[A2] G1{A3|A4}")
    assert found.plan.atoms[A1].description == "else"
    assert found.plan.atoms[A2].status is Status.RESOLVED


def test_what_both_know_is_merged_field_by_field() -> None:
    shown = running("A1[A2] G1{A3|A4}")
    now = with_groups(with_atoms(shown, A2=DONE), G1={"selected": AtomId("A4")})
    made = with_groups(
        replace(shown, decompositions=(Decomposition(parent=A1, children=(A2,), reason="why"),)),
        G1={"speculative": True},
    )
    found = edits_between(shown, made, now, "by hand")
    assert found.problems == []
    assert found.plan.decompositions == made.decompositions
    assert found.plan.groups[G1] == OrGroup(
        id=G1, choices=(A3, AtomId("A4")), selected=AtomId("A4"), speculative=True
    )


def test_what_is_in_force_already_is_not_asked_for_again() -> None:
    """Adopting was killed after it had been recorded: the file still differs, the plan does not."""
    made = replace(
        SHOWN,
        objective=replace(SHOWN.objective, goal="another"),
        limits=replace(SHOWN.limits, max_attempts=4),
        atoms={**SHOWN.atoms, A9: NEW},
        bindings={A1: Binding(summary="not one")},
    )
    first = edits_between(SHOWN, made, SHOWN, "by hand")
    now = after(SHOWN, *first.events)
    assert edits(SHOWN, made, now) == []


# --- refusals ------------------------------------------------------------------------------------


def test_every_refusal_says_where() -> None:
    made = replace(
        renamed(SHOWN, A1, "else"),
        objective=replace(SHOWN.objective, goal=" "),
        limits=replace(SHOWN.limits, max_redirects=99, max_atoms=1, stated=("max_atoms",)),
        atoms={
            A1: replace(SHOWN.atoms[A1], description="else"),
            A2: replace(SHOWN.atoms[A2], status=Status.RESOLVED),
        },
        bindings={A1: Binding(summary="not one"), A2: Binding(summary="two")},
    )
    assert [(p.where, p.what) for p in refused(SHOWN, made)] == [
        (("objective", "goal"), "goal is blank"),
        (
            ("objective", "constraints", "max_atoms"),
            "max_atoms cannot be 1: 2 is taken already",
        ),
        (
            ("objective", "constraints", "max_redirects"),
            "max_redirects cannot be raised by a redirect",
        ),
        (
            ("atoms", 1, "status"),
            "A2 cannot be set to resolved: nothing has shown that it holds",
        ),
        (
            ("bindings", "A2"),
            "A2 is not resolved, or is to be done again: it has no result yet",
        ),
    ]


def test_a_limit_that_was_taken_away() -> None:
    shown = replace(SHOWN, limits=replace(SHOWN.limits, max_tokens=100))
    assert refused(shown, SHOWN) == [
        Problem(
            where=("objective", "constraints"),
            what="max_tokens was removed, and a redirect cannot remove a limit",
            hint="set a higher limit instead",
        )
    ]


def test_a_binding_of_what_is_done_again_cannot_be_set_too() -> None:
    made = replace(renamed(SHOWN, A1, "else"), bindings={A1: Binding(summary="two")})
    assert [p.where for p in refused(SHOWN, made)] == [("bindings", "A1")]


def test_a_binding_that_is_gone() -> None:
    assert refused(SHOWN, replace(SHOWN, bindings={})) == [
        Problem(
            where=("bindings",),
            what="A1 is resolved and its binding is gone",
            hint="put it back; or set the atom to pending to have it done again",
        )
    ]
    assert refused(SHOWN, replace(renamed(SHOWN, A1, "else"), bindings={})) == []


def test_that_no_redirect_is_left_is_said_of_each_scope() -> None:
    none = replace(SHOWN, limits=replace(SHOWN.limits, max_redirects=0))
    made = replace(renamed(none, A1, "else"), objective=replace(none.objective, goal="another"))
    assert [(p.where, p.what) for p in refused(none, made)] == [
        (("objective",), "no redirect is left (max_redirects)"),
        (("atoms",), "no redirect is left (max_redirects)"),
    ]


# --- what belongs to the machine -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "where", "hint"),
    [
        (
            replace(SHOWN, control=replace(SHOWN.control, status=RunStatus.COMPLETED)),
            ("control", "status"),
            INSTEAD["status"],
        ),
        (
            replace(SHOWN, control=replace(SHOWN.control, aligned=Aligned(commit="c"))),
            ("control", "aligned"),
            INSTEAD["aligned"],
        ),
        (
            replace(SHOWN, control=replace(SHOWN.control, revision=9)),
            ("control", "revision"),
            PUT_BACK,
        ),
        (
            replace(SHOWN, spent=replace(SHOWN.spent, verifications=2)),
            ("control", "spent", "verifications"),
            INSTEAD["verifications"],
        ),
        (
            replace(SHOWN, spent=replace(SHOWN.spent, created=1)),
            ("control", "spent", "created"),
            INSTEAD["created"],
        ),
        (with_atoms(SHOWN, A2={"attempts": 0}), ("atoms", 1, "attempts"), INSTEAD["attempts"]),
        (with_atoms(SHOWN, A2={"probes": 3}), ("atoms", 1, "probes"), INSTEAD["probes"]),
        (
            replace(SHOWN, trail=(TrailEntry(reason="r", timestamp="t"),)),
            ("trail",),
            PUT_BACK,
        ),
        (replace(SHOWN, pace=Pace(started=1)), ("control", "pace"), PUT_BACK),
        (
            replace(SHOWN, verification=Verification(passed=True)),
            ("control", "verification"),
            PUT_BACK,
        ),
    ],
)
def test_a_user_cannot_change_what_belongs_to_the_machine(
    found: Plan, where: tuple[str | int, ...], hint: str
) -> None:
    (problem,) = owned_problems(SHOWN, found)
    assert (problem.where, problem.hint) == (where, hint)


def test_requests_and_atoms_that_are_new_or_gone_are_left_alone() -> None:
    found = replace(
        SHOWN,
        control=replace(
            SHOWN.control, stop_requested=True, stop_reason="x", redirect_requested=True
        ),
        atoms={A1: SHOWN.atoms[A1], A9: NEW, A3: replace(NEW, id=A3)},
        spent=replace(SHOWN.spent, created=3),  # what the reader makes of a file that lists three
    )
    assert list(owned_problems(SHOWN, found)) == []


def test_a_new_atom_has_no_counters() -> None:
    found = replace(SHOWN, atoms={**SHOWN.atoms, A9: replace(NEW, attempts=1)})
    assert [p.where for p in owned_problems(SHOWN, found)] == [("atoms", 2, "attempts")]


def test_a_redirect_is_what_leads_from_one_to_the_other() -> None:
    """What `edits_between` promises: applying its redirects gives the plan that it foresaw."""
    made = renamed(SHOWN, A2, "else")
    found = edits_between(SHOWN, made, SHOWN, "because")
    assert after(SHOWN, *found.events) == found.plan
    (event,) = found.events
    assert event == redirect(*event.edits)
