"""Who stands under whom: the whole shape of one plan, and the two ways to walk it."""

from __future__ import annotations

from tests.kernel.story import running

from dwindle.kernel.model import ROOT
from dwindle.kernel.shape import Shape, chain, shape_of, subtree

FOUND = shape_of(running("A1[A2 G1{A3|A4[A5 A6<-A5]|A7?}] A8<-A3,A4"))


def test_a_group_stands_where_its_choices_stand() -> None:
    assert (
        Shape(
            parent={
                "G1": "A1",
                "A3": "G1",
                "A4": "G1",
                "A7": "G1",
                "A1": ROOT,
                "A2": "A1",
                "A5": "A4",
                "A6": "A4",
                "A8": ROOT,
            },
            kids={
                ROOT: ("A1", "A8"),
                "G1": ("A3", "A4", "A7"),
                "A1": ("A2", "G1"),
                "A4": ("A5", "A6"),
            },
            needs={"A6": ("A5",), "A8": ("G1",)},
            waiters={"A5": ("A6",), "G1": ("A8",)},
            place={f"A{n}": i for i, n in enumerate((1, 2, 3, 4, 5, 6, 8))},
            group_of={"A3": "G1", "A4": "G1", "A7": "G1"},
        )
        == FOUND
    )


def test_up_to_the_root() -> None:
    assert list(chain(FOUND, "A5")) == ["A5", "A4", "G1", "A1", ROOT]
    assert list(chain(FOUND, ROOT)) == [ROOT]


def test_down_to_the_leaves_in_order() -> None:
    assert list(subtree(FOUND, ROOT)) == [
        *(ROOT, "A1", "A2", "G1", "A3", "A4", "A5", "A6", "A7", "A8")
    ]
    assert list(subtree(FOUND, "A8")) == ["A8"]
