"""Winds that look right and are not, and parking that does: planted, and caught.

As in `test_planted_rules.py`. Four are plain mistakes; four are the traps of a careless wind that
`winds.py` begins with.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.kernel.story import with_atoms, with_groups
from tests.kernel.test_planted_rules import Rule, plant, suite

from dwindle.kernel import decide, graph, winds
from dwindle.kernel.actions import Decision, Stop
from dwindle.kernel.measure import winds_left
from dwindle.kernel.model import AtomId, OrGroup, Plan, Status, StopCode

_begun = winds.begun


# --- the naive functions -------------------------------------------------------------------------


def forgives_again(plan: Plan, reason: str, at: str) -> Plan:
    after = _begun(plan, reason, at)
    return graph.evolve(after, spent=replace(after.spent, forgiven=0))


def redirects_again(plan: Plan, reason: str, at: str) -> Plan:
    after = _begun(plan, reason, at)
    return graph.evolve(after, spent=replace(after.spent, redirects=0))


def costs_nothing(plan: Plan, reason: str, at: str) -> Plan:
    after = _begun(plan, reason, at)
    return graph.evolve(after, spent=replace(after.spent, winds=plan.spent.winds))


def parked_ones_too(plan: Plan) -> tuple[AtomId, ...]:
    return (*graph.view(plan).ready, *graph.view(plan).exhausted)


def at_the_first_that_is_parked(plan: Plan) -> Decision | None:
    parked = winds.parked(plan)
    if plan.sessions or not parked:
        return None
    stop = Stop(code=StopCode.ATOM_EXHAUSTED, reason=f"{parked[0].name} has nothing left to try")
    return Decision(plan=plan, stop=stop, because=stop.reason)


def all_luck(_plan: Plan, _node: str) -> bool:
    return False


def attempts_for_the_parked(plan: Plan, reason: str, at: str) -> Plan:
    after = _begun(plan, reason, at)
    parked = [one.name for one in winds.parked(plan)]
    used = {n: replace(a, attempts=plan.atoms[n].attempts) for n, a in after.atoms.items()}
    return replace(after, atoms={n: a if n in parked else used[n] for n, a in after.atoms.items()})


def as_recorded(_plan: Plan, group: OrGroup) -> OrGroup:
    return group


def whatever_it_takes(plan: Plan) -> tuple[Plan, tuple[AtomId, ...]]:
    again = tuple(c for g in plan.groups.values() for c in g.failed)
    groups = {n: replace(g, failed=()) for n, g in plan.groups.items()}
    return replace(plan, groups=groups), again


def whenever_there_is_one(plan: Plan) -> bool:
    return winds_left(plan) > 0


# --- what files made of a plan -------------------------------------------------------------------

DONE = {"status": Status.RESOLVED, "attempts": 1}


def done_by_the_second(plan: Plan) -> Plan:
    """G1 is resolved by A2; its file still names A1, which failed by bad luck."""
    return with_groups(with_atoms(plan, A2=DONE), G1={"failed": (AtomId("A1"),)})


RULES = (
    Rule(
        name="W1",
        says="a wind forgives again",
        original=winds.begun,
        naive=forgives_again,
        plan="A1",
        suite=suite("interrupt", winds=1, forgiven=1),
        caught="WindBegan does not lower the measure",
    ),
    Rule(
        name="W1-redirects",
        says="after a wind a person has all redirects again",
        original=winds.begun,
        naive=redirects_again,
        plan="A1",
        suite=suite("objective", winds=1, redirects=1),
        caught="WindBegan does not lower the measure",
    ),
    Rule(
        name="W1-free",
        says="a wind costs nothing",
        original=winds.begun,
        naive=costs_nothing,
        plan="A1",
        suite=suite(winds=1),
        caught="WindBegan does not lower the measure",
    ),
    Rule(
        name="W2",
        says="what is parked may be started as well",
        original=winds.startable,
        naive=parked_ones_too,
        plan="A1 A2",
        suite=suite(winds=1),
        caught="refused: SessionStarted: A2 has no probe session left",
    ),
    Rule(
        name="W3",
        says="the run ends at the first atom that is parked",
        original=decide._given_up,
        naive=at_the_first_that_is_parked,
        plan="A1 A2",
        suite=suite(),
        caught="gave up while A2 was ready",
    ),
    Rule(
        name="W3-wind",
        says="the run ends at the first atom that is parked, whatever a wind would bring",
        original=decide._given_up,
        naive=at_the_first_that_is_parked,
        plan="A1",
        suite=suite(winds=1),
        caught="gave up with a wind left and A1 parked",
    ),
    Rule(
        name="W4",
        says="a wind reopens every way, also an infeasible one",
        original=winds.is_infeasible,
        naive=all_luck,
        plan="G1{A1|A2}",
        suite=suite("infeasible", winds=1),
        caught="a wind reopened A1, which was called infeasible",
    ),
    Rule(
        name="W5",
        says="after a wind, what was called infeasible is worked on",
        original=graph.tries_left,
        naive=graph.attempts_left,
        plan="A1",
        suite=suite("infeasible", winds=1),
        caught="A1 was called infeasible; only a probe may look at it",
    ),
    Rule(
        name="trap-reopened-without-attempts",
        says="a wind gives attempts to what is parked",
        original=winds.begun,
        naive=attempts_for_the_parked,
        plan="G1{A1|A2}",
        suite=suite(winds=1),
        caught="a wind reopened A1, and A1 has no fresh attempts",
    ),
    Rule(
        name="trap-resolved-group-taken-over",
        says="a group is what its record says",
        original=winds._recorded,
        naive=as_recorded,
        plan="G1{A1|A2} A3",
        suite=suite(winds=1),
        caught="a wind took G1 from A2, which was done",
        given=done_by_the_second,
    ),
    Rule(
        name="trap-no-fuel-to-write-it",
        says="whatever failed by bad luck is reopened",
        original=winds._with_choices_reopened,
        naive=whatever_it_takes,
        plan="G1{A1[A5 G2{A2|A3?}]|A4}",
        suite=suite("worker_grow", fuel=1, winds=1, backjumps=0),
        caught="fuel of an unwritten alternative was spent",
    ),
    Rule(
        name="trap-empty-wind",
        says="a wind begins whenever there is one left",
        original=winds.would_help,
        naive=whenever_there_is_one,
        plan="A1",
        suite=suite("infeasible", winds=1),
        caught="a wind began and nothing could start",
    ),
)


@pytest.mark.parametrize("rule", RULES, ids=[r.name for r in RULES])
def test_caught(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, rule.original, rule.naive)
    found = rule.found()
    assert found is not None, f"{rule.name} went unnoticed: {rule.says}"
    assert rule.caught in found.law


@pytest.mark.parametrize("rule", RULES, ids=[r.name for r in RULES])
def test_not_caught_without_it(rule: Rule) -> None:
    assert rule.found() is None
