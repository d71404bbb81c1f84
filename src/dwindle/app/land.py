"""Land a run: put what it made on the user's branch. Never unless the user asks for it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from dwindle.adapters.formats.config.settings import Settings
from dwindle.adapters.git.commit_message import branch_of
from dwindle.adapters.git.landing import How, Landed, LandRefused
from dwindle.adapters.git.landing import land as landed
from dwindle.adapters.git.repository import Repository, find
from dwindle.adapters.store.disk import DirectoryLock
from dwindle.app.errors import WorkspaceFailed
from dwindle.app.open_run.graph import locked_plan
from dwindle.app.paths import PLAN_FILE, TREE_FILE
from dwindle.app.plans.plan_files import PlanPath, has_only_a_tree
from dwindle.app.plans.problem_list import sound
from dwindle.app.refusal import Refused, refused_by
from dwindle.app.sandbox import filters_of
from dwindle.app.settings import settings_for
from dwindle.app.tree.tree_run import tree_run
from dwindle.kernel.model import Plan, PlanKind, RunStatus
from dwindle.text import amounts

RUNS = "refs/heads/runner/"
HOW_FAR = "`dwindle run` does the work; `dwindle status` says how far it has come"


def land_run(start: Path, onto: str | None, *, even_if_stopped: bool) -> str:
    """Land the run of the repository around `start`; what to tell the user. Raises Locked."""
    try:
        return asyncio.run(_land(start, onto, even_if_stopped=even_if_stopped))
    except LandRefused as error:
        listed = "".join(f"\n  {path}" for path in error.paths)
        raise Refused(f"{error.what}{listed}", hint=_advice(error)) from None
    except WorkspaceFailed as error:
        raise refused_by(error) from None


async def _land(start: Path, onto: str | None, *, even_if_stopped: bool) -> str:
    repository = await find(start)
    settings = settings_for(repository.checkout).settings or Settings()
    repository = repository.with_filters(filters_of(settings))
    if has_only_a_tree(repository.checkout):
        return await _land_tree(repository, onto, even_if_stopped=even_if_stopped)
    root = repository.checkout
    with locked_plan(root):
        plan = sound(PlanPath(str(root / PLAN_FILE), PlanKind.GRAPH)).plan
        assert plan is not None  # noqa: S101 - `sound` has seen to it
        run = plan.control.run_id or ""
        _refuse_unfinished(plan, PLAN_FILE, even_if_stopped=even_if_stopped)
        count = await _commits(repository, plan, run)
        return _landed_text(run, await landed(repository, run, onto), count)


async def _land_tree(repository: Repository, onto: str | None, *, even_if_stopped: bool) -> str:
    """A tree is worked on in place: its branch is most often the one that is checked out."""
    root = repository.checkout
    # Asked before the lock is ours, which would look like a run that is going on.
    found = tree_run(PlanPath(str(root / TREE_FILE), PlanKind.TREE))
    run, branch = found.plan.control.run_id, found.branch or ""
    with DirectoryLock(root / ".runner"):
        if run is None:
            known = await repository.git.tell("for-each-ref", "--format=%(refname:short)", RUNS)
            listed = ", ".join(known.text.split()) or "there is none"
            hint = f"`git merge` the one you want: {listed}"
            raise Refused("HEAD is on no branch of a run", where=TREE_FILE, hint=hint)
        if not branch.startswith("runner/"):
            what = f"the run is on {branch}, which is your own branch already"
            raise Refused(what, where=TREE_FILE, hint="nothing is left to do; `git log` shows it")
        if onto is None or onto.removeprefix("refs/heads/") == branch:
            hint = "for example: dwindle land --onto main"
            raise Refused(f"{branch} is the run's own branch: say which one to land on", hint=hint)
        if not found.done:
            what = "there is nothing to land: no iteration is on the branch"
            raise Refused(what, where=TREE_FILE, hint=HOW_FAR)
        _refuse_unfinished(found.plan, TREE_FILE, even_if_stopped=even_if_stopped)
        done = await landed(repository, run, onto)
        return _landed_text(run, done, len(found.done))


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


def _landed_text(run: str, done: Landed, count: int) -> str:
    if done.how is How.ALREADY:
        return f"{done.branch} has all of runner/{run} already"
    what = f"{amounts.count(count, 'commit')} of runner/{run}"
    return f"landed {what} on {done.branch}: {done.how} to {done.commit}"


def _advice(error: LandRefused) -> str:
    if "uncommitted" in error.what:
        return "commit or stash them, then land again; nothing was changed"
    if "detached" in error.what:
        return "for example: dwindle land --onto main"
    if error.paths:
        return "merge the branch by hand where they differ; nothing was changed"
    return ""
