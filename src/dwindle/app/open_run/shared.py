"""What every run is put together from: repository, settings, sandbox, agents, journal, clock."""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from dwindle.adapters.checks.mechanical import MechanicalChecks
from dwindle.adapters.formats.config.settings import Settings
from dwindle.adapters.git.commit_message import branch_of
from dwindle.adapters.git.repository import GitGround, Repository, find
from dwindle.adapters.git.worktrees.checkouts import GitCheckouts
from dwindle.adapters.git.worktrees.provision import TreeSetup
from dwindle.adapters.store.disk import DurableFile, RealDisk, make_directory
from dwindle.adapters.store.journal import JsonlJournal, path_of
from dwindle.app.agents.configured import Terms
from dwindle.app.console import complain
from dwindle.app.paths import LOGS, OUTBOXES
from dwindle.app.plans.problem_list import Unsound
from dwindle.app.sandbox import build_for, check_settings, containment_for, filters_of, setup_for
from dwindle.app.settings import SETTINGS_FILE, settings_for
from dwindle.kernel.model import Aligned, Objective
from dwindle.ports.agent import Agent
from dwindle.ports.process import Containment
from dwindle.ports.work import Briefing
from dwindle.runner import alignment
from dwindle.runner.budget import Budget
from dwindle.runner.gate.pins import pins_of
from dwindle.runner.gate.steering import steering_for
from dwindle.runner.ledger import Ledger
from dwindle.runner.session import AgentRunner, Policy, not_briefed


class NotReady(Unsound):
    """A plan, or the settings, cannot be used as they are; every problem."""


class SystemClock:
    def now(self) -> str:
        return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def monotonic(self) -> float:
        return time.monotonic()


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A repository, its settings, and the sandbox that they ask for."""

    repository: Repository
    settings: Settings
    sandbox: Containment

    @property
    def root(self) -> Path:
        return self.repository.checkout

    @property
    def checks(self) -> MechanicalChecks:
        return MechanicalChecks(self.sandbox, check_settings(self.settings))

    async def tip(self, run_id: str | None) -> str | None:
        """The last commit of the run's branch; None if git has no such branch."""
        ref = f"{branch_of(run_id or '')}^{{commit}}"
        said = await self.repository.git.ask("rev-parse", "--verify", "--quiet", ref)
        return None if said.code else said.text

    def checkouts(
        self, aligned: Aligned | None = None, objective: Objective | None = None
    ) -> GitCheckouts:
        """Fresh trees of a commit, in which checks decide; without pins before alignment."""
        tree_setup = TreeSetup(
            checkout=self.root,
            share=self.settings.workspace.share,
            setup=setup_for(self.settings, self.sandbox),
            build=build_for(self.settings, self.sandbox),
        )
        return GitCheckouts(
            repository=self.repository,
            aligned=aligned.commit if aligned else "",
            pins=aligned.pins if aligned else (),
            tree_setup=tree_setup,
            steering=(lambda: steering_for(objective)) if objective else None,
        )

    def surroundings(
        self, aligned: Aligned | None = None, objective: Objective | None = None
    ) -> alignment.Surroundings:
        """What alignment uses: git, a fresh checkout, contained checks."""
        return alignment.Surroundings(
            files=GitGround(self.repository),
            checkouts=self.checkouts(aligned, objective),
            runner=self.checks,
            pins_of=pins_of,
        )

    def terms(self, budget: Budget | None = None, warn: Callable[[str], None] = complain) -> Terms:
        return Terms(
            settings=self.settings,
            root=self.root,
            containment=self.sandbox,
            budget=budget,
            warn=warn,
        )

    def agent_runner(
        self,
        agents: Mapping[str, Agent],
        terms: Terms,
        policy: Policy,
        seconds_left: Callable[[], float] = lambda: math.inf,
        briefing: Callable[[], Awaitable[Briefing]] = not_briefed,
    ) -> AgentRunner:
        return AgentRunner(
            agents=agents,
            sandbox=self.sandbox,
            outboxes=self.root / OUTBOXES,
            policy=policy,
            budget=terms.budget,
            warn=terms.warn_once,
            seconds_left=seconds_left,
            briefing=briefing,
        )


async def site_at(start: Path, overrides: Mapping[str, object] | None = None) -> Site:
    """The repository around `start`; NotReady if its settings are not valid."""
    repository = await find(start)
    return site_of(repository, valid_settings(repository.checkout, overrides))


def site_of(repository: Repository, settings: Settings) -> Site:
    repository = repository.with_filters(filters_of(settings))
    sandbox = containment_for(settings, repository)
    return Site(repository=repository, settings=settings, sandbox=sandbox)


def valid_settings(root: Path, overrides: Mapping[str, object] | None = None) -> Settings:
    read = settings_for(root, overrides)
    if read.settings is None:
        raise NotReady(SETTINGS_FILE, read.problems)
    return read.settings


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRun:
    """A run whose lock this process holds, ready for its loop."""

    site: Site
    ledger: Ledger
    run_id: str
    aligned: Aligned
    clock: SystemClock = field(default_factory=SystemClock)

    @property
    def logs(self) -> Path:
        return self.site.root / LOGS / self.run_id


def new_run_id() -> str:
    return alignment.new_run_id(time.time_ns() // 10**6, secrets.token_bytes(10))


def open_journal(
    folder: Path, run_id: str, *, after: int = 0, versions: tuple[str, ...] = ()
) -> JsonlJournal:
    """The journal of a run, or a new one. Only for the holder of the lock."""
    disk = RealDisk()
    if DurableFile(disk, path_of(folder, run_id)).exists():
        return JsonlJournal(disk, folder, run_id)
    make_directory(disk, folder)
    return JsonlJournal.create(disk, folder, run_id, after=after, versions=versions)
