"""`dwindle status`: where the run stands, whole."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from tests.surfaces.bad_plans import GRAPH, TREE, text
from tests.surfaces.command import (
    GRAPH_FILE,
    PLAIN,
    TREE_FILE,
    Ended,
    dwindle,
    graph_repository,
    repository,
    tree_repository,
    write,
)

from dwindle.kernel.measure import gauge, measure, session_bound
from dwindle.wiring import load_graph, load_tree

RUNNING = (
    GRAPH.replace("status: pending\n  iteration: 0", "status: running\n  iteration: 3")
    .replace(
        "redirect_requested: false",
        """redirect_requested: true
  run_id: 01J00000000000000000000000
  revision: 7
  spent:
    sessions: 4
    seconds: 4210.5
    tokens: 1234567
    usd: 1.5
    redirects: 1
  in_flight:
    - atom: A1
      role: worker
      nonce: 6
      number: 4""",
    )
    .replace('"User model"\n    status: pending', '"User model"\n    status: in_progress')
    .replace("stop_requested: false", "stop_requested: true")
    .replace(
        "max_stall_count: 3", "max_stall_count: 3\n    max_tokens: 2000000\n    max_cost_usd: 5"
    )
)

TREE_PLAN = load_tree(text(TREE).encode()).plan
assert TREE_PLAN is not None
TREE_STATUS = f"""\
{TREE_FILE} (tree plan)
run        pending
           HEAD is on no branch of a run; `dwindle run` begins one
iteration  0 of 50 started
open       4: root, store, table, index
leaves     2: table, index
running    none
exhausted  none
next       table (work): 3 of 3 attempts, 3 of 3 planning sessions left
gauge      {gauge(TREE_PLAN):,} (falls with every step)
bound      at most {session_bound(TREE_PLAN)} more agent sessions
measure    redirects 0, forgiven 50, rounds 0, fuel 195, backjumps 0, choices 0,
           attempts 21, undecided 5, in_flight 0, running 0
budgets    0 s of 24 h; 0 tokens without limit; 0.00 USD without limit
"""


def test_a_running_plan(tmp_path: Path) -> None:
    folder = graph_repository(tmp_path, RUNNING)
    plan = load_graph(RUNNING.encode()).plan
    assert plan is not None
    assert dwindle(folder, "status") == Ended(
        code=0,
        out=f"""\
{GRAPH_FILE} (graph plan)
run        running
requested  stop and redirect
iteration  3 of 20; stalls 0 of 3
open       5: A1, A2, A3, A5, A6
ready      none
running    A1 (worker)
exhausted  none
gauge      {gauge(plan):,} (falls with every step)
bound      at most {session_bound(plan)} more agent sessions
measure    redirects 19, forgiven 50, rounds 3, fuel 50, backjumps 3, choices 2,
           attempts 18, undecided 8, in_flight 1, running 1
budgets    1 h 10 min 10 s of 24 h; 1,234,567 tokens of 2,000,000; 1.50 USD of
           5.00
redirects  19 left
""",
    )


def test_the_same_for_programs(tmp_path: Path) -> None:
    folder = graph_repository(tmp_path, RUNNING)
    plan = load_graph(RUNNING.encode()).plan
    assert plan is not None
    said = dwindle(folder, "status", "--json")
    assert (said.code, said.err) == (0, "")
    assert json.loads(said.out) == {
        "path": GRAPH_FILE,
        "kind": "graph",
        "run": {
            "status": "running",
            "stop_code": None,
            "exit_code": None,
            "stop_reason": None,
            "stop_requested": True,
            "redirect_requested": True,
            "run_id": "01J00000000000000000000000",
            "revision": 7,
        },
        "iteration": {"done": 3, "limit": 20},
        "stalls": {"count": 0, "limit": 3},
        "atoms": {"total": 6, "resolved": 0, "open": 5},
        "open": ["A1", "A2", "A3", "A5", "A6"],
        "ready": [],
        "running": [{"atom": "A1", "role": "worker", "session": 4, "nonce": 6}],
        "exhausted": [],
        "next": None,
        "gauge": gauge(plan),
        "bound": session_bound(plan),
        "measure": measure(plan)._asdict(),
        "budgets": {
            "wall_seconds": {"spent": 4210.5, "limit": 86400},
            "tokens": {"spent": 1234567, "limit": 2000000},
            "usd": {"spent": 1.5, "limit": 5},
        },
        "spending": None,
        "redirects_left": 19,
        "warnings": [],
        "tree": None,
    }


def test_a_stopped_plan_says_why_with_its_exit_code(tmp_path: Path) -> None:
    stopped = GRAPH.replace("status: pending\n  iteration", "status: stopped\n  iteration").replace(
        "stop_reason: null",
        'stop_reason: "A6 has nothing left to try, after a very long story that does not fit into'
        ' one line"\n  stop_code: atom_exhausted',
    )
    folder = graph_repository(tmp_path, stopped)
    assert dwindle(folder, "status").out.splitlines()[1:5] == [
        "run        stopped, atom_exhausted (exit code 31)",
        "           A6 has nothing left to try, after a very long story that does not fit",
        "           into one line",
        "iteration  0 of 20; stalls 0 of 3",
    ]


def test_a_tree(tmp_path: Path) -> None:
    assert dwindle(tree_repository(tmp_path), "status") == Ended(code=0, out=TREE_STATUS)


def test_a_tree_whose_root_passes_is_completed(tmp_path: Path) -> None:
    done = text(TREE).replace('"passes": false', '"passes": true')
    assert load_tree(done.encode()).problems == ()
    lines = dwindle(repository(tmp_path, tree=done), "status").out.splitlines()
    assert lines[1:5] == [
        "run        completed",
        "           the root passes",
        "iteration  0 of 50 started",
        "open       nothing",
    ]
    assert "bound      at most 0 more agent sessions" in lines


def test_with_two_plans_one_has_to_be_named(tmp_path: Path) -> None:
    folder = repository(tmp_path, graph=GRAPH, tree=text(TREE))
    for words in (["status"], ["explain"], ["graph"]):
        assert dwindle(folder, *words) == Ended(
            code=2,
            err=f"dwindle: there are two plans: {GRAPH_FILE} and {TREE_FILE}\n"
            "  say --plan graph or --plan tree\n",
        )
    assert dwindle(folder, "status", "--plan", "tree") == Ended(code=0, out=TREE_STATUS)
    assert dwindle(folder, "status", "--plan=tree") == Ended(code=0, out=TREE_STATUS)


def test_a_plan_that_is_not_there_cannot_be_named(tmp_path: Path) -> None:
    assert dwindle(tree_repository(tmp_path), "status", "--plan", "graph") == Ended(
        code=2,
        err=f"dwindle: {TREE_FILE}: there is no graph plan here, only a tree plan\n"
        "  leave out --plan, or say --plan tree\n",
    )


@pytest.mark.parametrize("command", ["status", "explain", "graph"])
def test_an_invalid_plan_is_not_gone_on_with(command: str, tmp_path: Path) -> None:
    folder = graph_repository(tmp_path, GRAPH.replace("[A2, tokens]", "[A9]"))
    assert dwindle(folder, command) == Ended(
        code=2,
        err=f"{GRAPH_FILE}:53: A9 does not exist (atoms[5].depends_on)\n"
        "    hint: add it, or remove the mention\n"
        f"{GRAPH_FILE}: 1 problem\n",
    )


def test_every_line_fits_80_columns(tmp_path: Path) -> None:
    many = "".join(
        f'  - id: A{n}\n    description: "Part {n}"\n    status: pending\n    depends_on: []\n'
        for n in range(100, 400)
    )
    folder = graph_repository(
        tmp_path, GRAPH.replace("\ndecompositions:", many + "\ndecompositions:")
    )
    lines = dwindle(folder, "status").out.splitlines()
    assert [line for line in lines if len(line) > 80] == []
    assert [line for line in lines if line.endswith(" more")] == [
        "open       305: A1, A2, A3, A5, A6, A100, A101, A102, A103, A104 and 295 more",
        "ready      A1, A100, A101, A102, A103, A104, A105, A106, A107, A108 and 291 more",
    ]


@pytest.mark.parametrize(
    ("surroundings", "coloured"),
    [
        ({"TERM": "xterm"}, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
        ({"TERM": "dumb"}, False),
    ],
)
def test_colour_is_for_terminals(
    surroundings: dict[str, str], coloured: bool, tmp_path: Path
) -> None:
    folder = tree_repository(tmp_path)
    ours, theirs = pty.openpty()
    subprocess.run(
        [sys.executable, "-m", "dwindle", "status"],
        cwd=folder,
        env=PLAIN | surroundings,
        stdout=theirs,
        check=True,
    )
    shown = os.read(ours, 65536).decode().replace("\r\n", "\n")
    os.close(ours)
    os.close(theirs)
    assert ("\x1b[2mpending\x1b[0m" in shown) is coloured
    assert shown.replace("\x1b[2m", "").replace("\x1b[0m", "") == TREE_STATUS


def test_status_does_without_a_framework_and_without_decisions(tmp_path: Path) -> None:
    folder = graph_repository(tmp_path)
    script = (
        "import sys; from dwindle.surfaces.cli.entry import answer; answer(['status']);"
        "print([name for name in ('cyclopts', 'rich', 'yaml', 'pathlib', 'subprocess', 'json',"
        " 'dwindle.kernel.events', 'dwindle.kernel.decide') if name in sys.modules])"
    )
    said = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, env=PLAIN, capture_output=True, check=True
    )
    assert said.stdout.decode().splitlines()[-1] == "[]"


def test_warnings_are_said_below(tmp_path: Path) -> None:
    folder = tmp_path
    write(folder, GRAPH_FILE, GRAPH.replace("max_stall_count: 3", "max_stall_count: 2"))
    said = dwindle(folder, "status")
    assert said.code == 0
    assert said.out.splitlines()[-2:] == [
        (
            f"{GRAPH_FILE}:16: warning: max_stall_count 2 is below max_attempts 3: the run may stop"
            " while attempts are left (objective.constraints.max_stall_count)"
        ),
        "    hint: raise it to 3",
    ]
