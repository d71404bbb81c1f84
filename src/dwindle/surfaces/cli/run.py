"""dwindle run: go on until the base case holds, or until there is a reason to stop."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from dwindle.adapters.disk import ChangedByOthers, Locked
from dwindle.adapters.journals.jsonl import JournalDamaged
from dwindle.kernel.exit_codes import EXIT_CODES
from dwindle.kernel.model import PlanKind, StopCode
from dwindle.ports.store import StoreFailed
from dwindle.ports.workspace import WorkspaceFailed
from dwindle.runner.alignment import RUN_ID
from dwindle.runner.ledger import EditedByHand, OutOfStep
from dwindle.runner.loop import Halted
from dwindle.runner.rollback import RolledBack
from dwindle.surfaces import running
from dwindle.surfaces.agent_choice import agent_overrides
from dwindle.surfaces.cli.output import USAGE, complain, say
from dwindle.surfaces.cli.problem_list import problem_lines
from dwindle.surfaces.cli.text import one_line
from dwindle.surfaces.committed import ask_git
from dwindle.surfaces.herald import Herald
from dwindle.surfaces.next_step import next_step
from dwindle.surfaces.plan_files import plans_of, repository, the_plan
from dwindle.surfaces.progress import Progress
from dwindle.surfaces.refusal import Refused, refused_by

EDITED = "`dwindle redirect --adopt` takes the edit over; or put the file back as it was"

CUT = "what it did is on its branch and under refs/dwindle/attempts"
TAMPERED = (
    "nothing was started or changed; put the plan and .runner/journal back as they were, or\n"
    "  `dwindle align --replace` begins anew. What was done is on the branch of the run and under\n"
    "  refs/dwindle/attempts"
)


def run(
    *,
    plan: PlanKind | None = None,
    here: bool = False,
    no_sandbox: bool = False,
    run_id: str | None = None,
    agent: Annotated[tuple[str, ...], Parameter(negative=())] = (),
) -> int:
    """Run the plan of this repository.

    Args:
        plan: Which plan, where there are two.
        here: Of a tree: stay on the branch that is checked out.
        no_sandbox: Let agents and checks do what they like; said in the certificate.
        run_id: The id of a run that begins now, instead of a new one.
        agent: Who works, such as claude, codex, or verifier=codex.
    """
    wish = running.Wish(
        sandbox=not no_sandbox, run_id=run_id, here=here, agents=agent_overrides(agent)
    )
    return answered(wish, plan)


def answered(wish: running.Wish, wanted: PlanKind | None) -> int:
    """The exit code of a run or of one iteration; every other end is told here."""
    kind = _kind(wanted)
    _refuse_nonsense(wish, kind)
    if not wish.sandbox:
        complain("dwindle: NO SANDBOX: agents and checks can do all that you can do")
    try:
        halted = asyncio.run(_run(kind, wish))
    except running.NotReady as error:
        complain("\n".join(problem_lines(error.where, error.problems)))
        unaligned = any(problem.unaligned for problem in error.problems)
        return EXIT_CODES[StopCode.NOT_ALIGNED] if unaligned else USAGE
    except EditedByHand as error:
        raise Refused(
            str(error),
            where=running.PLAN_FILE,
            hint=EDITED,
        ) from None
    except Locked as error:
        complain(f"dwindle: {error}\n  another run has this plan")
        return EXIT_CODES[StopCode.LOCKED]
    except StoreFailed as error:
        complain(f"dwindle: {error}\n  mend that, and `dwindle run` goes on from what is on record")
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
        complain("dwindle: ended at once; `dwindle run` goes on from here")
        return EXIT_CODES[StopCode.STOPPED_BY_USER]
    say(f"Next: {next_step(halted.plan)}")
    return 0 if halted.stop is None else EXIT_CODES[halted.stop.code]


def _refuse_nonsense(wish: running.Wish, kind: PlanKind) -> None:
    if wish.run_id is not None and not RUN_ID.fullmatch(wish.run_id):
        hint = "26 digits and capital letters; leave it out for a new one"
        raise Refused(f"{one_line(wish.run_id)!r} is no run id", where="--run-id", hint=hint)
    if wish.here and kind is not PlanKind.TREE:
        what = "--here is for trees: a graph plan does not touch your checkout"
        raise Refused(what, hint="leave it out, or say --plan tree if there is one")


def _kind(wanted: PlanKind | None) -> PlanKind:
    """Of the one plan here, or the one that was asked for; without any, a graph says what to do.

    On the branch of a run there was a tree: an agent whose runner was killed may have removed it.
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


async def _run(kind: PlanKind, wish: running.Wish) -> Halted:
    async with Herald() as herald:
        progress = Progress(herald=herald)
        if kind is PlanKind.GRAPH:
            return await running.run(Path.cwd(), wish, progress)
        from dwindle.surfaces import tree_running  # noqa: PLC0415 - a graph needs none of it

        return await tree_running.run(Path.cwd(), wish, progress)
