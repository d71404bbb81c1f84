"""dwindle go: from one sentence to a result that can be landed."""

from __future__ import annotations

import sys
from typing import Annotated

from cyclopts import Parameter

from dwindle.app.agents.choice import agent_overrides
from dwindle.app.align.align import AlignRequest
from dwindle.app.align.dialogue import Console
from dwindle.app.align.goal import checks_from, draft_from_goal
from dwindle.app.plans.plan_files import refuse_for_tree, root_of_here
from dwindle.app.refusal import Refused
from dwindle.app.run import RunRequest
from dwindle.kernel.model import PlanKind
from dwindle.surfaces.cli.align import answer
from dwindle.surfaces.cli.run import run_and_answer


def go(  # noqa: PLR0913 - one for each option
    goal: str,
    /,
    *,
    check: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    why: str = "",
    yes: bool = False,
    replace: bool = False,
    already_green_ok: bool = False,
    cannot_run_yet_ok: bool = False,
    no_sandbox: bool = False,
    agent: Annotated[tuple[str, ...], Parameter(negative=())] = (),
) -> int:
    """Agree on a goal, run it, and say what to review and land.

    Args:
        goal: What should be true in the end.
        check: A command that succeeds when it is done; repeat it for each.
        why: What it is for; agents are told.
        yes: Do not ask.
        replace: Replace a plan that is not completed; the old file is kept.
        already_green_ok: Accept checks that hold before any work.
        cannot_run_yet_ok: Accept checks that cannot run before any work.
        no_sandbox: Run without a sandbox; the certificate says so.
        agent: The agent to use, such as claude, codex, or verifier=codex.
    """
    refuse_for_tree(root_of_here(), "there is a tree plan here", "`dwindle run` runs it")
    sits = sys.stdin.isatty() and sys.stdout.isatty()
    if not goal.strip():
        raise Refused("the goal is empty", hint='for example dwindle go "Totals are right"')
    if not sits and not yes:
        raise Refused("cannot ask: this is not a terminal", hint="add --yes")
    terminal = Console() if sits else None
    commands = checks_from(None if yes else terminal, check)
    request = AlignRequest(
        draft=draft_from_goal(goal, commands, why),
        yes=yes,
        replace=replace,
        already_green_ok=already_green_ok,
        cannot_run_yet_ok=cannot_run_yet_ok,
        agents=agent_overrides(agent),
    )
    if code := answer(request, terminal):
        return code
    return run_and_answer(
        RunRequest(sandbox=not no_sandbox, agents=agent_overrides(agent)), PlanKind.GRAPH
    )
