from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from tests.real import programs
from tests.real.loopback_network import Island, NoIsland
from tests.real.programs import NotInstalled, Program
from tests.real.stage import Stage, raise_stage
from tests.real.user_project import Desk

from dwindle.adapters.sandbox import choose

NOT_CUT_OFF = (
    "this user may not make a network namespace: the programs ran with a dead proxy instead, and "
    "their connections were not observed"
)


@pytest.fixture
def island() -> Iterator[Island | None]:
    """Where the test and all that it starts live; None where this user may not have one."""
    with ExitStack() as stack:
        try:
            found: Island | None = stack.enter_context(Island())
        except NoIsland:
            found = None
        yield found


@pytest.fixture
def stage(island: Island | None) -> Iterator[Stage]:
    """Folders, a world and an end for one test."""
    made = raise_stage(is_island=island is not None)
    yield made
    made.strike()


@pytest.fixture
def tapped(island: Island | None) -> Island:
    """For tests that are about who is called; they need to see it."""
    if island is None:
        pytest.skip(NOT_CUT_OFF)
    return island


def installed(find: Callable[[], Program]) -> Program:
    try:
        return find()
    except NotInstalled as missing:
        pytest.skip(str(missing))


@pytest.fixture(params=("claude", "newer claude"))
def claude(request: pytest.FixtureRequest) -> Program:
    """Both versions, one after the other."""
    return installed(programs.claude if request.param == "claude" else programs.newer_claude)


@pytest.fixture
def codex() -> Program:
    return installed(programs.codex)


PROGRAMS = {
    "claude": programs.claude,
    "newer claude": programs.newer_claude,
    "codex": programs.codex,
}


@pytest.fixture(params=PROGRAMS)
def desk(request: pytest.FixtureRequest, stage: Stage) -> Desk:
    """Every program, one after the other."""
    if choose().mechanism != "bubblewrap":
        pytest.skip("to keep a verifier from writing takes bubblewrap")
    return Desk(stage, installed(PROGRAMS[request.param]))
