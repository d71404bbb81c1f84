"""The usage of sessions in flight, until it is on record.

A session reports its usage at its end. A session that the runner ends cannot, but its money is
spent: the meter knows what its programs and verifiers had used by then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dwindle.kernel.events import (
    NO_USAGE,
    Event,
    Interruption,
    SessionInterrupted,
    SessionNews,
    Usage,
)
from dwindle.kernel.model import AtomId, Session


class Meter:
    def __init__(self) -> None:
        self._known: dict[int, Usage] = {}

    def add(self, nonce: int, usage: Usage) -> None:
        if usage != NO_USAGE:
            self._known[nonce] = self._known.get(nonce, NO_USAGE) + usage

    def take(self, nonce: int) -> Usage:
        """All that is known of a session that is over."""
        return self._known.pop(nonce, NO_USAGE)

    def cut_short(self, atom: AtomId, nonce: int) -> SessionInterrupted:
        """The event for a session that the runner has ended."""
        used = self.take(nonce)
        return SessionInterrupted(atom=atom, nonce=nonce, cause=Interruption.STOP, usage=used)

    def after(
        self, event: Event, before: Mapping[AtomId, Session], now: Mapping[AtomId, Session]
    ) -> Iterator[SessionInterrupted]:
        """What is still to be recorded after this event, which turned sessions `before` into `now`.

        The end of a session says what it used. Other events, such as a redirect, end sessions as a
        side effect: their usage is recorded late and changes nothing but the sums.
        """
        if isinstance(event, SessionNews):
            self.take(event.nonce)
        elif before is not now:
            gone = [(a, one.nonce) for a, one in before.items() if now.get(a) is not one]
            yield from (self.cut_short(a, nonce) for a, nonce in gone if nonce in self._known)
