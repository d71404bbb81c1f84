"""What outlives a wind: the Trail, a person's word, and the file."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.kernel.story import (
    after,
    calm,
    redirect,
    refusal,
    started,
    unlucky_step,
    with_atoms,
    with_groups,
)

from dwindle.adapters.formats.graph.plan import GraphWriter, decode
from dwindle.kernel import winds
from dwindle.kernel.actions import BeginWind, Work
from dwindle.kernel.branches import last_decided
from dwindle.kernel.decide import decide
from dwindle.kernel.events import (
    ChangeObjective,
    ForceChoice,
    SessionInterrupted,
    SetLimit,
    WindBegan,
)
from dwindle.kernel.events import Interruption as Cause
from dwindle.kernel.graph import failures
from dwindle.kernel.measure import luby, measure
from dwindle.kernel.model import (
    Atom,
    AtomId,
    GroupId,
    Plan,
    Spent,
    Status,
    TrailEntry,
    TrailType,
)
from dwindle.kernel.problems import validate

A1, A2, A3, A4 = (AtomId(f"A{n}") for n in (1, 2, 3, 4))
G1, G2 = GroupId("G1"), GroupId("G2")
DONE = {"status": Status.RESOLVED, "attempts": 1}
BEGIN = WindBegan(reason="r", at="now")


# --- the Trail ------------------------------------------------------------------------------------


def test_the_trail_stays_short_over_fifty_winds_and_forgets_nothing_that_counts() -> None:
    """Failures are counted on the side, and so is the order in which groups were decided.

    Choices with more than one attempt take turns, so that it changes again and again.
    """
    plan = calm("G1{A1|A2} G2{A3|A4} A5", max_winds=50)
    counted: dict[str, int] = {}
    decided: list[GroupId] = []
    longest = changes = 0
    while plan.spent.winds < 50:
        action = decide(plan).actions[0]
        if isinstance(action, Work):
            counted[action.atom] = counted.get(action.atom, 0) + 1
        was, plan = plan.groups, unlucky_step(plan)
        if isinstance(action, BeginWind):
            longest = max(longest, len(plan.trail))
        for name, group in plan.groups.items():
            if group.selected != was[name].selected:
                changes += decided[-1:] != [name]
                decided = [*(g for g in decided if g != name), name]
        assert failures(plan) == counted
        assert sorted(decided, key=lambda g: last_decided(plan, g)) == decided
    often = 1 + sum(luby(number) for number in range(1, 50))
    assert counted == dict.fromkeys(("A1", "A3", "A5", "A2", "A4"), often)
    assert changes > 100
    # three failures of each atom, three switches of each group, three winds and the newest
    assert longest == 5 * 3 + 2 * 3 + 3 + 1
    assert [e.attempt for e in plan.trail if e.atom == A1] == [often - 2, often - 1, often]


def test_a_persons_word_on_a_choice_is_kept_beside_other_news_of_it() -> None:
    def entry(kind: TrailType, number: int, **about: Any) -> TrailEntry:
        return TrailEntry(type=kind, reason=str(number), timestamp="", **about)

    word = entry(TrailType.USER_CORRECTION, 0, atom=A2)
    chosen = entry(TrailType.CHOICE, 1, or_group=G1, selected=A1)
    red = tuple(entry(TrailType.FAILURE, 2 + n, atom=A2, attempt=n + 1) for n in range(5))
    assert winds.trail_within_bounds((word, chosen, *red)) == (word, chosen, *red[2:])


# --- a person, and a file -------------------------------------------------------------------------


def test_a_new_objective_gives_all_winds_back_and_forgets_what_they_granted() -> None:
    plan = replace(
        with_atoms(
            calm("G1{A1|A2} A3"),
            A1={"attempts": 1, "allowed": 2, "infeasible": "gone"},
            A3={"status": Status.RESOLVED, "attempts": 2, "allowed": 2},
        ),
        spent=Spent(created=3, winds=3),
    )
    anew = after(plan, redirect(ChangeObjective(goal="another")))
    assert anew.spent == Spent(created=3, redirects=1)
    assert anew.atoms[A1] == Atom(id=A1, description="A1", or_group=G1)
    assert anew.atoms[A3] == plan.atoms[A3]


def test_a_person_may_insist_on_what_was_called_infeasible() -> None:
    plan = with_groups(
        with_atoms(calm("G1{A1|A2}"), A1={"attempts": 1, "allowed": 1, "infeasible": "gone"}),
        G1={"failed": (A1,), "selected": A2},
    )
    plan = replace(plan, spent=Spent(created=2, winds=3))
    forced = after(plan, redirect(ForceChoice(group=G1, choice=A1)))
    assert forced.spent == Spent(created=2, winds=3, redirects=1)
    assert forced.atoms[A1] == Atom(id=A1, description="A1", or_group=G1, allowed=1)
    assert decide(forced).actions == (Work(atom=A1, because="A1 depends on nothing that is open"),)


def test_a_redirect_that_raises_the_attempts_raises_those_of_a_wind_too() -> None:
    plan = with_atoms(calm("A1 A2 A3"), A1={"allowed": 2, **DONE}, A2={"allowed": 6, **DONE})
    raised = after(plan, redirect(SetLimit(name="max_attempts", value=4)))
    assert [a.allowed for a in raised.atoms.values()] == [4, 6, None]


def test_winds_are_not_lowered_below_what_is_spent() -> None:
    plan = replace(calm("A1"), spent=Spent(created=1, winds=2))
    assert refusal(plan, redirect(SetLimit(name="max_winds", value=1))) == (
        "Redirected: max_winds cannot be 1: 2 is taken already"
    )
    lowered = after(plan, redirect(SetLimit(name="max_winds", value=2)))
    assert (lowered.limits.max_winds, measure(lowered).winds) == (2, 0)


def test_a_run_that_is_killed_in_a_wind_goes_on_where_it_was() -> None:
    """The file holds all that matters: each step from it is the step from memory."""
    plan = calm("G1{A1|A2} A3<-G1 A4", max_winds=2)
    kinds = []
    while (decision := decide(plan)).stop is None:
        again = saved(plan)
        assert decide(again).actions == decision.actions
        kinds.append(type(decision.actions[0]))
        plan = unlucky_step(again if len(kinds) % 2 else plan)
    assert kinds.count(BeginWind) == 2
    assert decide(saved(plan)).stop == decision.stop


def test_a_session_that_died_in_a_wind_is_forgiven_as_ever() -> None:
    plan = after(with_atoms(calm("A1"), A1={"attempts": 1}), BEGIN, started("A1"))
    again = saved(plan)
    nonce = again.sessions[A1].nonce
    back = after(again, SessionInterrupted(atom=A1, nonce=nonce, cause=Cause.RUNNER_DIED))
    assert back.atoms == {A1: Atom(id=A1, description="A1", allowed=1)}
    assert decide(back).actions == (Work(atom=A1, because="A1 depends on nothing that is open"),)


def saved(plan: Plan) -> Plan:
    decoded = decode(GraphWriter(b"").encode(plan))
    assert decoded.problems == ()
    assert decoded.plan is not None
    assert [p.what for p in validate(decoded.plan)] == []
    return decoded.plan


def test_a_file_without_a_word_on_winds_reads_as_before() -> None:
    plan = with_atoms(calm("A1 A2"), A1=DONE, A2={"attempts": 1})
    before = replace(plan, limits=replace(plan.limits, max_winds=15))
    written = GraphWriter(b"").encode(before)
    assert [word for word in (b"wind", b"allowed", b"infeasible") if word in written] == []
    read = decode(written).plan
    assert read is not None
    assert (read.limits.max_winds, read.spent.winds, read.atoms) == (15, 0, before.atoms)
