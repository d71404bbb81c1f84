"""Decisions that the case folder does not reach: odd plans, odd stops, and the reasons given."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.kernel.story import after, refusal, running, started, with_atoms, with_groups

from dwindle.kernel.actions import Decision, Kill, Stop, Verify, Work
from dwindle.kernel.decide import decide, overlapping
from dwindle.kernel.events import (
    AtomResolved,
    AttemptFailed,
    ChoiceFailed,
    RedirectRequested,
    RunEnded,
    RunStarted,
    SessionInterrupted,
    StopRequested,
    Waited,
)
from dwindle.kernel.events import Interruption as Cause
from dwindle.kernel.measure import measure
from dwindle.kernel.model import (
    EXIT_CODES,
    ROOT,
    AtomId,
    Binding,
    Control,
    GroupId,
    Role,
    RunStatus,
    Session,
    Status,
    StopCode,
    Verification,
)

A1, A2, A3 = AtomId("A1"), AtomId("A2"), AtomId("A3")
DONE = {"status": Status.RESOLVED, "attempts": 1}


@pytest.mark.parametrize(
    "code", [code for code in StopCode if code is not StopCode.COMPLETED], ids=str
)
def test_whatever_is_asked_for_is_what_the_run_ends_with(code: StopCode) -> None:
    """The runner sees what the kernel cannot: a tampered file, a full disk, a missing agent."""
    asked = after(running("A1"), StopRequested(reason="so it is", code=code))
    stop = Stop(code=code, reason="so it is")
    assert decide(asked) == Decision(plan=asked, stop=stop, because="so it is")
    ended = after(asked, RunEnded(code=code, reason="so it is"))
    assert ended.control == Control(
        status=RunStatus.STOPPED,
        stop_requested=True,
        stop_reason="so it is",
        stop_code=code,
        revision=2,
    )
    assert decide(ended) == Decision(plan=ended, stop=stop, because="so it is")
    again = after(ended, RunStarted())
    assert again.control == Control(status=RunStatus.RUNNING, revision=3)


def test_a_pause_ends_what_runs_also_when_time_is_up() -> None:
    late = after(running("A1", max_wall_seconds=10), started("A1"), Waited(elapsed=11))
    assert decide(late).actions == ()  # a session that runs may end
    paused = after(late, RedirectRequested())
    why = "a redirect is under way"
    assert decide(paused) == Decision(
        plan=paused,
        actions=(Kill(atom=A1, nonce=1, because=why),),
        because=f"{why}: nothing starts",
    )
    quiet = after(paused, SessionInterrupted(atom=A1, nonce=1, cause=Cause.STOP))
    reason = "10 s of running are spent (max_wall_seconds)"
    assert decide(quiet).stop == Stop(code=StopCode.BUDGET_TIME, reason=reason)


def test_a_pause_with_nothing_open_does_not_end_for_want_of_time() -> None:
    """Seed 90987 of the simulation: the redirect came while an overdue run was verified."""
    done = with_atoms(running("A1", max_wall_seconds=10), A1=DONE)
    verifying = after(done, started("", Role.VERIFIER), Waited(elapsed=11))
    paused = after(
        verifying,
        RedirectRequested(),
        SessionInterrupted(atom=ROOT, nonce=1, cause=Cause.STOP),
    )
    assert decide(paused) == Decision(
        plan=paused, because="a redirect is under way: nothing starts"
    )
    given_up = after(paused, RedirectRequested(active=False))
    verify = Verify(after_seconds=0, because="nothing is open")
    assert decide(given_up) == Decision(plan=given_up, actions=(verify,))


def test_every_stop_code_has_an_exit_code_of_its_own() -> None:
    assert list(EXIT_CODES) == list(StopCode)
    assert len(set(EXIT_CODES.values())) == len(StopCode)
    assert EXIT_CODES[StopCode.COMPLETED] == 0


def test_a_completed_run_is_completed_whatever_else_its_file_says() -> None:
    plan = replace(running("A1"), control=Control(status=RunStatus.COMPLETED))
    reason = "the run is completed"
    stop = Stop(code=StopCode.COMPLETED, reason=reason)
    assert decide(plan) == Decision(plan=plan, stop=stop, because=reason)


@pytest.mark.parametrize("early", [False, True])
def test_a_wave_waits_for_the_whole_batch(early: bool) -> None:
    """A1 is done and A3 is ready, but A2 of the same batch still runs; nothing is checked early."""
    plan = after(
        running("A1 A2 A3", max_parallel_agents=2, early_verify=early),
        started("A1"),
        started("A2"),
        AtomResolved(atom=A1, nonce=1, summary="s"),
    )
    decision = decide(plan)
    assert (decision.actions, decision.stop) == ((), None)
    assert refusal(plan, started("A3")) == "SessionStarted: there is no free slot"


def test_a_dead_group_ends_a_resumed_run_when_nothing_else_is_left() -> None:
    plan = with_groups(running("A3 G1{A1|A2}", max_winds=0), G1={"failed": (A1, A2)})
    assert decide(plan).actions == (Work(atom=A3, because="A3 depends on nothing that is open"),)
    done = after(plan, started("A3"), AtomResolved(atom=A3, nonce=1, summary="s"))
    stop = Stop(
        code=StopCode.OR_EXHAUSTED,
        reason="every choice of G1 has failed (without a word on why); "
        "at least 2 combinations of choices tried",
    )
    assert decide(done).stop == stop
    ended = after(done, RunEnded(code=stop.code, reason=stop.reason))
    assert ended.groups == plan.groups


def test_the_last_choice_is_not_failed_by_the_end_of_the_run() -> None:
    """Neither A2 nor A3 has anything left; a user who raises a limit may go on with A3."""
    plan = with_groups(
        with_atoms(running("G1{A2|A3}", max_winds=0), A3={"attempts": 1, "probes": 1}),
        G1={"failed": (A2,), "selected": A3},
    )
    stop = Stop(
        code=StopCode.OR_EXHAUSTED,
        reason="A3 has nothing left to try (without a word on why; G1 gave up A2); "
        "at least 2 combinations of choices tried",
    )
    assert decide(plan).stop == stop
    ended = after(plan, RunEnded(code=stop.code, reason=stop.reason))
    assert ended.groups == plan.groups


def test_a_deadlock_is_an_internal_error_with_its_blockers() -> None:
    """No valid plan gets here; this one waits in a circle and names an orphan."""
    plan = with_atoms(running("A1<-A2 A2<-A1 A3"), A3={"status": Status.IN_PROGRESS})
    reason = (
        "open atoms and nothing to do: A1: it waits for A2; A2: it waits for A1; "
        "A3: nothing is to be done"
    )
    stop = Stop(code=StopCode.INTERNAL_ERROR, reason=reason)
    assert decide(plan) == Decision(plan=plan, stop=stop, because=reason)


def test_sessions_under_a_resolved_parent_may_end() -> None:
    """A file that `validate` refuses says that A1 is done although A2 is being worked on."""
    plan = replace(
        with_atoms(running("A1[A2]"), A1=DONE, A2={"status": Status.IN_PROGRESS}),
        sessions={A2: Session(nonce=0, number=1, role=Role.WORKER)},
    )
    because = "sessions that are no longer needed are ending"
    assert decide(plan) == Decision(plan=plan, because=because)


def test_a_base_case_that_holds_ends_what_still_runs() -> None:
    plan = replace(after(running("A1"), started("A1")), verification=Verification(passed=True))
    because = "every check of the base case passed"
    kill = Kill(atom=A1, nonce=1, because=because)
    assert decide(plan) == Decision(plan=plan, actions=(kill,), because=because)


def test_an_atom_may_have_attempts_of_its_own() -> None:
    """Three for a choice that says so, where one is the default; the other has its turn first."""
    plan = with_atoms(running("G1{A1|A2}", max_probes=0), A1={"max_attempts": 3})
    assert measure(plan).attempts == 4
    failed = after(plan, started("A1"), AttemptFailed(atom=A1, nonce=1, reason="red"))
    assert decide(failed).actions == (Work(atom=A2, because="A2 depends on nothing that is open"),)
    closed = after(
        failed,
        started("A2"),
        AttemptFailed(atom=A2, nonce=3, reason="blue"),
        ChoiceFailed(group=GroupId("G1"), choice=A2, reason="used up"),
    )
    assert decide(closed).actions == (Work(atom=A1, because="A1 failed once before"),)


def test_the_reason_for_giving_up_is_the_last_failure_of_that_atom() -> None:
    plan = after(
        running("A1 A2 A3<-A1", max_attempts=1, max_probes=0, max_winds=0),
        started("A1"),
        started("A2"),
        AttemptFailed(atom=A1, nonce=1, reason="red"),
        AttemptFailed(atom=A2, nonce=2, reason="blue"),
    )
    assert decide(plan).stop == Stop(
        code=StopCode.ATOM_EXHAUSTED,
        reason="A1 has nothing left to try (last: red; it holds up A3); "
        "A2 has nothing left to try (last: blue)",
    )


def test_an_atom_that_gives_up_without_a_failure_on_the_trail() -> None:
    """Every attempt was interrupted and none could be forgiven: there is no evidence to show."""
    plan = after(
        running("A1", max_attempts=1, max_probes=0, max_forgiven=0, max_winds=0),
        started("A1"),
        SessionInterrupted(atom=A1, nonce=1, cause=Cause.RUNNER_DIED),
    )
    assert decide(plan).stop == Stop(
        code=StopCode.ATOM_EXHAUSTED,
        reason="A1 has nothing left to try (without a word on why)",
    )


def test_an_orphan_on_a_buried_branch_is_put_back_too() -> None:
    plan = with_groups(
        with_atoms(running("G1{A1|A2}"), A1={"status": Status.IN_PROGRESS, "attempts": 1}),
        G1={"failed": (A1,), "selected": A2},
    )
    stopped = replace(
        plan,
        control=Control(status=RunStatus.STOPPED, run_id="01RUN"),
        limits=plan.limits.stating("max_atoms"),
    )
    decide(stopped)  # the view is there, and has to be patched
    again = after(stopped, RunStarted(run_id="02RUN"))
    assert again.atoms[A1].status is Status.PENDING
    assert again.control == Control(status=RunStatus.RUNNING, run_id="01RUN", revision=1)
    assert again.limits == stopped.limits


@pytest.mark.parametrize(
    ("mine", "taken", "meet"),
    [
        ("src/a.py", "src/a.py", True),
        ("src/a.py", "src", True),
        ("src/", "src/a.py", True),
        ("src", "src/", True),
        ("src", "srcs", False),
        ("src/a", "src/a.py", False),
        ("docs", "src", False),
    ],
)
def test_paths_meet_at_folders(mine: str, taken: str, meet: bool) -> None:
    assert overlapping((mine,), [taken]) is meet
    assert overlapping((taken,), [mine]) is meet


@pytest.mark.parametrize(
    ("limits", "because"),
    [
        ({"max_wall_seconds": 9}, "9 s of running are spent (max_wall_seconds)"),
        ({"max_cost_usd": 0.5}, "0.5 USD are spent (max_cost_usd)"),
        ({"max_tokens": 7}, "7 tokens are spent (max_tokens)"),
        (
            {"max_stall_count": 2, "max_winds": 0},
            "generations in a row that got nowhere: 2 (max_stall_count)",
        ),
    ],
)
def test_a_spent_budget_starts_nothing_and_lets_sessions_end(
    limits: dict[str, float], because: str
) -> None:
    ready = with_atoms(running("A1 A2", max_parallel_agents=2, **limits), A2={"attempts": 2})
    busy = after(ready, started("A1"))
    spent = replace(
        busy,
        spent=replace(busy.spent, seconds=9.0, usd=0.5, tokens=7),
        control=replace(busy.control, stall_count=2),
    )
    assert decide(spent) == Decision(plan=spent, because=f"{because}; running sessions may end")


def test_a_report_counts_only_for_the_run_that_it_belongs_to() -> None:
    """The nonce fits by chance, as two runs both have a first session."""
    busy = replace(
        after(running("A1"), started("A1")), control=Control(status=RunStatus.RUNNING, run_id="02")
    )
    other = after(busy, AtomResolved(atom=A1, nonce=1, run="01", summary="from another run"))
    assert (other.atoms, other.bindings, other.sessions) == (busy.atoms, {}, busy.sessions)
    mine = after(busy, AtomResolved(atom=A1, nonce=1, run="02", summary="from this one"))
    assert mine.bindings == {A1: Binding(summary="from this one")}


@pytest.mark.parametrize(
    ("mine", "taken", "meet"),
    [
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "docs/a.md", False),
        ("*.py", "docs/a.md", True),
        ("src/a[12].py", "src/b.py", True),
        ("src/api/?.py", "src/web", False),
        ("./src", "src/a.py", True),
    ],
)
def test_a_glob_meets_whatever_it_might_name(mine: str, taken: str, meet: bool) -> None:
    assert overlapping((mine,), [taken]) is meet
