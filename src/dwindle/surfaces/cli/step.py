"""dwindle step: one iteration of a run."""

from __future__ import annotations

from dwindle.kernel.model import PlanKind
from dwindle.surfaces import running
from dwindle.surfaces.cli.run import answered


def step(
    *,
    plan: PlanKind | None = None,
    here: bool = False,
    no_sandbox: bool = False,
    run_id: str | None = None,
) -> int:
    """Do one iteration, then rest.

    Args:
        plan: Which plan, where there are two.
        here: Of a tree: stay on the branch that is checked out.
        no_sandbox: Let agents and checks do what they like; said in the certificate.
        run_id: The id of a run that begins now, instead of a new one.
    """
    wish = running.Wish(one_iteration=True, sandbox=not no_sandbox, run_id=run_id, here=here)
    return answered(wish, plan)
