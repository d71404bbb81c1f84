"""The loop on a tree: the leftmost open leaf, a fresh agent, the guard, a commit; and again.

The branch is the memory. An iteration has happened when its commit is there, and not before: what
the journal says about it without a commit is set aside when the run is taken up again, and the
iteration is done once more under the same number. So the order of closing one is: the event in the
journal, the tree file, the commit, and then a record that the commit is there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
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
from dwindle.kernel.model import AtomId, Check, CheckType, Plan, Role, RunStatus, StopCode
from dwindle.kernel.transitions import apply
from dwindle.kernel.tree_edits import TREE_ROOT, is_refused
from dwindle.ports.in_place import Done
from dwindle.ports.iteration import Guarded, Iteration, Kind
from dwindle.ports.store import Journal, PlanFile
from dwindle.ports.tree import Node
from dwindle.ports.work import PASSES, Purpose, Step, WorkOrder
from dwindle.ports.workspace import WorkspaceFailed
from dwindle.runner import guard as guards
from dwindle.runner import owned_file
from dwindle.runner.crew import News, whole
from dwindle.runner.iteration_facts import facts_of
from dwindle.runner.iteration_log import IterationLog
from dwindle.runner.judgement import bounded
from dwindle.runner.loop import Halted, Watcher
from dwindle.runner.orders import SUMMARY, cut
from dwindle.runner.patience import Wait
from dwindle.runner.tree_iteration import (
    TREE,
    AgentGone,
    Bench,
    Came,
    Task,
    is_leaf,
    iterated,
)
from dwindle.runner.tree_prompt import Mode, Pack, Refusal, prompt_of

REASON = 4000
SHOWN = 10
"""Paths that are listed when a checkout is not clean."""
PATCH = 16 << 20
"""Bytes of a difference that are kept in the log; the commit has all of it."""
GOAL = ".runner/GOAL.md"
NOTES = ("ASSUMPTIONS.md", "HUMAN_QUESTIONS.md", "FEEDBACK_LOG.md", "IMPROVEMENTS.md")
NOT_BY_REDIRECT = (
    "a tree is not redirected while it runs: stop it, edit .runner/tree.json, commit, and run"
)


@dataclass(slots=True, kw_only=True)
class Progress:
    """How far a run has come; what the branch, the journal and the logs say about it."""

    run: str
    plan: Plan
    content: bytes
    done: list[Done] = field(default_factory=list)
    seen: dict[str, None] = field(default_factory=dict)
    """Every id that was ever on the branch."""
    refusal: Refusal | None = None

    @property
    def next_number(self) -> int:
        return self.done[-1].iteration.number + 1 if self.done else 1


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
        number = progress.next_number
        log = IterationLog(folder=self._logs / f"{number:04}")
        log.begin(progress.content)
        self._log = log
        role = Role.WORKER if isinstance(action, Work) else Role.PROBE
        mode = self._mode(action)
        self._record(SessionStarted(atom=action.atom, role=role))
        task = self._task(action.atom, mode, base, log)
        try:
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
        reason = f"somebody else has changed the checkout between two iterations: {listed}"
        self._record(StopRequested(reason=reason, code=StopCode.TAMPERED))
        return None

    def _mode(self, action: Work | Probe) -> Mode:
        if isinstance(action, Work):
            return Mode.WORK
        repairs = action.atom == TREE_ROOT and is_refused(self.plan)
        return Mode.REPAIR if repairs else Mode.PLAN

    def _task(self, node: AtomId, mode: Mode, base: str, log: IterationLog) -> Task:
        progress, plan = self._progress, self.plan
        root = self._bench.form.root(progress.content)
        path = _path(root, node)
        # Read each time: agents may change it, and the next runner would read what they wrote.
        goal = self._text(GOAL).strip() or root.goal
        before = [d.iteration for d in progress.done if d.iteration.node == node]
        order = WorkOrder(
            role=Role.WORKER,
            purpose=Purpose.WORK if mode is Mode.WORK else Purpose.PLAN,
            run=progress.run,
            atom=node,
            description=path[-1].goal,
            goal=goal,
            attempt=progress.next_number,
            nonce=plan.sessions[node].nonce,
            path=tuple(
                Step(atom=AtomId(n.id), description=cut(n.goal, SUMMARY)) for n in path[:-1]
            ),
            checks=(Check(type=CheckType.COMMAND, value=self._bench.guard.line),),
            timeout_seconds=self._bench.seconds,
            session_of_atom=len(before) + 1,
        )
        pack = Pack(
            mode=mode,
            root=root,
            path=path,
            subtree=self._bench.form.subtree(progress.content, node),
            goal=goal,
            notes=tuple((f".runner/{name}", self._text(f".runner/{name}")) for name in NOTES),
            context=self._text(f".runner/nodes/{node}/context.md"),
            tools=self._text(f".runner/nodes/{node}/tools.json"),
            guard=self._bench.guard.line,
            last=before[-1] if before else None,
            refusal=progress.refusal,
            max_attempts=path[-1].max_attempts,
        )
        return Task(
            base=base,
            content=progress.content,
            mode=mode,
            order=order,
            prompt=prompt_of(pack),
            log=log,
        )

    def _text(self, name: str) -> str:
        """A note of the agents, as far as it is a file."""
        found = owned_file.content_of(self._bench.place.path / name, 1 << 20)
        return (found or b"").decode("utf-8", "replace")

    # --- how it ends -----------------------------------------------------------------------------

    async def _cut_short(self, task: Task, cause: Interruption) -> None:
        """Not an iteration: what there is is kept, and the checkout is as it was before."""
        order = task.order
        await self._bench.place.set_aside(task.base, f"{order.atom}/{order.attempt}")
        self._record(SessionInterrupted(atom=order.atom, nonce=order.nonce, cause=cause))

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
        commit = await bench.place.commit(task.base, f"{iteration.subject}\n")
        progress.content = content
        progress.done.append(Done(iteration=iteration, commit=commit))
        progress.seen.update(dict.fromkeys(self.plan.atoms))
        self._record(
            IterationCommitted(number=iteration.number, commit=commit, subject=iteration.subject)
        )
        task.log.write("tree.after.json", content)
        task.log.write("diff.patch", await bench.place.patch(task.base, commit, PATCH))
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
        if came.guarded is Guarded.FAIL and came.guard is not None:
            words = guards.words(self._bench.guard, came.guard)
            return replace(failed, reason=bounded(words, REASON))
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


def _path(root: Node, wanted: str) -> tuple[Node, ...]:
    """From the root to the node."""
    waiting: list[tuple[Node, ...]] = [(root,)]
    while waiting:
        path = waiting.pop()
        if path[-1].id == wanted:
            return path
        waiting.extend((*path, child) for child in path[-1].children)
    raise KeyError(wanted)
