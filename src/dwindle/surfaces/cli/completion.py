"""dwindle completion: what a shell needs to finish our commands and options."""

from __future__ import annotations

from typing import Literal

from dwindle.surfaces.cli.output import say

Shell = Literal["bash", "zsh", "fish"]


def completion(shell: Shell, /) -> int:
    """Print a script for a shell.

    Args:
        shell: Which one.
    """
    # What is offered is read off the commands themselves, so it cannot fall behind them.
    from dwindle.surfaces.cli.app import app  # noqa: PLC0415 - which names this file

    script = app().generate_completion(prog_name="dwindle", shell=shell)
    # zsh looks for a function that has the name of its file.
    return say(script.replace("_cyclopts_dwindle", "_dwindle").rstrip("\n"))
