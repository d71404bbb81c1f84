"""Ways that a wind opens: what was called infeasible, another choice, and what it loses."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from tests.kernel.story import (
    after,
    calm,
    refusal,
    running,
    started,
    with_atoms,
    with_groups,
)

from dwindle.kernel import winds
from dwindle.kernel.actions import Backjump, BeginWind, FailChoice, Probe, Work
from dwindle.kernel.decide import decide
from dwindle.kernel.events import (
    AtomResolved,
    Backjumped,
    ChoiceFailed,
    DeclaredInfeasible,
    ProbeEnded,
    WindBegan,
)
from dwindle.kernel.model import (
    Atom,
    AtomId,
    Decomposition,
    Dispatch,
    GroupId,
    OrGroup,
    Plan,
    Role,
    Spent,
    Status,
)

A1, A2, A3, A4 = (AtomId(f"A{n}") for n in (1, 2, 3, 4))
G1, G2 = GroupId("G1"), GroupId("G2")
DONE = {"status": Status.RESOLVED, "attempts": 1}
BEGIN = WindBegan(reason="r", at="now")


# --- what was called infeasible -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "called", "infeasible"),
    [
        ("A1", ("A1",), True),
        ("A1", (), False),
        ("A1[A2 A3]", ("A3",), True),
        ("A1[A2 A3]", (), False),
        ("A1[G1{A2|A3}]", ("A2",), False),
        ("A1[G1{A2|A3}]", ("A2", "A3"), True),
        ("A1[G1{A2[A4 A5]|A3}]", ("A5", "A3"), True),
        ("A1[G1{A2|A3?}]", ("A2",), False),
    ],
)
def test_a_node_is_infeasible_when_one_of_its_parts_or_all_its_choices_are(
    text: str, called: tuple[str, ...], infeasible: bool
) -> None:
    plan = with_atoms(calm(text), **{name: {"infeasible": "no"} for name in called})
    assert winds.is_infeasible(plan, "A1") is infeasible


def test_a_wind_reopens_no_infeasible_way() -> None:
    plan = with_groups(
        with_atoms(
            calm("G1{A1|A2|A3}"), A1={"infeasible": "no", "attempts": 1}, A3={"attempts": 1}
        ),
        G1={"failed": (A1, A2), "selected": A3},
    )
    begun = after(plan, BEGIN)
    assert begun.groups[G1] == OrGroup(id=G1, choices=(A1, A2, A3), selected=A3, failed=(A1,))
    assert begun.atoms[A1] == plan.atoms[A1]


def test_what_was_called_infeasible_is_asked_about_once() -> None:
    plan = after(
        running("A1", max_attempts=2, max_atoms=0, max_winds=3),
        started("A1"),
        DeclaredInfeasible(atom=A1, nonce=1, reason="gone"),
    )
    known = Atom(id=A1, description="A1", attempts=2, infeasible="gone")
    assert plan.atoms[A1] == known
    asking = after(plan, BEGIN)
    assert asking.atoms[A1] == replace(known, attempts=0, allowed=2)
    why = "A1 was called infeasible; a probe is asked whether it still is"
    assert decide(asking).actions == (Probe(atom=A1, because=why),)
    assert refusal(asking, started("A1")) == (
        "SessionStarted: A1 was called infeasible; only a probe may look at it"
    )
    asked = after(asking, started("A1", Role.PROBE))
    nonce = asked.sessions[A1].nonce
    closed = after(asked, DeclaredInfeasible(atom=A1, nonce=nonce, reason="still gone"))
    assert closed.atoms[A1] == replace(
        known, allowed=2, attempts=2, probes=1, infeasible="still gone"
    )
    assert winds.is_due(closed) is False
    opened = after(asked, ProbeEnded(atom=A1, nonce=nonce, findings="it is back"))
    assert opened.atoms[A1] == Atom(id=A1, description="A1", allowed=2, probes=1)
    assert decide(opened).actions == (
        Work(atom=A1, because="A1 failed once before; another approach is needed"),
    )


def test_an_atom_called_infeasible_anew_is_probed_anew() -> None:
    """A wind granted it four attempts; that it cannot be done is news, and forgets the grant."""
    granted = with_atoms(running("A1", max_winds=3), A1={"allowed": 4, "attempts": 1})
    plan = after(granted, started("A1"), DeclaredInfeasible(atom=A1, nonce=1, reason="gone"))
    assert plan.atoms[A1] == Atom(id=A1, description="A1", attempts=3, infeasible="gone")


def test_a_probe_that_is_not_needed_any_more_clears_nothing() -> None:
    """Its race was won meanwhile."""
    plan = after(
        with_atoms(
            running("G1~{A1|A2}", dispatch=Dispatch.REFILL),
            A1={"probe": True},
            A2={"infeasible": "gone", "allowed": 1},
        ),
        started("A1", Role.PROBE),
        started("A2", Role.PROBE),
        ProbeEnded(atom=A1, nonce=1, findings="f"),
        started("A1"),
        AtomResolved(atom=A1, nonce=4, summary="s"),
        ProbeEnded(atom=A2, nonce=2, findings="it works"),
    )
    assert plan.atoms[A2] == Atom(
        id=A2, description="A2", or_group=G1, infeasible="gone", allowed=1, probes=1
    )


# --- another way ----------------------------------------------------------------------------------


def test_a_choice_that_waits_for_what_is_parked_makes_way() -> None:
    plan = with_groups(
        with_atoms(
            calm("G1{A1|A2<-A3} A3"), A1={"attempts": 1}, A3={"attempts": 1, "infeasible": "gone"}
        ),
        G1={"failed": (A1,), "selected": A2},
    )
    assert after(plan, BEGIN).groups == {G1: OrGroup(id=G1, choices=(A1, A2), selected=A1)}


@pytest.mark.parametrize("done", [False, True])
def test_a_choice_of_which_something_is_done_makes_no_way(done: bool) -> None:
    """A5 waits for A3, which cannot be done; if A4 beside it is done, A2 is kept and nothing helps.

    In a second group nothing can be taken: its other choice has failed for good.
    """
    a4: dict[str, Any] = DONE if done else {"attempts": 1, "infeasible": "gone"}
    plan = with_groups(
        with_atoms(
            calm("G1{A1|A2[A4 A5<-A3]} A3 G2{A6|A7<-A3}"),
            A1={"attempts": 1},
            A3={"attempts": 1, "infeasible": "gone"},
            A4=a4,
            A6={"attempts": 1, "infeasible": "gone"},
        ),
        G1={"failed": (A1,), "selected": A2},
        G2={"failed": (AtomId("A6"),), "selected": AtomId("A7")},
    )
    assert winds.would_help(plan) is not done


def test_a_wind_may_help_by_way_of_a_backjump() -> None:
    """A3 cannot be done with A1; with A2, which failed by bad luck, it may be."""
    plan = with_groups(
        with_atoms(
            calm("A3<-G1 G1{A1|A2}"),
            A1=DONE,
            A2={"attempts": 1},
            A3={"attempts": 1, "infeasible": "not upon A1", "allowed": 1},
        ),
        G1={"failed": (A2,)},
    )
    assert decide(plan).actions == (BeginWind(because="only parked work is left: wind 1 of 3"),)
    begun = after(plan, BEGIN)
    turn = decide(begun).actions[0]
    assert isinstance(turn, Backjump)
    back = after(begun, Backjumped(group=G1, atom=A3, reason="r"))
    assert (back.groups[G1].selected, back.atoms[A3].infeasible) == (A2, None)


# --- commits that are lost ------------------------------------------------------------------------


def lossy(**limits: Any) -> Plan:
    """A1 has to make way for A2, and the work of A3 stands upon it."""
    plan = with_atoms(calm("A3 G1{A1|A2}", max_backjumps=1, **limits), A1={"attempts": 1}, A3=DONE)
    return replace(plan, spent=replace(plan.spent, backjumps=plan.limits.max_backjumps))


def test_a_wind_pays_for_a_switch_that_loses_commits() -> None:
    plan = lossy()
    loss = ChoiceFailed(group=G1, choice=A1, reason="red", unreplayed=(A3,))
    assert refusal(plan, loss) == (
        "ChoiceFailed: commits were lost and no backjump is left to pay for them"
    )
    begun = after(plan, BEGIN)
    assert begun.spent == Spent(created=3, winds=1)
    assert begun.atoms == plan.atoms  # A1 has to make way all the same
    assert isinstance(decide(begun).actions[0], FailChoice)
    lost = after(begun, loss)
    assert lost.spent == Spent(created=3, winds=1, backjumps=1)
    assert (lost.groups[G1].selected, lost.atoms[A3].status) == (A2, Status.PENDING)


def test_a_wind_pays_only_for_what_it_can_bring_back() -> None:
    assert winds.pays_for_switch(lossy()) is True
    assert winds.pays_for_switch(lossy(max_winds=0)) is False
    plan = lossy()
    assert winds.pays_for_switch(replace(plan, spent=Spent(created=3))) is False
    none = replace(plan, limits=replace(plan.limits, max_backjumps=0), spent=Spent(created=3))
    assert winds.pays_for_switch(none) is False  # a wind would bring none
    assert winds.pays_for_switch(with_atoms(plan, A1={"attempts": 0})) is False


def test_deep_plans_are_looked_at_without_recursion() -> None:
    plan = calm("G1{A1|A2}")
    names = [AtomId("A1"), *(AtomId(f"B{n}") for n in range(2500))]
    atoms = {n: Atom(id=n, description=n) for n in names[1:]}
    atoms[names[-1]] = replace(atoms[names[-1]], infeasible="no")
    made = tuple(
        Decomposition(parent=above, children=(below,), reason="smaller")
        for above, below in pairwise(names)
    )
    deep = replace(plan, atoms={**plan.atoms, **atoms}, decompositions=made)
    assert winds.is_infeasible(deep, "A1")
    assert not winds.is_infeasible(deep, "A2")


def test_a_wind_may_help_by_an_alternative_that_is_written_for_it() -> None:
    """A1 has come back, and below it A2 is infeasible: A3 is written once its turn has come."""
    plan = calm("G1{A1[G2{A2|A3?}]|A4}", max_atoms=1, max_probes=0, max_winds=1, max_attempts=1)
    closed = {"infeasible": "no", "allowed": 1, "attempts": 1}
    plan = with_atoms(plan, A2=closed, A4=closed)
    plan = with_groups(plan, G1={"failed": (AtomId("A1"),), "selected": AtomId("A4")})
    assert not winds.is_infeasible(plan, "A1")
    assert [type(a) for a in decide(plan).actions] == [BeginWind]


def test_the_ladder_comes_before_a_wind() -> None:
    plan = with_atoms(
        calm("A3 G1{A1|A2}", max_winds=1), A1={"attempts": 1}, A3={"status": Status.RESOLVED}
    )
    assert not winds.is_due(plan)
    assert "no wind may begin" in refusal(plan, WindBegan(reason="too early"))


def test_no_wind_pays_for_a_switch_where_it_brings_no_backjump() -> None:
    plan = with_atoms(
        calm("A3 G1{A1|A2}", max_winds=1, max_backjumps=0),
        A1={"attempts": 1},
        A3={"status": Status.RESOLVED},
    )
    assert not winds.pays_for_switch(plan)
