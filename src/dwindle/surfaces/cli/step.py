"""dwindle step: one iteration of a run."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from dwindle.app import run as running
from dwindle.app.agents.choice import agent_overrides
from dwindle.kernel.model import PlanKind
from dwindle.surfaces.cli.run import run_and_answer


def step(  # noqa: PLR0913 - one for each option
    *,
    plan: PlanKind | None = None,
    here: bool = False,
    no_sandbox: bool = False,
    run_id: str | None = None,
    agent: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    verbose: bool = False,
) -> int:
    """Do one iteration, then rest.

    Args:
        plan: Which plan, where there are two.
        here: Tree plans: stay on the branch that is checked out.
        no_sandbox: Run without a sandbox; the certificate says so.
        run_id: Use this id for a run that begins now.
        agent: The agent to use, such as claude, codex, or verifier=codex.
        verbose: Show the gauge, too, which falls with every step.
    """
    request = running.RunRequest(
        one_iteration=True,
        sandbox=not no_sandbox,
        run_id=run_id,
        here=here,
        agents=agent_overrides(agent),
    )
    return run_and_answer(request, plan, verbose=verbose)
