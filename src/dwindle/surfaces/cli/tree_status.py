"""The part of `dwindle status` that only a tree has: branch, last commit, next step."""

from __future__ import annotations

from typing import Any

from dwindle.app.plans.standing import open_leaves
from dwindle.app.tree.tree_run import TreeRun, next_decision
from dwindle.kernel.actions import Probe, Work
from dwindle.kernel.graph import attempts_left, max_attempts, probes_left, view
from dwindle.kernel.model import Plan, RunStatus
from dwindle.kernel.tree_edits import TREE_ROOT, is_refused
from dwindle.runner.modes.tree.prompt import Phase


def tree_facts(tree: TreeRun) -> dict[str, Any]:
    """The documented object below `tree`."""
    last = tree.done[-1] if tree.done else None
    return {
        "branch": tree.branch,
        "unfinished": tree.is_unfinished,
        "last": None
        if last is None
        else {
            "iteration": last.iteration.number,
            "node": last.iteration.node,
            "kind": last.iteration.kind,
            "guard": last.iteration.guard,
            "commit": last.commit,
        },
        "open_leaves": list(open_leaves(tree.plan)),
        "next": next_step(tree.plan),
    }


def next_step(plan: Plan) -> dict[str, Any] | None:
    """The session that would start now, and its remaining attempts; None if none would."""
    decision, _ = next_decision(plan)
    action = next((a for a in decision.actions if isinstance(a, (Work, Probe))), None)
    if action is None:
        return None
    atom = plan.atoms[action.atom]
    mode = Phase.WORK
    if isinstance(action, Probe):
        repairs = action.atom == TREE_ROOT and is_refused(plan)
        mode = Phase.REPAIR if repairs else Phase.PLAN
    return {
        "node": atom.id,
        "mode": mode,
        "because": action.because,
        "attempts_left": attempts_left(plan, atom, view(plan).shape),
        "attempts_limit": max_attempts(plan, atom, view(plan).shape),
        "planning_left": probes_left(plan, atom),
        "planning_limit": plan.limits.max_probes,
    }


def tree_words(tree: TreeRun, facts: dict[str, Any]) -> dict[str, str]:
    """The rows that only a tree has, in words; `facts` is what `tree_facts` returned."""
    run = tree.plan.control.run_id
    return {
        "id": "" if run is None else f"{run}, on {tree.branch}",
        "iteration": _iteration(tree),
        "next": _next(tree.plan, facts["next"]),
    }


def _iteration(tree: TreeRun) -> str:
    started = f"{tree.plan.control.iteration} of {tree.plan.limits.max_iterations} started"
    if not tree.done:
        return f"{started}; none is on the branch" if tree.branch else started
    last = tree.done[-1].iteration
    return f"{started}; last {last.number:04}: {last.node} {last.kind} guard={last.guard}"


def _next(plan: Plan, step: dict[str, Any] | None) -> str:
    if step is None:
        if plan.control.status is RunStatus.COMPLETED:
            return "nothing"
        decision, _ = next_decision(plan)
        if decision.stop is not None:
            return f"nothing: {decision.stop.reason}"
        return f"nothing: {decision.because}" if decision.because else "nothing"
    left = f"{step['planning_left']} of {step['planning_limit']} planning sessions left"
    if step["mode"] is Phase.WORK:
        left = f"{step['attempts_left']} of {step['attempts_limit']} attempts, {left}"
    return f"{step['node']} ({step['mode']}): {left}"
