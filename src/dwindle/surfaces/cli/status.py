"""dwindle status: where the run stands, and how much of it there can still be.

Called at every turn by people and by hooks, so that it is reached without a command-line framework
and needs neither `decide` nor the events.
"""

from __future__ import annotations

import itertools
from typing import Any

from dwindle.kernel.exit_codes import EXIT_CODES
from dwindle.kernel.graph import view
from dwindle.kernel.measure import gauge, measure, session_bound
from dwindle.kernel.model import ROOT, AtomId, Plan, PlanKind, RunStatus, Status
from dwindle.surfaces.cli.output import say
from dwindle.surfaces.cli.problem_list import problem_json, problem_lines, sound
from dwindle.surfaces.cli.text import (
    WIDTH,
    as_json,
    counted,
    listed,
    money_text,
    one_line,
    painted,
    row,
    time_text,
)
from dwindle.surfaces.plan_files import PlanPath, the_plan
from dwindle.surfaces.standing import open_atoms
from dwindle.wiring import Loaded

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
        from dwindle.surfaces.cli.tree_status import tree_facts, tree_text  # noqa: PLC0415
        from dwindle.surfaces.tree_run import tree_run  # noqa: PLC0415 - a graph needs none of it

        tree = tree_run(file)
        facts = facts_of(file, tree.loaded) | {"tree": tree_facts(tree)}
        return say(as_json(facts) if json else tree_text(file, tree, facts))
    loaded = sound(file)
    facts = facts_of(file, loaded)
    return say(as_json(facts) if json else text_of(file, loaded, facts))


def _spending(file: PlanPath, run: str | None) -> dict[str, Any] | None:
    """What the run has cost, by role; None if no journal says so, or none that is soon read."""
    if run is None:
        return None
    from dwindle.surfaces.spending_text import spending_data  # noqa: PLC0415 - once it has begun
    from dwindle.surfaces.spent_on_record import spent_beside  # noqa: PLC0415

    found = spent_beside(file.path, run)
    return None if found is None else spending_data(found)


def facts_of(file: PlanPath, loaded: Loaded) -> dict[str, Any]:
    """The documented object, in the documented order."""
    plan = loaded.plan
    assert plan is not None  # noqa: S101 - `sound` has seen to it
    seen, limits, spent, control = view(plan), plan.limits, plan.spent, plan.control
    still_open = open_atoms(plan)
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
        "next": next_leaf(plan),
        "gauge": gauge(plan),
        "bound": bound(plan),
        "measure": measure(plan)._asdict(),
        "budgets": {
            "wall_seconds": {"spent": spent.seconds, "limit": limits.max_wall_seconds},
            "tokens": {"spent": spent.tokens, "limit": limits.max_tokens},
            "usd": {"spent": spent.usd, "limit": limits.max_cost_usd},
        },
        "spending": _spending(file, control.run_id),
        "redirects_left": limits.max_redirects - spent.redirects,
        "warnings": [problem_json(problem) for problem in loaded.problems],
        "tree": None,
    }


def next_leaf(plan: Plan) -> AtomId | None:
    """Of a tree, the one leaf that is next; what a graph starts is `explain`'s answer."""
    if plan.kind is not PlanKind.TREE:
        return None
    inner = view(plan).shape.kids
    return next((name for name in open_atoms(plan) if name not in inner), None)


def bound(plan: Plan) -> int:
    """Agent sessions that there can still be; a completed run is never run again."""
    return 0 if plan.control.status is RunStatus.COMPLETED else session_bound(plan)


def text_of(file: PlanPath, loaded: Loaded, facts: dict[str, Any]) -> str:
    plan = loaded.plan
    assert plan is not None  # noqa: S101 - `sound` has seen to it
    control, limits = plan.control, plan.limits
    done = f"{control.iteration} of {limits.max_iterations}"
    stalls = f"stalls {control.stall_count} of {limits.max_stall_count}"
    lines = [
        f"{one_line(file.path)} ({plan.kind} plan)",
        *run_rows(plan),
        labelled("iteration", f"{done}; {stalls}"),
        labelled("open", open_text(facts)),
        labelled("ready", listed(facts["ready"], width=WIDTH - MARGIN)),
        *session_rows(facts),
        *measure_rows(plan, facts),
        labelled("redirects", f"{facts['redirects_left']} left"),
        *problem_lines(file.path, loaded.problems),
    ]
    return "\n".join(lines)


def open_text(facts: dict[str, Any]) -> str:
    count = f"{facts['atoms']['open']}: "
    still_open = listed(facts["open"], width=WIDTH - MARGIN - len(count))
    return f"{count}{still_open}" if facts["open"] else "nothing"


def session_rows(facts: dict[str, Any]) -> list[str]:
    running = [f"{one['atom'] or 'the base case'} ({one['role']})" for one in facts["running"]]
    return [
        labelled("running", listed(running, width=WIDTH - MARGIN)),
        labelled("exhausted", listed(facts["exhausted"], width=WIDTH - MARGIN)),
    ]


def measure_rows(plan: Plan, facts: dict[str, Any]) -> list[str]:
    return [
        labelled("gauge", f"{facts['gauge']:,} (falls with every step)"),
        labelled("bound", f"at most {counted(facts['bound'], 'more agent session')}"),
        labelled("measure", ", ".join(f"{k} {v}" for k, v in facts["measure"].items())),
        labelled("budgets", _budgets(plan, facts["spending"])),
        *spending_rows(facts["spending"]),
    ]


def spending_rows(spending: dict[str, Any] | None) -> list[str]:
    """A line for each role, of which there are few."""
    if spending is None:
        return []
    from dwindle.surfaces.spending import Total  # noqa: PLC0415 - as above
    from dwindle.surfaces.spending_text import amounts_text  # noqa: PLC0415

    roles = spending["by_role"].items()
    labels = itertools.chain(("by role",), itertools.repeat(""))
    return [
        labelled(label, f"{role}: {amounts_text(Total(**of))}")
        for label, (role, of) in zip(labels, roles, strict=False)
    ]


def run_rows(plan: Plan, more: str = "") -> list[str]:
    control = plan.control
    said = str(control.status)
    over = control.status not in (RunStatus.COMPLETED, RunStatus.RUNNING)
    if control.stop_code is not None and over:
        said += f", {control.stop_code} (exit code {EXIT_CODES[control.stop_code]})"
    first = labelled("run", said, more=control.stop_reason or more)
    lines = [
        first.replace(str(control.status), painted(control.status, COLOURS[control.status]), 1)
    ]
    asked = ["stop"] * control.stop_requested + ["redirect"] * control.redirect_requested
    if asked:
        lines.append(labelled("requested", " and ".join(asked)))
    return lines


def _budgets(plan: Plan, spending: dict[str, Any] | None) -> str:
    spent, limits = plan.spent, plan.limits
    tokens = "without limit" if limits.max_tokens is None else f"of {limits.max_tokens:,}"
    usd = "without limit" if limits.max_cost_usd is None else f"of {limits.max_cost_usd:,.2f}"
    about = spending is not None and spending["run"]["estimated"]
    return (
        f"{time_text(spent.seconds)} of {time_text(limits.max_wall_seconds)}; "
        f"{spent.tokens:,} tokens {tokens}; {money_text(spent.usd, estimated=about)} {usd}"
    )


def labelled(label: str, text: str, more: str = "") -> str:
    return row(label, text, margin=MARGIN, more=more)
