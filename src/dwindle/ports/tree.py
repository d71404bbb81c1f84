"""The task tree's file, as the runner needs it: judged after an agent, written back by us.

What may stand in the file and what an agent may do to it is the format's business. The runner sees
nodes to show, an edit for the kernel, and bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from dwindle.kernel.model import Plan, Problem, TreeEdit


class Node(Protocol):
    """One goal; what is below it is sorted."""

    @property
    def id(self) -> str: ...
    @property
    def order(self) -> int: ...
    @property
    def title(self) -> str: ...
    @property
    def goal(self) -> str: ...
    @property
    def acceptance(self) -> tuple[str, ...]: ...
    @property
    def passes(self) -> bool: ...
    @property
    def attempts(self) -> int: ...
    @property
    def max_attempts(self) -> int: ...
    @property
    def children(self) -> tuple[Node, ...]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What became of the tree file in an agent's hands."""

    content: bytes
    """The tree that holds from now on, in canonical form: the agent's, or the last valid one."""
    edit: TreeEdit | None = None
    """For the kernel; None if nothing was changed, or nothing of it is taken."""
    problems: tuple[Problem, ...] = ()
    """Why nothing of it is taken; empty if there is no reason."""


class TreeFormat(Protocol):
    def root(self, content: bytes) -> Node:
        """The tree in a file that is known to be valid."""
        ...

    def subtree(self, content: bytes, node: str) -> str:
        """One node with all that is below it, as the file would have it."""
        ...

    def judged(self, before: bytes, after: bytes | None, gone: Mapping[str, None]) -> Judged:
        """What an agent left, compared with what it was given. `after` None: there is no file.

        `gone` are ids that were on the branch once: they do not come back.
        """
        ...

    def written(self, content: bytes, plan: Plan) -> bytes:
        """The tree with the runner's own fields as the plan has them."""
        ...
