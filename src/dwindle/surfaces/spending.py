"""What a run has cost so far: all in all, by role, by atom, and session by session.

Only the journal knows. The plan file keeps one sum for the whole run, because that is all that the
limits need. So this is a fold over events; each is looked at once, and nothing is kept but sums.

An event is taken by the name of its class and by the attributes it has, so that `status`, which
cannot afford to import and decode events, can hand over lines of the journal instead (see
`spent_on_record`).

A session has its start and its end. One that was killed, or died with its runner, says nothing of
what it used: it is counted, with its time, and with what its end says all the same. Time is that of
the run: it passes only while a runner is there to count it, and what two sessions did side by side
counts for both. Numbers that cannot be (a negative price, one that is no number) are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from dwindle.kernel.events import Event

_Number = TypeVar("_Number", int, float)

UNKNOWN: Final = "unknown"
"""The role of a session whose start is not on record."""
VERIFIER: Final = "verifier"


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    sessions: int = 0
    tokens: int = 0
    """All that models read and wrote; the three below need not add up to it."""
    read: int = 0
    """Of these, what they were given anew."""
    cached: int = 0
    """What they were given and had seen before."""
    written: int = 0
    usd: float = 0.0
    estimated: bool = False
    """Some of the price was worked out from a table of ours."""
    unpriced: int = 0
    """Tokens of sessions of which nobody knows what they cost."""
    seconds: float = 0.0

    def plus(self, other: Total) -> Total:
        return Total(
            sessions=self.sessions + other.sessions,
            tokens=self.tokens + other.tokens,
            read=self.read + other.read,
            cached=self.cached + other.cached,
            written=self.written + other.written,
            usd=self.usd + other.usd,
            estimated=self.estimated or other.estimated,
            unpriced=self.unpriced + other.unpriced,
            seconds=self.seconds + other.seconds,
        )


NOTHING: Final = Total()
FIELDS: Final = tuple(one.name for one in fields(Total))


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSpending:
    nonce: int
    """The number of its start in the journal."""
    atom: str
    """Empty for a verification of the base case."""
    role: str
    own: Total = NOTHING
    judging: Total = NOTHING
    """What verifiers used besides who were asked about the atom's own check."""
    running: bool = True

    @property
    def total(self) -> Total:
        return self.own.plus(self.judging)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    run: Total = NOTHING
    """Its seconds are those that the run took, however many sessions there were at a time."""
    by_role: Mapping[str, Total] = field(default_factory=dict)
    by_atom: Mapping[str, Total] = field(default_factory=dict)
    """In the order in which they were first worked on; the empty name is the base case."""
    sessions: tuple[SessionSpending, ...] = ()
    """In the order of their starts."""


def spending_of(events: Iterable[Event], *, first: int = 1) -> Spending:
    """What these events say was spent; `first` is the number of the first one in its journal."""
    account = Account(first=first)
    for event in events:
        account.add(type(event).__name__, event)
    return account.spending()


class Account:
    """The fold itself: it counts in place, because there may be many thousand sessions."""

    def __init__(self, *, first: int = 1) -> None:
        self._number = first - 1
        self._now = 0.0
        self._in_flight: dict[str, _Session] = {}
        """By atom."""
        self._sessions: dict[int, _Session] = {}
        """By nonce."""

    def add(self, kind: str, event: Any) -> None:
        """The next event: the name of its class, and anything that has its attributes."""
        self._number += 1
        self._now += _amount(event.elapsed)
        if kind == "SessionStarted":
            self._start(event)
        elif kind == "Redirected":  # it ends all sessions, and no other event says so
            for atom in tuple(self._in_flight):
                self._end(atom)
        elif (nonce := getattr(event, "nonce", None)) is not None:
            self._close(nonce, event)

    def spending(self) -> Spending:
        """As of the last event; sessions in flight have run up to then."""
        for one in self._in_flight.values():
            one.own.seconds = self._now - one.began
        run = _Sum()
        by_role: dict[str, _Sum] = {}
        by_atom: dict[str, _Sum] = {}
        for one in self._sessions.values():
            of_role = by_role.get(one.role) or by_role.setdefault(one.role, _Sum())
            of_atom = by_atom.get(one.atom) or by_atom.setdefault(one.atom, _Sum())
            for total in (run, of_role, of_atom):
                total.add(one.own)
            if one.judging is not None:
                for total in (run, by_role.setdefault(VERIFIER, _Sum()), of_atom):
                    total.add(one.judging)
        run.seconds = self._now
        return Spending(
            run=run.total(),
            by_role={name: total.total() for name, total in by_role.items()},
            by_atom={name: total.total() for name, total in by_atom.items()},
            sessions=tuple(
                SessionSpending(
                    nonce=one.nonce,
                    atom=one.atom,
                    role=one.role,
                    own=one.own.total(),
                    judging=NOTHING if one.judging is None else one.judging.total(),
                    running=self._in_flight.get(one.atom) is one,
                )
                for one in self._sessions.values()
            ),
        )

    def _start(self, event: Any) -> None:
        nonce, atom = self._number, str(event.atom)
        self._end(atom)  # that its branch was left may not have been said
        session = _Session(nonce, atom, str(event.role), self._now)
        self._sessions[nonce] = self._in_flight[atom] = session

    def _close(self, nonce: int, event: Any) -> None:
        """An end; that of a session which is over already adds to what is known of it."""
        atom = str(event.atom)
        session = self._sessions.get(nonce)
        if session is None or session.atom != atom:
            session = self._sessions[nonce] = _Session(nonce, atom, UNKNOWN, self._now)
        session.own.use(event.usage, event.judging)
        if event.judging.tokens or event.judging.usd:
            session.judging = session.judging or _Sum()
            session.judging.use(event.judging, None)
        if self._in_flight.get(atom) is session:
            self._end(atom)

    def _end(self, atom: str) -> None:
        session = self._in_flight.pop(atom, None)
        if session is not None:
            session.own.seconds = self._now - session.began


class _Session:
    __slots__ = ("atom", "began", "judging", "nonce", "own", "role")

    def __init__(self, nonce: int, atom: str, role: str, began: float) -> None:
        self.nonce = nonce
        self.atom = atom
        self.role = role
        self.began = began
        self.own = _Sum()
        self.own.sessions = 1
        self.judging: _Sum | None = None


class _Sum:
    """A total that can still change."""

    __slots__ = FIELDS

    def __init__(self) -> None:
        self.sessions = self.tokens = self.read = self.cached = self.written = self.unpriced = 0
        self.usd = self.seconds = 0.0
        self.estimated = False

    def add(self, other: _Sum) -> None:
        self.sessions += other.sessions
        self.tokens += other.tokens
        self.read += other.read
        self.cached += other.cached
        self.written += other.written
        self.usd += other.usd
        self.estimated = self.estimated or other.estimated
        self.unpriced += other.unpriced
        self.seconds += other.seconds

    def use(self, usage: Any, without: Any) -> None:
        """Add a usage, but for the part of it that is another's.

        Whether what is left is an estimate is not known if the whole is one: it is taken for one.
        """
        tokens, usd = _amount(usage.tokens), _amount(usage.usd)
        read, cached, written = map(_amount, (usage.read, usage.cached, usage.written))
        if without is not None:
            tokens = _amount(tokens - _amount(without.tokens))
            usd = _amount(usd - _amount(without.usd))
            read = _amount(read - _amount(without.read))
            cached = _amount(cached - _amount(without.cached))
            written = _amount(written - _amount(without.written))
        self.tokens += tokens
        self.read += read
        self.cached += cached
        self.written += written
        self.usd += usd
        self.estimated = self.estimated or usage.estimated
        self.unpriced += 0 if usd else tokens

    def total(self) -> Total:
        return Total(**{name: getattr(self, name) for name in FIELDS})


def _amount(number: _Number) -> _Number:
    """What can be: neither less than nothing nor no number."""
    return number if 0 < number < math.inf else type(number)()
