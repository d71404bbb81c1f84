"""What one iteration on a tree is about: the order, the prompt, and what both are made from.

Everything in it is read when the iteration begins: agents may change goal and notes, and a runner
that is started then would read what they wrote.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dwindle.kernel.model import AtomId, Check, CheckType, Role
from dwindle.ports.tree import Node
from dwindle.ports.work import Purpose, Step, WorkOrder
from dwindle.runner import owned_file
from dwindle.runner.iteration_log import IterationLog
from dwindle.runner.orders import SUMMARY, cut
from dwindle.runner.tree_iteration import Bench, Task
from dwindle.runner.tree_progress import Progress
from dwindle.runner.tree_prompt import Mode, Pack, prompt_of

GOAL: Final = ".runner/GOAL.md"
NOTES: Final = ("ASSUMPTIONS.md", "HUMAN_QUESTIONS.md", "FEEDBACK_LOG.md", "IMPROVEMENTS.md")
MOST_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The node of an iteration, and what is asked for."""

    node: AtomId
    mode: Mode
    tools: tuple[str, ...] | None
    """The only ones that its session may use; None: all that the agent has."""


def task_of(bench: Bench, progress: Progress, chosen: Chosen, base: str, log: IterationLog) -> Task:
    node, mode = chosen.node, chosen.mode
    root = bench.form.root(progress.content)
    path = _path(root, node)
    goal = _text(bench, GOAL).strip() or root.goal
    before = [d.iteration for d in progress.done if d.iteration.node == node]
    order = WorkOrder(
        role=Role.WORKER,
        purpose=Purpose.WORK if mode is Mode.WORK else Purpose.PLAN,
        run=progress.run,
        atom=node,
        description=path[-1].goal,
        goal=goal,
        attempt=progress.next_number,
        nonce=progress.plan.sessions[node].nonce,
        path=tuple(Step(atom=AtomId(n.id), description=cut(n.goal, SUMMARY)) for n in path[:-1]),
        checks=(Check(type=CheckType.COMMAND, value=bench.guard.line),),
        timeout_seconds=bench.seconds,
        session_of_atom=len(before) + 1,
        tools=chosen.tools,
    )
    pack = Pack(
        mode=mode,
        root=root,
        path=path,
        subtree=bench.form.subtree(progress.content, node),
        goal=goal,
        notes=tuple((f".runner/{name}", _text(bench, f".runner/{name}")) for name in NOTES),
        context=_text(bench, f".runner/nodes/{node}/context.md"),
        tools=chosen.tools,
        guard=bench.guard.line,
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
        tests=progress.tests,
    )


def _text(bench: Bench, name: str) -> str:
    """A note of the agents, as far as it is a file."""
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
