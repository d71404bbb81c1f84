"""What a run of the guard is worth, by how it ended and by what it says that it ran."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from dwindle.ports.checks import Ran
from dwindle.ports.iteration import Guarded
from dwindle.ports.process import Captured, Command, Ended, Strength
from dwindle.runner.modes.tree.guard import Guard, Judgement, words

GREEN = Ended(exit_code=0, stdout=Captured(head=b"fine\n", size=5))
RED = Ended(exit_code=1)


@dataclass
class Answers:
    """A containment in which every command ends in the same way."""

    ended: Ended
    strength: Strength = Strength.WEAK
    mechanism: str = "none"

    async def run(self, command: Command, watch: object = None) -> Ended:
        del watch
        return replace(self.ended, seconds=float("asked" in command.environment))


@dataclass(frozen=True)
class Reports:
    """Tests that were counted."""

    found: Ran
    command: Command

    def ran(self, ended: Ended) -> Ran:
        del ended
        return self.found


@dataclass(frozen=True)
class Counts:
    found: Ran | None

    @contextmanager
    def counting(self, command: Command) -> Iterator[Reports | None]:
        asked = replace(command, environment={"asked": "1"})
        yield None if self.found is None else Reports(self.found, asked)


def guard(ended: Ended, found: Ran | None, *, fewer: bool = False) -> Guard:
    return Guard(
        command=("make", "test"),
        containment=Answers(ended),
        checkout=Path("/nowhere"),
        counter=Counts(found),
        fewer_tests=fewer,
    )


def judged(one: Guard, least: int | None = None) -> Judgement:
    return asyncio.run(one.run(1.0, Path("/nowhere/log"), least))


def test_where_nothing_is_counted_the_exit_code_decides() -> None:
    for one in (guard(GREEN, None), replace(guard(GREEN, None), counter=None)):
        assert judged(one, 5) == Judgement(ended=GREEN)
        assert judged(one).verdict is Guarded.PASS
        assert not one.wants_a_count
    assert judged(guard(RED, None)).verdict is Guarded.FAIL


@pytest.mark.parametrize(
    ("found", "least", "doubt"),
    [
        (Ran(tests=3), None, ""),
        (Ran(tests=3), 0, ""),
        (Ran(tests=3), 3, ""),
        (Ran(tests=3), 4, "3 tests ran, and 4 before; [guard] fewer_tests = true lets that pass"),
        (Ran(), 4, "0 tests ran, and 4 before; [guard] fewer_tests = true lets that pass"),
        (Ran(tests=0, doubt="no test ran"), 4, "no test ran"),
    ],
)
def test_an_exit_code_of_0_has_to_agree_with_the_count(
    found: Ran, least: int | None, doubt: str
) -> None:
    one = guard(GREEN, found)
    judgement = judged(one, least)
    assert judgement == Judgement(ended=replace(GREEN, seconds=1.0), tests=found.tests, doubt=doubt)
    assert judgement.verdict is (Guarded.FAIL if doubt else Guarded.PASS)
    assert one.wants_a_count
    if doubt:
        assert words(one, judgement) == (
            f"make test is red: it ended with exit code 0, but {doubt}\nfine"
        )


def test_colours_of_a_guard_are_not_in_its_words() -> None:
    painted = b"\x1b[1mtests\x1b[0m\r\n\x1b[31mFAIL\x1b[0m a.py\x1b[K\n"
    ended = Ended(exit_code=1, stdout=Captured(head=painted, size=len(painted)))
    assert words(guard(ended, None), Judgement(ended=ended)) == (
        "make test is red: it ended with exit code 1\ntests\nFAIL a.py"
    )


def test_a_person_may_let_tests_become_fewer() -> None:
    one = guard(GREEN, Ran(tests=3), fewer=True)
    assert judged(one, 4).verdict is Guarded.PASS
    assert not one.wants_a_count
    assert judged(guard(RED, Ran(tests=9), fewer=True)).verdict is Guarded.FAIL
