"""What the night prints, and what it answers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests import figures
from tests.figures import Row, night, summary, tried

GOOD = (
    Row(name="simulated runs", runs=100_000, faults=18_000, kills=43_000, seconds=1400.4),
    Row(name="kill -9", runs=90, kills=1000, survivors=0, seconds=2100.0),
)


def test_a_good_night_is_one_table() -> None:
    assert summary(GOOD).splitlines() == [
        "                      runs     faults      kills  survivors violations    seconds",
        "simulated runs     100,000     18,000     43,000          -          0      1,400",
        "kill -9                 90          -      1,000          0          0      2,100",
        "all                100,090     18,000     44,000          0          0      3,500",
        "",
        "everything held.",
    ]


def test_what_did_not_hold_stands_under_the_table() -> None:
    broken = ("seed 7: Broken: it is lost", "seed 9: Broken: it is done twice")
    rows = (replace(GOOD[0], violations=broken), replace(GOOD[1], survivors=2))
    assert summary(rows).splitlines()[1:] == [
        "simulated runs     100,000     18,000     43,000          -          2      1,400",
        "kill -9                 90          -      1,000          2          0      2,100",
        "all                100,090     18,000     44,000          2          2      3,500",
        "",
        "NOT EVERYTHING HELD.",
        "kill -9: 2 processes survived",
        *broken,
    ]


def test_of_a_very_bad_night_the_beginning_is_told() -> None:
    rows = (replace(GOOD[0], violations=tuple(f"seed {n}" for n in range(25))),)
    told = summary(rows).splitlines()
    assert told[-2:] == ["seed 19", "... and 5 more"]


def broke_down() -> Row:
    raise RuntimeError("no such file")


def test_a_part_that_breaks_down_is_a_violation_and_the_others_are_tried() -> None:
    row = tried(broke_down)
    said = "broke_down broke down: RuntimeError: no such file"
    assert replace(row, seconds=0) == Row(name="broke_down", violations=(said,))


@pytest.mark.parametrize(
    ("row", "code"),
    [
        (GOOD[1], 0),
        (replace(GOOD[1], survivors=1), 1),
        (replace(GOOD[0], violations=("seed 7",)), 1),
    ],
)
def test_anything_that_did_not_hold_is_in_the_exit_code(row: Row, code: int) -> None:
    assert night((lambda: row, lambda: GOOD[0])) == code


def test_nothing_is_left_out_and_the_sizes_are_as_asked_for() -> None:
    names = [getattr(part, "func", part) for part in figures.parts(5, 6)]
    sizes = [getattr(part, "args", ()) for part in figures.parts(5, 6)]
    assert names == [figures.simulation, figures.crashes, figures.kills, figures.adversaries]
    assert sizes == [(5,), (), (6,), ()]


@pytest.mark.slow
def test_a_short_night() -> None:
    """All of it for real, in small."""
    simulated, crashed = figures.simulation(40), figures.crashes(every=100)
    assert (simulated.runs, simulated.survivors, simulated.violations) == (40, None, [])
    assert (simulated.faults or 0) > 0 < (simulated.kills or 0)
    assert crashed.violations == []
    assert min(crashed.runs, crashed.faults or 0, crashed.kills or 0) > 5
    killed = replace(figures.kills(2), runs=0)
    assert killed == Row(name="kill -9", kills=2, survivors=0, violations=[])
    assert figures.adversaries("says-done") == Row(name="adversaries", runs=1)
