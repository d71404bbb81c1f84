"""The graph plan file as types: State Contract v1.3 with our optional fields, record by record.

These are the shapes of the file, not of the kernel: a later contract may change them without the
kernel noticing. Unknown keys are refused and nothing is coerced. What a type cannot say (exactly
one of `check`, `group` and `any_of`; a rubric that weighs something) is in `graph_rules`. The JSON
Schema of the contract is generated from `State`.

A field that may be left out has its default here, or `UNSET` where the default depends on the rest
of the plan or where it matters whether the file spells it out.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from dwindle.kernel.model import (
    Answer,
    CheckType,
    CorrectionType,
    Dispatch,
    Role,
    RunStatus,
    Status,
    StopCode,
)

Number = int | float
Name = Annotated[str, Meta(min_length=1, description="the id of an atom or of a group")]
Level = Annotated[int, Meta(ge=1, le=5)]
Levels = Annotated[
    dict[Level, str],
    Meta(extra_json_schema={"propertyNames": {"enum": ["1", "2", "3", "4", "5"]}}),
]


class Record(Struct, forbid_unknown_fields=True, frozen=True, gc=False):
    """What every record of the file has in common: it is read whole or refused."""


class Criterion(Record, frozen=True):
    """One line of a rubric."""

    criterion: str
    weight: Number
    description: str | None = None
    levels: Levels = {}


class Check(Record, frozen=True):
    """One checkable claim."""

    type: CheckType
    value: str | None = None
    control: str | None = None
    timeout_seconds: int | None = None
    rubric: tuple[Criterion, ...] | None = None
    criteria: str | None = None
    pass_threshold: Number | None = None
    scope: str | None = None


class ChecklistItem(Record, frozen=True):
    """A named check, or a named group of items."""

    item: str
    check: Check | None = None
    group: tuple[ChecklistItem, ...] | None = None
    any_of: tuple[ChecklistItem, ...] | None = None


class BaseCase(Record, frozen=True):
    """Either `type` and `value` (the legacy form) or a checklist."""

    type: CheckType | None = None
    value: str | None = None
    control: str | None = None
    timeout_seconds: int | None = None
    checklist: tuple[ChecklistItem, ...] | None = None


class Constraints(Record, frozen=True):
    """What bounds the run."""

    max_iterations: int = 20
    max_parallel_agents: int = 3
    max_stall_count: int = 3
    max_atoms: int | UnsetType = UNSET
    max_depth: int | UnsetType = UNSET
    max_attempts: int | UnsetType = UNSET
    max_probes: int | UnsetType = UNSET
    max_verifications: int | UnsetType = UNSET
    max_redirects: int | UnsetType = UNSET
    max_forgiven: int | UnsetType = UNSET
    max_backjumps: int | UnsetType = UNSET
    max_winds: int | UnsetType = UNSET
    max_wall_seconds: int | UnsetType = UNSET
    max_tokens: int | UnsetType = UNSET
    max_cost_usd: Number | UnsetType = UNSET
    session_timeout_seconds: int | UnsetType = UNSET
    dispatch: Dispatch | UnsetType = UNSET
    early_verify: bool | UnsetType = UNSET
    fewer_tests: int | UnsetType = UNSET


OPTIONAL_LIMITS: Final = Constraints.__struct_fields__[3:]
"""The limits that a plain v1.3 file does not have, in the order they are written."""


class Objective(Record, frozen=True):
    """What alignment produced."""

    goal: str
    base_case: BaseCase
    background_intent: str
    deliverables: str
    definition_of_done: str
    constraints: Constraints = Constraints()
    protected_paths: tuple[str, ...] = ()
    work_paths: tuple[str, ...] = ()


class Spent(Record, frozen=True):
    """What has been used up so far."""

    sessions: int = 0
    created: int | UnsetType = UNSET
    backjumps: int = 0
    winds: int = 0
    forgiven: int = 0
    redirects: int = 0
    verifications: int = 0
    seconds: Number = 0.0
    tokens: int = 0
    usd: Number = 0.0


class Counted(Record, frozen=True):
    """A command of the base case, and how many tests it ran when it was agreed on."""

    command: str
    ran: int


class Aligned(Record, frozen=True):
    """The commit that was agreed on, and the files that no worker may touch."""

    commit: str
    pins: tuple[str, ...] = ()
    tests: tuple[Counted, ...] = ()
    branch: str = ""


class InFlight(Record, frozen=True, kw_only=True):
    """A session that was started and has not ended; without an atom it is a verification."""

    atom: Name | None = None
    role: Role
    nonce: int
    number: int


class Pace(Record, frozen=True):
    """Where the run stands within its iteration and its generation."""

    filling: bool = True
    started: int = 0
    generation: tuple[int, ...] = ()
    advanced: bool = False
    charged: bool = False
    branch_changed: bool = False


class Question(Record, frozen=True):
    """An assertion that needs a person's word."""

    item: str
    answer: Answer = Answer.OPEN
    words: str = ""


class Verification(Record, frozen=True):
    """What the last verification left behind."""

    passed: bool = False
    rounds_without_gaps: int = 0
    unmended: int = 0
    not_passed: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()


class Control(Record, frozen=True):
    """How the run is going."""

    status: RunStatus = RunStatus.PENDING
    iteration: int = 0
    stall_count: int = 0
    prev_pending_count: int = -1
    stop_requested: bool = False
    stop_reason: str | None = None
    redirect_requested: bool = False
    run_id: str | None = None
    revision: int = 0
    stop_code: StopCode | None = None
    spent: Spent = Spent()
    aligned: Aligned | None = None
    in_flight: tuple[InFlight, ...] = ()
    pace: Pace = Pace()
    verification: Verification = Verification()


class Atom(Record, frozen=True):
    """The smallest unit of work."""

    id: Name
    description: str
    status: Status
    depends_on: tuple[Name, ...]
    or_group: Name | None = None
    check: Check | None = None
    attempts: int = 0
    max_attempts: int | None = None
    allowed: int | None = None
    infeasible: str | None = None
    probe: bool = False
    probes: int = 0
    touches: tuple[str, ...] = ()


class Decomposition(Record, frozen=True):
    """An atom that was split."""

    parent: Name
    children: tuple[Name, ...]
    reason: str


class OrGroup(Record, frozen=True):
    """A choice point."""

    choices: tuple[Name, ...]
    selected: Name
    failed: tuple[Name, ...] = ()
    speculative: bool = False


class Binding(Record, frozen=True):
    """What stands for a resolved atom."""

    summary: str
    artifacts: tuple[str, ...]


class TrailEntry(Record, frozen=True, kw_only=True):
    """A choice (without `type`), or what the type says."""

    type: Literal["backtrack", "failure", "user_correction", "wind"] | None = None
    or_group: Name | None = None
    selected: Name | None = None
    atom: str | None = None
    attempt: int | None = None
    reason: str
    timestamp: str


class Correction(Record, frozen=True):
    """A redirect by a person."""

    timestamp: str
    type: CorrectionType
    description: str
    trail_cleared: bool


class State(Record, frozen=True, kw_only=True):
    """The whole front matter."""

    objective: Objective
    control: Control = Control()
    atoms: Annotated[tuple[Atom, ...], Meta(min_length=1)]
    decompositions: tuple[Decomposition, ...] = ()
    or_groups: dict[Name, OrGroup] = {}
    bindings: dict[Name, Binding] = {}
    trail: tuple[TrailEntry, ...] = ()
    corrections: tuple[Correction, ...] = ()


SECTIONS: Final = State.__struct_fields__
