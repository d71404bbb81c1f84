"""What `align` says when it is done, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dwindle.kernel.base_case import Verdict
from dwindle.kernel.measure import session_bound
from dwindle.runner.alignment import Alignment, Baseline
from dwindle.surfaces.cli.problem_list import problem_json
from dwindle.surfaces.cli.text import counted, listed, one_line, painted, row
from dwindle.surfaces.plan_place import PLAN_FILE

MARGIN = 11


def facts_of(ready: Alignment, kept: str | None) -> dict[str, Any]:
    """The documented object, in the documented order."""
    plan = ready.plan
    aligned = plan.control.aligned
    assert aligned is not None  # noqa: S101 - alignment has seen to it
    return {
        "path": PLAN_FILE,
        "run_id": plan.control.run_id,
        "commit": aligned.commit,
        "pins": list(aligned.pins),
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
        "bound": session_bound(plan),
        "kept": kept,
        "warnings": [problem_json(problem) for problem in ready.warnings],
    }


def text_of(ready: Alignment, kept: str | None) -> str:
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
        f"{'base case':<{MARGIN}}{first_look}",
        *checked_rows(ready),
        _row("atoms", f"{len(plan.atoms)}: {listed(plan.atoms, width=60)}"),
        _row("bound", f"at most {counted(session_bound(plan), 'agent session')}"),
    ]
    lines += _paths("old plan", [kept]) if kept else []
    return "\n".join([*lines, "`dwindle run` starts it."])


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
