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

from dwindle.surfaces.board import BAR, Line, clock, cut, packed
from dwindle.surfaces.cli.text import columns, counted, shortened
from dwindle.surfaces.views.amounts import budget, price, share
from dwindle.surfaces.views.plan_lines import FINE, Place, Signs, places, plan_line, window
from dwindle.surfaces.views.shapes import BudgetView, EventView, Head, NodeView, SessionView

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
SHOWN_BUDGETS: Final = ("seconds", "usd", "tokens", "redirects", "backjumps", "verifications")
NAMES: Final = {"seconds": ("time", ""), "usd": ("", "USD"), "tokens": ("", "tokens")}
ALWAYS: Final = ("seconds", "usd", "tokens")
"""Budgets that are shown also while nothing of them is spent."""
HIGH: Final = 0.8
"""Of a budget: the share from which on it is worth a colour."""


Row = tuple[Line, ...]
"""Pieces of one line of the screen, each in its own colour."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
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


def frame(seen: Seen, *, width: int, height: int, signs: Signs = FINE) -> list[Row]:
    """At most `height` rows of at most `width` columns."""
    top = _header(seen, width, signs)[: max(1, height - 2)]
    room = height - len(top) - 1
    middle = _side_by_side if width >= WIDE else _stacked
    rows = [*((line,) for line in top), *middle(seen, width, room, signs)[:room]]
    rows += [()] * (height - 1 - len(rows))
    said = shortened(seen.message, width) if seen.message else HELP
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


def _header(seen: Seen, width: int, signs: Signs) -> list[Line]:
    head = seen.head
    why = f": {head['reason']}" if head["reason"] else ""
    state = head["phase"].replace("_", " ")
    code = f" ({head['stop_code']})" if head["phase"] == "stopped" and head["stop_code"] else ""
    first = shortened(f"{state}{code}{why}", max(8, width))
    goal = shortened(seen.goal[: 2 * width], width)
    lines = [Line(text=cut(first, width), colour=COLOURS.get(head["phase"], "bold"))]
    lines += [Line(text=cut(goal, width), colour="bold")] if goal else []
    lines += [Line(text=text) for text in packed(_numbers(seen, signs), width)]
    lines += [Line(text=text) for text in packed(_budgets(seen), width) if text]
    if any((share(one) or 0) >= HIGH for one in seen.budgets if one["name"] in SHOWN_BUDGETS):
        lines[-1] = Line(text=lines[-1].text, colour="yellow")
    asked = [f"to be confirmed: {item}" for item in head["questions"]]
    warned = [*asked, *seen.notes]
    return lines + [Line(text=shortened(one, width), colour="yellow") for one in warned[:3]]


def _numbers(seen: Seen, signs: Signs) -> list[str]:
    head = seen.head
    given_up = f", {head['left']} given up" if head["left"] else ""
    fallen = head["first_gauge"] - head["gauge"]
    return [
        f"{head['open']} of {head['atoms']} open, {head['resolved']} resolved{given_up}",
        f"iteration {head['iteration']}/{head['max_iterations']}",
        f"gauge {head['gauge']:,} {_bar(head, signs)} down {fallen:,}",
        f"at most {counted(head['bound'], 'more session')}" if head["bound"] else "nothing follows",
    ]


def _bar(head: Head, signs: Signs) -> str:
    most = head["most_work"]
    filled = BAR * (most - head["work"]) // most if most else BAR
    full, empty = signs.bar
    return f"[{full * filled}{empty * (BAR - filled)}]"


def _budgets(seen: Seen) -> list[str]:
    since = _passed(seen.head["at"], seen.now) if seen.head["phase"] in AT_WORK else 0.0
    parts = []
    for one in seen.budgets:
        if one["name"] not in SHOWN_BUDGETS or not (one["spent"] or one["name"] in ALWAYS):
            continue
        counting = one["name"] == "seconds"
        spent, limit = budget(
            BudgetView(name=one["name"], spent=one["spent"] + since * counting, limit=one["limit"])
        )
        of = "" if one["limit"] is None else f"/{limit}"
        before, after = NAMES.get(one["name"], (one["name"], ""))
        parts.append(f"{before} {spent}{of} {after}".strip())
    return parts


def _passed(at: str, now: float) -> float:
    """Seconds since a time as the journal has it; 0 if that is none."""
    try:
        return max(0.0, now - datetime.fromisoformat(at).timestamp())
    except ValueError:
        return 0.0


# --- where things stand --------------------------------------------------------------------------


def _stacked(seen: Seen, width: int, room: int, signs: Signs) -> list[Row]:
    sessions = _sessions(seen, width)
    few = 1 + min(len(seen.events), max(2, room // 5))
    for_sessions = min(len(sessions) + bool(sessions), max(3, room // 2))
    most = max(3, room - for_sessions - few)
    for_plan = min(len(_places(seen, most - 1)) + 1, most)
    lines = [
        *_plan(seen, width, for_plan, signs),
        *_titled("sessions", sessions, width, for_sessions, signs),
        *_events(seen, width, max(0, room - for_sessions - for_plan), signs),
    ]
    return [(line,) for line in lines]


def _side_by_side(seen: Seen, width: int, room: int, signs: Signs) -> list[Row]:
    left = width * 11 // 20
    right = width - left - 1
    plan = _plan(seen, left, room, signs)
    sessions = _sessions(seen, right)
    for_sessions = min(len(sessions) + bool(sessions), max(3, room * 2 // 3))
    beside = [
        *_titled("sessions", sessions, right, for_sessions, signs),
        *_events(seen, right, max(0, room - for_sessions), signs),
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


def _plan(seen: Seen, width: int, room: int, signs: Signs) -> list[Line]:
    if room < 2:
        return []
    listed = _places(seen, room - 1)
    focus = seen.cursor or _focus(seen, listed)
    above, shown = window(listed, room - 1, focus)
    below = len(listed) - above - len(shown)
    more = f" (+{above} above, +{below} below)" if above or below else ""
    rows = [_title(f"plan{more}", width, signs)]
    for place in shown:
        line = plan_line(seen.nodes, place, width=width - 2, signs=signs)
        chosen = place.id == seen.cursor
        text = f"{'>' if chosen else ' '} {line.text}"
        rows.append(Line(text=text, colour="bold" if chosen else line.colour))
    return rows


def _places(seen: Seen, room: int) -> list[Place]:
    """Whoever chooses among the nodes sees all of them."""
    return places(seen.nodes, None if seen.cursor else room)


def _focus(seen: Seen, listed: list[Place]) -> str | None:
    """What matters most: what runs, else what could."""
    for status in ("running", "pending"):
        for place in listed:
            node = seen.nodes[place.id]
            if node["status"] == status and not node["children"]:
                return place.id
    return None


def _sessions(seen: Seen, width: int) -> list[Line]:
    """One line for each, and the last words of its agent below."""
    lines: list[Line] = []
    for session in seen.running:
        lines.append(Line(text=_session(seen, session, width), colour="blue"))
        lines += [
            Line(text=f"    {shortened(said[: 2 * width], max(4, width - 4))}", colour="dim")
            for said in seen.tails.get(session["nonce"], ())
        ]
    return lines


def _session(seen: Seen, session: SessionView, width: int) -> str:
    at_work = seen.head["phase"] in AT_WORK
    until = seen.now if at_work else seen.now - _passed(seen.head["at"], seen.now)
    lasted = clock(_passed(session["start_at"], until))
    cost = price(*seen.spent.get(session["atom"], (0, 0.0)))
    node = seen.nodes.get(session["atom"])
    words = session["waits"] or (node["description"][: 2 * width] if node else "every check, anew")
    waits = "waits: " if session["waits"] else ""
    name = shortened(session["atom"] or "base case", 20)
    begun = f"  {name} {session['role']} {lasted}{f' {cost}' if cost else ''}"
    return cut(f"{begun}  {shortened(waits + words, max(4, width - columns(begun) - 2))}", width)


def _events(seen: Seen, width: int, room: int, signs: Signs) -> list[Line]:
    """The last ones, the newest at the end."""
    if room < 2 or not seen.events:
        return []
    shown = seen.events[-(room - 1) :]
    lines = [
        Line(text=shortened(f"{one['at'][11:19]} {one['text'][: 2 * width]}", width))
        for one in shown
    ]
    return [_title("events", width, signs), *lines]
