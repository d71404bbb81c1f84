"""`dwindle explain`: a because for every atom."""

from __future__ import annotations

import json
from pathlib import Path

from tests.surfaces.bad_plans import GRAPH
from tests.surfaces.command import Ended, dwindle, graph_repository, tree_repository

HALF_WAY = (
    GRAPH.replace('"User model"\n    status: pending', '"User model"\n    status: resolved')
    .replace("bindings: {}", 'bindings:\n  A1:\n    summary: "User in user.py"\n    artifacts: []')
    .replace("selected: A3\n    failed: []", "selected: A4\n    failed: [A3]")
    .replace(
        "trail: []",
        'trail:\n  - type: failure\n    atom: A5\n    attempt: 1\n    reason: "no room"\n'
        '    timestamp: "2026-03-02T09:14:00Z"',
    )
)

STORY = """\
The run is pending. If it were run now:

A1 resolved: User model
    done: User in user.py
A2 starts: Login
    A2 needs A1: resolved
A3 failed: Tokens
    tokens gave it up
A4 starts: Sessions
    A4 needs A1: resolved
A5 failed: Token storage
    tokens gave A3 up: no room
A6 waiting: Page
    it waits for A2, tokens
"""


def test_every_atom_has_its_because(tmp_path: Path) -> None:
    assert dwindle(graph_repository(tmp_path, HALF_WAY), "explain") == Ended(code=0, out=STORY)


def test_one_atom(tmp_path: Path) -> None:
    assert dwindle(graph_repository(tmp_path, HALF_WAY), "explain", "A6") == Ended(
        code=0,
        out="The run is pending. If it were run now:\n\n"
        "A6 waiting: Page\n    it waits for A2, tokens\n",
    )


def test_for_programs(tmp_path: Path) -> None:
    said = dwindle(graph_repository(tmp_path, HALF_WAY), "explain", "A4", "--json")
    assert (said.code, said.err) == (0, "")
    assert json.loads(said.out) == {
        "run": "pending",
        "assumes_run": True,
        "stop": None,
        "actions": [
            {"action": "Work", "atom": "A2", "because": "A2 needs A1: resolved"},
            {"action": "Work", "atom": "A4", "because": "A4 needs A1: resolved"},
        ],
        "because": "",
        "atoms": [
            {
                "id": "A4",
                "description": "Sessions",
                "standing": "ready",
                "starts": True,
                "why": "A4 needs A1: resolved",
            }
        ],
    }


def test_a_running_plan_is_explained_as_it_is(tmp_path: Path) -> None:
    running = GRAPH.replace("status: pending\n  iteration", "status: running\n  iteration")
    lines = dwindle(graph_repository(tmp_path, running), "explain").out.splitlines()
    assert lines[:6] == [
        "A1 starts: User model",
        "    A1 depends on nothing that is open",
        "A2 waiting: Login",
        "    it waits for A1",
        "A3 split: Tokens",
        "    it is done when A5 is",
    ]
    assert lines[6:8] == ["A4 reserve: Sessions", "    tokens is with A3; A4 is kept in reserve"]


def test_a_run_that_would_end_at_once_says_so(tmp_path: Path) -> None:
    spent = GRAPH.replace("iteration: 0", "iteration: 20")
    lines = dwindle(graph_repository(tmp_path, spent), "explain", "A1").out.splitlines()
    assert lines == [
        "The run is pending. If it were run now:",
        "The run ends, iteration_limit: max_iterations 20 is reached",
        "",
        "A1 ready: User model",
        "    the run stops: max_iterations 20 is reached",
    ]


def test_a_completed_run_is_over(tmp_path: Path) -> None:
    done = (
        GRAPH.replace("status: pending\n  iteration", "status: completed\n  iteration")
        .replace("status: pending\n    depends", "status: resolved\n    depends")
        .replace("stop_reason: null", 'stop_reason: "all checks passed"')
    )
    lines = dwindle(graph_repository(tmp_path, done), "explain", "A6").out.splitlines()
    assert lines == [
        "The run ends, completed: all checks passed",
        "",
        "A6 resolved: Page",
        "    done",
    ]


def test_other_actions_come_before_the_atoms(tmp_path: Path) -> None:
    unsettled = GRAPH.replace(
        '"Token storage"\n    status: pending', '"Token storage"\n    status: resolved'
    ).replace("status: pending\n  iteration", "status: running\n  iteration")
    first = dwindle(graph_repository(tmp_path, unsettled), "explain").out.splitlines()[0]
    assert first == "Next, Settle: what follows for A3 is not written into the plan yet"


def test_a_tree_has_one_next_leaf(tmp_path: Path) -> None:
    lines = dwindle(tree_repository(tmp_path), "explain").out.splitlines()
    assert [line for line in lines if "starts" in line] == ["table starts: table is done"]


def test_an_unknown_atom_is_answered_with_the_closest(tmp_path: Path) -> None:
    folder = graph_repository(tmp_path)
    assert dwindle(folder, "explain", "A7") == Ended(
        code=2, err="dwindle: there is no atom 'A7'\n  did you mean A6 or A5 or A4?\n"
    )
    assert dwindle(folder, "explain", "zebra") == Ended(
        code=2, err="dwindle: there is no atom 'zebra'\n  `dwindle status` lists open ones\n"
    )
    assert dwindle(folder, "explain", "tokens") == Ended(
        code=2,
        err="dwindle: tokens is a choice point, not an atom\n  did you mean A3 or A4?\n",
    )


def test_what_is_written_in_a_plan_cannot_drive_the_terminal(tmp_path: Path) -> None:
    nasty = GRAPH.replace('"Login"', r'"Log\u001b[2J in\nand \u202eout"')
    out = dwindle(graph_repository(tmp_path, nasty), "explain", "A2").out
    assert out.splitlines()[2] == r"A2 waiting: Log\x1b[2J in and \u202eout"


def test_wide_letters_fit_too(tmp_path: Path) -> None:
    wide = GRAPH.replace('"Login"', f'"{"登录" * 60}"')
    line = dwindle(graph_repository(tmp_path, wide), "explain", "A2").out.splitlines()[2]
    assert line == "A2 waiting: " + "登录" * 16 + "..."
