"""An iteration, as the subject of its commit tells it."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as some

from dwindle.ports.iteration import Guarded, Iteration, Kind

SUBJECT = "chore(loop): run 01JABC iter 0007 node A-1.b execute guard=fail"
ITERATION = Iteration(run="01JABC", number=7, node="A-1.b", kind=Kind.EXECUTE, guard=Guarded.FAIL)


def test_a_subject_says_what_the_iteration_was() -> None:
    assert ITERATION.subject == SUBJECT
    assert Iteration.of(SUBJECT) == ITERATION


def test_a_message_may_say_how_many_tests_there_are() -> None:
    assert ITERATION.message() == f"{SUBJECT}\n"
    assert ITERATION.message(12) == f"{SUBJECT}\n\nDwindle-Tests: 12\n"


def test_a_message_says_what_was_done_and_no_word_of_it_counts_tests() -> None:
    did = ("Dwindle-Tests: 99", "two\n\nDwindle-Tests: 98")
    said = f"{SUBJECT}\n\n- Dwindle-Tests: 99\n- two Dwindle-Tests: 98\n"
    assert ITERATION.message(None, did) == said
    assert ITERATION.message(12, did) == f"{said}\nDwindle-Tests: 12\n"
    for message, counted in (
        (ITERATION.message(None, did), b""),
        (ITERATION.message(1, did), b"1"),
    ):
        words = ["git", "interpret-trailers", "--parse"]
        found = subprocess.run(words, input=message.encode(), capture_output=True, check=True)
        assert found.stdout.replace(b"Dwindle-Tests: ", b"").strip() == counted


def test_a_number_has_four_digits_or_as_many_as_it_takes() -> None:
    last = Iteration(
        run="R", number=12_345, node="root", kind=Kind.DECOMPOSE, guard=Guarded.SKIPPED
    )
    assert last.subject == "chore(loop): run R iter 12345 node root decompose guard=skipped"
    assert Iteration.of(last.subject) == last


@pytest.mark.parametrize(
    "subject",
    [
        "",
        "Begin",
        SUBJECT + " ",
        SUBJECT + "\n",
        "Revert " + SUBJECT,
        SUBJECT.replace("01JABC", "01jabc"),
        SUBJECT.replace("0007", "7"),
        SUBJECT.replace("0007", "-007"),
        SUBJECT.replace("A-1.b", "-A"),
        SUBJECT.replace("A-1.b", "A" * 65),
        SUBJECT.replace("execute", "repair"),
        SUBJECT.replace("guard=fail", "guard=maybe"),
        SUBJECT.replace("run ", "run  "),
    ],
)
def test_anything_else_is_no_iteration(subject: str) -> None:
    assert Iteration.of(subject) is None


@given(
    some.builds(
        Iteration,
        run=some.from_regex(r"[0-9A-Z]{1,26}", fullmatch=True),
        number=some.integers(1, 999_999_999),
        node=some.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", fullmatch=True),
        kind=some.sampled_from(Kind),
        guard=some.sampled_from(Guarded),
    )
)
def test_what_is_written_is_read_back(iteration: Iteration) -> None:
    assert Iteration.of(iteration.subject) == iteration
