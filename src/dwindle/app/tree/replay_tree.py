"""Replay a tree run: decide it again from its commits alone, and compare.

The tree in the commit before an iteration, and the iterations before it, decide which node is next
and what kind of session it gets. From each commit the replay takes only the change that the agent
made to the tree; what the runner wrote (`passes`, `attempts`, all order) must follow from it, byte
for byte.

One thing a commit does not say: whether a session without a result had an edit of the tree refused,
after which a repair comes next, or failed in another way. The journal says so, if it is here.
Without it, the replay tries both, and one of them has to fit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from msgspec.structs import replace as changed

from dwindle.adapters.formats.config.file import read_settings
from dwindle.adapters.formats.config.settings import LimitSettings
from dwindle.adapters.formats.tree.atoms import TREE_LIMITS, TreeStep, plannings_used
from dwindle.adapters.formats.tree.edit import TaskTreeFormat, ids_in
from dwindle.adapters.formats.tree.plan import TreeDocument, TreeNode, decode, encode, to_plan
from dwindle.adapters.formats.tree.walk import depth_first, rebuilt
from dwindle.adapters.git.in_place.history import BranchCommit
from dwindle.adapters.store.disk import RealDisk
from dwindle.adapters.store.journal import path_of, read_journal
from dwindle.app.paths import JOURNALS
from dwindle.app.settings import SETTINGS_FILE, settings_for
from dwindle.app.tree.branch_history import RunBranch, contents, read_branch
from dwindle.kernel.actions import Action, Probe, Settle, Work
from dwindle.kernel.decide import decide
from dwindle.kernel.errors import KernelError
from dwindle.kernel.events import (
    AtomResolved,
    AttemptFailed,
    Event,
    IterationCommitted,
    Replanned,
    RunStarted,
    SessionStarted,
    Settled,
)
from dwindle.kernel.model import AtomId, Plan, Role
from dwindle.kernel.transitions import apply
from dwindle.kernel.tree_edits import TREE_ROOT, is_refused
from dwindle.ports.in_place import Done
from dwindle.ports.iteration import Guarded, Iteration, Kind
from dwindle.ports.tree import Judged
from dwindle.runner.modes.tree.iteration import is_leaf
from dwindle.text.terminal import one_line

PLENTY: Final = 10**9
NO_LIMITS: Final = replace(
    TREE_LIMITS, max_iterations=PLENTY, max_atoms=PLENTY, max_wall_seconds=PLENTY
)
"""Limits may have been changed on the way, and ending is not an iteration."""
FORM: Final = TaskTreeFormat()
Outcome = AtomResolved | AttemptFailed | Replanned


class ReplayMismatch(Exception):
    """The first iteration that differs from what the kernel decides."""

    def __init__(self, number: int, what: str) -> None:
        super().__init__(number, what)
        self.number = number
        self.what = what

    def __str__(self) -> str:
        return f"iteration {self.number:04} {self.what}"


@dataclass(slots=True, kw_only=True)
class _Progress:
    done: list[Done] = field(default_factory=list)
    seen: dict[str, None] = field(default_factory=dict)
    """Every id that was ever on the branch."""
    refused: tuple[int, ...] = (0,)
    """How many edits in a row may have been refused up to here."""
    planned: Counter[AtomId] = field(default_factory=Counter)
    """Planning sessions that nodes have used."""


def replay_tree(root: Path, branch: RunBranch) -> int:
    """The number of iterations replayed; raises ReplayMismatch at the first that differs."""
    history = read_branch(root, branch)
    known = _outcomes(root, branch.run)
    roots = _execute_roots(root, history.commits)
    progress = _Progress(seen=dict.fromkeys(ids_in(history.trees.get(history.start, b""))))
    for one in history.commits:
        iteration = one.iteration(branch.run)
        tree = history.trees.get(one.commit)
        if iteration is not None:
            before = history.trees.get(one.parent)
            _follow(progress, iteration, (before, tree), roots[one.commit], known)
            progress.done.append(Done(iteration=iteration, commit=one.commit))
        progress.seen.update(dict.fromkeys(ids_in(tree or b"")))
    return len(progress.done)


def _follow(
    progress: _Progress,
    iteration: Iteration,
    trees: tuple[bytes | None, bytes | None],
    execute_root: bool,  # noqa: FBT001 - read from the settings of that moment
    known: Mapping[int, Outcome],
) -> None:
    """Replay one iteration, and keep how many edits may have been refused after it."""
    number = iteration.number
    expected = progress.done[-1].iteration.number + 1 if progress.done else 1
    if number != expected:
        raise ReplayMismatch(number, f"is on the branch where {expected:04} should be")
    before, after = _sound(number, trees[0], "before it"), _sound(number, trees[1], "in it")
    if encode(after) != trees[1]:
        raise ReplayMismatch(number, "has a tree that is not in its canonical form")
    judged = _edit(number, before, after, progress.seen)
    plan = to_plan(
        before,
        limits=NO_LIMITS,
        execute_root=execute_root,
        planned=progress.planned,
        ids_seen=len(progress.seen),
    )
    plans = [replace(plan, refused_edits=refused) for refused in progress.refused]
    started = [one for one in (_started(plan, iteration) for plan in plans) if one is not None]
    if not started:
        raise ReplayMismatch(number, f"is {_said(iteration)}, but {_decided(plans[0])}")
    found = dict.fromkeys(
        ended.refused_edits
        for one in started
        for ended in _endings(one, iteration, judged, encode(before), known.get(number))
        if FORM.written(judged.content, ended) == trees[1]
    )
    if not found:
        raise ReplayMismatch(number, "has a tree in which passes or attempts do not come of it")
    progress.refused = tuple(found)
    step = TreeStep(node=iteration.node, before=encode(before), after=encode(after))
    progress.planned.update(plannings_used([step], execute_root=execute_root))


def _sound(number: int, content: bytes | None, where: str) -> TreeDocument:
    if content is None:
        raise ReplayMismatch(number, f"has no tree {where}")
    decoded = decode(content)
    if decoded.tree is None:
        first = next(problem for problem in decoded.problems if not problem.warning)
        raise ReplayMismatch(
            number, f"has a tree {where} that is not valid: {one_line(first.what)}"
        )
    return decoded.tree


def _edit(number: int, old: TreeDocument, new: TreeDocument, seen: Mapping[str, None]) -> Judged:
    """What the agent made of the tree: the new one without what the runner wrote into it."""
    known = {path[-1].id: path[-1] for path in depth_first(old.root)}

    def make(node: TreeNode, children: tuple[TreeNode, ...]) -> TreeNode:
        was = known.get(node.id)
        passes, attempts = (False, 0) if was is None else (was.passes, was.attempts)
        return changed(node, children=children, passes=passes, attempts=attempts)

    left = encode(changed(new, root=rebuilt(new.root, make)))
    judged = FORM.judged(encode(old), left, seen)
    if judged.problems:
        what = one_line(judged.problems[0].what)
        raise ReplayMismatch(number, f"has a tree that does not follow from the one before: {what}")
    return judged


# --- deciding ------------------------------------------------------------------------------------


def _action(plan: Plan) -> tuple[Plan, Action | None]:
    """The plan at work, and what is decided then."""
    try:
        plan = apply(plan, RunStarted())
        actions = decide(plan).actions
        while actions and isinstance(actions[0], Settle):
            plan = apply(plan, Settled())
            actions = decide(plan).actions
    except KernelError:
        return plan, None
    return plan, actions[0] if actions else None


def _started(plan: Plan, iteration: Iteration) -> Plan | None:
    """With the session of this iteration in flight; None if another one was decided."""
    plan, action = _action(plan)
    if not isinstance(action, (Work, Probe)) or action.atom != iteration.node:
        return None
    if isinstance(action, Probe) and iteration.kind is not Kind.DECOMPOSE:
        return None
    role = Role.WORKER if isinstance(action, Work) else Role.PROBE
    return apply(plan, SessionStarted(atom=action.atom, role=role))


def _decided(plan: Plan) -> str:
    now, action = _action(plan)
    if isinstance(action, Work):
        return f"work on {action.atom} was decided"
    if isinstance(action, Probe):
        repairs = action.atom == TREE_ROOT and is_refused(now)
        return "a repair was decided" if repairs else f"planning {action.atom} was decided"
    stop = decide(now).stop
    return f"nothing was to be done: {stop.reason}" if stop else "nothing was to be done"


def _said(iteration: Iteration) -> str:
    return f"{iteration.node} {iteration.kind} guard={iteration.guard}"


# --- how a session may have ended ----------------------------------------------------------------


def _endings(
    plan: Plan, iteration: Iteration, judged: Judged, before: bytes, known: Outcome | None
) -> Iterator[Plan]:
    """The plan after every outcome that the commit, and the journal if it knows, allow."""
    for outcome in _possible(plan, iteration, judged, before):
        if known is None or _kind(outcome) == _kind(known):
            try:
                yield apply(plan, outcome)
            except KernelError:
                continue


def _possible(plan: Plan, iteration: Iteration, judged: Judged, before: bytes) -> Iterator[Outcome]:
    node = AtomId(iteration.node)
    nonce = plan.sessions[node].nonce
    failed = AttemptFailed(atom=node, nonce=nonce, reason="", edit=judged.edit)
    is_execute = iteration.kind is Kind.EXECUTE
    if is_execute and iteration.guard is Guarded.PASS and is_leaf(judged, node):
        yield AtomResolved(atom=node, nonce=nonce, summary="", edit=judged.edit)
        yield failed  # files that the agent may not change were put back
    elif is_execute and iteration.guard is not Guarded.SKIPPED:
        yield failed
    elif iteration.guard is Guarded.SKIPPED:
        if not is_execute:
            yield Replanned(atom=node, nonce=nonce, edit=judged.edit)
        yield failed
        if judged.content == before:
            yield replace(failed, edit=None, refused=True)


def _kind(outcome: Outcome) -> tuple[type[Outcome], bool]:
    return type(outcome), isinstance(outcome, AttemptFailed) and outcome.refused


def _outcomes(root: Path, run: str) -> dict[int, Outcome]:
    """How each iteration ended, as far as the journal is here and says so."""
    folder = root / JOURNALS
    if not path_of(folder, run).exists():
        return {}
    found: dict[int, Outcome] = {}
    last: Outcome | None = None
    for event in _events(folder, run):
        if isinstance(event, (AtomResolved, AttemptFailed, Replanned)):
            last = event
        elif isinstance(event, IterationCommitted) and last is not None:
            found[event.number] = last
    return found


def _events(folder: Path, run: str) -> Iterator[Event]:
    return read_journal(RealDisk(), folder, run).events(0)


def _execute_roots(root: Path, commits: Sequence[BranchCommit]) -> dict[str, bool]:
    """Of each commit, whether the settings it began with let the root be worked on."""
    found = contents(root, SETTINGS_FILE, [one.parent for one in commits if one.parent])
    now = settings_for(root).settings
    otherwise = now.limits.execute_root if now is not None else LimitSettings().execute_root

    def is_executed(one: BranchCommit) -> bool:
        content = found.get(one.parent)
        settings = None if content is None else read_settings(content).settings
        return otherwise if settings is None else settings.limits.execute_root

    return {one.commit: is_executed(one) for one in commits}
