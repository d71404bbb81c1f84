"""dwindle replay: decide a run again from its record, and compare."""

from __future__ import annotations

from pathlib import Path

from dwindle.app.console import complain, say
from dwindle.app.errors import JournalDamaged, StoreFailed
from dwindle.app.journal.replay import FileDiffers, replay_run
from dwindle.app.journal.run_journal import run_named, run_of_plan
from dwindle.app.paths import JOURNALS, start_of
from dwindle.app.plans.plan_files import root_of_here
from dwindle.app.tree.branch_history import RunBranch, branch_of
from dwindle.kernel.model import PlanKind
from dwindle.runner.replay import Differs
from dwindle.text import amounts

DIFFERENT = 1


def replay(run: str | None = None, /, *, plan: PlanKind | None = None) -> int:
    """Decide a run again from its journal and compare the plan that comes of it.

    Args:
        run: The id of a run; the run of the plan, if left out.
        plan: Which plan, where there are two.
    """
    root = root_of_here()
    branch = _tree_branch(root, run or run_of_plan(root, plan))
    if branch is not None:
        return _tree(root, branch)
    try:
        return say(replay_run(root, run_named(root, run, plan)))
    except (JournalDamaged, Differs, FileDiffers) as error:
        return _different(str(error))


def _tree_branch(root: Path, run: str | None) -> RunBranch | None:
    """The branch of a tree run; None for a graph run, which keeps its first plan."""
    try:
        if run is None or start_of(root / JOURNALS, run).exists():
            return None
    except StoreFailed:  # it cannot even be the name of one
        return None
    return branch_of(root, run)


def _tree(root: Path, branch: RunBranch) -> int:
    from dwindle.app.tree.replay_tree import ReplayMismatch, replay_tree  # noqa: PLC0415

    try:
        count = replay_tree(root, branch)
    except JournalDamaged as error:
        return _different(str(error))
    except ReplayMismatch as difference:
        return _different(str(difference))
    if not count:
        return say(f"{branch.run}: no iteration is on {branch.name} yet")
    again = f"{amounts.count(count, 'iteration')} decided again"
    return say(f"{branch.run}: {again}, and every tree on {branch.name} has the same bytes")


def _different(what: str) -> int:
    complain(f"dwindle: DIFFERENT: {what}")
    return DIFFERENT
