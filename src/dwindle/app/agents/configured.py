"""The agents of a run, from its settings; and which one to take where no worker is set.

Without any settings, claude is looked for on PATH and then codex, and the one that is found takes
every role. Where the settings name agents for other roles only, it becomes the worker. A user who
sets the worker alone gets no verifier by the way: that choice is worth a decision of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from dwindle.adapters.formats.config.kinds import SHELL, BuiltinAgent, agent_named
from dwindle.adapters.formats.config.settings import AgentSettings, Settings
from dwindle.app.agents.backends import UNAVAILABLE, make_agent
from dwindle.app.console import complain
from dwindle.app.refusal import Refused
from dwindle.app.sandbox import check_settings, known_secrets
from dwindle.app.settings import SETTINGS_FILE
from dwindle.kernel.model import Role
from dwindle.ports.agent import Agent
from dwindle.ports.backend import AgentUnavailable, Engagement
from dwindle.ports.process import Containment
from dwindle.ports.work import PLANNER, Order
from dwindle.runner.budget import Budget
from dwindle.runner.session import Policy

READ_ONLY_BY = "bubblewrap"
"""The one containment that keeps files from being written."""
ROLES = ("worker", "probe", "verifier", "planner")
LOOKED_FOR = (BuiltinAgent.CLAUDE, BuiltinAgent.CODEX)
OTHER_AGENTS = "`dwindle doctor` says which agents are here; --agent takes another one"


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Under which agents work here."""

    settings: Settings
    root: Path
    containment: Containment
    budget: Budget | None = None
    """The money of the run; None: there is no run."""
    warn: Callable[[str], None] = complain
    """What is worth knowing and no reason to stop."""
    warned: dict[str, None] = field(default_factory=dict)
    """What `warn_once` was called with."""

    def share(self, order: Order) -> float | None:
        """US dollars that a session which begins now may spend; None: no limit."""
        return None if self.budget is None else self.budget.share(order)

    def warn_once(self, warning: str) -> None:
        """Tell the user what an agent has to say, each sentence once."""
        if warning and warning not in self.warned:
            self.warned[warning] = None
            self.warn(f"warning: {warning}")


def policy_of(
    settings: Settings,
    *,
    writable: tuple[Path, ...] = (),
    readable: tuple[Path, ...] = (),
    hidden: tuple[Path, ...] = (),
) -> Policy:
    """What the settings say about every agent session; and these paths of the run."""
    agents = with_found(settings).agents
    timeouts = {role: getattr(agents, role).timeout_seconds for role in ROLES}
    for role in (Role.PROBE, PLANNER):  # the worker's agent takes a role that has none
        if getattr(agents, role).backend is None:
            timeouts[role] = agents.worker.timeout_seconds
    return Policy(
        writable=(*writable, *check_settings(settings).writable),
        readable=readable,
        hidden=hidden,
        secrets=known_secrets(settings),
        timeouts={role: float(seconds) for role, seconds in timeouts.items() if seconds},
        output_bytes=settings.limits.output_bytes,
    )


def agents_of(terms: Terms, roles: Iterable[Role] = Role) -> Mapping[str, Agent]:
    """The agents of a run; a role without one has none."""
    settings = with_found(terms.settings)
    terms = replace(terms, settings=settings)
    found: dict[str, Agent] = {}
    for role in roles:
        chosen: AgentSettings = getattr(settings.agents, role.value)
        if role is Role.PROBE and chosen.backend is None:
            chosen = settings.agents.worker
        agent = agent_of(chosen, terms, role)
        if agent is not None:
            found[role] = agent
    if Role.WORKER not in found:
        raise no_agent()
    return found


def no_agent() -> Refused:
    return Refused(
        "no agent is configured, and neither claude nor codex is found",
        where=SETTINGS_FILE,
        hint="install one of them and log in, or name a program of yours in that file:\n"
        '    [agents]\n    backend = "command"\n    command = ["my-agent"]\n'
        "  then `dwindle run`",
    )


def with_found(settings: Settings) -> Settings:
    """The settings, with the agent that is found on this machine where no worker is set."""
    agents = settings.agents
    if agents.worker.backend:
        return settings
    backend = next((one for one in LOOKED_FOR if is_on_path(one)), None)
    if backend is None:
        return settings
    named = [role for role in ROLES if getattr(agents, role).backend]
    roles = (Role.WORKER,) if named else ROLES
    taken = {str(role): replace(getattr(agents, role), backend=backend) for role in roles}
    return replace(settings, agents=replace(agents, **taken))


def is_on_path(backend: BuiltinAgent) -> bool:
    """Is the program of this name on PATH?"""
    import shutil  # noqa: PLC0415

    return shutil.which(backend.value) is not None


def agent_of(chosen: AgentSettings, terms: Terms, role: str = Role.WORKER) -> Agent | None:
    """The agent of a role; of several, those that are here."""
    if not chosen.escalate:
        return _agent(chosen, terms, role)
    agents: dict[str, Agent] = {}
    refusals: list[Refused] = []
    for words in chosen.escalate:
        plain = replace(chosen, escalate=(), command=(), model=None, script=None)
        try:
            agent = _agent(replace(plain, **agent_named(words)), terms, role)
        except Refused as refusal:
            refusals.append(refusal)
            terms.warn(f"{words} cannot be had and is passed over: {refusal.what}")
        else:
            assert agent is not None  # noqa: S101 - a backend is named
            agents[words] = agent
    if not agents:
        raise refusals[0]
    from dwindle.runner.escalation import Escalating  # noqa: PLC0415 - few have several

    return Escalating(agents=agents)


def make(chosen: AgentSettings, terms: Terms, role: str) -> Agent:
    """The agent of a backend that is set. Raises AgentUnavailable or Refused."""
    sandbox, budget = terms.settings.sandbox, terms.budget
    return make_agent(
        str(chosen.backend),
        Engagement(
            role=str(role),
            root=terms.root,
            command=chosen.command,
            program=program_of(chosen),
            script=chosen.script,
            model=chosen.model,
            effort=chosen.effort,
            max_turns=chosen.max_turns,
            network=sandbox.network,
            read_only=terms.containment.mechanism == READ_ONLY_BY,
            strength=terms.containment.strength,
            environment={name: os.environ[name] for name in sandbox.env if name in os.environ},
            budget=terms.share,
            budget_limited=budget is not None and budget.is_limited,
            warn=terms.warn_once,
        ),
    )


def _agent(chosen: AgentSettings, terms: Terms, role: str) -> Agent | None:
    if chosen.backend is None:
        return None
    try:
        return make(chosen, terms, role)
    except AgentUnavailable as problem:
        raise Refused(
            problem.what,
            where=problem.where or SETTINGS_FILE,
            hint=problem.hint or OTHER_AGENTS,
            code=UNAVAILABLE,
        ) from None


def program_of(chosen: AgentSettings) -> str | None:
    """The program that `command` names, also where the command is a text for a shell."""
    is_text = chosen.command[: len(SHELL)] == SHELL
    words = chosen.command[len(SHELL) :] if is_text else chosen.command
    return words[0] if words else None
