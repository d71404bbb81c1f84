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

from dwindle.adapters.formats.tree.rules import MAX_DEPTH
from dwindle.adapters.formats.tree.walk import depth_first, derive_passes, place
from dwindle.adapters.formats.tree.wire import TreeDocument, TreeNode
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
from dwindle.ports.iteration import Kind

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
    max_winds=0,
    session_timeout_seconds=1800,
    dispatch=Dispatch.WAVE,
)
"""What holds for a tree unless configured: no redirects, no verification rounds, no choices."""

Charges = Mapping[AtomId, Mapping[Kind, int]]
"""How many iterations of each kind the branch has for a node."""

_NONE: Final[Charges] = {}


def to_plan(  # noqa: PLR0913 - a tree, and what is not in its file
    tree: TreeDocument,
    *,
    limits: Limits = TREE_LIMITS,
    goal: str | None = None,
    execute_root: bool = False,
    charged: Charges = _NONE,
    ids_seen: int | None = None,
) -> Plan:
    """The plan of a valid tree.

    `goal` is the goal's text where the root's own sentence is not enough. A root that is not to be
    executed has no attempts: it is only planned. `ids_seen` counts the ids that were ever on the
    branch; those that stand in the tree now are counted in any case.
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
        atoms={
            AtomId(node.id): _atom(
                node,
                charged.get(AtomId(node.id), {}),
                most=0 if node is nodes[0] and not execute_root else node.max_attempts,
            )
            for node in nodes
        },
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


def planning_used(attempts: int, most: int, iterations: Mapping[Kind, int]) -> int:
    """Planning sessions of a node, from what its commits say and its counter holds.

    A commit says decompose or execute. Every execute has raised `attempts`; so has a decompose
    whose session failed. Up to the node's `most`, these were sessions that might have worked, and
    what is above it were planning sessions that failed: only those come after the last attempt.
    """
    worked = max(0, min(attempts, most) - iterations.get(Kind.EXECUTE, 0))
    return max(0, iterations.get(Kind.DECOMPOSE, 0) - worked)


def _atom(node: TreeNode, iterations: Mapping[Kind, int], *, most: int) -> Atom:
    return Atom(
        id=AtomId(node.id),
        description=node.goal,
        status=Status.RESOLVED if node.passes else Status.PENDING,
        attempts=node.attempts,
        max_attempts=most,
        probes=planning_used(node.attempts, most, iterations),
    )
