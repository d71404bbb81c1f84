"""What one iteration on a tree is about: the order, the prompt, and what both are made from.

Everything is read when the iteration begins, because agents may change goal and notes later.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from dwindle.kernel.model import AtomId, Check, CheckType, Plan, Role
from dwindle.ports.in_place import Done
from dwindle.ports.iteration import Guarded, Kind
from dwindle.ports.tree import Node
from dwindle.ports.work import Purpose, Step, WorkOrder
from dwindle.runner.modes.tree import owned_file
from dwindle.runner.modes.tree.iteration import Bench, Task
from dwindle.runner.modes.tree.log import IterationLog
from dwindle.runner.modes.tree.prompt import Pack, Phase, Refusal, prompt_of
from dwindle.runner.orders.work import SUMMARY, cut

GOAL: Final = ".runner/GOAL.md"
NOTES: Final = ("ASSUMPTIONS.md", "HUMAN_QUESTIONS.md", "FEEDBACK_LOG.md", "IMPROVEMENTS.md")
MOST_BYTES: Final = 1 << 20


@dataclass(slots=True, kw_only=True)
class TreeProgress:
    """The progress of a run besides its plan: what the branch and the logs say."""

    run: str
    content: bytes
    """The tree file."""
    done: list[Done] = field(default_factory=list)
    seen: dict[str, None] = field(default_factory=dict)
    """Every id that was ever on the branch."""
    refusal: Refusal | None = None
    tests: int | None = None
    """How many tests the guard has to run; None: they are counted before an agent works."""

    @property
    def next_number(self) -> int:
        return self.done[-1].iteration.number + 1 if self.done else 1

    def is_green(self, node: AtomId, base: str) -> bool:
        """Whether the last commit is work on this node that the guard passed, and it is open."""
        if not self.done or self.done[-1].commit != base:
            return False
        last = self.done[-1].iteration
        passed = last.kind is Kind.EXECUTE and last.guard is Guarded.PASS
        return last.node == node and passed


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The node of an iteration, and its phase."""

    node: AtomId
    phase: Phase
    tools: tuple[str, ...] | None
    """The only ones that its session may use; None: all that the agent has."""
    agent: str = ""
    """The label of the agent, where there are several."""


def task_of(  # noqa: PLR0913, PLR0917 - what an iteration is made from
    bench: Bench, progress: TreeProgress, plan: Plan, chosen: Chosen, base: str, log: IterationLog
) -> Task:
    node, phase = chosen.node, chosen.phase
    root = bench.form.root(progress.content)
    path = _path(root, node)
    goal = _text(bench, GOAL).strip() or root.goal
    before = [d.iteration for d in progress.done if d.iteration.node == node]
    is_green = phase is Phase.WORK and progress.is_green(node, base)
    order = WorkOrder(
        role=Role.WORKER,
        purpose=Purpose.WORK if phase is Phase.WORK else Purpose.PLAN,
        run=progress.run,
        atom=node,
        description=path[-1].goal,
        goal=goal,
        attempt=progress.next_number,
        nonce=plan.sessions[node].nonce,
        path=tuple(Step(atom=AtomId(n.id), description=cut(n.goal, SUMMARY)) for n in path[:-1]),
        checks=(Check(type=CheckType.COMMAND, value=bench.guard.line),),
        timeout_seconds=bench.seconds,
        session_of_atom=len(before) + 1,
        tools=chosen.tools,
        failed=path[-1].attempts,
        agent=chosen.agent,
        briefing=bench.briefing,
    )
    steering = bench.guard.steering
    pack = Pack(
        phase=phase,
        root=root,
        path=path,
        subtree=bench.form.subtree(progress.content, node),
        goal=goal,
        notes=tuple((f".runner/{name}", _text(bench, f".runner/{name}")) for name in NOTES),
        context=_text(bench, f".runner/nodes/{node}/context.md"),
        tools=chosen.tools,
        rules=bench.briefing.rules,
        guard=bench.guard.line,
        work_paths=steering.listed if steering.by_work_paths else (),
        deliverables=() if steering.by_work_paths else steering.listed,
        last=before[-1] if before else None,
        is_green=is_green,
        refusal=progress.refusal,
        max_attempts=path[-1].max_attempts,
        usual_attempts=plan.limits.max_attempts,
    )
    return Task(
        base=base,
        content=progress.content,
        phase=phase,
        order=order,
        prompt=prompt_of(pack),
        log=log,
        tests=progress.tests,
        is_green=is_green,
    )


def _text(bench: Bench, name: str) -> str:
    """The text of a file; empty if it is no regular file."""
    found = owned_file.content_of(bench.place.path / name, MOST_BYTES)
    return (found or b"").decode("utf-8", "replace")


def _path(root: Node, wanted: str) -> tuple[Node, ...]:
    """From the root to the node."""
    waiting: list[tuple[Node, ...]] = [(root,)]
    while waiting:
        path = waiting.pop()
        if path[-1].id == wanted:
            return path
        waiting.extend((*path, child) for child in path[-1].children)
    raise KeyError(wanted)
