"""The environment of a program, and whether that program can be found in it.

Of the runner's variables a program gets those that are listed, and no others. A list of variables
to take away would always miss one: a token, a GIT_DIR that points to the user's repository, a
PYTHONPATH or an LD_PRELOAD that changes what a check runs.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping

from dwindle.ports.process import Command

ALLOWED = ("PATH", "HOME", "LANG", "LC_ALL", "TERM", "TZ", "USER")

MARK = "DWINDLE_MARK"
"""Names the run that started a process, so that leftovers of a killed runner can be found."""


def environment(
    added: Mapping[str, str], mark: str = "", ours: Mapping[str, str] = os.environ
) -> dict[str, str]:
    allowed = {name: value for name in ALLOWED if (value := ours.get(name)) is not None}
    allowed.setdefault("PATH", os.defpath)
    marked = {MARK: mark} if mark else {}
    return {**allowed, **marked, **added}


def missing_program(command: Command, variables: Mapping[str, str]) -> str:
    """Why the program cannot be found; else the shell that starts it would say so in its own way.

    Empty also where the start itself will fail with a sentence: no program, no working folder.
    """
    name = command.argv[0] if command.argv else ""
    place = os.path.join(command.cwd, name)  # noqa: PTH118 - the cheap way, for every program
    if not name or not os.path.isdir(command.cwd):  # noqa: PTH112 - does not raise
        return ""
    if "/" not in name:
        known = shutil.which(name, path=variables.get("PATH", os.defpath))
        return "" if known else f"{name}: No such file or directory"
    if not os.path.exists(place):  # noqa: PTH110 - as above
        return f"{name}: No such file or directory"
    if os.path.isdir(place) or not os.access(place, os.X_OK):  # noqa: PTH112 - as above
        return f"{name}: Permission denied"
    return ""
