"""The planner: which agent it is, and how one of its sessions is run, with a clock on the terminal.

It reads the user's own checkout. Where the sandbox cannot keep a program from writing, it gets a
fresh checkout of the same commit instead, which is discarded afterwards.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from dwindle.adapters.git import repository as repositories
from dwindle.adapters.git.worktrees.checkouts import GitCheckouts
from dwindle.adapters.git.worktrees.provision import TreeSetup
from dwindle.app.agents.configured import READ_ONLY_BY, Terms, agent_of, policy_of, with_found
from dwindle.app.console import complain
from dwindle.app.open_run.briefing import Briefings
from dwindle.app.open_run.shared import Site, site_of
from dwindle.app.paths import LOGS, OUTBOXES, PLANNING
from dwindle.app.refusal import Refused, refused_by
from dwindle.app.settings import SETTINGS_FILE, settings_for
from dwindle.kernel.events import NO_USAGE
from dwindle.kernel.model import Limits
from dwindle.ports.agent import Agent
from dwindle.ports.work import PLANNER, NoReport, PlanningOrder, Report, Result, Trouble
from dwindle.ports.workspace import WorkspaceFailed
from dwindle.runner.orders.planning import bounded_order
from dwindle.runner.session import Finished, numbered_folder
from dwindle.scripted.script import ScriptRefused, load
from dwindle.text import amounts

TICK = 1.0
AT_WORK = "The planner is at work"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannerAgent:
    site: Site
    terms: Terms
    agent: Agent

    def timeout(self, limits: Limits | None = None) -> float:
        """Seconds for one session: as set for its role, else as the plan says."""
        agents = self.site.settings.agents
        chosen = agents.planner if agents.planner.backend else agents.worker
        return float(chosen.timeout_seconds or (limits or Limits()).session_timeout_seconds)

    def answer(self, order: PlanningOrder) -> Report:
        """Run one session. Ctrl-C ends it with all its processes, and is raised again."""
        began = time.monotonic()
        try:
            result = asyncio.run(self._session(order))
        except (OSError, WorkspaceFailed) as error:
            return NoReport(trouble=Trouble.UNAVAILABLE, reason=f"it could not begin: {error}")
        if result.usage != NO_USAGE:
            used = result.usage
            cost = amounts.cost(used.tokens, used.usd, estimated=used.estimated, between=" and ")
            complain(f"The planner used {cost} in {amounts.duration(time.monotonic() - began)}.")
        return result.report

    async def _session(self, order: PlanningOrder) -> Result:
        site, order = self.site, bounded_order(order)
        site.repository.exclude((f"/{LOGS}/", f"/{OUTBOXES}/"))
        head = await site.repository.head()
        agents = site.agent_runner(
            {PLANNER: self.agent},
            self.terms,
            policy_of(site.settings),
            seconds_left=lambda: 0.0,  # the user is there, and decides whether to wait
            briefing=Briefings(repository=site.repository, commit=lambda: head),
        )
        agents = replace(agents, on_switch=lambda _, why: complain(why))
        async with _readable_tree(site) as tree:
            folder = numbered_folder(site.root / PLANNING)
            finished = await _with_a_sign_of_life(agents.run(order, tree, folder))
            return finished.result


def planner_of(site: Site) -> PlannerAgent | None:
    """The agent set for planning, else the worker's; a script only if it has planner answers.

    Raises Refused if the configured agent cannot be started.
    """
    site = replace(site, settings=with_found(site.settings))
    agents = site.settings.agents
    chosen = agents.planner if agents.planner.backend else agents.worker
    if chosen.backend == "scripted" and not _plans(site.root / (chosen.script or "")):
        return None
    terms = site.terms()
    agent = agent_of(chosen, terms, PLANNER)
    return None if agent is None else PlannerAgent(site=site, terms=terms, agent=agent)


def planner_at(root: Path, overrides: Mapping[str, object] | None = None) -> PlannerAgent:
    """The planner of the repository around `root`, or Refused."""
    try:
        repository = asyncio.run(repositories.find(root))
    except WorkspaceFailed as error:
        raise refused_by(error) from None
    read = settings_for(repository.checkout, overrides)
    if read.settings is None:
        hint = "; ".join(problem.what for problem in read.problems)
        raise Refused("the settings are not valid", where=SETTINGS_FILE, hint=hint)
    found = planner_of(site_of(repository, read.settings))
    if found is None:
        raise Refused(
            "no planner is configured, so words cannot be turned into edits",
            where=SETTINGS_FILE,
            hint='add [agents.planner] with backend = "command" and a command, or use the typed\n'
            "  edits: `dwindle redirect --help`",
        )
    return found


def _plans(script: Path) -> bool:
    """A broken script counts as one that plans: when it is started, it says what is wrong."""
    try:
        return any(role == PLANNER for role, _ in load(script).entries)
    except ScriptRefused:
        return True


@contextlib.asynccontextmanager
async def _readable_tree(site: Site) -> AsyncIterator[Path]:
    repository = site.repository
    if site.sandbox.mechanism == READ_ONLY_BY:
        yield site.root
        return
    tree_setup = TreeSetup(checkout=site.root, share=(), setup=None)
    checkouts = GitCheckouts(repository=repository, aligned="", pins=(), tree_setup=tree_setup)
    tree = await checkouts.make(await repository.head())
    try:
        yield tree
    finally:
        await asyncio.shield(checkouts.discard(tree))


async def _with_a_sign_of_life(work: Awaitable[Finished]) -> Finished:
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
        line = f"\r{AT_WORK}: {amounts.clock(time.monotonic() - began)} (Ctrl-C leaves) "
        print(line, end="", file=sys.stderr, flush=True)
        await asyncio.sleep(TICK)
