"""What the programs of a session have used, until it is on record.

A session tells at its end what it used. One that is ended by us does not come to that, and money
was spent all the same: here is what is known by then, its earlier programs and judges included.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Iterator, Mapping

from dwindle.kernel.events import (
    NO_USAGE,
    Event,
    Interruption,
    SessionInterrupted,
    SessionNews,
    Usage,
)
from dwindle.kernel.model import AtomId, Session
from dwindle.ports.agent import AgentSession
from dwindle.ports.process import Ended
from dwindle.ports.work import Result
from dwindle.runner.patience import together


class Meter:
    def __init__(self) -> None:
        self._known: dict[int, Usage] = {}

    def add(self, nonce: int, usage: Usage) -> None:
        if usage == NO_USAGE:
            return
        self._known[nonce] = together(self._known.get(nonce, NO_USAGE), usage)

    def take(self, nonce: int) -> Usage:
        """All that is known of a session, which is over."""
        return self._known.pop(nonce, NO_USAGE)

    def cut_short(self, atom: AtomId, nonce: int) -> SessionInterrupted:
        """The end of a session that we have ended."""
        used = self.take(nonce)
        return SessionInterrupted(atom=atom, nonce=nonce, cause=Interruption.STOP, usage=used)

    def after(
        self, event: Event, before: Mapping[AtomId, Session], now: Mapping[AtomId, Session]
    ) -> Iterator[SessionInterrupted]:
        """What is still to be recorded once this event is, which made these sessions of those.

        An end has said what was used. Other events, such as a redirect, may end sessions by the
        way: news of these comes late, changes nothing any more, and is counted.
        """
        if isinstance(event, SessionNews):
            self.take(event.nonce)
        elif before is not now:
            gone = [(a, one.nonce) for a, one in before.items() if now.get(a) is not one]
            yield from (self.cut_short(a, nonce) for a, nonce in gone if nonce in self._known)

    async def read(
        self, nonce: int, session: AgentSession, running: Awaitable[Ended]
    ) -> tuple[Ended, Result]:
        """How a program of this session ended, and what it came to."""
        try:
            ended = await running
        except asyncio.CancelledError:
            # What it left is of no interest; what it has said up to now may tell what it used.
            with contextlib.suppress(Exception):
                self.add(nonce, session.conclude(Ended(error="ended by us")).usage)
            raise
        result = session.conclude(ended)
        self.add(nonce, result.usage)
        return ended, result
