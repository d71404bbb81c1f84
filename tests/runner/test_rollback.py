"""A plan that knows less than git does."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.runner.story import FIRST_PLAN

from dwindle.adapters.git.commit_message import message, session_in
from dwindle.kernel.model import AtomId
from dwindle.ports.workspace import Trailers
from dwindle.runner.rollback import RolledBack, refuse_rolled_back

KNOWN = replace(FIRST_PLAN, spent=replace(FIRST_PLAN.spent, sessions=3))


def test_work_of_sessions_on_record_is_fine() -> None:
    for seen in (0, 2, 3):
        refuse_rolled_back(KNOWN, seen)


def test_work_of_a_session_that_is_not_on_record_is_not() -> None:
    with pytest.raises(RolledBack) as raised:
        refuse_rolled_back(KNOWN, 4)
    assert str(raised.value) == (
        "the plan and its journal know of 3 sessions, but git has work of session 4: both were put "
        "back to an earlier time"
    )


def test_a_commit_says_which_session_of_which_run_made_it() -> None:
    text = message(Trailers(run="01R", atom=AtomId("A1"), attempt=17, summary="made it"))
    assert (session_in(text, "01R"), session_in(text, "01X")) == (17, 0)
    for other in ("", "A1: x", "Dwindle-Run: 01R\nDwindle-Attempt: many", text + "\nmore\n\nx\n"):
        assert session_in(other, "01R") == 0
