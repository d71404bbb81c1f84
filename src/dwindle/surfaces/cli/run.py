"""dwindle run: go on until the base case holds, or until there is a reason to stop."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from dwindle.app import run as running
from dwindle.app.agents.choice import agent_overrides
from dwindle.app.ask_git import ask_git
from dwindle.app.console import USAGE, complain, painted, say
from dwindle.app.errors import (
    ChangedByOthers,
    EditedByHand,
    JournalDamaged,
    Locked,
    OutOfStep,
    RolledBack,
    StoreFailed,
    WorkspaceFailed,
)
from dwindle.app.notify.notifier import Notifier
from dwindle.app.open_run.shared import NotReady
from dwindle.app.paths import PLAN_FILE
from dwindle.app.plans.next_step import next_step
from dwindle.app.plans.plan_files import plans_of, repository, the_plan
from dwindle.app.plans.problem_list import problem_lines
from dwindle.app.refusal import Refused, refused_by
from dwindle.kernel.model import EXIT_CODES, PlanKind, StopCode
from dwindle.runner.alignment import RUN_ID
from dwindle.runner.loop import Halted
from dwindle.text.terminal import one_line
from dwindle.views.terminal.progress import Progress

EDITED = "`dwindle redirect --adopt` takes the edit over; or put the file back as it was"

CUT = "its work is on its branch and under refs/dwindle/attempts"
TAMPERED = (
    "nothing was started or changed; put the plan and .runner/journal back as they were, or\n"
    "  `dwindle align --replace` starts a new plan. The work is on the run's branch and under\n"
    "  refs/dwindle/attempts"
)


def run(  # noqa: PLR0913 - one for each option
    *,
    plan: PlanKind | None = None,
    here: bool = False,
    no_sandbox: bool = False,
    run_id: str | None = None,
    agent: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    verbose: bool = False,
) -> int:
    """Run the plan of this repository.

    Args:
        plan: Which plan, where there are two.
        here: Tree plans: stay on the branch that is checked out.
        no_sandbox: Run without a sandbox; the certificate says so.
        run_id: Use this id for a run that begins now.
        agent: The agent to use, such as claude, codex, or verifier=codex.
        verbose: Show the gauge, too, which falls with every step.
    """
    request = running.RunRequest(
        sandbox=not no_sandbox, run_id=run_id, here=here, agents=agent_overrides(agent)
    )
    return run_and_answer(request, plan, verbose=verbose)


def run_and_answer(
    request: running.RunRequest,
    wanted: PlanKind | None,
    *,
    verbose: bool = False,
    review: str = "",
) -> int:
    """Run, and report every error; returns the exit code of the run or of one iteration.

    `review` is printed after a run that is completed, in place of the next step.
    """
    kind = _kind(wanted)
    _refuse_nonsense(request, kind)
    if not request.sandbox:
        complain("dwindle: NO SANDBOX: agents and checks can do everything that you can do")
    try:
        halted = asyncio.run(_run(kind, request, verbose=verbose))
    except NotReady as error:
        complain("\n".join(problem_lines(error.where, error.problems)))
        unaligned = any(problem.unaligned for problem in error.problems)
        return EXIT_CODES[StopCode.NOT_ALIGNED] if unaligned else USAGE
    except EditedByHand as error:
        raise Refused(
            str(error),
            where=PLAN_FILE,
            hint=EDITED,
        ) from None
    except Locked as error:
        complain(f"dwindle: {error}\n  another run is using this plan")
        return EXIT_CODES[StopCode.LOCKED]
    except StoreFailed as error:
        complain(f"dwindle: {error}\n  fix that; `dwindle run` then continues from the journal")
        return EXIT_CODES[StopCode.IO_ERROR]
    except ChangedByOthers as error:
        complain(f"dwindle: TAMPERED: {error}\n  the run has ended; {CUT}")
        return EXIT_CODES[StopCode.TAMPERED]
    except (JournalDamaged, OutOfStep, RolledBack) as error:
        complain(f"dwindle: TAMPERED: {error}\n  {TAMPERED}")
        return EXIT_CODES[StopCode.TAMPERED]
    except WorkspaceFailed as error:
        raise refused_by(error) from None
    except (asyncio.CancelledError, KeyboardInterrupt):
        complain("dwindle: ended at once; `dwindle run` continues from here")
        return EXIT_CODES[StopCode.STOPPED_BY_USER]
    is_completed = halted.stop is not None and halted.stop.code is StopCode.COMPLETED
    next_line = f"{painted('Next:', 'bold')} {next_step(halted.plan)}"
    say(review if review and is_completed else next_line)
    return 0 if halted.stop is None else EXIT_CODES[halted.stop.code]


def _refuse_nonsense(request: running.RunRequest, kind: PlanKind) -> None:
    if request.run_id is not None and not RUN_ID.fullmatch(request.run_id):
        hint = "26 digits and capital letters; leave it out for a new one"
        raise Refused(f"{one_line(request.run_id)!r} is no run id", where="--run-id", hint=hint)
    if request.here and kind is not PlanKind.TREE:
        what = "--here is for trees: a graph plan does not touch your checkout"
        raise Refused(what, hint="leave it out, or add --plan tree if there is one")


def _kind(wanted: PlanKind | None) -> PlanKind:
    """The kind of the wanted or only plan; without any, a graph run tells the user what to do.

    On the branch of a tree run the tree may be missing: an agent whose runner was killed may have
    removed it.
    """
    try:
        return the_plan(wanted).kind
    except Refused:
        if wanted is not PlanKind.GRAPH and _is_on_a_run():
            return PlanKind.TREE
        if wanted is None and not _any_plan():
            return PlanKind.GRAPH
        raise


def _is_on_a_run() -> bool:
    root = repository(".")
    if root is None or _any_plan():
        return False
    try:
        said = ask_git(Path(root), "symbolic-ref", "--quiet", "HEAD").stdout
    except Refused:
        return False
    return said.startswith(b"refs/heads/runner/")


def _any_plan() -> bool:
    try:
        return bool(plans_of("."))
    except Refused:
        return False


async def _run(kind: PlanKind, request: running.RunRequest, *, verbose: bool) -> Halted:
    async with Notifier() as notifier:
        progress = Progress(notifier=notifier, verbose=verbose)
        if kind is PlanKind.GRAPH:
            return await running.run(Path.cwd(), request, progress)
        from dwindle.app import run_tree as tree_running  # noqa: PLC0415 - a graph needs none of it

        return await tree_running.run(Path.cwd(), request, progress)
