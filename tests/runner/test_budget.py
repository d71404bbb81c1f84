"""Sessions side by side are never promised more money than there is."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from dwindle.app.plans.load import load_graph
from dwindle.kernel.events import (
    AtomResolved,
    AttemptFailed,
    Event,
    RunStarted,
    SessionStarted,
    Usage,
    VerificationEnded,
)
from dwindle.kernel.model import ROOT, AtomId, Plan, Role
from dwindle.kernel.transitions import apply
from dwindle.ports.work import WorkerReport
from dwindle.runner.budget import Budget
from dwindle.runner.session import AgentRunner
from dwindle.testing.agents import ORDER, PLAN, Answering
from dwindle.testing.bare_process import BareProcess

A1, A2, A3, A4 = (AtomId(f"A{n}") for n in range(1, 5))
FILE = (
    """---
objective:
  goal: "Four things"
  background_intent: "They are missing"
  deliverables: "Four files"
  definition_of_done: "All are there"
  base_case:
    type: command
    value: "make check"
  constraints:
    max_iterations: 20
    max_parallel_agents: 3
    max_stall_count: 3
    dispatch: refill
atoms:
"""
    + "".join(
        f'  - id: A{n}\n    description: "Thing {n}"\n    status: pending\n    depends_on: []\n'
        for n in range(1, 5)
    )
    + "---\n"
)


class Desk:
    """A plan, and a budget that sees it."""

    def __init__(self, usd: float | None = 12.0, width: int = 3) -> None:
        plan = load_graph(FILE.encode()).plan
        assert plan is not None
        limits = replace(plan.limits, max_cost_usd=usd, max_parallel_agents=width)
        self.plan: Plan = replace(plan, limits=limits)
        self.budget = Budget(lambda: self.plan)
        self.told(RunStarted(run_id="01RUN"))

    def told(self, event: Event) -> None:
        self.plan = apply(self.plan, event)

    def starts(self, atom: AtomId, role: Role = Role.WORKER) -> float | None:
        self.told(SessionStarted(atom=atom, role=role))
        return self.asks(atom)

    def asks(self, atom: AtomId) -> float | None:
        return self.budget.share(replace(ORDER, atom=atom, nonce=self.nonce(atom)))

    def nonce(self, atom: AtomId) -> int:
        return self.plan.sessions[atom].nonce

    def resolves(self, atom: AtomId, usd: float) -> None:
        used = Usage(usd=usd)
        self.told(AtomResolved(atom=atom, nonce=self.nonce(atom), summary="s", usage=used))


def test_the_rest_is_divided_among_those_who_can_be_at_work() -> None:
    desk = Desk()
    assert [desk.starts(A1), desk.starts(A2), desk.starts(A3)] == [4.0, 4.0, 4.0]
    desk.resolves(A1, 1.0)
    # 11 are not spent, 8 of them are promised.
    assert desk.starts(A4) == 3.0


def test_a_session_alone_gets_all_that_is_left() -> None:
    desk = Desk(width=1)
    assert desk.starts(A1) == 12.0
    desk.resolves(A1, 5.0)
    assert desk.starts(A2) == 7.0


def test_the_last_atom_is_not_kept_short() -> None:
    desk = Desk()
    for atom in (A1, A2, A3):
        desk.starts(atom)
        desk.resolves(atom, 2.0)
    assert desk.starts(A4) == 6.0
    desk.resolves(A4, 2.0)
    assert desk.starts(ROOT, Role.VERIFIER) == 4.0
    desk.told(VerificationEnded(atom=ROOT, nonce=desk.nonce(ROOT), passed=False))


def test_a_session_that_spent_more_than_promised_leaves_less_to_others() -> None:
    desk = Desk()
    desk.starts(A1)
    desk.budget.pay(replace(ORDER, atom=A1, nonce=desk.nonce(A1)), 9.0)
    assert [desk.asks(A1), desk.starts(A2), desk.starts(A3)] == [0.0, 1.5, 1.5]


def test_a_second_program_of_a_session_gets_what_the_first_left() -> None:
    """One that was turned away and begins again, or the verifier of what a worker claims."""
    desk = Desk()
    assert desk.starts(A1) == 4.0
    desk.budget.pay(replace(ORDER, atom=A1, nonce=desk.nonce(A1)), 1.5)
    assert desk.asks(A1) == 2.5
    assert desk.asks(A1) == 2.5


def test_what_failed_gives_its_promise_back() -> None:
    desk = Desk()
    desk.starts(A1)
    desk.told(AttemptFailed(atom=A1, nonce=desk.nonce(A1), reason="no", usage=Usage(usd=3.0)))
    assert [desk.starts(A1), desk.starts(A2), desk.starts(A3)] == [3.0, 3.0, 3.0]


def test_more_was_spent_than_there_was() -> None:
    desk = Desk(width=1)
    desk.starts(A1)
    desk.resolves(A1, 20.0)
    assert desk.starts(A2) == 0.0


@pytest.mark.parametrize("usd", [None, 3.0])
def test_without_a_limit_and_for_a_planner_there_is_none(usd: float | None) -> None:
    desk = Desk(usd)
    assert desk.budget.is_limited is (usd is not None)
    assert desk.budget.share(PLAN) is None
    assert desk.starts(A1) == (None if usd is None else 1.0)


def test_an_agent_that_does_not_ask_takes_its_part_all_the_same(tmp_path: Path) -> None:
    desk = Desk()
    desk.told(SessionStarted(atom=A1, role=Role.WORKER))
    agent = Answering(lambda _: WorkerReport(success=True), Usage(usd=5.0))
    order = replace(ORDER, atom=A1, nonce=desk.nonce(A1))
    runner = AgentRunner(
        agents={Role.WORKER: agent},
        sandbox=BareProcess(),
        outboxes=tmp_path / "outbox",
        budget=desk.budget,
    )
    asyncio.run(runner.run(order, tmp_path, tmp_path / "log"))
    assert desk.starts(A2) == 3.5  # of the 12, 5 are paid; two sessions share the rest
