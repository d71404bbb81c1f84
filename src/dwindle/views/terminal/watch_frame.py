"""What `watch` shows: lines for a screen of any size, from what is known of a run.

A pure function: of the run as it stands, of what the person is doing, and of the time. The parts
are stacked where the screen is narrow and stand side by side where it is wide. Each has what it
needs as far as there is room; what has to go without says so in its title.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from dwindle.text import amounts
from dwindle.text.terminal import columns, cut, packed, shortened
from dwindle.views.read_model.shapes import BudgetView, EventView, Head, NodeView, SessionView
from dwindle.views.terminal.board import BAR, Line
from dwindle.views.terminal.plan_lines import (
    FINE,
    ListedNode,
    Signs,
    listed_nodes,
    plan_line,
    window,
)

WIDE: Final = 120
"""From so many columns on, the plan stands beside the rest."""
HELP: Final = "q quit  s stop  r redirect  up/down choose  enter log  ? help"
AT_WORK: Final = ("running", "paused", "stopping")
COLOURS: Final = {
    "completed": "green",
    "stopped": "yellow",
    "cut_short": "red",
    "running": "blue",
    "paused": "yellow",
    "stopping": "yellow",
}
SHOWN_BUDGETS: Final = (
    *("seconds", "usd", "tokens", "redirects", "backjumps", "winds", "verifications"),
)
ALWAYS: Final = ("seconds", "usd", "tokens")
"""Budgets that are shown also while nothing of them is spent."""
HIGH: Final = 0.8
"""Of a budget: the share from which on it is worth a colour."""


Row = tuple[Line, ...]
"""Pieces of one line of the screen, each in its own colour."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchState:
    """A run as it stands, and what the person at the screen is doing."""

    head: Head
    goal: str = ""
    nodes: Mapping[str, NodeView] = field(default_factory=dict)
    running: Sequence[SessionView] = ()
    tails: Mapping[int, Sequence[str]] = field(default_factory=dict)
    """The last lines of each session that runs, by nonce."""
    spent: Mapping[str, tuple[int, float]] = field(default_factory=dict)
    """Tokens and USD of the sessions that have ended, by atom."""
    events: Sequence[EventView] = ()
    budgets: Sequence[BudgetView] = ()
    notes: Sequence[str] = ()
    now: float = 0.0
    """Seconds since 1970."""
    cursor: str | None = None
    """The node that the person has chosen."""
    message: str = ""
    """Instead of the list of keys."""


def frame(state: WatchState, *, width: int, height: int, signs: Signs = FINE) -> list[Row]:
    """At most `height` rows of at most `width` columns."""
    top = _header(state, width, signs)[: max(1, height - 2)]
    room = height - len(top) - 1
    middle = _side_by_side if width >= WIDE else _stacked
    rows = [*((line,) for line in top), *middle(state, width, room, signs)[:room]]
    rows += [()] * (height - 1 - len(rows))
    said = shortened(state.message, width) if state.message else HELP
    rows = [*rows, (Line(text=said, colour="dim"),)][:height]
    return [_fitting(row, width) for row in rows]


def _fitting(row: Row, width: int) -> Row:
    """What goes beyond the edge is cut, whatever it is."""
    kept: list[Line] = []
    for line in row:
        room = width - sum(columns(one.text) for one in kept)
        if columns(line.text) > room:
            return (*kept, Line(text=cut(line.text, room), colour=line.colour))
        kept.append(line)
    return row


# --- the run -------------------------------------------------------------------------------------


def _header(state: WatchState, width: int, signs: Signs) -> list[Line]:
    head = state.head
    why = f": {head['reason']}" if head["reason"] else ""
    phase = head["phase"].replace("_", " ")
    code = f" ({head['stop_code']})" if head["phase"] == "stopped" and head["stop_code"] else ""
    first = shortened(f"{phase}{code}{why}", max(8, width))
    goal = shortened(state.goal[: 2 * width], width)
    lines = [Line(text=cut(first, width), colour=COLOURS.get(head["phase"], "bold"))]
    lines += [Line(text=cut(goal, width), colour="bold")] if goal else []
    lines += [Line(text=text) for text in packed(_numbers(state, signs), width)]
    lines += [Line(text=text) for text in packed(_budgets(state), width) if text]
    shown = (one for one in state.budgets if one["name"] in SHOWN_BUDGETS)
    if any((amounts.share(one["spent"], one["limit"]) or 0) >= HIGH for one in shown):
        lines[-1] = Line(text=lines[-1].text, colour="yellow")
    asked = [f"to be confirmed: {item}" for item in head["questions"]]
    warned = [*asked, *state.notes]
    return lines + [Line(text=shortened(one, width), colour="yellow") for one in warned[:3]]


def _numbers(state: WatchState, signs: Signs) -> list[str]:
    head = state.head
    given_up = f", {head['left']} given up" if head["left"] else ""
    parked = f", {head['parked']} parked" if head["parked"] else ""
    parked += f", {head['failing']} failing" if head["failing"] else ""
    fallen = head["first_gauge"] - head["gauge"]
    return [
        f"{head['open']} of {head['atoms']} open, {head['resolved']} resolved{given_up}{parked}",
        f"iteration {head['iteration']}/{head['max_iterations']}",
        f"gauge {amounts.count(head['gauge'])} {_bar(head, signs)} down {amounts.count(fallen)}",
        f"at most {amounts.count(head['bound'], 'more session')}"
        if head["bound"]
        else "nothing follows",
    ]


def _bar(head: Head, signs: Signs) -> str:
    most = head["most_work"]
    filled = BAR * (most - head["work"]) // most if most else BAR
    full, empty = signs.bar
    return f"[{full * filled}{empty * (BAR - filled)}]"


def _budgets(state: WatchState) -> list[str]:
    since = _seconds_since(state.head["at"], state.now) if state.head["phase"] in AT_WORK else 0.0
    parts = []
    for one in state.budgets:
        if one["name"] not in SHOWN_BUDGETS or not (one["spent"] or one["name"] in ALWAYS):
            continue
        if one["name"] == "seconds":
            of = "" if one["limit"] is None else f" of {amounts.duration(one['limit'])}"
            parts.append(f"{amounts.clock(one['spent'] + since)}{of}")
        else:
            parts.append(amounts.budget(one["name"], one["spent"], one["limit"]))
    return parts


def _seconds_since(at: str, now: float) -> float:
    """Seconds since a time as the journal has it; 0 if that is none."""
    try:
        return max(0.0, now - datetime.fromisoformat(at).timestamp())
    except ValueError:
        return 0.0


# --- where things stand --------------------------------------------------------------------------


def _stacked(state: WatchState, width: int, room: int, signs: Signs) -> list[Row]:
    sessions = _sessions(state, width)
    few = 1 + min(len(state.events), max(2, room // 5))
    for_sessions = min(len(sessions) + bool(sessions), max(3, room // 2))
    most = max(3, room - for_sessions - few)
    for_plan = min(len(_places(state, most - 1)) + 1, most)
    lines = [
        *_plan(state, width, for_plan, signs),
        *_titled("sessions", sessions, width, for_sessions, signs),
        *_events(state, width, max(0, room - for_sessions - for_plan), signs),
    ]
    return [(line,) for line in lines]


def _side_by_side(state: WatchState, width: int, room: int, signs: Signs) -> list[Row]:
    left = width * 11 // 20
    right = width - left - 1
    plan = _plan(state, left, room, signs)
    sessions = _sessions(state, right)
    for_sessions = min(len(sessions) + bool(sessions), max(3, room * 2 // 3))
    beside = [
        *_titled("sessions", sessions, right, for_sessions, signs),
        *_events(state, right, max(0, room - for_sessions), signs),
    ]
    rows: list[Row] = []
    for at in range(min(room, max(len(plan), len(beside)))):
        one = plan[at] if at < len(plan) else Line(text="")
        gap = Line(text=" " * (left + 1 - columns(one.text)))
        rows.append((one, gap, beside[at]) if at < len(beside) else (one,))
    return rows


def _titled(title: str, lines: list[Line], width: int, room: int, signs: Signs) -> list[Line]:
    """The first of them under their title; nothing where there is nothing, or no room."""
    if room < 2 or not lines:
        return []
    shown = lines[: room - 1]
    left_out = len(lines) - len(shown)
    more = f" (+{left_out})" if left_out else ""
    return [_title(f"{title}{more}", width, signs), *shown]


def _title(title: str, width: int, signs: Signs) -> Line:
    return Line(text=f"{signs.rule * 2} {title} ".ljust(width, signs.rule)[:width], colour="dim")


# --- the parts -----------------------------------------------------------------------------------


def _plan(state: WatchState, width: int, room: int, signs: Signs) -> list[Line]:
    if room < 2:
        return []
    listed = _places(state, room - 1)
    focus = state.cursor or _focus(state, listed)
    above, shown = window(listed, room - 1, focus)
    below = len(listed) - above - len(shown)
    more = f" (+{above} above, +{below} below)" if above or below else ""
    rows = [_title(f"plan{more}", width, signs)]
    for place in shown:
        line = plan_line(state.nodes, place, width=width - 2, signs=signs)
        chosen = place.id == state.cursor
        text = f"{'>' if chosen else ' '} {line.text}"
        rows.append(Line(text=text, colour="bold" if chosen else line.colour))
    return rows


def _places(state: WatchState, room: int) -> list[ListedNode]:
    """All nodes while the user moves the cursor, else those that fit."""
    return listed_nodes(state.nodes, None if state.cursor else room)


def _focus(state: WatchState, listed: list[ListedNode]) -> str | None:
    """What matters most: what runs, else what could, else what would have to."""
    for status in ("running", "pending", "parked"):
        for place in listed:
            node = state.nodes[place.id]
            if node["status"] == status and not node["children"]:
                return place.id
    return None


def _sessions(state: WatchState, width: int) -> list[Line]:
    """One line for each, and the last words of its agent below."""
    lines: list[Line] = []
    for session in state.running:
        lines.append(Line(text=_session(state, session, width), colour="blue"))
        lines += [
            Line(text=f"    {shortened(said[: 2 * width], max(4, width - 4))}", colour="dim")
            for said in state.tails.get(session["nonce"], ())
        ]
    return lines


def _session(state: WatchState, session: SessionView, width: int) -> str:
    at_work = state.head["phase"] in AT_WORK
    until = state.now if at_work else state.now - _seconds_since(state.head["at"], state.now)
    lasted = amounts.clock(_seconds_since(session["start_at"], until))
    cost = amounts.cost(*state.spent.get(session["atom"], (0, 0.0)))
    node = state.nodes.get(session["atom"])
    words = session["waits"] or (node["description"][: 2 * width] if node else "every check, anew")
    waits = "waits: " if session["waits"] else ""
    name = shortened(session["atom"] or "base case", 20)
    begun = f"  {name} {session['role']} {lasted}{f' {cost}' if cost else ''}"
    return cut(f"{begun}  {shortened(waits + words, max(4, width - columns(begun) - 2))}", width)


def _events(state: WatchState, width: int, room: int, signs: Signs) -> list[Line]:
    """The last ones, the newest at the end."""
    if room < 2 or not state.events:
        return []
    shown = state.events[-(room - 1) :]
    lines = [
        Line(text=shortened(f"{one['at'][11:19]} {one['text'][: 2 * width]}", width))
        for one in shown
    ]
    return [_title("events", width, signs), *lines]
