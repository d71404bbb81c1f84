"""Why the guard of a tree cannot start; asked before an agent runs."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from dwindle.adapters.formats.config.settings import GuardSettings
from dwindle.app.settings import SETTINGS_FILE
from dwindle.kernel.model import Problem
from dwindle.runner.gate.path_patterns import Places
from dwindle.toolchains.tools import NAMES, RECIPE_FILES, Tool

PATIENCE = 10.0
JUSTFILE = "justfile"
JUSTFILES = frozenset(name.lower() for name in RECIPE_FILES[Tool.JUST])
"""Just takes capital or small letters."""


def guard_trouble(guard: GuardSettings, root: Path) -> Problem | None:
    """What is missing; None if the guard can be run, or an agent may write its recipe."""
    command = guard.command
    program, shown = command[0], " ".join(command)
    relative = "/" in program and not program.startswith("/")
    path = str(root / program) if relative else shutil.which(program)
    if path is None or not os.access(path, os.X_OK) or Path(path).is_dir():
        just = "install it (`pip install rust-just`), or " if _is_just(program) else ""
        return Problem(
            where=(),
            what=f"the guard `{shown}` cannot run: {program} is not found",
            hint=f"{just}set [guard] command in {SETTINGS_FILE}",
        )
    is_written_by_agents = Places(guard.deliverables).covers(JUSTFILE)
    has_recipe = _is_just(program) and len(command) > 1 and not command[1].startswith("-")
    if has_recipe and not is_written_by_agents:
        return _recipe_trouble(path, command[1], shown, root)
    return None


def _is_just(program: str) -> bool:
    return NAMES[Tool.JUST].fullmatch(program) is not None


def _recipe_trouble(program: str, recipe: str, shown: str, root: Path) -> Problem | None:
    """`just --show` says whether a recipe exists, and runs nothing.

    Just would also use a justfile of a folder above, which must not judge this repository.
    """
    hint = f"write a {JUSTFILE} with a recipe `{recipe}`, or set in {SETTINGS_FILE} [guard] "
    hint += f'command, or [guard] deliverables = ["{JUSTFILE}"] to let an agent write it'
    if not any(path.name.lower() in JUSTFILES for path in root.iterdir()):
        what = f"the guard `{shown}` cannot run: no justfile found in the root of the repository"
        return Problem(where=(), what=what, hint=hint)
    try:
        asked = subprocess.run(
            [program, "--show", recipe],
            cwd=root,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE,
            check=False,
        )
        said = asked.stderr if asked.returncode else None
    except (OSError, subprocess.TimeoutExpired) as error:
        said = str(error)
    if said is None:
        return None
    what = f"the guard `{shown}` cannot run: {' '.join(said.split())}"
    return Problem(where=(), what=what, hint=hint)
