"""dwindle stop: ask the run of this repository to end, and wait until it has."""

from __future__ import annotations

from pathlib import Path

from dwindle.app.console import say
from dwindle.app.plans.plan_files import repository
from dwindle.app.stop import stop_run
from dwindle.kernel.model import PlanKind


def stop(*, reason: str = "", plan: PlanKind | None = None) -> int:
    """End the run; everything is kept, and `dwindle run` goes on.

    Args:
        reason: Why; kept in the plan.
        plan: Which run, where both plans run; all, if left out.
    """
    root = Path(repository(str(Path.cwd())) or Path.cwd())
    return say(stop_run(root, tuple(PlanKind) if plan is None else (plan,), reason))
