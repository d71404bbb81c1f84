"""A patched view says what a built one says, also where no event can lead."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.kernel.story import running, with_atoms, with_groups

from dwindle.kernel.graph import (
    build,
    evolve,
    is_resolved,
    restated,
    selected,
    view,
    with_atom,
)
from dwindle.kernel.model import AtomId, GroupId, Plan, PlanKind, Status
from dwindle.kernel.shape import shape_of

DONE = {"status": Status.RESOLVED}
BUSY = {"status": Status.IN_PROGRESS}


@pytest.mark.parametrize(
    ("plan", "atom", "status"),
    [
        (running("G1{A1|A2}"), "A2", Status.RESOLVED),
        (running("A3<-G1 G1{A1|A2}"), "A1", Status.RESOLVED),
        (running("A1[G1{A2|A3}] A4<-A1"), "A2", Status.RESOLVED),
        (running("A1[A2 A3] A4<-A1"), "A2", Status.RESOLVED),
        (running("A1[A2]<-A3 A3"), "A3", Status.RESOLVED),
        (running("A1[A2 A4]<-A3,A5 A3 A5"), "A3", Status.RESOLVED),
        (running("A1 G1~{A2|A3}"), "A2", Status.RESOLVED),
        (running("A1[A2<-A3 A4<-A3]<-A3 A3"), "A3", Status.RESOLVED),
        (running("A1[A2<-A3]<-A4 A3 A4"), "A3", Status.RESOLVED),
        (with_atoms(running("A1<-A2 A2"), A1=BUSY), "A2", Status.RESOLVED),
        (with_atoms(running("A1<-A2 A2"), A1={"attempts": 3}), "A2", Status.RESOLVED),
        (
            with_groups(running("A1[G1{A2|A3?}]<-A4 A4"), G1={"selected": "A3"}),
            "A4",
            Status.RESOLVED,
        ),
        (with_groups(running("G1{A1|A2}"), G1={"failed": ("A1",)}), "A1", Status.IN_PROGRESS),
        (with_atoms(running("A1[A2]"), A2=DONE), "A1", Status.RESOLVED),
        (with_atoms(running("A1 A2"), A1=DONE), "A1", Status.PENDING),
        (with_atoms(running("A1<-A2 A2"), A1=BUSY), "A1", Status.PENDING),
        (with_atoms(running("A1 A2"), A1={**BUSY, "attempts": 3}), "A1", Status.PENDING),
    ],
)
def test_patched_is_built(plan: Plan, atom: str, status: Status) -> None:
    view(plan)
    changed = with_atom(plan, replace(plan.atoms[AtomId(atom)], status=status))
    assert view(changed) == build(changed, shape_of(changed))


def test_a_view_is_made_once() -> None:
    plan = running("A1 A2<-A1")
    assert view(plan) is view(plan)
    assert replace(plan).view_cache is None
    assert replace(plan) == plan


# --- what is kept, so that a big plan pays for its frontier only ---------------------------------


@pytest.mark.parametrize(
    ("text", "atom", "status"),
    [
        ("A1 A2<-A1", "A1", Status.IN_PROGRESS),
        ("A1 A2<-A1", "A1", Status.RESOLVED),
        ("A1[A2] A3", "A1", Status.IN_PROGRESS),
    ],
)
def test_a_view_is_patched_and_not_built_again(text: str, atom: str, status: Status) -> None:
    plan = running(text)
    view(plan)
    changed = with_atom(plan, replace(plan.atoms[AtomId(atom)], status=status))
    assert changed.view_cache is not None
    assert changed.view_cache.shape is view(plan).shape


def test_what_is_buried_changes_no_view() -> None:
    plan = with_groups(running("G1{A1|A2}"), G1={"failed": ("A1",)})
    seen = view(plan)
    assert with_atom(plan, replace(plan.atoms[AtomId("A1")], attempts=1)).view_cache is seen


def test_what_no_view_depends_on_leaves_it_and_what_does_leaves_the_shape() -> None:
    plan = running("A1 A2<-A1")
    seen = view(plan)
    assert evolve(plan, trail=()).view_cache is seen
    changed = restated(plan, bindings={})
    assert (changed.view_cache, changed.shape_cache) == (None, seen.shape)
    assert view(changed).shape is seen.shape
    again = restated(restated(plan, bindings={}), bindings={})
    assert again.shape_cache is seen.shape


# --- what is seen --------------------------------------------------------------------------------


def test_of_a_race_every_choice_that_has_not_failed_is_live_and_it_counts_once() -> None:
    plan = with_groups(
        running("A1[G1~{A2[A5 A6]|A3|A4}] A7<-A1"), G1={"failed": ("A4",), "selected": "A2"}
    )
    seen = view(plan)
    assert seen.live == {"", "A1", "G1", "A2", "A3", "A5", "A6", "A7"}
    assert seen.racing == {"A2", "A3", "A5", "A6"}
    assert seen.buried == {"A4"}
    assert seen.open_count == 3  # A1, A7, and the race
    assert seen.ready == ("A3", "A5", "A6")
    assert (seen.choices_left, seen.undecided) == (2, 6 + 1 + 1)


def test_a_race_within_a_race_is_part_of_it() -> None:
    seen = view(running("G1~{A1[G2~{A2|A3}]|A4}"))
    assert seen.racing == {"A1", "G2", "A2", "A3", "A4"}
    assert seen.open_count == 1


def test_under_a_choice_that_is_not_in_force_nothing_is_live() -> None:
    seen = view(running("G1{A1|A2[G2{A3|A4} G3~{A5|A6}]} A7"))
    assert seen.live == {"", "G1", "A1", "A7"}
    assert seen.racing == {"A5", "A6"}
    assert seen.open_count == 2


def test_a_race_is_won_by_the_choice_that_is_resolved_whatever_is_recorded() -> None:
    race = running("G1~{A1|A2|A3}")
    group = race.groups[GroupId("G1")]
    assert selected(race, group) is None
    assert not is_resolved(race, "G1")
    won = with_atoms(race, A2=DONE)
    assert selected(won, group) == "A2"
    assert view(won).live == {"", "G1", "A2"}
    assert is_resolved(won, "G1")
    both = with_atoms(race, A2=DONE, A3=DONE)
    assert [selected(both, replace(group, selected=AtomId(n))) for n in ("A1", "A3")] == [
        "A2",
        "A3",
    ]


def test_in_a_tree_inner_nodes_count_with_what_they_have_left() -> None:
    graph = with_atoms(running("A1[A2 A3]", max_probes=2), A1={"attempts": 1}, A2={"probes": 1})
    assert view(graph).attempts_left == (3 + 1) + (3 + 2)
    assert view(replace(graph, kind=PlanKind.TREE)).attempts_left == (2 + 2) + (3 + 1) + (3 + 2)
