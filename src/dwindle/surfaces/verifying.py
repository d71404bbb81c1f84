"""Running the base case again, long after the run, without touching anything of it.

What was certified is looked at in the same way: a fresh checkout of the same commit, pins put back
from the same commit of alignment. Where there is no certificate, the tip of the run's branch is
looked at, and the answer is only about now.
"""

from __future__ import annotations

import secrets
import shutil
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from dwindle import wiring
from dwindle.adapters.checks.mechanical import MechanicalChecks
from dwindle.adapters.formats.config_settings import Settings
from dwindle.adapters.workspaces.checkouts import Checkouts
from dwindle.adapters.workspaces.furnish import Furnishing
from dwindle.adapters.workspaces.message import branch_of
from dwindle.adapters.workspaces.repository import Repository, find
from dwindle.kernel.aligned import Aligned
from dwindle.kernel.base_case import is_mechanical
from dwindle.kernel.model import Answer, Check, Plan, PlanKind, Question, Role, Session
from dwindle.ports.agent import Place
from dwindle.ports.process import Containment
from dwindle.ports.work import NoReport, Trouble, VerifierReport
from dwindle.ports.workspace import Lease, WorkspaceFailed
from dwindle.runner.certificate import Certificate, Comparison, certificate, compare
from dwindle.runner.judgement import Judge
from dwindle.runner.no_fewer import no_fewer
from dwindle.runner.orders import order_json, order_to_judge
from dwindle.runner.prompt import prompt_for
from dwindle.runner.steering import steering_of
from dwindle.runner.verification import Jury
from dwindle.runner.verification import verify as verified
from dwindle.surfaces.agents import Terms, agents_of
from dwindle.surfaces.certificates import certificate_path
from dwindle.surfaces.cli.problem_list import Unsound, sound
from dwindle.surfaces.plan_files import PlanPath
from dwindle.surfaces.plan_place import JOURNALS, PLAN_FILE
from dwindle.surfaces.refusal import Refused

OUTBOXES = ".runner/outbox"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What was certified, if anything was, and what was found now."""

    old: Certificate | None
    new: Certificate
    comparison: Comparison
    tree: Path | None = None
    """Where the result can be read, if it is checked out."""


@dataclass(frozen=True, slots=True)
class _Leases:
    """Fresh checkouts, as a round wants them."""

    checkouts: Checkouts

    async def checkout(self, commit: str) -> Lease:
        return Lease(path=await self.checkouts.make(commit), base=commit)

    async def discard(self, lease: Lease) -> None:
        await self.checkouts.discard(lease.path)


async def verify_again(start: Path, *, mechanical: bool = False) -> Verified:
    """Raises NotACertificate if there is one that is not as it was written.

    `mechanical`: what a verifier or a person would have to judge is left unjudged.
    """
    repository = await find(start)
    root = repository.checkout
    plan = _plan(root)
    read = wiring.settings_for(root)
    if read.settings is None:
        raise Unsound(wiring.SETTINGS_FILE, read.problems)
    run = plan.control.run_id or ""
    path = certificate_path(root, run)
    old = Certificate.from_json(path.read_bytes()) if run and path.is_file() else None
    commit, aligned = await _what(repository, plan, old)
    containment = wiring.containment_for(read.settings)
    jury = Jury()
    if not mechanical:
        judge = _judge(root, plan, read.settings, containment)
        jury = Jury(judge=judge, answers=_answers(plan, old))
    seen = await verified(
        plan.objective.base_case,
        commit,
        _Leases(
            replace(
                _checkouts(repository, read.settings, containment, aligned),
                steering=lambda: steering_of(plan.objective),
            )
        ),
        no_fewer(MechanicalChecks(containment, wiring.check_settings(read.settings)), plan),
        jury,
    )
    new = certificate(
        plan,
        seen,
        tree=await _tree_of(repository, commit),
        contained=wiring.contained_by(read.settings, containment),
        at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    )
    tree = repository.trees / f"integration-{run}"
    comparison = _compared(old, new)
    return Verified(old=old, new=new, comparison=comparison, tree=tree if tree.is_dir() else None)


def _plan(root: Path) -> Plan:
    place = root / PLAN_FILE
    if not place.exists():
        raise Refused(
            "there is no plan yet", where=PLAN_FILE, hint="agree on one first: `dwindle align`"
        )
    plan = sound(PlanPath(str(place), PlanKind.GRAPH)).plan
    assert plan is not None  # noqa: S101 - `sound` has seen to it
    return plan


async def _what(repository: Repository, plan: Plan, old: Certificate | None) -> tuple[str, Aligned]:
    """The commit to look at, and where its pins come from."""
    if old is not None:
        return old.commit, Aligned(commit=old.aligned_commit, pins=old.pins)
    run, aligned = plan.control.run_id, plan.control.aligned
    said = await repository.git.ask(
        "rev-parse", "--verify", "--quiet", f"{branch_of(run or '')}^{{commit}}"
    )
    if run is None or aligned is None or said.code:
        hint = "`dwindle run` makes something to verify"
        raise Refused("there is neither a certificate nor a branch of the run", hint=hint)
    return said.text, aligned


def _checkouts(
    repository: Repository, settings: Settings, containment: Containment, aligned: Aligned
) -> Checkouts:
    return Checkouts(
        repository=repository,
        aligned=aligned.commit,
        pins=aligned.pins,
        furnishing=Furnishing(
            checkout=repository.checkout,
            share=settings.workspace.share,
            setup=wiring.setup_for(settings, containment),
        ),
    )


async def _tree_of(repository: Repository, commit: str) -> str:
    try:
        said = await repository.git.tell("rev-parse", "--verify", f"{commit}^{{tree}}")
    except WorkspaceFailed:
        return ""  # the commit is gone; every check has said so
    return said.text.strip()


def _compared(old: Certificate | None, new: Certificate) -> Comparison:
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


def _judge(root: Path, plan: Plan, settings: Settings, containment: Containment) -> Judge | None:
    """A verifier session of its own for each check that needs one, if there is an agent for it."""
    if is_mechanical(plan.objective.base_case):
        return None
    try:
        agent = agents_of(Terms(settings=settings, root=root, containment=containment)).get(
            Role.VERIFIER
        )
    except Refused:
        agent = None
    if agent is None:
        return None
    session = Session(nonce=plan.control.revision, number=0, role=Role.VERIFIER)

    async def judge(check: Check, tree: Path) -> VerifierReport | NoReport:
        order = order_to_judge(plan, session, check, item=check.value or "quality")
        place = Place(workspace=tree, outbox=root / OUTBOXES / f"verify.{secrets.token_hex(4)}")
        place.outbox.mkdir(parents=True)
        try:
            place.order.write_bytes(order_json(order))
            place.prompt.write_text(prompt_for(order), encoding="utf-8")
            sitting = agent.session(order, place)
            command = sitting.command
            hidden = (*command.hidden, root / JOURNALS, (root / PLAN_FILE).parent)
            ended = await containment.run(replace(command, hidden=hidden), watch=sitting.watch)
            report = sitting.conclude(ended).report
        finally:
            shutil.rmtree(place.outbox, ignore_errors=True)
        if isinstance(report, (VerifierReport, NoReport)):
            return report
        return NoReport(trouble=Trouble.MALFORMED, reason="not the report of a verifier")

    return judge
