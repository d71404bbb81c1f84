"""`dwindle` alone: the state of the plan here, and the next step.

For a user who is new, or comes back. A few lines, quickly: no command-line framework, and git is
asked only about trees, and about whether the result of a completed run has been landed.
"""

# ruff: noqa: PTH100, PTH120

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from dwindle.app.plans.next_step import GOES_ON, next_step
from dwindle.app.plans.plan_files import PlanPath, plans_of, repository
from dwindle.app.plans.problem_list import Unsound, sound
from dwindle.app.refusal import Refused
from dwindle.kernel.graph import view
from dwindle.kernel.measure import session_bound
from dwindle.kernel.model import Plan, PlanKind, RunStatus, Status
from dwindle.text import amounts
from dwindle.text.terminal import WIDTH, one_line, row, shortened, without_rulers, wrapped

if TYPE_CHECKING:
    from pathlib import Path

MARGIN: Final = 6
MORE: Final = "`dwindle status` says more; `dwindle --help` lists all commands"
HELP: Final = "`dwindle --help` lists all commands"
TREE_AT_WORK: Final = ("`dwindle watch` shows it; `dwindle stop` ends it",)
AT_WORK: Final = (*TREE_AT_WORK, "`dwindle redirect` changes its direction")
NOWHERE: Final = (
    "`dwindle demo` shows the whole loop on a repository of its own, in seconds",
    "`git init`, or go to a repository; then `dwindle` again",
)
NO_PLAN: Final = (
    "`dwindle align` agrees on a goal, its checks and a graph of steps",
    "`dwindle init` makes a tree plan: agents split the goal as they go",
    "`dwindle demo` shows the whole loop on a repository of its own, in seconds",
)
NO_GOAL: Final = (
    "write what you want into .runner/GOAL.md, and commit",
    "`dwindle doctor` says what else is missing; `dwindle run` begins",
)
NOT_BEGUN: Final = ("`dwindle run` begins; `dwindle doctor` says whether it could",)
ANOTHER: Final = {
    PlanKind.GRAPH: "`dwindle go` or `dwindle align` agrees on a new goal",
    PlanKind.TREE: "add open nodes to .runner/tree.json and commit; `dwindle run` begins",
}

HEADS: Final = "refs/heads/"


def first_minute() -> str:
    """The answer."""
    here = os.path.abspath(".")
    root = repository(here)
    if root is None:
        return _text([f"{one_line(here)} is in no git repository."], NOWHERE, HELP)
    try:
        found = plans_of(here)
    except Refused:
        return _text([f"There is no plan in {one_line(root)} yet."], NO_PLAN, HELP)
    if len(found) == 1:
        return _text(*_standing(found[0]), MORE)
    both = [_text(*_standing(file)) for file in found]
    return "\n".join([*both, "There are two plans: say --plan graph or --plan tree.", MORE])


def _text(about: Sequence[str], steps: Sequence[str], more: str = "") -> str:
    labels = ["Next:"] + [""] * (len(steps) - 1)
    listed = [row(name, step, margin=MARGIN) for name, step in zip(labels, steps, strict=True)]
    return "\n".join([*about, *listed, *([more] if more else [])])


def _standing(file: PlanPath) -> tuple[list[str], tuple[str, ...]]:
    """How the run of a plan stands, and what comes next."""
    try:
        if file.kind is PlanKind.TREE:
            return _tree(file)
        return _graph(file)
    except Unsound as error:
        about = [f"{one_line(file.path)}: the plan cannot be read: {error.what}"]
        return about, ("`dwindle validate` lists what is wrong, and where",)


def _graph(file: PlanPath) -> tuple[list[str], tuple[str, ...]]:
    from dwindle.app.plans.plan_files import is_locked  # noqa: PLC0415 - not for an empty folder

    plan = sound(file).plan
    assert plan is not None  # noqa: S101 - `sound` has seen to it
    folder = _folder(file)
    if is_locked(folder / ".claude"):
        return _about(file, plan, "running"), AT_WORK
    if plan.control.status is RunStatus.RUNNING and _is_hosted(folder):
        return _about(file, plan, "running inside of a Claude Code session"), AT_WORK
    if plan.control.status is RunStatus.RUNNING:
        resting = f"it rests, or its runner was killed: {GOES_ON}"
        return _about(file, plan, "begun, and no runner is at work"), (resting,)
    if plan.control.status is RunStatus.PENDING:
        known = "aligned" if plan.control.aligned is not None else "not aligned yet"
        return _about(file, plan, f"{known}, not run yet"), NOT_BEGUN
    if plan.control.status is RunStatus.COMPLETED:
        return _completed(file, plan, f"runner/{plan.control.run_id}")
    return _about(file, plan, _stopped(plan)), (next_step(plan),)


def _tree(file: PlanPath) -> tuple[list[str], tuple[str, ...]]:
    from dwindle.app.init.scaffold import GOAL  # noqa: PLC0415 - a graph needs none of it
    from dwindle.app.tree.tree_run import tree_run  # noqa: PLC0415

    tree = tree_run(file)
    plan, status = tree.plan, tree.plan.control.status
    if status is RunStatus.RUNNING:
        return _about(file, plan, "running"), TREE_AT_WORK
    if status is RunStatus.COMPLETED:
        return _completed(file, plan, tree.branch)
    if status is RunStatus.PENDING and not tree.done:
        if _content(_folder(file) / ".runner" / "GOAL.md") == GOAL.encode():
            return [f"{one_line(file.path)}: a tree plan without a goal."], NO_GOAL
        return _about(file, plan, "not run yet"), NOT_BEGUN
    return _about(file, plan, _stopped(plan)), (next_step(plan),)


def _about(file: PlanPath, plan: Plan, state: str) -> list[str]:
    resolved = sum(atom.status is Status.RESOLVED for atom in plan.atoms.values())
    noun = "node" if plan.kind is PlanKind.TREE else "atom"
    lines = [
        *wrapped(shortened(f"{file.path}: {state}", 3 * WIDTH), WIDTH),
        f"  {shortened(plan.objective.goal, WIDTH - 2)}",
    ]
    if plan.control.status is RunStatus.COMPLETED:
        return lines
    done = f"{resolved} of {amounts.count(len(plan.atoms), noun)} resolved"
    most = f"at most {amounts.count(session_bound(plan), 'more session')}"
    return [
        *lines,
        f"  {done}, {view(plan).open_count} open; {most}",
    ]


def _stopped(plan: Plan) -> str:
    control = plan.control
    said = f"stopped, {control.stop_code}" if control.stop_code is not None else control.status
    reason = without_rulers(control.stop_reason or "")
    return f"{said}: {reason}" if reason else str(said)


def _completed(file: PlanPath, plan: Plan, branch: str | None) -> tuple[list[str], tuple[str, ...]]:
    on = _landed_on(_folder(file), branch)
    if on:
        return _about(file, plan, f"completed, and landed on {on}"), (ANOTHER[plan.kind],)
    if branch is None:
        return _about(file, plan, "completed"), (ANOTHER[plan.kind],)
    return _about(file, plan, "completed, not landed yet"), (next_step(plan),)


def _landed_on(folder: Path, branch: str | None) -> str:
    """A branch of the person's that has all of the result; empty if there is none."""
    from dwindle.app.ask_git import ask_git  # noqa: PLC0415 - seldom needed

    if branch is None:
        return ""
    record = f"refs/dwindle/landed/{branch.removeprefix('runner/')}"
    try:
        tip, then, became = (
            ask_git(folder, "rev-parse", "--verify", "--quiet", name).stdout.decode().strip()
            for name in (f"refs/heads/{branch}", f"{record}^1", f"{record}^2")
        )
        # Squashed, it became another commit, and its branch may have been removed since.
        wanted = [tip or then, *([became] if became and tip in ("", then) else [])]
        found = [
            ask_git(folder, "for-each-ref", "--format=%(refname:short)", f"--contains={one}", HEADS)
            for one in wanted
            if one
        ]
    except Refused:
        return ""
    names = (name for said in found for name in said.stdout.decode(errors="replace").split())
    ours = [name for name in names if not name.startswith("runner/") and name != branch]
    return one_line(ours[0]) if ours else ""


def _is_hosted(folder: Path) -> bool:
    from dwindle.app.host.lease import current_lease  # noqa: PLC0415 - seldom needed

    return current_lease(folder) is not None


def _folder(file: PlanPath) -> Path:
    from pathlib import Path  # noqa: PLC0415 - not for an empty folder

    return Path(os.path.dirname(os.path.dirname(os.path.abspath(file.path))))


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
