"""The shape of values, and hints about names that are not known."""

from __future__ import annotations

from typing import Annotated

import msgspec

from dwindle.adapters.formats.graph.shape import closest, shaped
from dwindle.kernel.model import Problem


def test_what_the_field_by_field_look_does_not_find_is_said_by_the_converter() -> None:
    even = Annotated[int, msgspec.Meta(multiple_of=2)]
    assert shaped(3, even, ("a",)) == (
        None,
        (Problem(where=("a",), what="Expected `int` that's a multiple of 2"),),
    )


def test_hints_do_not_compare_what_nobody_could_have_mistyped() -> None:
    known = ("depends_on", "description")
    assert closest("Depends On", known) == "did you mean depends_on?"
    assert closest("depends_on" * 100_000, known) == "known: depends_on, description"
    assert closest(7, known) == "known: depends_on, description"
