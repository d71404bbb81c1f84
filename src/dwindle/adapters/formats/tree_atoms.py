"""A task tree as the kernel sees it: an AND forest without dependencies, one at a time.

Every node is an atom, in depth-first (order, id) order, and every inner node a decomposition; the
tree's root is an ordinary atom under the kernel's own nameless root. `passes` becomes `resolved`,
and of an inner node it is derived here rather than believed.

Some of what a plan holds is not in the file. The planning sessions that a node has used and the
ids ever seen come from the branch's history, so the caller brings them. A passed node has no
binding: the file keeps no summaries, and an invented one would be worse than none. There is no
base case either: the guard stands in its place, and running it is not the file's business.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dwindle.adapters.formats.tree_rules import MAX_DEPTH
from dwindle.adapters.formats.tree_walk import depth_first, derive_passes, place
from dwindle.adapters.formats.tree_wire import TreeDocument, TreeNode
from dwindle.kernel.model import (
    Atom,
    AtomId,
    BaseCase,
    Control,
    Decomposition,
    Dispatch,
    Limits,
    Objective,
    Plan,
    PlanKind,
    Spent,
    Status,
)

TREE_LIMITS: Final = Limits(
    max_iterations=50,
    max_parallel_agents=1,
    max_atoms=200,
    max_depth=MAX_DEPTH - 1,
    max_attempts=3,
    max_probes=3,
    max_verifications=0,
    max_redirects=0,
    max_backjumps=0,
    session_timeout_seconds=1800,
    dispatch=Dispatch.WAVE,
)
"""What holds for a tree unless configured: no redirects, no verification rounds, no choices."""

_NONE_USED: Final[Mapping[str, int]] = {}


def to_plan(
    tree: TreeDocument,
    *,
    limits: Limits = TREE_LIMITS,
    goal: str | None = None,
    planning_used: Mapping[str, int] = _NONE_USED,
    ids_seen: int | None = None,
) -> Plan:
    """The plan of a valid tree.

    `goal` is the goal's text where the root's own sentence is not enough. `planning_used` counts
    planning sessions by node id. `ids_seen` counts the ids that were ever on the branch; those
    that stand in the tree now are counted in any case.
    """
    nodes = [path[-1] for path in depth_first(derive_passes(tree).root)]
    return Plan(
        kind=PlanKind.TREE,
        objective=Objective(
            goal=tree.root.goal if goal is None else goal,
            base_case=BaseCase(),
            background_intent="",
            deliverables="",
            definition_of_done="",
        ),
        limits=limits,
        spent=Spent(created=max(len(nodes), ids_seen or 0)),
        control=Control(),
        atoms={AtomId(node.id): _atom(node, planning_used.get(node.id, 0)) for node in nodes},
        decompositions=tuple(
            Decomposition(
                parent=AtomId(node.id),
                children=tuple(AtomId(child.id) for child in sorted(node.children, key=place)),
                reason=node.title,
            )
            for node in nodes
            if node.children
        ),
    )


def _atom(node: TreeNode, probes: int) -> Atom:
    return Atom(
        id=AtomId(node.id),
        description=node.goal,
        status=Status.RESOLVED if node.passes else Status.PENDING,
        attempts=node.attempts,
        max_attempts=node.max_attempts,
        probes=probes,
    )
