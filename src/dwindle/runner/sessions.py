"""What one session consists of: the outbox, the agent's program, the logs, the evidence.

Each session has a folder of its own under `.runner/iterations/<run>/<iteration>/`; what it was told
and what it said is kept there. The agent sees a copy in its outbox, so that it cannot rewrite the
record.
"""

from __future__ import annotations

import functools
import itertools
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dwindle.kernel.changed import replace
from dwindle.kernel.events import NO_USAGE, Event, Usage
from dwindle.kernel.model import ROOT, AtomId, Check, Plan, Role
from dwindle.ports.agent import ORDER, REPORT, Agent
from dwindle.ports.checks import CheckRunner
from dwindle.ports.clock import Clock
from dwindle.ports.process import Containment
from dwindle.ports.work import NoReport, Result, Trouble, VerifierReport, WorkerReport, WorkOrder
from dwindle.ports.workspace import BranchMoved, Lease, Workspace
from dwindle.runner.certificate import Charge, Contained, certificate
from dwindle.runner.certificate_text import certificate_text
from dwindle.runner.evidence import Evidence, Rules, judge_work
from dwindle.runner.evidence import Work as Left
from dwindle.runner.judgement import Judge
from dwindle.runner.meter import Meter
from dwindle.runner.no_fewer import no_fewer
from dwindle.runner.orders import order_to_judge
from dwindle.runner.outboxes import Outboxes
from dwindle.runner.patience import Wait, patient, together
from dwindle.runner.steering import steering_of
from dwindle.runner.told import Told
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
    writable: tuple[Path, ...] = ()
    """What a person lets workers write to, besides their own trees."""
    rules: Rules
    seconds_left: Callable[[], float] = lambda: math.inf
    """How long the run may still take: no wait is longer."""
    held_up: Callable[[AtomId, Wait], None] = lambda _atom, _wait: None
    """Told when a session has to wait for what passes."""
    charges: Callable[[], Sequence[Charge]] = tuple
    """What each role has cost up to now, for the certificate."""
    meter: Meter = field(default_factory=Meter)
    judge: Judge | None = None
    """Who judges instead of a verifier of ours."""
    contained: Contained | None = None
    """What the certificate says of the containment; if None, what kind it is and no more."""

    def told(self, order: WorkOrder, iteration: int, name: str = "") -> Told:
        """What a session on this order hears; `name` where the order's own is not unique."""
        return Told(order, self.logs / f"{iteration:04}/{name or _name(order)}")

    async def agent_run(self, order: WorkOrder, tree: Path, told: Told) -> Result:
        """One agent on one order, in one tree.

        Whoever is turned away for a while waits and begins again, in the same tree.
        """
        told.kept()
        tries = itertools.count(1)

        async def session() -> Result:
            return await self._session(order, tree, told, next(tries))

        def held_up(wait: Wait | None) -> None:
            if wait is not None:
                self.held_up(order.atom, wait)

        return await patient(session, self.seconds_left, held_up)

    async def _session(self, order: WorkOrder, tree: Path, told: Told, number: int) -> Result:
        agent = self.agents[order.role]
        place = self.outboxes.handed_out(tree, told.order, told.prompt)
        session = agent.session(order, place)
        command = session.command
        more = self.writable if order.role is Role.WORKER else ()
        command = replace(
            command,
            writable=(*command.writable, *more),
            hidden=(*command.hidden, *self.hidden),
            log=told.folder / ("session.log" if number == 1 else f"session.{number}.log"),
        )
        try:
            running = self.containment.run(command, watch=session.watch)
            _, result = await self.meter.read(order.nonce, session, running)
            return result
        finally:
            self.outboxes.taken_back(place, f"{told.folder}/{REPORT}", command)

    async def evidence_of(
        self, plan: Plan, order: WorkOrder, iteration: int, lease: Lease, report: WorkerReport
    ) -> tuple[Evidence, Usage]:
        """Does the claim hold, and what did a verifier cost who had to be asked?"""
        change = await self.workspace.change(lease)

        def began() -> int:
            # The order was written when the session began, by the clock that stamps its files.
            return os.lstat(f"{self.logs}/{iteration:04}/{_name(order)}/{ORDER}").st_ctime_ns

        work = Left(tree=lease.path, change=change, began_ns=began)
        spent: list[Usage] = []
        aligned = plan.control.aligned  # a redirect may have pinned other files since the run began
        rules = replace(
            self.rules,
            pins=aligned.pins if aligned else self.rules.pins,
            protected_paths=plan.objective.protected_paths,
            steering=_steering(plan.objective),
            judge=self._judge(plan, spent, order.atom),
        )
        seen = await judge_work(
            plan.atoms[order.atom], report, work, no_fewer(self.checks, plan), rules
        )
        return seen, _sum(spent)

    async def verification(self, plan: Plan) -> Event:
        """A round of the base case on the tip of the branch; its certificate goes to the logs."""
        session = plan.sessions[ROOT]
        spent: list[Usage] = []
        jury = Jury(judge=self._judge(plan, spent, ROOT), answers=plan.verification.questions)
        seen = await self._round(plan, jury, spent)
        return seen.ended(session.nonce, usage=_sum(spent))

    async def holds_early(self, plan: Plan) -> bool:
        try:
            return (await self._round(plan, Jury())).passed
        except BranchMoved:
            return False  # what was checked is not what would be called done

    async def _round(self, plan: Plan, jury: Jury, spent: Sequence[Usage] = ()) -> Round:
        commit = await self.workspace.tip()
        base_case = plan.objective.base_case
        checks = no_fewer(self.checks, plan)
        seen = await verify(base_case, commit, self.workspace, checks, jury)
        if await self.workspace.tip() != commit:
            raise BranchMoved(f"the branch went on while {commit} was checked")
        made = certificate(
            plan,
            seen,
            tree=await self.workspace.tree_of(commit),
            contained=self.contained
            or Contained(strength=self.containment.strength, mechanism=self.containment.mechanism),
            at=self.clock.now(),
            charges=self.charges(),
            judging=_sum(spent),
        )
        self.logs.mkdir(parents=True, exist_ok=True)
        (self.logs / "certificate.json").write_bytes(made.to_json())
        (self.logs / "certificate.txt").write_text(certificate_text(made), encoding="utf-8")
        return seen

    def _judge(self, plan: Plan, spent: list[Usage], atom: AtomId) -> Judge | None:
        """A verifier session for each check that needs one, if there is an agent for it."""
        if self.judge is not None or Role.VERIFIER not in self.agents:
            return self.judge
        session = plan.sessions[atom]

        async def judge(check: Check, tree: Path) -> VerifierReport | NoReport:
            item = check.value or "quality"
            order = order_to_judge(plan, session, check, item=item, atom=atom)
            name = f"{atom or 'verification'}.{session.number}.verifier.{len(spent) + 1}"
            told = self.told(order, plan.control.iteration, name)
            result = await self.agent_run(order, tree, told)
            spent.append(result.usage)
            if isinstance(result.report, (VerifierReport, NoReport)):
                return result.report
            return NoReport(trouble=Trouble.MALFORMED, reason="not the report of a verifier")

        return judge


_steering = functools.lru_cache(8)(steering_of)
"""It is asked after every session, and changes with a redirect only."""


def _name(order: WorkOrder) -> str:
    return f"{order.atom}.{order.attempt}.{order.role}"


def _sum(spent: Sequence[Usage]) -> Usage:
    return functools.reduce(together, spent, NO_USAGE)
