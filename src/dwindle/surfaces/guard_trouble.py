"""Why the guard of a tree could not even begin, found out before an agent is started."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from dwindle import wiring

PATIENCE = 10.0
JUSTFILES = ("justfile", ".justfile")
"""In capital or small letters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardTrouble:
    what: str
    hint: str


def guard_trouble(command: tuple[str, ...], root: Path) -> GuardTrouble | None:
    """What is missing; None if the guard can be run."""
    program, shown = command[0], " ".join(command)
    relative = "/" in program and not program.startswith("/")
    path = str(root / program) if relative else shutil.which(program)
    if path is None or not os.access(path, os.X_OK) or Path(path).is_dir():
        just = "install it (`pip install rust-just`), or " if _is_just(program) else ""
        return GuardTrouble(
            what=f"the guard `{shown}` cannot run: {program} is not found",
            hint=f"{just}set [guard] command in {wiring.SETTINGS_FILE}",
        )
    if _is_just(program) and len(command) > 1 and not command[1].startswith("-"):
        return _recipe_trouble(path, command[1], shown, root)
    return None


def _is_just(program: str) -> bool:
    return Path(program).name == "just"


def _recipe_trouble(program: str, recipe: str, shown: str, root: Path) -> GuardTrouble | None:
    """Just knows best whether there is such a recipe; asked to show it, it runs nothing.

    It would also take a justfile from any folder above, which is not what this repository is to be
    judged by.
    """
    hint = f"write a justfile with a recipe `{recipe}`, or set [guard] command in "
    hint += wiring.SETTINGS_FILE
    if not any(path.name.lower() in JUSTFILES for path in root.iterdir()):
        what = f"the guard `{shown}` cannot run: no justfile found in the root of the repository"
        return GuardTrouble(what=what, hint=hint)
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
    return GuardTrouble(what=what, hint=hint)
