"""Running checks: a claim goes in, a verdict with evidence comes out."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from dwindle.kernel.base_case import Verdict
from dwindle.kernel.model import Check
from dwindle.ports.process import Command, Ended


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    check: Check
    verdict: Verdict
    evidence: str = ""
    """A sentence, and the bounded end of the output."""
    exit_code: int | None = None
    seconds: float = 0.0
    digest: str = ""
    """sha256 of the whole output, for the certificate."""
    tests: int | None = None
    """How many tests ran, where the tool is known."""


class CheckRunner(Protocol):
    """Mechanical checks only; what a model or a person must judge comes back NOT_JUDGED."""

    async def run(self, check: Check, tree: Path, fixed: Sequence[str] = ()) -> CheckResult:
        """`fixed` are paths of the tree that what is checked cannot change, where that can be."""
        ...


# --- a command that is no check, and runs tests all the same -------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a run of tests came to, by its own report."""

    tests: int | None = None
    """None: there was no report."""
    doubt: str = ""
    """Why the run is no pass, though it may have ended well; empty if nothing speaks against it."""


class Counting(Protocol):
    """One run of a command, asked to report what it ran."""

    @property
    def command(self) -> Command: ...

    def ran(self, ended: Ended) -> Ran: ...


class Counter(Protocol):
    def counting(self, command: Command) -> AbstractContextManager[Counting | None]:
        """For as long as it runs, and its report is read. None: its tests cannot be counted."""
        ...
