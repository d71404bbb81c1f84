"""dwindle align: what is wanted, how it is checked, and where to begin."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from dwindle.app.agents.choice import agent_overrides
from dwindle.app.align.align import (
    GO_ON,
    LEFT,
    AlignedPlan,
    AlignRequest,
    DraftRefused,
    UserLeft,
    align_plan,
)
from dwindle.app.align.dialogue import Console, Terminal, hangups_interrupt
from dwindle.app.align.summary import alignment_facts, text_of
from dwindle.app.console import as_json, complain, say
from dwindle.app.errors import Locked, StoreFailed, WorkspaceFailed
from dwindle.app.plans.plan_files import refuse_for_tree, root_of_here
from dwindle.app.plans.problem_list import problem_lines, summary
from dwindle.app.refusal import refused_by
from dwindle.kernel.model import EXIT_CODES, StopCode
from dwindle.text.terminal import one_line


def align(  # noqa: PLR0913 - one for each option
    *,
    source: Annotated[Path | None, Parameter(name="--from")] = None,
    yes: bool = False,
    no_planner: Annotated[bool, Parameter(negative=())] = False,
    replace: bool = False,
    already_green_ok: bool = False,
    cannot_run_yet_ok: bool = False,
    run_id: str | None = None,
    json: bool = False,
    agent: Annotated[tuple[str, ...], Parameter(negative=())] = (),
) -> int:
    """Agree on a plan and write it.

    Args:
        source: Read a draft (YAML, or a state file) instead of asking.
        yes: Accept the draft without showing it.
        no_planner: Ask you all questions; no agent proposes a plan.
        replace: Replace a plan that is not completed; the old file is kept.
        already_green_ok: Accept a base case that holds before any work.
        cannot_run_yet_ok: Accept a base case that cannot run before any work.
        run_id: The id of the run, instead of a new one.
        json: Print one JSON object.
        agent: The agent that plans, such as claude or codex.
    """
    request = AlignRequest(
        source=source,
        yes=yes,
        planner=not no_planner,
        replace=replace,
        already_green_ok=already_green_ok,
        cannot_run_yet_ok=cannot_run_yet_ok,
        run_id=run_id,
        json=json,
        agents=agent_overrides(agent),
    )
    if source is None:  # a draft says which kind of plan it is
        refuse_for_tree(
            root_of_here(),
            "a tree is not aligned: .runner/GOAL.md says what is wanted",
            "`dwindle run` begins; for a graph plan beside it, `dwindle align --from FILE`",
        )
    sits = sys.stdin.isatty() and sys.stdout.isatty()
    return answer(request, Console() if sits else None)


def answer(request: AlignRequest, terminal: Terminal | None) -> int:
    """Carry it out and report every error; returns the exit code."""
    agreed = agreement(request, terminal)
    if isinstance(agreed, int):
        return agreed
    if request.json:
        return say(as_json(alignment_facts(agreed.ready, agreed.kept)))
    return say(agreement_text(agreed))


def agreement_text(agreed: AlignedPlan, *, starts: bool = False) -> str:
    """`starts`: the run begins right away."""
    warnings = problem_lines(agreed.source, agreed.ready.warnings)
    return "\n".join([*warnings, text_of(agreed.ready, agreed.kept, starts=starts)])


def agreement(request: AlignRequest, terminal: Terminal | None) -> AlignedPlan | int:
    """What was agreed on; or an exit code, after the reason was printed."""
    try:
        with hangups_interrupt():
            return align_plan(request, terminal)
    except UserLeft as left:
        kept = f"; the draft is kept: {left.kept}\n  {GO_ON}" if left.kept else ""
        complain(f"\ndwindle: no plan was written{kept}")
        return LEFT
    except DraftRefused as gate:
        lines = problem_lines(gate.source, gate.problems)
        complain("\n".join([*lines, f"{one_line(gate.source)}: {summary(gate.problems)}"]))
        return gate.code
    except WorkspaceFailed as error:
        raise refused_by(error) from None
    except Locked as error:
        complain(f"dwindle: {error}\n  stop the run first: `dwindle stop`")
        return EXIT_CODES[StopCode.LOCKED]
    except StoreFailed as error:
        complain(f"dwindle: {error}")
        return EXIT_CODES[StopCode.IO_ERROR]
