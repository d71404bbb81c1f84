"""What is left of the money, divided among the sessions that may be at work at the same time.

The kernel looks at what is spent before it starts anything, and what a session has spent is known
when it has ended. So sessions side by side could each be told of the same last dollar. Here each is
promised a part when it begins: what is neither spent nor promised, divided by the number of
sessions that could still join it. Together they are never promised more than there is. A promise
ends with its session; what was spent then takes its place.

A session that is turned away and begins again, and a verifier who judges what a worker claims,
belong to the session that they are part of: they get what is left of its promise.

A promise is only as good as the agent that is told of it. Claude stops at the end of the turn in
which it has passed its part. Codex cannot be told; its sessions are counted when they end, as are
those of any program that does not ask. By so much a limit can be passed, and by no further start.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dwindle.kernel.graph import view
from dwindle.kernel.model import Plan, Status
from dwindle.ports.agent import Agent, AgentSession, Place
from dwindle.ports.process import Command, Ended
from dwindle.ports.work import Order, PlanningOrder, Result


class Purse:
    def __init__(self, plan: Callable[[], Plan]) -> None:
        self._plan = plan
        self._promised: dict[int, float] = {}
        """By nonce, of sessions in flight."""
        self._paid: dict[int, float] = {}
        """What is known to be used by them, before it is on record."""

    @property
    def is_limited(self) -> bool:
        return self._plan().limits.max_cost_usd is not None

    def share(self, order: Order) -> float | None:
        """US dollars that a session which begins now may spend; None: no limit."""
        plan = self._plan()
        most = plan.limits.max_cost_usd
        if most is None or isinstance(order, PlanningOrder):
            return None
        in_flight = {session.nonce for session in plan.sessions.values()}
        self._promised = {n: usd for n, usd in self._promised.items() if n in in_flight}
        self._paid = {n: usd for n, usd in self._paid.items() if n in in_flight}
        if order.nonce not in self._promised:
            taken = sum(max(usd, self._paid.get(n, 0.0)) for n, usd in self._promised.items())
            rest = max(0.0, most - plan.spent.usd - taken)
            self._promised[order.nonce] = rest / self._who_could_join(plan)
        return max(0.0, self._promised[order.nonce] - self._paid.get(order.nonce, 0.0))

    def pay(self, order: Order, usd: float) -> None:
        """A program of this session has ended, and says what it used."""
        self._paid[order.nonce] = self._paid.get(order.nonce, 0.0) + max(0.0, usd)

    def opened_for(self, agent: Agent) -> Paying:
        return Paying(agent=agent, purse=self)

    def _who_could_join(self, plan: Plan) -> int:
        """Whoever begins now, and those who may begin before it has ended."""
        seen = view(plan)
        leaves = sum(
            atom.status is not Status.RESOLVED and name in seen.live and name not in seen.shape.kids
            for name, atom in plan.atoms.items()
        )
        at_once = min(plan.limits.max_parallel_agents, leaves)
        return max(1, at_once - len(self._promised))


@dataclass(frozen=True, slots=True, kw_only=True)
class Paying:
    """An agent whose sessions are paid from a purse, whether they ask what is in it or not."""

    agent: Agent
    purse: Purse

    @property
    def name(self) -> str:
        return self.agent.name

    def session(self, order: Order, place: Place) -> PayingSession:
        self.purse.share(order)
        return PayingSession(
            session=self.agent.session(order, place), purse=self.purse, order=order
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PayingSession:
    session: AgentSession
    purse: Purse
    order: Order

    @property
    def command(self) -> Command:
        return self.session.command

    def watch(self, line: bytes) -> str | None:
        return self.session.watch(line)

    def conclude(self, ended: Ended) -> Result:
        result = self.session.conclude(ended)
        self.purse.pay(self.order, result.usage.usd)
        return result
