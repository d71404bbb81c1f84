"""The shapes of what views hand out: plain dictionaries that are JSON as they are.

All text in them is escaped (see `text.escape.excerpt`). A name that ends in `_at` is a time as the
journal has it (ISO 8601, UTC, empty if unknown); `start`, `end` and `seconds` are seconds of the
run, which pass only while a runner is there to count them.
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict

NodeKind = Literal["root", "atom", "group", "unwritten"]
"""`root`: the AND node above everything, with the empty id. `group`: an OR. `unwritten`: a choice
that is no atom yet. An atom with children is an AND."""

NodeStatus = Literal["pending", "running", "resolved", "parked", "failed", "left", "unwritten"]
"""`parked`: nothing is left to try for it until a new wind begins or a person redirects. `failed`:
its attempts are used up, and something else can be tried; or it is a choice that was given up.
`left`: below a choice that was given up, or beside the one that won."""

Phase = Literal[
    "pending", "running", "paused", "stopping", "resting", "cut_short", "stopped", "completed"
]
"""`resting`: between two steps. `cut_short`: its runner was killed and none has resumed it.
`paused`, `stopping`: it runs, and a user asked for that."""


class BindingView(TypedDict):
    summary: str
    artifacts: list[str]


class NodeView(TypedDict):
    id: str
    kind: NodeKind
    parent: str | None
    """None for the root alone."""
    children: list[str]
    """In the order of the plan; of a group, its choices."""
    status: NodeStatus
    standing: str
    """Finer, for atoms: resolved, running, ready, exhausted, parked, waiting, split, reserve,
    failed. Of a group parked, or empty."""
    undone: Literal["", "parked", "failing"]
    """Why it is listed among what is not done: it is parked, or the run has ended and it failed.
    Only then the next four say something."""
    failures: int
    """How often it failed; of a group, its ways together."""
    note: str
    """Why it failed last, in one line; empty if that is not on record."""
    holds_up: list[str]
    """Open atoms that wait for it, the first ones."""
    holds_up_count: int
    """How many there are."""
    live: bool
    """Counts for the end of the run, as things stand."""
    description: str
    depends_on: list[str]
    """Atoms and groups; naming a choice has become naming its group."""
    attempts: int
    max_attempts: int
    probes: int
    reason: str
    """Why it was split, where it was."""
    binding: BindingView | None
    check: str
    """Its own check in a line; empty if it has none."""
    selected: str | None
    """Of a group: the choice in force."""
    failed: list[str]
    """Of a group: choices that were given up."""
    speculative: bool
    session: int | None
    """The nonce of the session that is working on it."""


class SessionView(TypedDict):
    nonce: int
    """The journal number of its start; its name in the interface of views."""
    number: int
    """The run's own counter; attempts are filed under it."""
    atom: str
    """Empty for a verification of the base case."""
    role: str
    slot: int
    """From 0: the lowest that was free."""
    iteration: int
    """Of a tree: the number of the commit that it led to, or would have."""
    start: float
    end: float | None
    start_at: str
    end_at: str
    outcome: str
    """running, resolved, failed, refused, infeasible, looked, split, alternatives, replanned,
    interrupted, reaped, ended (by a redirect or with its branch), passed, gaps, unjudged."""
    words: str
    """What was said about its end."""
    waits: str
    """While it runs: what it has to wait for; empty if nothing."""
    waits_until: float | None
    tokens: int
    usd: float
    estimated: bool
    """Some of the price was worked out from a table of ours."""
    commit: str
    """Of a tree: the commit of its iteration."""
    guard: str
    """Of a tree: pass, fail or skipped."""


class PointView(TypedDict):
    """One point of the dwindling curve."""

    n: int
    at: str
    seconds: float
    iteration: int
    open: int
    gauge: int
    work: int
    """The part of the gauge that work lowers; it goes to 0 as the run comes to its end."""
    bound: int


class MarkView(TypedDict):
    """Something to be marked on the curve."""

    n: int
    at: str
    seconds: float
    iteration: int
    kind: Literal["backtrack", "backjump", "wind", "redirect", "start", "stop"]
    text: str


class EventView(TypedDict):
    n: int
    at: str
    kind: str
    """The name of the event."""
    text: str


class BudgetView(TypedDict):
    name: str
    spent: float
    limit: float | None


class CheckView(TypedDict):
    """A line of the base case, or of the certificate; `depth` is how deep in the checklist."""

    item: str
    type: str
    command: str
    depth: int
    verdict: str
    """Empty in a base case that was not judged."""
    judged_by: str
    exit_code: int | None
    seconds: float
    tests: int | None
    evidence: str


class Head(TypedDict):
    """What changes with nearly every event, and is small."""

    run: str
    kind: Literal["graph", "tree"]
    phase: Phase
    stop_code: str
    exit_code: int | None
    reason: str
    """Why it stopped, or what was said about a stop that was asked for."""
    next: str
    """What the user does next, commands in backquotes; empty while a runner is at work."""
    revision: int
    iteration: int
    max_iterations: int
    seconds: float
    at: str
    """Of the last event."""
    atoms: int
    open: int
    resolved: int
    left: int
    parked: int
    failing: int
    """What failed and is not done, beside what is parked; known when the run has ended."""
    ready: int
    running: list[int]
    """Nonces, the oldest first."""
    gauge: int
    first_gauge: int
    work: int
    most_work: int
    bound: int
    tokens: int
    usd: float
    questions: list[str]
    """What a person has to confirm."""


class RunPicture(TypedDict):
    """Everything, once."""

    format: Literal[1]
    head: Head
    goal: str
    plan_file: str
    branch: str
    nodes: list[NodeView]
    """Parents before children; the root first."""
    sessions: list[SessionView]
    points: list[PointView]
    marks: list[MarkView]
    events: list[EventView]
    """The last of them, oldest first."""
    budgets: list[BudgetView]
    spending: dict[str, Any]
    """{run, by_role: {role: ...}, by_atom: {atom: ...}}; each {sessions, tokens, usd, ...}."""
    trail: list[dict[str, Any]]
    corrections: list[dict[str, Any]]
    base_case: list[CheckView]
    certificate: dict[str, Any] | None
    measure: dict[str, int]
    notes: list[str]
    """What could not be read, or cannot be trusted."""


class RunChange(TypedDict):
    """What is different since the last look; lists hold whole values of what is new or changed."""

    reset: bool
    """Forget everything and ask for the picture: this is another plan than before."""
    head: Head
    nodes: list[NodeView]
    removed: list[str]
    sessions: list[SessionView]
    points: list[PointView]
    marks: list[MarkView]
    events: list[EventView]


class RunLine(TypedDict):
    """A run in a list of runs."""

    run: str
    kind: Literal["graph", "tree", ""]
    """Empty where that cannot be told any more."""
    phase: Phase
    stop_code: str
    begun_at: str
    last_at: str
    events: int
    goal: str
    current: bool
    """It is the run of a plan that is here now."""
    problem: str
    """Why it cannot be shown; empty if it can."""
