"""Several agents for one role: cheap ones first, strong or different ones for what keeps failing.

Only the number of failures of an atom decides which agent takes it, so a journal replays the same.
The start of the session records the agent's label.

An unavailable agent (not logged in, out of credit, rate limited, unreachable) is skipped while
another is available: the next agent of the list goes on in the same session, which costs nothing.
Only if none is left does the run wait or end, as with a single agent.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dwindle.ports.agent import Agent, AgentSession, Place, ReportChannel
from dwindle.ports.work import ENDS_THE_RUN, PASSES, NoReport, Order, Report

PASSED_OVER_SECONDS = 300.0
"""How long a rate-limited or unreachable agent is skipped, if it does not say."""


@dataclass(slots=True, kw_only=True)
class Escalating:
    """An agent made of others, in the order in which they are tried."""

    agents: Mapping[str, Agent]
    """By label, as the settings name them."""
    clock: Callable[[], float] = time.monotonic
    _down: dict[str, float] = field(default_factory=dict)
    """Until when each unavailable agent is skipped."""

    @property
    def name(self) -> str:
        return ", then ".join(self.agents)

    def choice(self, failed: int) -> str:
        """The label of the agent after so many failures; if it is down, a stronger one first."""
        labels = tuple(self.agents)
        first = min(failed, len(labels) - 1)
        in_turn = (*labels[first:], *reversed(labels[:first]))
        return next((label for label in in_turn if not self._is_down(label)), labels[first])

    def session(self, order: Order, place: Place) -> AgentSession:
        return self.agents[self.label(order)].session(order, place)

    def label(self, order: Order) -> str:
        return order.agent or self.choice(order.failed)

    def substitute(self, order: Order, report: Report) -> str:
        """The label of the agent that goes on if this order's is unavailable; "" if none can."""
        if not isinstance(report, NoReport) or report.trouble not in (*ENDS_THE_RUN, *PASSES):
            return ""
        passes = report.trouble in PASSES
        seconds = (report.again_after or PASSED_OVER_SECONDS) if passes else math.inf
        self._down[self.label(order)] = self.clock() + seconds
        if not all(self._is_down(other) for other in self.agents):
            return self.choice(order.failed)
        if passes:
            self._down.clear()  # wait for it, as for a single agent
        return ""

    def _is_down(self, label: str) -> bool:
        return self._down.get(label, -math.inf) > self.clock()


def label_for(agent: Agent | None, failed: int) -> str:
    """The label to record in the start of a session; "" where the role has one agent."""
    return agent.choice(failed) if isinstance(agent, Escalating) else ""


def substitute_for(agent: Agent, order: Order, report: Report) -> str:
    return agent.substitute(order, report) if isinstance(agent, Escalating) else ""


def channel_for(agent: Agent, order: Order) -> ReportChannel:
    """How the agent that takes this order hands in its report."""
    if isinstance(agent, Escalating):
        agent = agent.agents[agent.label(order)]
    return getattr(agent, "channel", ReportChannel.FILE)
