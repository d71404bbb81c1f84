"""The kernel's own `replace` does what the one of the standard library does."""

from __future__ import annotations

import dataclasses

import pytest

from dwindle.kernel import changed
from dwindle.kernel.graph import view
from dwindle.kernel.model import Limits
from dwindle.testing.small_plans import plan_from

PLAN = plan_from("A B", Limits())


def test_it_gives_the_same_record_with_other_values() -> None:
    limits = Limits(max_iterations=7)
    assert changed.replace(PLAN, limits=limits) == dataclasses.replace(PLAN, limits=limits)
    assert changed.replace(limits, max_depth=2) == Limits(max_iterations=7, max_depth=2)
    assert limits == Limits(max_iterations=7)


def test_what_was_known_of_the_old_record_is_not_taken_over() -> None:
    view(PLAN)
    assert PLAN.view_cache is not None
    assert changed.replace(PLAN).view_cache is None


def test_a_field_that_is_not_there_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^Limits has no max_luck, max_fun$"):
        changed.replace(Limits(), max_luck=1, max_fun=2)  # type: ignore[call-arg]


def test_what_is_worked_out_cannot_be_handed_in() -> None:
    with pytest.raises(TypeError, match=r"^Plan has no view_cache$"):
        changed.replace(PLAN, view_cache=None)
