"""`dwindle` alone: wherever one stands, a few lines, and a command that makes sense there."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.surfaces.bad_plans import GRAPH, TREE, text
from tests.surfaces.command import (
    GRAPH_FILE,
    PLAIN,
    TREE_FILE,
    Ended,
    dwindle,
    git,
    graph_repository,
    repository,
    tree_repository,
    write,
)
from tests.surfaces.tree_branches import BRANCH, DONE, RUN, START, STORY, begun, half_way, iterated

from dwindle.adapters.store.disk import DirectoryLock
from dwindle.app.host.lease import HostLease, renew_lease
from dwindle.app.plans.first_minute import first_minute
from dwindle.app.plans.load import load_graph, load_tree
from dwindle.app.plans.next_step import next_step
from dwindle.kernel.measure import session_bound
from dwindle.kernel.model import (
    Answer,
    Plan,
    PlanKind,
    Question,
    RunStatus,
    StopCode,
    Verification,
)
from dwindle.kernel.winds import parked

Standing = Callable[[Path], list[str]]
MORE = "`dwindle status` says more; `dwindle --help` lists all commands"
HELP = "`dwindle --help` lists all commands"
PLAN = load_graph(GRAPH.encode()).plan
assert PLAN is not None
LEFT = f"at most {session_bound(PLAN)} more sessions"
OPEN = f"  0 of 6 atoms resolved, 5 open; {LEFT}"


@pytest.fixture
def standing(monkeypatch: pytest.MonkeyPatch) -> Standing:
    def told(folder: Path) -> list[str]:
        monkeypatch.chdir(folder)
        lines = first_minute().split("\n")
        assert [line for line in lines if len(line) > 80 and folder.parts[1] not in line] == []
        return lines

    return told


def graph_plan(**control: str) -> str:
    """The plan with other lines below `control`; new ones at its end."""
    found = GRAPH
    for name, value in control.items():
        before = next((li for li in found.splitlines() if li.startswith(f"  {name}: ")), None)
        if before is None:
            found = found.replace(
                "redirect_requested: false\n", f"redirect_requested: false\n  {name}: {value}\n"
            )
        else:
            found = found.replace(before, f"  {name}: {value}", 1)
    return found


# --- before a plan -------------------------------------------------------------------------------


def test_outside_of_a_repository(tmp_path: Path) -> None:
    assert dwindle(tmp_path) == Ended(
        code=0,
        out=f"""\
{tmp_path} is in no git repository.
Next: `dwindle demo` shows the whole loop on a repository of its own, in seconds
      `git init`, or go to a repository; then `dwindle` again
{HELP}
""",
    )


def test_a_repository_without_a_plan(tmp_path: Path, standing: Standing) -> None:
    repository(tmp_path)
    inside = tmp_path / "a"
    inside.mkdir()
    assert standing(inside) == [
        f"There is no plan in {tmp_path} yet.",
        "Next: `dwindle align` agrees on a goal, its checks and a graph of steps",
        "      `dwindle init` makes a tree plan: agents split the goal as they go",
        "      `dwindle demo` shows the whole loop on a repository of its own, in seconds",
        HELP,
    ]


# --- a graph -------------------------------------------------------------------------------------


def test_aligned_and_not_run(tmp_path: Path, standing: Standing) -> None:
    graph_repository(tmp_path)
    lines = [
        f"{GRAPH_FILE}: not aligned yet, not run yet",
        "  Let people log in",
        OPEN,
        "Next: `dwindle run` begins; `dwindle doctor` says whether it could",
        MORE,
    ]
    assert standing(tmp_path) == lines
    aligned = graph_plan(run_id=RUN, aligned="{commit: abc, pins: []}")
    write(tmp_path, GRAPH_FILE, aligned)
    assert standing(tmp_path) == [f"{GRAPH_FILE}: aligned, not run yet", *lines[1:]]


def test_running_here_in_a_host_and_nowhere(tmp_path: Path, standing: Standing) -> None:
    graph_repository(tmp_path, graph_plan(status="running", run_id=RUN))
    watched = [
        "Next: `dwindle watch` shows it; `dwindle stop` ends it",
        "      `dwindle redirect` changes its direction",
    ]
    with DirectoryLock(tmp_path / ".claude"):
        assert standing(tmp_path)[0] == f"{GRAPH_FILE}: running"
        assert standing(tmp_path)[3:-1] == watched
    assert standing(tmp_path)[0] == f"{GRAPH_FILE}: begun, and no runner is at work"
    assert standing(tmp_path)[3:-1] == [
        "Next: it rests, or its runner was killed: `dwindle run` goes on from here"
    ]
    renew_lease(tmp_path, HostLease(session="s", until=0))
    assert standing(tmp_path)[0] == f"{GRAPH_FILE}: running inside of a Claude Code session"
    assert standing(tmp_path)[3:-1] == watched


def test_stopped_with_its_reason(tmp_path: Path, standing: Standing) -> None:
    write(repository(tmp_path), GRAPH_FILE, graph_plan(
        status="stopped", run_id=RUN, stop_code="budget_cost",
        stop_reason='"5 USD are spent (max_cost_usd)"',
    ))  # fmt: skip
    assert standing(tmp_path) == [
        f"{GRAPH_FILE}: stopped, budget_cost: 5 USD are spent (max_cost_usd)",
        "  Let people log in",
        OPEN,
        "Next: `dwindle redirect --set max_cost_usd=N` raises it; then `dwindle run`",
        MORE,
    ]


def test_completed_then_landed(tmp_path: Path, standing: Standing) -> None:
    graph_repository(tmp_path, graph_plan(
        status="completed", run_id=RUN, stop_code="completed", stop_reason="done",
    ))  # fmt: skip
    git(tmp_path, "switch", "--quiet", "--create", BRANCH)
    git(tmp_path, "commit", "--quiet", "--allow-empty", "--message=work")
    git(tmp_path, "switch", "--quiet", "main")
    assert standing(tmp_path) == [
        f"{GRAPH_FILE}: completed, not landed yet",
        "  Let people log in",
        "Next: `dwindle diff` shows what changed, `dwindle land` brings it to your branch",
        MORE,
    ]
    git(tmp_path, "merge", "--quiet", BRANCH)
    assert standing(tmp_path) == [
        f"{GRAPH_FILE}: completed, and landed on main",
        "  Let people log in",
        "Next: `dwindle go` or `dwindle align` agrees on a new goal",
        MORE,
    ]


def test_a_plan_that_cannot_be_read(tmp_path: Path, standing: Standing) -> None:
    graph_repository(tmp_path, GRAPH.replace("status: pending", "status: asleep"))
    [first, *rest] = standing(tmp_path)
    assert first.startswith(f"{GRAPH_FILE}: the plan cannot be read: ")
    assert rest == ["Next: `dwindle validate` lists what is wrong, and where", MORE]


def test_words_of_others_do_not_reach_the_terminal_as_commands(
    tmp_path: Path, standing: Standing
) -> None:
    graph_repository(tmp_path, GRAPH.replace("Let people log in", "Let \\e[2J\\nin" + "x" * 200))
    assert standing(tmp_path)[1] == "  Let \\x1b[2J in" + "x" * 61 + "..."


# --- a tree --------------------------------------------------------------------------------------


def test_from_a_goal_that_is_not_written_to_one_that_is_landed(
    tmp_path: Path, standing: Standing
) -> None:
    repository(tmp_path)
    dwindle(tmp_path, "init")
    assert standing(tmp_path) == [
        f"{TREE_FILE}: a tree plan without a goal.",
        "Next: write what you want into .runner/GOAL.md, and commit",
        "      `dwindle doctor` says what else is missing; `dwindle run` begins",
        MORE,
    ]
    write(tmp_path, ".runner/GOAL.md", "Fly.\n")
    assert standing(tmp_path) == [
        f"{TREE_FILE}: not run yet",
        "  All that .runner/GOAL.md asks for holds.",
        "  0 of 1 node resolved, 1 open; at most 100 more sessions",
        "Next: `dwindle run` begins; `dwindle doctor` says whether it could",
        MORE,
    ]


def test_a_tree_half_way(tmp_path: Path, standing: Standing) -> None:
    half_way(tmp_path)
    [*first, _, counts, step, more] = standing(tmp_path)
    assert " ".join(first) == (
        f"{TREE_FILE}: stopped: its journal is not on this machine; `dwindle run` goes on"
    )
    assert counts.startswith("  1 of 3 nodes resolved, 2 open; ")
    assert [step, more] == ["Next: `dwindle run` goes on from here", MORE]
    with DirectoryLock(tmp_path / ".runner"):
        assert standing(tmp_path)[0] == f"{TREE_FILE}: running"
        assert standing(tmp_path)[3] == "Next: `dwindle watch` shows it; `dwindle stop` ends it"


def test_a_tree_that_is_completed(tmp_path: Path, standing: Standing) -> None:
    begun(tmp_path, START)
    for line, root in STORY:
        iterated(tmp_path, line, root)
    assert standing(tmp_path)[::2] == [
        f"{TREE_FILE}: completed, not landed yet",
        "Next: `dwindle diff` shows what changed, `dwindle land` brings it to your branch",
    ]
    git(tmp_path, "switch", "--quiet", "main")
    git(tmp_path, "merge", "--quiet", BRANCH)
    another = "Next: add open nodes to .runner/tree.json and commit; `dwindle run` begins"
    assert standing(tmp_path)[::2] == [f"{TREE_FILE}: completed", another]
    git(tmp_path, "switch", "--quiet", BRANCH)
    assert standing(tmp_path)[::2] == [f"{TREE_FILE}: completed, and landed on main", another]
    assert json.loads((tmp_path / TREE_FILE).read_bytes())["root"]["passes"] is DONE["passes"]


def test_two_plans(tmp_path: Path, standing: Standing) -> None:
    write(tree_repository(tmp_path), GRAPH_FILE, GRAPH)
    lines = standing(tmp_path)
    assert [lines[0], lines[4].split(":")[0], *lines[-2:]] == [
        f"{GRAPH_FILE}: not aligned yet, not run yet",
        TREE_FILE,
        "There are two plans: say --plan graph or --plan tree.",
        MORE,
    ]


# --- what comes next -----------------------------------------------------------------------------


def at(status: RunStatus, code: StopCode | None, kind: PlanKind) -> Plan:
    loaded = (
        load_graph(GRAPH.encode()) if kind is PlanKind.GRAPH else load_tree(text(TREE).encode())
    )
    assert loaded.plan is not None
    control = replace(loaded.plan.control, status=status, stop_code=code)
    return replace(loaded.plan, control=control)


@pytest.mark.parametrize("kind", PlanKind)
@pytest.mark.parametrize("code", StopCode)
def test_every_reason_to_stop_has_a_next_step(code: StopCode, kind: PlanKind) -> None:
    said = next_step(at(RunStatus.STOPPED, code, kind))
    assert "`dwindle " in said
    assert len(said) <= 110
    for limit in ("max_tokens", "max_cost_usd", "max_iterations", "max_wall_seconds"):
        assert (limit in said) is (
            {
                StopCode.BUDGET_TOKENS: "max_tokens",
                StopCode.BUDGET_COST: "max_cost_usd",
                StopCode.ITERATION_LIMIT: "max_iterations",
                StopCode.BUDGET_TIME: "max_wall_seconds",
            }.get(code)
            == limit
        )


PARKED = (StopCode.ATOM_EXHAUSTED, StopCode.OR_EXHAUSTED)


@pytest.mark.parametrize("code", PARKED)
def test_what_is_parked_is_tried_again_by_name(code: StopCode) -> None:
    plan = at(RunStatus.STOPPED, code, PlanKind.GRAPH)
    limits = replace(plan.limits, max_winds=0, max_probes=0, max_attempts=1, max_backjumps=0)
    used = {n: replace(a, attempts=9) for n, a in plan.atoms.items()}
    stuck = replace(plan, limits=limits, atoms=used)
    names = [one.name for one in parked(stuck)]
    assert names
    assert next_step(stuck) == (
        f"fix it, commit, `dwindle redirect --retry {','.join(names)} && dwindle run`; "
        f"why: `dwindle log {names[0]}`"
    )
    spent = replace(stuck, spent=replace(stuck.spent, redirects=limits.max_redirects))
    assert next_step(spent) == (
        f"no redirect is left: `dwindle align --replace` starts anew; why: `dwindle log {names[0]}`"
    )


def test_a_base_case_that_failed_to_the_end_is_verified_again() -> None:
    plan = at(RunStatus.STOPPED, StopCode.VERIFICATION_EXHAUSTED, PlanKind.GRAPH)
    assert next_step(plan) == (
        "fix it, commit, `dwindle redirect --retry verification && dwindle run`; "
        "why: `dwindle log verification`"
    )


def test_a_tree_with_parked_leaves_is_edited() -> None:
    assert next_step(at(RunStatus.STOPPED, StopCode.ATOM_EXHAUSTED, PlanKind.TREE)) == (
        "`dwindle status` says what is parked; edit .runner/tree.json, commit, `dwindle run`"
    )


def test_a_word_that_is_owed_and_one_that_was_given() -> None:
    plan = at(RunStatus.STOPPED, StopCode.AWAITING_CONFIRMATION, PlanKind.GRAPH)

    def asked(answer: Answer) -> Plan:
        return replace(
            plan, verification=Verification(questions=(Question(item="x", answer=answer),))
        )

    assert next_step(asked(Answer.OPEN)).startswith("`dwindle confirm` lists what you are asked")
    assert next_step(asked(Answer.NO)) == "`dwindle run` takes up your answer"


def test_a_redirect_that_was_begun() -> None:
    plan = at(RunStatus.STOPPED, StopCode.STOPPED_BY_USER, PlanKind.GRAPH)
    plan = replace(plan, control=replace(plan.control, redirect_requested=True))
    assert next_step(plan) == "`dwindle redirect` brings the change of direction to its end"
    assert next_step(at(RunStatus.PENDING, None, PlanKind.TREE)) == "`dwindle run` begins"


def test_it_does_without_a_framework(tmp_path: Path) -> None:
    graph_repository(tmp_path)
    script = (
        "import sys; from dwindle.surfaces.entry import answer; answer([]);"
        "print([name for name in ('cyclopts', 'rich', 'asyncio', 'starlette',"
        " 'urllib.request') if name in sys.modules])"
    )
    said = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=PLAIN, capture_output=True, check=True
    )
    assert said.stdout.decode().splitlines()[-1] == "[]"
