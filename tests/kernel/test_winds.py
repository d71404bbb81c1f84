"""When a wind begins, what it gives back and what it leaves alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.kernel.story import (
    after,
    calm,
    refusal,
    started,
    unlucky_step,
    with_atoms,
    with_groups,
)

from dwindle.kernel import winds
from dwindle.kernel.actions import BeginWind, Stop, Work
from dwindle.kernel.decide import decide
from dwindle.kernel.events import (
    WindBegan,
)
from dwindle.kernel.measure import measure
from dwindle.kernel.model import (
    Atom,
    AtomId,
    Binding,
    Control,
    GroupId,
    OrGroup,
    RunStatus,
    Spent,
    Status,
    StopCode,
    TrailEntry,
    TrailType,
    Verification,
)

A1, A2, A3, A4 = (AtomId(f"A{n}") for n in (1, 2, 3, 4))
G1, G2 = GroupId("G1"), GroupId("G2")
DONE = {"status": Status.RESOLVED, "attempts": 1}
BEGIN = WindBegan(reason="r", at="now")
NOTE = TrailEntry(type=TrailType.WIND, attempt=1, reason="r", timestamp="now")
NO_MORE = "WindBegan: no wind may begin: something can still go on, or none would"


# --- when it begins -------------------------------------------------------------------------------


def test_a_wind_begins_when_only_parked_work_is_left() -> None:
    plan = with_atoms(calm("A1 A2"), A1={"attempts": 1})
    assert decide(plan).actions == (Work(atom=A2, because="A2 depends on nothing that is open"),)
    assert refusal(plan, BEGIN) == NO_MORE
    done = with_atoms(plan, A2=DONE)
    assert decide(done).actions == (BeginWind(because="only parked work is left: wind 1 of 3"),)


def test_a_wind_waits_for_what_is_in_flight() -> None:
    plan = after(
        with_atoms(calm("A1 A2", max_parallel_agents=2), A1={"attempts": 1}), started("A2")
    )
    assert decide(plan).because == "what is open waits for what is running"
    assert refusal(plan, BEGIN) == NO_MORE


def test_the_third_wind_says_that_it_doubles_the_attempts() -> None:
    plan = replace(with_atoms(calm("A1"), A1={"attempts": 1}), spent=Spent(created=1, winds=2))
    why = "only parked work is left: wind 3 of 3; 2 times the usual attempts"
    assert decide(plan).actions == (BeginWind(because=why),)
    assert after(plan, BEGIN).atoms == {A1: Atom(id=A1, description="A1", allowed=2)}


@pytest.mark.parametrize("limits", [{"max_winds": 0}, {"max_winds": 2}])
def test_no_wind_begins_without_one_left(limits: dict[str, int]) -> None:
    plan = with_atoms(calm("A1", **limits), A1={"attempts": 1})
    plan = replace(plan, spent=replace(plan.spent, winds=limits["max_winds"]))
    assert (winds.is_due(plan), decide(plan).actions) == (False, ())
    assert refusal(plan, BEGIN) == NO_MORE


def test_without_winds_what_is_parked_lets_the_rest_go_on() -> None:
    plan = with_atoms(calm("A1 A2 A3", max_winds=0), A1={"attempts": 1})
    tried = []
    while (decision := decide(plan)).stop is None:
        tried += [a.atom for a in decision.actions if isinstance(a, Work)]
        plan = unlucky_step(plan)
    assert tried == ["A2", "A3"]
    assert decision.because == (
        "A1 has nothing left to try (without a word on why); A2 has nothing left to try "
        "(last: red); A3 has nothing left to try (last: red)"
    )


def test_a_full_stall_count_pays_a_wind_once_nothing_runs() -> None:
    tired = with_atoms(
        calm("A1 A2", max_attempts=5, max_stall_count=2, max_parallel_agents=2),
        A1={"attempts": 2},
        A2={"attempts": 2},
    )
    tired = replace(tired, control=replace(tired.control, stall_count=2))
    why = "generations in a row that got nowhere: 2 (max_stall_count)"
    assert decide(tired).actions == (BeginWind(because=f"{why}: wind 1 of 3"),)
    begun = after(tired, BEGIN)
    assert begun.control == Control(status=RunStatus.RUNNING, revision=1)
    assert begun.atoms == tired.atoms  # they were not parked, and have attempts still

    busy = after(with_atoms(tired, A1={"attempts": 1}), started("A1"))
    assert decide(busy).because == f"{why}; a new wind waits for what is running"
    assert decide(busy).actions == ()


def test_a_stall_ends_the_run_where_no_wind_is_left() -> None:
    tired = with_atoms(calm("A1", max_attempts=5, max_stall_count=2), A1={"attempts": 2})
    tired = replace(
        tired, control=replace(tired.control, stall_count=2), spent=Spent(created=1, winds=3)
    )
    assert decide(tired).stop == Stop(
        code=StopCode.STALLED, reason="generations in a row that got nowhere: 2 (max_stall_count)"
    )


# --- what it gives back ---------------------------------------------------------------------------


def test_a_wind_refills_all_that_stands_right_of_it_but_fuel() -> None:
    plan = replace(
        with_groups(
            with_atoms(
                calm("G1{A1|A2} A3 A4", max_probes=1, max_attempts=3, max_atoms=0),
                A1={"attempts": 1, "probes": 1},
                A2={"attempts": 1, "probes": 1},
                A3={"attempts": 3, "probes": 1},
                A4={"status": Status.RESOLVED, "attempts": 2, "probes": 1},
            ),
            G1={"failed": (A1,), "selected": A2},
        ),
        spent=Spent(
            sessions=9,
            created=4,
            backjumps=1,
            winds=2,
            forgiven=4,
            redirects=5,
            verifications=2,
            seconds=7.5,
        ),
        bindings={A4: Binding(summary="four")},
        verification=Verification(rounds_without_gaps=2),
    )
    begun = after(plan, BEGIN)
    assert begun == replace(
        plan,
        atoms={
            A1: Atom(id=A1, description="A1", or_group=G1, allowed=2),
            A2: Atom(id=A2, description="A2", or_group=G1, allowed=2),
            A3: Atom(id=A3, description="A3", allowed=6),
            A4: plan.atoms[A4],
        },
        groups={G1: OrGroup(id=G1, choices=(A1, A2), selected=A2)},
        spent=replace(plan.spent, backjumps=0, winds=3, verifications=0),
        verification=Verification(),
        control=replace(plan.control, revision=1),
        pace=replace(plan.pace, advanced=True),
        trail=(replace(NOTE, attempt=3),),
    )
    before, now = measure(plan), measure(begun)
    assert now == before._replace(
        winds=0, rounds=3, backjumps=3, choices=2, attempts=2 * (2 + 1) + (6 + 1), undecided=5
    )
    assert (before.choices, before.attempts, before.undecided) == (1, 0, 4)


def test_an_atom_with_attempts_of_its_own_is_granted_multiples_of_them() -> None:
    plan = with_atoms(calm("A1", max_winds=7), A1={"max_attempts": 3, "attempts": 3})
    granted = []
    for number in range(7):
        spent = replace(plan.spent, winds=number)
        granted.append(after(replace(plan, spent=spent), BEGIN).atoms[A1].allowed)
    assert granted == [3, 3, 6, 3, 3, 6, 12]


def test_a_reopened_choice_has_attempts_in_all_its_leaves() -> None:
    """The trap: A3 and A4 stand under a choice that failed, and neither is parked."""
    plan = with_groups(
        with_atoms(
            calm("G1{A1[A3 A4]|A2}"), A2={"attempts": 1}, A3={"attempts": 1}, A4={"attempts": 1}
        ),
        G1={"failed": (A1,), "selected": A2},
    )
    begun = after(plan, BEGIN)
    assert {n: (a.attempts, a.allowed) for n, a in begun.atoms.items()} == {
        "A1": (0, None),
        "A2": (0, 1),
        "A3": (0, 1),
        "A4": (0, 1),
    }
    assert begun.groups[G1] == OrGroup(id=G1, choices=(A1, A2), selected=A2)


def test_a_resolved_group_keeps_the_choice_that_did_it() -> None:
    """The trap: the file records A1, which failed; A2 did it. Reopening A1 must not undo that."""
    plan = with_groups(
        with_atoms(calm("G1{A1|A2} A3"), A2=DONE, A3={"attempts": 1}), G1={"failed": (A1,)}
    )
    begun = after(plan, BEGIN)
    assert begun.groups == {G1: OrGroup(id=G1, choices=(A1, A2), selected=A2)}
    assert begun.atoms[A2] == plan.atoms[A2]


UNWRITTEN = with_groups(
    with_atoms(calm("G1{A1[G2{A3|A4?}]|A2}", max_atoms=1), A2={"attempts": 1}, A3={"attempts": 1}),
    G1={"failed": (A1,), "selected": A2},
)


@pytest.mark.parametrize(("fuel", "failed"), [(0, (A1,)), (1, ())])
def test_a_choice_stays_closed_without_the_fuel_for_what_is_below_it(
    fuel: int, failed: tuple[AtomId, ...]
) -> None:
    """The trap: to reopen A1 sets fuel aside for A4."""
    plan = replace(UNWRITTEN, spent=Spent(created=UNWRITTEN.limits.max_atoms - fuel))
    begun = after(plan, BEGIN)
    assert begun.groups[G1] == OrGroup(id=G1, choices=(A1, A2), selected=A2, failed=failed)
    assert begun.atoms[A3].attempts == (0 if fuel else 1)


def test_as_many_choices_are_reopened_as_there_is_fuel_for() -> None:
    """A1 and A2 failed, each with an unwritten alternative below it, and one can be written."""
    plan = with_groups(
        with_atoms(calm("G1{A1[G2{A4|A5?}]|A2[G3{A6|A7?}]|A3}", max_atoms=1), A3={"attempts": 1}),
        G1={"failed": (A1, A2), "selected": A3},
    )
    begun = after(plan, BEGIN)
    assert begun.groups[G1] == OrGroup(id=G1, choices=(A1, A2, A3), selected=A3, failed=(A2,))


def test_no_wind_begins_that_starts_nothing() -> None:
    """The trap: all that is left was called infeasible, and there is no probe to ask."""
    plan = with_atoms(calm("A1 A2<-A1"), A1={"attempts": 1, "infeasible": "gone"})
    assert (winds.is_due(plan), winds.would_help(plan)) == (False, False)
    assert refusal(plan, BEGIN) == NO_MORE
    assert decide(plan).stop == Stop(
        code=StopCode.ATOM_EXHAUSTED,
        reason="A1 has nothing left to try (last: gone; it holds up A2)",
    )


def test_what_some_file_left_resolved_under_a_failed_choice_is_to_be_done_again() -> None:
    plan = with_groups(
        with_atoms(calm("G1{A1[A3]|A2}"), A1=DONE, A3=DONE, A2={"attempts": 1}),
        G1={"failed": (A1,), "selected": A2},
    )
    plan = replace(plan, bindings={A1: Binding(summary="one"), A3: Binding(summary="three")})
    begun = after(plan, BEGIN)
    assert begun.bindings == {}
    assert [a.status for a in begun.atoms.values()] == [Status.PENDING] * 3
