"""An agent from somebody else's package: what it is made from.

A package names a function under the entry point group `dwindle.agents`. Whoever writes that name as
a `backend`, or behind `--agent`, gets what the function makes; nobody else's run ever imports it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from dwindle.ports.agent import Agent
from dwindle.ports.work import Order

GROUP: Final = "dwindle.agents"


@dataclass(frozen=True, slots=True, kw_only=True)
class Engagement:
    """For what an agent is wanted, and on which terms; the settings of one role.

    What is None or empty was not set. There may be more fields one day: take the ones you need.
    """

    role: str
    """worker, probe, verifier or planner."""
    root: Path
    """The repository; sessions work in trees of their own."""
    command: tuple[str, ...] = ()
    model: str | None = None
    effort: str | None = None
    max_turns: int | None = None
    network: bool = True
    read_only: bool = True
    """Whether all but what a command calls writable is kept from being written to."""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What `[sandbox] env` lets through; to be added to that of the command."""
    budget: Callable[[Order], float | None] = lambda _: None
    """US dollars that a session which begins now may spend; None: no limit."""


class Backend(Protocol):
    """What an entry point leads to. What it raises is told to the person, and nothing begins."""

    def __call__(self, wanted: Engagement, /) -> Agent: ...
