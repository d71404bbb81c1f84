"""Load a plan file, a draft or a schema: each format is imported when it is first needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from dwindle.kernel.model import Control, Plan, PlanKind, Problem, RunStatus, Status, StopCode

if TYPE_CHECKING:
    from dwindle.adapters.formats.draft.plan import Draft

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


def load_to_validate(kind: PlanKind, data: bytes) -> Loaded:
    """As `load`, with a warning if the plan will meet its limits before it can be done."""
    loaded = load(kind, data)
    if kind is not PlanKind.GRAPH or loaded.plan is None:
        return loaded
    from dwindle.adapters.formats.graph import plan as graph_plan  # noqa: PLC0415
    from dwindle.kernel.proposal import too_few_sessions  # noqa: PLC0415

    decoded = replace(graph_plan.decode(data), problems=loaded.problems)
    return loaded._replace(problems=decoded.judged(too_few_sessions(loaded.plan)))


def load_graph(data: bytes) -> Loaded:
    from dwindle.adapters.formats.graph import plan as graph_plan  # noqa: PLC0415
    from dwindle.kernel.problems import validate  # noqa: PLC0415

    decoded = graph_plan.decode(data)
    found = () if decoded.draft is None else validate(decoded.draft)
    problems = decoded.judged(found)
    return Loaded(plan=decoded.plan if _is_sound(problems) else None, problems=problems)


def load_tree(data: bytes) -> Loaded:
    from dwindle.adapters.formats.tree import plan as tree_plan  # noqa: PLC0415

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
    """What only the runner may do to a tree; both are files with a valid one."""
    from dwindle.adapters.formats.tree import plan as tree_plan  # noqa: PLC0415

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


def load_draft(data: bytes) -> tuple[Draft, tuple[Problem, ...]]:
    """Read a draft for alignment and judge it; every problem and warning, by line.

    Limits that it does not set are proposed from the size of its plan.
    """
    from dataclasses import replace  # noqa: PLC0415

    from dwindle.adapters.formats.draft.plan import decode_draft  # noqa: PLC0415
    from dwindle.kernel.problems import validate  # noqa: PLC0415
    from dwindle.kernel.proposal import with_proposed_limits  # noqa: PLC0415

    draft = decode_draft(data)
    if draft.plan is not None:
        plan = with_proposed_limits(draft.plan, draft.given)
        draft = replace(draft, plan=plan, readable=plan)
    return draft, draft.judged(() if draft.readable is None else validate(draft.readable))
