"""Running checks: a claim goes in, a verdict with evidence comes out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from dwindle.kernel.base_case import Verdict
from dwindle.kernel.model import Check


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

    async def run(self, check: Check, tree: Path) -> CheckResult: ...
