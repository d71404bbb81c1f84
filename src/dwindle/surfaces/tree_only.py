"""Commands that are about a graph plan, in a repository that has a tree and no graph."""

from __future__ import annotations

from pathlib import Path

from dwindle import wiring
from dwindle.kernel.model import PlanKind
from dwindle.surfaces.refusal import Refused

TREE = wiring.PLAN_FILES[PlanKind.TREE]


def has_only_a_tree(root: Path) -> bool:
    graph = root / wiring.PLAN_FILES[PlanKind.GRAPH]
    return not graph.exists() and (root / TREE).exists()


def refuse_for_tree(root: Path, what: str, instead: str) -> None:
    """Refused, with what to do instead, if the only plan here is a tree."""
    if has_only_a_tree(root):
        raise Refused(what, where=TREE, hint=instead)
