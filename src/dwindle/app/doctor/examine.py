"""Everything that a run needs of the machine and the repository, examined once.

What can be tried is tried, not guessed from versions. WRONG keeps a run from starting; NOTE is only
worth knowing: without a verifier, for example, everything works until a check needs one.
"""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from dwindle.adapters.formats.config.settings import Settings
from dwindle.adapters.git.repository import OLDEST_GIT, find
from dwindle.adapters.sandbox.cgroups import group_parents
from dwindle.adapters.sandbox.choice import survey
from dwindle.app.doctor.agents import agent_findings
from dwindle.app.doctor.diagnosis import Diagnosis, Severity
from dwindle.app.doctor.guard import guard_trouble
from dwindle.app.doctor.tree import tree_findings
from dwindle.app.doctor.workspace import git_folder_trouble, workspace_findings
from dwindle.app.plans.load import PLAN_FILES
from dwindle.app.plans.plan_files import repository as root_around
from dwindle.app.plans.problem_list import problem_lines
from dwindle.app.sandbox import contained_by, containment_for
from dwindle.app.settings import SETTINGS_FILE, settings_for
from dwindle.kernel.model import PlanKind
from dwindle.ports.process import Strength
from dwindle.ports.workspace import WorkspaceFailed
from dwindle.runner.gate.certificate_text import bounds_text
from dwindle.text import amounts

PATIENCE = 5.0
"""Seconds that git gets to print its version."""

UNHELD = (
    "the number of processes is not limited: without a control group Linux limits neither root nor "
    "programs outside of a sandbox"
)

LITTLE = 1 << 30
"""Bytes of free disk space below which a note is made."""


def diagnoses(start: Path) -> tuple[Diagnosis, ...]:
    """All diagnoses, in the order in which a user would fix them."""
    root = Path(root_around(str(start)) or start)
    findings = [_python(), _git(), _repository(start), _disk(root)]
    read = settings_for(root)
    if read.settings is None:
        lines = problem_lines(SETTINGS_FILE, read.problems)
        what = "; ".join(line.strip() for line in lines)
        findings.append(Diagnosis(name="settings", state=Severity.WRONG, what=what))
        return (*findings, _containment(enabled=True))
    there = (root / SETTINGS_FILE).exists()
    said = SETTINGS_FILE if there else f"no {SETTINGS_FILE}; defaults are used"
    findings.append(Diagnosis(name="settings", state=Severity.OK, what=said))
    findings.append(_containment(enabled=read.settings.sandbox.enabled))
    findings += _sandbox_grants(read.settings)
    findings += workspace_findings(read.settings, root)
    agents = agent_findings(read.settings, root)
    return (*findings, *agents, _guard(read.settings, root), *tree_findings(root))


def _python() -> Diagnosis:
    what = f"{platform.python_version()} ({sys.executable})"
    return Diagnosis(name="python", state=Severity.OK, what=what)


def _git() -> Diagnosis:
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
        return Diagnosis(name="git", state=Severity.WRONG, what="git was not found", hint=hint)
    return Diagnosis(name="git", state=Severity.OK, what=said)


def _repository(start: Path) -> Diagnosis:
    try:
        found = asyncio.run(find(start))
    except WorkspaceFailed as error:
        return Diagnosis(name="repository", state=Severity.WRONG, what=str(error))
    except FileNotFoundError:
        return Diagnosis(name="repository", state=Severity.WRONG, what="git is not installed")
    trouble = git_folder_trouble(found)
    return trouble or Diagnosis(name="repository", state=Severity.OK, what=str(found.checkout))


def _disk(root: Path) -> Diagnosis:
    free = shutil.disk_usage(root).free
    what = f"{amounts.size(free)} free"
    state = Severity.OK if free >= LITTLE else Severity.NOTE
    hint = "" if free >= LITTLE else "each work tree needs the space of a checkout"
    if not os.access(root, os.W_OK):
        return Diagnosis(name="disk", state=Severity.WRONG, what=f"{root} cannot be written to")
    return Diagnosis(name="disk", state=state, what=what, hint=hint)


def _containment(*, enabled: bool) -> Diagnosis:
    if not enabled:
        what = (
            "none: [sandbox] enabled = false; agents and checks can do everything that you can do"
        )
        return Diagnosis(name="containment", state=Severity.NOTE, what=what)
    tried = survey()
    best = next((kind for kind in tried if not kind.problem), None)
    refused = "; ".join(f"{kind.mechanism}: {kind.problem}" for kind in tried if kind.problem)
    if best is None:
        what = "none works here; agents and checks can do everything that you can do"
        return Diagnosis(name="containment", state=Severity.NOTE, what=what, hint=refused)
    state = Severity.OK if best.strength is Strength.STRONG else Severity.NOTE
    what = f"{best.strength} ({best.mechanism})"
    return Diagnosis(name="containment", state=state, what=what, hint=refused)


def _sandbox_grants(settings: Settings) -> Iterator[Diagnosis]:
    """What `[sandbox]` allows, and the limits of one program."""
    sandbox = settings.sandbox
    if sandbox.enabled:
        yield Diagnosis(
            name="network", state=Severity.OK, what="open" if sandbox.network else "none"
        )
    if sandbox.enabled and sandbox.writable:
        what = f"agents and checks may also write to {', '.join(sandbox.writable)}"
        yield Diagnosis(name="writable", state=Severity.NOTE, what=what)
    if sandbox.env:
        unset = [name for name in sandbox.env if name not in os.environ]
        hint = f"not set: {', '.join(unset)}" if unset else ""
        what = f"agents and checks also see {', '.join(sandbox.env)}"
        yield Diagnosis(name="env", state=Severity.NOTE, what=what, hint=hint)
    contained = contained_by(settings, containment_for(settings))
    grouped = {name for parent in group_parents() for name in parent.controllers}
    by = (
        "enforced by control groups"
        if grouped >= {"memory", "pids"}
        else "enforced by resource limits"
    )
    what = f"{bounds_text(contained)}; {by}"
    state, hint = (Severity.NOTE, UNHELD) if contained.processes is None else (Severity.OK, "")
    yield Diagnosis(name="bounds", state=state, what=what, hint=hint)


def _guard(settings: Settings, root: Path) -> Diagnosis:
    """Only a tree plan needs a guard."""
    command = settings.guard.command
    trouble = guard_trouble(settings.guard, root)
    if trouble is None:
        return Diagnosis(name="guard", state=Severity.OK, what=" ".join(command))
    if (root / PLAN_FILES[PlanKind.TREE]).exists():
        return Diagnosis(name="guard", state=Severity.WRONG, what=trouble.what, hint=trouble.hint)
    what = f"{trouble.what}; only a tree plan needs it"
    return Diagnosis(name="guard", state=Severity.NOTE, what=what)


def _first_line(text: str) -> str | None:
    lines = text.strip().splitlines()
    return lines[0][:80] if lines else None
