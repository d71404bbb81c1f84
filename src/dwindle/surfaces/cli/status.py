"""dwindle status: where the run stands, and how much of it there can still be.

Called at every turn by people and by hooks, so that it is reached without a command-line framework
and needs neither `decide` nor the events.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from dwindle.app.console import as_json, painted, say
from dwindle.app.plans.load import Loaded
from dwindle.app.plans.plan_files import PlanPath, the_plan
from dwindle.app.plans.problem_list import problem_json, problem_lines, sound
from dwindle.app.plans.standing import open_atoms
from dwindle.app.plans.undone import data, line, undone
from dwindle.kernel.graph import view
from dwindle.kernel.measure import gauge, measure, session_bound
from dwindle.kernel.model import EXIT_CODES, ROOT, Plan, PlanKind, RunStatus, Status
from dwindle.text import amounts
from dwindle.text.terminal import WIDTH, listed, one_line, row, without_rulers

if TYPE_CHECKING:
    from dwindle.app.tree.tree_run import TreeRun

MARGIN = 11
COLOURS = {
    RunStatus.PENDING: "dim",
    RunStatus.RUNNING: "blue",
    RunStatus.STOPPED: "yellow",
    RunStatus.COMPLETED: "green",
}


def status(*, json: bool = False, plan: PlanKind | None = None) -> int:
    """Print where the run stands.

    Args:
        json: Print one JSON object.
        plan: Which plan, where there are two.
    """
    file = the_plan(plan)
    if file.kind is PlanKind.TREE:
        from dwindle.app.tree.tree_run import tree_run  # noqa: PLC0415 - a graph needs none of it
        from dwindle.surfaces.cli.tree_status import tree_facts, tree_words  # noqa: PLC0415

        tree = tree_run(file)
        facts = plan_facts(file, tree.loaded) | {"tree": tree_facts(tree)}
        facts["next"] = (facts["tree"]["next"] or {}).get("node")
        words = tree_words(tree, facts["tree"])
        return say(as_json(facts) if json else tree_text(file, tree, facts, words))
    loaded = sound(file)
    facts = plan_facts(file, loaded)
    return say(as_json(facts) if json else text_of(file, loaded, facts))


def _spending(file: PlanPath, run: str | None) -> dict[str, Any] | None:
    """What the run has cost, by role; None if no journal says so, or none that is soon read."""
    if run is None:
        return None
    from dwindle.app.spending.skim import spending_beside  # noqa: PLC0415
    from dwindle.app.spending.text import spending_data  # noqa: PLC0415 - once it has begun

    found = spending_beside(file.path, run)
    return None if found is None else spending_data(found)


def plan_facts(file: PlanPath, loaded: Loaded) -> dict[str, Any]:
    """The documented object, in the documented order."""
    plan = loaded.plan
    assert plan is not None  # noqa: S101 - `sound` has seen to it
    seen, limits, spent, control = view(plan), plan.limits, plan.spent, plan.control
    still_open, found = open_atoms(plan), undone(plan)
    return {
        "path": file.path,
        "kind": plan.kind,
        "run": {
            "status": control.status,
            "stop_code": control.stop_code,
            "exit_code": None if control.stop_code is None else EXIT_CODES[control.stop_code],
            "stop_reason": control.stop_reason,
            "stop_requested": control.stop_requested,
            "redirect_requested": control.redirect_requested,
            "run_id": control.run_id,
            "revision": control.revision,
        },
        "iteration": {"done": control.iteration, "limit": limits.max_iterations},
        "stalls": {"count": control.stall_count, "limit": limits.max_stall_count},
        "atoms": {
            "total": len(plan.atoms),
            "resolved": sum(a.status is Status.RESOLVED for a in plan.atoms.values()),
            "open": seen.open_count,
        },
        "open": list(still_open),
        "ready": list(seen.ready),
        "running": [
            {
                "atom": None if name == ROOT else name,
                "role": session.role,
                "session": session.number,
                "nonce": session.nonce,
            }
            for name, session in plan.sessions.items()
        ],
        "exhausted": list(seen.exhausted),
        "parked": [data(one) for one in found if one.is_parked],
        "failing": [data(one) for one in found if not one.is_parked],
        "next": None,
        "gauge": gauge(plan),
        "bound": bound(plan),
        "measure": measure(plan)._asdict(),
        "budgets": {
            "wall_seconds": {"spent": spent.seconds, "limit": limits.max_wall_seconds},
            "tokens": {"spent": spent.tokens, "limit": limits.max_tokens},
            "usd": {"spent": spent.usd, "limit": limits.max_cost_usd},
            "winds": {"spent": spent.winds, "limit": limits.max_winds},
        },
        "spending": _spending(file, control.run_id),
        "redirects_left": limits.max_redirects - spent.redirects,
        "warnings": [problem_json(problem) for problem in loaded.problems],
        "tree": None,
    }


def bound(plan: Plan) -> int:
    """Agent sessions that there can still be; a completed run is never run again."""
    return 0 if plan.control.status is RunStatus.COMPLETED else session_bound(plan)


def text_of(file: PlanPath, loaded: Loaded, facts: dict[str, Any]) -> str:
    plan = loaded.plan
    assert plan is not None  # noqa: S101 - `sound` has seen to it
    control, limits = plan.control, plan.limits
    done = f"{control.iteration} of {limits.max_iterations}"
    stalls = f"stalls {control.stall_count} of {limits.max_stall_count}"
    winds = f"winds {plan.spent.winds} of {limits.max_winds}"
    lines = [
        f"{one_line(file.path)} ({plan.kind} plan)",
        *run_rows(plan),
        labelled("iteration", f"{done}; {stalls}; {winds}"),
        labelled("open", open_text(facts)),
        labelled("ready", listed(facts["ready"], width=WIDTH - MARGIN)),
        *session_rows(plan, facts),
        *measure_rows(plan, facts),
        labelled("redirects", f"{facts['redirects_left']} left"),
        *problem_lines(file.path, loaded.problems),
    ]
    return "\n".join(lines)


def tree_text(file: PlanPath, tree: TreeRun, facts: dict[str, Any], words: dict[str, str]) -> str:
    plan, leaves = tree.plan, facts["tree"]["open_leaves"]
    count = f"{len(leaves)}: "
    named = f"{count}{listed(leaves, width=WIDTH - MARGIN - len(count))}"
    lines = [
        f"{one_line(file.path)} ({plan.kind} plan)",
        *run_rows(plan, tree.without),
        *([labelled("id", words["id"])] if words["id"] else []),
        labelled("iteration", words["iteration"]),
        labelled("open", open_text(facts)),
        labelled("leaves", named if leaves else "none is open"),
        *session_rows(plan, facts),
        labelled("next", words["next"]),
        *measure_rows(plan, facts),
        *problem_lines(file.path, tree.loaded.problems),
    ]
    return "\n".join(lines)


def open_text(facts: dict[str, Any]) -> str:
    count = f"{facts['atoms']['open']}: "
    still_open = listed(facts["open"], width=WIDTH - MARGIN - len(count))
    return f"{count}{still_open}" if facts["open"] else "nothing"


def session_rows(plan: Plan, facts: dict[str, Any]) -> list[str]:
    running = [f"{one['atom'] or 'the base case'} ({one['role']})" for one in facts["running"]]
    return [
        labelled("running", listed(running, width=WIDTH - MARGIN)),
        *undone_rows(plan),
    ]


def undone_rows(plan: Plan) -> list[str]:
    """What is parked, and what failed and is not done yet: all of it, the most important first."""
    rows, last = [], ""
    for one in undone(plan):
        rows.append(labelled("" if one.label == last else one.label, line(plan, one)))
        last = one.label
    return rows or [labelled("parked", "none")]


def measure_rows(plan: Plan, facts: dict[str, Any]) -> list[str]:
    return [
        labelled("gauge", f"{amounts.count(facts['gauge'])} (falls with every step)"),
        labelled("bound", f"at most {amounts.count(facts['bound'], 'more agent session')}"),
        labelled("measure", ", ".join(f"{k} {v}" for k, v in facts["measure"].items())),
        labelled("budgets", _budgets(plan, facts["spending"])),
        *spending_rows(facts["spending"]),
    ]


def spending_rows(spending: dict[str, Any] | None) -> list[str]:
    """A line for each role, of which there are few."""
    if spending is None:
        return []
    from dwindle.app.spending.account import Total  # noqa: PLC0415 - as above

    roles = spending["by_role"].items()
    labels = itertools.chain(("by role",), itertools.repeat(""))
    return [
        labelled(label, f"{role}: {amounts.spending(Total(**of))}")
        for label, (role, of) in zip(labels, roles, strict=False)
    ]


def run_rows(plan: Plan, more: str = "") -> list[str]:
    control = plan.control
    said = str(control.status)
    over = control.status not in (RunStatus.COMPLETED, RunStatus.RUNNING)
    if control.stop_code is not None and over:
        said += f", {control.stop_code} (exit code {EXIT_CODES[control.stop_code]})"
    first = labelled("run", said, more=without_rulers(control.stop_reason or more))
    lines = [
        first.replace(str(control.status), painted(control.status, COLOURS[control.status]), 1)
    ]
    asked = ["stop"] * control.stop_requested + ["redirect"] * control.redirect_requested
    if asked:
        lines.append(labelled("requested", " and ".join(asked)))
    return lines


def _budgets(plan: Plan, spending: dict[str, Any] | None) -> str:
    spent, limits = plan.spent, plan.limits
    tokens = amounts.budget("tokens", spent.tokens, limits.max_tokens)
    about = spending is not None and spending["run"]["estimated"]
    usd = amounts.budget("usd", spent.usd, limits.max_cost_usd, estimated=about)
    return "; ".join(
        (
            amounts.budget("seconds", spent.seconds, limits.max_wall_seconds),
            tokens if limits.max_tokens is not None else f"{tokens} without limit",
            usd if limits.max_cost_usd is not None else f"{usd} without limit",
        )
    )


def labelled(label: str, text: str, more: str = "") -> str:
    return row(label, text, margin=MARGIN, more=more)
