"""An agent that follows a script: for demos, for tests, and to rehearse a plan.

It is a real program, started like any other, so that everything between order and report is the
same as with an agent that thinks; see `dwindle.scripted`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from dwindle.adapters.agents.command import CommandAgent
from dwindle.ports.backend import AgentFacts, Engagement
from dwindle.ports.work import Trouble

EXITS: Final[Mapping[int, Trouble]] = {69: Trouble.UNAVAILABLE, 75: Trouble.RATE_LIMITED}
"""EX_UNAVAILABLE and EX_TEMPFAIL of sysexits: a script may rehearse these two as well."""
SCRIPT: Final = ".runner/script.yaml"


def backend(wanted: Engagement) -> CommandAgent:
    """A script that is missing or wrong is reported by the session that reads it."""
    named = wanted.script or SCRIPT
    script = wanted.root / named

    def facts() -> AgentFacts:
        problem = "" if script.is_file() else f"there is no {named}"
        return AgentFacts(what=f"scripted: {named}", problem=problem)

    return scripted_agent(script, facts=facts)


def scripted_agent(
    script: Path,
    *,
    python: str = sys.executable,
    facts: Callable[[], AgentFacts] = AgentFacts,
) -> CommandAgent:
    """`-P` keeps modules in the workspace from being taken for ours."""
    argv = (python, "-P", "-m", "dwindle.scripted", str(script.absolute()))
    return CommandAgent(argv=argv, name="scripted", exits=EXITS, facts=facts)
