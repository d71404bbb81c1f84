"""What an agent is handed, and what it hands back.

An order is built from the frontier: the atom, its path, the bindings it depends on, bounded
evidence of earlier attempts, and the checks that will judge it. Its size does not depend on how
long the run has been going on; it holds no absolute path and no time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from dwindle.kernel.events import Edit, NewAtom, Usage
from dwindle.kernel.model import (
    ROOT,
    Atom,
    AtomId,
    Binding,
    Check,
    Limits,
    Objective,
    OrGroup,
    Role,
    Spent,
    TrailEntry,
)


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
class Briefing:
    """What every session of a run is told, and no plan holds; bounded by who makes it."""

    request: str = ""
    """The user's own words, from the body of the plan file."""
    rules: tuple[tuple[str, str], ...] = ()
    """Name and text of the files with rules for agents, as of the commit of alignment."""
    more_rules: tuple[str, ...] = ()
    """Names of such files in folders below."""


NOT_BRIEFED: Final = Briefing()


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
    """Which session of this role on this atom it is, forgiven ones not counted: after a wind or a
    backjump, which give attempts back, it goes on from how often the atom has failed."""
    touches: tuple[str, ...] = ()
    """The paths that the atom is expected to change."""
    protected: tuple[str, ...] = ()
    """Paths that no worker may touch; empty where there are work paths."""
    work_paths: tuple[str, ...] = ()
    """Only changes within these reach the branch; empty: all do."""
    tools: tuple[str, ...] | None = None
    """The only tools that the session may use, of those that its role has; None: all of those."""
    failed: int = 0
    """How often the atom has failed, forgiven sessions not counted."""
    winds: int = 0
    """How many winds have begun: how often all that was left was tried again."""
    agent: str = ""
    """The label of who is sent, where the settings name several agents for the role."""
    intent: str = ""
    deliverables: str = ""
    definition_of_done: str = ""
    base_case: tuple[str, ...] = ()
    """Items of the base case in words; those that name files of the atom come first."""
    briefing: Briefing = NOT_BRIEFED


# --- planning with a person ----------------------------------------------------------------------

PLANNER: Final = "planner"
"""The role of the agent that plans with a person.

It is not one of `Role`: such a session belongs to no atom, is charged to no budget of the plan and
is never in flight in one, so that neither the kernel nor a plan file has a word for it.
"""


class Occasion(StrEnum):
    """What a person and a planner have come together for."""

    ALIGN = "align"
    REDIRECT = "redirect"


class Speaker(StrEnum):
    PERSON = "person"
    PLANNER = "planner"


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One line of what was spoken so far."""

    by: Speaker
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Frontier:
    """What a planner needs to know of a plan to redirect it; every part is bounded.

    Texts are cut. `left_out` counts the atoms, groups and bindings that there was no room for.
    """

    objective: Objective
    status: str
    iteration: int
    open_count: int
    atoms: tuple[Atom, ...]
    """Those that are live and not resolved."""
    groups: tuple[OrGroup, ...]
    choices: tuple[tuple[AtomId, str], ...]
    """What each choice of these groups is about; one that is not written yet is not here."""
    bindings: tuple[tuple[AtomId, Binding], ...]
    limits: Limits
    spent: Spent
    failures: tuple[TrailEntry, ...]
    """The latest last."""
    left_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanningOrder:
    """What a planner is handed. Each session is a fresh one: this is all that it remembers."""

    purpose: Occasion
    words: str
    """What the person wants: the goal, or what should change."""
    why: str = ""
    run: str = ""
    session: int = 1
    """Its number within the conversation."""
    transcript: tuple[Said, ...] = ()
    draft: str = ""
    """What lies before the person, if they want it changed."""
    frontier: Frontier | None = None
    """The plan that is to be redirected."""
    failures: tuple[Failure, ...] = ()
    """Proposals of this conversation that were refused, and why."""
    may_ask: bool = True
    timeout_seconds: float = 1800.0
    agent: str = ""
    """The label of who is sent, where the settings name several planners."""
    briefing: Briefing = NOT_BRIEFED

    @property
    def role(self) -> str:
        return PLANNER

    @property
    def failed(self) -> int:
        """How many proposals of this conversation were refused."""
        return len(self.failures)

    @property
    def atom(self) -> AtomId:
        return ROOT

    @property
    def nonce(self) -> int:
        return self.session

    @property
    def tools(self) -> None:
        """A planner has all its tools."""


Order = WorkOrder | PlanningOrder


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
    work_paths: tuple[str, ...] = ()
    """Where it would have to change files as well; a person decides."""
    decomposition: Proposal | None = None
    alternatives: Proposal | None = None
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeReport:
    feasible: bool
    findings: str = ""
    cost_estimate: str = ""
    decomposition: Proposal | None = None
    alternatives: Proposal | None = None
    ignored: tuple[str, ...] = ()


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
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannerQuestions:
    """It has to know more."""

    questions: tuple[str, ...]
    note: str = ""
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannerDraft:
    """An objective and a graph, with the values that a draft file has; not judged yet."""

    draft: Mapping[str, Any]
    note: str = ""
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannerEdits:
    """Words turned into edits. `#1` in a `depends_on` is the first atom that they add."""

    edits: tuple[Edit, ...]
    note: str = ""
    ignored: tuple[str, ...] = ()


class Trouble(StrEnum):
    """Why there is no report."""

    FAILED = "failed"
    """Exited badly, or refused."""
    NO_REPORT = "no_report"
    MALFORMED = "malformed"
    TIMED_OUT = "timed_out"
    UNAVAILABLE = "unavailable"
    """Not installed, or of no use for another reason that no attempt will change."""
    NOT_LOGGED_IN = "not_logged_in"
    OUT_OF_CREDIT = "out_of_credit"
    UNKNOWN_MODEL = "unknown_model"
    RATE_LIMITED = "rate_limited"
    OVERLOADED = "overloaded"
    OFFLINE = "offline"
    """The service cannot be reached."""
    REFUSED = "refused"
    """The model would not do it."""
    KILLED = "killed"
    CONTEXT = "context"
    """More than the model can hold in mind."""
    TURN_LIMIT = "turn_limit"
    BUDGET_LIMIT = "budget_limit"
    """The session's own share of the money is spent."""


ENDS_THE_RUN: Final = (
    Trouble.UNAVAILABLE,
    Trouble.NOT_LOGGED_IN,
    Trouble.OUT_OF_CREDIT,
    Trouble.UNKNOWN_MODEL,
)
"""No attempt will fare better until a person has done something."""
PASSES: Final = (Trouble.RATE_LIMITED, Trouble.OVERLOADED, Trouble.OFFLINE)
"""Not the agent's fault, and over after a while."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoReport:
    trouble: Trouble
    reason: str
    again_after: float | None = None
    """Seconds after which it is worth trying again, where the service said so."""


PlannerReport = PlannerQuestions | PlannerDraft | PlannerEdits
Report = WorkerReport | ProbeReport | VerifierReport | PlannerReport | NoReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a session came to."""

    report: Report
    usage: Usage
