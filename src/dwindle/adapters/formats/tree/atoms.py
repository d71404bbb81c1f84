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

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from dwindle.adapters.formats.tree.file import decode
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
from dwindle.kernel.tree_edits import TREE_ROOT

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

_NONE: Final[Mapping[AtomId, int]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeStep:
    """One iteration on the branch: its node, and the tree file before and after it."""

    node: str
    before: bytes
    after: bytes


def to_plan(  # noqa: PLR0913 - a tree, and what is not in its file
    tree: TreeDocument,
    *,
    limits: Limits = TREE_LIMITS,
    goal: str | None = None,
    execute_root: bool = True,
    planned: Mapping[AtomId, int] = _NONE,
    ids_seen: int | None = None,
) -> Plan:
    """The plan of a valid tree.

    `goal` is the goal's text where the root's own sentence is not enough. A root that is not to be
    executed has no attempts: it is only planned. `planned` has the planning sessions that each node
    has used (see `plannings_used`). `ids_seen` counts the ids that were ever on the
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
                planned.get(AtomId(node.id), 0),
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


def plannings_used(steps: Iterable[TreeStep], *, execute_root: bool = True) -> dict[AtomId, int]:
    """The planning sessions that each node has used, from what iterations did to its `attempts`.

    A session that planned leaves them as they were. One that failed raises them; if none was left
    before, it was a planning session. Only the runner lowers them: for a leaf that was rewritten
    and paid a planning session for it, whichever node the iteration was about.
    """
    used: Counter[AtomId] = Counter()
    for step in steps:
        before, after = _by_id(step.before), _by_id(step.after)
        for name, was in before.items():
            now = after.get(name)
            if now is None or now.passes:
                continue
            is_own = name == step.node
            most = 0 if name == TREE_ROOT and not execute_root else was.max_attempts
            stayed, spent = now.attempts == was.attempts, was.attempts >= most
            if now.attempts < was.attempts or (is_own and (stayed or spent)):
                used[AtomId(name)] += 1
    return used


def _by_id(content: bytes) -> dict[str, TreeNode]:
    tree = decode(content).tree
    return {} if tree is None else {path[-1].id: path[-1] for path in depth_first(tree.root)}


def _atom(node: TreeNode, planned: int, *, most: int) -> Atom:
    return Atom(
        id=AtomId(node.id),
        description=node.goal,
        status=Status.RESOLVED if node.passes else Status.PENDING,
        attempts=node.attempts,
        max_attempts=most,
        probes=planned,
    )
