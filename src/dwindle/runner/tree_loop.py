"""The loop on a tree: the leftmost open leaf, a fresh agent, the guard, a commit; and again.

The branch is the memory. An iteration has happened when its commit is there, and not before: what
the journal says about it without a commit is set aside when the run is taken up again, and the
iteration is done once more under the same number. So the order of closing one is: the event in the
journal, the tree file, the commit, and then a record that the commit is there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from dwindle.kernel.actions import Action, Probe, Settle, Work
from dwindle.kernel.decide import decide
from dwindle.kernel.errors import IllegalEvent
from dwindle.kernel.events import (
    AtomResolved,
    AttemptFailed,
    Event,
    Interruption,
    IterationCommitted,
    Replanned,
    RunEnded,
    RunStarted,
    SessionInterrupted,
    SessionStarted,
    Settled,
    StopRequested,
    Waited,
)
from dwindle.kernel.model import AtomId, Plan, Role, RunStatus, StopCode
from dwindle.kernel.problem import Problem
from dwindle.kernel.transitions import apply
from dwindle.kernel.tree_edits import TREE_ROOT, is_refused
from dwindle.ports.in_place import Done
from dwindle.ports.iteration import Guarded, Iteration, Kind
from dwindle.ports.store import Journal, PlanFile
from dwindle.ports.work import PASSES
from dwindle.ports.workspace import WorkspaceFailed
from dwindle.runner import guard as guards
from dwindle.runner import node_tools, owned_file
from dwindle.runner.crew import News
from dwindle.runner.held_files import PUT_BACK
from dwindle.runner.iteration_facts import facts_of
from dwindle.runner.iteration_log import IterationLog
from dwindle.runner.judgement import bounded
from dwindle.runner.loop import Halted, Watcher
from dwindle.runner.patience import Wait
from dwindle.runner.tree_iteration import (
    TREE,
    AgentGone,
    Bench,
    Came,
    Task,
    begun,
    is_leaf,
    iterated,
    let_go,
)
from dwindle.runner.tree_progress import Progress
from dwindle.runner.tree_prompt import Mode, Refusal
from dwindle.runner.tree_task import Chosen, task_of
from dwindle.runner.whole import whole

REASON = 4000
SHOWN = 10
"""Paths that are listed when a checkout is not clean."""
NOTED = 20
"""Notes about an iteration that go into the journal; `meta.json` has all of them."""
PATCH = 16 << 20
"""Bytes of a difference that are kept in the log; the commit has all of it."""
NOT_BY_REDIRECT = (
    "a tree is not redirected while it runs: stop it, edit .runner/tree.json, commit, and run"
)


class TreeLoop:
    """One run of one tree. `asked` is where requests of people come in."""

    def __init__(  # noqa: PLR0913 - what a run is put together from
        self,
        progress: Progress,
        bench: Bench,
        *,
        journal: Journal,
        file: PlanFile,
        logs: Path,
        watch: Watcher,
        encode: Callable[[Event], bytes],
    ) -> None:
        self._progress = progress
        self._bench = replace(bench, seconds_left=self.seconds_left, held_up=self.held_up)
        self._journal = journal
        self._file = file
        self._logs = logs
        self._watch = watch
        self._encode = encode
        self._log: IterationLog | None = None
        self._closing = False
        self._last = bench.clock.monotonic()
        self.asked: asyncio.Queue[News] = asyncio.Queue()

    @property
    def plan(self) -> Plan:
        return self._progress.plan

    def seconds_left(self) -> float:
        """Until the wall clock of the run is spent."""
        passed = self._bench.clock.monotonic() - self._last
        return self.plan.limits.max_wall_seconds - self.plan.spent.seconds - passed

    def held_up(self, atom: AtomId, wait: Wait) -> None:
        """The session waits for what passes: a rate limit, an overloaded service, the network."""
        self._record(Waited(note=wait.words, atom=atom, seconds=wait.seconds))

    def begin(self, started: RunStarted) -> None:
        self._record(started)

    async def run(self, *, one_iteration: bool = False) -> Halted:
        """Go on until the kernel says stop, or for one iteration."""
        iterations = 0
        while True:
            decision = decide(self.plan)
            if decision.stop is not None:
                self._record(RunEnded(code=decision.stop.code, reason=decision.stop.reason))
                return Halted(stop=decision.stop, plan=self.plan)
            if one_iteration and iterations:
                return Halted(stop=None, plan=self.plan)
            for action in decision.actions:
                iterations += await self._do(action)

    # --- people ----------------------------------------------------------------------------------

    async def _do(self, action: Action) -> int:
        """Do what was decided; 1 if it was an iteration."""
        if isinstance(action, Settle):
            self._record(Settled())
            return 0
        if not isinstance(action, (Work, Probe)):
            raise TypeError(f"{action} is nothing that a tree asks for")
        task = asyncio.ensure_future(self._iterate(action))
        try:
            while not task.done():
                await self._listen(task)
        finally:
            task.cancel()
            await asyncio.wait((task,))
        task.result()
        return 1

    async def _listen(self, task: asyncio.Future[None]) -> None:
        """Until the iteration is over or somebody wants something."""
        asked = asyncio.ensure_future(self.asked.get())
        try:
            await asyncio.wait((task, asked), return_when=asyncio.FIRST_COMPLETED)
            if asked.done():
                self._take(asked.result(), task)
        finally:
            asked.cancel()

    def _take(self, news: News, task: asyncio.Future[None]) -> None:
        if not isinstance(news.event, StopRequested):
            news.answer(IllegalEvent(news.event, NOT_BY_REDIRECT))
            return
        try:
            self._record(news.event)
        except IllegalEvent as refusal:
            news.answer(refusal)
            return
        news.answer(None)
        if not self._closing:  # what is being committed is committed
            task.cancel()

    # --- one iteration ---------------------------------------------------------------------------

    async def _iterate(self, action: Work | Probe) -> None:
        progress, bench = self._progress, self._bench
        base = await self._base()
        if base is None:
            return
        tools = node_tools.tools_of(bench.place.path, action.atom)
        if tools.problems:
            self._record(StopRequested(reason=_listed(tools.problems), code=StopCode.INVALID_PLAN))
            return
        number = progress.next_number
        log = IterationLog(folder=self._logs / f"{number:04}", secrets=self._bench.secrets)
        log.begin(progress.content)
        self._log = log
        role = Role.WORKER if isinstance(action, Work) else Role.PROBE
        chosen = Chosen(node=action.atom, mode=self._mode(action), tools=tools.names)
        self._record(SessionStarted(atom=action.atom, role=role))
        task = task_of(bench, progress, chosen, base, log)
        try:
            task = await begun(bench, task)
            await bench.place.hand_over(base)
            came = await iterated(bench, task, self.plan, progress.seen)
            self._closing = True
            await whole(self._close(task, came))
        except asyncio.CancelledError:
            if not self._closing:
                await whole(self._cut_short(task, Interruption.STOP))
        except AgentGone as gone:
            await whole(self._gone(task, gone))
        except WorkspaceFailed as failure:
            await self._broken(task, failure)
        finally:
            self._closing, self._log = False, None

    async def _base(self) -> str | None:
        """The commit to begin with, if the checkout is what it says; else a stop is asked for."""
        place = self._bench.place
        try:
            base, dirt = await place.head(), await place.dirt()
        except asyncio.CancelledError:  # somebody wants a stop, and nothing has begun
            return None
        except WorkspaceFailed as failure:
            self._record(StopRequested(reason=str(failure), code=StopCode.IO_ERROR))
            return None
        if not dirt:
            return base
        listed = ", ".join(dirt[:SHOWN]) + (", ..." if len(dirt) > SHOWN else "")
        reason = f"between two iterations the checkout is not as it was committed: {listed}"
        self._record(StopRequested(reason=reason, code=StopCode.TAMPERED))
        return None

    def _mode(self, action: Work | Probe) -> Mode:
        if isinstance(action, Work):
            return Mode.WORK
        repairs = action.atom == TREE_ROOT and is_refused(self.plan)
        return Mode.REPAIR if repairs else Mode.PLAN

    # --- how it ends -----------------------------------------------------------------------------

    async def _cut_short(self, task: Task, cause: Interruption) -> None:
        """Not an iteration: what there is is kept, and the checkout is as it was before."""
        order = task.order
        await self._bench.place.set_aside(task.base, task.name)
        let_go(task)
        used = self._bench.meter.take(order.nonce)
        self._record(
            SessionInterrupted(atom=order.atom, nonce=order.nonce, cause=cause, usage=used)
        )

    async def _gone(self, task: Task, gone: AgentGone) -> None:
        limited = gone.report.trouble in PASSES
        code = StopCode.AGENT_UNAVAILABLE
        self._record(StopRequested(reason=gone.report.reason, code=code))
        await self._cut_short(task, Interruption.RATE_LIMIT if limited else Interruption.STOP)

    async def _broken(self, task: Task, failure: WorkspaceFailed) -> None:
        """Git said no. What there is stays where it is; the next run sets it aside."""
        self._record(StopRequested(reason=str(failure), code=StopCode.IO_ERROR))
        order = task.order
        if order.atom in self.plan.sessions:
            with suppress(WorkspaceFailed):
                await self._bench.place.hand_over(task.base)
            cause = Interruption.STOP
            self._record(SessionInterrupted(atom=order.atom, nonce=order.nonce, cause=cause))

    async def _close(self, task: Task, came: Came) -> None:
        progress, bench = self._progress, self._bench
        bench.meter.take(task.order.nonce)  # it is in what it came to
        self._record(self._event(task, came))
        if came.problems:
            text = came.refused_text.decode("utf-8", "replace")
            progress.refusal = Refusal(text=text, problems=came.problems)
        if progress.refusal is not None and self.plan.refused_edits:
            task.log.refuse(progress.refusal, self.plan.refused_edits)
        content = bench.form.written(came.judged.content, self.plan)
        owned_file.make_way(bench.place.path / TREE)
        self._file.replace(content)
        iteration = Iteration(
            run=progress.run,
            number=task.order.attempt,
            node=task.order.atom,
            kind=came.kind,
            guard=came.guarded,
        )
        commit = await bench.place.commit(task.base, iteration.message(came.tests))
        progress.content, progress.tests = content, came.tests
        progress.done.append(Done(iteration=iteration, commit=commit, tests=came.tests))
        progress.seen.update(dict.fromkeys(self.plan.atoms))
        self._record(
            IterationCommitted(
                number=iteration.number,
                commit=commit,
                subject=iteration.subject,
                notes=came.notes[:NOTED],
            )
        )
        task.log.write("tree.after.json", content)
        task.log.keep("diff.patch", await bench.place.patch(task.base, commit, PATCH))
        task.log.end(facts_of(bench, task, came, progress.done[-1]))
        if came.timed_out:
            reason = f"iteration {iteration.number:04} took more than {bench.seconds:g} s"
            self._record(StopRequested(reason=reason, code=StopCode.ITERATION_TIMEOUT))

    def _event(self, task: Task, came: Came) -> Event:
        """The one thing that the kernel is told."""
        node, nonce, edit = task.order.atom, task.order.nonce, came.judged.edit
        failed = AttemptFailed(atom=node, nonce=nonce, usage=came.usage, reason="", edit=edit)
        if came.problems:
            listed = "; ".join(problem.what for problem in came.problems)
            words = f"the edit of the tree is refused: {listed}"
            return replace(failed, reason=bounded(words, REASON), edit=None, refused=True)
        if came.crash:
            return replace(failed, reason=bounded(came.crash, REASON))
        if came.kind is Kind.DECOMPOSE:
            return Replanned(atom=node, nonce=nonce, usage=came.usage, edit=edit)
        if came.guarded is Guarded.FAIL and came.judgement is not None:
            words = guards.words(self._bench.guard, came.judgement)
            back = [note for note in came.notes if note.startswith(PUT_BACK)]
            return replace(failed, reason=bounded("\n".join((*back, words)), REASON))
        if not is_leaf(came.judged, node):
            words = "the guard is green, but the node was split or removed in the same session"
            return replace(failed, reason=words)
        return AtomResolved(
            atom=node,
            nonce=nonce,
            usage=came.usage,
            summary=f"{self._bench.guard.line} is green",
            edit=edit,
        )

    def _record(self, event: Event) -> None:
        """Judged by the kernel, durable, and then so."""
        clock = self._bench.clock
        now = clock.monotonic()
        running = self.plan.control.status is RunStatus.RUNNING
        elapsed = round(now - self._last, 3) if running else 0.0
        stamped = replace(event, at=clock.now(), elapsed=elapsed)
        self._last = now
        plan = apply(self.plan, stamped)
        self._journal.append(stamped)
        self._progress.plan = plan
        if self._log is not None:
            self._log.add_event(self._encode(stamped))
        self._watch(plan, stamped)


def _listed(problems: Sequence[Problem]) -> str:
    """All of them, in one sentence."""
    words = "; ".join(f"{'.'.join(map(str, one.where))}: {one.what}" for one in problems)
    return bounded(f"{words} ({problems[0].hint})", REASON)
