"""An agent program: how to start it on an order, and how to read what it left.

No I/O of its own but for the outbox. A session describes a command, sees its output line by line
as it comes, and reads in the end how it ended and what is in the outbox. Everything between
(processes, limits, sandboxes) is not the agent's business.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final, Protocol

from dwindle.ports.process import Command, Ended
from dwindle.ports.work import Order, Result

ORDER: Final = "order.json"
PROMPT: Final = "prompt.md"
REPORT: Final = "report.json"


class ReportChannel(StrEnum):
    """How an agent hands in its report; its prompt says so."""

    FILE = "file"
    """Into DWINDLE_REPORT, else as the last JSON object on standard output."""
    STRUCTURED = "structured"
    """As structured output, which the program holds to a schema."""
    MESSAGE = "message"
    """As the last message of the session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a session works."""

    workspace: Path
    outbox: Path
    """A folder of the session's own, outside of the workspace, for order and report."""
    words: bytes | None = field(default=None, repr=False, compare=False)
    """The prompt; None if it is in a file in the outbox."""

    def prompted(self) -> bytes:
        """The prompt itself."""
        return self.prompt.read_bytes() if self.words is None else self.words

    @property
    def order(self) -> Path:
        return self.outbox / ORDER

    @property
    def prompt(self) -> Path:
        """Only there without `words`."""
        return self.outbox / PROMPT

    @property
    def report(self) -> Path:
        """Not there until the agent writes it."""
        return self.outbox / REPORT


class AgentSession(Protocol):
    """What is known of one session; nothing of it is shared with another."""

    @property
    def command(self) -> Command:
        """What to run."""
        ...

    def watch(self, line: bytes) -> str | None:
        """A line of its output; a sentence ends the session as not to be trusted."""
        ...

    def conclude(self, ended: Ended) -> Result:
        """The report, or why there is none."""
        ...


class Agent(Protocol):
    """An agent may also have `channel`, one of `ReportChannel`; without it, that is FILE."""

    @property
    def name(self) -> str: ...

    def session(self, order: Order, place: Place) -> AgentSession:
        """One program on one order, which is in the outbox already."""
        ...
