"""A task tree as an agent leaves it: the noun that news about a tree carries.

What becomes of it in a plan is in `tree_edits`; what the file may look like is for its format.
"""

from __future__ import annotations

from dataclasses import dataclass

from dwindle.kernel.model import AtomId


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeAtom:
    """One node of a task tree: what an agent may say about it."""

    id: AtomId
    parent: AtomId | None
    """None for the root alone."""
    title: str
    description: str
    max_attempts: int
    """Counts for a new node only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeEdit:
    """The whole tree as an agent left it, parents first, siblings in their order."""

    nodes: tuple[TreeAtom, ...]
