"""What one session consists of: the outbox, the agent's program, the logs, the evidence.

Each session has a folder of its own under `.runner/iterations/<run>/<iteration>/`; what it was told
and what it said is kept there. The agent sees a copy in its outbox, so that it cannot rewrite the
record.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from dwindle.kernel.events import Event, Usage
from dwindle.kernel.model import ROOT, AtomId, Check, Plan, Role
from dwindle.ports.agent import Agent
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
from dwindle.runner.outboxes import Outboxes, write
from dwindle.runner.patience import Wait, patient
from dwindle.runner.prompt import prompt_for
from dwindle.runner.verification import Jury, Round, verify


@dataclass(frozen=True, slots=True, kw_only=True)
class Sessions:
    workspace: Workspace
    containment: Containment
    checks: CheckRunner
    agents: Mapping[Role, Agent]
    clock: Clock
    logs: Path
    """`.runner/iterations/<run>`."""
    outboxes: Outboxes
    hidden: tuple[Path, ...] = ()
    """What no agent may see: the plan, the journal."""
    rules: Rules
    seconds_left: Callable[[], float] = lambda: math.inf
    """How long the run may still take: no wait is longer."""
    held_up: Callable[[AtomId, Wait], None] = lambda _atom, _wait: None
    """Told when a session has to wait for what passes."""

    async def agent_run(
        self, order: WorkOrder, tree: Path, iteration: int, name: str = ""
    ) -> Result:
        """One agent on one order, in one tree; `name` where the order's own would not be unique.

        Whoever is turned away for a while waits and begins again, in the same tree.
        """
        folder = self.logs / f"{iteration:04}" / (name or _name(order))
        told, prompt = order_json(order), prompt_for(order).encode()
        _logged(folder, told, prompt)
        tries = itertools.count(1)

        async def session() -> Result:
            return await self._session(order, tree, (told, prompt), folder, next(tries))

        def held_up(wait: Wait | None) -> None:
            if wait is not None:
                self.held_up(order.atom, wait)

        return await patient(session, self.seconds_left, held_up)

    async def _session(
        self, order: WorkOrder, tree: Path, handed: tuple[bytes, bytes], folder: Path, number: int
    ) -> Result:
        agent = self.agents[order.role]
        place = self.outboxes.handed_out(tree, *handed)
        session = agent.session(order, place)
        command = session.command
        command = replace(
            command,
            hidden=(*command.hidden, *self.hidden),
            log=folder / ("session.log" if number == 1 else f"session.{number}.log"),
        )
        try:
            return session.conclude(await self.containment.run(command, watch=session.watch))
        finally:
            self.outboxes.taken_back(place, folder / "report.json", command)

    async def evidence_of(
        self, plan: Plan, order: WorkOrder, iteration: int, lease: Lease, report: WorkerReport
    ) -> tuple[Evidence, Usage]:
        """Does the claim hold, and what did a verifier cost who had to be asked?"""
        told = self.logs / f"{iteration:04}" / _name(order) / "order.json"
        change = await self.workspace.change(lease)
        # The order was written when the session began, by the clock that stamps its files.
        work = Left(tree=lease.path, change=change, began_ns=told.stat().st_ctime_ns)
        spent: list[Usage] = []
        aligned = plan.control.aligned  # a redirect may have pinned other files since the run began
        rules = replace(
            self.rules,
            pins=aligned.pins if aligned else self.rules.pins,
            protected_paths=plan.objective.protected_paths,
            judge=self._judge(plan, spent, order.atom),
        )
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


def _logged(folder: Path, order: bytes, prompt: bytes) -> None:
    try:
        folder.mkdir()
    except OSError:  # the first of its iteration, or there already
        folder.mkdir(parents=True, exist_ok=True)
    write(f"{folder}/order.json", order)
    write(f"{folder}/prompt.md", prompt)
