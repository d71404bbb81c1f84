"""The demo of a tree plan: one leaf after another, in place, with explanations.

The id of the run is fixed, so that every demo writes the same trees and the same commit messages.
"""

from __future__ import annotations

import asyncio
import shutil
from contextlib import chdir
from pathlib import Path
from typing import Final

from dwindle.adapters.formats.tree.file import decode
from dwindle.adapters.formats.tree.wire import NodeV1
from dwindle.app import run as running
from dwindle.app import run_tree as tree_running
from dwindle.app.console import painted, say
from dwindle.app.plans.standing import open_leaves
from dwindle.demo import stage
from dwindle.kernel.events import Event, IterationCommitted
from dwindle.kernel.model import EXIT_CODES, Plan, PlanKind, StopCode
from dwindle.ports.iteration import Iteration
from dwindle.text import amounts
from dwindle.views.terminal.progress import Progress

RUN: Final = "01SPAN00000000000000000000"
TREE: Final = ".runner/tree.json"
GUARD: Final = f"\n[guard]\ncommand = {list(stage.UNITTEST)}\n"
LOOK_AROUND: Final = (
    "git log --stat",
    "dwindle status",
    "dwindle explain units",
    f"ls .runner/iterations/{RUN}/0003",
)

MEANINGS: Final = {
    (1, "root", "decompose", "skipped"): (
        "A root without parts is only planned, by a probe: it may edit .runner/tree.json and no "
        "code. Next is always the leftmost open leaf, and a fresh agent for it."
    ),
    (2, "read", "decompose", "skipped"): (
        "This agent found its leaf too large and split it. No code was changed, so the guard was "
        "not asked. New nodes are paid from a budget: the gauge falls all the same."
    ),
    (3, "units", "execute", "fail"): (
        "Code was changed, so the guard decides: red. That is committed too; the leaf stays open."
    ),
    (4, "units", "execute", "pass"): (
        "The same guard is green now. Only then is `passes` written, by the runner alone, and from "
        "here on no agent may change that node."
    ),
    (6, "write", "execute", "fail"): (
        "That was the only attempt this leaf had. From now on it can only be planned."
    ),
    (7, "write", "decompose", "skipped"): (
        "So another node, with another way, now stands in its place."
    ),
    (9, "total", "execute", "skipped"): (
        "The agent marked its own leaf as passed, so its whole edit is refused, and the guard is "
        "not asked. The tree is put back; the code stays in the commit."
    ),
    (10, "root", "decompose", "skipped"): (
        "A repair: this session saw what was refused and why, and kept the part that is allowed, "
        "a new node."
    ),
}
"""What an iteration shows: its number, node, kind and guard, as in the subject of its commit."""


def show(root: Path) -> None:
    """Play the demo; raises WentWrong if it does not end as it should."""
    stage.note(f"A small project in {root}: failing tests, and a tree of one node.")
    with stage.python_on_path():
        has_just = shutil.which("just") is not None
        stage.make(root, _contents(has_just=has_just), "What span should do")
        with chdir(root):
            _play(root, has_just=has_just)


def _contents(*, has_just: bool) -> dict[str, str]:
    files = stage.project(PlanKind.TREE)
    if not has_just:
        files[".runner/config.toml"] += GUARD
    return files


def _play(root: Path, *, has_just: bool) -> None:
    stage.command(*stage.UNITTEST)
    say(stage.tests(passing=False))

    stage.heading(_guard_sentence(has_just=has_just))
    stage.note(stage.sandbox_sentence(root))
    stage.note("After each commit, indented: the leaves that are still open, leftmost first.")
    stage.command("dwindle", "run", "--verbose", "--run-id", RUN)
    story = TreeStory()
    halted = asyncio.run(tree_running.run(root, running.RunRequest(run_id=RUN), story))
    if halted.stop is None or halted.stop.code is not StopCode.COMPLETED:
        why = "nothing" if halted.stop is None else halted.stop.reason
        raise stage.WentWrong(f"the run ended without its goal: {why}")
    if story.missing:
        raise stage.WentWrong(f"it went another way than the script: {story.missing}")
    code = EXIT_CODES[halted.stop.code]
    stage.note(f"Exit code {code}: every leaf passed, and so the root does.")

    done = amounts.count(len(story.open_leaves), "iteration")
    stage.heading(f"{done}, a commit for each, on a branch of its own.")
    stage.note(f"Leaves left open after each: {' '.join(map(str, story.open_leaves))}")
    stage.command("git", "log", "-2", "--format=%s")
    say(stage.git(root, "log", "-2", "--format=%s"))

    stage.heading("The tree at its end, and the attempts that it took:")
    say("\n".join(_tree_rows(root)))
    stage.command(*stage.UNITTEST)
    say(stage.tests(passing=True))


def _guard_sentence(*, has_just: bool) -> str:
    if has_just:
        return "The guard is `just ci`, the default: just is installed here."
    line = " ".join(stage.UNITTEST)
    return f"The guard is `{line}`: just, for the default `just ci`, is not installed."


def _tree_rows(root: Path) -> list[str]:
    tree = decode((root / TREE).read_bytes()).tree
    if tree is None:
        raise stage.WentWrong(f"{TREE} is no tree any more")
    return _rows(tree.root, 0)


def _rows(node: NodeV1, depth: int) -> list[str]:
    mark = "x" if node.passes else " "
    took = "" if node.children else f" ({node.attempts} of {node.max_attempts})"
    row = f"{'  ' * depth}[{mark}] {node.id}: {node.goal}{took}"
    return [row, *(line for child in node.children for line in _rows(child, depth + 1))]


class TreeStory(Progress):
    """Progress lines, the leaves that each iteration left open, and some explanations."""

    def __init__(self) -> None:
        super().__init__(verbose=True)
        self._meanings = dict(MEANINGS)
        self.open_leaves: list[int] = []

    @property
    def missing(self) -> str:
        """The iterations of the script that did not happen."""
        return "; ".join(" ".join(map(str, key)) for key in self._meanings)

    def on_event(self, plan: Plan, event: Event) -> None:
        super().on_event(plan, event)
        if not isinstance(event, IterationCommitted):
            return
        done = Iteration.of(event.subject)
        assert done is not None  # noqa: S101 - written by the same class
        leaves = open_leaves(plan)
        self.open_leaves.append(len(leaves))
        names = f" ({' '.join(leaves)})" if leaves else ""
        self.say(painted(f"         open leaves: {len(leaves)}{names}", "bold"))
        meaning = self._meanings.pop((done.number, done.node, done.kind, done.guard), None)
        if meaning is not None:
            stage.note(meaning, self.say)
