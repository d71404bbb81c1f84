"""The printed bound against the truth: the longest run there can be, found by trying them all.

For a few small plans every run is walked to its end, memoised, and the greatest number of
sessions that any of them starts is compared with what `session_bound` promised at the outset. The
ratio is printed (`pytest -rP`) and not asserted: a bound may be generous, but never wrong. Seen
so far: exact (1.00) for single atoms and for chains, 1.14 to 1.33 with one group, up to 1.67 with
two, up to 1.86 with growth, and up to 1.71 with winds.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from tests.model.model_check import state_key
from tests.model.small_plans import drawn, plan_from, small_plans
from tests.model.world import Suite, moves

from dwindle.kernel.decide import decide
from dwindle.kernel.errors import IllegalEvent
from dwindle.kernel.events import Event, SessionStarted
from dwindle.kernel.measure import session_bound
from dwindle.kernel.model import Dispatch, Plan
from dwindle.kernel.transitions import apply


def longest_run(plan: Plan, suite: Suite) -> int:
    """The most sessions that can still be started, whatever happens: depth first, memoised."""
    known: dict[object, int] = {}
    stack = [Walk.of(plan, suite)]
    while True:
        walk = stack[-1]
        if not walk.todo:
            known[walk.key] = walk.most
            stack.pop()
            if not stack:
                return walk.most
            above = stack[-1]
            above.most = max(above.most, walk.most + above.price)
            continue
        event = walk.todo.pop()
        try:
            after = apply(walk.plan, event)
        except IllegalEvent:
            continue
        walk.price = isinstance(event, SessionStarted)
        key = state_key(after, suite)
        if key in known:
            walk.most = max(walk.most, known[key] + walk.price)
        elif key != walk.key:  # a late report changes nothing
            stack.append(Walk.of(after, suite))


@dataclass
class Walk:
    """A state on the way, and what may still happen in it."""

    plan: Plan
    key: object
    todo: list[Event]
    most: int = 0
    price: int = 0

    @classmethod
    def of(cls, plan: Plan, suite: Suite) -> Walk:
        todo = list(moves(plan, decide(plan), suite))
        return cls(plan=plan, key=state_key(plan, suite), todo=todo)


ONE = Suite(name="one attempt", backjumps=2)
TWO = Suite(name="two attempts", attempts=2, backjumps=1, width=2)
GROWING = Suite(name="growth", probes=1, fuel=2, rounds=2, happens=("grow", "gaps"))
PROPOSING = Suite(name="workers propose", fuel=1, width=2, happens=("worker_grow", "infeasible"))
FORGIVING = Suite(name="forgiven", forgiven=2, happens=("rate", "interrupt", "nothing_judged"))
BRIEF = Suite(
    name="few waves", attempts=3, iterations=2, width=2, dispatch=Dispatch.WAVE, forgiven=1,
    happens=("interrupt",),
)  # fmt: skip
WINDS = Suite(name="winds", winds=2, backjumps=1, happens=("infeasible",))
DOUBLED = Suite(name="the third wind doubles", winds=3, probes=1, happens=("infeasible",))
RUNS = [
    ("A1", ONE),
    ("A1", TWO),
    ("A1", GROWING),
    ("A1", FORGIVING),
    ("A1 A2", BRIEF),
    ("A1 A2<-A1", TWO),
    ("A1 A2", PROPOSING),
    ("G1{A1|A2}", ONE),
    ("G1{A1|A2}", GROWING),
    ("A3<-G1 G1{A1|A2}", ONE),
    ("A3<-G1 G1{A1|A2}", TWO),
    ("A3<-G1 G1{A1|A2}", FORGIVING),
    ("A4<-A3 A3<-G1 G1{A1|A2}", ONE),
    ("A3<-G1 G1~{A1|A2}", ONE),
    ("A5<-G1,G2 G1{A1|A2} G2{A3|A4}", ONE),
    ("G1{A1|A2} G2{A3<-G1|A4<-G1}", ONE),
    ("A1", DOUBLED),
    ("A1 A2", WINDS),
    ("G1{A1|A2}", WINDS),
    ("A3<-G1 G1{A1|A2}", WINDS),
    ("A3<-G1 G1~{A1|A2}", WINDS),
]


@pytest.mark.parametrize(("text", "suite"), RUNS, ids=lambda part: getattr(part, "name", part))
def test_no_run_is_longer_than_the_bound(text: str, suite: Suite) -> None:
    plan = plan_from(text, suite.limits())
    longest, bound = longest_run(plan, suite), session_bound(plan)
    print(f"{text} ({suite.name}): {longest} of {bound}, {bound / longest:.2f}")  # noqa: T201
    assert 0 < longest <= bound


@pytest.mark.parametrize("suite", [ONE, TWO, FORGIVING], ids=lambda suite: suite.name)
def test_no_run_of_any_plan_of_three_atoms_is_longer(suite: Suite) -> None:
    for plan in small_plans(3, suite.limits()):
        assert 0 < longest_run(plan, suite) <= session_bound(plan), drawn(plan)
