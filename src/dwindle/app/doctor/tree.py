"""What a run of a tree plan needs besides; nothing, if there is no tree."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dwindle.adapters.git.in_place.run_branch import ALL_BUT_OURS, STATUS
from dwindle.app.ask_git import ask_git
from dwindle.app.doctor.diagnosis import Diagnosis, Severity
from dwindle.app.init.scaffold import FILES
from dwindle.app.paths import TREE_FILE
from dwindle.app.plans.plan_files import PlanPath, has_only_a_tree, is_locked
from dwindle.app.plans.problem_list import Unsound
from dwindle.app.refusal import Refused
from dwindle.app.tree.tree_run import TreeRun, tree_run
from dwindle.kernel.model import PlanKind
from dwindle.runner.modes.tree import node_tools
from dwindle.text.terminal import listed

GOAL_FILE = ".runner/GOAL.md"


def tree_findings(root: Path) -> Iterator[Diagnosis]:
    if not (root / TREE_FILE).exists():
        return
    tree = None
    try:
        tree = tree_run(PlanPath(str(root / TREE_FILE), PlanKind.TREE))
        yield Diagnosis(name="tree", state=Severity.OK, what=TREE_FILE)
    except Unsound as error:
        hint = "`dwindle validate` lists them"
        yield Diagnosis(
            name="tree", state=_lacking(root), what=f"{TREE_FILE}: {error.what}", hint=hint
        )
    except Refused as error:
        yield Diagnosis(name="tree", state=_lacking(root), what=f"{TREE_FILE}: {error.what}")
    yield _goal(root)
    yield from _tools(root)
    yield _checkout(root, tree)


def _lacking(root: Path) -> Severity:
    """With a graph plan beside the tree, a run could still start."""
    return Severity.WRONG if has_only_a_tree(root) else Severity.NOTE


def _goal(root: Path) -> Diagnosis:
    try:
        goal = (root / GOAL_FILE).read_bytes()
    except OSError:
        goal = b""
    if not goal.strip():
        what = f"there is no {GOAL_FILE}; the goal of the root node is used"
        return Diagnosis(name="goal", state=Severity.NOTE, what=what)
    if goal == FILES[GOAL_FILE]:
        what = f"{GOAL_FILE} is still as `dwindle init` made it: no goal is written in it"
        return Diagnosis(name="goal", state=Severity.NOTE, what=what)
    return Diagnosis(name="goal", state=Severity.OK, what=GOAL_FILE)


def _tools(root: Path) -> Iterator[Diagnosis]:
    """Invalid lists of tools: no session starts on such a node."""
    for path in sorted((root / node_tools.FOLDER).glob(f"*/{node_tools.NAME}")):
        name = path.relative_to(root).as_posix()
        for problem in node_tools.tools_at(root, name).problems:
            what = f"{name}: {problem.what}"
            yield Diagnosis(name="tools", state=_lacking(root), what=what, hint=problem.hint)


def _checkout(root: Path, tree: TreeRun | None) -> Diagnosis:
    """Agents work on a tree in place: uncommitted files would become part of a commit."""
    if is_locked(root / ".runner"):
        return Diagnosis(name="checkout", state=Severity.NOTE, what="a run is using it")
    try:
        said = ask_git(root, *STATUS, *ALL_BUT_OURS)
    except Refused as error:
        return Diagnosis(name="checkout", state=_lacking(root), what=error.what)
    if said.returncode:
        what = "git cannot say whether it is clean"
        return Diagnosis(name="checkout", state=Severity.NOTE, what=what)
    dirt = [line[3:] for line in said.stdout.decode(errors="replace").split("\0") if line]
    if not dirt:
        return Diagnosis(name="checkout", state=Severity.OK, what="clean")
    what = f"not clean: {listed(dirt)}"
    if tree is not None and tree.is_unfinished:
        hint = "an iteration was interrupted; `dwindle run` sets its changes aside"
        return Diagnosis(name="checkout", state=Severity.NOTE, what=what, hint=hint)
    hint = "commit it (`git add . && git commit -m 'Before the run'`) or stash it"
    return Diagnosis(name="checkout", state=_lacking(root), what=what, hint=hint)
