"""Composition root: which implementation stands behind which name.

Each is imported when it is first needed: a command that reads a graph plan never pays for trees.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from dwindle.kernel.model import Control, Plan, PlanKind, RunStatus, Status, StopCode
from dwindle.kernel.problem import Problem

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
        problems = (*problems, _too_many(len(plan.atoms), most))
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


def _too_many(nodes: int, most: int) -> Problem:
    return Problem(
        where=("root",),
        what=f"the tree has {nodes} nodes, and at most {most} may ever be made",
        hint="no further node can be added",
        warning=True,
    )
