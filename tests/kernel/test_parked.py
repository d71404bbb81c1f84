"""What is parked, what is said of it, and who goes first among those that are not."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from tests.kernel.story import after, calm, running, started, with_atoms, with_groups

from dwindle.kernel import winds
from dwindle.kernel.actions import Probe, Stop, Work
from dwindle.kernel.decide import MOST_EXPLAINED, MOST_NAMED, REASON_CHARACTERS, decide, in_order
from dwindle.kernel.events import AtomResolved, AttemptFailed
from dwindle.kernel.explain import waiting as waiting_of
from dwindle.kernel.graph import build, chain_behind, failures, view
from dwindle.kernel.model import (
    AtomId,
    BaseCase,
    GroupId,
    Plan,
    PlanKind,
    Spent,
    Status,
    StopCode,
    TrailEntry,
    TrailType,
)
from dwindle.kernel.winds import Parked

A1, A2, A3, A4 = (AtomId(f"A{n}") for n in (1, 2, 3, 4))
G1 = GroupId("G1")
DONE = {"status": Status.RESOLVED, "attempts": 1}
USED: dict[str, Any] = {"attempts": 1}


def red(atom: str, reason: str = "red", attempt: int | None = None) -> TrailEntry:
    return TrailEntry(
        type=TrailType.FAILURE, atom=AtomId(atom), attempt=attempt, reason=reason, timestamp=""
    )


# --- what is parked ------------------------------------------------------------------------------


def test_what_is_parked_is_told_with_all_that_waits_for_it() -> None:
    """A6 waits for A1 by its parent; A7 is done, and A9 stands on a way that is not taken."""
    plan = with_atoms(
        calm("A1 A2<-A1 A4[A5 A6]<-A2 A7 G1{A8|A9<-A1}", max_winds=0), A1=USED, A7=DONE, A8=DONE
    )
    plan = replace(plan, trail=(red("A1", "blue"), red("A1"), red("A5", "green")))
    held = tuple(AtomId(n) for n in ("A2", "A4", "A5", "A6"))
    assert winds.parked(plan) == (Parked(name="A1", choice=None, reason="red", holds_up=held),)


def test_an_atom_that_may_be_probed_or_has_another_way_is_not_parked() -> None:
    assert winds.parked(with_atoms(calm("A1"), A1=USED)) == (
        Parked(name="A1", choice=None, reason="", holds_up=()),
    )
    assert winds.parked(with_atoms(calm("A1", max_probes=1), A1=USED)) == ()
    assert winds.parked(with_atoms(calm("G1{A1|A2}"), A1=USED)) == ()
    assert winds.parked(with_atoms(calm("A1"), A1={"infeasible": "gone"})) == (
        Parked(name="A1", choice=None, reason="gone", holds_up=()),
    )


def test_a_dead_group_is_parked_under_its_own_name() -> None:
    plan = with_groups(calm("G1{A1|A2} A3<-G1", max_winds=0), G1={"failed": (A1, A2)})
    plan = replace(plan, trail=(red("A3", "elsewhere"), red("A1", "first"), red("A2", "second")))
    assert winds.parked(plan) == (
        Parked(name="G1", choice=(G1, A1), reason="second", holds_up=(A3,)),
    )
    assert decide(plan).stop == Stop(
        code=StopCode.OR_EXHAUSTED,
        reason="every choice of G1 has failed (A1: first, A2: second; it holds up A3); "
        "at least 2 combinations of choices tried",
    )


def test_what_is_parked_inside_and_outside_of_choices_ends_as_an_atom() -> None:
    plan = with_groups(
        with_atoms(calm("G1{A1|A2} A3", max_winds=0), A2=USED, A3=USED),
        G1={"failed": (A1,), "selected": A2},
    )
    inside = with_atoms(plan, A3=DONE)
    codes = [stop.code for p in (plan, inside) if (stop := decide(p).stop) is not None]
    assert codes == [StopCode.ATOM_EXHAUSTED, StopCode.OR_EXHAUSTED]


def test_of_many_that_are_parked_those_that_hold_up_most_are_told_and_some_others_named() -> None:
    """A15 holds up two atoms and A9 one; the others hold up none and come in file order."""
    text = " ".join(f"A{n}" for n in range(1, 16)) + " A16<-A15 A17<-A15 A18<-A9"
    plan = with_atoms(calm(text, max_winds=0), **{f"A{n}": USED for n in range(1, 16)})
    told = {"A15": "; it holds up A16, A17", "A9": "; it holds up A18", "A1": ""}
    assert len(told) == MOST_EXPLAINED
    named = [f"A{n}" for n in range(2, 15) if n != 9]
    assert decide(plan).because == "; ".join(
        [
            *(f"{n} has nothing left to try (without a word on why{h})" for n, h in told.items()),
            f"nor have {', '.join(named[:MOST_NAMED])} and 2 more",
        ]
    )
    fewer = with_atoms(calm("A1 A2 A3 A4", max_winds=0), **{f"A{n}": USED for n in range(1, 5)})
    assert decide(fewer).because.endswith("; nor has A4")


def test_why_each_way_was_given_up_is_told_also_of_ways_that_have_parts() -> None:
    plan = with_groups(
        with_atoms(calm("G1{A1[A4 A5]|A2|A3}", max_winds=0), A3=USED),
        G1={"failed": (A1, A2), "selected": A3},
    )
    plan = replace(plan, trail=(red("A5", "no ink"), red("A2", "no pen"), red("A3", "no paper")))
    assert winds.given_up(plan, G1) == ((A1, "no ink"), (A2, "no pen"))
    assert decide(plan).because == (
        "A3 has nothing left to try (last: no paper; G1 gave up A1: no ink, A2: no pen); "
        "at least 3 combinations of choices tried"
    )


def test_a_long_reason_is_cut_and_so_is_a_long_list_of_those_that_wait() -> None:
    text = " ".join(["A1", *(f"A{n}<-A1" for n in range(2, 14))])
    plan = with_atoms(calm(text, max_winds=0), A1=USED)
    plan = replace(plan, trail=(red("A1", "x" * (REASON_CHARACTERS + 1)),))
    held = ", ".join(f"A{n}" for n in range(2, 12))
    assert decide(plan).because == (
        f"A1 has nothing left to try (last: {'x' * REASON_CHARACTERS} [...]; "
        f"it holds up {held} and 2 "
        "more)"
    )
    fits = replace(plan, trail=(red("A1", "x" * REASON_CHARACTERS),))
    assert f"(last: {'x' * REASON_CHARACTERS}; it" in decide(fits).because


def test_winds_that_were_used_are_told_at_the_end() -> None:
    plan = replace(with_atoms(calm("A1"), A1=USED), spent=Spent(created=1, winds=3))
    assert decide(plan).because == (
        "A1 has nothing left to try (without a word on why); 3 of 3 winds used"
    )


def test_without_a_round_and_a_wind_nothing_is_started() -> None:
    plan = calm("A1", max_verifications=1, max_winds=0)
    plan = replace(plan, spent=Spent(created=1, verifications=1))
    assert winds.startable(plan) == ()
    assert decide(plan).stop == Stop(
        code=StopCode.VERIFICATION_EXHAUSTED,
        reason="no verification round is left, so nothing could be completed",
    )


def test_a_tree_skips_a_leaf_for_which_nothing_is_left() -> None:
    plan = running("root[A1 A2 A3]", max_probes=1, max_winds=0, max_parallel_agents=1)
    plan = with_atoms(plan, A1={"attempts": 3, "probes": 1}, A2={"attempts": 2})
    tree = replace(plan, kind=PlanKind.TREE)
    assert decide(tree).actions == (
        Work(atom=A2, because="A2 is the leftmost open leaf; attempt 3"),
    )
    spent = with_atoms(tree, A2={"attempts": 3, "probes": 1}, A3={"attempts": 3, "probes": 1})
    spent = replace(spent, objective=replace(spent.objective, base_case=BaseCase()))
    told = "has nothing left to try (why is in the logs of its iterations)"
    assert decide(spent).stop == Stop(
        code=StopCode.ATOM_EXHAUSTED,
        reason=f"A1 {told}; A2 {told}; A3 {told}; attempts and planning sessions are used up",
    )


def test_a_parked_atom_says_so_and_the_others_that_they_wait_for_a_slot() -> None:
    plan = replace(
        with_atoms(calm("A1 A2 A3 A4"), A1=USED, A4={"infeasible": "gone", "attempts": 1}),
        trail=(red("A1", "the disk is full"),),
    )
    assert waiting_of(decide(plan)) == {
        "A1": "it is parked: nothing is left to try for now (last: the disk is full)",
        "A3": "it is ready and waits for a free slot, or for atoms that touch the same files",
        "A4": "it is parked: nothing is left to try for now (last: gone)",
    }
    silent = with_atoms(calm("A1 A2"), A1=USED)
    assert waiting_of(decide(silent)) == {"A1": "it is parked: nothing is left to try for now"}


# --- who goes first ------------------------------------------------------------------------------


def order(plan: Plan) -> list[str]:
    return [atom.id for atom in in_order(plan, winds.startable(plan))]


def test_fewer_failures_then_longer_chains_then_the_order_of_the_file() -> None:
    plan = running("A1 A2 A3 A4<-A3 A5 A6<-A5 A7<-A6 A8")
    assert order(plan) == ["A5", "A3", "A1", "A2", "A8"]
    failed = replace(plan, trail=(red("A5"), red("A1"), red("A1"), red("A2")))
    assert order(failed) == ["A3", "A8", "A5", "A2", "A1"]


def test_without_failures_or_dependencies_the_file_has_the_word() -> None:
    plan = running("A3 A1 A2")
    backwards = replace(plan, atoms=dict(reversed(list(plan.atoms.items()))))
    assert order(backwards) == ["A3", "A2", "A1"]


def test_a_tree_is_taken_from_the_left_whatever_failed() -> None:
    plan = replace(running("A1 A2"), kind=PlanKind.TREE, trail=(red("A1"),))
    assert order(plan) == ["A1", "A2"]


def test_atoms_take_turns() -> None:
    plan = running("A1 A2", max_parallel_agents=1, max_attempts=2)
    turns = []
    for _ in range(4):
        (action,) = decide(plan).actions
        assert isinstance(action, Work)
        turns.append(action)
        plan = after(plan, started(action.atom))
        nonce = plan.sessions[action.atom].nonce
        plan = after(plan, AttemptFailed(atom=action.atom, nonce=nonce, reason="red"))
    fresh = "depends on nothing that is open"
    assert turns == [
        Work(atom=A1, because=f"A1 {fresh}"),
        Work(atom=A2, because=f"A2 {fresh}"),
        Work(atom=A1, because="A1 failed once before; another approach is needed"),
        Work(atom=A2, because="A2 failed once before; another approach is needed"),
    ]
    why = "A1 has used up its attempts; a probe may find another way"
    assert decide(plan).actions == (Probe(atom=A1, plan=True, because=why),)


@pytest.mark.parametrize(
    ("trail", "said"),
    [
        ((), "A1 was begun before; once more"),
        ((red("A1"),), "A1 failed once before"),
        ((red("A1"), red("A1")), "A1 failed twice before"),
        ((red("A1"), red("A1"), red("A1")), "A1 failed 3 times before"),
    ],
)
@pytest.mark.parametrize(("text", "behind"), [("A1", ""), ("A1 A2<-A1", "; chain of 1 behind it")])
def test_what_is_tried_once_more_says_how_often_it_failed(
    trail: tuple[TrailEntry, ...], said: str, text: str, behind: str
) -> None:
    plan = replace(with_atoms(running(text), A1={"attempts": 1}), trail=trail)
    assert decide(plan).actions == (Work(atom=A1, because=f"{said}{behind}"),)


def test_failures_are_counted_as_the_trail_tells_them() -> None:
    """An old Trail has no numbers, or those of attempts that were given back meanwhile."""
    plan = running("A1 A2")
    assert failures(plan) == {}
    other = TrailEntry(type=TrailType.USER_CORRECTION, atom=A1, reason="r", timestamp="")
    no_atom = TrailEntry(type=TrailType.FAILURE, reason="r", timestamp="")
    unnumbered = replace(plan, trail=(red("A1"), other, red("A2"), no_atom, red("A1")))
    assert failures(unnumbered) == {"A1": 2, "A2": 1}
    again = replace(plan, trail=(red("A1", attempt=1), red("A1", attempt=2), red("A1", attempt=1)))
    assert failures(again) == {"A1": 3}
    shortened = replace(plan, trail=(red("A1", attempt=7), red("A1", attempt=8)))
    assert failures(shortened) == {"A1": 8}


# --- the chain behind ----------------------------------------------------------------------------


def behind(plan: Plan) -> dict[str, int]:
    return {name: chain_behind(view(plan), name) for name in plan.atoms}


@pytest.mark.parametrize(
    ("text", "lengths"),
    [
        ("A1", [0]),
        ("A1 A2<-A1 A3<-A2", [2, 1, 0]),
        ("A1 A2<-A1 A3<-A1 A4<-A3", [2, 0, 1, 0]),
        # a composite is as long as what is in it, and an atom that waits for it waits for all of it
        ("A1 A2[A3 A4<-A3]<-A1 A5<-A2", [3, 1, 2, 1, 0]),
        # a part that is done leads to the atoms that wait for the whole
        ("A1[A2 A3] A4<-A1", [1, 1, 1, 0]),
        # of a group only the choice in force counts, and the atoms that wait for the group
        ("G1{A1|A2} A3<-G1", [1, 1, 0]),
        ("A1 G1{A2<-A1|A3[A4 A5<-A4]<-A1} A6<-G1", [2, 1, 1, 1, 1, 0]),
        # a race counts with its longest way
        ("A1 G1~{A2<-A1|A3[A4 A5<-A4]<-A1} A6<-G1", [3, 1, 1, 2, 1, 0]),
    ],
)
def test_the_chain_behind_an_atom(text: str, lengths: list[int]) -> None:
    plan = running(text)
    names = [f"A{n}" for n in range(1, len(lengths) + 1)]
    assert behind(plan) == dict(zip(names, lengths, strict=True))


def test_a_chain_of_five_thousand_is_followed_to_its_end() -> None:
    text = " ".join(["A1", *(f"A{n}<-A{n - 1}" for n in range(2, 5001)), "A6000"])
    plan = running(text, max_parallel_agents=1)
    assert chain_behind(view(plan), "A1") == 4999
    assert decide(plan).actions == (
        Work(atom=A1, because="A1 depends on nothing that is open; chain of 4999 behind it"),
    )


def test_many_that_wait_for_each_other_in_layers_are_counted_once() -> None:
    """Thirty layers of ten: the number of paths is 10^30."""
    layers = [[f"A{10 * row + n}" for n in range(1, 11)] for row in range(30)]
    words = list(layers[0])
    for above, layer in pairwise(layers):
        words += [f"{name}<-{','.join(above)}" for name in layer]
    plan = running(" ".join(words))
    assert [behind(plan)[layer[0]] for layer in layers] == list(range(29, -1, -1))


def test_what_is_known_of_chains_stays_while_atoms_are_worked_on() -> None:
    """The view is patched, and says what one that is built anew says."""
    plan = running("A1 A2<-A1 A3<-A2 A4")
    assert behind(plan) == {"A1": 2, "A2": 1, "A3": 0, "A4": 0}
    later = after(plan, started("A1"), AtomResolved(atom=A1, nonce=1, summary="s"))
    assert view(later).tails is view(plan).tails
    fresh = build(later, view(later).shape)
    assert [chain_behind(fresh, n) for n in later.atoms] == list(behind(later).values())


def test_a_circle_behind_an_atom_has_an_end() -> None:
    """Only a plan that is not valid has one; a decision about it must not run for ever."""
    plan = running("A3 A4 A1<-A3,A2 A2<-A1")
    assert chain_behind(view(plan), "A3") > 0
    assert chain_behind(view(plan), "A4") == 0
