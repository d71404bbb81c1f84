"""The words of the contract: files, journals and scripts hold them, so that they never change."""

from __future__ import annotations

from dataclasses import astuple, replace
from enum import StrEnum

import pytest
from tests.kernel.story import running

from dwindle.kernel.actions import Decision, Probe, Verify
from dwindle.kernel.base_case import Verdict
from dwindle.kernel.events import (
    AttemptFailed,
    Confirmed,
    Interruption,
    ProbeEnded,
    RedirectRequested,
    RunStarted,
    Usage,
    VerificationEnded,
    Waited,
)
from dwindle.kernel.graph import view
from dwindle.kernel.model import (
    EXIT_CODES,
    ROOT,
    Answer,
    Atom,
    AtomId,
    CheckType,
    Control,
    CorrectionType,
    Dispatch,
    GroupId,
    Limits,
    OrGroup,
    Pace,
    PlanKind,
    Problem,
    Question,
    Role,
    RunStatus,
    Spent,
    Status,
    StopCode,
    TrailType,
    Verification,
)

WORDS: dict[type[StrEnum], str] = {
    Status: "pending in_progress resolved",
    RunStatus: "pending running stopped completed",
    PlanKind: "graph tree",
    Dispatch: "wave refill",
    Role: "worker probe verifier",
    CheckType: "command file not_command not_file assertion quality",
    TrailType: "choice backtrack failure user_correction wind",
    CorrectionType: "objective_change dag_adjustment constraint_change bindings_override",
    Answer: "open yes no",
    Verdict: "passed failed could_not_run not_judged",
}


@pytest.mark.parametrize("kind", WORDS, ids=lambda kind: kind.__name__)
def test_the_words(kind: type[StrEnum]) -> None:
    assert " ".join(kind) == WORDS[kind]


@pytest.mark.parametrize("kind", [*WORDS, StopCode, Interruption], ids=lambda kind: kind.__name__)
def test_a_word_is_its_name_in_small_letters(kind: type[StrEnum]) -> None:
    assert {member.name.lower(): member.value for member in kind} == {
        m.value: m.value for m in kind
    }


def test_the_exit_codes() -> None:
    assert {str(code): number for code, number in EXIT_CODES.items()} == {
        "completed": 0,
        "invalid_plan": 2,
        "not_aligned": 3,
        "stopped_by_user": 10,
        "awaiting_confirmation": 11,
        "stalled": 20,
        "iteration_limit": 21,
        "budget_time": 22,
        "budget_cost": 23,
        "budget_tokens": 24,
        "iteration_timeout": 25,
        "or_exhausted": 30,
        "atom_exhausted": 31,
        "verification_exhausted": 32,
        "agent_unavailable": 40,
        "tampered": 41,
        "locked": 42,
        "io_error": 43,
        "internal_error": 70,
    }


def test_the_default_limits() -> None:
    """What a plan file is held to where it says nothing."""
    assert Limits() == Limits(
        max_iterations=20,
        max_parallel_agents=3,
        max_stall_count=3,
        max_atoms=100,
        max_depth=6,
        max_attempts=3,
        max_probes=1,
        max_verifications=3,
        max_redirects=20,
        max_forgiven=50,
        max_backjumps=3,
        max_winds=15,
        max_wall_seconds=86400,
        max_tokens=None,
        max_cost_usd=None,
        session_timeout_seconds=1800,
        dispatch=Dispatch.WAVE,
        early_verify=False,
        stated=(),
    )


A1 = AtomId("A1")


def test_what_is_not_said_of_a_run_is_nothing() -> None:
    assert astuple(Spent()) == (0, 0, 0, 0, 0, 0, 0, 0.0, 0, 0.0)
    assert astuple(Control()) == (
        *("pending", 0, 0, -1, False, None, False),
        *(None, 0, None, None),
    )
    assert astuple(Pace()) == (True, 0, (), False, False, False)
    assert astuple(Verification()) == (False, 0, 0, (), ())
    assert astuple(Question(item="q")) == ("q", "open", "")


def test_what_is_not_said_of_an_atom_is_nothing() -> None:
    assert astuple(Atom(id=A1, description="d")) == (
        *("A1", "d", "pending", (), None, None),
        *(0, None, None, None, False, 0, ()),
    )
    assert astuple(OrGroup(id=GroupId("G1"), choices=(A1,), selected=A1)) == (
        *("G1", ("A1",), "A1", (), False),
    )


def test_what_is_not_said_of_news_is_nothing() -> None:
    unused = (0, 0.0, 0, 0, 0, False)
    assert astuple(Usage()) == unused
    assert astuple(RunStarted()) == ("", 0.0, None, None, False)
    assert astuple(RedirectRequested()) == ("", 0.0, True)
    assert astuple(Waited()) == ("", 0.0, "", None, 0.0, "")
    ended = ("", 0.0, "A1", 1, None, unused, unused, "")
    assert astuple(ProbeEnded(atom=A1, nonce=1)) == (*ended, "")
    assert astuple(AttemptFailed(atom=A1, nonce=1, reason="r")) == (
        *(*ended, "r", None, False, (), ()),
    )
    assert VerificationEnded(nonce=1, passed=True).atom == ROOT == ""
    assert Confirmed(item="i", answer=Answer.YES).words == ""


def test_what_is_not_said_of_an_answer_is_nothing() -> None:
    assert astuple(Problem(where=(), what="w")) == ((), "w", "", None, False, False)
    assert Probe(atom=A1, because="b").plan is False
    assert Verify(because="b").after_seconds == 0
    assert Decision(plan=running("A1")).because == ""


def test_what_is_worked_out_is_no_part_of_a_plan() -> None:
    plan = running("A1")
    view(plan)
    assert "cache" not in repr(plan)
    assert plan == replace(plan)
    for name in ("view_cache", "shape_cache", "failures_cache"):
        with pytest.raises(ValueError, match=f"field {name} is declared with"):
            replace(plan, **{name: None})  # type: ignore[arg-type]
        assert getattr(replace(plan), name) is None
