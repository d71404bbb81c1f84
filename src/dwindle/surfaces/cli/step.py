"""dwindle step: one iteration of a run."""

from __future__ import annotations

from dwindle.surfaces import running
from dwindle.surfaces.cli.run import answered


def step(*, no_sandbox: bool = False, run_id: str | None = None) -> int:
    """Do one iteration, then rest.

    Args:
        no_sandbox: Let agents and checks do what they like; said in the certificate.
        run_id: The id of a run that begins now, instead of a new one.
    """
    wish = running.Wish(one_iteration=True, sandbox=not no_sandbox, run_id=run_id)
    return answered(wish)
