"""dwindle completion: a completion script for a shell."""

from __future__ import annotations

from typing import Literal

from dwindle.app.console import say

Shell = Literal["bash", "zsh", "fish"]


def completion(shell: Shell, /) -> int:
    """Print a script for a shell.

    Args:
        shell: Which shell.
    """
    # Generated from the commands themselves, so it is always complete.
    from dwindle.surfaces.cli.app import app  # noqa: PLC0415 - which names this file

    script = app().generate_completion(prog_name="dwindle", shell=shell)
    # zsh looks for a function that has the name of its file.
    return say(script.replace("_cyclopts_dwindle", "_dwindle").rstrip("\n"))
