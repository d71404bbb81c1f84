"""Who does the work: from the settings to agents, and whom to take where nobody was named.

Without any settings the programs that people have are looked for, claude before codex, and the one
that is found does everything. Where somebody is named for other roles only, the one that is found
works. A person who names one for the worker alone gets no judge by the way: who judges is worth a
decision of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from dwindle import wiring
from dwindle.adapters.agents.installed import Program
from dwindle.adapters.formats.config_kinds import SHELL, Backend
from dwindle.adapters.formats.config_settings import AgentSettings, Settings
from dwindle.kernel.exit_codes import EXIT_CODES
from dwindle.kernel.model import Role, StopCode
from dwindle.ports.agent import Agent
from dwindle.ports.backend import Engagement
from dwindle.ports.process import Containment, Strength
from dwindle.ports.work import Order
from dwindle.surfaces.cli.output import complain
from dwindle.surfaces.outspoken import Outspoken
from dwindle.surfaces.purse import Purse
from dwindle.surfaces.refusal import Refused

READ_ONLY_BY = "bubblewrap"
"""The one containment that keeps files from being written."""
ROLES = ("worker", "probe", "verifier", "planner")
LOOKED_FOR = (Backend.CLAUDE, Backend.CODEX)


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Under which agents work here."""

    settings: Settings
    root: Path
    containment: Containment
    purse: Purse | None = None
    """Where the money of the run is; None: there is no run."""
    warn: Callable[[str], None] = complain
    """What is worth knowing and no reason to stop."""
    warned: set[str] = field(default_factory=set)

    def share(self, order: Order) -> float | None:
        """US dollars that a session which begins now may spend; None: no limit."""
        return None if self.purse is None else self.purse.share(order)


def agents_of(terms: Terms) -> Mapping[Role, Agent]:
    """The agents of a run; a role without one has none."""
    settings = with_found(terms.settings)
    terms = replace(terms, settings=settings)
    found: dict[Role, Agent] = {}
    for role in Role:
        chosen: AgentSettings = getattr(settings.agents, role.value)
        if role is Role.PROBE and chosen.backend is None:
            chosen = settings.agents.worker
        agent = agent_of(chosen, terms, role)
        if agent is not None:
            found[role] = agent
    if Role.WORKER not in found:
        raise nobody()
    return found


def nobody() -> Refused:
    return Refused(
        "no agent is configured, and neither claude nor codex is found",
        where=wiring.SETTINGS_FILE,
        hint='install one of them, or for example: [agents]\n  backend = "command"\n'
        '  command = ["my-agent"]',
    )


def with_found(settings: Settings) -> Settings:
    """The settings, with whoever is found on this machine where nobody is named for the work."""
    agents = settings.agents
    if agents.worker.backend:
        return settings
    backend = next((one for one in LOOKED_FOR if is_there(one)), None)
    if backend is None:
        return settings
    named = [role for role in ROLES if getattr(agents, role).backend]
    roles = (Role.WORKER,) if named else ROLES
    taken = {str(role): replace(getattr(agents, role), backend=backend) for role in roles}
    return replace(settings, agents=replace(agents, **taken))


def is_there(backend: Backend) -> bool:
    """Is the program of this name on PATH?"""
    import shutil  # noqa: PLC0415

    return shutil.which(backend.value) is not None


def agent_of(chosen: AgentSettings, terms: Terms, role: str = Role.WORKER) -> Agent | None:
    agent = _agent(chosen, terms, role)
    if agent is None:
        return None
    from dwindle.adapters.agents.reticent import Reticent  # noqa: PLC0415

    agent = Reticent(agent=agent, secrets=wiring.known_secrets(terms.settings))
    if terms.purse is not None:
        agent = terms.purse.opened_for(agent)
    if chosen.timeout_seconds is None:
        return agent
    from dwindle.adapters.agents.hurried import Hurried  # noqa: PLC0415

    return Hurried(agent=agent, seconds=float(chosen.timeout_seconds))


def _agent(chosen: AgentSettings, terms: Terms, role: str) -> Agent | None:
    sandbox = terms.settings.sandbox
    added = {name: os.environ[name] for name in sandbox.env if name in os.environ}
    match chosen.backend:
        case None:
            return None
        case Backend.SCRIPTED:
            from dwindle.adapters.agents.scripted import scripted_agent  # noqa: PLC0415

            return scripted_agent(terms.root / (chosen.script or ".runner/script.yaml"))
        case Backend.COMMAND:
            from dwindle.adapters.agents.command import CommandAgent  # noqa: PLC0415

            command = CommandAgent(argv=chosen.command, environment=added, network=sandbox.network)
            _insist(command.missing())
            return command
        case Backend.CLAUDE:
            from dwindle.adapters.agents.claude import ClaudeAgent  # noqa: PLC0415

            claude = ClaudeAgent(
                program=program_of(chosen),
                sandboxed=terms.containment.mechanism == READ_ONLY_BY,
                model=chosen.model,
                effort=chosen.effort,
                max_turns=chosen.max_turns,
                budget=terms.share,
                network=sandbox.network,
                environment=added,
            )
            _insist(claude.missing())
            return Outspoken(agent=claude, say=terms.warn, said=terms.warned)
        case Backend.CODEX:
            from dwindle.adapters.agents import codex_program  # noqa: PLC0415
            from dwindle.adapters.agents.codex import CodexAgent  # noqa: PLC0415

            codex = CodexAgent(
                program=program_of(chosen),
                own_sandbox=terms.containment.strength is Strength.WEAK,
                model=chosen.model,
                effort=chosen.effort,
                network=sandbox.network,
                environment=added,
            )
            _insist(codex.missing())
            _insist(codex.login_problem, where="codex")
            outspoken = Outspoken(agent=codex, say=terms.warn, said=terms.warned)
            # It does not tell its version in a session, as claude does.
            outspoken.tell(codex_program.warning_about(_version(codex.located)))
            if terms.purse is not None and terms.purse.is_limited:
                outspoken.tell(codex.price_warning)
            return outspoken
        case str():
            from dwindle.surfaces.installed_agents import installed_agent  # noqa: PLC0415

            return installed_agent(
                chosen.backend,
                Engagement(
                    role=str(role),
                    root=terms.root,
                    command=chosen.command,
                    model=chosen.model,
                    effort=chosen.effort,
                    max_turns=chosen.max_turns,
                    network=sandbox.network,
                    read_only=terms.containment.mechanism == READ_ONLY_BY,
                    environment=added,
                    budget=terms.share,
                ),
            )


@cache
def _version(codex: Program) -> str:
    """Asked once, however many roles it has."""
    from dwindle.adapters.agents.codex_program import PACKAGE  # noqa: PLC0415

    return PACKAGE.version(codex)


def _insist(problem: str | None, *, where: str = wiring.SETTINGS_FILE) -> None:
    """What is not there is said before anything begins."""
    if problem is not None:
        hint = "`dwindle doctor` says which agents are here; --agent takes another one"
        raise Refused(problem, where=where, hint=hint, code=EXIT_CODES[StopCode.AGENT_UNAVAILABLE])


def program_of(chosen: AgentSettings) -> str:
    """The program of claude or codex: what `command` names, else the one of that name on PATH."""
    named = (
        chosen.command[len(SHELL) :] if chosen.command[: len(SHELL)] == SHELL else chosen.command
    )
    return named[0] if named else str(chosen.backend)
