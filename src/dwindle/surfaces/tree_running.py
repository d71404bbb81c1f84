"""A run on a tree from the outside: branch, guard, cleanliness, plan, and then the loop.

Everything that could keep an iteration from being closed is looked at before an agent is started:
a missing guard or agent is the person's to mend and costs no attempt.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dwindle import wiring
from dwindle.adapters.checks.counting import ToolCounter
from dwindle.adapters.disk import DirectoryLock, DurableFile, RealDisk, make_directory
from dwindle.adapters.formats.config_settings import Settings
from dwindle.adapters.formats.tree_edit import TaskTreeFormat
from dwindle.adapters.formats.tree_file import decode
from dwindle.adapters.formats.tree_wire import TreeDocument
from dwindle.adapters.journals import event_codec
from dwindle.adapters.journals.jsonl import JsonlJournal, path_of
from dwindle.adapters.workspaces.in_place import GitInPlace
from dwindle.adapters.workspaces.repository import Repository, find
from dwindle.adapters.workspaces.standing import dirt_in, run_of
from dwindle.kernel.aligned import Aligned
from dwindle.kernel.events import RunStarted
from dwindle.kernel.exit_codes import EXIT_CODES
from dwindle.kernel.model import PlanKind, StopCode
from dwindle.ports.agent import Agent
from dwindle.ports.in_place import History
from dwindle.ports.store import StoreFailed
from dwindle.ports.workspace import WorkspaceFailed
from dwindle.runner import alignment, owned_file
from dwindle.runner.belongings import Belongings
from dwindle.runner.control import Control
from dwindle.runner.guard import Guard
from dwindle.runner.loop import Halted
from dwindle.runner.sockets import SOCKETS
from dwindle.runner.steering import steering_of_guard
from dwindle.runner.tree_iteration import CONFIG, LARGEST, OURS, TREE, Bench
from dwindle.runner.tree_loop import TreeLoop
from dwindle.runner.tree_progress import Progress as Standing
from dwindle.surfaces.agents import READ_ONLY_BY, Terms, agent_of, nobody, with_found
from dwindle.surfaces.cli.output import complain
from dwindle.surfaces.guard_trouble import guard_trouble
from dwindle.surfaces.progress import Progress
from dwindle.surfaces.purse import Purse
from dwindle.surfaces.refusal import Refused
from dwindle.surfaces.running import (
    JOURNALS,
    LOGS,
    OUTBOXES,
    NotReady,
    SystemClock,
    Wish,
    signals,
)
from dwindle.surfaces.tree_taken_up import is_unfinished, taken_up

SHOWN = 10
"""Paths that are listed when a checkout is not clean."""
KEEPSAKE = "dwindle-journal"
"""A second name of the journal, among git's own files."""
UNAVAILABLE = EXIT_CODES[StopCode.AGENT_UNAVAILABLE]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """What a person has to bring; without it nothing is begun."""

    settings: Settings
    file: DurableFile
    tree: TreeDocument


async def run(start: Path, wish: Wish, progress: Progress) -> Halted:
    """Run the tree of the repository around `start`.

    A run that goes on may find what an agent left when its runner was killed, in place of the tree,
    the settings or the justfile: that is set aside before any of them is read. A run that begins
    has nothing to set aside, and must not have made a branch when it is refused.
    """
    repository = await find(start)
    root = repository.checkout
    goes_on = wish.here or await _is_on_a_run(repository)
    if goes_on:
        (root / OURS).mkdir(exist_ok=True)
    elif not (root / TREE).exists():
        raise Refused("there is no tree yet", where=TREE, hint="`dwindle init` makes one")
    with DirectoryLock(root / OURS):
        if not goes_on:
            _refuse_done(_ready(root, wish).tree)
            _refuse_dirt(await dirt_in(repository))
            await _refuse_ignored(repository)
        settings = wiring.settings_for(root, wish.overrides).settings or Settings()
        repository = replace(repository, secrets=wiring.known_secrets(settings))
        place = await GitInPlace.open(repository, run=wish.run_id, here=wish.here, mint=_minted)
        if place.made_branch:
            complain(f"dwindle: on the new branch {place.branch}")
        try:
            journal = _journal(root / JOURNALS, place.run)
            try:
                return await _run(repository, place, journal, wish, progress)
            finally:
                journal.close()
        finally:
            with contextlib.suppress(OSError):
                (repository.git.git_dir / KEEPSAKE).unlink(missing_ok=True)
            place.close()


async def _is_on_a_run(repository: Repository) -> bool:
    return run_of((await repository.git.ask("symbolic-ref", "--quiet", "HEAD")).text) is not None


def _ready(root: Path, wish: Wish) -> Ready:
    """Everything that can be wrong before an agent is started."""
    read = wiring.settings_for(root, wish.overrides)
    if read.settings is None:
        raise NotReady(read.problems, where=wiring.SETTINGS_FILE)
    file = DurableFile(RealDisk(), root / TREE)
    if not file.exists():
        raise Refused("there is no tree yet", where=TREE, hint="`dwindle init` makes one")
    file.sweep()
    if with_found(read.settings).agents.worker.backend is None:
        raise nobody()
    refuse_without_guard(read.settings.guard.command, root)
    return Ready(settings=read.settings, file=file, tree=_tree(file))


async def _run(
    repository: Repository,
    place: GitInPlace,
    journal: JsonlJournal,
    wish: Wish,
    progress: Progress,
) -> Halted:
    root = repository.checkout
    events = list(journal.events(0))
    await _clean(place, unfinished=is_unfinished(events))
    await _refuse_ignored(repository)
    ready = _ready(root, wish)
    history = await place.history()
    found = taken_up(
        ready.tree,
        goal=_goal(root, ready.tree),
        history=history,
        events=events,
        limits=ready.settings.limits,
        logs=root / LOGS / place.run,
        run=place.run,
    )
    standing = Standing(
        run=place.run,
        plan=found.plan,
        content=ready.file.read(),
        done=list(history.done),
        seen=found.seen,
        refusal=found.refusal,
        tests=_tests(history, await place.head()),
    )
    ours = Belongings(
        top=root,
        journal=path_of(root / JOURNALS, place.run),
        logs=root / LOGS,
        keepsake=repository.git.git_dir / KEEPSAKE,
    )
    ours.begin()
    bench = _bench(repository, ready, place, ours, Purse(lambda: standing.plan))
    if _is_sealed(repository, bench):
        place.seal()
    loop = TreeLoop(
        standing,
        bench,
        journal=journal,
        file=ready.file,
        logs=root / LOGS / place.run,
        watch=progress.told,
        encode=event_codec.encode,
    )
    progress.notify(ready.settings.notify, root)
    progress.recall(events)
    async with progress:
        aligned = Aligned(commit=await place.head())
        loop.begin(RunStarted(run_id=place.run, aligned=aligned))
        listening = Control(root / ".runner", loop.asked, event_codec.decode, kind=PlanKind.TREE)
        async with listening:
            with signals(loop.asked), _told_of_logs(root / LOGS):
                return await loop.run(one_iteration=wish.one_iteration)


def _tests(history: History, head: str) -> int | None:
    """How many the last iteration left to be run; unknown if a person has committed since."""
    last = history.done[-1] if history.done else None
    return last.tests if last is not None and last.commit == head else None


def _is_sealed(repository: Repository, bench: Bench) -> bool:
    """Whether agents and the guard can only read git's own files."""
    own = (repository.git.git_dir, repository.common)
    opened = (path for path in bench.writable if any(path.is_relative_to(one) for one in own))
    return bench.containment.mechanism == READ_ONLY_BY and not any(opened)


@contextlib.contextmanager
def _told_of_logs(logs: Path) -> Iterator[None]:
    """Git and the journal have errors of their own; what is left is a log that cannot be written.

    The run ends as if it had been killed then: whatever is not committed is done again.
    """
    try:
        yield
    except OSError as error:
        path = Path(os.fsdecode(error.filename)) if error.filename else logs
        raise StoreFailed(path, "write", error.errno or 0) from error


def _bench(
    repository: Repository,
    ready: Ready,
    place: GitInPlace,
    ours: Belongings,
    purse: Purse,
) -> Bench:
    settings, root = ready.settings, repository.checkout
    limits, sandbox = settings.limits, settings.sandbox
    containment = wiring.containment_for(settings, repository)
    agent = _agent(Terms(settings=settings, root=root, containment=containment, purse=purse))
    checks = wiring.check_settings(settings)
    kept = [root / ".git", root / CONFIG, root / JOURNALS, root / LOGS]
    readable = tuple(path for path in (*kept, repository.common) if path.exists())
    hidden = tuple(root / ".runner" / name for name in SOCKETS.values())
    # A mount of its own, or else it could be moved away as a whole, with what is read-only in it.
    writable = (root / ".runner", *checks.writable)
    guard = Guard(
        command=settings.guard.command,
        containment=containment,
        checkout=root,
        environment=checks.environment,
        writable=writable,
        readable=readable,
        hidden=hidden,
        network=sandbox.network,
        output_bytes=limits.output_bytes,
        steering=steering_of_guard(settings.guard.command, settings.guard.deliverables),
        counter=ToolCounter(),
        fewer_tests=settings.guard.fewer_tests,
    )
    return Bench(
        place=place,
        form=TaskTreeFormat(),
        agent=agent,
        containment=containment,
        guard=guard,
        clock=SystemClock(),
        outboxes=root / OUTBOXES,
        ours=ours,
        seconds=float(limits.iteration_timeout_seconds),
        output_bytes=limits.output_bytes,
        writable=writable,
        readable=readable,
        hidden=hidden,
        secrets=repository.secrets,
    )


# --- before anything starts ----------------------------------------------------------------------


def _agent(terms: Terms) -> Agent:
    agent = agent_of(with_found(terms.settings).agents.worker, terms)
    if agent is None:
        raise nobody()
    return agent


def refuse_without_guard(command: tuple[str, ...], root: Path) -> None:
    """Refused if the guard could not even begin."""
    trouble = guard_trouble(command, root)
    if trouble is not None:
        raise Refused(trouble.what, hint=trouble.hint, code=UNAVAILABLE)


def _refuse_done(tree: TreeDocument) -> None:
    """Nothing would be run, not even the guard; so there is no new run, and no branch for it."""
    if tree.root.passes:
        hint = "add open nodes and commit; or remove it, and `dwindle init` for another goal"
        raise Refused("every node of the tree has passed already", where=TREE, hint=hint)


async def _clean(place: GitInPlace, *, unfinished: bool) -> None:
    """Leftovers of an iteration that was cut short are set aside; anything else is a person's."""
    if unfinished or place.begun is not None:
        base, moved = place.begun or await place.head(), False
        with contextlib.suppress(WorkspaceFailed):
            moved = await place.head() != base
        ref = await place.set_aside(base, "unfinished")
        if ref is not None:
            # An agent without a sandbox can commit, and a person who found its leftovers too.
            since = f", with the commits made since {base[:12]}" if moved else ""
            complain(f"dwindle: an iteration was cut short; what it left is kept at {ref}{since}")
    _refuse_dirt(await place.dirt())


def _refuse_dirt(dirt: Sequence[str]) -> None:
    if dirt:
        more = f"\n  and {len(dirt) - SHOWN} more" if len(dirt) > SHOWN else ""
        listed = "".join(f"\n  {path}" for path in dirt[:SHOWN])
        raise Refused(
            f"the checkout is not clean:{listed}{more}",
            hint="commit or stash it: every iteration begins and ends with a commit",
        )


async def _refuse_ignored(repository: Repository) -> None:
    """In a clean checkout, a tree that is not in the last commit is one that git does not see."""
    if (await repository.git.ask("cat-file", "-e", f"HEAD:{TREE}")).code:
        what = "git ignores the tree, and what is not committed is not remembered"
        raise Refused(what, where=TREE, hint="take it out of .gitignore, and commit it")


def _tree(file: DurableFile) -> TreeDocument:
    decoded = decode(file.read())
    if decoded.tree is None:
        raise NotReady(decoded.problems, where=TREE)
    return decoded.tree


def _goal(root: Path, tree: TreeDocument) -> str:
    """`GOAL.md`, or else the root's own sentence."""
    text = owned_file.content_of(root / OURS / "GOAL.md", LARGEST)
    return (text or b"").decode("utf-8", "replace").strip() or tree.root.goal


def _journal(folder: Path, run: str) -> JsonlJournal:
    disk = RealDisk()
    make_directory(disk, folder)
    if DurableFile(disk, path_of(folder, run)).exists():
        return JsonlJournal(disk, folder, run)
    return JsonlJournal.create(disk, folder, run, after=0, versions=())


def _minted() -> str:
    return alignment.minted(time.time_ns() // 10**6, secrets.token_bytes(10))
