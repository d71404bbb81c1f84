"""The solver agrees with every line of the table, and says no to what was planted."""

from __future__ import annotations

from pathlib import Path

import pytest
from proof.table import EVENT_ROWS, ROWS, event_admits, row_admits

#         a  p  N   V0 J0 L0 W0
LIMITS = (3, 1, 10, 3, 2, 5, 4)
#         E  L  W  V  F  J  C  A  Q  I  T
BEFORE = (1, 2, 3, 3, 4, 1, 2, 9, 5, 1, 1)


@pytest.mark.slow
def test_every_obligation_is_as_expected() -> None:
    obligations = pytest.importorskip("proof.obligations", reason="z3 is not installed")
    known = obligations.all_obligations()
    answers = {o.name: o.verdict() for o in known}
    assert answers == {o.name: o.expected for o in known}
    assert len(answers) == len(known) > 100


def test_the_table_and_the_coq_file_have_the_same_rows() -> None:
    coq = Path(__file__).resolve().parents[2] / "proof" / "Halt.v"
    lines = coq.read_text(encoding="utf-8").splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("Inductive step"))
    end = next(i for i in range(begin, len(lines)) if not lines[i])
    rows = [line.split()[1] for line in lines[begin:end] if line.startswith("| ")]
    assert sorted(rows) == sorted([*ROWS, "redirected_raising"])


def test_every_row_an_event_may_be_exists() -> None:
    named = {row for rows in EVENT_ROWS.values() for row in rows}
    assert named - set(ROWS) == {"unchanged", "run_again"}
    assert set(ROWS) - named == set()


@pytest.mark.parametrize(
    ("row", "after"),
    [
        ("session_started", (1, 2, 3, 3, 4, 1, 2, 8, 5, 2, 1)),
        ("atom_resolved", (1, 2, 3, 3, 4, 1, 2, 6, 4, 0, 1)),
        ("atom_resolved", (1, 2, 3, 3, 4, 1, 2, 6, 2, 0, 1)),  # and two parents join
        ("session_forgiven", (1, 1, 3, 3, 4, 1, 2, 10, 5, 0, 1)),
        ("choice_failed", (1, 2, 3, 3, 3, 1, 1, 12, 5, 0, 1)),  # and the next one is written
        ("decomposed", (1, 2, 3, 3, 2, 1, 2, 14, 7, 0, 1)),
        ("alternatives_grouped", (1, 2, 3, 3, 2, 1, 4, 11, 7, 0, 1)),
        ("backjumped", (1, 2, 3, 3, 4, 0, 1, 20, 12, 0, 1)),
        ("wind_began", (1, 2, 2, 3, 4, 2, 10, 40, 21, 1, 1)),  # all but fuel is refilled
        ("wind_began", (1, 2, 2, 3, 3, 2, 3, 20, 8, 1, 1)),  # and one choice is written
        ("redirected", (0, 5, 4, 3, 6, 2, 10, 16, 9, 0, 1)),
    ],
)
def test_what_a_row_allows(row: str, after: tuple[int, ...]) -> None:
    assert row_admits(row, BEFORE, after, LIMITS)


@pytest.mark.parametrize(
    ("row", "after", "why"),
    [
        ("session_started", (1, 2, 3, 3, 4, 1, 2, 9, 5, 2, 1), "not charged"),
        ("session_started", (1, 2, 3, 3, 4, 1, 2, 7, 5, 2, 1), "charged twice"),
        ("attempt_failed", (1, 2, 3, 3, 4, 1, 2, 10, 5, 0, 1), "refunded without the pool"),
        ("probe_ended", (1, 2, 3, 3, 4, 1, 2, 9, 4, 0, 1), "something joined: nothing follows"),
        ("atom_resolved", (1, 2, 3, 3, 3, 1, 2, 9, 4, 0, 1), "fuel spent: only joins follow"),
        ("session_forgiven", (1, 1, 3, 3, 4, 1, 2, 11, 5, 0, 1), "two given back for one"),
        ("interruption_charged", (1, 2, 3, 3, 4, 1, 2, 9, 5, 0, 1), "the pool is not empty"),
        ("choice_failed", (1, 2, 3, 3, 4, 1, 1, 10, 5, 1, 1), "attempts rose"),
        ("decomposed", (1, 2, 3, 3, 2, 1, 2, 18, 7, 0, 1), "more attempts than two atoms have"),
        ("decomposed", (1, 2, 3, 3, 4, 1, 2, 9, 5, 0, 1), "into nothing"),
        ("backjumped", (1, 2, 3, 3, 4, 1, 1, 9, 5, 1, 1), "no backjump paid"),
        ("backjumped", (1, 2, 3, 3, 4, 0, 2, 9, 5, 1, 1), "no choice failed"),
        ("wind_began", (1, 2, 3, 3, 4, 2, 10, 40, 21, 1, 1), "no wind paid"),
        ("wind_began", (1, 2, 1, 3, 4, 2, 10, 40, 21, 1, 1), "two winds paid"),
        ("wind_began", (1, 5, 2, 3, 4, 2, 10, 40, 21, 1, 1), "the pool was refilled"),
        ("wind_began", (2, 2, 2, 3, 4, 2, 10, 40, 21, 1, 1), "a redirect came back"),
        ("wind_began", (1, 2, 2, 3, 5, 2, 10, 40, 21, 1, 1), "fuel came back"),
        ("wind_began", (1, 2, 2, 4, 4, 2, 10, 40, 21, 1, 1), "more rounds than the limit"),
        ("wind_began", (1, 2, 2, 3, 4, 2, 10, 41, 21, 1, 1), "more attempts than all atoms have"),
        ("wind_began", (1, 2, 2, 3, 4, 2, 10, 40, 21, 0, 1), "a session ended by it"),
        ("run_again", (1, 2, 3, 3, 4, 1, 2, 9, 5, 1, 1), "it is running"),
        ("redirected", (0, 5, 4, 3, 11, 2, 10, 16, 9, 0, 1), "more fuel than the limit"),
    ],
)
def test_what_a_row_forbids(row: str, after: tuple[int, ...], why: str) -> None:
    assert not row_admits(row, BEFORE, after, LIMITS), why


def test_run_again_lifts_nothing_but_t() -> None:
    stopped = (*BEFORE[:9], 0, 0)
    assert event_admits("RunStarted", stopped, (*stopped[:10], 1), LIMITS)
    assert not event_admits("RunStarted", stopped, (1, 5, *stopped[2:10], 1), LIMITS)
    assert not event_admits("RunStarted", stopped, (1, 2, 4, *stopped[3:10], 1), LIMITS)


def test_no_wind_begins_when_none_is_left_or_nothing_runs() -> None:
    none = (*BEFORE[:2], 0, *BEFORE[3:])
    assert not event_admits("WindBegan", none, none, LIMITS)
    stopped, later = (*BEFORE[:9], 0, 0), (1, 2, 2, *BEFORE[3:9], 0, 0)
    assert not event_admits("WindBegan", stopped, later, LIMITS)
    assert event_admits("WindBegan", (*BEFORE[:9], 0, 1), (1, 2, 2, *BEFORE[3:9], 0, 1), LIMITS)


def test_an_event_without_rows_changes_no_counter() -> None:
    assert event_admits("Waited", BEFORE, BEFORE, LIMITS)
    assert not event_admits("Waited", BEFORE, (*BEFORE[:9], 0, 1), LIMITS)
