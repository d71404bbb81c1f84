"""The tally of runs that went any way they could."""

from __future__ import annotations

import random
from itertools import islice

import pytest
from tests.model.small_plans import small_plans
from tests.model.suites import SUITES
from tests.model.world import Suite, moves

from dwindle.kernel.decide import decide
from dwindle.kernel.errors import IllegalEvent
from dwindle.kernel.transitions import apply
from dwindle.views.read_model.live_stats import LiveStats, work_left


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)
def test_the_most_work_is_known_without_adding_it_up_every_time(suite: Suite) -> None:
    chance = random.Random(suite.name)  # noqa: S311 - the same walks every time
    plans = small_plans(3, suite.limits(), speculative=suite.speculative, unwritten=suite.unwritten)
    for first in islice(plans, 30):
        plan, stats, most = first, LiveStats.at_start(first, 0), work_left(first)
        for now in range(25):
            event = chance.choice([*moves(plan, decide(plan), suite), None])
            try:
                plan = plan if event is None else apply(plan, event)
            except IllegalEvent:
                continue
            if event is not None:
                stats = stats.after(plan, event, now)
                most = max(most, work_left(plan))
                in_flight = [session.nonce for session in plan.sessions.values()]
                assert (stats.most_work, sorted(stats.began)) == (most, sorted(in_flight))
