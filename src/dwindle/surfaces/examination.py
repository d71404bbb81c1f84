"""Everything that a run needs of the machine and the repository, looked at once.

Nothing is guessed from versions where it can be tried. What keeps a run from starting is told
apart from what is only worth knowing: without a verifier, all works until a check needs one.
"""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from dwindle import wiring
from dwindle.adapters.agents.command import CommandAgent
from dwindle.adapters.containment.cage import pens
from dwindle.adapters.containment.choice import survey
from dwindle.adapters.formats.config_kinds import Backend
from dwindle.adapters.formats.config_settings import AgentSettings, Settings
from dwindle.adapters.workspaces.repository import OLDEST_GIT, find
from dwindle.kernel.model import PlanKind, Role
from dwindle.ports.process import Command, Strength
from dwindle.ports.work import PLANNER
from dwindle.ports.workspace import WorkspaceFailed
from dwindle.runner.certificate_text import bounds_text
from dwindle.surfaces.agents import LOOKED_FOR, Terms, agent_of, program_of, with_found
from dwindle.surfaces.cli.problem_list import problem_lines
from dwindle.surfaces.finding import Finding, State
from dwindle.surfaces.guard_trouble import guard_trouble
from dwindle.surfaces.plan_files import repository as root_around
from dwindle.surfaces.refusal import Refused
from dwindle.surfaces.rehearsal import masked, rehearsed
from dwindle.surfaces.tree_findings import tree_findings

PATIENCE = 5.0
"""Seconds that a program gets to say its version."""

UNHELD = (
    "the number of processes is not held: without a control group the kernel does not hold root to "
    "it, nor anybody who has no sandbox"
)

LITTLE = 1 << 30
"""Bytes below which free space is worth a word."""


def examined(start: Path) -> tuple[Finding, ...]:
    """In the order in which a person would mend it."""
    root = Path(root_around(str(start)) or start)
    findings = [_python(), _git(), _repository(start), _disk(root)]
    read = wiring.settings_for(root)
    if read.settings is None:
        lines = problem_lines(wiring.SETTINGS_FILE, read.problems)
        what = "; ".join(line.strip() for line in lines)
        findings.append(Finding(name="settings", state=State.WRONG, what=what))
        return (*findings, _containment(enabled=True))
    there = (root / wiring.SETTINGS_FILE).exists()
    said = wiring.SETTINGS_FILE if there else f"no {wiring.SETTINGS_FILE}; defaults are used"
    findings.append(Finding(name="settings", state=State.OK, what=said))
    findings.append(_containment(enabled=read.settings.sandbox.enabled))
    findings += _let_have(read.settings)
    agents = _agents(read.settings, root)
    return (*findings, *agents, _guard(read.settings, root), *tree_findings(root))


def _python() -> Finding:
    what = f"{platform.python_version()} ({sys.executable})"
    return Finding(name="python", state=State.OK, what=what)


def _git() -> Finding:
    wanted = ".".join(map(str, OLDEST_GIT))
    try:
        ended = subprocess.run(
            ("git", "version"), capture_output=True, timeout=PATIENCE, check=True
        )
    except (OSError, subprocess.SubprocessError):
        said = None
    else:
        said = _first_line(ended.stdout.decode("utf-8", "replace"))
    if said is None:
        hint = f"install git {wanted} or newer"
        return Finding(name="git", state=State.WRONG, what="git was not found", hint=hint)
    return Finding(name="git", state=State.OK, what=said)


def _repository(start: Path) -> Finding:
    try:
        found = asyncio.run(find(start))
    except WorkspaceFailed as error:
        return Finding(name="repository", state=State.WRONG, what=str(error))
    except FileNotFoundError:
        return Finding(name="repository", state=State.WRONG, what="there is no git to ask")
    return Finding(name="repository", state=State.OK, what=str(found.checkout))


def _disk(root: Path) -> Finding:
    free = shutil.disk_usage(root).free
    what = f"{free / 1e9:.1f} GB free"
    state = State.OK if free >= LITTLE else State.NOTE
    hint = "" if free >= LITTLE else "every work tree takes as much as a checkout"
    if not os.access(root, os.W_OK):
        return Finding(name="disk", state=State.WRONG, what=f"{root} cannot be written to")
    return Finding(name="disk", state=state, what=what, hint=hint)


def _containment(*, enabled: bool) -> Finding:
    if not enabled:
        what = "none: [sandbox] enabled = false; agents and checks can do all that you can do"
        return Finding(name="containment", state=State.NOTE, what=what)
    tried = survey()
    best = next((kind for kind in tried if not kind.problem), None)
    refused = "; ".join(f"{kind.mechanism}: {kind.problem}" for kind in tried if kind.problem)
    if best is None:
        what = "none works here; agents and checks can do all that you can do"
        return Finding(name="containment", state=State.NOTE, what=what, hint=refused)
    state = State.OK if best.strength is Strength.STRONG else State.NOTE
    what = f"{best.strength} ({best.mechanism})"
    return Finding(name="containment", state=state, what=what, hint=refused)


def _let_have(settings: Settings) -> Iterator[Finding]:
    """What `[sandbox]` widens, and how much of the machine one program may take."""
    sandbox = settings.sandbox
    if sandbox.enabled:
        yield Finding(name="network", state=State.OK, what="open" if sandbox.network else "none")
    if sandbox.enabled and sandbox.writable:
        what = f"agents and checks may also write to {', '.join(sandbox.writable)}"
        yield Finding(name="writable", state=State.NOTE, what=what)
    if sandbox.env:
        unset = [name for name in sandbox.env if name not in os.environ]
        hint = f"not set: {', '.join(unset)}" if unset else ""
        what = f"agents and checks also see {', '.join(sandbox.env)}"
        yield Finding(name="env", state=State.NOTE, what=what, hint=hint)
    contained = wiring.contained_by(settings, wiring.containment_for(settings))
    grouped = {name for pen in pens() for name in pen.controllers}
    by = "held by control groups" if grouped >= {"memory", "pids"} else "held by resource limits"
    what = f"{bounds_text(contained)}; {by}"
    state, hint = (State.NOTE, UNHELD) if contained.processes is None else (State.OK, "")
    yield Finding(name="bounds", state=state, what=what, hint=hint)


# --- programs ------------------------------------------------------------------------------------


NOBODY = {
    "worker": (
        "no agent is configured, and neither claude nor codex is found",
        f"for example, in {wiring.SETTINGS_FILE}: [agents] backend, command",
    ),
    "probe": ("nobody; the worker looks for itself", ""),
    "verifier": ("nobody; quality and assertion checks cannot pass", ""),
    "planner": ("nobody; the agent of the worker plans", ""),
}
"""What it means that a role has no agent."""


def _agents(settings: Settings, root: Path) -> Iterator[Finding]:
    taken = with_found(settings)
    terms = Terms(
        settings=taken,
        root=root,
        containment=wiring.containment_for(settings),
        warn=lambda _: None,  # it stands beside what was found
    )
    for name in NOBODY:
        chosen = getattr(taken.agents, name)
        found = _agent(name, chosen, root, settings)
        stands_in = chosen.backend is None and name in (Role.PROBE, PLANNER)
        yield _with_command(found, taken.agents.worker if stands_in else chosen, terms)


def _with_command(found: Finding, chosen: AgentSettings, terms: Terms) -> Finding:
    """With what would be run; where that cannot be said, what is wrong has been said already."""
    try:
        agent = None if found.state is State.WRONG else agent_of(chosen, terms, found.name)
    except Refused as refusal:
        if isinstance(chosen.backend, Backend):
            return found
        return replace(found, state=State.WRONG, what=refusal.what, hint=refusal.hint)
    if agent is None or (chosen.backend is Backend.SCRIPTED and found.name == PLANNER):
        return found
    planned = rehearsed(agent, found.name)
    return replace(found, command=planned.argv, environment=planned.environment)


def _agent(name: str, chosen: AgentSettings, root: Path, settings: Settings) -> Finding:
    if chosen.backend is None:
        what, hint = NOBODY[name]
        lacking = State.WRONG if name == Role.WORKER else State.NOTE
        return Finding(name=name, state=lacking, what=what, hint=hint)
    if chosen.backend == "scripted":
        shown = chosen.script or ".runner/script.yaml"
        if (root / shown).is_file():
            return Finding(name=name, state=State.OK, what=f"scripted: {shown}")
        return Finding(name=name, state=State.WRONG, what=f"scripted: there is no {shown}")
    if chosen.backend in LOOKED_FOR:
        return _known(name, chosen)
    if chosen.backend is not Backend.COMMAND:
        return _installed(name, chosen.backend)
    problem = CommandAgent(argv=chosen.command).missing()
    shown = " ".join(masked(chosen.command))
    if problem:
        return Finding(name=name, state=State.WRONG, what=f"{shown}: {problem}")
    program = chosen.command[0]
    command = Command(
        argv=(program, "--version"),
        cwd=root,
        timeout_seconds=PATIENCE,
        readable=(Path(program),) if program.startswith("/") else (),
    )
    version = asyncio.run(_version(command, settings)) or "says no version"
    return Finding(name=name, state=State.OK, what=f"{shown} ({version})")


def _installed(name: str, backend: str) -> Finding:
    """From somebody else's package, which `_with_command` then tries."""
    from dwindle.surfaces.installed_agents import about  # noqa: PLC0415

    try:
        return Finding(name=name, state=State.OK, what=f"{backend} ({about(backend)})")
    except Refused as refusal:
        return Finding(name=name, state=State.WRONG, what=refusal.what, hint=refusal.hint)


def _known(name: str, chosen: AgentSettings) -> Finding:
    """Claude or codex: where, which version, and whether anybody is logged in."""
    from dwindle.adapters.agents import claude_program, codex_program  # noqa: PLC0415
    from dwindle.adapters.agents.codex import CodexAgent  # noqa: PLC0415

    program = program_of(chosen)
    look = claude_program.found if chosen.backend is Backend.CLAUDE else codex_program.found
    there = look(program)
    if there.problem:
        return Finding(name=name, state=State.WRONG, what=f"{chosen.backend}: {there.problem}")
    model = f", model {chosen.model}" if chosen.model else ""
    what = f"{chosen.backend} {there.version}{model}; {there.login} ({there.path})"
    hints = [there.warning] if there.warning else []
    if chosen.backend is Backend.CODEX:
        codex = CodexAgent(program=program, model=chosen.model)
        hints += [codex.price_warning] if codex.price_warning else []
    state = State.NOTE if hints else State.OK
    return Finding(name=name, state=state, what=what, hint="; ".join(hints))


def _guard(settings: Settings, root: Path) -> Finding:
    """Only a tree has one."""
    command = settings.guard.command
    trouble = guard_trouble(command, root)
    if trouble is None:
        return Finding(name="guard", state=State.OK, what=" ".join(command))
    if (root / wiring.PLAN_FILES[PlanKind.TREE]).exists():
        return Finding(name="guard", state=State.WRONG, what=trouble.what, hint=trouble.hint)
    what = f"{trouble.what}; only a tree plan needs it"
    return Finding(name="guard", state=State.NOTE, what=what)


async def _version(command: Command, settings: Settings) -> str | None:
    """Contained, and read-only: nobody knows what a program does that does not know the word."""
    ended = await wiring.containment_for(settings).run(command)
    return _first_line(ended.stdout.text()) if ended.is_clean else None


def _first_line(text: str) -> str | None:
    lines = text.strip().splitlines()
    return lines[0][:80] if lines else None
