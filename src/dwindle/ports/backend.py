"""How an agent is made from the settings: the contract of the built-in agents and of packages.

A package names a function under the entry point group `dwindle.agents`; each built-in agent has
such a function too. A user who writes the name as a `backend`, or behind `--agent`, gets the agent
that the function makes. A run imports no agent that it does not use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol, runtime_checkable

from dwindle.ports.agent import Agent
from dwindle.ports.process import Strength
from dwindle.ports.work import Order

GROUP: Final = "dwindle.agents"


@dataclass(frozen=True, slots=True, kw_only=True)
class Engagement:
    """The settings of one role, and what the run offers its agent.

    What is None or empty was not set. There may be more fields one day: take the ones you need.
    """

    role: str
    """worker, probe, verifier or planner."""
    root: Path
    """The repository; sessions work in trees of their own."""
    command: tuple[str, ...] = ()
    program: str | None = None
    """The first word of `command`, or of the text if the user wrote one for a shell."""
    script: str | None = None
    """A file, from `root`."""
    model: str | None = None
    effort: str | None = None
    max_turns: int | None = None
    network: bool = True
    read_only: bool = True
    """Whether all but what a command calls writable is kept from being written to."""
    strength: Strength = Strength.STRONG
    """What the sandbox promises of processes; where it is weak an agent may use its own."""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What `[sandbox] env` lets through; to be added to that of the command."""
    budget: Callable[[Order], float | None] = lambda _: None
    """US dollars that a session which begins now may spend; None: no limit."""
    budget_limited: bool = False
    """Whether the run has a limit in US dollars at all."""
    warn: Callable[[str], None] = lambda _: None
    """Show the user a sentence that is no reason to stop, once; an empty one is ignored."""


class AgentUnavailable(Exception):
    """Raised by a backend whose agent cannot work here: no program, no login, no sandbox.

    The run does not begin and exits with 40. The user reads `where`, `what` and `hint`; without a
    `where` it is the settings file, and without a `hint` the user is pointed to `dwindle doctor`.
    """

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(what, where, hint)
        self.what = what
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        return self.what


class Backend(Protocol):
    """The function of an agent. What it raises is shown to the user, and nothing begins."""

    def __call__(self, wanted: Engagement, /) -> Agent: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFacts:
    """What `dwindle doctor` says about an agent."""

    what: str = ""
    """In one line: version, login, path."""
    problem: str = ""
    """Why its sessions would fail; empty if no reason can be seen without asking its service."""
    warnings: tuple[str, ...] = ()
    version_command: tuple[str, ...] = ()
    """Prints the version; run in the sandbox, where it may write nothing."""


@runtime_checkable
class HasFacts(Protocol):
    """An agent may have this method."""

    def facts(self) -> AgentFacts: ...
