"""Two kinds of mistake, each with its facts; and the law that guards the measure."""

from __future__ import annotations

import pytest

from dwindle.kernel.errors import IllegalEvent, KernelError, NotDwindling
from dwindle.kernel.events import Event, RunStarted, Settled, Waited
from dwindle.kernel.measure import Measure
from dwindle.kernel.model import Problem
from dwindle.kernel.transitions import assert_dwindled

SAME = Measure(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)
LESS = SAME._replace(undecided=0)
ENDED = SAME._replace(running=0)


def test_an_illegal_event_says_what_why_and_every_problem() -> None:
    problems = (Problem(where=(), what="one thing"), Problem(where=(), what="another"))
    error = IllegalEvent(Settled(), "it cannot be", problems)
    assert str(error) == "Settled: it cannot be; one thing; another"
    assert (error.event, error.reason, error.problems) == (Settled(), "it cannot be", problems)
    assert isinstance(error, KernelError)


def test_a_measure_that_does_not_dwindle_shows_both() -> None:
    error = NotDwindling(Settled(), (1, 2), (1, 3))
    assert str(error) == "Settled does not lower the measure: (1, 2) -> (1, 3)"
    assert (error.event, error.before, error.after) == (Settled(), (1, 2), (1, 3))
    assert isinstance(error, KernelError)


@pytest.mark.parametrize(
    ("before", "after", "event", "fenced"),
    [
        (SAME, LESS, Settled(), False),
        (SAME, SAME, Settled(), True),
        (SAME, SAME, Waited(), False),
        (ENDED, SAME, RunStarted(), False),
        (SAME, SAME, RunStarted(), False),
    ],
)
def test_what_the_law_allows(before: Measure, after: Measure, event: Event, fenced: bool) -> None:
    assert_dwindled(before, after, event, fenced=fenced)


@pytest.mark.parametrize(
    ("before", "after", "event", "fenced"),
    [
        (SAME, SAME, Settled(), False),
        (LESS, SAME, Settled(), False),
        (SAME, LESS, Settled(), True),
        (SAME, LESS, Waited(), False),
        (SAME, LESS, RunStarted(), False),
        (SAME, SAME._replace(fuel=0, attempts=-1), Settled(), False),
    ],
)
def test_what_the_law_refuses(before: Measure, after: Measure, event: Event, fenced: bool) -> None:
    with pytest.raises(NotDwindling) as refused:
        assert_dwindled(before, after, event, fenced=fenced)
    assert (refused.value.before, refused.value.after) == (before, after)
