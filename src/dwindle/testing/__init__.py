"""What an agent of your own is tested with, and the programs of `dwindle torture`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from dwindle.ports.process import Containment
    from dwindle.testing.agents import Stage


def check_agent(
    stage: Stage, folder: Path | None = None, containment: Containment | None = None
) -> None:
    """Play every contract that an agent must keep to on a backend of your own.

    Raises `dwindle.testing.agent_check.NotConforming`, which names every contract that is broken
    and how. `stage(line, folder)` makes your agent with a program in the place of the real one that
    does what the shell line says: it finds its prompt on standard input, and DWINDLE_ORDER and
    DWINDLE_REPORT in its environment. `folder`, if left out, is a temporary one; `containment`, if
    left out, runs the programs as they are.

    From a test, or from anywhere that no event loop runs in.
    """
    from dwindle.testing.agent_check import checked  # noqa: PLC0415 - others need none of it

    checked(stage, folder, containment)


__all__ = ["check_agent"]
