"""How a tree run is opened: lock, leftovers, branch, journal, plan; and the bench on top of them.

Everything that could keep an iteration from being closed is checked before an agent is started: a
missing guard or agent is for the user to provide and costs no attempt.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dwindle.adapters.checks.counting import ToolCounter
from dwindle.adapters.formats.config.settings import GuardSettings, Settings
from dwindle.adapters.formats.tree.edit import TaskTreeFormat
from dwindle.adapters.formats.tree.file import decode, encode
from dwindle.adapters.formats.tree.wire import TreeDocument
from dwindle.adapters.git.in_place.checkout import GitInPlace
from dwindle.adapters.git.in_place.history import run_of
from dwindle.adapters.git.in_place.run_branch import dirt_in
from dwindle.adapters.git.repository import Repository, find
from dwindle.adapters.store.disk import DirectoryLock, DurableFile, RealDisk
from dwindle.adapters.store.journal import JsonlJournal, path_of
from dwindle.app.agents.backends import UNAVAILABLE
from dwindle.app.agents.configured import READ_ONLY_BY, no_agent, policy_of, with_found
from dwindle.app.console import complain
from dwindle.app.doctor.guard import guard_trouble
from dwindle.app.open_run.briefing import Briefings
from dwindle.app.open_run.shared import (
    NotReady,
    OpenRun,
    Site,
    new_run_id,
    open_journal,
    site_of,
    valid_settings,
)
from dwindle.app.open_run.trial_guard import TrialGuard, trial
from dwindle.app.paths import JOURNALS, LOGS
from dwindle.app.refusal import Refused
from dwindle.app.sandbox import check_settings, filters_of, known_secrets
from dwindle.app.settings import settings_for
from dwindle.app.tree.resume_tree import is_unfinished, resume_tree
from dwindle.kernel.model import Aligned
from dwindle.ports.in_place import History
from dwindle.ports.work import Briefing
from dwindle.ports.workspace import WorkspaceFailed
from dwindle.runner.gate.steering import steering_of_guard
from dwindle.runner.gate.work_paths import outside_work_paths
from dwindle.runner.ledger import Ledger
from dwindle.runner.modes.tree import owned_file
from dwindle.runner.modes.tree.clean_guard import CleanGuard
from dwindle.runner.modes.tree.guard import Guard
from dwindle.runner.modes.tree.guard_files import GuardSteering
from dwindle.runner.modes.tree.iteration import CONFIG, LARGEST, OURS, TREE, Bench
from dwindle.runner.modes.tree.runner_files import RunnerFiles
from dwindle.runner.modes.tree.task import TreeProgress
from dwindle.runner.session import AgentRunner, Policy
from dwindle.runner.sockets import SOCKETS

SHOWN = 10
"""Paths that are listed when a checkout is not clean."""
SECOND_NAME = "dwindle-journal"
"""A second name of the journal, among git's own files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTree(OpenRun):
    """What the mode of a tree run is put together from."""

    place: GitInPlace
    file: DurableFile
    tree_progress: TreeProgress
    ours: RunnerFiles
    guard: Guard
    clean: CleanGuard | None
    briefing: Briefing

    def policy(self) -> Policy:
        return tree_policy(self.site)

    def bench(self, agents: AgentRunner) -> Bench:
        settings = self.site.settings
        if self._is_sealed(agents.policy):
            self.place.seal()
        return Bench(
            place=self.place,
            form=TaskTreeFormat(),
            agents=agents,
            # By now journal and logs exist, which it may not write to.
            guard=replace(self.guard, readable=agents.policy.readable),
            clean=self.clean,
            ours=self.ours,
            seconds=float(settings.limits.iteration_timeout_seconds),
            secrets=self.site.repository.secrets,
            briefing=self.briefing,
        )

    def _is_sealed(self, policy: Policy) -> bool:
        """Whether agents and the guard can only read git's own files."""
        own = (self.site.repository.git.git_dir, self.site.repository.common)
        opened = (path for path in policy.writable if any(path.is_relative_to(one) for one in own))
        return self.site.sandbox.mechanism == READ_ONLY_BY and not any(opened)


def tree_policy(site: Site) -> Policy:
    """Agents and the guard work in the checkout; the runner's own files there are read-only."""
    root, repository = site.root, site.repository
    kept = [root / ".git", root / CONFIG, root / JOURNALS, root / LOGS, repository.common]
    return policy_of(
        site.settings,
        # Mounted by itself: otherwise an agent could move it away, with the read-only files.
        writable=(root / ".runner",),
        readable=tuple(path for path in kept if path.exists()),
        hidden=tuple(root / ".runner" / name for name in SOCKETS.values()),
    )


async def guards_of(site: Site, ground: str) -> tuple[Guard, CleanGuard | None]:
    """The guard in place, and in clean checkouts; `ground` is the commit where the run began."""
    settings, policy = site.settings, tree_policy(site)
    checks = check_settings(settings)
    guard = Guard(
        command=settings.guard.command,
        containment=site.sandbox,
        checkout=site.root,
        environment=checks.environment,
        writable=policy.writable,
        readable=policy.readable,
        hidden=policy.hidden,
        network=settings.sandbox.network,
        output_bytes=settings.limits.output_bytes,
        steering=await _steering(site.repository, settings.guard, ground),
        counter=ToolCounter(),
        fewer_tests=settings.guard.fewer_tests,
    )
    if not settings.guard.clean_checkout:
        return guard, None
    elsewhere = replace(guard, writable=checks.writable, readable=(), hidden=())
    checkouts = site.checkouts(Aligned(commit=ground))
    return guard, CleanGuard(guard=elsewhere, checkouts=checkouts)


@contextlib.asynccontextmanager
async def open_tree(
    start: Path, overrides: Mapping[str, object], *, run_id: str | None, here: bool
) -> AsyncIterator[OpenTree]:
    """Take the lock of the tree around `start`, and begin or resume its run.

    A run that is resumed may find what an agent left when its runner was killed, in place of the
    tree, the settings or the justfile: the runner sets that aside before it reads any of them. A
    run that begins has nothing to set aside, and must not have made a branch when it is refused.
    """
    repository = await find(start)
    root = repository.checkout
    resumes = here or await _is_on_a_run(repository)
    if resumes:
        (root / OURS).mkdir(exist_ok=True)
    elif not (root / TREE).exists():
        raise _no_tree()
    with DirectoryLock(root / OURS):
        tried = None
        if not resumes:
            ready, tree = _ready(root, overrides)
            _refuse_done(tree)
            repository = repository.with_filters(filters_of(ready))
            _refuse_dirt(await dirt_in(repository))
            await _refuse_ignored(repository)
            site, head = site_of(repository, ready), await repository.head()
            tried = await trial(site, await guards_of(site, head), head)
        settings = settings_for(root, overrides).settings or Settings()
        repository = repository.with_filters(filters_of(settings))
        repository = replace(repository, secrets=known_secrets(settings))
        place = await GitInPlace.open(repository, run=run_id, here=here, mint=new_run_id)
        if place.made_branch:
            complain(f"dwindle: on the new branch {place.branch}")
        try:
            with contextlib.closing(open_journal(root / JOURNALS, place.run)) as journal:
                yield await _opened(repository, place, journal, overrides, tried)
        finally:
            with contextlib.suppress(OSError):
                (repository.git.git_dir / SECOND_NAME).unlink(missing_ok=True)
            place.close()


async def _opened(
    repository: Repository,
    place: GitInPlace,
    journal: JsonlJournal,
    overrides: Mapping[str, object],
    tried: TrialGuard | None,
) -> OpenTree:
    root, logs = repository.checkout, repository.checkout / LOGS
    events = list(journal.events(0))
    await _clear_trial(place, tried)
    await _clean(place, unfinished=is_unfinished(events))
    await _refuse_ignored(repository)
    settings, tree = _ready(root, overrides)
    file = DurableFile(RealDisk(), root / TREE)
    history = await place.history()
    found = resume_tree(
        tree,
        goal=_goal(root, tree),
        history=history,
        events=events,
        limits=settings.limits,
        logs=logs / place.run,
        run=place.run,
    )
    head, site = await place.head(), site_of(repository, settings)
    ground = history.start or head
    guard, clean = await guards_of(site, ground)
    if clean is not None:
        await clean.checkouts.discard_left()
    if tried is None and not tree.root.passes:
        tried = await trial(site, (guard, clean), head)
        await _clear_trial(place, tried)
    if clean is not None and tried is not None:
        clean = replace(clean, tests=tried.tests)
    progress = TreeProgress(
        run=place.run,
        content=encode(tree),
        done=list(history.done),
        seen=found.seen,
        refusal=found.refusal,
        tests=_tests(history, head),
    )
    ours = RunnerFiles(
        top=root,
        journal=path_of(root / JOURNALS, place.run),
        logs=logs,
        second_name=repository.git.git_dir / SECOND_NAME,
    )
    ours.begin()
    return OpenTree(
        site=site,
        ledger=Ledger(found.plan, journal),
        run_id=place.run,
        aligned=Aligned(commit=head, branch=place.began_on),
        place=place,
        file=file,
        tree_progress=progress,
        ours=ours,
        guard=guard,
        clean=clean,
        briefing=await Briefings(repository=repository, commit=lambda: ground)(),
    )


async def _clear_trial(place: GitInPlace, tried: TrialGuard | None) -> None:
    """Set aside what the guard left in the checkout when it was tried there."""
    if tried is not None and tried.ran_in_place and await place.dirt():
        await place.set_aside(await place.head(), "trial/1")


async def _steering(repository: Repository, guard: GuardSettings, ground: str) -> GuardSteering:
    """What agents may not change; `ground` is the commit where the run began."""
    if not guard.work_paths:
        return steering_of_guard(guard.command, guard.deliverables)
    files = await repository.files(ground)
    return outside_work_paths(guard.command, guard.work_paths, guard.deliverables, (ground, files))


def _tests(history: History, head: str) -> int | None:
    """How many the last iteration left to be run; unknown if a person has committed since."""
    last = history.done[-1] if history.done else None
    return last.tests if last is not None and last.commit == head else None


# --- before anything starts ----------------------------------------------------------------------


async def _is_on_a_run(repository: Repository) -> bool:
    return run_of((await repository.git.ask("symbolic-ref", "--quiet", "HEAD")).text) is not None


def _ready(root: Path, overrides: Mapping[str, object]) -> tuple[Settings, TreeDocument]:
    """Settings, tree, agent and guard; Refused or NotReady if the user has to bring one of them."""
    settings = valid_settings(root, overrides)
    file = DurableFile(RealDisk(), root / TREE)
    if not file.exists():
        raise _no_tree()
    file.sweep()
    if with_found(settings).agents.worker.backend is None:
        raise no_agent()
    trouble = guard_trouble(settings.guard, root)
    if trouble is not None:
        raise Refused(trouble.what, hint=trouble.hint, code=UNAVAILABLE)
    decoded = decode(file.read())
    if decoded.tree is None:
        raise NotReady(TREE, decoded.problems)
    return settings, decoded.tree


def _no_tree() -> Refused:
    return Refused("there is no tree yet", where=TREE, hint="`dwindle init` makes one")


def _refuse_done(tree: TreeDocument) -> None:
    """Nothing would be run, not even the guard; so no new run begins, and git gets no branch."""
    if tree.root.passes:
        hint = "add open nodes and commit; or remove it, and `dwindle init` for another goal"
        raise Refused("every node of the tree has passed already", where=TREE, hint=hint)


async def _clean(place: GitInPlace, *, unfinished: bool) -> None:
    """Set aside what an iteration left that was cut short; any other change is the user's."""
    if unfinished or place.begun is not None:
        base, moved = place.begun or await place.head(), False
        with contextlib.suppress(WorkspaceFailed):
            moved = await place.head() != base
        ref = await place.set_aside(base, "unfinished")
        if ref is not None:
            # An agent without a sandbox can commit, and so can a user who found its leftovers.
            since = f", with the commits made since {base[:12]}" if moved else ""
            complain(f"dwindle: an iteration was cut short; what it left is kept at {ref}{since}")
    _refuse_dirt(await place.dirt())


def _refuse_dirt(dirt: Sequence[str]) -> None:
    if dirt:
        more = f"\n  and {len(dirt) - SHOWN} more" if len(dirt) > SHOWN else ""
        listed = "".join(f"\n  {path}" for path in dirt[:SHOWN])
        raise Refused(
            f"the checkout is not clean:{listed}{more}",
            hint="commit it (`git add . && git commit -m 'Before the run'`) or stash it",
        )


async def _refuse_ignored(repository: Repository) -> None:
    """In a clean checkout, git ignores a tree that is not in the last commit."""
    if (await repository.git.ask("cat-file", "-e", f"HEAD:{TREE}")).code:
        what = "git ignores the tree, and what is not committed is not remembered"
        raise Refused(what, where=TREE, hint="take it out of .gitignore, and commit it")


def _goal(root: Path, tree: TreeDocument) -> str:
    """`GOAL.md`, or else the root's own sentence."""
    text = owned_file.content_of(root / OURS / "GOAL.md", LARGEST)
    return (text or b"").decode("utf-8", "replace").strip() or tree.root.goal
