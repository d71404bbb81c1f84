from __future__ import annotations

import os
import shutil
from collections.abc import Mapping

from dwindle.ports.process import Command


def missing_program(command: Command, variables: Mapping[str, str]) -> str:
    """Why the program cannot be found, said before a shell would say it in its own way."""
    name = command.argv[0] if command.argv else ""
    place = os.path.join(command.cwd, name)  # noqa: PTH118 - the cheap way, for every program
    if not name or not os.path.isdir(command.cwd):  # noqa: PTH112 - does not raise
        return ""  # is said by whoever starts it
    if "/" not in name:
        known = shutil.which(name, path=variables.get("PATH", os.defpath))
        return "" if known else f"{name}: No such file or directory"
    if not os.path.exists(place):  # noqa: PTH110 - as above
        return f"{name}: No such file or directory"
    if os.path.isdir(place) or not os.access(place, os.X_OK):  # noqa: PTH112 - as above
        return f"{name}: Permission denied"
    return ""
