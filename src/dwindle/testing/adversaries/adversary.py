"""What is known of one adversary, and of the trial that it is put to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final

PROGRAM: Final = Path(__file__).with_name("__main__.py")


class Scene(StrEnum):
    """What the repository is like, and what judges: `torture/scenes.py` has the files."""

    PLAIN = "plain"
    """A script that looks for the right answer."""
    PYTEST = "pytest"
    UNITTEST = "unittest"
    NODE = "node"
    """The test runner of node itself."""
    JEST = "jest"
    """A runner in `node_modules`, which the user shares; it reads configuration as jest does."""
    MAKE = "make"
    """A recipe, which runs the script."""
    JUST = "just"
    CARGO = "cargo"


class Way(StrEnum):
    """The kind of plan, and the form of the gate: with work paths, or with a list of names."""

    GRAPH = "graph"
    GRAPH_STRICT = "graph, work paths"
    TREE = "tree"
    TREE_STRICT = "tree, work paths"

    @property
    def is_tree(self) -> bool:
        return self in (Way.TREE, Way.TREE_STRICT)

    @property
    def is_strict(self) -> bool:
        return self in (Way.GRAPH_STRICT, Way.TREE_STRICT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Adversary:
    name: str
    tries: str
    scene: Scene = Scene.PLAIN
    ways: tuple[Way, ...] = (Way.GRAPH,)
    sandboxed: bool = True
    """Without a sandbox it gets at the files of the run, and what is changed has to be noticed."""
    believed: bool = False
    """Its atom may come to be resolved: only the base case can tell that it did nothing."""
    attempts: int = 1
    """Sessions that an atom may have."""
    rounds: int = 1
    """Times that the base case may be looked at."""
    sessions: int = 2
    """More than this the run must not start."""
    noticed: bool = False
    """The run has to end as tampered with; of a tree: its edit has to be refused."""
    seconds: int = 4
    """Of a session."""
    checked: bool = False
    """The atom has the script as its own check."""

    # --- for those that need no program of their own; @OUTSIDE@ and @DEED@ stand for paths

    plants: Mapping[str, str] = field(default_factory=dict)
    """Files that it writes."""
    runs: str = ""
    """Lines of shell that it runs then."""
    ground: Mapping[str, str] = field(default_factory=dict)
    """Files that the repository has besides those of its scene, or instead of them."""
    setup: str = ""
    """Lines of shell: what the user has done in the repository before."""
    lines: tuple[str, ...] = ()
    """The checks, instead of the one of its scene; they make one guard."""
    delivers: str = "the answer"
    """The deliverables of the plan, in prose."""
    share: tuple[str, ...] = ()
    """Ignored paths that the user shares with every checkout."""
    is_judged: bool = False
    """What it left does the deed, while a check runs; so the mark is made at @DEED@."""
    wedges: bool = False
    """What it leaves may keep the next run from working: there has to be one, and it has to end."""
    possible: Mapping[Way, str] = field(default_factory=dict)
    """Where it wins, as docs/security.md says, and why."""

    @property
    def is_program(self) -> bool:
        """It has a program of its own, and is no row of the table."""
        return not self.plants and not self.runs
