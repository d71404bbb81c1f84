"""Run a graph plan: put the run together, then loop until it rests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from dwindle.adapters.formats.config.settings import NotifySettings
from dwindle.adapters.formats.graph import plan as graph_plan
from dwindle.adapters.store import event_codec
from dwindle.app.agents.configured import agents_of
from dwindle.app.host.lease import refuse_hosted
from dwindle.app.open_run.graph import (
    OpenGraph,
    findings_of,
    graph_policy,
    locked_plan,
    open_graph,
    open_ledger,
)
from dwindle.app.open_run.shared import OpenRun, site_at
from dwindle.app.paths import JOURNALS, LOGS, OUTBOXES, PLAN_FILE
from dwindle.app.refusal import Refused
from dwindle.app.signals import signals
from dwindle.kernel.actions import Stop
from dwindle.kernel.events import Event, RunStarted
from dwindle.kernel.model import Plan, PlanKind, RunStatus, StopCode
from dwindle.kernel.proposal import too_few_sessions
from dwindle.runner.budget import Budget
from dwindle.runner.control import ControlSocket, Pause
from dwindle.runner.file_watch import FileWatch
from dwindle.runner.inbox import Inbox, reporting_to
from dwindle.runner.loop import Halted, Loop
from dwindle.runner.modes.graph import GraphMode


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
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


class Observer(Protocol):
    """What watches a run: `run` tells it every event, and it chooses how to show them."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def notify(self, settings: NotifySettings, root: Path) -> None:
        """How the user wants to be notified, once the settings are read."""
        ...

    def recall(self, events: Iterable[Event]) -> None:
        """What is on record of the run from before."""
        ...

    def on_event(self, plan: Plan, event: Event) -> None:
        """Called after every event, when it is on disk."""
        ...

    def say(self, line: str) -> None: ...


async def run(start: Path, request: RunRequest, progress: Observer) -> Halted:
    """Run the graph plan of the repository around `start`."""
    site = await site_at(start, request.overrides)
    with locked_plan(site.root):
        refuse_hosted(site.root)
        with open_ledger(site.root, request.run_id, _refuse_completed) as (ledger, run_id):
            site.repository.exclude((f"/{JOURNALS}/", f"/{LOGS}/", f"/{OUTBOXES}/"))
            if ledger.plan.control.status is RunStatus.COMPLETED:
                return completed_halt(ledger.plan)
            async with open_graph(site, ledger, run_id) as opened:
                return await _run(opened, request, progress)


def _refuse_completed(plan: Plan) -> None:
    if plan.control.status is RunStatus.COMPLETED:
        hint = "a new goal is a new alignment: `dwindle align`"
        raise Refused("the run is completed", where=PLAN_FILE, hint=hint)


def completed_halt(plan: Plan) -> Halted:
    """A runner was killed after it had recorded the end, before the plan file said so."""
    stop = Stop(code=StopCode.COMPLETED, reason=plan.control.stop_reason or "")
    return Halted(stop=stop, plan=plan)


async def _run(opened: OpenGraph, request: RunRequest, progress: Observer) -> Halted:
    site, ledger, root = opened.site, opened.ledger, opened.site.root
    inbox, pause = Inbox(), Pause()
    terms = site.terms(Budget(lambda: ledger.plan), progress.say)
    agents = site.agent_runner(
        agents_of(terms),
        terms,
        graph_policy(site),
        seconds_left=lambda: loop.seconds_left(),  # noqa: PLW0108 - made below
        briefing=opened.briefing,
    )
    agents = reporting_to(agents, inbox)
    mode = GraphMode(
        agents,
        opened.gate(agents),
        lambda: ledger.plan,
        inbox=inbox,
        findings=findings_of(ledger),
    )
    watch = FileWatch(
        root / PLAN_FILE,
        ledger,
        _plan_and_body,
        opened.logs / "plan-as-found.md",
        pause=pause,
        secrets=opened.workspace.repository.secrets,
    )
    loop = Loop(ledger, mode, opened.clock, progress.on_event, meter=agents.meter, file=watch)
    return await run_loop(loop, opened, request, progress, pause=pause)


def _plan_and_body(content: bytes) -> tuple[Plan | None, bytes]:
    found = graph_plan.decode(content)
    return found.plan, found.body


# --- graph or tree -------------------------------------------------------------------------------


async def run_loop(  # noqa: PLR0913 - what a loop needs around it
    loop: Loop,
    opened: OpenRun,
    request: RunRequest,
    progress: Observer,
    *,
    pause: Pause | None = None,
    errors: AbstractContextManager[None] | None = None,
) -> Halted:
    """Run the loop of an opened run, which the user can watch, stop and redirect meanwhile.

    `errors` is entered around the loop and may translate what it raises.
    """
    root, kind = opened.site.root, loop.plan.kind
    progress.notify(opened.site.settings.notify, root)
    progress.recall(opened.ledger.history())
    async with progress:
        loop.begin(RunStarted(run_id=opened.run_id, aligned=opened.aligned))
        for problem in too_few_sessions(loop.plan) if kind is PlanKind.GRAPH else ():
            progress.say(f"warning: {problem.what} ({problem.hint})")
        socket = ControlSocket(root / ".runner", loop.inbox, event_codec.decode, pause, kind=kind)
        async with socket:
            if socket.problem is not None:
                progress.say(
                    f"no socket could be made ({socket.problem}); `dwindle stop` and `redirect` "
                    "set flags in the plan file instead, and take some seconds longer"
                )
            with signals(loop.inbox), errors or nullcontext():
                return await loop.run(one_iteration=request.one_iteration)
