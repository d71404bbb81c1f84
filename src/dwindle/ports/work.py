"""What an agent is handed, and what it hands back.

An order is built from the frontier: the atom, its path, the bindings it depends on, bounded
evidence of earlier attempts, and the checks that will judge it. Its size does not depend on how
long the run has been going on; it holds no absolute path and no time.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from dwindle.kernel.events import NewAtom, Usage
from dwindle.kernel.model import AtomId, Binding, Check, Role


class Purpose(StrEnum):
    WORK = "work"
    LOOK = "look"
    """A probe before a worker: is it feasible, and what should the worker know?"""
    PLAN = "plan"
    """A probe for an exhausted atom: propose a decomposition or alternatives."""
    JUDGE = "judge"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One atom above the one at hand."""

    atom: AtomId
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Evidence of an earlier attempt."""

    attempt: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkOrder:
    role: Role
    purpose: Purpose
    run: str
    atom: AtomId
    """ROOT for a verification."""
    description: str
    goal: str
    attempt: int
    """The run's session number, under which the attempt is filed."""
    nonce: int
    path: tuple[Step, ...] = ()
    bindings: tuple[tuple[AtomId, Binding], ...] = ()
    checks: tuple[Check, ...] = ()
    failures: tuple[Failure, ...] = ()
    findings: str = ""
    stalled: bool = False
    """Nothing has moved lately: another approach is asked for."""
    timeout_seconds: float = 1800.0
    session_of_atom: int = 1
    """Which session of this role on this atom it is, forgiven ones not counted."""
    touches: tuple[str, ...] = ()
    """The paths that the atom is expected to change."""
    protected: tuple[str, ...] = ()
    """Paths that no worker may touch."""


# --- reports -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A decomposition (children of the atom) or alternatives (other ways beside it)."""

    new: tuple[NewAtom, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerReport:
    success: bool = False
    summary: str = ""
    artifacts: tuple[str, ...] = ()
    reason: str = ""
    infeasible: bool = False
    decomposition: Proposal | None = None
    alternatives: Proposal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeReport:
    feasible: bool
    findings: str = ""
    cost_estimate: str = ""
    decomposition: Proposal | None = None
    alternatives: Proposal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    criterion: str
    score: int
    evidence: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifierReport:
    passed: bool
    evidence: str = ""
    failures: tuple[str, ...] = ()
    scores: tuple[Score, ...] = ()


class Trouble(StrEnum):
    """Why there is no report."""

    FAILED = "failed"
    """Exited badly, or refused."""
    NO_REPORT = "no_report"
    MALFORMED = "malformed"
    TIMED_OUT = "timed_out"
    UNAVAILABLE = "unavailable"
    """Not installed, not logged in, out of credit: the run cannot go on."""
    RATE_LIMITED = "rate_limited"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoReport:
    trouble: Trouble
    reason: str


Report = WorkerReport | ProbeReport | VerifierReport | NoReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a session came to."""

    report: Report
    usage: Usage
