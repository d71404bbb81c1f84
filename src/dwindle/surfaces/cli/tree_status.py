"""What `dwindle status` says of a tree: its run, its last commit, and the one next step."""

from __future__ import annotations

from typing import Any

from dwindle.kernel.actions import Probe, Work
from dwindle.kernel.graph import attempts_left, max_attempts, probes_left, view
from dwindle.kernel.model import AtomId, Plan, RunStatus
from dwindle.kernel.tree_edits import TREE_ROOT, is_refused
from dwindle.runner.tree_prompt import Mode
from dwindle.surfaces.cli.explain import decided
from dwindle.surfaces.cli.problem_list import problem_lines
from dwindle.surfaces.cli.status import (
    MARGIN,
    labelled,
    measure_rows,
    open_text,
    run_rows,
    session_rows,
)
from dwindle.surfaces.cli.text import WIDTH, listed, one_line
from dwindle.surfaces.plan_files import PlanPath
from dwindle.surfaces.standing import open_atoms
from dwindle.surfaces.tree_run import TreeRun


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


def open_leaves(plan: Plan) -> tuple[AtomId, ...]:
    """From left to right."""
    inner = view(plan).shape.kids
    return tuple(name for name in open_atoms(plan) if name not in inner)


def next_step(plan: Plan) -> dict[str, Any] | None:
    """What would be started now, and what there is left for it; None if nothing would."""
    decision, _ = decided(plan)
    action = next((a for a in decision.actions if isinstance(a, (Work, Probe))), None)
    if action is None:
        return None
    atom = plan.atoms[action.atom]
    mode = Mode.WORK
    if isinstance(action, Probe):
        repairs = action.atom == TREE_ROOT and is_refused(plan)
        mode = Mode.REPAIR if repairs else Mode.PLAN
    return {
        "node": atom.id,
        "mode": mode,
        "because": action.because,
        "attempts_left": attempts_left(plan, atom, view(plan).shape),
        "attempts_limit": max_attempts(plan, atom, view(plan).shape),
        "planning_left": probes_left(plan, atom),
        "planning_limit": plan.limits.max_probes,
    }


def tree_text(file: PlanPath, tree: TreeRun, facts: dict[str, Any]) -> str:
    plan = tree.plan
    leaves = facts["tree"]["open_leaves"]
    count = f"{len(leaves)}: "
    named = f"{count}{listed(leaves, width=WIDTH - MARGIN - len(count))}"
    lines = [
        f"{one_line(file.path)} ({plan.kind} plan)",
        *run_rows(plan, tree.without),
        *_id_rows(tree),
        labelled("iteration", _iteration(tree)),
        labelled("open", open_text(facts)),
        labelled("leaves", named if leaves else "none is open"),
        *session_rows(facts),
        labelled("next", _next(plan, facts["tree"]["next"])),
        *measure_rows(plan, facts),
        *problem_lines(file.path, tree.loaded.problems),
    ]
    return "\n".join(lines)


def _id_rows(tree: TreeRun) -> list[str]:
    run = tree.plan.control.run_id
    return [] if run is None else [labelled("id", f"{run}, on {tree.branch}")]


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
        decision, _ = decided(plan)
        if decision.stop is not None:
            return f"nothing: {decision.stop.reason}"
        return f"nothing: {decision.because}" if decision.because else "nothing"
    left = f"{step['planning_left']} of {step['planning_limit']} planning sessions left"
    if step["mode"] is Mode.WORK:
        left = f"{step['attempts_left']} of {step['attempts_limit']} attempts, {left}"
    return f"{step['node']} ({step['mode']}): {left}"
