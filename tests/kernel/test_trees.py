"""A tree is a plan without dependencies, choices, redirects or verification rounds."""

from __future__ import annotations

from dataclasses import replace

from tests.kernel.story import after, refusal, running, started, with_atoms

from dwindle.kernel.actions import Decision, Probe, Stop, Work
from dwindle.kernel.decide import decide
from dwindle.kernel.events import AtomResolved, AttemptFailed, Decomposed, NewAtom, RunEnded
from dwindle.kernel.explain import waiting as waiting_of
from dwindle.kernel.measure import measure
from dwindle.kernel.model import (
    AtomId,
    BaseCase,
    Binding,
    Control,
    Plan,
    PlanKind,
    Role,
    RunStatus,
    Status,
    StopCode,
)

A2, A3 = AtomId("A2"), AtomId("A3")


def tree(text: str, **limits: int) -> Plan:
    given = {
        "max_parallel_agents": 1,
        "max_verifications": 0,
        "max_redirects": 0,
        "max_backjumps": 0,
        "max_winds": 0,
        "max_probes": 3,
        **limits,
    }
    plan = running(text, **given)
    return replace(
        plan, kind=PlanKind.TREE, objective=replace(plan.objective, base_case=BaseCase())
    )


def test_the_leftmost_open_leaf_is_next() -> None:
    plan = tree("A1[A2 A3]")
    assert decide(plan) == Decision(
        plan=plan, actions=(Work(atom=A2, because="A2 is the leftmost open leaf; attempt 1"),)
    )
    assert waiting_of(decide(plan)) == {
        "A1": "it is done when A2, A3 are",
        "A3": "it is ready and waits for a free slot, or for atoms that touch the same files",
    }


def test_a_tree_is_done_when_its_last_leaf_passes() -> None:
    """No round verifies it: the guard was green, or the leaf would not have passed."""
    plan = after(
        tree("A1[A2 A3]"),
        started("A2"),
        AtomResolved(atom=A2, nonce=1, summary="two"),
        started("A3"),
        AtomResolved(atom=A3, nonce=3, summary="three"),
    )
    stop = Stop(code=StopCode.COMPLETED, reason="every leaf of the tree passed")
    assert decide(plan) == Decision(plan=plan, stop=stop, because=stop.reason)
    ended = after(plan, RunEnded(code=stop.code, reason=stop.reason))
    assert ended.control == Control(
        status=RunStatus.COMPLETED,
        iteration=2,
        prev_pending_count=0,
        stop_code=StopCode.COMPLETED,
        stop_reason=stop.reason,
        revision=5,
    )
    assert ended.bindings == {
        A2: Binding(summary="two"),
        A3: Binding(summary="three"),
        AtomId("A1"): Binding(summary="Completed via A2, A3 resolution"),
    }


def test_an_exhausted_leaf_is_planned_anew() -> None:
    failed = after(
        tree("A1[A2 A3]", max_attempts=1),
        started("A2"),
        AttemptFailed(atom=A2, nonce=1, reason="the guard is red"),
    )
    because = "A2 has used up its attempts; it has to be split or replaced"
    assert decide(failed).actions == (Probe(atom=A2, plan=True, because=because),)
    split = after(
        failed,
        started("A2", Role.PROBE),
        Decomposed(atom=A2, nonce=3, children=(NewAtom(description="part"),), reason="smaller"),
    )
    assert [d.children for d in split.decompositions] == [("A2", "A3"), ("A4",)]
    assert split.atoms[A2].status is Status.PENDING
    assert (measure(failed).fuel, measure(split).fuel) == (5, 4)


def test_trees_do_not_stall() -> None:
    tired = with_atoms(running("A1", max_winds=0, max_stall_count=2), A1={"attempts": 2})
    stalled = replace(tired, control=Control(status=RunStatus.RUNNING, stall_count=9))
    assert decide(stalled).stop == Stop(
        code=StopCode.STALLED, reason="generations in a row that got nowhere: 9 (max_stall_count)"
    )
    work = Work(atom=AtomId("A1"), because="A1 is the leftmost open leaf; attempt 3")
    grown = replace(stalled, kind=PlanKind.TREE)
    assert decide(grown) == Decision(plan=grown, actions=(work,))


def test_a_tree_that_is_done_starts_nothing_more() -> None:
    done = after(tree("A1"), started("A1"), AtomResolved(atom=AtomId("A1"), nonce=1, summary="s"))
    assert refusal(done, started("A1")) == "SessionStarted: the base case holds already"
