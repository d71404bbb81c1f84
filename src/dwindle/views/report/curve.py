"""The dwindling curve as SVG: open atoms and gauge over the iterations of a run.

Both fall to the right. Open atoms have the scale on the left, which begins at 0. The gauge has the
one on the right, which begins where the gauge is at its lowest: most of it is budget for what may
never happen, so that on a scale from 0 it would be a level line. Turning back, winds and redirects
are marked where they happened.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dwindle.text import amounts
from dwindle.views.read_model.shapes import MarkView, PointView
from dwindle.views.report.markup import EMPTY, Markup, element, joined, text

WIDTH, HEIGHT = 760, 260
LEFT, RIGHT, TOP, BOTTOM = 46, 86, 26, 40
LABELS: Final = {
    "backtrack": "turned back",
    "backjump": "jumped back",
    "wind": "a new wind",
    "redirect": "redirected",
}


def curve(points: Sequence[PointView], marks: Sequence[MarkView]) -> Markup:
    """Nothing where there is nothing to draw."""
    if not points:
        return EMPTY
    scale = _Scale(points)
    shown = [mark for mark in marks if mark["kind"] in LABELS]
    first, last = points[0], points[-1]
    description = (
        f"Open atoms went from {first['open']} to {last['open']}, the gauge from "
        f"{amounts.count(first['gauge'])} to {amounts.count(last['gauge'])}, "
        f"in {amounts.count(last['iteration'], 'iteration')}; "
        f"{amounts.count(len(shown), 'mark')} for turning back, winds and redirects."
    )
    return element(
        "svg",
        element("title", text("The dwindling curve")),
        element("desc", text(description)),
        _axes(scale),
        *(_mark(scale, mark) for mark in shown),
        element("polyline", points=_steps(scale, points, "gauge"), class_="line gauge"),
        element("polyline", points=_steps(scale, points, "open"), class_="line open"),
        *(_dot(scale, point) for point in points),
        class_="curve",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
    )


class _Scale:
    """Where things are. Across: the order of events, which is finer than iterations."""

    def __init__(self, points: Sequence[PointView]) -> None:
        self.points = points
        self.first, self.last = points[0]["n"], max(points[-1]["n"], points[0]["n"] + 1)
        self.most_open = max(1, *(point["open"] for point in points))
        gauges = [point["gauge"] for point in points]
        self.low, self.high = min(gauges), max(*gauges, min(gauges) + 1)

    def x(self, n: int) -> float:
        share = (n - self.first) / (self.last - self.first)
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)

    def y(self, share: float) -> float:
        return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)

    def open(self, point: PointView) -> float:
        return self.y(point["open"] / self.most_open)

    def gauge(self, point: PointView) -> float:
        return self.y((point["gauge"] - self.low) / (self.high - self.low))


def _steps(scale: _Scale, points: Sequence[PointView], what: str) -> str:
    """As stairs: between two events nothing changes."""
    corners: list[str] = []
    before: float | None = None
    for point in points:
        x = scale.x(point["n"])
        y = scale.open(point) if what == "open" else scale.gauge(point)
        if before is not None:
            corners.append(f"{x:g},{before:g}")
        corners.append(f"{x:g},{y:g}")
        before = y
    return " ".join(corners)


def _dot(scale: _Scale, point: PointView) -> Markup:
    said = (
        f"event {point['n']}, iteration {point['iteration']}: {point['open']} open, "
        f"gauge {amounts.count(point['gauge'])}, "
        f"at most {amounts.count(point['bound'], 'more session')}"
    )
    title = element("title", text(said))
    return element(
        "circle", title, cx=scale.x(point["n"]), cy=scale.open(point), r=2.5, class_="dot"
    )


def _mark(scale: _Scale, mark: MarkView) -> Markup:
    x = scale.x(mark["n"])
    top, bottom = TOP, HEIGHT - BOTTOM
    said = f"{LABELS[mark['kind']]}, event {mark['n']}: {mark['text']}"
    return element(
        "g",
        element("title", text(said)),
        element("line", x1=x, x2=x, y1=top, y2=bottom),
        element("path", d=f"M{x:g} {top - 2}l-5 -8h10z"),
        class_=f"mark {mark['kind']}",
    )


def _axes(scale: _Scale) -> Markup:
    parts: list[Markup] = []
    for share in (0.0, 0.5, 1.0):
        y = scale.y(share)
        left = f"{share * scale.most_open:g}"
        right = f"{scale.low + share * (scale.high - scale.low):,.0f}"
        parts += [
            element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="grid"),
            element("text", left, x=LEFT - 6, y=y + 4, text_anchor="end", class_="open"),
            element("text", right, x=WIDTH - RIGHT + 6, y=y + 4, class_="gauge"),
        ]
    last = ""
    for x, label in _ticks(scale):
        if label != last:
            parts.append(element("text", label, x=x, y=HEIGHT - BOTTOM + 16, text_anchor="middle"))
        last = label
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts += [
        element("text", "iteration", x=middle, y=HEIGHT - 6, text_anchor="middle"),
        element("text", "open atoms", x=4, y=12, class_="open"),
        element("text", "gauge", x=WIDTH - 4, y=12, text_anchor="end", class_="gauge"),
    ]
    return joined(*parts)


def _ticks(scale: _Scale) -> list[tuple[float, str]]:
    """The first point of an iteration, as far as their labels have room."""
    found: list[tuple[float, str]] = []
    seen = -1
    for point in scale.points:
        x = scale.x(point["n"])
        if point["iteration"] != seen and (not found or x - found[-1][0] >= 34):
            found.append((x, str(point["iteration"])))
            seen = point["iteration"]
    return found
