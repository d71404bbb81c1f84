"""Who does the work: from the settings to agents, and whom to take where nobody was named.

Without any settings the programs that people have are looked for, claude before codex, and the one
that is found does everything. A person who names one for the worker alone gets no judge by the way:
who judges is worth a decision of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from dwindle import wiring
from dwindle.adapters.formats.config_kinds import SHELL, Backend
from dwindle.adapters.formats.config_settings import AgentSettings, Settings
from dwindle.kernel.exit_codes import EXIT_CODES
from dwindle.kernel.model import Plan, Role, StopCode
from dwindle.ports.agent import Agent
from dwindle.ports.process import Containment, Strength
from dwindle.surfaces.refusal import Refused

READ_ONLY_BY = "bubblewrap"
"""The one containment that keeps files from being written."""
LOOKED_FOR = (Backend.CLAUDE, Backend.CODEX)


def no_limit() -> float | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Under which agents work here."""

    settings: Settings
    root: Path
    containment: Containment
    money: Callable[[], float | None] = no_limit
    """US dollars that are left of the run; None: no limit."""


def agents_of(terms: Terms) -> Mapping[Role, Agent]:
    """The agents of a run; a role without one has none."""
    settings = with_found(terms.settings)
    terms = replace(terms, settings=settings)
    found: dict[Role, Agent] = {}
    for role in Role:
        agent = agent_of(getattr(settings.agents, role.value), terms)
        if agent is not None:
            found[role] = agent
    if Role.WORKER not in found:
        raise nobody()
    found.setdefault(Role.PROBE, found[Role.WORKER])
    return found


def nobody() -> Refused:
    return Refused(
        "no agent is configured, and neither claude nor codex is found",
        where=wiring.SETTINGS_FILE,
        hint='install one of them, or for example: [agents]\n  backend = "command"\n'
        '  command = ["my-agent"]',
    )


def with_found(settings: Settings) -> Settings:
    """The settings, with whoever is found on this machine where no role names anybody."""
    agents = settings.agents
    roles = ("worker", "probe", "verifier", "planner")
    if any(getattr(agents, role).backend for role in roles):
        return settings
    backend = next((one for one in LOOKED_FOR if is_there(one)), None)
    if backend is None:
        return settings
    taken = {role: replace(getattr(agents, role), backend=backend) for role in roles}
    return replace(settings, agents=replace(agents, **taken))


def is_there(backend: Backend) -> bool:
    """Is the program of this name on PATH?"""
    import shutil  # noqa: PLC0415

    return shutil.which(backend.value) is not None


def agent_of(chosen: AgentSettings, terms: Terms) -> Agent | None:
    agent = _agent(chosen, terms)
    if agent is None or chosen.timeout_seconds is None:
        return agent
    from dwindle.adapters.agents.hurried import Hurried  # noqa: PLC0415

    return Hurried(agent=agent, seconds=float(chosen.timeout_seconds))


def _agent(chosen: AgentSettings, terms: Terms) -> Agent | None:
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

            return CommandAgent(argv=chosen.command, environment=added, network=sandbox.network)
        case Backend.CLAUDE:
            from dwindle.adapters.agents.claude import ClaudeAgent  # noqa: PLC0415

            claude = ClaudeAgent(
                program=program_of(chosen),
                sandboxed=terms.containment.mechanism == READ_ONLY_BY,
                model=chosen.model,
                effort=chosen.effort,
                max_turns=chosen.max_turns,
                budget=terms.money,
                network=sandbox.network,
                environment=added,
            )
            _insist(claude.missing())
            return claude
        case Backend.CODEX:
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
            return codex


def _insist(problem: str | None, *, where: str = wiring.SETTINGS_FILE) -> None:
    """What is not there is said before anything begins."""
    if problem is not None:
        raise Refused(problem, where=where, code=EXIT_CODES[StopCode.AGENT_UNAVAILABLE])


def program_of(chosen: AgentSettings) -> str:
    """The program of claude or codex: what `command` names, else the one of that name on PATH."""
    named = (
        chosen.command[len(SHELL) :] if chosen.command[: len(SHELL)] == SHELL else chosen.command
    )
    return named[0] if named else str(chosen.backend)


def money_left(plan: Callable[[], Plan]) -> Callable[[], float | None]:
    """What a session that begins now may still spend."""

    def left() -> float | None:
        now = plan()
        most = now.limits.max_cost_usd
        return None if most is None else max(0.0, most - now.spent.usd)

    return left
