"""Tree runs: the leftmost open leaf, a fresh agent, the guard, a commit.

The branch is the memory. An iteration has happened when its commit exists, and not before: events
of an iteration without a commit are dropped when the run is resumed, and the iteration is done
again under the same number. So an iteration is closed in this order: the event in the journal, the
tree file, the commit, and a record of the commit. While an iteration is being closed, the loop
decides nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from dwindle.kernel.actions import Probe, Work
from dwindle.kernel.errors import IllegalEvent
from dwindle.kernel.events import (
    AttemptFailed,
    Event,
    Interruption,
    IterationCommitted,
    Redirected,
    RedirectRequested,
    Replanned,
    SessionInterrupted,
    StopRequested,
)
from dwindle.kernel.model import AtomId, Plan, Problem, Role, StopCode
from dwindle.kernel.tree_edits import TREE_ROOT, is_refused
from dwindle.ports.in_place import Done
from dwindle.ports.iteration import Guarded, Iteration, Kind
from dwindle.ports.process import Secret
from dwindle.ports.store import PlanFile
from dwindle.ports.work import PASSES
from dwindle.ports.workspace import WorkspaceFailed
from dwindle.runner.gate.judgement import bounded
from dwindle.runner.inbox import Inbox
from dwindle.runner.modes.mode import Mode
from dwindle.runner.modes.tree import guard as guards
from dwindle.runner.modes.tree import node_tools, owned_file
from dwindle.runner.modes.tree.guard_files import OUTSIDE, RESTORED, short_list
from dwindle.runner.modes.tree.iteration import (
    TREE,
    AgentGone,
    Bench,
    IterationOutcome,
    Task,
    is_leaf,
    iterate,
    meta_of,
    prepare,
    resolved,
    restore_steering,
)
from dwindle.runner.modes.tree.log import IterationLog
from dwindle.runner.modes.tree.prompt import Phase, Refusal
from dwindle.runner.modes.tree.task import Chosen, TreeProgress, task_of
from dwindle.runner.shield import shielded
from dwindle.text.redact import redact
from dwindle.text.terminal import one_line

REASON: Final = 4000
SHOWN: Final = 10
"""Paths that are listed when a checkout is not clean."""
SUMMARY: Final = 300
"""Characters of an agent's words in the message of a commit."""
NOTED: Final = 20
"""Notes about an iteration that go into the journal; `meta.json` has all of them."""
PATCH: Final = 16 << 20
"""Bytes of a difference that are kept in the log; the commit has all of it."""
NOT_BY_REDIRECT: Final = (
    "a tree is not redirected while it runs: stop it, edit .runner/tree.json, commit, and run"
)

Record = Callable[[Event], Plan]
"""Puts an event on disk and returns the plan after it: `Loop.record`."""


class TreeMode(Mode):
    """One iteration at a time. `record` is set by the loop's owner before the loop runs."""

    def __init__(  # noqa: PLR0913 - what a run is put together from
        self,
        progress: TreeProgress,
        bench: Bench,
        plan: Callable[[], Plan],
        *,
        file: PlanFile,
        logs: Path,
        encode: Callable[[Event], bytes],
        inbox: Inbox | None = None,
    ) -> None:
        self.inbox = Inbox() if inbox is None else inbox
        self.record: Record
        self._progress = progress
        self._bench = bench
        self._plan = plan
        self._file = file
        self._logs = logs
        self._encode = encode
        self._log: IterationLog | None = None
        self._base = ""
        self._tools: tuple[str, ...] | None = None
        self._task: asyncio.Task[None] | None = None
        self._closing = False

    # --- for the loop ----------------------------------------------------------------------------

    async def quiet(self) -> None:
        """Wait for an iteration that is being closed; raise its error."""
        if self._task is None or not (self._closing or self._task.done()):
            return
        await asyncio.wait((self._task,))
        task, self._task = self._task, None
        self._closing, self._log = False, None
        task.result()

    async def trouble(self, action: Work | Probe) -> StopRequested | None:
        """The checkout must be what the last commit says, and the node's list of tools valid."""
        place = self._bench.place
        try:
            self._base, dirt = await place.head(), await place.dirt()
        except WorkspaceFailed as failure:
            return StopRequested(reason=str(failure), code=StopCode.IO_ERROR)
        if dirt:
            listed = ", ".join(dirt[:SHOWN]) + (", ..." if len(dirt) > SHOWN else "")
            reason = f"between two iterations the checkout was changed without a commit: {listed}"
            return StopRequested(reason=reason, code=StopCode.TAMPERED)
        tools = node_tools.tools_of(place.path, action.atom)
        if tools.problems:
            return StopRequested(
                reason=_problem_sentence(tools.problems), code=StopCode.INVALID_PLAN
            )
        self._tools = tools.names
        folder = self._logs / f"{self._progress.next_number:04}"
        self._log = IterationLog(folder=folder, secrets=self._bench.secrets)
        self._log.begin(self._progress.content)
        return None

    def agent_for(self, plan: Plan, action: Work | Probe) -> str:
        return self._bench.agents.label(Role.WORKER, plan.atoms[action.atom].attempts)

    def start(self, plan: Plan, action: Work | Probe, agent: str) -> None:
        assert self._log is not None  # noqa: S101 - made by `trouble`
        chosen = Chosen(
            node=action.atom, phase=_phase(plan, action), tools=self._tools, agent=agent
        )
        task = task_of(self._bench, self._progress, plan, chosen, self._base, self._log)
        self._task = asyncio.create_task(self._iterate(task))
        self._task.add_done_callback(lambda _: self.inbox.put_nowait(None))

    async def end(self, atoms: Iterable[AtomId]) -> None:
        """End the iteration under way: its work is set aside, and the checkout restored."""
        if not tuple(atoms) or self._task is None:
            return
        task = self._task
        if not self._closing:
            task.cancel()
        # A second Ctrl-C cancels the caller: the checkout has to be put back before it goes on.
        await shielded(_over(task))
        self._task, self._closing, self._log = None, False, None
        if not task.cancelled():
            task.result()

    async def end_all(self) -> None:
        await self.end((TREE_ROOT,))

    def admit(self, event: Event) -> None:
        if isinstance(event, (Redirected, RedirectRequested)):
            raise IllegalEvent(event, NOT_BY_REDIRECT)

    def recorded(self, plan: Plan, event: Event) -> None:  # noqa: ARG002
        """What happens in an iteration is in its log too."""
        if self._log is not None:
            self._log.add_event(self._encode(event))

    # --- one iteration ---------------------------------------------------------------------------

    async def _iterate(self, task: Task) -> None:
        try:
            task = await prepare(self._bench, task)
            await self._bench.place.hand_over(task.base)
            outcome = await iterate(self._bench, task, self._plan(), self._progress.seen)
            self._closing = True
            await shielded(self._close(task, outcome))
        except asyncio.CancelledError:
            if not self._closing:
                await shielded(self._set_aside(task))
            raise
        except AgentGone as gone:
            self._closing = True
            await shielded(self._without_agent(task, gone))
        except WorkspaceFailed as failure:
            self._closing = True
            await self._after_git_failure(task, failure)

    # --- how it ends -----------------------------------------------------------------------------

    async def _set_aside(self, task: Task) -> None:
        await self._bench.place.set_aside(task.base, task.name)
        restore_steering(task)

    async def _without_agent(self, task: Task, gone: AgentGone) -> None:
        limited = gone.report.trouble in PASSES
        self.record(StopRequested(reason=gone.report.reason, code=StopCode.AGENT_UNAVAILABLE))
        await self._set_aside(task)
        self._record_interruption(task, Interruption.RATE_LIMIT if limited else Interruption.STOP)

    async def _after_git_failure(self, task: Task, failure: WorkspaceFailed) -> None:
        """Git failed. The changes stay in the checkout; the next run sets them aside."""
        self.record(StopRequested(reason=str(failure), code=StopCode.IO_ERROR))
        if task.order.atom in self._plan().sessions:
            with suppress(WorkspaceFailed):
                await self._bench.place.hand_over(task.base)
            self._record_interruption(task, Interruption.STOP)

    def _record_interruption(self, task: Task, cause: Interruption) -> None:
        order = task.order
        used = self._bench.agents.meter.take(order.nonce)
        self.record(SessionInterrupted(atom=order.atom, nonce=order.nonce, cause=cause, usage=used))

    async def _close(self, task: Task, outcome: IterationOutcome) -> None:
        progress, bench = self._progress, self._bench
        plan = self.record(self._event(task, outcome))
        if outcome.problems:
            text = outcome.refused_text.decode("utf-8", "replace")
            progress.refusal = Refusal(text=text, problems=outcome.problems)
        if progress.refusal is not None and plan.refused_edits:
            task.log.refuse(progress.refusal, plan.refused_edits)
        content = bench.form.written(outcome.judged.content, plan)
        owned_file.make_way(bench.place.path / TREE)
        self._file.replace(content)
        iteration = Iteration(
            run=progress.run,
            number=task.order.attempt,
            node=task.order.atom,
            kind=outcome.kind,
            guard=outcome.guarded,
        )
        message = iteration.message(outcome.tests, list(_did(outcome, bench.secrets)))
        commit = await bench.place.commit(task.base, message)
        progress.content, progress.tests = content, outcome.tests
        progress.done.append(Done(iteration=iteration, commit=commit, tests=outcome.tests))
        progress.seen.update(dict.fromkeys(plan.atoms))
        self.record(
            IterationCommitted(
                number=iteration.number,
                commit=commit,
                subject=iteration.subject,
                notes=outcome.notes[:NOTED],
            )
        )
        task.log.write("tree.after.json", content)
        task.log.keep("diff.patch", await bench.place.patch(task.base, commit, PATCH))
        task.log.end(meta_of(bench, task, outcome, progress.done[-1]))
        if outcome.timed_out:
            reason = f"iteration {iteration.number:04} took more than {bench.seconds:g} s"
            self.record(StopRequested(reason=reason, code=StopCode.ITERATION_TIMEOUT))

    def _event(self, task: Task, outcome: IterationOutcome) -> Event:
        """The event that tells the kernel the outcome."""
        node, nonce, edit = task.order.atom, task.order.nonce, outcome.judged.edit
        failed = AttemptFailed(atom=node, nonce=nonce, usage=outcome.usage, reason="", edit=edit)
        if outcome.problems:
            listed = "; ".join(problem.what for problem in outcome.problems)
            words = f"the edit of the tree is refused: {listed}"
            return replace(failed, reason=bounded(words, REASON), edit=None, refused=True)
        if outcome.crash:
            return replace(failed, reason=bounded(outcome.crash, REASON))
        if outcome.kind is Kind.DECOMPOSE and outcome.not_yet:
            return replace(failed, reason=bounded(outcome.not_yet, REASON))
        if outcome.kind is Kind.DECOMPOSE:
            return Replanned(atom=node, nonce=nonce, usage=outcome.usage, edit=edit)
        if outcome.guarded is Guarded.FAIL and outcome.judgement is not None:
            guard, clean = self._bench.guard, outcome.clean
            words = clean.words(guard) if clean else guards.words(guard, outcome.judgement)
            back = [note for note in outcome.notes if note.startswith((RESTORED, OUTSIDE))]
            return replace(failed, reason=bounded("\n".join((*back, words)), REASON))
        if outcome.not_yet:
            return replace(failed, reason=bounded(outcome.not_yet, REASON))
        if not is_leaf(outcome.judged, node):
            words = "the guard is green, but the node was split or removed in the same session"
            return replace(failed, reason=words)
        return resolved(self._bench.guard, task, outcome)


def _did(outcome: IterationOutcome, secrets: Sequence[Secret]) -> Iterator[str]:
    """What the message of the commit says for people: the same for the same outcome."""
    if outcome.summary.strip():
        yield bounded(one_line(outcome.summary), SUMMARY)
    if paths := sorted(path for path in outcome.paths if path != TREE):
        yield redact(f"changed {one_line(short_list(paths))}", secrets)


async def _over(task: asyncio.Task[None]) -> None:
    await asyncio.wait((task,))


def _phase(plan: Plan, action: Work | Probe) -> Phase:
    if isinstance(action, Work):
        return Phase.WORK
    repairs = action.atom == TREE_ROOT and is_refused(plan)
    return Phase.REPAIR if repairs else Phase.PLAN


def _problem_sentence(problems: Sequence[Problem]) -> str:
    """All of them, in one sentence."""
    words = "; ".join(f"{'.'.join(map(str, one.where))}: {one.what}" for one in problems)
    return bounded(f"{words} ({problems[0].hint})", REASON)
