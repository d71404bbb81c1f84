"""`dwindle explain`: a because for every atom."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
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
    A2 needs A1: resolved; chain of 1 behind it; number 1 of 2 to start, before
    A4 (later in the file)
A3 failed: Tokens
    tokens gave it up
A4 starts: Sessions
    A4 needs A1: resolved; chain of 1 behind it; number 2 of 2 to start, after
    A2 (earlier in the file)
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
            {
                "action": "Work",
                "atom": "A2",
                "because": "A2 needs A1: resolved; chain of 1 behind it",
            },
            {
                "action": "Work",
                "atom": "A4",
                "because": "A4 needs A1: resolved; chain of 1 behind it",
            },
        ],
        "because": "",
        "atoms": [
            {
                "id": "A4",
                "description": "Sessions",
                "standing": "ready",
                "starts": True,
                "why": "A4 needs A1: resolved; chain of 1 behind it; "
                "number 2 of 2 to start, after A2 (earlier in the file)",
            }
        ],
        "attempts": [],
    }


def test_a_running_plan_is_explained_as_it_is(tmp_path: Path) -> None:
    running = GRAPH.replace("status: pending\n  iteration", "status: running\n  iteration")
    lines = dwindle(graph_repository(tmp_path, running), "explain").out.splitlines()
    assert lines[:6] == [
        "A1 starts: User model",
        "    A1 depends on nothing that is open; chain of 2 behind it",
        "A2 waiting: Login",
        "    it waits for A1",
        "A3 split: Tokens",
        "    it is done when A5 is",
    ]
    assert lines[6:8] == ["A4 reserve: Sessions", "    tokens is with A3; A4 is kept in reserve"]


TURNS = """\
atoms:
  - {id: A1, description: "one", status: pending, depends_on: []}
  - {id: A2, description: "two", status: pending, depends_on: []}
  - {id: A3, description: "three", status: pending, depends_on: []}
  - {id: A4, description: "four", status: pending, depends_on: []}
  - {id: A5, description: "five", status: pending, depends_on: [A4]}
decompositions: []
or_groups: {}
bindings: {}
trail:
  - {type: failure, atom: A1, attempt: 2, reason: "red", timestamp: "2026-03-02T09:14:00Z"}
"""


def test_each_ready_atom_says_why_it_comes_after_one_and_before_the_next(tmp_path: Path) -> None:
    """Fewer failures first, then longer chains, then file order; three may start at once."""
    plan = (
        f"{GRAPH.partition('atoms:')[0]}{TURNS}{'corrections' + GRAPH.partition('corrections')[2]}"
    )
    said = dwindle(graph_repository(tmp_path, plan), "explain", "--json")
    whys = {one["id"]: one["why"] for one in json.loads(said.out)["atoms"]}
    assert {name: why.partition("; number ")[2] for name, why in whys.items()} == {
        "A1": "4 of 4 to start, after A3 (failures: 0, here 2)",
        "A2": "2 of 4 to start, after A4 (chain behind it: 1, here 0), before A3 (later in the "
        "file)",
        "A3": "3 of 4 to start, after A2 (earlier in the file), before A1 (failures: 2, here 0)",
        "A4": "1 of 4 to start, before A2 (chain behind it: 0, here 1)",
        "A5": "",
    }
    assert whys["A1"].startswith("it is ready and waits for a free slot, or for atoms")


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


PARKED = GRAPH.replace(
    '"User model"\n    status: pending',
    '"User model"\n    status: pending\n    attempts: 3\n    probes: 1',
).replace(
    "trail: []",
    'trail:\n  - type: failure\n    atom: A1\n    attempt: 4\n    reason: "no room"\n'
    '    timestamp: "2026-03-02T09:14:00Z"',
)
USED_UP = "redirect_requested: false\n  spent: {created: 6, winds: 2}"


def explained(folder: Path, plan: str, atom: str = "A1") -> list[str]:
    lines = dwindle(graph_repository(folder, plan), "explain", atom).out.splitlines()
    return lines[lines.index(f"{atom} parked: User model") :]


def test_a_parked_atom_is_tried_again_by_a_wind(tmp_path: Path) -> None:
    assert explained(tmp_path, PARKED) == [
        "A1 parked: User model",
        "    it is parked: nothing is left to try for now; it failed 4 times, last: no",
        "    room; it holds up A2, A3, A5, A6; when nothing else can be done, a new wind",
        "    tries it again (0 of 15 used)",
    ]


def test_a_parked_atom_without_a_wind_ends_the_run(tmp_path: Path) -> None:
    limit = "max_stall_count: 3\n    max_winds: 2"
    last = PARKED.replace("max_stall_count: 3", limit).replace("redirect_requested: false", USED_UP)
    assert explained(tmp_path, last)[-2:] == [
        "    room; it holds up A2, A3, A5, A6; no wind is left (2 of 2 used), so the run",
        "    ends when nothing else can be done",
    ]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (
            "infeasible: no such thing",
            (
                "when nothing else can be done, a new wind asks whether it is still infeasible"
                " (0 of 15 used)"
            ),
        ),
        (
            "infeasible: no such thing\n    allowed: 3",
            "it was called infeasible again after a wind had asked, so that no wind tries it",
        ),
    ],
)
def test_what_was_called_infeasible_is_asked_about_once(
    more: str, says: str, tmp_path: Path
) -> None:
    plan = PARKED.replace("probes: 1", f"probes: 1\n    {more}")
    told = " ".join(" ".join(explained(tmp_path, plan)).split())
    assert told.partition("it holds up A2, A3, A5, A6; ")[2] == says


def test_a_run_that_ended_so_would_end_so_again(tmp_path: Path) -> None:
    reason = (
        "A1 has nothing left to try (last: no room; it holds up A2, A3, A5, A6); "
        "at least 1 combination of choices tried"
    )
    ended = (
        PARKED.replace("max_stall_count: 3", "max_stall_count: 3\n    max_winds: 0")
        .replace("status: pending\n  iteration", "status: stopped\n  iteration")
        .replace("stop_reason: null", f'stop_reason: "{reason}"\n  stop_code: atom_exhausted')
    )
    lines = dwindle(graph_repository(tmp_path, ended), "explain", "A6").out.splitlines()
    assert lines == [
        "The run is stopped, atom_exhausted: A1 has nothing left to try (last: no room;",
        "it holds up A2, A3, A5, A6); at least 1 combination of choices tried. If it were",
        "run now:",
        "The run ends at once, for the same reason.",
        "",
        "A6 waiting: Page",
        "    it waits for A2, tokens",
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
