"""The nouns: everything a plan is made of, frozen.

A `Plan` is the whole truth about a run. It is never changed, only replaced. What can be worked
out from it (which choice is selected, what is live, open or ready) is not stored here: `graph.py`
derives it, so that two fields can never disagree.

Collections are tuples and insertion-ordered mappings, never mutated; order is part of the
contract, so no set is ever iterated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, NewType

AtomId = NewType("AtomId", str)
GroupId = NewType("GroupId", str)
"""Whatever may stand in the plan's tree: an atom, a group, or ROOT."""

ROOT = AtomId("")
"""The synthetic AND node above everything; the empty string can be no atom's id."""


class Status(StrEnum):
    """The three statuses of the contract. Failed is derived, never written."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    RESOLVED = "resolved"


class RunStatus(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    STOPPED = "stopped"
    COMPLETED = "completed"


class PlanKind(StrEnum):
    GRAPH = "graph"
    TREE = "tree"


class Dispatch(StrEnum):
    WAVE = "wave"
    """Wait for a whole batch before the next one starts."""
    REFILL = "refill"
    """Fill a free slot at once."""


class Role(StrEnum):
    WORKER = "worker"
    PROBE = "probe"
    VERIFIER = "verifier"


class StopCode(StrEnum):
    """Why a run ended. Each has one exit code, see `EXIT_CODES`."""

    COMPLETED = "completed"
    INVALID_PLAN = "invalid_plan"
    NOT_ALIGNED = "not_aligned"
    STOPPED_BY_USER = "stopped_by_user"
    AWAITING_CONFIRMATION = "awaiting_confirmation"
    STALLED = "stalled"
    ITERATION_LIMIT = "iteration_limit"
    BUDGET_TIME = "budget_time"
    BUDGET_COST = "budget_cost"
    BUDGET_TOKENS = "budget_tokens"
    ITERATION_TIMEOUT = "iteration_timeout"
    OR_EXHAUSTED = "or_exhausted"
    ATOM_EXHAUSTED = "atom_exhausted"
    VERIFICATION_EXHAUSTED = "verification_exhausted"
    AGENT_UNAVAILABLE = "agent_unavailable"
    TAMPERED = "tampered"
    LOCKED = "locked"
    IO_ERROR = "io_error"
    INTERNAL_ERROR = "internal_error"


class CheckType(StrEnum):
    COMMAND = "command"
    FILE = "file"
    NOT_COMMAND = "not_command"
    NOT_FILE = "not_file"
    ASSERTION = "assertion"
    QUALITY = "quality"


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """One line of a quality rubric, scored 1 to 5."""

    criterion: str
    weight: float
    description: str | None = None
    levels: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One checkable claim. A description only: running it is a port."""

    type: CheckType
    value: str | None = None
    """The command, path, glob or sentence; None for `quality`."""
    control: str | None = None
    """For negative checks: a command that proves that the tool can say yes."""
    timeout_seconds: int | None = None
    rubric: tuple[Criterion, ...] = ()
    criteria: str | None = None
    pass_threshold: float | None = None
    scope: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChecklistItem:
    """Exactly one of `check`, `group` (all must pass) and `any_of` (one must) is there."""

    item: str
    check: Check | None = None
    group: tuple[ChecklistItem, ...] = ()
    any_of: tuple[ChecklistItem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseCase:
    """The externally checkable end: one check (the legacy form) or a checklist."""

    check: Check | None = None
    checklist: tuple[ChecklistItem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """What alignment produces."""

    goal: str
    base_case: BaseCase
    background_intent: str
    deliverables: str
    definition_of_done: str
    protected_paths: tuple[str, ...] = ()
    work_paths: tuple[str, ...] = ()
    """Where workers may change files; empty: anywhere but at what is protected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Everything that bounds a run. None only where the contract has no default: tokens and USD."""

    max_iterations: int = 20
    max_parallel_agents: int = 3
    max_stall_count: int = 3
    max_atoms: int = 100
    """Atoms that may ever exist, removed ones included. The decoder works its default out."""
    max_depth: int = 6
    max_attempts: int = 3
    """For a leaf that is itself a choice the default is 1; an atom may say otherwise."""
    max_probes: int = 1
    max_verifications: int = 3
    max_redirects: int = 20
    max_forgiven: int = 50
    max_backjumps: int = 3
    max_winds: int = 15
    """How often the run may begin again with what it had to park; 0: parking, and no winds."""
    max_wall_seconds: int = 86400
    max_tokens: int | None = None
    max_cost_usd: float | None = None
    session_timeout_seconds: int = 1800
    dispatch: Dispatch = Dispatch.WAVE
    early_verify: bool = False
    fewer_tests: int = 0
    """By how many tests a command may run fewer than at alignment, and pass all the same."""
    stated: tuple[str, ...] = ()
    """Optional names that the file spells out, in the order of these fields: they are written back
    even where they equal the default."""

    def stating(self, name: str) -> Limits:
        """The same limits, with this one spelt out (the first three always are)."""
        optional = [f.name for f in fields(self)][3:]
        named = tuple(n for n in optional if n == name or n in self.stated)
        return replace(self, stated=named)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Monotone counters. What is left of a limit is the limit minus what is spent."""

    sessions: int = 0
    created: int = 0
    """Atoms ever created, those at alignment included."""
    backjumps: int = 0
    winds: int = 0
    forgiven: int = 0
    redirects: int = 0
    verifications: int = 0
    seconds: float = 0.0
    tokens: int = 0
    usd: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    status: RunStatus = RunStatus.PENDING
    iteration: int = 0
    stall_count: int = 0
    prev_pending_count: int = -1
    stop_requested: bool = False
    stop_reason: str | None = None
    redirect_requested: bool = False
    run_id: str | None = None
    revision: int = 0
    """The number of the last journal record that this plan contains."""
    stop_code: StopCode | None = None
    aligned: Aligned | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Atom:
    """The smallest unit of work."""

    id: AtomId
    description: str
    status: Status = Status.PENDING
    depends_on: tuple[str, ...] = ()
    """Atoms or groups, as the file names them; naming a choice means its group."""
    or_group: GroupId | None = None
    check: Check | None = None
    attempts: int = 0
    """Worker sessions charged."""
    max_attempts: int | None = None
    allowed: int | None = None
    """How many attempts the last wind granted; None before the first one that concerned it."""
    infeasible: str | None = None
    """Why an agent said that it cannot be done this way. Only a probe that disagrees clears it."""
    probe: bool = False
    """A probe is to look before a worker starts."""
    probes: int = 0
    """Probe sessions charged."""
    touches: tuple[str, ...] = ()

    def unspent(self) -> Atom:
        """The atom as a person writes it, without what the runner counts and notes."""
        return replace(self, attempts=0, probes=0, allowed=None, infeasible=None)


RUNNER_OWNED = ("attempts", "probes", "allowed", "infeasible")
"""Fields of an atom that belong to the runner."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decomposition:
    parent: AtomId
    children: tuple[AtomId, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OrGroup:
    """A choice point. A choice that is no atom yet is an unwritten alternative."""

    id: GroupId
    choices: tuple[AtomId, ...]
    selected: AtomId
    """The recorded choice; which one is in force is derived (`graph.selected`)."""
    failed: tuple[AtomId, ...] = ()
    speculative: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """The short result that stands for a resolved atom."""

    summary: str
    artifacts: tuple[str, ...] = ()


class TrailType(StrEnum):
    CHOICE = "choice"
    """In the file: no `type` at all."""
    BACKTRACK = "backtrack"
    FAILURE = "failure"
    USER_CORRECTION = "user_correction"
    WIND = "wind"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrailEntry:
    """A choice or a backtrack names group and selection; a failure or correction names an atom.

    `attempt` says the how-manieth failure of the atom it was, or which wind it is: the count
    survives when older entries are dropped.
    """

    type: TrailType = TrailType.CHOICE
    or_group: GroupId | None = None
    selected: AtomId | None = None
    atom: str | None = None
    attempt: int | None = None
    reason: str
    timestamp: str


class CorrectionType(StrEnum):
    OBJECTIVE_CHANGE = "objective_change"
    DAG_ADJUSTMENT = "dag_adjustment"
    CONSTRAINT_CHANGE = "constraint_change"
    BINDINGS_OVERRIDE = "bindings_override"


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    timestamp: str
    type: CorrectionType
    description: str
    trail_cleared: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One agent at work. A report counts only under the nonce that is in flight."""

    nonce: int
    """The journal number of its start."""
    number: int
    """The run's session counter; attempts are filed under it."""
    role: Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Where the run stands within its iteration and its generation.

    A generation is the sessions that were in flight when it began; it ends when all have ended.
    While it is `filling` (none of it has ended) further starts join it.
    """

    filling: bool = True
    started: int = 0
    """Worker and probe starts of the current iteration (`refill` only)."""
    generation: tuple[int, ...] = ()
    """Nonces of its sessions that have not ended."""
    advanced: bool = False
    """Something was resolved, or a rung above the first was climbed."""
    charged: bool = False
    """A session of it ended that was not forgiven."""
    branch_changed: bool = False
    """An atom was integrated since the base case was last looked at (`early_verify`)."""


class Answer(StrEnum):
    OPEN = "open"
    YES = "yes"
    NO = "no"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """An assertion that was judged to hold and now needs a person's word."""

    item: str
    answer: Answer = Answer.OPEN
    words: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What the last round left behind."""

    passed: bool = False
    """Every check holds, as far as machines can say."""
    rounds_without_gaps: int = 0
    """Rounds in a row that failed and named nothing to fix; sets the wait before the next."""
    unmended: int = 0
    """Gaps of the last round for which no fuel was left."""
    not_passed: tuple[str, ...] = ()
    """Items of the last round that did not pass, if no other round is left."""
    questions: tuple[Question, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    kind: PlanKind = PlanKind.GRAPH
    objective: Objective
    limits: Limits
    spent: Spent
    control: Control
    atoms: Mapping[AtomId, Atom]
    decompositions: tuple[Decomposition, ...] = ()
    groups: Mapping[GroupId, OrGroup] = field(default_factory=dict)
    bindings: Mapping[AtomId, Binding] = field(default_factory=dict)
    trail: tuple[TrailEntry, ...] = ()
    corrections: tuple[Correction, ...] = ()
    sessions: Mapping[AtomId, Session] = field(default_factory=dict)
    """In flight, by atom; a verification stands under ROOT."""
    pace: Pace = field(default_factory=Pace)
    verification: Verification = field(default_factory=Verification)
    refused_edits: int = 0
    """Of a tree: how many edits in a row were refused, repairs included, up to now."""
    view_cache: Any = field(default=None, init=False, compare=False, repr=False)
    """Derived by `graph.view`; not part of the plan's value."""
    shape_cache: Any = field(default=None, init=False, compare=False, repr=False)
    """As `view_cache`; kept longer, because only growth changes it."""
    failures_cache: Mapping[str, int] | None = field(
        default=None, init=False, compare=False, repr=False
    )
    """Derived by `graph.failures`; kept while the Trail is the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """How many tests a command ran when the person agreed; fewer later on are no pass."""

    command: str
    ran: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Aligned:
    """Where the person agreed: the commit, and the files that no worker may touch."""

    commit: str
    pins: tuple[str, ...] = ()
    tests: tuple[Counted, ...] = ()
    branch: str = ""
    """The branch that was checked out then, where the result is to land; empty if none was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    where: tuple[str | int, ...]
    """The path to it, as in the file: ("atoms", 3, "depends_on")."""
    what: str
    hint: str = ""
    line: int | None = None
    """Counted from 1; filled in by the format, which knows the text."""
    unaligned: bool = False
    """The plan is not aligned yet, rather than wrong: `run` stops at the gate."""
    warning: bool = False
    """Worth saying, but no reason to refuse."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeAtom:
    """One node of a task tree: what an agent may say about it."""

    id: AtomId
    parent: AtomId | None
    """None for the root alone."""
    title: str
    description: str
    max_attempts: int
    """Counts for a new node only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeEdit:
    """The whole tree as an agent left it, parents first, siblings in their order."""

    nodes: tuple[TreeAtom, ...]
    rewritten: tuple[AtomId, ...] = ()
    """Nodes whose goal or acceptance is another one than before."""


EXIT_CODES: Mapping[StopCode, int] = {
    StopCode.COMPLETED: 0,
    StopCode.INVALID_PLAN: 2,
    StopCode.NOT_ALIGNED: 3,
    StopCode.STOPPED_BY_USER: 10,
    StopCode.AWAITING_CONFIRMATION: 11,
    StopCode.STALLED: 20,
    StopCode.ITERATION_LIMIT: 21,
    StopCode.BUDGET_TIME: 22,
    StopCode.BUDGET_COST: 23,
    StopCode.BUDGET_TOKENS: 24,
    StopCode.ITERATION_TIMEOUT: 25,
    StopCode.OR_EXHAUSTED: 30,
    StopCode.ATOM_EXHAUSTED: 31,
    StopCode.VERIFICATION_EXHAUSTED: 32,
    StopCode.AGENT_UNAVAILABLE: 40,
    StopCode.TAMPERED: 41,
    StopCode.LOCKED: 42,
    StopCode.IO_ERROR: 43,
    StopCode.INTERNAL_ERROR: 70,
}
