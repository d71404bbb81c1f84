"""The tally of runs that went any way they could."""

from __future__ import annotations

import random
from itertools import islice

import pytest

from dwindle.kernel.decide import decide
from dwindle.kernel.errors import IllegalEvent
from dwindle.kernel.transitions import apply
from dwindle.surfaces.tally import Tally, work_left
from dwindle.testing.small_plans import small_plans
from dwindle.testing.suites import SUITES
from dwindle.testing.world import Suite, moves


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)
def test_the_most_work_is_known_without_adding_it_up_every_time(suite: Suite) -> None:
    chance = random.Random(suite.name)  # noqa: S311 - the same walks every time
    plans = small_plans(3, suite.limits(), speculative=suite.speculative, unwritten=suite.unwritten)
    for first in islice(plans, 30):
        plan, tally, most = first, Tally.begun(first, 0), work_left(first)
        for now in range(25):
            event = chance.choice([*moves(plan, decide(plan), suite), None])
            try:
                plan = plan if event is None else apply(plan, event)
            except IllegalEvent:
                continue
            if event is not None:
                tally = tally.after(plan, event, now)
                most = max(most, work_left(plan))
                in_flight = [session.nonce for session in plan.sessions.values()]
                assert (tally.most_work, sorted(tally.began)) == (most, sorted(in_flight))
