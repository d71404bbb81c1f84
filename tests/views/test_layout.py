"""However a plan is made: boxes stand apart, and no line runs through one."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from dwindle.views.layout.layout import layout, nodes_of, path
from dwindle.views.layout.parts import Box, BoxKind, Layout, LayoutNode, Link, Polyline
from dwindle.views.read_model.shapes import NodeView


@st.composite
def graphs(draw: st.DrawFn, most: int = 18) -> list[LayoutNode]:
    """Any forest of atoms and groups with any dependencies, forbidden ones included."""
    names = [f"A{n}" for n in range(draw(st.integers(0, most)))]
    made = []
    for at, name in enumerate(names):
        parent = draw(st.none() | st.sampled_from(names[:at])) if at else None
        needs = draw(st.lists(st.sampled_from(names), max_size=3))
        kind = draw(st.sampled_from(BoxKind))
        made.append(LayoutNode(name, parent, tuple(needs), kind))
    return draw(st.permutations(made))


def overlapping(drawn: Layout) -> list[tuple[str, str]]:
    return [
        (a.id, b.id)
        for at, a in enumerate(drawn.boxes)
        for b in drawn.boxes[:at]
        if a.x < b.x + b.width
        and b.x < a.x + a.width
        and a.y < b.y + b.height
        and b.y < a.y + a.height
    ]


def crossed(drawn: Layout) -> list[tuple[str, str, str]]:
    """Lines that touch the inside or the border of a box where they neither begin nor end."""
    return [
        (line.source, line.target, box.id)
        for line in drawn.lines
        for box in drawn.boxes
        if any(_meets(box, *piece) for piece in pairwise(line.points))
        and not _ends_there(line, box)
    ]


def _ends_there(line: Polyline, box: Box) -> bool:
    """It may touch the side it begins or ends at, and nothing else."""
    if box.id not in (line.source, line.target):
        return False
    return not any(_enters(box, *piece) for piece in pairwise(line.points))


def _meets(box: Box, a: tuple[float, float], b: tuple[float, float]) -> bool:
    return (
        min(a[0], b[0]) <= box.x + box.width
        and max(a[0], b[0]) >= box.x
        and min(a[1], b[1]) <= box.y + box.height
        and max(a[1], b[1]) >= box.y
    )


def _enters(box: Box, a: tuple[float, float], b: tuple[float, float]) -> bool:
    return (
        min(a[0], b[0]) < box.x + box.width
        and max(a[0], b[0]) > box.x
        and min(a[1], b[1]) < box.y + box.height
        and max(a[1], b[1]) > box.y
    )


def stray(drawn: Layout) -> list[object]:
    """What leaves the sheet, and lines with a piece that is neither level nor upright."""
    inside = Box("", BoxKind.ATOM, 0, 0, drawn.width, drawn.height)
    out: list[object] = [
        box for box in drawn.boxes if not (_meets(inside, (box.x, box.y), (box.x, box.y)))
    ]
    out += [
        line
        for line in drawn.lines
        if any(not _meets(inside, p, p) for p in line.points)
        or any(a[0] != b[0] and a[1] != b[1] for a, b in pairwise(line.points))
    ]
    return out


@given(graphs())
def test_property_boxes_stand_apart_and_no_line_runs_through_one(nodes: list[LayoutNode]) -> None:
    drawn = layout(nodes)
    assert [box.id for box in drawn.boxes] == [node.id for node in nodes]
    assert overlapping(drawn) == []
    assert crossed(drawn) == []
    assert stray(drawn) == []
    _is_joined_from_side_to_side(nodes, drawn)
    _is_left_of_its_parts(nodes, drawn)
    _lie_apart(drawn)


def _is_joined_from_side_to_side(nodes: list[LayoutNode], drawn: Layout) -> None:
    boxes = {box.id: box for box in drawn.boxes}
    wanted = {(n.parent, n.id) for n in nodes if n.parent is not None}
    wanted |= {(need, n.id) for n in nodes for need in n.needs if need != n.id}
    assert {(line.source, line.target) for line in drawn.lines} == wanted
    for line in drawn.lines:
        source, target = boxes[line.source], boxes[line.target]
        (x, y), (end_x, end_y) = line.points[0], line.points[-1]
        assert x == source.x + source.width
        assert source.y < y < source.y + source.height
        assert end_x == target.x
        assert target.y < end_y < target.y + target.height


def _lie_apart(drawn: Layout) -> None:
    """Only lines that share an end may lie upon each other."""
    pieces = [(line, a, b) for line in drawn.lines for a, b in pairwise(line.points) if a != b]
    for at, (one, a, b) in enumerate(pieces):
        for other, c, d in pieces[:at]:
            if one.source == other.source or one.target == other.target:
                continue
            level = a[1] == b[1] == c[1] == d[1] and _share(a[0], b[0], c[0], d[0])
            upright = a[0] == b[0] == c[0] == d[0] and _share(a[1], b[1], c[1], d[1])
            assert not level, (one, other)
            assert not upright, (one, other)


def _share(a: float, b: float, c: float, d: float) -> bool:
    return min(max(a, b), max(c, d)) > max(min(a, b), min(c, d))


def _is_left_of_its_parts(nodes: list[LayoutNode], drawn: Layout) -> None:
    boxes = {box.id: box for box in drawn.boxes}
    for node in nodes:
        if node.parent is not None:
            assert boxes[node.parent].x < boxes[node.id].x


def test_a_chain_is_one_straight_line() -> None:
    drawn = layout([LayoutNode("A"), LayoutNode("B", needs=("A",)), LayoutNode("C", needs=("B",))])
    assert {box.y for box in drawn.boxes} == {drawn.boxes[0].y}
    assert [box.x for box in drawn.boxes] == sorted(box.x for box in drawn.boxes)
    assert [len(line.points) for line in drawn.lines] == [2, 2]


def test_choices_stand_under_each_other_and_who_needs_the_group_behind_all_of_them() -> None:
    drawn = layout(
        [
            LayoutNode("G", kind=BoxKind.GROUP),
            LayoutNode("jwt", "G"),
            LayoutNode("cookie", "G"),
            LayoutNode("Z", needs=("G",)),
        ]
    )
    boxes = {box.id: box for box in drawn.boxes}
    assert boxes["jwt"].x == boxes["cookie"].x
    assert boxes["jwt"].y < boxes["cookie"].y
    assert boxes["Z"].x > boxes["jwt"].x + boxes["jwt"].width
    assert [(ln.source, ln.target, ln.link) for ln in drawn.lines] == [
        ("G", "jwt", Link.CHOICE),
        ("G", "cookie", Link.CHOICE),
        ("G", "Z", Link.NEED),
    ]


def test_a_thousand_loose_atoms_are_no_column() -> None:
    drawn = layout([LayoutNode(f"A{n}") for n in range(1000)])
    assert 0.5 < drawn.width / drawn.height < 4


def test_nothing_is_an_empty_sheet_and_a_plan_that_is_wrong_is_drawn_all_the_same() -> None:
    assert layout([]).boxes == ()
    circle = layout([LayoutNode("A", "B"), LayoutNode("B", "A", ("A", "nobody", "A"))])
    assert overlapping(circle) == []
    assert len(circle.boxes) == 2


def intertwined(families: int, each: int) -> list[LayoutNode]:
    """Families whose members wait for each other, and for members of the family before."""
    nodes = [LayoutNode(f"G{g}") for g in range(families)]
    for g in range(families):
        for n in range(each):
            needs = (f"G{g}A{n - 3}", f"G{g - 1}A{n}") if n > 3 and g else ()
            nodes.append(LayoutNode(f"G{g}A{n}", f"G{g}", needs))
    return nodes


def test_families_that_are_intertwined_keep_out_of_each_others_boxes() -> None:
    drawn = layout(intertwined(10, 20))
    assert overlapping(drawn) == []
    assert crossed(drawn) == []


def test_a_thousand_atoms_are_laid_out_in_well_under_a_fifth_of_a_second() -> None:
    nodes = intertwined(25, 39)
    took = []
    for _ in range(5):
        began = time.process_time()
        assert len(layout(nodes).boxes) == 1000
        took.append(time.process_time() - began)
    assert min(took) < 0.2


def test_corners_are_rounded_inwards() -> None:
    assert path(((0, 0), (20, 0), (20, 10))) == "M0 0L15 0Q20 0 20 5L20 10"
    assert path(((0, 0), (20, 0))) == "M0 0L20 0"


# --- from the plan --------------------------------------------------------------------------------


def seen(
    name: str, parent: str | None, children: str = "", needs: str = "", **more: str
) -> NodeView:
    facts = {"id": name, "kind": more.get("kind", "atom"), "parent": parent}
    return cast("NodeView", {**facts, "children": children.split(), "depends_on": needs.split()})


PLAN = [
    seen("", None, "A B store E", kind="root"),
    seen("A", ""),
    seen("B", ""),
    seen("store", "", "C D F", kind="group"),
    seen("C", "store", "C1 C2", "A B"),
    seen("C1", "C", "", "A B"),
    seen("C2", "C", "", "A B C1"),
    seen("D", "store", "", "B A"),
    seen("F", "store", kind="unwritten"),
    seen("E", "", "", "store C1"),
]


def test_what_every_choice_waits_for_is_drawn_at_the_group_and_not_again_below() -> None:
    assert nodes_of(PLAN) == (
        LayoutNode("A"),
        LayoutNode("B"),
        LayoutNode("store", None, ("A", "B"), BoxKind.GROUP),
        LayoutNode("C", "store"),
        LayoutNode("C1", "C"),
        LayoutNode("C2", "C", ("C1",)),
        LayoutNode("D", "store"),
        LayoutNode("F", "store"),
        LayoutNode("E", None, ("store", "C1")),
    )


def test_a_line_to_what_is_folded_away_goes_to_what_it_is_folded_into() -> None:
    assert nodes_of(PLAN, {"store", "C"}) == (
        LayoutNode("A"),
        LayoutNode("B"),
        LayoutNode("store", None, ("A", "B"), BoxKind.GROUP),
        LayoutNode("E", None, ("store",)),
    )
