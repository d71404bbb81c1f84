"""Running the base case again, long after the run, without touching anything of it.

What was certified is looked at in the same way: a fresh checkout of the same commit, pins put back
from the same commit of alignment. Where there is no certificate, the tip of the run's branch is
looked at, and the answer is only about now.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dwindle.adapters.git.repository import Repository, find
from dwindle.adapters.git.worktrees.checkouts import GitCheckouts
from dwindle.app.agents.configured import agents_of
from dwindle.app.open_run.graph import briefings, graph_policy, no_plan
from dwindle.app.open_run.shared import Site, SystemClock, site_at
from dwindle.app.paths import LOGS, PLAN_FILE, certificate_path
from dwindle.app.plans.plan_files import PlanPath
from dwindle.app.plans.problem_list import sound
from dwindle.app.refusal import Refused
from dwindle.app.sandbox import contained_by
from dwindle.kernel.base_case import is_mechanical
from dwindle.kernel.model import Aligned, Answer, Plan, PlanKind, Question, Role, Session
from dwindle.ports.workspace import Lease, WorkspaceFailed
from dwindle.runner.gate.certificate import Certificate, Comparison, certificate, compare
from dwindle.runner.gate.deciding_files import written_judges
from dwindle.runner.gate.gate import VerifierUsage, judge_by
from dwindle.runner.gate.judgement import Judge
from dwindle.runner.gate.test_count import least_counts
from dwindle.runner.gate.verification import ALL_OF_IT, Jury
from dwindle.runner.gate.verification import verify as verified
from dwindle.runner.gate.work_paths import WorkPaths, fixed_files
from dwindle.runner.session import not_briefed, numbered_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What was certified, if anything was, and what was found now."""

    old: Certificate | None
    new: Certificate
    comparison: Comparison
    tree: Path | None = None
    """Where the result can be read, if it is checked out."""


@dataclass(frozen=True, slots=True)
class Leases:
    """Fresh checkouts, as a round wants them."""

    checkouts: GitCheckouts

    async def checkout(self, commit: str, as_aligned: Sequence[str] = ()) -> Lease:
        path = await self.checkouts.make(commit, as_aligned)
        return Lease(path=path, base=commit, settled=self.checkouts.settled(path))

    async def tidy(self, lease: Lease) -> tuple[str, ...]:
        return await self.checkouts.tidy(lease.path)

    async def discard(self, lease: Lease) -> None:
        await self.checkouts.discard(lease.path)


async def verify_again(start: Path, *, mechanical: bool = False) -> Verified:
    """Raises NotACertificate if there is one that is not as it was written.

    `mechanical`: what a verifier or a person would have to judge is left unjudged.
    """
    plan = _plan((await find(start)).checkout)  # a missing plan is said before anything else
    site = await site_at(start)
    root = site.root
    run = plan.control.run_id or ""
    path = certificate_path(root, run)
    old = Certificate.from_json(path.read_bytes()) if run and path.is_file() else None
    commit, aligned = await _what(site, plan, old)
    jury = Jury(least=least_counts(plan))
    if not mechanical:
        jury = replace(jury, judge=_judge(site, plan), answers=_answers(plan, old))
    checkouts = site.checkouts(aligned, plan.objective)
    overlay, paths = ALL_OF_IT, None
    ground, changed = await _files(site.repository, checkouts, aligned.commit, commit)
    if plan.objective.work_paths:
        paths = WorkPaths(plan.objective, aligned, ground)
        overlay = paths.overlay(changed)
    written = written_judges(plan.objective, ground, changed)
    jury = replace(jury, fixed=fixed_files(plan, paths), written=written)
    seen = await verified(
        plan.objective.base_case, commit, Leases(checkouts), site.checks, jury, overlay=overlay
    )
    new = certificate(
        plan,
        seen,
        tree=await _tree_of(site.repository, commit),
        contained=contained_by(site.settings, site.sandbox),
        at=SystemClock().now(),
    )
    tree = site.repository.trees / f"integration-{run}"
    comparison = _comparison(old, new)
    return Verified(old=old, new=new, comparison=comparison, tree=tree if tree.is_dir() else None)


def _plan(root: Path) -> Plan:
    place = root / PLAN_FILE
    if not place.exists():
        raise no_plan()
    plan = sound(PlanPath(str(place), PlanKind.GRAPH)).plan
    assert plan is not None  # noqa: S101 - `sound` has seen to it
    return plan


async def _what(site: Site, plan: Plan, old: Certificate | None) -> tuple[str, Aligned]:
    """The commit to look at, and where its pins come from."""
    if old is not None:
        return old.commit, Aligned(commit=old.aligned_commit, pins=old.pins)
    run, aligned = plan.control.run_id, plan.control.aligned
    tip = await site.tip(run)
    if run is None or aligned is None or tip is None:
        hint = "`dwindle run` makes something to verify"
        raise Refused("there is neither a certificate nor a branch of the run", hint=hint)
    return tip, aligned


async def _files(
    repository: Repository, checkouts: GitCheckouts, aligned: str, commit: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The files at alignment, and those in which the commit differs from it."""
    try:
        return await repository.files(aligned), await checkouts.changed(commit)
    except WorkspaceFailed:
        return (), ()  # a commit is gone; every check will say so


async def _tree_of(repository: Repository, commit: str) -> str:
    try:
        said = await repository.git.tell("rev-parse", "--verify", f"{commit}^{{tree}}")
    except WorkspaceFailed:
        return ""  # the commit is gone; every check has said so
    return said.text.strip()


def _comparison(old: Certificate | None, new: Certificate) -> Comparison:
    comparison = compare(old or new, new)
    if not comparison.holds:
        return comparison
    if old is None:
        return replace(comparison, because="every check passed; there was no certificate")
    if not old.holds:
        return replace(comparison, because="every check passed, which was not so then")
    return comparison


# --- judges --------------------------------------------------------------------------------------


def _answers(plan: Plan, old: Certificate | None) -> tuple[Question, ...]:
    """A person is not asked twice about the same commit."""
    asked = (*(old.questions if old else ()), *plan.verification.questions)
    return tuple(question for question in asked if question.answer is not Answer.OPEN)


def _judge(site: Site, plan: Plan) -> Judge | None:
    """A verifier session of its own for each check that needs one, if there is an agent for it."""
    if is_mechanical(plan.objective.base_case):
        return None
    terms = site.terms()
    try:
        agent = agents_of(terms).get(Role.VERIFIER)
    except Refused:
        agent = None
    if agent is None:
        return None
    aligned = plan.control.aligned
    briefing = briefings(site, lambda: plan, aligned) if aligned else not_briefed
    agents = site.agent_runner({Role.VERIFIER: agent}, terms, graph_policy(site), briefing=briefing)
    session = Session(nonce=plan.control.revision, number=0, role=Role.VERIFIER)
    logs = site.root / LOGS / "verify"
    return judge_by(
        agents, plan, session, folder=lambda: numbered_folder(logs), spent=VerifierUsage()
    )
