"""An agent whose sessions have something to say to the person, such as that its version is new."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from dwindle.ports.agent import Agent, AgentSession, Place
from dwindle.ports.process import Command, Ended
from dwindle.ports.work import Order, Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Outspoken:
    """Says every `warning` of its sessions, each once."""

    agent: Agent
    say: Callable[[str], None]
    said: set[str] = field(default_factory=set)

    @property
    def name(self) -> str:
        return self.agent.name

    def session(self, order: Order, place: Place) -> OutspokenSession:
        return OutspokenSession(session=self.agent.session(order, place), by=self)

    def tell(self, warning: str) -> None:
        if warning and warning not in self.said:
            self.said.add(warning)
            self.say(f"warning: {warning}")


@dataclass(frozen=True, slots=True, kw_only=True)
class OutspokenSession:
    session: AgentSession
    by: Outspoken

    @property
    def command(self) -> Command:
        return self.session.command

    def watch(self, line: bytes) -> str | None:
        return self.session.watch(line)

    def conclude(self, ended: Ended) -> Result:
        self.by.tell(getattr(self.session, "warning", ""))
        return self.session.conclude(ended)
