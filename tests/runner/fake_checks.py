"""A runner of checks that knows the answers, and a verifier that was told what to say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dwindle.kernel.base_case import Verdict
from dwindle.kernel.model import BaseCase, Check, ChecklistItem, CheckType
from dwindle.ports.checks import CheckResult
from dwindle.ports.work import NoReport, VerifierReport
from dwindle.ports.workspace import Lease, WorkspaceFailed

TREE = Path("/tree")


def command(value: str) -> Check:
    return Check(type=CheckType.COMMAND, value=value)


def assertion(value: str) -> Check:
    return Check(type=CheckType.ASSERTION, value=value)


def named(item: str, check: Check) -> ChecklistItem:
    return ChecklistItem(item=item, check=check)


def either(item: str, *ways: ChecklistItem) -> ChecklistItem:
    return ChecklistItem(item=item, any_of=ways)


def both(item: str, *parts: ChecklistItem) -> ChecklistItem:
    return ChecklistItem(item=item, group=parts)


def checklist(*entries: ChecklistItem) -> BaseCase:
    return BaseCase(checklist=entries)


@dataclass(slots=True)
class ToldChecks:
    """Verdicts by the value of a check; PASSED unless told otherwise."""

    told: Mapping[str, Verdict] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    async def run(
        self,
        check: Check,
        tree: Path,
        fixed: Sequence[str] = (),  # noqa: ARG002
    ) -> CheckResult:
        assert tree == TREE
        value = check.value or ""
        self.asked.append(value)
        return result(check, self.told.get(value, Verdict.PASSED))


def result(check: Check, verdict: Verdict) -> CheckResult:
    return CheckResult(
        check=check, verdict=verdict, evidence=f"{check.value}: {verdict}", exit_code=0, seconds=0.5
    )


@dataclass(slots=True)
class ToldVerifier:
    """Reports by the value, or the criteria, of a check."""

    told: Mapping[str, VerifierReport | NoReport]
    asked: list[str] = field(default_factory=list)

    async def __call__(self, check: Check, tree: Path) -> VerifierReport | NoReport:
        assert tree == TREE
        about = check.value or check.criteria or ""
        self.asked.append(about)
        return self.told[about]


@dataclass(slots=True)
class OneTree:
    """Every checkout is the same tree."""

    trouble: str = ""
    given: list[str] = field(default_factory=list)
    taken_back: list[Lease] = field(default_factory=list)

    async def checkout(self, commit: str, as_aligned: Sequence[str] = ()) -> Lease:  # noqa: ARG002
        if self.trouble:
            raise WorkspaceFailed("git worktree add", self.trouble)
        self.given.append(commit)
        return Lease(path=TREE, base=commit)

    async def tidy(self, lease: Lease) -> tuple[str, ...]:  # noqa: ARG002
        return ()

    async def discard(self, lease: Lease) -> None:
        self.taken_back.append(lease)
