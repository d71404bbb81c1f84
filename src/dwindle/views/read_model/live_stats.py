"""What a live display needs besides the plan: start times, usage, and how far the gauge has fallen.

The plan has no times, because the kernel has no clock. `LiveStats` is a value made from the events:
the same events at the same times give the same value. Times are seconds on any one clock; only
differences are used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Self

from dwindle.kernel.events import (
    NO_USAGE,
    AtomResolved,
    AttemptFailed,
    Event,
    ProbeEnded,
    SessionNews,
    SessionStarted,
    Usage,
    Waited,
)
from dwindle.kernel.graph import attempts_left, probes_left, view
from dwindle.kernel.measure import gauge
from dwindle.kernel.model import AtomId, Plan, RunStatus, Status

LOWERING: Final = (SessionStarted, AtomResolved, AttemptFailed, ProbeEnded, Waited)


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveStats:
    heard: float
    """When the last event came; the plan has the seconds of the run up to then."""
    first_gauge: int
    most_work: int
    """The most `work_left` that there ever was; a plan may grow."""
    began: Mapping[int, float] = field(default_factory=dict)
    """When each session in flight began, by nonce."""
    used: Mapping[AtomId, Usage] = field(default_factory=dict)
    """What the sessions of each atom that have ended had used."""
    until: Mapping[int, tuple[float, str]] = field(default_factory=dict)
    """Until when a session in flight waits, and why, by nonce."""
    using: Mapping[int, Usage] = field(default_factory=dict)
    """Usage that sessions in flight have reported so far, by nonce; few agents do."""

    @classmethod
    def at_start(cls, plan: Plan, now: float, used: Mapping[AtomId, Usage] | None = None) -> Self:
        """At the first event; `used` is the usage on record from before (see `used_in`)."""
        work = work_left(plan)
        return cls(heard=now, first_gauge=gauge(plan), most_work=work, used=used or {})

    def after(self, plan: Plan, event: Event, now: float) -> Self:
        """`plan` is the one after the event."""
        in_flight = {session.nonce for session in plan.sessions.values()}
        began = {nonce: then for nonce, then in self.began.items() if nonce in in_flight}
        if isinstance(event, SessionStarted):
            began[plan.sessions[event.atom].nonce] = now
        until = {nonce: wait for nonce, wait in self.until.items() if nonce in in_flight}
        if isinstance(event, Waited) and event.atom is not None and event.atom in plan.sessions:
            until[plan.sessions[event.atom].nonce] = (now + event.seconds, event.note)
        used = self.used
        if isinstance(event, SessionNews) and event.usage != NO_USAGE:
            used = {**used, event.atom: _sum(used.get(event.atom, NO_USAGE), event.usage)}
        return replace(
            self,
            heard=now,
            most_work=self._most_work(plan, event),
            began=began,
            used=used,
            until=until,
            using={nonce: usage for nonce, usage in self.using.items() if nonce in in_flight},
        )

    def _most_work(self, plan: Plan, event: Event) -> int:
        # Most events can only lower it, and to add it up takes a look at every atom.
        return (
            self.most_work if isinstance(event, LOWERING) else max(self.most_work, work_left(plan))
        )

    def with_usage(self, nonce: int, usage: Usage) -> Self:
        """With the total usage that a session in flight reports."""
        return replace(self, using={**self.using, nonce: usage})

    def usage_of(self, plan: Plan, atom: AtomId) -> Usage:
        """All that is known to have been used for an atom."""
        used = self.used.get(atom, NO_USAGE)
        if atom not in plan.sessions:
            return used
        return _sum(used, self.using.get(plan.sessions[atom].nonce, NO_USAGE))

    def elapsed(self, plan: Plan, now: float) -> float:
        """Seconds that the run has taken, earlier times included, as its time limit counts them."""
        running = plan.control.status is RunStatus.RUNNING
        return plan.spent.seconds + (max(0.0, now - self.heard) if running else 0.0)


def used_in(events: Iterable[Event]) -> Mapping[AtomId, Usage]:
    """What these ends of sessions say was used, by atom."""
    used: dict[AtomId, Usage] = {}
    for event in events:
        if isinstance(event, SessionNews) and event.usage != NO_USAGE:
            used[event.atom] = _sum(used.get(event.atom, NO_USAGE), event.usage)
    return used


def _sum(one: Usage, other: Usage) -> Usage:
    return Usage(tokens=one.tokens + other.tokens, usd=one.usd + other.usd)


def work_left(plan: Plan) -> int:
    """The part of the gauge that work lowers, of what is live.

    Nearly all of the gauge is budgets for things that may never happen (redirects, backjumps,
    growth), so that as a whole it hardly moves. This part goes to 0 as the run comes to its end.
    """
    seen = view(plan)
    undone = [
        a for n, a in plan.atoms.items() if n in seen.live and a.status is not Status.RESOLVED
    ]
    leaves = [a for a in undone if a.id not in seen.shape.kids]
    sessions = sum(attempts_left(plan, a, seen.shape) + probes_left(plan, a) for a in leaves)
    return 2 * sessions + len(undone) + len(plan.sessions)
