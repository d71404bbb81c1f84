"""What `dwindle doctor` finds out about the agent of each role: it is made as for a run."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from dwindle.adapters.formats.config.kinds import BuiltinAgent, agent_named
from dwindle.adapters.formats.config.settings import AgentSettings, Settings
from dwindle.app.agents.backends import package_of
from dwindle.app.agents.configured import Terms, agent_of, make, with_found
from dwindle.app.doctor.diagnosis import Diagnosis, Severity
from dwindle.app.refusal import Refused
from dwindle.app.sandbox import containment_for, known_secrets
from dwindle.app.settings import SETTINGS_FILE
from dwindle.kernel.model import AtomId, Role
from dwindle.ports.agent import Agent, Place
from dwindle.ports.backend import AgentFacts, AgentUnavailable, HasFacts
from dwindle.ports.process import Command, Containment, Secret
from dwindle.ports.work import PLANNER, Occasion, Order, PlanningOrder, Purpose, WorkOrder
from dwindle.text.redact import (
    HIDDEN,
    is_secret_name,
    longest_first,
    redact_bytes,
    redact_command_line,
)

VERSION_SECONDS: Final = 5.0
"""That a program gets to print its version."""

NO_AGENT: Final = {
    "worker": (
        "no agent is configured, and neither claude nor codex is found",
        f"for example, in {SETTINGS_FILE}: [agents] backend, command",
    ),
    "probe": ("none; the worker explores by itself", ""),
    "verifier": ("none; quality and assertion checks cannot pass", ""),
    "planner": ("none; the agent of the worker plans", ""),
}
"""What it means that a role has no agent."""

PURPOSES: Final = {
    Role.WORKER: Purpose.WORK,
    Role.PROBE: Purpose.LOOK,
    Role.VERIFIER: Purpose.JUDGE,
}


def agent_findings(settings: Settings, root: Path) -> Iterator[Diagnosis]:
    taken = with_found(settings)
    containment = containment_for(settings)
    for role in NO_AGENT:
        chosen = getattr(taken.agents, role)
        for failed, one in enumerate(_one_by_one(chosen)):
            terms = Terms(settings=taken, root=root, containment=containment, warn=_silent)
            found = _finding(role, one, terms) if one.backend else _without_agent(role, terms)
            yield found if not failed else replace(found, name=f"{role} after {failed} failed")


def _silent(_: str) -> None:
    """A finding has the warnings as its hint."""


def _one_by_one(chosen: AgentSettings) -> tuple[AgentSettings, ...]:
    """Each of the agents that a role escalates to, the first one first."""
    plain = replace(chosen, escalate=(), command=(), model=None, script=None)
    return tuple(replace(plain, **agent_named(words)) for words in chosen.escalate) or (chosen,)


def _without_agent(role: str, terms: Terms) -> Diagnosis:
    """With the command of the worker's agent, where that takes the role too."""
    what, hint = NO_AGENT[role]
    state = Severity.WRONG if role == Role.WORKER else Severity.NOTE
    found = Diagnosis(name=role, state=state, what=what, hint=hint)
    worker = terms.settings.agents.worker
    if role not in (Role.PROBE, PLANNER) or _plans_by_script(role, worker):
        return found
    try:
        agent = agent_of(worker, terms, role)
    except Refused:  # which the finding about the worker says
        return found
    return found if agent is None else _with_command(found, agent, terms.settings)


def _finding(role: str, chosen: AgentSettings, terms: Terms) -> Diagnosis:
    name = str(chosen.backend)
    is_command = chosen.backend is BuiltinAgent.COMMAND
    label = " ".join(redact_command_line(chosen.command)) if is_command else name
    try:
        agent = make(chosen, terms, role)
    except AgentUnavailable as problem:
        what = f"{label}: {problem.what}"
        return Diagnosis(name=role, state=Severity.WRONG, what=what, hint=problem.hint)
    except Refused as refusal:
        return Diagnosis(name=role, state=Severity.WRONG, what=refusal.what, hint=refusal.hint)
    facts = agent.facts() if isinstance(agent, HasFacts) else AgentFacts()
    if facts.problem:
        return Diagnosis(name=role, state=Severity.WRONG, what=f"{label}: {facts.problem}")
    package = package_of(name)
    parts = (f"{name} ({package})" if package else "", _what(facts, terms))
    warnings = dict.fromkeys((*terms.warned, *facts.warnings))
    found = Diagnosis(
        name=role,
        state=Severity.NOTE if warnings else Severity.OK,
        what="; ".join(filter(None, parts)),
        hint="; ".join(warnings),
    )
    return found if _plans_by_script(role, chosen) else _with_command(found, agent, terms.settings)


def _plans_by_script(role: str, chosen: AgentSettings) -> bool:
    """A script plans only if it has answers for a planner, so that there may be no session."""
    return role == PLANNER and chosen.backend is BuiltinAgent.SCRIPTED


def _what(facts: AgentFacts, terms: Terms) -> str:
    if not facts.version_command:
        return facts.what
    version = asyncio.run(_version(facts.version_command, terms.containment, terms.root))
    return f"{facts.what} ({version or 'says no version'})"


async def _version(argv: tuple[str, ...], containment: Containment, root: Path) -> str:
    """The program may not know the option, and do anything: so it runs contained, and read-only."""
    program = argv[0]
    command = Command(
        argv=argv,
        cwd=root,
        timeout_seconds=VERSION_SECONDS,
        readable=(Path(program),) if program.startswith("/") else (),
    )
    ended = await containment.run(command)
    lines = ended.stdout.text().strip().splitlines() if ended.is_clean else []
    return lines[0][:80] if lines else ""


# --- what a session would run --------------------------------------------------------------------


def _with_command(found: Diagnosis, agent: Agent, settings: Settings) -> Diagnosis:
    """With the command that a session of this role would run.

    The agent makes it in a folder that is thrown away, so that the user sees it word for word.
    WORKSPACE and OUTBOX stand for paths that only a real session has. Secrets are redacted: those
    that the agent or the settings know, and variables and options with a telling name.
    """
    with tempfile.TemporaryDirectory(prefix="dwindle-doctor-") as name:
        folder = Path(name)
        place = Place(workspace=folder / "workspace", outbox=folder / "outbox")
        for path in (place.workspace, place.outbox):
            path.mkdir()
        place.order.write_bytes(b"{}")
        place.prompt.write_bytes(b"")
        command = agent.session(_order(found.name), place).command
        secrets = longest_first((*command.secrets, *known_secrets(settings)))
        shown = {str(place.workspace): "WORKSPACE", str(place.outbox): "OUTBOX"}
        return replace(
            found,
            command=redact_command_line([_shown(word, secrets, shown) for word in command.argv]),
            environment={
                key: HIDDEN if is_secret_name(key) else _shown(value, secrets, shown)
                for key, value in sorted(command.environment.items())
            },
        )


def _shown(text: str, secrets: tuple[Secret, ...], shown: Mapping[str, str]) -> str:
    data = redact_bytes(text.encode("utf-8", "surrogateescape"), secrets)
    text = data.decode("utf-8", "replace")
    for path, name in shown.items():
        text = text.replace(path, name)
    return text


def _order(role: str) -> Order:
    if role == PLANNER:
        return PlanningOrder(purpose=Occasion.ALIGN, words="")
    asked = Role(role)
    return WorkOrder(
        role=asked,
        purpose=PURPOSES[asked],
        run="",
        atom=AtomId("A1"),
        description="",
        goal="",
        attempt=1,
        nonce=1,
    )
