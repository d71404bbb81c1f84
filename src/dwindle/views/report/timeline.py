"""The sessions of a run as SVG: one row for each slot, time from left to right.

The time is that of the run: it passes only while a runner is there to count it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dwindle.text import amounts
from dwindle.views.read_model.shapes import SessionView
from dwindle.views.report.markup import EMPTY, Markup, element, joined, text

WIDTH: Final = 760
LEFT: Final = 52
ROW: Final = 26
BAR: Final = 18
LETTER: Final = 6.6
"""About so wide is a letter in a bar."""
TICKS: Final = 5

GOOD: Final = ("resolved", "passed", "looked", "split", "alternatives", "replanned")
FORGIVEN: Final = ("interrupted", "reaped", "ended", "unjudged")


def timeline(sessions: Sequence[SessionView], now: float) -> Markup:
    """Nothing where there was no session; `now` is where those that still run end."""
    if not sessions:
        return EMPTY
    slots = 1 + max(session["slot"] for session in sessions)
    ends = [now if session["end"] is None else session["end"] for session in sessions]
    span = max(*ends, ends[0], 0.001)
    height = slots * ROW + 30
    description = (
        f"{amounts.count(len(sessions), 'session')} in {amounts.count(slots, 'slot')}, "
        f"over {amounts.duration(span)} of running time."
    )
    return element(
        "svg",
        element("title", text("The sessions by slot")),
        element("desc", text(description)),
        *(_slot(slot) for slot in range(slots)),
        *(_bar(session, end, span) for session, end in zip(sessions, ends, strict=True)),
        _axis(span, slots * ROW),
        class_="timeline",
        viewBox=f"0 0 {WIDTH} {height}",
        role="img",
    )


def outcome_class(outcome: str) -> str:
    if outcome == "running":
        return "running"
    if outcome in GOOD:
        return "good"
    return "forgiven" if outcome in FORGIVEN else "bad"


def _slot(slot: int) -> Markup:
    y = slot * ROW
    return joined(
        element("text", f"slot {slot + 1}", x=0, y=y + BAR - 4),
        element("line", x1=LEFT, x2=WIDTH, y1=y + ROW - 3, y2=y + ROW - 3, class_="grid"),
    )


def _bar(session: SessionView, end: float, span: float) -> Markup:
    x, right = _x(session["start"], span), _x(end, span)
    width = max(2.0, round(right - x, 1))
    name = session["atom"] or "base case"
    cost = amounts.cost(session["tokens"], session["usd"], estimated=session["estimated"])
    lasted = amounts.duration(end - session["start"])
    said = f"{name}, {session['role']}: {session['outcome']} after {lasted}"
    words = f"{said}{f', {cost}' if cost else ''}\n{session['words'][:300]}".strip()
    fits = len(name) * LETTER + 6 <= width
    return element(
        "g",
        element("title", text(words)),
        element("rect", x=x, y=session["slot"] * ROW, width=width, height=BAR, rx=3),
        element("text", text(name), x=x + 4, y=session["slot"] * ROW + BAR - 5) if fits else None,
        class_=f"bar {outcome_class(session['outcome'])}",
    )


def _x(seconds: float, span: float) -> float:
    return round(LEFT + max(0.0, seconds) / span * (WIDTH - LEFT), 1)


def _axis(span: float, y: int) -> Markup:
    labels = []
    for tick in range(TICKS + 1):
        seconds = span * tick / TICKS
        anchor = "start" if not tick else "end" if tick == TICKS else "middle"
        said = amounts.clock(seconds) if span >= TICKS else amounts.duration(seconds)
        labels.append(element("text", said, x=_x(seconds, span), y=y + 18, text_anchor=anchor))
    return joined(*labels)
