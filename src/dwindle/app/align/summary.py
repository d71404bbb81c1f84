"""What `align` says when it is done, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dwindle.adapters.formats.graph.spelling import texts
from dwindle.app.console import painted
from dwindle.app.paths import PLAN_FILE
from dwindle.app.plans.problem_list import problem_json
from dwindle.kernel.base_case import Verdict
from dwindle.kernel.measure import session_bound
from dwindle.kernel.model import Plan
from dwindle.kernel.proposal import USUAL_SUCCESS, expected_sessions, size_of
from dwindle.runner.alignment import Alignment, Baseline
from dwindle.runner.gate.steering import exempt_files
from dwindle.text import amounts
from dwindle.text.terminal import listed, one_line, row

MARGIN = 11


def alignment_facts(ready: Alignment, kept: str | None) -> dict[str, Any]:
    """The documented object, in the documented order."""
    plan = ready.plan
    aligned = plan.control.aligned
    assert aligned is not None  # noqa: S101 - alignment has seen to it
    return {
        "path": PLAN_FILE,
        "run_id": plan.control.run_id,
        "commit": aligned.commit,
        "pins": list(aligned.pins),
        "work_paths": list(plan.objective.work_paths),
        "exempt": list(exempt_files(plan.objective)),
        "base_case": {
            "baseline": ready.baseline,
            "checks": [
                {
                    "item": one.item,
                    "type": one.result.check.type,
                    "value": one.result.check.value,
                    "verdict": one.result.verdict,
                    "evidence": one.result.evidence,
                    "seconds": one.result.seconds,
                }
                for one in ready.seen.findings
            ],
        },
        "atoms": len(plan.atoms),
        "expected": expected_sessions(size_of(plan)),
        "bound": session_bound(plan),
        "kept": kept,
        "warnings": [problem_json(problem) for problem in ready.warnings],
    }


def text_of(ready: Alignment, kept: str | None, *, starts: bool = False) -> str:
    """`starts`: the run begins right away."""
    plan = ready.plan
    aligned = plan.control.aligned
    assert aligned is not None  # noqa: S101 - as above
    first_look = {
        Baseline.RED: painted("red, as it should be", "red"),
        Baseline.ALREADY_GREEN: painted("GREEN ALREADY, before any work", "green"),
        Baseline.COULD_NOT_RUN: painted("could not run yet", "yellow"),
    }[ready.baseline]
    lines = [
        f"{PLAN_FILE}: {painted('aligned', 'green')}",
        _row("run", plan.control.run_id or ""),
        _row("commit", aligned.commit),
        *_paths("pins", aligned.pins),
        *_work_paths(plan, ready.proposed),
        f"{'base case':<{MARGIN}}{first_look}",
        *checked_rows(ready),
        _row("atoms", f"{len(plan.atoms)}: {listed(plan.atoms, width=60)}"),
        *outlook_rows(plan),
    ]
    lines += _paths("old plan", [kept]) if kept else []
    return "\n".join([*lines, *([] if starts else ["`dwindle run` starts it."])])


def outlook_rows(plan: Plan) -> list[str]:
    """What the run may take."""
    return [_row("sessions", sessions_text(plan)), _row("limits", limits_text(plan))]


def _work_paths(plan: Plan, proposed: Sequence[str]) -> list[str]:
    """Where workers may change files, or what would say so; and what is free because it is asked.

    A file of the judge that the words of the plan free is always listed.
    """
    if plan.objective.work_paths:
        return _paths("work paths", plan.objective.work_paths)
    lines = [
        _row("work paths", "none: workers may change any file but pins and what steers the tests"),
        _row("", f"to be strict, add to the objective: work_paths: {texts(proposed)}"),
    ]
    exempt = exempt_files(plan.objective)
    return [*lines, *(_paths("free", exempt) if exempt else [])]


def sessions_text(plan: Plan) -> str:
    """How many to expect, and how many at most."""
    expected = expected_sessions(size_of(plan))
    often = f"{USUAL_SUCCESS:.0%}".replace("%", " %")
    bound = session_bound(plan)
    most, about = (
        amounts.count(bound, "session"),
        f"about {amounts.count(expected)} expected at {often} success",
    )
    if expected > bound:
        return f"{about}, but the limits allow at most {most}: they will be met before it is done"
    return f"{about}, at most {most}"


def limits_text(plan: Plan) -> str:
    """Those that were agreed on, in words."""
    limits = plan.limits
    money = (
        "no limit on cost" if limits.max_cost_usd is None else amounts.money(limits.max_cost_usd)
    )
    return (
        f"{amounts.count(limits.max_iterations)} iterations of up to "
        f"{amounts.count(limits.max_parallel_agents, 'session')}, "
        f"{limits.max_attempts} attempts, {limits.max_winds} winds, "
        f"{amounts.duration(limits.max_wall_seconds)}, {money}; "
        "`dwindle redirect --set` changes them"
    )


def checked_rows(ready: Alignment) -> list[str]:
    """What each check said before any work was done."""
    marks = {
        Verdict.PASSED: "passed",
        Verdict.FAILED: "failed",
        Verdict.COULD_NOT_RUN: "no run",
        Verdict.NOT_JUDGED: "later",
    }
    return [_row("", f"{marks[one.result.verdict]}: {one.item}") for one in ready.seen.findings]


def _paths(label: str, paths: Sequence[str]) -> list[str]:
    """One on each line, never cut, so that they can be copied."""
    shown = [one_line(path) for path in paths] or ["none"]
    labels = [label] + [""] * (len(shown) - 1)
    return [f"{name:<{MARGIN}}{path}" for name, path in zip(labels, shown, strict=True)]


def _row(label: str, text: str) -> str:
    return row(label, text, margin=MARGIN)
