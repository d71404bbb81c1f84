"""An agent that does what a script says: for demos, for tests, and to rehearse a plan.

It is a real program, started like any other, so that everything between order and report is the
same as with an agent that thinks; see `dwindle.scripted`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from dwindle.adapters.agents.command import CommandAgent
from dwindle.ports.work import Trouble

EXITS: Final[Mapping[int, Trouble]] = {69: Trouble.UNAVAILABLE, 75: Trouble.RATE_LIMITED}
"""EX_UNAVAILABLE and EX_TEMPFAIL of sysexits: a script may rehearse these two as well."""

PACKAGE: Final = Path(__file__).parents[2]


def scripted_agent(script: Path, *, python: str = sys.executable) -> CommandAgent:
    """Our own package may be where agents see nothing, a checkout in somebody's HOME.

    `-P` keeps modules in the workspace from being taken for ours.
    """
    argv = (python, "-P", "-m", "dwindle.scripted", str(script.absolute()))
    return CommandAgent(argv=argv, name="scripted", exits=EXITS, readable=(PACKAGE,))
