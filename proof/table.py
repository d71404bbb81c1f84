"""The transition table as data: what each event may do to the eleven numbers of the measure.

A row says where each number lies afterwards, at least and at most, and what must have held before.
The same functions are evaluated twice: on z3 integers they are the obligations of `obligations.py`;
on Python integers they are `row_admits`, which says whether something that a kernel really did is
an instance of a row. So the table that is proved is the table that can be held against the code.
`Halt.v` has the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

Term = Any
"""A Python integer, or a z3 one."""
Clause = Any
"""A Python truth value, or a z3 one."""


class Counters(NamedTuple):
    """The measure, compared from the left."""

    E: Term
    L: Term
    W: Term
    V: Term
    F: Term
    J: Term
    C: Term
    A: Term
    Q: Term
    I: Term  # noqa: E741 - the measure's own names
    T: Term


class Constants(NamedTuple):
    """The limits of a plan. `a`: the most attempts of any atom in any wind; `N`: atoms ever."""

    a: Term
    p: Term
    N: Term
    V0: Term
    J0: Term
    L0: Term
    W0: Term


class Span(NamedTuple):
    low: Term
    high: Term


def exactly(value: Term) -> Span:
    return Span(value, value)


def at_most(value: Term) -> Span:
    return Span(0, value)


Spans = Mapping[str, Span]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table. What `after` leaves out keeps its value."""

    name: str
    after: Callable[[Counters, Constants, Term], Spans]
    """From the counters before, the limits and the row's parameter."""
    guard: Callable[[Counters], list[Clause]] = lambda _: []
    parameter: str = ""
    """k >= 1 new atoms, n >= 0 atoms that there are then, r >= 1 rewritten leaves, or none."""
    settles: str = ""
    """What may follow in the same event: nothing, "joins", or "joins and writes"."""
    is_start: bool = False

    def spans(self, before: Counters, limits: Constants, parameter: Term) -> dict[str, Span]:
        kept = {name: exactly(value) for name, value in before._asdict().items()}
        return {**kept, **self.after(before, limits, parameter)}


# --- the table -------------------------------------------------------------------------------


def _session_ends(b: Counters) -> list[Clause]:
    return [b.I >= 1]


def _ended(b: Counters, _c: Constants, _: Term) -> Spans:
    return {"I": exactly(b.I - 1)}


def _started(b: Counters, _c: Constants, _: Term) -> Spans:
    return {"A": exactly(b.A - 1), "I": exactly(b.I + 1)}


def _reopened(b: Counters, c: Constants, _: Term) -> Spans:
    """A choice is failed, and any atom may be to be done again."""
    return {
        "J": exactly(b.J - 1),
        "C": at_most(b.C - 1),
        "A": at_most(b.A + c.N * (c.a + c.p)),
        "Q": at_most(b.Q + 2 * c.N + 1),
        "I": at_most(b.I),
    }


def _grown(b: Counters, c: Constants, k: Term) -> dict[str, Span]:
    """New atoms, k of them, each with its own attempts and probes."""
    return {
        "F": exactly(b.F - k),
        "A": at_most(b.A + k * (c.a + c.p)),
        "Q": at_most(b.Q + k),
    }


def _reset(b: Counters, c: Constants, n: Term) -> Spans:
    """A redirect within the limits, which leaves n atoms."""
    return {
        "E": exactly(b.E - 1),
        "L": at_most(c.L0),
        "W": at_most(c.W0),
        "V": at_most(c.V0),
        "F": at_most(c.N - n),
        "J": at_most(c.J0),
        "C": at_most(c.N),
        "A": at_most(n * (c.a + c.p)),
        "Q": at_most(2 * n + 1),
        "I": exactly(0),
        "T": exactly(1),
    }


def _refilled(b: Counters, c: Constants, _: Term) -> Spans:
    """A wind: rounds, backjumps, choices, attempts and what was buried come back; fuel does not."""
    return {
        "W": exactly(b.W - 1),
        "V": at_most(c.V0),
        "J": at_most(c.J0),
        "C": at_most(c.N),
        "A": at_most(c.N * (c.a + c.p)),
        "Q": at_most(2 * c.N + 1),
    }


def _run_ended(b: Counters, _c: Constants, _: Term) -> Spans:
    fallen = {name: at_most(getattr(b, name)) for name in "CAQ"}
    return {**fallen, "I": exactly(0), "T": exactly(0)}


TABLE = (
    Row(
        name="session_started",
        guard=lambda b: [b.T == 1, b.A >= 1],
        after=_started,
        is_start=True,
    ),
    Row(
        name="verification_started",
        guard=lambda b: [b.T == 1, b.V >= 1],
        after=lambda b, _c, _: {"V": exactly(b.V - 1), "I": exactly(b.I + 1)},
        is_start=True,
    ),
    Row(
        name="atom_resolved",
        settles="joins",
        guard=lambda b: [b.I >= 1, b.Q >= 1],
        after=lambda b, c, _: {**_ended(b, c, _), "A": at_most(b.A), "Q": at_most(b.Q - 1)},
    ),
    Row(
        name="attempt_failed",  # a choice may take its turn, and be written out for it
        settles="joins and writes",
        guard=_session_ends,
        after=_ended,
    ),
    Row(name="probe_ended", guard=_session_ends, after=_ended),
    Row(name="session_reaped", guard=_session_ends, after=_ended),
    Row(name="verification_ended", guard=_session_ends, after=_ended),
    Row(name="interruption_charged", guard=lambda b: [b.I >= 1, b.L == 0], after=_ended),
    Row(
        name="declared_infeasible",
        guard=_session_ends,
        after=lambda b, c, _: {**_ended(b, c, _), "A": at_most(b.A)},
    ),
    Row(
        name="session_forgiven",
        guard=lambda b: [b.I >= 1, b.L >= 1],
        after=lambda b, c, _: {
            **_ended(b, c, _),
            "L": exactly(b.L - 1),
            "A": Span(b.A, b.A + 1),
        },
    ),
    Row(
        name="verification_forgiven",
        guard=lambda b: [b.I >= 1, b.L >= 1],
        after=lambda b, c, _: {
            **_ended(b, c, _),
            "L": exactly(b.L - 1),
            "V": exactly(b.V + 1),
        },
    ),
    Row(
        name="choice_failed",
        settles="joins and writes",
        guard=lambda b: [b.C >= 1],
        after=lambda b, _c, _: {
            "C": at_most(b.C - 1),
            **{name: at_most(getattr(b, name)) for name in "AQI"},
        },
    ),
    Row(
        name="choice_failed_unreplayed",
        settles="joins and writes",
        guard=lambda b: [b.J >= 1, b.C >= 1],
        after=_reopened,
    ),
    Row(
        name="backjumped",
        settles="joins and writes",
        guard=lambda b: [b.J >= 1, b.C >= 1],
        after=_reopened,
    ),
    Row(
        name="wind_began",
        settles="joins and writes",
        guard=lambda b: [b.T == 1, b.W >= 1],
        after=_refilled,
    ),
    Row(
        name="decomposed",
        parameter="k",
        guard=_session_ends,
        after=lambda b, c, k: {**_grown(b, c, k), **_ended(b, c, k)},
    ),
    Row(
        name="alternatives_joined",
        settles="joins and writes",
        parameter="k",
        guard=_session_ends,
        after=lambda b, c, k: {
            **_grown(b, c, k),
            **_ended(b, c, k),
            "C": at_most(b.C + k - 1),
        },
    ),
    Row(
        name="alternatives_grouped",
        settles="joins and writes",
        parameter="k",
        guard=_session_ends,
        after=lambda b, c, k: {
            **_grown(b, c, k),
            **_ended(b, c, k),
            "C": at_most(b.C + k),
            "Q": at_most(b.Q + k + 1),
        },
    ),
    Row(
        name="fixes_added",
        parameter="k",
        guard=_session_ends,
        after=lambda b, c, k: {
            **_grown(b, c, k),
            **_ended(b, c, k),
            "Q": at_most(b.Q + k + 1),
        },
    ),
    Row(
        name="fixes_added_by_person",
        parameter="k",
        after=lambda b, c, k: {**_grown(b, c, k), "Q": at_most(b.Q + k + 1)},
    ),
    Row(
        name="joined",
        settles="joins",
        guard=lambda b: [b.Q >= 1],
        after=lambda b, _c, _: {"Q": at_most(b.Q - 1)},
    ),
    Row(
        name="written",
        settles="joins and writes",
        guard=lambda b: [b.F >= 1],
        after=lambda b, c, _: _grown(b, c, 1),
    ),
    Row(name="run_ended", guard=lambda b: [b.T == 1, b.I == 0], after=_run_ended),
    Row(
        name="redirected",
        settles="joins and writes",
        parameter="n",
        guard=lambda b: [b.E >= 1],
        after=_reset,
    ),
)
ROWS: Mapping[str, Row] = {row.name: row for row in TABLE}


# --- what is different in a tree -------------------------------------------------------------


def _planned(b: Counters, c: Constants, r: Term) -> dict[str, Span]:
    """A session ends, and with it r planning sessions, or they are given up: each for one leaf."""
    return {**_ended(b, c, r), "J": exactly(b.J - r), "A": at_most(b.A + r * c.a)}


def _edited(b: Counters, c: Constants, k: Term) -> Spans:
    """New nodes, k of them, each with its planning sessions; removed ones take theirs along."""
    return {
        **_grown(b, c, k),
        **_ended(b, c, k),
        "J": at_most(b.J + k * c.p),
    }


TREE_TABLE = (
    ROWS["session_started"],
    ROWS["session_forgiven"],
    ROWS["attempt_failed"],
    Row(
        name="tree_planned",
        parameter="r",
        settles="joins",
        guard=lambda b: [b.I >= 1],
        after=_planned,
    ),
    Row(
        name="tree_edited",
        parameter="k",
        settles="joins",
        guard=lambda b: [b.I >= 1],
        after=_edited,
    ),
    Row(
        name="tree_passed",  # what an edit removes in the same session takes its own along
        settles="joins",
        guard=lambda b: [b.I >= 1, b.Q >= 1],
        after=lambda b, c, _: {
            **_ended(b, c, _),
            **{name: at_most(getattr(b, name)) for name in "JA"},
            "Q": at_most(b.Q - 1),
        },
    ),
)
"""Trees have no choices, winds, rounds or redirects. J is the planning sessions that have not
ended, over all open nodes. An edit that rewrites r leaves and adds k nodes is the two rows in a
sequence, with one session that ends."""

RUN_AGAIN = Row(
    name="run_again",
    guard=lambda b: [b.T == 0],
    after=lambda _b, _c, _: {"T": exactly(1)},
)
"""The one exception: it lifts T and must leave the other ten alone."""

EVENT_ROWS: Mapping[str, tuple[str, ...]] = {
    "SessionStarted": ("session_started", "verification_started"),
    "AtomResolved": ("atom_resolved", "session_reaped"),
    "AttemptFailed": ("attempt_failed",),
    "DeclaredInfeasible": ("declared_infeasible",),
    "ProbeEnded": ("probe_ended",),
    "Decomposed": ("decomposed", "session_reaped"),
    "AlternativesProposed": ("alternatives_joined", "alternatives_grouped", "session_reaped"),
    "SessionInterrupted": (
        "session_forgiven",
        "verification_forgiven",
        "interruption_charged",
        "session_reaped",
    ),
    "SessionReaped": ("session_reaped",),
    "ChoiceFailed": ("choice_failed", "choice_failed_unreplayed"),
    "Backjumped": ("backjumped",),
    "WindBegan": ("wind_began",),
    "VerificationEnded": ("verification_ended", "fixes_added"),
    "Confirmed": ("unchanged", "fixes_added_by_person"),
    "Settled": ("joined", "written"),
    "Redirected": ("redirected",),
    "RunEnded": ("run_ended",),
    "RunStarted": ("run_again", "unchanged"),
}
"""Which rows the events of the kernel may be; an event that is not here changes no counter.

A session on a branch that was given up is reaped whatever it reports.
"""


# --- the table held against numbers ----------------------------------------------------------


def row_admits(
    name: str, before: tuple[int, ...], after: tuple[int, ...], constants: tuple[int, ...]
) -> bool:
    """Is the change an instance of the row, followed by what it may settle?

    Counters in the order of `Counters`, limits in the order of `Constants`; for a redirect the
    limits that hold after it.
    """
    if name == "unchanged":
        return before == after
    b, a, limits = Counters(*before), Counters(*after), Constants(*constants)
    row = RUN_AGAIN if name == RUN_AGAIN.name else ROWS[name]
    if min(before) < 0 or min(after) < 0 or not all(row.guard(b)):
        return False
    for parameter, writes in _instances(row, b, a, limits):
        spans = row.spans(b, limits, parameter)
        if row.settles:
            spans = settled(spans, limits, writes, loose=writes > 0)
        if all(span.low <= getattr(a, n) <= span.high for n, span in spans.items()):
            return True
    return False


def event_admits(
    event: str, before: tuple[int, ...], after: tuple[int, ...], constants: tuple[int, ...]
) -> bool:
    """Is what an event of this class did an instance of one of its rows?"""
    rows = EVENT_ROWS.get(event, ("unchanged",))
    return any(row_admits(row, before, after, constants) for row in rows)


def _instances(
    row: Row, before: Counters, after: Counters, limits: Constants
) -> Iterator[tuple[int, int]]:
    """The parameters that the change of fuel allows, each with a number of written choices."""
    fuel = before.F - after.F
    if row.parameter == "n":
        yield limits.N - after.F, 0
        return
    for k in range(1, fuel + 1) if row.parameter == "k" else (0,):
        writes = fuel - k - (row.name == "written")
        if writes == 0 or (writes > 0 and row.settles == "joins and writes"):
            yield k, writes


def settled(
    spans: Mapping[str, Span], limits: Constants, writes: Term, *, loose: bool
) -> dict[str, Span]:
    """The spans after `writes` named choices were written out and any number of nodes joined.

    A join lowers Q and nothing else, so Q loses its lower end; `loose`: so does A, because a
    written choice may bring fewer attempts than the most.
    """
    fuel, left, undecided = spans["F"], spans["A"], spans["Q"]
    return {
        **spans,
        "F": Span(fuel.low - writes, fuel.high - writes),
        "A": Span(0 if loose else left.low, left.high + writes * (limits.a + limits.p)),
        "Q": at_most(undecided.high + writes),
    }
