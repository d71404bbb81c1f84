"""An agent of whom nothing is passed on that a person or another agent had better not read.

Whatever a program says comes to us as a report, in its own words or in those that its adapter found
for its end. All of it is made legible here, and what is secret taken out, once it was decoded: in a
report as it was written, a key may have been spelt in ways that only a decoder knows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from dwindle.ports.agent import Agent, AgentSession, Place
from dwindle.ports.process import Command, Ended, Secret
from dwindle.ports.secrecy import longest_first, retold
from dwindle.ports.work import Order, Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Reticent:
    agent: Agent
    secrets: tuple[Secret, ...] = ()
    """What it may have got to know, besides what its own adapter knows of."""

    @property
    def name(self) -> str:
        return self.agent.name

    def session(self, order: Order, place: Place) -> ReticentSession:
        return ReticentSession(session=self.agent.session(order, place), secrets=self.secrets)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReticentSession:
    session: AgentSession
    secrets: tuple[Secret, ...]

    @property
    def command(self) -> Command:
        command = self.session.command
        if not self.secrets:
            return command
        return replace(command, secrets=longest_first((*command.secrets, *self.secrets)))

    def watch(self, line: bytes) -> str | None:
        return self.session.watch(line)

    def conclude(self, ended: Ended) -> Result:
        result = self.session.conclude(ended)
        return replace(result, report=retold(result.report, self.secrets))
