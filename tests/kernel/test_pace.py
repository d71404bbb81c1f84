"""Iterations, generations and slots: how many may start, and what is noted when they end."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.kernel.story import after, running, started, with_atoms

from dwindle.kernel.actions import Decision, Work
from dwindle.kernel.decide import decide
from dwindle.kernel.events import AtomResolved, AttemptFailed, SessionStarted
from dwindle.kernel.model import ROOT, AtomId, Dispatch, Pace, Plan, Role, Status
from dwindle.kernel.pace import counted_end, crew_size, may_start, slots

A1, A2 = AtomId("A1"), AtomId("A2")
FOUR = "A1 A2 A3 A4"
REFILL = {"dispatch": Dispatch.REFILL}


def begun(plan: Plan) -> list[str]:
    return [action.atom for action in decide(plan).actions if isinstance(action, Work)]


def test_a_wave_starts_as_many_as_there_are_slots() -> None:
    wave = running(FOUR, max_parallel_agents=3)
    assert begun(wave) == ["A1", "A2", "A3"]
    assert begun(after(wave, started("A1"))) == ["A2", "A3"]
    assert begun(after(wave, started("A1"), started("A2"))) == ["A3"]


def test_refilling_starts_as_many_as_there_are_free_slots() -> None:
    plan = running(FOUR, max_parallel_agents=3, **REFILL)
    assert begun(plan) == ["A1", "A2", "A3"]
    assert begun(after(plan, started("A1"))) == ["A2", "A3"]
    busy = after(plan, started("A1"), started("A2"), started("A3"))
    assert decide(busy) == Decision(plan=busy, because="every slot is taken")
    assert begun(after(busy, AtomResolved(atom=A1, nonce=1, summary="s"))) == ["A4"]


def test_refilling_goes_on_into_the_next_iteration_if_there_is_one() -> None:
    """One of two starts of the iteration is used, and both slots are free again."""
    failed = AttemptFailed(atom=A1, nonce=1, reason="red")
    for iterations, starts in ((1, 1), (2, 2), (3, 2)):
        plan = running(FOUR, max_parallel_agents=2, max_iterations=iterations, **REFILL)
        again = after(plan, started("A1"), failed)
        assert (slots(again), len(begun(again))) == (starts, starts)
    whole = after(
        running(FOUR, max_parallel_agents=2, max_iterations=2, **REFILL),
        *(started("A1"), failed, started("A1"), replace(failed, nonce=3)),
    )
    assert slots(whole) == 2


def test_an_iteration_has_all_its_slots_also_after_a_wider_one() -> None:
    """A user lowered the width after three starts; one iteration is left."""
    plan = replace(
        running(FOUR, max_parallel_agents=2, max_iterations=1, **REFILL), pace=Pace(started=3)
    )
    assert (slots(plan), begun(plan)) == (2, ["A1", "A2"])


def test_a_verification_is_no_part_of_the_crew() -> None:
    done = with_atoms(running("A1"), A1={"status": Status.RESOLVED, "attempts": 1})
    judged = after(done, SessionStarted(atom=ROOT, role=Role.VERIFIER))
    assert (crew_size(done), crew_size(judged)) == (0, 0)
    assert judged.pace == Pace(advanced=True)


def test_without_sessions_a_wave_may_begin() -> None:
    idle = replace(running("A1"), pace=Pace(filling=False))
    assert may_start(idle)


@pytest.mark.parametrize(("forgiven", "charged"), [(False, True), (True, False)])
def test_one_session_of_a_generation_is_enough_to_charge_it(forgiven: bool, charged: bool) -> None:
    """A2 came later and is no part of it; both are ended at once, and A3 goes on."""
    plan = replace(
        after(running(FOUR, **REFILL), started("A1"), started("A3"), started("A2")),
        pace=Pace(filling=False, started=3, generation=(1, 2)),
    )
    left = replace(plan, sessions={a: s for a, s in plan.sessions.items() if a == "A3"})
    assert counted_end(plan, left, advanced=False, forgiven=forgiven).pace == Pace(
        filling=False, started=3, generation=(2,), charged=charged
    )
