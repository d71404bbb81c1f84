"""The gate: does a worker's claim hold, and does the base case?

Graph runs and hosted runs ask here. Checks are run by the harness; what no machine can check is
judged by a verifier session, which is an agent session like any other.
"""

from __future__ import annotations

import functools
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from dwindle.kernel.base_case import Verdict
from dwindle.kernel.base_case import checks as checks_of
from dwindle.kernel.base_case import items as items_of
from dwindle.kernel.events import NO_USAGE, Event, Usage
from dwindle.kernel.model import (
    ROOT,
    Aligned,
    Atom,
    AtomId,
    Check,
    Objective,
    Plan,
    Role,
    Session,
)
from dwindle.ports.agent import ORDER
from dwindle.ports.checks import CheckRunner
from dwindle.ports.clock import Clock
from dwindle.ports.work import NoReport, Trouble, VerifierReport, WorkerReport
from dwindle.ports.workspace import BranchMoved, Lease, Workspace, WorkspaceFailed
from dwindle.runner.gate.certificate import Charge, Contained, certificate
from dwindle.runner.gate.certificate_text import certificate_text
from dwindle.runner.gate.deciding_files import written_judges
from dwindle.runner.gate.evidence import (
    REASON_CHARACTERS,
    Evidence,
    Rules,
    content_of,
    judge_work,
    links_out,
)
from dwindle.runner.gate.evidence import SessionWork as Left
from dwindle.runner.gate.judgement import Judge, bounded, short_list
from dwindle.runner.gate.pins import how_to_unpin
from dwindle.runner.gate.steering import NOTHING_STEERS, steering_of
from dwindle.runner.gate.test_count import least_counts
from dwindle.runner.gate.verification import (
    ALL_OF_IT,
    CheckedTree,
    Jury,
    NoCheckout,
    Round,
    checked_out,
    verify,
)
from dwindle.runner.gate.work_paths import Claimed, WorkPaths, fixed_files
from dwindle.runner.orders.work import order_to_judge
from dwindle.runner.session import AgentRunner, Finished
from dwindle.toolchains.test_files import is_bytecode


@dataclass(slots=True, kw_only=True)
class VerifierUsage:
    """What the verifiers of one session, or of one round, have used."""

    usage: Usage = NO_USAGE
    sessions: int = 0
    agents: str = ""
    """Their labels, where the settings name several."""

    def add(self, finished: Finished) -> None:
        self.usage += finished.usage
        self.sessions += 1
        if finished.agent not in self.agents.split(", "):
            self.agents = ", ".join(filter(None, (self.agents, finished.agent)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    workspace: Workspace
    checks: CheckRunner
    rules: Rules
    clock: Clock
    logs: Path
    """`.runner/iterations/<run>`."""
    contained: Contained
    """What the certificate says about the sandbox."""
    charges: Callable[[], Sequence[Charge]] = tuple
    """What each role has cost so far, for the certificate."""
    agents: AgentRunner | None = None
    """Runs the verifier, if one is configured."""
    judge: Judge | None = None
    """Judges instead of a verifier session, if given."""
    ground: Callable[[], Awaitable[Collection[str]]] | None = None
    """The files of the commit of alignment, which work paths are about."""
    known: dict[tuple[Objective, Aligned], WorkPaths] = field(default_factory=dict, compare=False)
    """A cache of `_work_paths`."""

    async def evidence_of(
        self, plan: Plan, atom: AtomId, folder: Path, lease: Lease, report: WorkerReport
    ) -> tuple[Evidence, VerifierUsage]:
        """Whether the claim holds, and what verifiers used.

        `folder` is the session's folder in the log: its order was written when the session began,
        by the clock that stamps the session's files.
        """
        change = await self.workspace.change(lease)
        work = Left(
            tree=lease.path, change=change, began_ns=lambda: os.lstat(folder / ORDER).st_ctime_ns
        )
        spent = VerifierUsage()
        rules = replace(self.rules, judge=self._judge(plan, spent, atom), least=least_counts(plan))
        if paths := await self._work_paths(plan):
            found = await self._within(paths, plan.atoms[atom], report, (work, lease), rules)
            return found, spent
        aligned = plan.control.aligned  # a redirect may have pinned other files since the run began
        rules = replace(
            rules,
            pins=aligned.pins if aligned else self.rules.pins,
            protected_paths=plan.objective.protected_paths,
            steering=_steering(plan.objective),
        )
        compiled = await self._compiled(work.change.paths, rules)
        paths_of_work = tuple(path for path in change.paths if path not in compiled)
        work = replace(work, change=replace(change, paths=paths_of_work))
        evidence = await judge_work(plan.atoms[atom], report, work, self.checks, rules)
        if compiled and evidence.holds:
            await self.workspace.claim(lease, dict.fromkeys(compiled))
            evidence = replace(evidence, set_aside=compiled)
        return evidence, spent

    async def _compiled(self, paths: Sequence[str], rules: Rules) -> tuple[str, ...]:
        """New compiled Python that the plan does not ask for: it stays off the branch."""
        found = [p for p in paths if is_bytecode(p) and not rules.steering.is_wanted(p)]
        ground = await self.ground() if found and self.ground is not None else ()
        return tuple(path for path in found if path not in ground)

    async def _within(
        self,
        paths: WorkPaths,
        atom: Atom,
        report: WorkerReport,
        left: tuple[Left, Lease],
        rules: Rules,
    ) -> Evidence:
        """Judge what lies within the work paths, in fresh checkouts; the rest is set aside."""
        work, lease = left
        rules = replace(
            rules, pins=(), protected_paths=(), steering=NOTHING_STEERS, fixed=paths.fixed
        )
        change = work.change
        if not report.success or change.trouble:
            return await judge_work(atom, report, work, self.checks, rules)
        claimed = paths.sort(change.paths, links_out(work.tree, change.paths))
        instead = await self._instead(paths, claimed, work.tree, rules)
        commit = await self.workspace.claim(lease, instead)
        overlay = paths.overlay(await self.workspace.changed(commit))

        async def trees() -> AsyncGenerator[CheckedTree, None]:
            without = [overlay.outside]
            if overlay.later:
                without.insert(0, (*overlay.outside, *overlay.later))
            for as_aligned in without:
                async with checked_out(self.workspace, commit, as_aligned) as tree:
                    yield tree

        change = replace(change, paths=claimed.kept)
        within = replace(work, change=change, judged_in=trees)
        try:
            evidence = await judge_work(atom, report, within, self.checks, rules)
        except NoCheckout as problem:
            if problem.verdict is not Verdict.FAILED:
                raise WorkspaceFailed(str(problem)) from problem
            evidence = Evidence(holds=False, reason=bounded(str(problem), REASON_CHARACTERS))
        artifacts = tuple(a for a in evidence.artifacts if a not in claimed.set_aside)
        in_part = (f"{path} (what steers tools)" for path in claimed.merged if path in instead)
        aside = (*claimed.set_aside, *in_part)
        reason = evidence.reason
        if aside and not evidence.holds:
            said = f"set aside, outside of the work paths: {short_list(aside)}"
            if pinned := paths.pinned(claimed.set_aside):
                said += f"\npinned: {short_list(pinned)}. {how_to_unpin(pinned)}"
            reason = bounded(f"{reason}\n{said}", REASON_CHARACTERS)
        return replace(evidence, artifacts=artifacts, set_aside=aside, reason=reason)

    async def _instead(
        self, paths: WorkPaths, claimed: Claimed, tree: Path, rules: Rules
    ) -> dict[str, bytes | None]:
        """What the claim has in place of what lies in the tree; see `Workspace.claim`."""
        instead: dict[str, bytes | None] = dict.fromkeys(claimed.set_aside)
        for path in claimed.merged:
            ground = await rules.at_alignment(path) if rules.at_alignment else None
            left = content_of(tree / path)
            merged = paths.merge(path, ground or b"", left)
            if merged != left:
                instead[path] = merged
        return instead

    async def _work_paths(self, plan: Plan) -> WorkPaths | None:
        """None if the plan has none: then the list of steering files decides."""
        aligned = plan.control.aligned
        if not plan.objective.work_paths or aligned is None or self.ground is None:
            return None
        key = (plan.objective, aligned)
        if key not in self.known:
            self.known.clear()
            self.known[key] = WorkPaths(*key, await self.ground())
        return self.known[key]

    async def verification(self, plan: Plan) -> Event:
        """A round of the base case on the tip of the branch; its certificate goes to the logs."""
        spent = VerifierUsage()
        jury = Jury(judge=self._judge(plan, spent, ROOT), answers=plan.verification.questions)
        found = await self._round(plan, jury, spent)
        return found.ended(plan.sessions[ROOT].nonce, usage=spent.usage, judge=spent.agents)

    async def holds_early(self, plan: Plan) -> bool:
        try:
            found = await self._round(plan, Jury())
        except BranchMoved:
            return False  # the commit that was checked is not the one that would be called done
        return found.passed and not found.questions

    async def _round(self, plan: Plan, jury: Jury, spent: VerifierUsage | None = None) -> Round:
        commit = await self.workspace.tip()
        paths = await self._work_paths(plan)
        jury = replace(jury, least=least_counts(plan), fixed=fixed_files(plan, paths))
        changed = await self.workspace.changed(commit)
        overlay = paths.overlay(changed) if paths else ALL_OF_IT
        if self.ground is not None:
            written = written_judges(plan.objective, await self.ground(), changed)
            jury = replace(jury, written=written)
        found = await verify(
            plan.objective.base_case, commit, self.workspace, self.checks, jury, overlay=overlay
        )
        if await self.workspace.tip() != commit:
            raise BranchMoved(f"the branch moved while {commit} was checked")
        made = certificate(
            plan,
            found,
            tree=await self.workspace.tree_of(commit),
            contained=self.contained,
            at=self.clock.now(),
            charges=self.charges(),
            judging=spent.usage if spent else NO_USAGE,
        )
        self.logs.mkdir(parents=True, exist_ok=True)
        (self.logs / "certificate.json").write_bytes(made.to_json())
        (self.logs / "certificate.txt").write_text(certificate_text(made), encoding="utf-8")
        return found

    def _judge(self, plan: Plan, spent: VerifierUsage, atom: AtomId) -> Judge | None:
        if self.judge is not None or self.agents is None or Role.VERIFIER not in self.agents.agents:
            return self.judge
        session = plan.sessions[atom]
        name = f"{plan.control.iteration:04}/{atom or 'verification'}.{session.number}.verifier"
        return judge_by(
            self.agents,
            plan,
            session,
            folder=lambda: self.logs / f"{name}.{spent.sessions + 1}",
            atom=atom,
            spent=spent,
        )


def judge_by(  # noqa: PLR0913 - what a verifier session is about
    agents: AgentRunner,
    plan: Plan,
    session: Session,
    *,
    folder: Callable[[], Path],
    atom: AtomId = ROOT,
    spent: VerifierUsage,
) -> Judge:
    """A verifier session for each check that needs one; what it used goes to `spent`."""

    async def judge(check: Check, tree: Path) -> VerifierReport | NoReport:
        order = order_to_judge(plan, session, check, item=_item_of(plan, check, atom), atom=atom)
        order = replace(order, agent=agents.label(Role.VERIFIER, order.failed))
        finished = await agents.run(order, tree, folder())
        spent.add(finished)
        report = finished.report
        if isinstance(report, (VerifierReport, NoReport)):
            return report
        return NoReport(trouble=Trouble.MALFORMED, reason="not the report of a verifier")

    return judge


def _item_of(plan: Plan, check: Check, atom: AtomId) -> str:
    """What the check is about, in the words of the plan."""
    if atom != ROOT:
        return plan.atoms[atom].description
    named = (item for _, item, one in checks_of(items_of(plan.objective.base_case)) if one == check)
    return next(named, check.value or check.criteria or "")


_steering = functools.lru_cache(8)(steering_of)
"""Asked after every session; it changes with a redirect only."""
