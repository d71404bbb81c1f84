"""Land a run: put what it made on the user's branch. Never unless the user asks for it.

Nothing is pushed, no pull request is opened, no editor is started.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from dwindle.adapters.formats.config.settings import Settings
from dwindle.adapters.git.commit_message import branch_of
from dwindle.adapters.git.landing import (
    How,
    Landed,
    LandRefused,
    land,
    landed_ref,
)
from dwindle.adapters.git.merge import Commit, commits_between
from dwindle.adapters.git.repository import Repository, find
from dwindle.adapters.store.disk import DirectoryLock, RealDisk
from dwindle.adapters.store.journal import JournalDamaged, read_journal
from dwindle.app.errors import StoreFailed, WorkspaceFailed
from dwindle.app.open_run.graph import locked_plan
from dwindle.app.paths import JOURNALS, PLAN_FILE, TREE_FILE
from dwindle.app.plans.plan_files import PlanPath, has_only_a_tree
from dwindle.app.plans.problem_list import sound
from dwindle.app.refusal import Refused, refused_by
from dwindle.app.sandbox import filters_of
from dwindle.app.settings import settings_for
from dwindle.app.tree.tree_run import tree_run
from dwindle.kernel.events import RunStarted
from dwindle.kernel.model import Plan, PlanKind, RunStatus
from dwindle.ports.workspace import LandingStyle
from dwindle.text import amounts
from dwindle.text.terminal import one_line, shortened

RUNS = "refs/heads/runner/"
HOW_FAR = "`dwindle run` does the work; `dwindle status` says how far it has come"
SUBJECT = 72
NAMED = 100
"""Commits that the message of a squashed one lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LandRequest:
    onto: str | None = None
    """The branch to land on; the one that the run began on, if left out."""
    style: LandingStyle = LandingStyle.KEEP
    even_if_stopped: bool = False
    dry_run: bool = False


class LandResult(TypedDict):
    """What was done, or would be; JSON as it is."""

    run: str
    onto: str
    how: str
    """already there, fast-forward, merge or squash."""
    commits: int
    """Of the run."""
    commit: str
    """Where the branch is afterwards; of a dry run that merges, a commit that nothing leads to."""
    checkouts: list[str]
    """Work trees in which files are written."""
    is_done: bool
    text: str
    """One sentence."""
    next: list[str]
    """What to do now, a line each."""


def land_run(start: Path, request: LandRequest) -> LandResult:
    """Land the run of the repository around `start`. Raises Refused and Locked."""
    try:
        return asyncio.run(_land(start, request))
    except LandRefused as error:
        listed = "".join(f"\n  {path}" for path in error.paths)
        raise Refused(f"{error.what}{listed}", hint=_advice(error)) from None
    except WorkspaceFailed as error:
        raise refused_by(error) from None


async def _land(start: Path, request: LandRequest) -> LandResult:
    repository = await find(start)
    settings = settings_for(repository.checkout).settings or Settings()
    repository = repository.with_filters(filters_of(settings))
    if has_only_a_tree(repository.checkout):
        return await _land_tree(repository, request)
    root = repository.checkout
    with locked_plan(root):
        plan = sound(PlanPath(str(root / PLAN_FILE), PlanKind.GRAPH)).plan
        assert plan is not None  # noqa: S101 - `sound` has seen to it
        run, aligned = plan.control.run_id or "", plan.control.aligned
        _refuse_unfinished(plan, PLAN_FILE, request)
        commits = await _commits(repository, run, aligned.commit if aligned else "")
        if not commits:
            what = "there is nothing to land: the run has put nothing on a branch"
            raise Refused(what, hint=HOW_FAR)
        began_on = aligned.branch if aligned else ""
        return await _landed(repository, plan, request, began_on, commits)


async def _land_tree(repository: Repository, request: LandRequest) -> LandResult:
    """A tree is worked on in place: its branch is most often the one that is checked out."""
    root = repository.checkout
    # Asked before the lock is ours, which would look like a run that is going on.
    found = tree_run(PlanPath(str(root / TREE_FILE), PlanKind.TREE))
    run, branch, onto = found.plan.control.run_id, found.branch or "", request.onto
    with DirectoryLock(root / ".runner"):
        if run is None:
            known = await repository.git.tell("for-each-ref", "--format=%(refname:short)", RUNS)
            listed = ", ".join(known.text.split()) or "there is none"
            hint = f"`git merge` the one you want: {listed}"
            raise Refused("HEAD is on no branch of a run", where=TREE_FILE, hint=hint)
        if not branch.startswith("runner/"):
            what = f"the run is on {branch}, which is your own branch already"
            raise Refused(what, where=TREE_FILE, hint="nothing is left to do; `git log` shows it")
        began_on = _began_on(root, run)
        if (onto or began_on).removeprefix("refs/heads/") in ("", branch):
            hint = "for example: dwindle land --onto main"
            raise Refused(f"{branch} is the run's own branch: say which one to land on", hint=hint)
        if not found.done:
            what = "there is nothing to land: no iteration is on the branch"
            raise Refused(what, where=TREE_FILE, hint=HOW_FAR)
        _refuse_unfinished(found.plan, TREE_FILE, request)
        first = await repository.commit(f"{found.done[0].commit}^")
        commits = await _commits(repository, run, first)
        return await _landed(repository, found.plan, request, began_on, commits)


def _began_on(root: Path, run: str) -> str:
    """The branch that a tree's run began on, if its journal says so."""
    try:
        events = read_journal(RealDisk(), root / JOURNALS, run).events(0)
        begun = (event.aligned for event in events if isinstance(event, RunStarted))
        return next((one.branch for one in begun if one and one.branch), "")
    except (JournalDamaged, StoreFailed):
        return ""


async def _landed(
    repository: Repository,
    plan: Plan,
    request: LandRequest,
    began_on: str,
    commits: tuple[Commit, ...],
) -> LandResult:
    run = plan.control.run_id or ""
    done = await land(
        repository,
        run,
        request.onto or began_on or None,
        style=request.style,
        text=squash_text(run, plan.objective.goal, [one.subject for one in commits]),
        dry_run=request.dry_run,
    )
    what = f"{amounts.count(len(commits), 'commit')} of runner/{run}"
    verb = "would land" if request.dry_run else "landed"
    text = f"{verb} {what} on {done.branch}: {done.how} to {done.commit}"
    if done.how is How.ALREADY:
        text = f"{done.branch} has all of runner/{run} already"
    return LandResult(
        run=run,
        onto=done.branch,
        how=done.how,
        commits=len(commits),
        commit=done.commit,
        checkouts=[str(path) for path in done.checkouts],
        is_done=not request.dry_run,
        text=text,
        next=list(_next_steps(plan.kind, request, done)),
    )


def _next_steps(kind: PlanKind, request: LandRequest, done: Landed) -> Iterator[str]:
    if request.dry_run:
        for path in done.checkouts:
            yield f"files in {path} would be written"
        yield "nothing was changed; without --dry-run it is done"
        return
    if kind is PlanKind.TREE and not done.checkouts:
        yield f"`git switch {done.branch}` goes there"
    yield "`dwindle clean` removes the branch and the work trees of the run"


def squash_text(run: str, goal: str, subjects: Sequence[str]) -> str:
    """The message of the one commit that stands for a run."""
    head = shortened(goal, SUBJECT) or f"Land runner/{run}"
    more = [f"- and {len(subjects) - NAMED} more"] if len(subjects) > NAMED else []
    listed = [f"- {one_line(subject)}" for subject in subjects[:NAMED]]
    return "\n".join((head, "", *listed, *more, "", f"Dwindle-Run: {run}", ""))


def _refuse_unfinished(plan: Plan, where: str, request: LandRequest) -> None:
    status = plan.control.status
    if status is RunStatus.COMPLETED or request.even_if_stopped:
        return
    because = f": {plan.control.stop_reason}" if plan.control.stop_reason else ""
    raise Refused(
        f"the run is {status}, not completed{because}",
        where=where,
        hint="`dwindle run` goes on; --even-if-stopped lands what there is",
    )


async def _commits(repository: Repository, run: str, base: str) -> tuple[Commit, ...]:
    """What the run has put on its branch; where that was removed, what was landed before."""
    for ref in (branch_of(run), f"{landed_ref(run)}^1"):
        if run and base and (await repository.git.ask("rev-parse", "--verify", ref)).code == 0:
            return await commits_between(repository.git, base, ref)
    return ()


def _advice(error: LandRefused) -> str:
    if "uncommitted" in error.what:
        named = shlex.join(str(path) for path in error.paths)
        return (
            "nothing was changed; commit them, or set them aside:\n"
            f"  git stash push --include-untracked -- {named}\n"
            "  then `dwindle land` again"
        )
    if "detached" in error.what:
        return "for example: dwindle land --onto main"
    if "no branch named" in error.what:
        return "--onto says which branch to land on"
    if error.paths:
        return "merge the branch by hand where they differ; nothing was changed"
    return ""
