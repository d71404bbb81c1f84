"""What a run on a tree needs beyond what every run needs; nothing, where there is no tree."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dwindle.adapters.workspaces.standing import ALL_BUT_OURS, STATUS
from dwindle.kernel.model import PlanKind
from dwindle.runner import node_tools
from dwindle.surfaces.cli.problem_list import Unsound
from dwindle.surfaces.cli.text import listed
from dwindle.surfaces.committed import ask_git
from dwindle.surfaces.finding import Finding, State
from dwindle.surfaces.lock_table import is_held
from dwindle.surfaces.plan_files import PlanPath
from dwindle.surfaces.refusal import Refused
from dwindle.surfaces.scaffold import FILES
from dwindle.surfaces.tree_only import TREE, has_only_a_tree
from dwindle.surfaces.tree_run import TreeRun, tree_run

GOAL_FILE = ".runner/GOAL.md"


def tree_findings(root: Path) -> Iterator[Finding]:
    if not (root / TREE).exists():
        return
    tree = None
    try:
        tree = tree_run(PlanPath(str(root / TREE), PlanKind.TREE))
        yield Finding(name="tree", state=State.OK, what=TREE)
    except Unsound as error:
        hint = "`dwindle validate` lists them"
        yield Finding(name="tree", state=_lacking(root), what=f"{TREE}: {error.what}", hint=hint)
    except Refused as error:
        yield Finding(name="tree", state=_lacking(root), what=f"{TREE}: {error.what}")
    yield _goal(root)
    yield from _tools(root)
    yield _checkout(root, tree)


def _lacking(root: Path) -> State:
    """With a graph beside it, a run could start all the same."""
    return State.WRONG if has_only_a_tree(root) else State.NOTE


def _goal(root: Path) -> Finding:
    try:
        goal = (root / GOAL_FILE).read_bytes()
    except OSError:
        goal = b""
    if not goal.strip():
        what = f"there is no {GOAL_FILE}; the root's own sentence is the goal"
        return Finding(name="goal", state=State.NOTE, what=what)
    if goal == FILES[GOAL_FILE]:
        what = f"`dwindle init` made {GOAL_FILE}, and nobody has written a goal into it yet"
        return Finding(name="goal", state=State.NOTE, what=what)
    return Finding(name="goal", state=State.OK, what=GOAL_FILE)


def _tools(root: Path) -> Iterator[Finding]:
    """Lists of tools that nobody could go by: no session is begun on such a node."""
    for path in sorted((root / node_tools.FOLDER).glob(f"*/{node_tools.NAME}")):
        name = path.relative_to(root).as_posix()
        for problem in node_tools.tools_at(root, name).problems:
            what = f"{name}: {problem.what}"
            yield Finding(name="tools", state=_lacking(root), what=what, hint=problem.hint)


def _checkout(root: Path, tree: TreeRun | None) -> Finding:
    """A tree is worked on in place: what lies around there would become part of a commit."""
    if is_held(root / ".runner"):
        return Finding(name="checkout", state=State.NOTE, what="a run is at work in it")
    try:
        said = ask_git(root, *STATUS, *ALL_BUT_OURS)
    except Refused as error:
        return Finding(name="checkout", state=_lacking(root), what=error.what)
    if said.returncode:
        what = "git cannot say whether it is clean"
        return Finding(name="checkout", state=State.NOTE, what=what)
    dirt = [line[3:] for line in said.stdout.decode(errors="replace").split("\0") if line]
    if not dirt:
        return Finding(name="checkout", state=State.OK, what="clean")
    what = f"not clean: {listed(dirt)}"
    if tree is not None and tree.is_unfinished:
        hint = "an iteration was cut short; `dwindle run` sets aside what it left"
        return Finding(name="checkout", state=State.NOTE, what=what, hint=hint)
    hint = "commit or stash it: every iteration begins and ends with a commit"
    return Finding(name="checkout", state=_lacking(root), what=what, hint=hint)
