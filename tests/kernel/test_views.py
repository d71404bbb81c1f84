"""A patched view says what a built one says, also where no event can lead."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.kernel.telling import running, with_atoms, with_groups

from dwindle.kernel.graph import build, view, with_atom
from dwindle.kernel.model import AtomId, Plan, Status
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
