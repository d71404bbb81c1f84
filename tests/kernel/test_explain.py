"""Why an atom waits: the nearest true reason, with everything in it that it waits for."""

from __future__ import annotations

from tests.kernel.story import running, with_atoms

from dwindle.kernel.decide import decide
from dwindle.kernel.explain import waiting as waiting_of
from dwindle.kernel.model import Status


def test_everything_that_is_waited_for_is_named() -> None:
    waiting = waiting_of(decide(running("A1<-A2,A3 A2 A3")))
    assert waiting == {"A1": "it waits for A2, A3"}


def test_deep_in_reserve_the_outermost_choice_is_the_reason() -> None:
    waiting = waiting_of(decide(running("G1{A1|A2[G2{A3|A4}]}")))
    assert waiting == {
        "A2": "G1 is with A1; A2 is kept in reserve",
        "A3": "G1 is with A1; A2 is kept in reserve",
        "A4": "G1 is with A1; A2 is kept in reserve",
    }


def test_a_parent_whose_children_are_done_waits_until_that_is_recorded() -> None:
    plan = with_atoms(running("A1[A2] A3"), A2={"status": Status.RESOLVED})
    assert waiting_of(decide(plan)) == {
        "A1": "all below it is done; that is not written down yet",
        "A3": "first: what follows for A1 is not written into the plan yet",
    }
