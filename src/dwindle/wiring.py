"""Composition root: which implementation stands behind which name.

Each is imported when it is first needed: a command that reads a graph plan never pays for trees.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from dwindle.kernel.model import Control, Plan, PlanKind, RunStatus, Status, StopCode
from dwindle.kernel.problem import Problem

if TYPE_CHECKING:
    from pathlib import Path

    from dwindle.adapters.checks.mechanical import CheckSettings
    from dwindle.adapters.formats.config_file import ReadSettings
    from dwindle.adapters.formats.config_settings import Settings
    from dwindle.adapters.formats.draft_plan import Draft
    from dwindle.adapters.workspaces.furnish import Setup
    from dwindle.adapters.workspaces.repository import Repository
    from dwindle.ports.process import Bounds, Containment, Secret
    from dwindle.runner.alignment import Surroundings
    from dwindle.runner.certificate import Contained

PLAN_FILES: Final[Mapping[PlanKind, str]] = {
    PlanKind.GRAPH: ".claude/aot-loop-state.md",
    PlanKind.TREE: ".runner/tree.json",
}
"""Where a repository keeps its plans."""

MAX_BYTES: Final = 64 * 1024 * 1024
"""More than any decoder reads; what is larger is not even opened."""


class Loaded(NamedTuple):
    """What a plan file holds. There is no plan if any problem is more than a warning."""

    plan: Plan | None
    problems: tuple[Problem, ...] = ()


def load(kind: PlanKind, data: bytes) -> Loaded:
    """Read a plan file and judge it; every problem, by line."""
    return _LOADERS[kind](data)


def load_graph(data: bytes) -> Loaded:
    from dwindle.adapters.formats import graph_plan  # noqa: PLC0415
    from dwindle.kernel.problems import validate  # noqa: PLC0415

    decoded = graph_plan.decode(data)
    found = () if decoded.draft is None else validate(decoded.draft)
    problems = decoded.judged(found)
    return Loaded(plan=decoded.plan if _is_sound(problems) else None, problems=problems)


def load_tree(data: bytes) -> Loaded:
    from dwindle.adapters.formats import tree_plan  # noqa: PLC0415

    decoded = tree_plan.decode(data)
    if decoded.tree is None:
        return Loaded(plan=None, problems=decoded.problems)
    plan = tree_plan.to_plan(decoded.tree)
    problems = decoded.problems
    most = plan.limits.max_atoms
    if len(plan.atoms) > most:
        # The tree is as it is; what the limit can still do is to keep it from growing.
        problems = (*problems, too_many_nodes(len(plan.atoms), most))
        plan = replace(plan, limits=replace(plan.limits, max_atoms=len(plan.atoms)))
    if all(atom.status is Status.RESOLVED for atom in plan.atoms.values()):
        plan = replace(plan, control=_TREE_PASSES)
    return Loaded(plan=plan, problems=problems)


def refused_changes(before: bytes, after: bytes) -> tuple[Problem, ...]:
    """What nobody but the runner may do to a tree; both are files that hold valid ones."""
    from dwindle.adapters.formats import tree_plan  # noqa: PLC0415

    old, new = tree_plan.decode(before).tree, tree_plan.decode(after).tree
    if old is None or new is None:
        raise ValueError("only valid trees can be compared")
    return tree_plan.changes_refused(old, new, text=after)


def schema_text(kind: PlanKind) -> str:
    """The JSON Schema of a plan file."""
    from dwindle.adapters.formats.schema import shipped  # noqa: PLC0415

    return shipped(kind.value)


_LOADERS: Final[Mapping[PlanKind, Callable[[bytes], Loaded]]] = {
    PlanKind.GRAPH: load_graph,
    PlanKind.TREE: load_tree,
}

_TREE_PASSES: Final = Control(
    status=RunStatus.COMPLETED, stop_code=StopCode.COMPLETED, stop_reason="the root passes"
)
"""The file keeps no status: a tree is done when its root passes."""


def _is_sound(problems: tuple[Problem, ...]) -> bool:
    return all(problem.warning for problem in problems)


def too_many_nodes(nodes: int, most: int) -> Problem:
    return Problem(
        where=("root",),
        what=f"the tree has {nodes} nodes, and at most {most} may ever be made",
        hint="no further node can be added",
        warning=True,
    )


# --- settings and alignment ----------------------------------------------------------------------

SETTINGS_FILE: Final = ".runner/config.toml"
"""Where a repository keeps what its people set."""


def settings_for(root: Path, overrides: Mapping[str, object] | None = None) -> ReadSettings:
    """The settings of a repository: command line, then file, then defaults."""
    from dwindle.adapters.formats.config_file import read_settings  # noqa: PLC0415

    try:
        data = (root / SETTINGS_FILE).read_bytes()
    except FileNotFoundError:
        data = None
    return read_settings(data, overrides)


def load_draft(data: bytes) -> tuple[Draft, tuple[Problem, ...]]:
    """Read a draft for alignment and judge it; every problem and warning, by line."""
    from dwindle.adapters.formats.draft_plan import decode_draft  # noqa: PLC0415
    from dwindle.kernel.problems import validate  # noqa: PLC0415

    draft = decode_draft(data)
    return draft, draft.judged(() if draft.readable is None else validate(draft.readable))


def surroundings(repository: Repository, settings: Settings) -> Surroundings:
    """What alignment uses: git, a fresh checkout, contained checks."""
    from dwindle.adapters.checks.mechanical import MechanicalChecks  # noqa: PLC0415
    from dwindle.adapters.workspaces.checkouts import Checkouts  # noqa: PLC0415
    from dwindle.adapters.workspaces.furnish import Furnishing  # noqa: PLC0415
    from dwindle.adapters.workspaces.ground import GitGround  # noqa: PLC0415
    from dwindle.runner.alignment import Surroundings  # noqa: PLC0415
    from dwindle.runner.pins import pins_of  # noqa: PLC0415

    containment = containment_for(settings, repository)
    furnishing = Furnishing(
        checkout=repository.checkout,
        share=settings.workspace.share,
        setup=setup_for(settings, containment),
    )
    return Surroundings(
        ground=GitGround(repository),
        checkouts=Checkouts(repository=repository, aligned="", pins=(), furnishing=furnishing),
        runner=MechanicalChecks(containment, check_settings(settings)),
        pins_of=pins_of,
    )


def containment_for(settings: Settings, repository: Repository | None = None) -> Containment:
    """The strongest that works here; of the repository, history and what is shared are seen.

    The sockets by which people reach a run are not: code under test could say that it is done.
    """
    from dwindle.adapters.containment.bare import Bare  # noqa: PLC0415
    from dwindle.adapters.containment.bounded import Bounded  # noqa: PLC0415
    from dwindle.adapters.containment.choice import choose  # noqa: PLC0415
    from dwindle.adapters.containment.discreet import Discreet  # noqa: PLC0415
    from dwindle.adapters.containment.showing import Showing  # noqa: PLC0415
    from dwindle.runner.sockets import SOCKETS  # noqa: PLC0415

    kind = choose() if settings.sandbox.enabled else Bare()
    found = Bounded(Discreet(kind, known_secrets(settings)), bounds_of(settings))
    if repository is None:
        return found
    shared = (repository.checkout / name for name in settings.workspace.share)
    sockets = (repository.checkout / ".runner" / name for name in SOCKETS.values())
    return Showing(found, (repository.common, *shared), hidden=tuple(sockets))


def known_secrets(settings: Settings) -> tuple[Secret, ...]:
    """What an agent may be given, or get to know here, and nobody may read of it."""
    from dwindle.adapters.agents.stored_logins import stored_logins  # noqa: PLC0415
    from dwindle.ports.secrecy import longest_first, secrets_in_words, secrets_of, spelt  # noqa: PLC0415

    let_through = {name: os.environ[name] for name in settings.sandbox.env if name in os.environ}
    agents = settings.agents
    commands = [agents.worker, agents.probe, agents.verifier, agents.planner]
    words = (pair for one in commands for pair in secrets_in_words(one.command, "command"))
    notify = settings.notify
    address = notify.webhook or os.environ.get(notify.webhook_env or "", "")
    return longest_first(
        (
            *secrets_of(let_through, os.environ),
            *spelt((*stored_logins(os.environ), *words, ("webhook", address))),
        )
    )


def bounds_of(settings: Settings) -> Bounds:
    """How much of the machine one program may take."""
    from dwindle.ports.process import Bounds  # noqa: PLC0415

    limits = settings.limits
    has = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return Bounds(
        processes=limits.processes,
        memory_bytes=limits.memory_bytes or has * 4 // 5,
        file_bytes=limits.file_bytes,
        free_bytes=limits.free_disk_bytes,
        free_percent=limits.free_disk_percent,
    )


def contained_by(settings: Settings, containment: Containment) -> Contained:
    """What was in force, for the certificate and for whoever asks."""
    from dwindle.adapters.containment.bounds import in_force  # noqa: PLC0415
    from dwindle.runner.certificate import Contained  # noqa: PLC0415

    sandbox, bounds = settings.sandbox, in_force(bounds_of(settings), containment.strength)
    return Contained(
        strength=containment.strength,
        mechanism=containment.mechanism,
        network=sandbox.network,
        writable=sandbox.writable,
        env=sandbox.env,
        processes=bounds.processes,
        memory_bytes=bounds.memory_bytes,
        file_bytes=bounds.file_bytes,
    )


def check_settings(settings: Settings) -> CheckSettings:
    from pathlib import Path  # noqa: PLC0415 - `status` does without

    from dwindle.adapters.checks.mechanical import CheckSettings  # noqa: PLC0415

    sandbox = settings.sandbox
    return CheckSettings(
        timeout_seconds=float(settings.limits.check_timeout_seconds),
        network=sandbox.network,
        environment={name: os.environ[name] for name in sandbox.env if name in os.environ},
        output_bytes=settings.limits.output_bytes,
        writable=tuple(Path(path).expanduser() for path in sandbox.writable),
    )


def setup_for(settings: Settings, containment: Containment) -> Setup | None:
    """Makes a fresh tree ready to work in, as `[workspace] setup` says."""
    from dwindle.ports.process import Command  # noqa: PLC0415
    from dwindle.ports.workspace import WorkspaceFailed  # noqa: PLC0415

    if not settings.workspace.setup:
        return None
    checks = check_settings(settings)

    async def set_up(tree: Path) -> None:
        ended = await containment.run(
            Command(
                argv=settings.workspace.setup,
                cwd=tree,
                environment=checks.environment,
                writable=(tree, *checks.writable),
                network=checks.network,
            )
        )
        if not ended.is_clean:
            how = ended.error or ("it took too long" if ended.timed_out else "")
            said = how or ended.stderr.text() or ended.stdout.text()
            raise WorkspaceFailed("[workspace] setup failed", said)

    return set_up
