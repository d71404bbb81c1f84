"""What a person may set, in `.runner/config.toml` or on the command line.

Limits of a graph plan stand in the plan itself, because they are part of what was agreed on; what
stands here is how this machine goes about it, and the limits of a tree, whose file has no room for
them. `docs/settings.md` describes every key; a test compares the two.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, get_type_hints

from dwindle.adapters.formats.config import kinds
from dwindle.adapters.formats.config.kinds import BuiltinAgent, ValueKind


def kinds_of(shape: type[Any]) -> dict[str, ValueKind]:
    """The keys of a table, and what may stand behind each."""
    hints = get_type_hints(shape, include_extras=True)
    return {name: hint.__metadata__[0] for name, hint in hints.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """Who does the work of one role."""

    backend: Annotated[BuiltinAgent | str | None, kinds.BACKEND] = None
    """None: the role has no agent."""
    command: Annotated[tuple[str, ...], kinds.COMMAND] = ()
    model: Annotated[str | None, kinds.TEXT] = None
    effort: Annotated[str | None, kinds.TEXT] = None
    max_turns: Annotated[int | None, kinds.COUNT] = None
    script: Annotated[str | None, kinds.TEXT] = None
    timeout_seconds: Annotated[int | None, kinds.COUNT] = None
    """None: what the plan says."""
    escalate: Annotated[tuple[str, ...], kinds.AGENTS] = ()
    """Agents as `backend` or `backend:model`: the next one for what failed once more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentsSettings:
    """The four roles."""

    worker: AgentSettings = field(default_factory=AgentSettings)
    probe: AgentSettings = field(default_factory=AgentSettings)
    verifier: AgentSettings = field(default_factory=AgentSettings)
    planner: AgentSettings = field(default_factory=AgentSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardSettings:
    """What must be green before anything of a tree counts as done."""

    command: Annotated[tuple[str, ...], kinds.COMMAND] = ("just", "ci")
    deliverables: Annotated[tuple[str, ...], kinds.INSIDE] = ()
    """What steers it, and agents may change all the same."""
    work_paths: Annotated[tuple[str, ...], kinds.INSIDE] = ()
    """Where agents may change files; empty: anywhere but at what steers it."""
    fewer_tests: Annotated[bool, kinds.FLAG] = False
    clean_checkout: Annotated[bool, kinds.FLAG] = True
    """Whether it has to be green in a clean checkout too, before the tree is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceSettings:
    """What a fresh work tree needs."""

    setup: Annotated[tuple[str, ...], kinds.COMMAND] = ()
    build: Annotated[tuple[str, ...], kinds.COMMAND] = ()
    share: Annotated[tuple[str, ...], kinds.INSIDE] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GitSettings:
    """What git of ours may run."""

    filters: Annotated[tuple[str, ...], kinds.TEXTS] = ()
    unfiltered: Annotated[tuple[str, ...], kinds.TEXTS] = ()
    """Filters that are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitSettings:
    """Bounds that no plan file holds."""

    max_iterations: Annotated[int, kinds.COUNT] = 50
    max_nodes: Annotated[int, kinds.COUNT] = 200
    max_attempts: Annotated[int, kinds.COUNT] = 3
    iteration_timeout_seconds: Annotated[int, kinds.COUNT] = 1800
    max_wall_seconds: Annotated[int, kinds.COUNT] = 86400
    max_tokens: Annotated[int | None, kinds.COUNT] = None
    max_cost_usd: Annotated[float | None, kinds.AMOUNT] = None
    execute_root: Annotated[bool, kinds.FLAG] = True
    output_bytes: Annotated[int, kinds.COUNT] = 1 << 20
    check_timeout_seconds: Annotated[int, kinds.COUNT] = 600
    processes: Annotated[int, kinds.COUNT] = 4096
    memory_bytes: Annotated[int | None, kinds.COUNT] = None
    """None: four fifths of what the machine has."""
    file_bytes: Annotated[int, kinds.COUNT] = 16 << 30
    free_disk_bytes: Annotated[int, kinds.COUNT] = 1 << 30
    free_disk_percent: Annotated[float, kinds.AMOUNT] = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxSettings:
    """What agents and checks are kept from."""

    enabled: Annotated[bool, kinds.FLAG] = True
    network: Annotated[bool, kinds.FLAG] = True
    writable: Annotated[tuple[str, ...], kinds.TEXTS] = ()
    env: Annotated[tuple[str, ...], kinds.VARIABLES] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifySettings:
    """How a user is notified when a run needs one, or no longer does."""

    command: Annotated[tuple[str, ...], kinds.COMMAND] = ()
    webhook: Annotated[str | None, kinds.WEB_ADDRESS] = field(default=None, repr=False)
    """Often a secret, and so not in a traceback."""
    webhook_env: Annotated[str | None, kinds.VARIABLE_NAME] = None
    env: Annotated[tuple[str, ...], kinds.VARIABLES] = ()
    timeout_seconds: Annotated[int, kinds.COUNT] = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings, with defaults for those that the user has not set."""

    agents: AgentsSettings = field(default_factory=AgentsSettings)
    guard: GuardSettings = field(default_factory=GuardSettings)
    workspace: WorkspaceSettings = field(default_factory=WorkspaceSettings)
    git: GitSettings = field(default_factory=GitSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    sandbox: SandboxSettings = field(default_factory=SandboxSettings)
    notify: NotifySettings = field(default_factory=NotifySettings)
