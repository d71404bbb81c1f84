"""What one session consists of: the outbox, the agent's program, the logs, the evidence.

Each session has a folder of its own under `.runner/iterations/<run>/<iteration>/`; what it was told
and what it said is kept there. The agent sees a copy in its outbox, so that it cannot rewrite the
record.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from dwindle.kernel.events import Event, Usage
from dwindle.kernel.model import ROOT, AtomId, Check, Plan, Role
from dwindle.ports.agent import Agent, Place
from dwindle.ports.checks import CheckRunner
from dwindle.ports.clock import Clock
from dwindle.ports.process import Containment
from dwindle.ports.work import NoReport, Result, Trouble, VerifierReport, WorkerReport, WorkOrder
from dwindle.ports.workspace import Lease, Workspace
from dwindle.runner.certificate import Contained, certificate
from dwindle.runner.certificate_text import certificate_text
from dwindle.runner.evidence import Evidence, Rules, judge_work
from dwindle.runner.evidence import Work as Left
from dwindle.runner.judgement import Judge
from dwindle.runner.orders import order_json, order_to_judge
from dwindle.runner.prompt import prompt_for
from dwindle.runner.verification import Jury, Round, verify

REPORT_BYTES = (1 << 20) + 1
"""A longer report is refused; this much of it shows that it was too long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sessions:
    workspace: Workspace
    containment: Containment
    checks: CheckRunner
    agents: Mapping[Role, Agent]
    clock: Clock
    logs: Path
    """`.runner/iterations/<run>`."""
    outboxes: Path
    hidden: tuple[Path, ...] = ()
    """What no agent may see: the plan, the journal."""
    rules: Rules

    async def agent_run(
        self, order: WorkOrder, tree: Path, iteration: int, name: str = ""
    ) -> Result:
        """One agent on one order, in one tree; `name` where the order's own would not be unique."""
        agent = self.agents[order.role]
        name = name or _name(order)
        place = Place(workspace=tree, outbox=self.outboxes / name)
        folder = self.logs / f"{iteration:04}" / name
        _prepared(place, folder, order)
        command = agent.launch(order, place)
        command = replace(
            command, hidden=(*command.hidden, *self.hidden), log=folder / "session.log"
        )
        try:
            ended = await self.containment.run(command, watch=agent.watch)
            return agent.conclude(order, place, ended)
        finally:
            _kept(place, folder)

    async def evidence_of(
        self, plan: Plan, order: WorkOrder, iteration: int, lease: Lease, report: WorkerReport
    ) -> tuple[Evidence, Usage]:
        """Does the claim hold, and what did a verifier cost who had to be asked?"""
        told = self.logs / f"{iteration:04}" / _name(order) / "order.json"
        change = await self.workspace.change(lease)
        # The order was written when the session began, by the clock that stamps its files.
        work = Left(tree=lease.path, change=change, began_ns=told.stat().st_ctime_ns)
        spent: list[Usage] = []
        rules = replace(self.rules, judge=self._judge(plan, spent, order.atom))
        seen = await judge_work(plan.atoms[order.atom], report, work, self.checks, rules)
        return seen, _sum(spent)

    async def verification(self, plan: Plan) -> Event:
        """A round of the base case on the tip of the branch; its certificate goes to the logs."""
        session = plan.sessions[ROOT]
        spent: list[Usage] = []
        jury = Jury(judge=self._judge(plan, spent, ROOT), answers=plan.verification.questions)
        seen = await self._round(plan, jury)
        return seen.ended(session.nonce, usage=_sum(spent))

    async def holds_early(self, plan: Plan) -> bool:
        return (await self._round(plan, Jury())).passed

    async def _round(self, plan: Plan, jury: Jury) -> Round:
        commit = await self.workspace.tip()
        base_case = plan.objective.base_case
        seen = await verify(base_case, commit, self.workspace, self.checks, jury)
        made = certificate(
            plan,
            seen,
            tree=await self.workspace.tree_of(commit),
            contained=Contained(
                strength=self.containment.strength, mechanism=self.containment.mechanism
            ),
            at=self.clock.now(),
        )
        self.logs.mkdir(parents=True, exist_ok=True)
        (self.logs / "certificate.json").write_bytes(made.to_json())
        (self.logs / "certificate.txt").write_text(certificate_text(made), encoding="utf-8")
        return seen

    def _judge(self, plan: Plan, spent: list[Usage], atom: AtomId) -> Judge | None:
        """A verifier session for each check that needs one, if there is an agent for it."""
        if Role.VERIFIER not in self.agents:
            return None
        session = plan.sessions[atom]

        async def judge(check: Check, tree: Path) -> VerifierReport | NoReport:
            item = check.value or "quality"
            order = order_to_judge(plan, session, check, item=item, atom=atom)
            name = f"{atom or 'verification'}.{session.number}.verifier.{len(spent) + 1}"
            result = await self.agent_run(order, tree, plan.control.iteration, name)
            spent.append(result.usage)
            if isinstance(result.report, (VerifierReport, NoReport)):
                return result.report
            return NoReport(trouble=Trouble.MALFORMED, reason="not the report of a verifier")

        return judge


def _name(order: WorkOrder) -> str:
    return f"{order.atom}.{order.attempt}.{order.role}"


def _sum(spent: list[Usage]) -> Usage:
    return Usage(tokens=sum(u.tokens for u in spent), usd=sum(u.usd for u in spent))


def _prepared(place: Place, folder: Path, order: WorkOrder) -> None:
    shutil.rmtree(place.outbox, ignore_errors=True)
    for where in (place.outbox, folder):
        where.mkdir(parents=True, exist_ok=True)
        (where / "order.json").write_bytes(order_json(order))
        (where / "prompt.md").write_text(prompt_for(order), encoding="utf-8")


def _kept(place: Place, folder: Path) -> None:
    """Keep the report, whatever it is but no more than could be read of it; give the outbox up."""
    with contextlib.suppress(OSError):
        if place.report.is_file() and not place.report.is_symlink():
            with place.report.open("rb") as report:
                (folder / "report.json").write_bytes(report.read(REPORT_BYTES))
    shutil.rmtree(place.outbox, ignore_errors=True)
