"""How a run stands at a moment, on terminals of several widths."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.model.small_plans import plan_from

from dwindle.kernel.events import (
    AtomResolved,
    AttemptFailed,
    ChoiceFailed,
    DeclaredInfeasible,
    Decomposed,
    Event,
    NewAtom,
    RedirectRequested,
    RunEnded,
    SessionInterrupted,
    SessionStarted,
    StopRequested,
    Usage,
    VerificationEnded,
    Waited,
)
from dwindle.kernel.events import Interruption as Why
from dwindle.kernel.measure import session_bound
from dwindle.kernel.model import ROOT, AtomId, Dispatch, GroupId, Limits, Plan, Role, StopCode
from dwindle.kernel.transitions import apply
from dwindle.text.terminal import columns
from dwindle.views.read_model.live_stats import LiveStats, used_in, work_left
from dwindle.views.terminal.board import Line, bar, board, session_lines, summary, waits

A1, A2, A3, A4 = (AtomId(f"A{number}") for number in range(1, 5))
LIMITS = Limits(max_atoms=20, max_parallel_agents=9, dispatch=Dispatch.REFILL)
WORKER, PROBE, VERIFIER = Role.WORKER, Role.PROBE, Role.VERIFIER


class Watched:
    """A plan, and a viewer from second 100 on."""

    def __init__(self, shape: str, limits: Limits = LIMITS, **described: str) -> None:
        plan = plan_from(shape, limits)
        for name, description in described.items():
            atom = replace(plan.atoms[AtomId(name)], description=description)
            plan = replace(plan, atoms={**plan.atoms, atom.id: atom})
        self.plan: Plan = plan
        self.now = 100.0
        self.tally = LiveStats.at_start(plan, self.now)

    def told(self, *events: Event, after: float = 0.0) -> Watched:
        self.now += after
        for event in events:
            self.plan = apply(self.plan, replace(event, elapsed=after))
            self.tally = self.tally.after(self.plan, event, self.now)
            after = 0.0
        return self

    def nonce(self, atom: AtomId) -> int:
        return self.plan.sessions[atom].nonce

    def shown(self, width: int = 200, height: int = 20, *, later: float = 0.0) -> list[str]:
        lines = board(self.plan, self.tally, self.now + later, width=width, height=height)
        assert all(columns(line.text) <= width for line in lines)
        return [line.text for line in lines]


def started(atom: AtomId, role: Role = WORKER) -> SessionStarted:
    return SessionStarted(atom=atom, role=role)


def working() -> Watched:
    """One atom resolved, one at its second attempt, one probed, one waiting for that."""
    limits = replace(LIMITS, max_tokens=1_000_000, max_cost_usd=5.0)
    run = Watched("A1 A2 A3 A4<-A3", limits, A2="Read a line of the till", A3="Keep lines")
    run.told(started(A1), started(A2), after=1)
    used = Usage(tokens=12_345, usd=0.12)
    run.told(AttemptFailed(atom=A2, nonce=run.nonce(A2), reason="no", usage=used), after=30)
    run.told(started(A2), started(A3, PROBE), after=1)
    run.told(AtomResolved(atom=A1, nonce=run.nonce(A1), summary="done"), after=7)
    return run


WORK = "[###.......]"
BOUND = f"at most {session_bound(working().plan)} more sessions"


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (
            200,
            [
                (
                    "3 of 4 open, 1 resolved | iteration 1/20 | 0:44 of 24 h | 0.12 of 5.00 USD | "
                    f"{WORK} | {BOUND} | 12,345 of 1,000,000 tokens"
                ),
                "  A2  worker 2/3  0:12 of 30 min  (0.12 USD) Read a line of the till",
                "  A3  probe  1/1  0:12 of 30 min  Keep lines",
            ],
        ),
        (
            120,
            [
                "3 of 4 open, 1 resolved | iteration 1/20 | 0:44 of 24 h | 0.12 of 5.00 USD",
                f"{WORK} | {BOUND} | 12,345 of 1,000,000 tokens",
                "  A2  worker 2/3  0:12 of 30 min  (0.12 USD) Read a line of the till",
                "  A3  probe  1/1  0:12 of 30 min  Keep lines",
            ],
        ),
        (
            79,
            [
                "3 of 4 open, 1 resolved | iteration 1/20 | 0:44 of 24 h | 0.12 of 5.00 USD",
                f"{WORK} | {BOUND} | 12,345 of 1,000,000 tokens",
                "  A2  worker 2/3  0:12 of 30 min  (0.12 USD) Read a line of the till",
                "  A3  probe  1/1  0:12 of 30 min  Keep lines",
            ],
        ),
        (
            39,
            [
                "3 of 4 open, 1 resolved",
                "iteration 1/20 | 0:44 of 24 h",
                "0.12 of 5.00 USD",
                WORK,
                BOUND,
                "12,345 of 1,000,000 tokens",
                "  A2  worker 2/3  0:12  (0.12 USD) R...",
                "  A3  probe  1/1  0:12  Keep lines",
            ],
        ),
    ],
)
def test_a_run_at_work(width: int, lines: list[str]) -> None:
    assert working().shown(width, later=5) == lines


@pytest.mark.parametrize("width", range(1, 30))
def test_no_terminal_is_too_narrow(width: int) -> None:
    assert len(working().shown(width)) > 2


def test_time_passes_without_any_event() -> None:
    run = working()
    assert [run.shown(later=seconds)[1].split()[3] for seconds in (0, 0.9, 1, 61, 3599)] == [
        "0:07",
        "0:07",
        "0:08",
        "1:08",
        "1:00:06",
    ]


def test_sessions_that_do_not_fit_are_counted() -> None:
    run = Watched("A1 A2 A3 A4 A5").told(*(started(AtomId(f"A{n}")) for n in range(1, 6)))
    summed, *sessions = run.shown()
    assert len(sessions) == 5
    assert run.shown(height=6) == [summed, *sessions]
    assert run.shown(height=5) == [summed, *sessions[:3], "  +2 more"]
    assert run.shown(height=2) == [summed, "  +5 more"]
    assert run.shown(height=1) == [summed]
    assert run.shown(height=0) == []


def test_nothing_in_a_plan_drives_the_terminal() -> None:
    evil, wide = "wipe \x1b[2J\x07 and\nwrap", "日本語の文字 e\u0301 \u202eevil"
    run = Watched("A1 A2", A1=evil, A2=wide).told(started(A1), started(A2))
    assert run.shown()[1:] == [
        "  A1  worker 1/3  0:00 of 30 min  wipe \\x1b[2J\\x07 and wrap",
        "  A2  worker 1/3  0:00 of 30 min  日本語の文字 e\u0301 \\u202eevil",
    ]
    # A character of two columns that does not fit is left out as a whole.
    assert run.shown(39)[-1] == "  A2  worker 1/3  0:00  日本語の文字..."
    assert run.shown(38)[-1] == "  A2  worker 1/3  0:00  日本語の文..."


def test_a_stop_and_a_redirect_are_waited_for() -> None:
    run = Watched("A1 A2").told(started(A1), started(A2))
    assert waits(run.plan, width=79) == ()
    paused = run.told(RedirectRequested()).plan
    assert waits(paused, width=79) == ("paused: a person is redirecting; 2 sessions to end",)
    run.told(SessionInterrupted(atom=A2, nonce=run.nonce(A2), cause=Why.STOP))
    run.told(StopRequested(reason="out of coffee, \x1b[31mand of much else, too"))
    assert waits(run.plan, width=79) == (
        "a stop was asked for: out of coffee, \\x1b[31mand of much e...; 1 session to end",
    )
    assert board(run.plan, run.tally, run.now, width=79, height=4) == (
        Line(
            text="2 of 2 open, 0 resolved | iteration 1/20 | 0:00 of 24 h | no cost reported",
            colour="bold",
        ),
        Line(
            text=f"[..........] | at most {session_bound(run.plan)} more sessions",
            colour="bold",
        ),
        Line(
            text="a stop was asked for: out of coffee, \\x1b[31mand of much e...; 1 session to end",
            colour="yellow",
        ),
        Line(text="  A1  worker 1/3  0:00 of 30 min  A1"),
    )


def test_a_verification_and_the_wait_before_it() -> None:
    run = Watched("A1").told(started(A1))
    run.told(AtomResolved(atom=A1, nonce=run.nonce(A1), summary="done"), after=2)
    run.told(started(ROOT, VERIFIER))

    def line(later: float) -> tuple[str, ...]:
        return session_lines(run.plan, run.tally, run.now + later, width=79)

    assert line(3) == ("  base case  verifier 1/3  0:03  every check, in a fresh checkout",)
    unjudged = VerificationEnded(atom=ROOT, nonce=run.nonce(ROOT), passed=False, gaps=())
    run.told(unjudged, started(ROOT, VERIFIER), after=3)
    assert line(0.5) == (
        "  base case  verifier 2/3  0:00  begins in 1 s; the last round could not run...",
    )
    assert line(1) == ("  base case  verifier 2/3  0:01  every check, in a fresh checkout",)


def test_atoms_of_a_choice_that_failed_are_given_up() -> None:
    run = Watched("G1{A1[A3 A4]|A2}").told(started(A3))
    run.told(AtomResolved(atom=A3, nonce=run.nonce(A3), summary="done"), started(A4))
    run.told(DeclaredInfeasible(atom=A4, nonce=run.nonce(A4), reason="no"))
    run.told(ChoiceFailed(group=GroupId("G1"), choice=A1, reason="no way"))
    assert run.shown()[0].startswith("1 of 4 open, 0 resolved, 3 given up | ")


def test_an_agent_that_says_what_it_uses_is_shown_while_it_works() -> None:
    run = working()
    run.tally = run.tally.with_usage(run.nonce(A2), Usage(tokens=5, usd=0.03))
    run.tally = run.tally.with_usage(run.nonce(A3), Usage(tokens=700))
    assert "| 0.15 of 5.00 USD |" in run.shown()[0]
    assert "| 13,050 of 1,000,000 tokens" in run.shown()[0]
    assert [line.partition("30 min  ")[2] for line in run.shown()[1:]] == [
        "(0.15 USD) Read a line of the till",
        "(700 tokens) Keep lines",
    ]
    # Its end says what it was all in all; what was heard before is not counted twice.
    ended = Usage(tokens=10, usd=0.05)
    run.told(AttemptFailed(atom=A2, nonce=run.nonce(A2), reason="no", usage=ended))
    assert "| 0.17 of 5.00 USD |" in run.shown()[0]
    assert run.tally.usage_of(run.plan, A2) == Usage(tokens=12_355, usd=0.12 + 0.05)
    assert tuple(run.tally.using) == (run.nonce(A3),)


def test_what_an_atom_cost_before_is_remembered() -> None:
    earlier: list[Event] = [
        AttemptFailed(atom=A1, nonce=1, reason="no", usage=Usage(tokens=10, usd=0.5)),
        Waited(),
        AttemptFailed(atom=A2, nonce=2, reason="no"),
        AttemptFailed(atom=A1, nonce=3, reason="no", usage=Usage(tokens=5, usd=0.25)),
    ]
    assert used_in(earlier) == {A1: Usage(tokens=15, usd=0.75)}
    run = Watched("A1")
    tally = LiveStats.at_start(run.plan, 0, used_in(earlier))
    assert tally.usage_of(run.plan, A1) == Usage(tokens=15, usd=0.75)


def test_the_bar_goes_to_its_end_and_falls_back_when_the_plan_grows() -> None:
    run = Watched("A1 G1{A2|A3}")
    seen = [bar(run.plan, run.tally)]

    def step(*events: Event) -> None:
        run.told(*events)
        seen.append(bar(run.plan, run.tally))

    step(started(A1))
    step(AtomResolved(atom=A1, nonce=run.nonce(A1), summary="done"))
    step(started(A2))
    parts = (NewAtom(description="half"), NewAtom(description="other half"))
    step(Decomposed(atom=A2, nonce=run.nonce(A2), children=parts, reason="too big"))
    for name in (AtomId("A4"), AtomId("A5")):
        run.told(started(name))
        step(AtomResolved(atom=name, nonce=run.nonce(name), summary="done"))
    assert seen == [
        "[..........]",
        "[..........]",
        "[######....]",
        "[#######...]",
        "[..........]",
        "[####......]",
        "[##########]",
    ]
    # The alternative that was not needed is still there, and is no work.
    assert (work_left(run.plan), run.plan.atoms[A3].status) == (0, "pending")


def test_a_plan_without_work_has_a_full_bar() -> None:
    run = Watched("A1").told(started(A1))
    run.told(AtomResolved(atom=A1, nonce=run.nonce(A1), summary="done"))
    assert bar(run.plan, LiveStats.at_start(run.plan, 0)) == "[##########]"


def test_a_run_that_has_ended_takes_no_more_time() -> None:
    run = Watched("A1").told(Waited(), after=7)
    assert run.tally.elapsed(run.plan, run.now + 5) == 12
    run.told(RunEnded(code=StopCode.STALLED, reason="enough"), after=1)
    assert run.tally.elapsed(run.plan, run.now + 5) == 8
    assert summary(run.plan, run.tally, run.now + 5, width=30)[1] == "iteration 0/20 | 0:08 of 24 h"


def test_limits_are_said_as_people_say_them() -> None:
    run = Watched("A1", replace(LIMITS, max_wall_seconds=90, session_timeout_seconds=7200))
    run.told(started(A1))
    assert "0:00 of 1 min 30 s" in run.shown()[0]
    assert run.shown()[1] == "  A1  worker 1/3  0:00 of 2 h  A1"
