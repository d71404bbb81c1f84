"""dwindle go: from one sentence to a result that can be landed."""

from __future__ import annotations

import contextlib
import sys
from typing import Annotated

from cyclopts import Parameter

from dwindle.app.agents.choice import agent_overrides
from dwindle.app.align.align import AlignRequest
from dwindle.app.align.answers import Answers
from dwindle.app.align.dialogue import Console
from dwindle.app.align.goal import checks_from
from dwindle.app.align.summary import alignment_facts
from dwindle.app.console import as_json, say
from dwindle.app.paths import PLAN_FILE
from dwindle.app.plans.load import load
from dwindle.app.plans.next_step import next_step
from dwindle.app.plans.plan_files import refuse_for_tree, root_of_here
from dwindle.app.refusal import Refused
from dwindle.app.run import RunRequest
from dwindle.kernel.model import PlanKind
from dwindle.surfaces.cli.align import agreement, agreement_text
from dwindle.surfaces.cli.run import run_and_answer

REVIEW = """
Review it, then land it:
  dwindle diff                     what the run changed
  dwindle report -o report.html    how it came about, with the certificate
  dwindle land                     brings it to your branch; with --squash as one commit
  dwindle clean                    removes what the run no longer needs, once it has landed"""


def go(  # noqa: PLR0913 - one for each option
    goal: str,
    /,
    *,
    check: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    why: str = "",
    yes: bool = False,
    no_planner: Annotated[bool, Parameter(negative=())] = False,
    replace: bool = False,
    already_green_ok: bool = False,
    cannot_run_yet_ok: bool = False,
    no_sandbox: bool = False,
    json: bool = False,
    agent: Annotated[tuple[str, ...], Parameter(negative=())] = (),
) -> int:
    """Agree on a goal, run it, and say what to review and land.

    Args:
        goal: What should be true in the end.
        check: A command that succeeds when it is done; repeat it for each.
        why: What it is for; agents are told.
        yes: Do not ask.
        no_planner: No agent proposes a plan; the goal is one atom.
        replace: Replace a plan that is not completed; the old file is kept.
        already_green_ok: Accept checks that hold before any work.
        cannot_run_yet_ok: Accept checks that cannot run before any work.
        no_sandbox: Run without a sandbox; the certificate says so.
        json: Print one JSON object, when it is over.
        agent: The agent to use, such as claude, codex, or verifier=codex.
    """
    refuse_for_tree(root_of_here(), "there is a tree plan here", "`dwindle run` runs it")
    sits = sys.stdin.isatty() and sys.stdout.isatty()
    if not goal.strip():
        raise Refused("the goal is empty", hint='for example dwindle go "Totals are right"')
    if not sits and not yes:
        raise Refused("cannot ask: this is not a terminal", hint="add --yes")
    terminal = Console() if sits else None
    request = AlignRequest(
        given=Answers(goal=goal, why=why, checks=checks_from(None if yes else terminal, check)),
        yes=yes,
        planner=not no_planner,
        replace=replace,
        already_green_ok=already_green_ok,
        cannot_run_yet_ok=cannot_run_yet_ok,
        json=json,
        agents=agent_overrides(agent),
    )
    agreed = agreement(request, terminal)
    if isinstance(agreed, int):
        return agreed
    if not json:
        say(agreement_text(agreed, starts=True))
    wanted = RunRequest(sandbox=not no_sandbox, agents=agent_overrides(agent))
    with contextlib.redirect_stdout(sys.stderr) if json else contextlib.nullcontext():
        code = run_and_answer(wanted, PlanKind.GRAPH, review=REVIEW)
    if json:
        facts = alignment_facts(agreed.ready, agreed.kept)
        return say(as_json({**facts, "ended": _end(code)}), code)
    return code


def _end(code: int) -> dict[str, object]:
    plan = load(PlanKind.GRAPH, (root_of_here() / PLAN_FILE).read_bytes()).plan
    control = None if plan is None else plan.control
    return {
        "code": code,
        "status": control and control.status,
        "reason": control and control.stop_code,
        "branch": control and f"runner/{control.run_id}",
        "next": plan and next_step(plan),
    }
