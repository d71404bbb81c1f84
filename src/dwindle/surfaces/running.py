"""A run from the outside: take the plan up, put everything together, go on until it rests.

The order matters. The lock comes first, because whoever holds it may mend what a crash left. Then
the plan and its journal are brought together, what an earlier runner left in its trees is saved,
commits that were never acknowledged are taken off the branch, and only then is anything started.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from dwindle import wiring
from dwindle.adapters.checks.mechanical import MechanicalChecks
from dwindle.adapters.disk import DirectoryLock, DurableFile, RealDisk
from dwindle.adapters.formats import graph_plan
from dwindle.adapters.formats.config_settings import Settings
from dwindle.adapters.journals import event_codec
from dwindle.adapters.workspaces.ground import GitGround
from dwindle.adapters.workspaces.repository import Repository, find
from dwindle.adapters.workspaces.workspace import GitWorkspace
from dwindle.kernel.actions import Stop
from dwindle.kernel.aligned import Aligned
from dwindle.kernel.events import (
    AtomResolved,
    Event,
    ProbeEnded,
    Redirected,
    RunStarted,
    StopRequested,
)
from dwindle.kernel.graph import view
from dwindle.kernel.model import AtomId, Plan, PlanKind, RunStatus, Status, StopCode
from dwindle.kernel.problem import Problem
from dwindle.ports.process import Containment
from dwindle.ports.workspace import WorkspaceFailed
from dwindle.runner import alignment
from dwindle.runner.aside import Aside
from dwindle.runner.control import Control, Pause
from dwindle.runner.crew import Crew, News
from dwindle.runner.evidence import Rules
from dwindle.runner.ledger import Ledger
from dwindle.runner.loop import Halted, Loop
from dwindle.runner.outboxes import Outboxes
from dwindle.runner.pins import pins_of
from dwindle.runner.rollback import refuse_rolled_back
from dwindle.runner.sessions import Sessions
from dwindle.runner.steering import steering_of
from dwindle.runner.watching import FileWatch
from dwindle.surfaces.agents import Terms, agents_of
from dwindle.surfaces.charges import charges_on_record
from dwindle.surfaces.host.tenancy import refuse_hosted
from dwindle.surfaces.progress import Progress
from dwindle.surfaces.purse import Purse
from dwindle.surfaces.refusal import Refused
from dwindle.surfaces.taken_up import ledger_of

JOURNALS = ".runner/journal"
LOGS = ".runner/iterations"
OUTBOXES = ".runner/outbox"
PLAN_FILE = wiring.PLAN_FILES[PlanKind.GRAPH]


class NotReady(Exception):
    """The plan cannot be run as it is; every problem."""

    def __init__(self, problems: tuple[Problem, ...], *, where: str = PLAN_FILE) -> None:
        super().__init__(problems, where)
        self.problems = problems
        self.where = where


class SystemClock:
    def __init__(self) -> None:
        self._second = -1
        self._said = ""

    def now(self) -> str:
        """To the second: within one, what was said is said again."""
        second = int(time.time())
        if second != self._second:
            self._second = second
            self._said = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return self._said

    def monotonic(self) -> float:
        return time.monotonic()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What was asked for on the command line."""

    one_iteration: bool = False
    sandbox: bool = True
    run_id: str | None = None
    here: bool = False
    """Of a tree: stay on the branch that is checked out."""
    agents: Mapping[str, object] = field(default_factory=dict)
    """Who does the work, as `agent_overrides` reads it."""

    @property
    def overrides(self) -> Mapping[str, object]:
        """What stands above the settings of the repository."""
        return self.agents if self.sandbox else {**self.agents, "sandbox.enabled": False}


async def run(start: Path, wish: Wish, progress: Progress) -> Halted:
    """Run the graph plan of the repository around `start`."""
    repository = await find(start)
    root = repository.checkout
    read = wiring.settings_for(root, wish.overrides)
    if read.settings is None:
        raise NotReady(read.problems, where=wiring.SETTINGS_FILE)
    disk = RealDisk()
    file = DurableFile(disk, root / PLAN_FILE)
    if not file.exists():
        raise Refused(
            "there is no plan yet",
            where=PLAN_FILE,
            hint="agree on one first: `dwindle align`",
        )
    with DirectoryLock(file.path.parent):
        refuse_hosted(root)
        file.sweep()
        data = file.read()
        decoded = graph_plan.decode(data)
        loaded = wiring.load_graph(data)
        if loaded.plan is None:
            raise NotReady(loaded.problems)
        if loaded.plan.control.status is RunStatus.COMPLETED:
            hint = "a new goal is a new alignment: `dwindle align`"
            raise Refused("the run is completed", where=PLAN_FILE, hint=hint)
        repository.exclude(("/.runner/journal/", "/.runner/iterations/", "/.runner/outbox/"))
        run_id = run_id_of(loaded.plan, wish)
        ledger = ledger_of(root / JOURNALS, file, decoded.writer(), loaded.plan, run_id)
        try:
            if ledger.plan.control.status is RunStatus.COMPLETED:
                return completed(ledger.plan)
            return await _run(repository, read.settings, ledger, run_id, wish, progress)
        finally:
            ledger.close()


def completed(plan: Plan) -> Halted:
    """A runner was killed after it had recorded the end, before the plan file said so."""
    stop = Stop(code=StopCode.COMPLETED, reason=plan.control.stop_reason or "")
    return Halted(stop=stop, plan=plan)


def run_id_of(plan: Plan, wish: Wish) -> str:
    found = plan.control.run_id or wish.run_id
    return found or alignment.minted(time.time_ns() // 10**6, secrets.token_bytes(10))


async def _run(  # noqa: PLR0913, PLR0917 - what a run is put together from
    repository: Repository,
    settings: Settings,
    ledger: Ledger,
    run_id: str,
    wish: Wish,
    progress: Progress,
) -> Halted:
    plan = ledger.plan
    aligned = plan.control.aligned or await pinned(repository, plan)
    containment = wiring.containment_for(settings, repository)
    # Where agents cannot write to .git, whoever moved a ref was the person.
    guarded = containment.mechanism != "bubblewrap"
    workspace = await workspace_of(
        repository,
        settings,
        containment,
        ledger,
        run_id=run_id,
        aligned=aligned,
        guard_refs=guarded,
    )
    try:
        refuse_rolled_back(plan, await workspace.last_session())
        await workspace.recover({s.number: a for a, s in plan.sessions.items()})
        await put_in_step(workspace, ledger)
        root = repository.checkout
        clock = SystemClock()
        sessions = Sessions(
            workspace=workspace,
            containment=containment,
            contained=wiring.contained_by(settings, containment),
            writable=wiring.check_settings(settings).writable,
            checks=MechanicalChecks(containment, wiring.check_settings(settings)),
            agents=agents_of(
                Terms(
                    settings=settings,
                    root=root,
                    containment=containment,
                    purse=Purse(lambda: ledger.plan),
                    warn=progress.say,
                )
            ),
            clock=clock,
            logs=root / LOGS / run_id,
            outboxes=Outboxes(root / OUTBOXES),
            hidden=(root / JOURNALS, (root / PLAN_FILE).parent),
            rules=rules_of(repository, plan, aligned),
            seconds_left=lambda: loop.seconds_left(),  # noqa: PLW0108 - both are made below
            held_up=lambda atom, wait: crew.held_up(atom, wait),  # noqa: PLW0108
            charges=lambda: charges_on_record(root / JOURNALS, run_id),
        )
        crew = Crew(sessions, lambda: ledger.plan)
        crew.remember(findings_of(ledger))
        pause = Pause()
        watch = FileWatch(
            root / PLAN_FILE,
            ledger,
            _plan_and_body,
            root / LOGS / run_id / "plan-as-found.md",
            pause=pause,
            secrets=workspace.repository.secrets,
        )

        def told(plan: Plan, event: Event) -> None:
            if isinstance(event, Redirected) and event.aligned is not None:
                workspace.pin(event.aligned.pins)
            progress.told(plan, event)

        loop = Loop(
            ledger, crew, workspace, clock, told, meter=sessions.meter, file=watch, aside=Aside()
        )
        progress.notify(settings.notify, root)
        progress.recall(ledger.history())
        async with progress:
            loop.begin(RunStarted(run_id=run_id, aligned=aligned))
            async with Control(root / ".runner", loop.asked, event_codec.decode, pause) as line:
                if line.problem is not None:
                    progress.say(
                        f"no socket could be made ({line.problem}); `dwindle stop` and `redirect` "
                        "set flags in the plan file instead, and take some seconds longer"
                    )
                with signals(loop.asked):
                    return await loop.run(one_iteration=wish.one_iteration)
    finally:
        workspace.close()


async def workspace_of(  # noqa: PLR0913 - the facts that a run is made of
    repository: Repository,
    settings: Settings,
    containment: Containment,
    ledger: Ledger,
    *,
    run_id: str,
    aligned: Aligned,
    guard_refs: bool,
) -> GitWorkspace:
    """Trees and branch of a run; what steers its tests is held fast in checkouts that decide."""
    return await GitWorkspace.open(
        repository.checkout,
        run=run_id,
        aligned=aligned.commit,
        pins=aligned.pins,
        setup=wiring.setup_for(settings, containment),
        share=settings.workspace.share,
        steering=lambda: steering_of(ledger.plan.objective),
        guard_refs=guard_refs,
        secrets=wiring.known_secrets(settings),
    )


def rules_of(repository: Repository, plan: Plan, aligned: Aligned) -> Rules:
    """What a worker's change is held against, whoever runs the worker."""
    ground = GitGround(repository)
    return Rules(
        pins=aligned.pins,
        protected_paths=plan.objective.protected_paths,
        is_ignored=ground.is_ignored,
        at_alignment=partial(ground.content, aligned.commit),
    )


def _plan_and_body(content: bytes) -> tuple[Plan | None, bytes]:
    found = graph_plan.decode(content)
    return found.plan, found.body


async def pinned(repository: Repository, plan: Plan) -> Aligned:
    """A file that nobody aligned is pinned at its first run."""
    ground = GitGround(repository)
    commit = await ground.head()
    if commit is None:
        raise Refused("there is no commit yet", hint="commit something first")
    pins = tuple(pins_of(plan.objective, await ground.tracked(commit)))
    print(f"dwindle: this plan was not aligned; pinned at {commit[:12]}", file=sys.stderr)
    return Aligned(commit=commit, pins=pins)


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
    if missing:  # what nobody worked on, such as a parent, has nothing to be missed
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


@contextlib.contextmanager
def signals(asks: asyncio.Queue[News]) -> Iterator[None]:
    """Once: end gracefully. Twice: now."""
    asked: list[int] = []
    running = asyncio.get_running_loop()
    main = asyncio.current_task()

    def stop(name: str) -> None:
        asked.append(1)
        if len(asked) > 1 and main is not None:
            main.cancel()
            return
        asks.put_nowait(News(event=StopRequested(reason=f"stopped by {name}")))

    names = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM"}
    for number, name in names.items():
        running.add_signal_handler(number, stop, name)
    try:
        yield
    finally:
        for number in names:
            running.remove_signal_handler(number)
