"""What a run has cost: in total, by role, by atom and by session.

The plan file keeps one sum for the whole run, because the limits need no more; the rest is a fold
over the journal that looks at each event once and keeps nothing but sums.

`Account.add` takes the name of an event's class and anything with its attributes, so that `status`,
which cannot afford to import and decode events, can pass lines of the journal (`skim.py`).

A session that was killed, or died with its runner, reports no usage; it is counted, with its time.
Time is the run's own: it passes only while a runner is there, and sessions side by side each count
it. Impossible numbers (a negative price, NaN) are left out.
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
    """Read and written together; the three fields below need not add up to it."""
    read: int = 0
    """Input tokens that were not cached."""
    cached: int = 0
    """Input tokens that were cached."""
    written: int = 0
    usd: float = 0.0
    estimated: bool = False
    """Part of the price is an estimate from our price table."""
    unpriced: int = 0
    """Tokens of sessions without a known price."""
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
    """What verifiers used for the atom's own check."""
    running: bool = True

    @property
    def total(self) -> Total:
        return self.own.plus(self.judging)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpending:
    run: Total = NOTHING
    """Its seconds are those of the run, however many sessions ran at a time."""
    by_role: Mapping[str, Total] = field(default_factory=dict)
    by_atom: Mapping[str, Total] = field(default_factory=dict)
    """In the order in which they were first worked on; the empty name is the base case."""
    sessions: tuple[SessionSpending, ...] = ()
    """In the order of their starts."""


def spending_of(events: Iterable[Event], *, first: int = 1) -> RunSpending:
    """The spending of these events; `first` is the journal number of the first one."""
    account = Account(first=first)
    for event in events:
        account.add(type(event).__name__, event)
    return account.spending()


class Account:
    """The fold; it counts in place, because there may be many thousand sessions."""

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
        elif kind == "Waited":
            session = self._in_flight.get(str(event.atom))
            agent = getattr(event, "agent", "")
            if session is not None and agent:
                session.role = _labelled(session.role.partition(" (")[0], agent)
        elif kind == "Redirected":  # ends all sessions, without an event for each
            for atom in tuple(self._in_flight):
                self._end(atom)
        elif (nonce := getattr(event, "nonce", None)) is not None:
            self._close(nonce, event)

    def spending(self) -> RunSpending:
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
                for total in (run, by_role.setdefault(one.judge, _Sum()), of_atom):
                    total.add(one.judging)
        run.seconds = self._now
        return RunSpending(
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
        self._end(atom)  # of a branch that was left without an event
        role = _labelled(str(event.role), getattr(event, "agent", ""))
        session = _Session(nonce, atom, role, self._now)
        self._sessions[nonce] = self._in_flight[atom] = session

    def _close(self, nonce: int, event: Any) -> None:
        """The end of a session; a late one adds to a session that is over already."""
        atom = str(event.atom)
        session = self._sessions.get(nonce)
        if session is None or session.atom != atom:
            session = self._sessions[nonce] = _Session(nonce, atom, UNKNOWN, self._now)
        session.own.use(event.usage, event.judging)
        session.judge = _labelled(VERIFIER, getattr(event, "judge", ""))
        if session.role == VERIFIER:
            session.role = session.judge
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
    __slots__ = ("atom", "began", "judge", "judging", "nonce", "own", "role")

    def __init__(self, nonce: int, atom: str, role: str, began: float) -> None:
        self.nonce = nonce
        self.atom = atom
        self.role = role
        self.began = began
        self.own = _Sum()
        self.own.sessions = 1
        self.judging: _Sum | None = None
        self.judge = VERIFIER


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
        """Add a usage without the part that verifiers used.

        If the whole is an estimate, the rest counts as one too.
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


def _labelled(role: str, agent: str) -> str:
    """A role, with the label of its agent where the settings name several."""
    return f"{role} ({agent})" if agent else role


def _amount(number: _Number) -> _Number:
    """0 for an impossible number: negative, infinite or NaN."""
    return number if 0 < number < math.inf else type(number)()
