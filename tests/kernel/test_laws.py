"""Random walks: whatever the runner, the agents and people do, the laws hold at every step.

The model checker walks every small plan in full and in few directions at once; here walks are
longer, plans are bigger, and everything that may happen is switched on together.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.model.invariants import violations
from tests.model.small_plans import plan_from, small_plans
from tests.model.world import MAY_BE_REFUSED, Suite, moves

from dwindle.kernel.actions import Probe, Work
from dwindle.kernel.decide import decide
from dwindle.kernel.errors import IllegalEvent
from dwindle.kernel.explain import waiting as waiting_of
from dwindle.kernel.graph import view
from dwindle.kernel.model import Dispatch, Plan, Status
from dwindle.kernel.transitions import apply

EVERYTHING = (
    "infeasible",
    "grow",
    "worker_grow",
    "late",
    "interrupt",
    "rate",
    "gaps",
    "nothing_judged",
    "ask",
    "stop",
    "pause",
    "lost",
    "objective",
    "add",
    "remove",
    "force",
    "retry",
    "rewrite",
    "limits",
    "override",
)
GENEROUS = Suite(
    name="everything at once",
    happens=EVERYTHING,
    attempts=2,
    probes=1,
    rounds=3,
    redirects=3,
    forgiven=2,
    fuel=4,
    backjumps=2,
    width=2,
)
SUITES = (
    GENEROUS,
    replace(GENEROUS, name="in waves", dispatch=Dispatch.WAVE, stalls=3),
    replace(GENEROUS, name="checked early", happens=(*EVERYTHING, "early"), iterations=6),
    replace(GENEROUS, name="second winds", happens=EVERYTHING, winds=2, rounds=2, redirects=1),
    replace(
        GENEROUS, name="winds alone", happens=EVERYTHING, winds=3, fuel=0, forgiven=0, redirects=0
    ),
    replace(GENEROUS, name="poor", fuel=0, forgiven=0, rounds=1, attempts=1, width=3, redirects=1),
    Suite(name="agents alone", happens=EVERYTHING[:6], fuel=3, probes=1, backjumps=3, width=2),
)
DRAWN = (
    "A1[A2 A3<-A2] A4<-A1",
    "A5<-G1,G2 G1{A1|A2} G2{A3|A4}",
    "G1{A1|A2|A6} G2{A3<-G1|A4<-G1} A5<-G2",
    "G1{A1[G2{A2|A3}]|A4} A5<-G1",
    "A4<-G1 G1~{A1|A2|A3}",
    "A5[A1[G1~{A2[A6 A7]|A3}] A4<-A1]",
    "A3<-G1 G1{A1|A2?} G2~{A4|A5?}",
    "A1[A2[A3 A4]<-G1 A5] G1{A6|A7} A8<-A2",
)
SMALL = tuple(small_plans(3, GENEROUS.limits(), dependencies=2))


@st.composite
def starts(draw: st.DrawFn) -> tuple[Plan, Suite]:
    suite = draw(st.sampled_from(SUITES))
    limits = suite.limits()
    if draw(st.booleans()):
        plan = draw(st.sampled_from(SMALL))
        return replace(plan, limits=replace(limits, max_atoms=limits.max_atoms + 3)), suite
    limits = replace(limits, max_atoms=limits.max_atoms + 2)  # for the unwritten ones
    return plan_from(draw(st.sampled_from(DRAWN)), limits), suite


@given(start=starts(), data=st.data())
def test_property_the_laws_hold_on_every_walk(
    start: tuple[Plan, Suite], data: st.DataObject
) -> None:
    plan, suite = start
    for _ in range(40):
        decision = decide(plan)
        assert decision == decide(replace(plan))
        assert_everything_is_explained(plan)
        events = list(moves(plan, decision, suite))
        if not events:
            return
        event = events[data.draw(st.integers(0, len(events) - 1))]
        before = replace(plan)
        try:
            after = apply(plan, event)
        except IllegalEvent:
            assert isinstance(event, MAY_BE_REFUSED)
            assert plan == before
            continue
        assert plan == before
        assert list(violations(plan, event, after)) == []
        plan = after


def assert_everything_is_explained(plan: Plan) -> None:
    """Each action says why it is wanted, and each open atom that none starts why it is not."""
    decision = decide(plan)
    assert all(action.because for action in decision.actions)
    assert decision.actions or decision.because
    seen = view(plan)
    begun = [a.atom for a in decision.actions if isinstance(a, Work | Probe)]
    idle = [
        name
        for name, atom in plan.atoms.items()
        if atom.status is not Status.RESOLVED and name not in seen.buried and name not in begun
    ]
    assert list(waiting_of(decision)) == idle
    assert all(waiting_of(decision).values())


@pytest.mark.parametrize("text", DRAWN)
def test_a_run_in_which_all_goes_well_completes(text: str) -> None:
    """The first thing that may happen to a session is that it succeeds."""
    suite = replace(GENEROUS, name="all goes well", happens=(), runner_first=True)
    limits = suite.limits()
    plan = plan_from(text, replace(limits, max_atoms=limits.max_atoms + 2))
    for _ in range(100):
        event = next(moves(plan, decide(plan), suite), None)
        if event is None:
            break
        plan = apply(plan, event)
    assert plan.control.stop_code == "completed"
    assert view(plan).open_count == 0


@pytest.mark.nightly
def test_the_laws_hold_on_many_long_walks() -> None:
    """Twenty thousand walks of up to 80 events, each known by its number."""
    for number in range(20_000):
        dice = Random(number)  # noqa: S311 - dice, no secrets
        suite = dice.choice(SUITES)
        limits = suite.limits()
        text = dice.choice(DRAWN)
        plan = plan_from(text, replace(limits, max_atoms=limits.max_atoms + 2))
        for _ in range(80):
            events = list(moves(plan, decide(plan), suite))
            if not events:
                break
            event = dice.choice(events)
            try:
                after = apply(plan, event)
            except IllegalEvent:
                assert isinstance(event, MAY_BE_REFUSED), f"walk {number}"
                continue
            assert list(violations(plan, event, after)) == [], f"walk {number}"
            plan = after
