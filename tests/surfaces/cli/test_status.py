"""`dwindle status`: where the run stands, whole."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
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
    graph_repository,
    repository,
    tree_repository,
    write,
)

from dwindle.app.plans.load import load_graph, load_tree
from dwindle.app.plans.undone import undone
from dwindle.kernel.measure import gauge, measure, session_bound
from dwindle.kernel.model import RunStatus
from dwindle.views.terminal.progress import MOST_UNDONE, undone_lines

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
parked     none
next       table (work): 3 of 3 attempts, 3 of 3 planning sessions left
gauge      {gauge(TREE_PLAN):,} (falls with every step)
bound      at most {session_bound(TREE_PLAN)} more agent sessions
measure    redirects 0, forgiven 50, winds 0, rounds 0, fuel 195, backjumps 12,
           choices 0, attempts 24, undecided 5, in_flight 0, running 0
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
iteration  3 of 20; stalls 0 of 3; winds 0 of 15
open       5: A1, A2, A3, A5, A6
ready      none
running    A1 (worker)
parked     none
gauge      {gauge(plan):,} (falls with every step)
bound      at most {session_bound(plan)} more agent sessions
measure    redirects 19, forgiven 50, winds 15, rounds 3, fuel 50, backjumps 3,
           choices 2, attempts 18, undecided 8, in_flight 1, running 1
budgets    1 h 10 min 10 s of 24 h; 1,234,567 of 2,000,000 tokens; 1.50 of 5.00
           USD
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
        "parked": [],
        "failing": [],
        "next": None,
        "gauge": gauge(plan),
        "bound": session_bound(plan),
        "measure": measure(plan)._asdict(),
        "budgets": {
            "wall_seconds": {"spent": 4210.5, "limit": 86400},
            "tokens": {"spent": 1234567, "limit": 2000000},
            "usd": {"spent": 1.5, "limit": 5},
            "winds": {"spent": 0, "limit": 15},
        },
        "spending": None,
        "redirects_left": 19,
        "warnings": [],
        "tree": None,
    }


RULED = "make test is red\n==========\nE  no such table"
PARKED = GRAPH.replace(
    '"User model"\n    status: pending',
    '"User model"\n    status: pending\n    attempts: 3\n    probes: 1',
).replace(
    "trail: []",
    f"""trail:
  - type: failure
    atom: A1
    attempt: 3
    reason: {json.dumps(RULED)}
    timestamp: "2026-03-02T09:14:00Z\"""",
)


def test_what_is_parked_is_named_with_its_last_reason_and_what_it_holds_up(tmp_path: Path) -> None:
    folder = graph_repository(tmp_path, PARKED)
    lines = dwindle(folder, "status").out.splitlines()
    assert lines[3:7] == [
        "open       5: A1, A2, A3, A5, A6",
        "ready      none",
        "running    none",
        "parked     A1: failed 3 times, last: make test is red E no such table; it holds",
    ]
    assert lines[7] == "           up A2, A3, A5, A6"
    facts = json.loads(dwindle(folder, "status", "--json").out)
    assert (facts["exhausted"], facts["parked"]) == (
        ["A1"],
        [
            {
                "name": "A1",
                "failures": 3,
                "reason": "make test is red E no such table",
                "holds_up": ["A2", "A3", "A5", "A6"],
                "group": None,
                "given_up": [],
            }
        ],
    )
    assert facts["failing"] == []


def test_what_is_exhausted_and_may_be_probed_is_not_parked(tmp_path: Path) -> None:
    folder = graph_repository(tmp_path, PARKED.replace("    probes: 1\n", ""))
    lines = dwindle(folder, "status").out.splitlines()
    assert (
        "failing    A1: failed 3 times, last: make test is red E no such table; it holds" in lines
    )
    facts = json.loads(dwindle(folder, "status", "--json").out)
    assert (facts["exhausted"], facts["parked"]) == (["A1"], [])
    assert [(one["name"], one["failures"]) for one in facts["failing"]] == [("A1", 3)]


def failure(atom: str, attempt: int, reason: str) -> str:
    return (
        f"  - {{type: failure, atom: {atom}, attempt: {attempt}, reason: {json.dumps(reason)}, "
        'timestamp: "2026-03-02T09:14:00Z"}\n'
    )


@pytest.mark.parametrize("code", ["iteration_limit", "budget_cost", "stalled", "stopped_by_user"])
def test_whatever_ended_a_run_what_failed_and_is_not_done_is_named(
    code: str, tmp_path: Path
) -> None:
    """A1 was given new attempts by a wind, so it is ready; that it keeps failing is the news."""
    failed = failure("A2", 1, "no form") + failure("A1", 7, "no such table")
    ended = (
        GRAPH.replace("status: pending\n  iteration", "status: stopped\n  iteration")
        .replace("stop_reason: null", f'stop_reason: "it is over"\n  stop_code: {code}')
        .replace("trail: []", f"trail:\n{failed.rstrip()}")
    )
    folder = graph_repository(tmp_path, ended)
    lines = dwindle(folder, "status").out.splitlines()
    at = lines.index("running    none")
    assert lines[at + 1 : at + 4] == [
        "failing    A1: failed 7 times, last: no such table; it holds up A2, A3, A5, A6",
        "           A2: failed once, last: no form; it holds up A6",
        lines[at + 3],
    ]
    assert lines[at + 3].startswith("gauge")
    facts = json.loads(dwindle(folder, "status", "--json").out)
    assert (facts["ready"], facts["parked"]) == (["A1"], [])
    assert facts["failing"] == [
        {
            "name": "A1",
            "failures": 7,
            "reason": "no such table",
            "holds_up": ["A2", "A3", "A5", "A6"],
            "group": None,
            "given_up": [],
        },
        {
            "name": "A2",
            "failures": 1,
            "reason": "no form",
            "holds_up": ["A6"],
            "group": None,
            "given_up": [],
        },
    ]


def test_what_is_done_is_not_failing_nor_is_anything_of_a_completed_run(tmp_path: Path) -> None:
    trail = f"trail:\n{failure('A1', 2, 'no such table').rstrip()}"
    resolved = GRAPH.replace(
        '"User model"\n    status: pending', '"User model"\n    status: resolved'
    )
    facts = json.loads(
        dwindle(
            graph_repository(tmp_path, resolved.replace("trail: []", trail)), "status", "--json"
        ).out
    )
    assert (facts["failing"], facts["parked"]) == ([], [])
    done = load_graph(GRAPH.replace("trail: []", trail).encode()).plan
    assert done is not None
    assert [one.name for one in undone(done)] == ["A1"]
    over = replace(done, control=replace(done.control, status=RunStatus.COMPLETED))
    assert undone(over) == ()


def test_a_way_that_was_given_up_is_told_with_the_next_one_tried_or_not() -> None:
    taken = GRAPH.replace("selected: A3\n    failed: []", "selected: A4\n    failed: [A3]")
    stopped = taken.replace("status: pending\n  iteration", "status: stopped\n  iteration")
    tried = failure("A5", 3, "no room")
    waits = stopped.replace("trail: []", f"trail:\n{tried.rstrip()}")
    both = stopped.replace("trail: []", f"trail:\n{tried}{failure('A4', 1, 'no disk').rstrip()}")
    said = [
        line
        for plan in (waits, both)
        if (found := load_graph(plan.encode()).plan)
        for line in undone_lines(found)
    ]
    assert said == [
        "  failing  tokens: gave up A3: no room; it holds up A6",
        "  failing  A4: failed once, last: no disk; tokens gave up A3: no room; it holds up A6",
    ]


def test_a_group_whose_choices_have_all_failed_is_parked(tmp_path: Path) -> None:
    folder = graph_repository(tmp_path, GRAPH.replace("failed: []", "failed: [A3, A4]"))
    facts = json.loads(dwindle(folder, "status", "--json").out)
    assert facts["parked"] == [
        {
            "name": "tokens",
            "failures": 0,
            "reason": "",
            "holds_up": ["A6"],
            "group": "tokens",
            "given_up": [{"name": "A3", "reason": ""}, {"name": "A4", "reason": ""}],
        }
    ]
    lines = dwindle(folder, "status").out.splitlines()
    assert "parked     tokens: gave up A3, A4; it holds up A6" in lines


def test_all_that_is_parked_is_told_what_holds_up_most_first(tmp_path: Path) -> None:
    many = "".join(
        f'  - id: B{n}\n    description: "Part {n}"\n    status: pending\n    depends_on: []\n'
        "    attempts: 3\n    probes: 1\n"
        for n in range(1, 40)
    )
    waits = '  - {id: C1, description: "last", status: pending, depends_on: [B39]}\n'
    stuck = GRAPH.replace("\ndecompositions:", many + waits + "\ndecompositions:")
    lines = dwindle(graph_repository(tmp_path, stuck), "status").out.splitlines()
    at = lines.index("parked     B39: no reason is on record; it holds up C1")
    assert lines[at + 1 : at + 39] == [
        f"           B{n}: no reason is on record" for n in range(1, 39)
    ]
    plan = load_graph(stuck.encode()).plan
    assert plan is not None
    said = undone_lines(plan)
    assert (said[0], said[-1], len(said)) == (
        "  parked   B39: no reason is on record; it holds up C1",
        "  and 19 more: `dwindle status`",
        MOST_UNDONE + 1,
    )


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
        "iteration  0 of 20; stalls 0 of 3; winds 0 of 15",
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
        "import sys; from dwindle.surfaces.entry import answer; answer(['status']);"
        "print([name for name in ('cyclopts', 'rich', 'pathlib', 'subprocess', 'json',"
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
