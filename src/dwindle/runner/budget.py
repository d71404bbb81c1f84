"""How much money each session may spend, so that sessions side by side stay within the limit.

The kernel checks what is spent before it starts a session, and learns what a session cost when it
ends. So sessions that run at the same time could all count on the same last dollar. The budget
gives each session a share when it begins: what is neither spent nor shared out, divided by the
number of sessions that could still join it. A share ends with its session.

A retry after a rate limit, and a verifier who judges a worker's claim, belong to the session that
they are part of and get what is left of its share.

The limit holds as far as the agent obeys. Claude stops at the end of the turn in which it has
passed its share. Codex takes no limit: its sessions, like those of any program that does not ask,
are counted when they end. The limit can be passed by that much, and no session starts after that.
"""

from __future__ import annotations

from collections.abc import Callable

from dwindle.kernel.graph import view
from dwindle.kernel.model import Plan, Status
from dwindle.ports.work import Order, PlanningOrder


class Budget:
    def __init__(self, plan: Callable[[], Plan]) -> None:
        self._plan = plan
        self._shares: dict[int, float] = {}
        """By nonce, of sessions in flight."""
        self._used: dict[int, float] = {}
        """What their programs have used so far, before it is on record."""

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
        self._shares = {n: usd for n, usd in self._shares.items() if n in in_flight}
        self._used = {n: usd for n, usd in self._used.items() if n in in_flight}
        if order.nonce not in self._shares:
            taken = sum(max(usd, self._used.get(n, 0.0)) for n, usd in self._shares.items())
            rest = max(0.0, most - plan.spent.usd - taken)
            self._shares[order.nonce] = rest / self._sessions_to_come(plan)
        return max(0.0, self._shares[order.nonce] - self._used.get(order.nonce, 0.0))

    def pay(self, order: Order, usd: float) -> None:
        """A program of this session has ended and says what it used."""
        self._used[order.nonce] = self._used.get(order.nonce, 0.0) + max(0.0, usd)

    def _sessions_to_come(self, plan: Plan) -> int:
        """The session that begins now, and those that may begin before it has ended."""
        seen = view(plan)
        leaves = sum(
            atom.status is not Status.RESOLVED and name in seen.live and name not in seen.shape.kids
            for name, atom in plan.atoms.items()
        )
        at_once = min(plan.limits.max_parallel_agents, leaves)
        return max(1, at_once - len(self._shares))
