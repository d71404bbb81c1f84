"""How a graph run is opened: lock, plan and journal, workspace; and the gate on top of them.

Used by `run`, `step`, a redirect at rest, `confirm`, `land` and hosted runs. The order matters. The
lock comes first, because its holder may repair what a crash left. Then the plan is read, once, and
brought together with its journal; what an earlier runner left in its trees is saved; commits that
were never acknowledged are taken off the branch. Only then is anything started.

The journal holds what happened since the run began, and the plan file only the result. So the file
as it was at the beginning is kept beside the journal: from the two, `replay` works out again how
the plan came to be what it is.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from dwindle.adapters.formats.graph import plan as graph_plan
from dwindle.adapters.git.repository import GitGround, Repository
from dwindle.adapters.git.worktrees.workspace import GitWorkspace
from dwindle.adapters.store.disk import DirectoryLock, DurableFile, RealDisk, make_directory
from dwindle.adapters.store.journal import path_of
from dwindle.app.agents.configured import policy_of
from dwindle.app.console import complain
from dwindle.app.open_run.briefing import Briefings, original_request
from dwindle.app.open_run.shared import (
    NotReady,
    OpenRun,
    Site,
    new_run_id,
    open_journal,
)
from dwindle.app.paths import JOURNALS, PLAN_FILE, start_of
from dwindle.app.plans.load import load_graph
from dwindle.app.refusal import Refused
from dwindle.app.sandbox import build_for, contained_by, filters_of, known_secrets, setup_for
from dwindle.app.spending.skim import spending_on_record
from dwindle.app.spending.text import total_data
from dwindle.kernel.events import AtomResolved, ProbeEnded
from dwindle.kernel.graph import view
from dwindle.kernel.model import Aligned, AtomId, Plan, Status
from dwindle.ports.store import PlanWriter
from dwindle.ports.workspace import WorkspaceFailed
from dwindle.runner.gate.certificate import Charge
from dwindle.runner.gate.evidence import Rules
from dwindle.runner.gate.gate import Gate
from dwindle.runner.gate.judgement import Judge
from dwindle.runner.gate.pins import pins_of
from dwindle.runner.gate.steering import steering_for
from dwindle.runner.ledger import Ledger, Store, digest
from dwindle.runner.rollback import refuse_rolled_back
from dwindle.runner.session import AgentRunner, Policy

AGREE_FIRST: Final = 'agree on one first: `dwindle align`, or `dwindle go "GOAL" --check "COMMAND"`'


def no_plan(hint: str = AGREE_FIRST) -> Refused:
    return Refused("there is no plan yet", where=PLAN_FILE, hint=hint)


# --- the plan and its journal --------------------------------------------------------------------


@contextmanager
def locked_plan(root: Path) -> Iterator[None]:
    """While this is entered, no other runner has the plan; Locked if one has it now."""
    if not (root / PLAN_FILE).is_file():
        raise no_plan()
    with DirectoryLock((root / PLAN_FILE).parent):
        yield


@contextmanager
def open_ledger(
    root: Path, wanted: str | None = None, look: Callable[[Plan], None] = lambda _: None
) -> Iterator[tuple[Ledger, str]]:
    """For the holder of the lock: the plan with its journal, and the id of its run.

    `wanted` is the id of a run that begins now. `look` sees the plan as the file has it, before
    anything is made for a run, and may refuse it.
    """
    file = DurableFile(RealDisk(), root / PLAN_FILE)
    file.sweep()
    data = file.read()
    loaded = load_graph(data)
    if loaded.plan is None:
        raise NotReady(PLAN_FILE, loaded.problems)
    look(loaded.plan)
    run_id = loaded.plan.control.run_id or wanted or new_run_id()
    writer = graph_plan.writer_of(data)
    ledger = ledger_of(root / JOURNALS, file, writer, loaded.plan, run_id)
    try:
        yield ledger, run_id
    finally:
        ledger.close()


def ledger_of(
    folder: Path, file: DurableFile, writer: PlanWriter, plan: Plan, run_id: str
) -> Ledger:
    """The plan with its journal: the one it has, or a new one. Only for the holder of the lock."""
    disk = RealDisk()
    make_directory(disk, folder)
    start = DurableFile(disk, start_of(folder, run_id))
    start.sweep()
    is_new = not DurableFile(disk, path_of(folder, run_id)).exists()
    versions: tuple[str, ...] = ()
    if is_new:
        content = file.read()
        start.replace(content)  # first, so that there is no journal without it
        versions = (digest(content),)
    journal = open_journal(folder, run_id, after=plan.control.revision, versions=versions)
    store = Store(journal=journal, file=file, writer=writer)
    return Ledger(plan, store) if is_new else Ledger.recover(plan, store)


# --- the run -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenGraph(OpenRun):
    """What the modes of a graph run are put together from."""

    workspace: GitWorkspace
    briefing: Briefings

    def gate(self, agents: AgentRunner | None = None, judge: Judge | None = None) -> Gate:
        site = self.site
        return Gate(
            workspace=self.workspace,
            checks=site.checks,
            rules=_rules(site.repository, self.ledger.plan, self.aligned),
            clock=self.clock,
            logs=self.logs,
            contained=contained_by(site.settings, site.sandbox),
            charges=self._charges,
            agents=agents,
            judge=judge,
            ground=partial(site.repository.files, self.aligned.commit),
        )

    def _charges(self) -> tuple[Charge, ...]:
        """What each role has cost, however long the journal is: it is read once a round."""
        journals = str(self.site.root / JOURNALS)
        spent = spending_on_record(journals, self.run_id, most=sys.maxsize)
        roles = () if spent is None else spent.by_role.items()
        return tuple(Charge(role=role, **total_data(total)) for role, total in roles)


@asynccontextmanager
async def open_graph(
    site: Site,
    ledger: Ledger,
    run_id: str,
    *,
    hosted: bool = False,
    at_work: Sequence[int] = (),
) -> AsyncIterator[OpenGraph]:
    """For the holder of the lock: the workspace, brought in step with the plan.

    `hosted`: agents of a host outlive a stop or a redirect, and go on writing for a while; those of
    the sessions `at_work` are left alone.
    """
    plan = ledger.plan
    aligned = plan.control.aligned or await pinned(site.repository, plan)
    workspace = await GitWorkspace.open(
        site.root,
        run=run_id,
        aligned=aligned.commit,
        pins=aligned.pins,
        setup=setup_for(site.settings, site.sandbox),
        build=build_for(site.settings, site.sandbox),
        share=site.settings.workspace.share,
        steering=lambda: steering_for(ledger.plan.objective),
        # Where agents cannot write to .git, a ref was moved by the user; between two commands of a
        # host nothing of ours is there to see what moves.
        guard_refs=not hosted and site.sandbox.mechanism != "bubblewrap",
        secrets=known_secrets(site.settings),
        filters=filters_of(site.settings),
    )
    try:
        refuse_rolled_back(plan, await workspace.last_session())
        flying = {s.number: a for a, s in plan.sessions.items()}
        await workspace.recover(flying, at_work=tuple(at_work), reuse=not hosted)
        await put_in_step(workspace, ledger)
        yield OpenGraph(
            site=site,
            ledger=ledger,
            run_id=run_id,
            aligned=aligned,
            workspace=workspace,
            briefing=briefings(site, lambda: ledger.plan, aligned),
        )
    finally:
        workspace.close()


def briefings(site: Site, plan: Callable[[], Plan], aligned: Aligned) -> Briefings:
    """As of the commit of alignment, which a redirect may move."""
    return Briefings(
        repository=site.repository,
        commit=lambda: (plan().control.aligned or aligned).commit,
        request=original_request(site.root, plan().objective.goal),
    )


def graph_policy(site: Site) -> Policy:
    """Agents of a graph see neither its plan nor its journal."""
    hidden = (site.root / JOURNALS, (site.root / PLAN_FILE).parent)
    return policy_of(site.settings, hidden=hidden)


def _rules(repository: Repository, plan: Plan, aligned: Aligned) -> Rules:
    """What a worker's change is held against."""
    ground = GitGround(repository)
    return Rules(
        pins=aligned.pins,
        protected_paths=plan.objective.protected_paths,
        is_ignored=ground.is_ignored,
        at_alignment=partial(ground.content, aligned.commit),
        aligned_files=partial(ground.tracked, aligned.commit),
    )


async def pinned(repository: Repository, plan: Plan) -> Aligned:
    """Pins for a plan that was never aligned, taken at its first run."""
    ground = GitGround(repository)
    commit = await ground.head()
    if commit is None:
        raise Refused("there is no commit yet", hint="commit something first")
    pins = tuple(pins_of(plan.objective, await ground.tracked(commit)))
    complain(f"dwindle: this plan was not aligned; pinned at {commit[:12]}")
    return Aligned(commit=commit, pins=pins, branch=await ground.branch())


async def put_in_step(workspace: GitWorkspace, ledger: Ledger) -> None:
    """The branch holds what the plan says is resolved, and nothing else of the run."""
    await _with_acknowledged(workspace, ledger)
    await _without_unacknowledged(workspace, ledger.plan)


async def _with_acknowledged(workspace: GitWorkspace, ledger: Ledger) -> None:
    """Work that was taken off the branch by a change of plan that was never written is put back."""
    plan, on_branch = ledger.plan, {atom for atom, _ in await workspace.integrated()}
    missing = [
        name
        for name, atom in plan.atoms.items()
        if atom.status is Status.RESOLVED and name in view(plan).live and name not in on_branch
    ]
    if missing:  # an atom without work of its own, such as a parent, has no commit
        worked = {event.atom for event in ledger.history() if isinstance(event, AtomResolved)}
        missing = [name for name in missing if name in worked]
    if missing:
        await workspace.restore(missing)


async def _without_unacknowledged(workspace: GitWorkspace, plan: Plan) -> None:
    """A commit whose record was never written belongs to no resolved atom: take it off."""
    on_branch = dict.fromkeys(atom for atom, _ in await workspace.integrated())
    stray = [
        a for a in on_branch if a not in plan.atoms or plan.atoms[a].status is not Status.RESOLVED
    ]
    lost = await workspace.rebuild(stray) if stray else ()
    if lost:
        raise WorkspaceFailed(
            f"taking unrecorded work off the branch would lose that of {', '.join(lost)}",
            "the branch as it was is kept under refs/dwindle/attempts",
        )


def findings_of(ledger: Ledger) -> dict[AtomId, str]:
    """What probes said before a restart, read back from the journal."""
    told = (e for e in ledger.history() if isinstance(e, ProbeEnded))
    return {event.atom: event.findings for event in told}
