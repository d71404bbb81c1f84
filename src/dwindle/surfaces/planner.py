"""A planner as a person meets it: which agent it is, and one session of it with a sign of life.

It looks at the person's own checkout, read-only. Where nothing here can keep a program from writing
it is given a fresh checkout of the same commit instead, which is thrown away afterwards.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dwindle import wiring
from dwindle.adapters.formats.config_settings import Settings
from dwindle.adapters.workspaces import repository as repositories
from dwindle.adapters.workspaces.checkouts import Checkouts
from dwindle.adapters.workspaces.furnish import Furnishing
from dwindle.adapters.workspaces.repository import Repository
from dwindle.kernel.events import NO_USAGE, Usage
from dwindle.kernel.model import Limits
from dwindle.ports.agent import Agent
from dwindle.ports.process import Containment
from dwindle.ports.work import PLANNER, NoReport, PlanningOrder, Report, Result, Trouble
from dwindle.ports.workspace import WorkspaceFailed
from dwindle.runner.planning import Planning
from dwindle.scripted.script import ScriptRefused, load
from dwindle.surfaces.agents import READ_ONLY_BY, Terms, agent_of, with_found
from dwindle.surfaces.cli.output import complain
from dwindle.surfaces.refusal import Refused, refused_by
from dwindle.surfaces.running import LOGS, OUTBOXES
from dwindle.surfaces.spending_text import used_text

TICK = 1.0
AT_WORK = "The planner is at work"


@dataclass(frozen=True, slots=True, kw_only=True)
class Planner:
    repository: Repository
    settings: Settings
    agent: Agent

    def timeout(self, limits: Limits | None = None) -> float:
        """Of one session, in seconds: as set for its role, else as the plan says."""
        agents = self.settings.agents
        chosen = agents.planner if agents.planner.backend else agents.worker
        return float(chosen.timeout_seconds or (limits or Limits()).session_timeout_seconds)

    def answer(self, order: PlanningOrder) -> Report:
        """One session. Ctrl-C ends it, and everything that it has started, and is passed on."""
        began = time.monotonic()
        try:
            result = asyncio.run(self._session(order))
        except (OSError, WorkspaceFailed) as error:
            return NoReport(trouble=Trouble.UNAVAILABLE, reason=f"it could not begin: {error}")
        if result.usage != NO_USAGE:
            complain(f"{_used(result.usage)} in {time.monotonic() - began:.0f} s.")
        return result.report

    async def _session(self, order: PlanningOrder) -> Result:
        self.repository.exclude((f"/{LOGS}/", f"/{OUTBOXES}/"))
        root = self.repository.checkout
        containment = wiring.containment_for(self.settings, self.repository)
        async with _looked_at(self.repository, containment) as tree:
            planning = Planning(
                agent=self.agent,
                containment=containment,
                tree=tree,
                logs=root / LOGS / "planning",
                outboxes=root / OUTBOXES,
            )
            return await _with_a_sign_of_life(planning.session(order))


def planner_of(repository: Repository, settings: Settings) -> Planner | None:
    """Whoever is set to plan, else the worker's agent; a script only if it has planner answers.

    Raises Refused where one is configured that cannot be had.
    """
    settings = with_found(settings)
    agents = settings.agents
    chosen = agents.planner if agents.planner.backend else agents.worker
    root = repository.checkout
    if chosen.backend == "scripted" and not _plans(root / (chosen.script or "")):
        return None
    containment = wiring.containment_for(settings, repository)
    terms = Terms(settings=settings, root=root, containment=containment)
    agent = agent_of(chosen, terms, PLANNER)
    if agent is None:
        return None
    return Planner(repository=repository, settings=settings, agent=agent)


def planner_at(root: Path, overrides: Mapping[str, object] | None = None) -> Planner:
    """The planner of the repository around `root`, or Refused."""
    try:
        repository = asyncio.run(repositories.find(root))
    except WorkspaceFailed as error:
        raise refused_by(error) from None
    read = wiring.settings_for(repository.checkout, overrides)
    if read.settings is None:
        hint = "; ".join(problem.what for problem in read.problems)
        raise Refused("the settings are not valid", where=wiring.SETTINGS_FILE, hint=hint)
    found = planner_of(repository, read.settings)
    if found is None:
        raise Refused(
            "no planner is configured, so that words cannot be turned into edits",
            where=wiring.SETTINGS_FILE,
            hint='add [agents.planner] with backend = "command" and a command, or use the typed\n'
            "  edits: `dwindle redirect --help`",
        )
    return found


def _plans(script: Path) -> bool:
    """A script that cannot be followed is started all the same: then it says what is wrong."""
    try:
        return any(role == PLANNER for role, _ in load(script).entries)
    except ScriptRefused:
        return True


@contextlib.asynccontextmanager
async def _looked_at(repository: Repository, containment: Containment) -> AsyncIterator[Path]:
    if containment.mechanism == READ_ONLY_BY:
        yield repository.checkout
        return
    furnishing = Furnishing(checkout=repository.checkout, share=(), setup=None)
    checkouts = Checkouts(repository=repository, aligned="", pins=(), furnishing=furnishing)
    tree = await checkouts.make(await repository.head())
    try:
        yield tree
    finally:
        await asyncio.shield(checkouts.discard(tree))


async def _with_a_sign_of_life(work: Awaitable[Result]) -> Result:
    if not sys.stderr.isatty():
        complain(f"{AT_WORK}...")
        return await work
    ticking = asyncio.create_task(_tick(time.monotonic()))
    try:
        return await work
    finally:
        ticking.cancel()
        print(f"\r{' ' * 60}\r", end="", file=sys.stderr, flush=True)


async def _tick(began: float) -> None:
    while True:
        seconds = time.monotonic() - began
        line = f"\r{AT_WORK}: {seconds:.0f} s (Ctrl-C leaves) "
        print(line, end="", file=sys.stderr, flush=True)
        await asyncio.sleep(TICK)


def _used(usage: Usage) -> str:
    return f"The planner used {used_text(usage, ' and ')}"
