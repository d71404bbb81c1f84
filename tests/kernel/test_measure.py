"""The measure, the gauge and the bound on known plans, worked out by hand.

That they fall is a law (`test_laws.py`, the model checker, `proof/`); that they are what they are
said to be is held here, since a gauge that is off by a constant would still fall.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.kernel.story import after, running, started, with_atoms, with_groups

from dwindle.kernel.events import AttemptFailed, WindBegan
from dwindle.kernel.measure import (
    Measure,
    combinations_tried,
    fuel,
    gauge,
    largest_luby,
    luby,
    measure,
    rounds_left,
    session_bound,
    spare_fuel,
    winds_left,
)
from dwindle.kernel.model import (
    AtomId,
    Dispatch,
    Plan,
    PlanKind,
    RunStatus,
    Spent,
    Status,
    TrailEntry,
    TrailType,
)

A1, A2 = AtomId("A1"), AtomId("A2")
DONE = {"status": Status.RESOLVED, "attempts": 1}
SMALL = {
    "max_atoms": 2,
    "max_attempts": 2,
    "max_probes": 1,
    "max_verifications": 2,
    "max_redirects": 1,
    "max_forgiven": 3,
    "max_backjumps": 1,
    "max_winds": 0,
}


def test_every_part_of_the_measure_counts_what_it_says() -> None:
    plan = replace(
        running("A1[A2 A3] A4<-G1 G1{A5|A6|A7?}"),
        spent=Spent(
            created=8,
            redirects=1,
            forgiven=2,
            winds=4,
            verifications=1,
            backjumps=1,
            sessions=99,
        ),
    )
    assert measure(plan) == Measure(
        redirects=19,
        forgiven=48,
        winds=11,
        rounds=2,
        fuel=3,
        backjumps=2,
        choices=3,
        attempts=3 * (3 + 1) + 2 * (1 + 1),
        undecided=6 + 1 + 1,
        in_flight=0,
        running=1,
    )
    assert (fuel(plan), spare_fuel(plan), rounds_left(plan), winds_left(plan)) == (3, 2, 2, 11)


def test_what_is_resolved_or_buried_counts_no_more() -> None:
    plan = with_groups(
        with_atoms(running("A3 G1{A1[A4 A5]|A2}"), A3=DONE), G1={"failed": (A1,), "selected": A2}
    )
    now = measure(replace(plan, control=replace(plan.control, status=RunStatus.STOPPED)))
    assert now == Measure(20, 50, 15, 3, 5, 3, 1, 2, 1 + 1 + 1, 0, 0)


def test_sessions_in_flight_are_charged_and_counted() -> None:
    busy = after(running("A1 A2"), started("A1"), started("A2"))
    assert measure(busy) == Measure(20, 50, 15, 3, 5, 3, 0, 6, 3, 2, 1)


def test_the_gauge_is_a_weighted_sum() -> None:
    """Per atom 2 x (2 + 1) = 6, so fuel weighs 9, a backjump 3 x 8 + 1, a redirect all of it."""
    plan = running("A1", **SMALL)
    assert plan.limits.max_atoms == 3
    backjump = 3 * 8 + 1
    redirect = 10 * 3 + backjump * 1 + 2 * 2 + 2 * 3 + 3
    assert gauge(plan) == redirect + 2 * 3 + 2 * 2 + 9 * 2 + backjump + 0 + 2 * 3 + 2 + 0 + 1
    started_one = after(plan, started("A1"))
    assert gauge(started_one) == gauge(plan) - 2 + 1


def test_the_gauge_does_not_move_when_a_run_rests_and_goes_on() -> None:
    """Seen from outside, going on would otherwise raise it by one."""
    plan = running("A1", **SMALL)
    heights = {
        status: gauge(replace(plan, control=replace(plan.control, status=status)))
        for status in RunStatus
    }
    rest = {status: height for status, height in heights.items() if status != "completed"}
    assert set(rest.values()) == {gauge(plan)}
    assert heights[RunStatus.COMPLETED] == gauge(plan) - 1


def test_one_attempt_each_makes_for_the_smallest_weights() -> None:
    plan = running("A1", **{**SMALL, "max_attempts": 1, "max_verifications": 3})
    backjump = 3 * 6 + 1
    redirect = 8 * 3 + backjump + 2 * 3 + 2 * 3 + 3
    assert gauge(plan) == redirect + 2 * 3 + 2 * 3 + 7 * 2 + backjump + 2 * 2 + 2 + 1


def test_agents_may_give_a_node_of_a_tree_ten_attempts() -> None:
    """One planning session weighs what it may give back; a new node brings one, too."""
    plan = replace(running("A1", **SMALL), kind=PlanKind.TREE)
    planning, fuel_weight = 2 * 10, 25 + 2 * 10
    redirect = (fuel_weight + 1) * 3 + planning + 2 * 2 + 2 * 3 + 3
    assert gauge(plan) == redirect + 2 * 3 + 2 * 2 + fuel_weight * 2 + planning + 2 * 3 + 2 + 1


def test_an_atom_with_more_attempts_of_its_own_makes_every_weight_bigger() -> None:
    plan = with_atoms(running("A1", **SMALL), A1={"max_attempts": 4})
    backjump = 3 * 12 + 1
    redirect = 14 * 3 + backjump + 2 * 2 + 2 * 3 + 3
    assert gauge(plan) == redirect + 2 * 3 + 2 * 2 + 13 * 2 + backjump + 2 * 5 + 2 + 1


def test_winds_weigh_what_they_refill() -> None:
    """The third of three winds doubles the attempts, so that an atom weighs 2 x (4 + 1) = 10."""
    plan = running("A1", **{**SMALL, "max_winds": 3})
    backjump = 3 * 12 + 1
    refilled = backjump * 1 + 2 * 2
    wind = 3 * 13 + refilled + 2
    redirect = 14 * 3 + refilled + wind * 3 + 2 * 3 + 3
    assert gauge(plan) == (
        redirect + 2 * 3 + wind * 3 + 2 * 2 + 13 * 2 + backjump + 0 + 2 * 3 + 2 + 0 + 1
    )
    later = replace(plan, spent=replace(plan.spent, winds=2))
    assert gauge(later) == gauge(plan) - 2 * wind
    lucky = with_atoms(plan, A1={"allowed": 9})
    assert gauge(lucky) == gauge(with_atoms(running("A1", **SMALL), A1={"max_attempts": 9})) + (
        3 * gauge_of_a_wind(most=9) + 3 * gauge_of_a_wind(most=9)
    )


def gauge_of_a_wind(most: int) -> int:
    """In a plan of three atoms at most, with one backjump and two rounds."""
    atom = 2 * (most + 1)
    return 3 * (atom + 3) + 3 * (atom + 2) + 1 + 2 * 2 + 2


@pytest.mark.parametrize(
    ("plan", "bound"),
    [
        # one atom, nothing but its attempts, its probe, and one round
        (running("A1", **{**SMALL, "max_atoms": 0, "max_forgiven": 0, "max_verifications": 1}), 4),
        # the pool gives three back, and there are two rounds
        (running("A1", **{**SMALL, "max_atoms": 0}), 3 + 2 + 3),
        # two more atoms, and one backjump that the second could bring: it buries one of the three
        (running("A1", **SMALL), 3 + 2 * 3 + 2 + 3 + 2 * (1 + 2 - 1)),
        # without backjumps
        (running("A1", **{**SMALL, "max_backjumps": 0}), 3 + 2 * 3 + 2 + 3),
        # a group and a dependent: the backjump refills all but the leaf that it buries
        (
            running("A3<-G1 G1{A1|A2}", **{**SMALL, "max_atoms": 0}),
            (2 + 2 + 3) + 2 + 3 + (1 + 1 + 2 - 1),
        ),
        # what is resolved may be reopened, and brings its unused probe along
        (
            with_atoms(running("A3<-G1 G1{A1|A2}", **{**SMALL, "max_atoms": 0}), A1=DONE),
            (2 + 3) + 2 + 3 + (1 + 1 + 2 - 1) + 1,
        ),
        # three backjumps at most, and the third finds nothing left to refill
        (
            running(
                "G1{A1|A2?|A3?}",
                **{**SMALL, "max_probes": 0, "max_forgiven": 0, "max_backjumps": 5},
            ),
            1 + 2 * 2 + 2 + (2 * 2 + 2 * 1 + 0),
        ),
        # inner atoms are never worked on, and no choice under a failed one is turned back to
        (
            with_groups(
                running(
                    "A5[A6] G1{A1[G2{A3|A4}]|A2}", **{**SMALL, "max_atoms": 0, "max_forgiven": 0}
                ),
                G1={"failed": (A1,), "selected": A2},
            ),
            (3 + 2) + 2,
        ),
        # a choice that has failed is gone for good, and there is nothing to turn back to
        (
            with_groups(
                running("A3<-G1 G1{A1|A2}", **{**SMALL, "max_atoms": 0}),
                G1={"failed": (A1,), "selected": A2},
            ),
            (2 + 3) + 2 + 3,
        ),
        # a wind brings attempts and the probe, both rounds, and a backjump that refills nothing
        (running("A1", **{**SMALL, "max_atoms": 0, "max_winds": 1}), 3 + 2 + 3 + (3 + 2 + 0)),
        # two winds, with backjumps that may bury one of two atoms of two attempts
        (
            running("A1 A2", **{**SMALL, "max_atoms": 0, "max_winds": 2}),
            6 + 2 + 3 + 2 * (2 * 3 + 2 + 2),
        ),
        # the third wind doubles the attempts of all that there may be, and so of all winds
        (
            running("A1 A2", **{**SMALL, "max_atoms": 0, "max_winds": 3}),
            6 + 2 + 3 + 3 * (2 * 5 + 2 + 4),
        ),
        # one is used up
        (
            replace(
                running("A1", **{**SMALL, "max_atoms": 0, "max_winds": 2}),
                spent=Spent(created=1, winds=1),
            ),
            3 + 2 + 3 + (3 + 2 + 0),
        ),
    ],
)
def test_the_bound_by_what_is_left(plan: Plan, bound: int) -> None:
    assert session_bound(plan) == bound


def test_the_bound_by_iterations() -> None:
    """Two batches of two, three rounds, and what the pool may give back."""
    few = {"max_iterations": 2, "max_parallel_agents": 2, "max_forgiven": 1, "max_winds": 0}
    wave = running("A1 A2 A3", **few)
    assert session_bound(wave) == 2 * 2 + 3 + 1
    begun = after(wave, started("A1"))
    assert session_bound(begun) == 1 * 2 + 1 + 3 + 1
    full = after(begun, started("A2"))
    assert session_bound(full) == 1 * 2 + 0 + 3 + 1
    closing = after(begun, AttemptFailed(atom=A1, nonce=1, reason="r"))
    assert session_bound(closing) == 1 * 2 + 3 + 1
    refill = running("A1 A2 A3", dispatch=Dispatch.REFILL, **few)
    assert session_bound(refill) == 2 * 2 + 3 + 1
    one = after(refill, started("A1"), AttemptFailed(atom=A1, nonce=1, reason="r"))
    assert session_bound(one) == 1 * 2 + 1 + 3 + 1
    two = after(one, started("A1"))
    assert session_bound(two) == 1 * 2 + 3 + 1


def test_winds_bring_rounds_and_no_iterations() -> None:
    few = {"max_iterations": 2, "max_parallel_agents": 2, "max_forgiven": 1}
    assert session_bound(running("A1 A2 A3", max_winds=2, **few)) == 2 * 2 + (3 + 2 * 3) + 1


def test_a_wind_begins_and_the_bound_and_the_gauge_fall() -> None:
    plan = after(
        running("A1", **{**SMALL, "max_atoms": 0, "max_probes": 0, "max_winds": 2}),
        *(started("A1"), AttemptFailed(atom=A1, nonce=1, reason="r")),
        *(started("A1"), AttemptFailed(atom=A1, nonce=3, reason="r")),
    )
    begun = after(plan, WindBegan(reason="r"))
    assert measure(plan) == Measure(1, 3, 2, 2, 0, 1, 0, 0, 2, 0, 1)
    assert measure(begun) == Measure(1, 3, 1, 2, 0, 1, 0, 2, 2, 0, 1)
    wind = 2 + 2 + 0
    assert session_bound(plan) == 0 + 2 + 3 + 2 * wind
    assert session_bound(begun) == 2 + 2 + 3 + 1 * wind
    assert gauge(plan) - gauge(begun) == (1 * (4 + 3) + (4 + 2) + 1 + 2 * 2 + 2) - 2 * 2


def test_luby_numbers_are_those_of_the_recipe() -> None:
    """Each block is the one before it twice, and then a number twice as large."""
    block = [1]
    while len(block) < 500:
        block = [*block, *block, 2 * block[-1]]
    assert block[:15] == [1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8]
    assert [luby(number) for number in range(1, len(block) + 1)] == block


def test_the_largest_of_the_first_luby_numbers() -> None:
    most = [max((luby(number) for number in range(1, n + 1)), default=1) for n in range(300)]
    assert [largest_luby(n) for n in range(300)] == most


def test_combinations_are_counted_by_failed_choices() -> None:
    plan = running("G1{A1|A2} G2{A3|A4|A5}")
    assert combinations_tried(plan) == 1
    assert combinations_tried(with_groups(plan, G1={"failed": (A1,)})) == 2
    assert combinations_tried(with_groups(plan, G1={"failed": (A1, A2)})) == 2
    tried = TrailEntry(type=TrailType.FAILURE, atom="A4", attempt=1, reason="red", timestamp="t")
    assert combinations_tried(replace(plan, trail=(tried, tried))) == 2  # taken back by a wind
