"""What happened, in the past tense: the only input of `apply`.

Every event carries `at` (an ISO 8601 time, for people and the Trail; the kernel never reads it)
and `elapsed` (seconds of running since the event before it, which the wall-clock belt counts).
The end of a session carries what it used.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from dwindle.kernel.model import (
    Aligned,
    Answer,
    Atom,
    AtomId,
    BaseCase,
    Check,
    CorrectionType,
    Decomposition,
    GroupId,
    OrGroup,
    Role,
    StopCode,
    TreeEdit,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What one session cost."""

    tokens: int = 0
    """All that the model read and wrote; the parts below need not be known."""
    usd: float = 0.0
    read: int = 0
    """Input tokens that were not in the cache."""
    cached: int = 0
    """Input tokens from the cache."""
    written: int = 0
    estimated: bool = False
    """The price is an estimate from our own price list."""

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            tokens=self.tokens + other.tokens,
            usd=self.usd + other.usd,
            read=self.read + other.read,
            cached=self.cached + other.cached,
            written=self.written + other.written,
            estimated=self.estimated or other.estimated,
        )


NO_USAGE = Usage()


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """What all events share."""

    at: str = ""
    elapsed: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionNews(News):
    """The end of a session: counts only if `nonce` is the one in flight for `atom`."""

    atom: AtomId
    nonce: int
    run: str | None = None
    """The run that the session belongs to; a late report might mean another."""
    usage: Usage = NO_USAGE
    judging: Usage = NO_USAGE
    """The part of `usage` that verifiers used to judge the session."""
    judge: str = ""
    """The agents that judged, where the settings name several verifiers."""


# --- the run -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(News):
    """A user called `run`: the first time, or again after a stop."""

    run_id: str | None = None
    aligned: Aligned | None = None
    hosted: bool = False
    """A host runs the sessions, and starts them when it likes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRequested(News):
    """A user, a signal or the runner wants the run to end; sessions are ended first."""

    reason: str
    code: StopCode = StopCode.STOPPED_BY_USER


@dataclass(frozen=True, slots=True, kw_only=True)
class RedirectRequested(News):
    """A person is about to redirect: nothing starts until they have, or have given up."""

    active: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded(News):
    code: StopCode
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Waited(News):
    """Time passed and nothing else: a wait, a late report, a restart with nothing in flight."""

    note: str = ""
    atom: AtomId | None = None
    """The atom whose session waits, for example after a rate limit."""
    seconds: float = 0.0
    """How long it will wait."""
    agent: str = ""
    """The agent that goes on with that session, because the one before was unavailable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IterationCommitted(News):
    """An iteration of a tree is on the branch; from here on its earlier events count."""

    number: int
    commit: str
    subject: str
    notes: tuple[str, ...] = ()
    """For the user: files that were left out, and files that the guard should not depend on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled(News):
    """The kernel drew consequences that the author of the plan file had left out."""


# --- sessions ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStarted(News):
    """Charged here, before the process is spawned. A verification has ROOT for its atom."""

    atom: AtomId
    role: Role
    agent: str = ""
    """The agent that was started, where the settings name several for the role."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AtomResolved(SessionNews):
    """A worker succeeded, its evidence holds and its work is integrated."""

    summary: str
    artifacts: tuple[str, ...] = ()
    edit: TreeEdit | None = None
    """What else the session changed in the tree."""
    set_aside: tuple[str, ...] = ()
    """Paths outside of the work paths: changed by the session, kept under a ref, not integrated."""
    wider: tuple[str, ...] = ()
    """Work paths that the worker asks for besides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptFailed(SessionNews):
    """Failure, bad evidence, timeout, malformed report, dead agent."""

    reason: str
    edit: TreeEdit | None = None
    refused: bool = False
    """An edit of a tree was refused: the next step is to repair it."""
    set_aside: tuple[str, ...] = ()
    wider: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Replanned(SessionNews):
    """A session on a tree changed the plan at most: it costs planning, and no attempt."""

    edit: TreeEdit | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredInfeasible(SessionNews):
    """A worker or probe says that it cannot be done this way: the attempts are used up."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeEnded(SessionNews):
    """A probe ended without a plan: its findings go into the worker's order."""

    findings: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAtom:
    """A proposed atom. `depends_on` may name earlier ones of its list as `#1`, `#2`."""

    description: str
    depends_on: tuple[str, ...] = ()
    check: Check | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decomposed(SessionNews):
    children: tuple[NewAtom, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AlternativesProposed(SessionNews):
    """Other ways to reach what the atom was to reach; the atom itself is given up."""

    alternatives: tuple[NewAtom, ...]
    reason: str


class Interruption(StrEnum):
    STOP = "stop"
    RUNNER_DIED = "runner_died"
    MERGE_CONFLICT = "merge_conflict"
    RATE_LIMIT = "rate_limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionInterrupted(SessionNews):
    """Not the agent's fault: forgiven, and what was charged given back, while the pool lasts."""

    cause: Interruption


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionReaped(SessionNews):
    """A session on a branch that is no longer live was killed, its work saved."""


# --- choices -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceFailed(News):
    """Rung 2: the branch was rebuilt without `choice`. `unreplayed`: atoms whose work was lost."""

    group: GroupId
    choice: AtomId
    reason: str
    unreplayed: tuple[AtomId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Backjumped(News):
    """Rung 4: for the sake of `atom`, another choice of `group` is taken."""

    group: GroupId
    atom: AtomId
    reason: str
    unreplayed: tuple[AtomId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WindBegan(News):
    """What is parked is tried again: choices, attempts, probes, backjumps and rounds come back."""

    reason: str


# --- verification ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A check of the base case that ran and said no."""

    item: str
    evidence: str
    check: Check | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationEnded(SessionNews):
    """`passed`: every check holds. `gaps`: those that failed. `questions`: need a person's word.

    Neither passed nor a gap means that something could not run or was not judged.
    """

    atom: AtomId = AtomId("")
    passed: bool
    gaps: tuple[Gap, ...] = ()
    questions: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()
    """Items that could not run, or that no judge decided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlyChecked(News):
    """`early_verify`: the mechanical checks were run on the branch as it is."""

    passed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmed(News):
    """A person's word on an assertion."""

    item: str
    answer: Answer
    words: str = ""


# --- redirects ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeObjective:
    """None leaves a field as it is. `reopen` names resolved atoms that must be done again."""

    goal: str | None = None
    base_case: BaseCase | None = None
    background_intent: str | None = None
    deliverables: str | None = None
    definition_of_done: str | None = None
    protected_paths: tuple[str, ...] | None = None
    work_paths: tuple[str, ...] | None = None
    reopen: tuple[AtomId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AddAtom:
    """Under the root, under `parent`, or as a further choice of `group`."""

    new: NewAtom
    parent: AtomId | None = None
    group: GroupId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveAtom:
    atom: AtomId


@dataclass(frozen=True, slots=True, kw_only=True)
class ForceChoice:
    group: GroupId
    choice: AtomId


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """Try an atom or a choice point again, or the verification (`ROOT`): its cause was removed."""

    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteGraph:
    """The whole graph as a person wants it. What the runner owns of its atoms is not read."""

    atoms: tuple[Atom, ...]
    decompositions: tuple[Decomposition, ...] = ()
    groups: tuple[OrGroup, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SetLimit:
    name: str
    value: int | float | str | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OverrideBinding:
    atom: AtomId
    summary: str
    artifacts: tuple[str, ...] | None = None


Edit = (
    ChangeObjective
    | AddAtom
    | RemoveAtom
    | ForceChoice
    | Retry
    | RewriteGraph
    | SetLimit
    | OverrideBinding
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Redirected(News):
    """One redirect, of one scope. Sessions were killed before it; it pays for what they used."""

    type: CorrectionType
    edits: tuple[Edit, ...]
    description: str
    aligned: Aligned | None = field(default=None)
    """New pins, when the objective changed; a new commit of alignment, when work is tried again."""
    unreplayed: tuple[AtomId, ...] = ()
    """Atoms whose work was lost when the branch was rebuilt for it."""


Event = (
    RunStarted
    | StopRequested
    | RedirectRequested
    | RunEnded
    | Waited
    | IterationCommitted
    | Settled
    | SessionStarted
    | AtomResolved
    | AttemptFailed
    | Replanned
    | DeclaredInfeasible
    | ProbeEnded
    | Decomposed
    | AlternativesProposed
    | SessionInterrupted
    | SessionReaped
    | ChoiceFailed
    | Backjumped
    | WindBegan
    | VerificationEnded
    | EarlyChecked
    | Confirmed
    | Redirected
)
