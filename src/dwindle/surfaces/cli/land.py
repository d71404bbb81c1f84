"""dwindle land: what a run made, on the person's branch, because they asked for it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from dwindle.adapters.disk import DirectoryLock, Locked
from dwindle.adapters.workspaces.landing import How, Landed, LandRefused
from dwindle.adapters.workspaces.landing import land as landed
from dwindle.adapters.workspaces.message import branch_of
from dwindle.adapters.workspaces.repository import Repository, find
from dwindle.kernel.exit_codes import EXIT_CODES
from dwindle.kernel.model import Plan, PlanKind, RunStatus, StopCode
from dwindle.ports.workspace import WorkspaceFailed
from dwindle.surfaces.cli.output import complain, say
from dwindle.surfaces.cli.problem_list import sound
from dwindle.surfaces.cli.text import counted
from dwindle.surfaces.plan_files import PlanPath
from dwindle.surfaces.plan_place import PLAN_FILE
from dwindle.surfaces.refusal import Refused, refused_by
from dwindle.surfaces.tree_only import TREE, has_only_a_tree
from dwindle.surfaces.tree_run import tree_run

RUNS = "refs/heads/runner/"
HOW_FAR = "`dwindle run` does the work; `dwindle status` says how far it has come"


def land(*, onto: str | None = None, even_if_stopped: bool = False) -> int:
    """Put the branch of the run on yours.

    Args:
        onto: The branch to land on; the one that is checked out, if left out.
        even_if_stopped: Land what there is of a run that is not completed.
    """
    try:
        return asyncio.run(_land(Path.cwd(), onto, even_if_stopped=even_if_stopped))
    except Locked as error:
        complain(f"dwindle: {error}\n  the run goes on; land when it has ended")
        return EXIT_CODES[StopCode.LOCKED]
    except LandRefused as error:
        listed = "".join(f"\n  {path}" for path in error.paths)
        raise Refused(f"{error.what}{listed}", hint=_advice(error)) from None
    except WorkspaceFailed as error:
        raise refused_by(error) from None


async def _land(start: Path, onto: str | None, *, even_if_stopped: bool) -> int:
    repository = await find(start)
    if has_only_a_tree(repository.checkout):
        return await _land_tree(repository, onto, even_if_stopped=even_if_stopped)
    place = repository.checkout / PLAN_FILE
    if not place.exists():
        raise Refused(
            "there is no plan yet", where=PLAN_FILE, hint="agree on one first: `dwindle align`"
        )
    with DirectoryLock(place.parent):
        plan = sound(PlanPath(str(place), PlanKind.GRAPH)).plan
        assert plan is not None  # noqa: S101 - `sound` has seen to it
        run = plan.control.run_id or ""
        _refuse_unfinished(plan, PLAN_FILE, even_if_stopped=even_if_stopped)
        count = await _commits(repository, plan, run)
        return say(_said(run, await landed(repository, run, onto), count))


async def _land_tree(repository: Repository, onto: str | None, *, even_if_stopped: bool) -> int:
    """A tree is worked on in place: its branch is most often the one that is checked out."""
    root = repository.checkout
    # Asked before the lock is ours, which would look like a run that is going on.
    found = tree_run(PlanPath(str(root / TREE), PlanKind.TREE))
    run, branch = found.plan.control.run_id, found.branch or ""
    with DirectoryLock(root / ".runner"):
        if run is None:
            known = await repository.git.tell("for-each-ref", "--format=%(refname:short)", RUNS)
            listed = ", ".join(known.text.split()) or "there is none"
            hint = f"`git merge` the one you want: {listed}"
            raise Refused("HEAD is on no branch of a run", where=TREE, hint=hint)
        if not branch.startswith("runner/"):
            what = f"the run is on {branch}, which is your own branch already"
            raise Refused(what, where=TREE, hint="nothing is left to do; `git log` shows it")
        if onto is None or onto.removeprefix("refs/heads/") == branch:
            hint = "for example: dwindle land --onto main"
            raise Refused(f"{branch} is the run's own branch: say which one to land on", hint=hint)
        if not found.done:
            what = "there is nothing to land: no iteration is on the branch"
            raise Refused(what, where=TREE, hint=HOW_FAR)
        _refuse_unfinished(found.plan, TREE, even_if_stopped=even_if_stopped)
        done = await landed(repository, run, onto)
        return say(_said(run, done, len(found.done)))


def _refuse_unfinished(plan: Plan, where: str, *, even_if_stopped: bool) -> None:
    status = plan.control.status
    if status is RunStatus.COMPLETED or even_if_stopped:
        return
    because = f": {plan.control.stop_reason}" if plan.control.stop_reason else ""
    raise Refused(
        f"the run is {status}, not completed{because}",
        where=where,
        hint="`dwindle run` goes on; --even-if-stopped lands what there is",
    )


async def _commits(repository: Repository, plan: Plan, run: str) -> int:
    """How many the run has put on its branch; refused if none."""
    git, ref = repository.git, branch_of(run)
    known = run and (await git.ask("show-ref", "--verify", "--quiet", ref)).code == 0
    base = plan.control.aligned.commit if plan.control.aligned else ""
    count = 0
    if known and base:
        count = int((await git.tell("rev-list", "--count", f"{base}..{ref}")).text)
    if not count:
        what = "there is nothing to land: the run has put nothing on a branch"
        raise Refused(what, hint=HOW_FAR)
    return count


def _said(run: str, done: Landed, count: int) -> str:
    if done.how is How.ALREADY:
        return f"{done.branch} has all of runner/{run} already"
    what = f"{counted(count, 'commit')} of runner/{run}"
    return f"landed {what} on {done.branch}: {done.how} to {done.commit}"


def _advice(error: LandRefused) -> str:
    if "uncommitted" in error.what:
        return "commit or stash them, then land again; nothing was changed"
    if "detached" in error.what:
        return "for example: dwindle land --onto main"
    if error.paths:
        return "merge the branch by hand where they differ; nothing was changed"
    return ""
