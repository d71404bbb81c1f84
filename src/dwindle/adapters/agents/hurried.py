"""An agent whose sessions have less time than their orders say, because a person set it so."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dwindle.ports.agent import Agent, AgentSession, Place
from dwindle.ports.process import Command, Ended
from dwindle.ports.work import Order, Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Hurried:
    agent: Agent
    seconds: float

    @property
    def name(self) -> str:
        return self.agent.name

    def session(self, order: Order, place: Place) -> HurriedSession:
        return HurriedSession(session=self.agent.session(order, place), seconds=self.seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class HurriedSession:
    session: AgentSession
    seconds: float

    @property
    def command(self) -> Command:
        command = self.session.command
        return replace(command, timeout_seconds=min(command.timeout_seconds, self.seconds))

    def watch(self, line: bytes) -> str | None:
        return self.session.watch(line)

    def conclude(self, ended: Ended) -> Result:
        return self.session.conclude(ended)
