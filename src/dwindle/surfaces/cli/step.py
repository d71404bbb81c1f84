"""dwindle step: one iteration of a run."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from dwindle.kernel.model import PlanKind
from dwindle.surfaces import running
from dwindle.surfaces.agent_choice import agent_overrides
from dwindle.surfaces.cli.run import answered


def step(
    *,
    plan: PlanKind | None = None,
    here: bool = False,
    no_sandbox: bool = False,
    run_id: str | None = None,
    agent: Annotated[tuple[str, ...], Parameter(negative=())] = (),
) -> int:
    """Do one iteration, then rest.

    Args:
        plan: Which plan, where there are two.
        here: Of a tree: stay on the branch that is checked out.
        no_sandbox: Let agents and checks do what they like; said in the certificate.
        run_id: The id of a run that begins now, instead of a new one.
        agent: Who works, such as claude, codex, or verifier=codex.
    """
    wish = running.Wish(
        one_iteration=True,
        sandbox=not no_sandbox,
        run_id=run_id,
        here=here,
        agents=agent_overrides(agent),
    )
    return answered(wish, plan)
