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
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from dwindle import wiring
from dwindle.adapters.agents.command import CommandAgent
from dwindle.adapters.containment.choice import survey
from dwindle.adapters.formats.config_settings import AgentSettings, Settings
from dwindle.adapters.workspaces.repository import OLDEST_GIT, find
from dwindle.kernel.model import PlanKind, Role
from dwindle.ports.process import Command, Strength
from dwindle.ports.workspace import WorkspaceFailed
from dwindle.surfaces.cli.problem_list import problem_lines
from dwindle.surfaces.plan_files import repository as root_around

PATIENCE = 5.0
"""Seconds that a program gets to say its version."""

LITTLE = 1 << 30
"""Bytes below which free space is worth a word."""


class State(StrEnum):
    OK = "ok"
    NOTE = "note"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    name: str
    state: State
    what: str
    hint: str = ""


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
    return (*findings, *_agents(read.settings, root), _guard(read.settings, root))


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


# --- programs ------------------------------------------------------------------------------------


NOBODY = {
    "worker": (
        "no agent is configured",
        f"for example, in {wiring.SETTINGS_FILE}: [agents] backend, command",
    ),
    "probe": ("nobody; the worker looks for itself", ""),
    "verifier": ("nobody; quality and assertion checks cannot pass", ""),
    "planner": ("nobody; align and redirect are without help", ""),
}
"""What it means that a role has no agent."""


def _agents(settings: Settings, root: Path) -> Iterator[Finding]:
    for name in NOBODY:
        yield _agent(name, getattr(settings.agents, name), root, settings)


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
    if chosen.backend != "command":
        what = f"the {chosen.backend} backend is not there yet"
        hint = 'use backend = "command" with a program that keeps docs/agents.md'
        return Finding(name=name, state=State.WRONG, what=what, hint=hint)
    problem = CommandAgent(argv=chosen.command).missing()
    shown = " ".join(chosen.command)
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


def _guard(settings: Settings, root: Path) -> Finding:
    """Only a tree has one."""
    command = settings.guard.command
    shown = " ".join(command)
    relative = "/" in command[0] and not command[0].startswith("/")
    there = (root / command[0]).is_file() if relative else shutil.which(command[0]) is not None
    if there:
        return Finding(name="guard", state=State.OK, what=shown)
    is_tree = (root / wiring.PLAN_FILES[PlanKind.TREE]).exists()
    what = f"{shown}: {command[0]} is not found"
    if is_tree:
        return Finding(name="guard", state=State.WRONG, what=what, hint="set [guard] command")
    return Finding(name="guard", state=State.NOTE, what=f"{what}; only a tree plan needs it")


async def _version(command: Command, settings: Settings) -> str | None:
    """Contained, and read-only: nobody knows what a program does that does not know the word."""
    ended = await wiring.containment_for(settings).run(command)
    return _first_line(ended.stdout.text()) if ended.is_clean else None


def _first_line(text: str) -> str | None:
    lines = text.strip().splitlines()
    return lines[0][:80] if lines else None
