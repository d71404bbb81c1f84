"""A leaf without attempts is given another goal: it begins anew, and pays a planning session.

The last test looks at every way in which a small tree can go: agents rewrite all leaves in every
session, and still it ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from tests.kernel.story import started
from tests.kernel.test_tree_edits import LIMITS, ROOT, A, B, edit, failed, next_step, tree

from dwindle.kernel.actions import Probe, Work
from dwindle.kernel.decide import decide
from dwindle.kernel.errors import IllegalEvent
from dwindle.kernel.events import (
    AtomResolved,
    AttemptFailed,
    Event,
    Replanned,
    SessionStarted,
)
from dwindle.kernel.measure import gauge, measure, session_bound
from dwindle.kernel.model import AtomId, Limits, Plan, Role, Status, TreeEdit
from dwindle.kernel.transitions import apply

LEAVES = edit({"a": {}, "b": {}})


def rewriting(*names: str, of: TreeEdit = LEAVES) -> TreeEdit:
    return replace(of, rewritten=tuple(map(AtomId, names)))


def spent(limits: Limits = LIMITS) -> Plan:
    """Of two leaves, the first has failed twice of two times."""
    plan = tree({"a": {}, "b": {}}, limits=limits)
    return failed(failed(plan, "a"), "a")


def rewritten(plan: Plan, atom: str, role: Role, change: TreeEdit) -> Plan:
    begun = apply(plan, started(atom, role))
    return apply(begun, Replanned(atom=AtomId(atom), nonce=begun.control.revision, edit=change))


def counts(plan: Plan, name: AtomId) -> tuple[int, int]:
    return plan.atoms[name].attempts, plan.atoms[name].probes


def test_a_leaf_that_is_rewritten_in_its_planning_session_can_be_worked_on_again() -> None:
    plan = spent()
    assert next_step(plan) == (Probe, "a")
    again = rewritten(plan, "a", Role.PROBE, rewriting("a"))
    assert counts(again, A) == (0, 1)
    assert next_step(again) == (Work, "a")
    assert measure(again).backjumps == measure(plan).backjumps - 1


def test_another_nodes_session_pays_with_one_that_is_left() -> None:
    plan = spent()
    again = rewritten(plan, "b", Role.WORKER, rewriting("a"))
    assert (counts(again, A), counts(again, B)) == ((0, 1), (0, 1))
    repaired = failed(plan, "b", refused=True)
    repaired = rewritten(repaired, "root", Role.PROBE, rewriting("a"))
    assert (counts(repaired, A), counts(repaired, ROOT)) == ((0, 1), (0, 1))


def test_with_nothing_left_to_pay_it_stays_as_it_was() -> None:
    plan = spent()
    for number in (1, 2, 3):
        plan = failed(plan, "a", Role.PROBE)
        assert counts(plan, A) == (2 + number, number)
    assert counts(rewritten(plan, "b", Role.WORKER, rewriting("a")), A) == (5, 3)


def test_a_planning_session_that_failed_has_paid_all_the_same() -> None:
    assert counts(failed(spent(), "a", Role.PROBE, edit=rewriting("a")), A) == (0, 1)


def test_the_session_that_used_the_last_attempt_may_rewrite_it() -> None:
    plan = failed(tree({"a": {}, "b": {}}), "a")
    assert counts(failed(plan, "a", edit=rewriting("a")), A) == (0, 1)


def test_a_repair_that_failed_pays_with_a_planning_session_of_the_root() -> None:
    """It used the root's last attempt, and no planning session."""
    plan = failed(tree({}, execute_root=True), "root", refused=True)
    again = failed(plan, "root", Role.PROBE, edit=rewriting("root", of=edit({})))
    assert counts(again, ROOT) == (0, 1)


@pytest.mark.parametrize("name", ["root", "a", "b"])
def test_what_has_attempts_or_children_or_passed_begins_no_second_time(name: str) -> None:
    plan = failed(tree({"a": {}, "b": {}}), "a")
    begun = apply(plan, started("b"))
    plan = apply(begun, AtomResolved(atom=B, nonce=begun.control.revision, summary="green"))
    node = AtomId(name)
    before = counts(plan, node)
    after = rewritten(plan, "a", Role.WORKER, rewriting(name))
    assert counts(after, node) == (before if name != "a" else (1, 1))


def test_what_passed_has_failed_as_often_as_it_failed() -> None:
    plan = failed(tree({"a": {}, "b": {}}), "a")
    begun = apply(plan, started("a"))
    done = apply(begun, AtomResolved(atom=A, nonce=begun.control.revision, summary="green"))
    assert (done.atoms[A].status, done.atoms[A].attempts) == (Status.RESOLVED, 1)


def test_agents_that_rewrite_everything_in_every_session_come_to_an_end() -> None:
    limits = replace(LIMITS, max_attempts=1, max_probes=2, max_atoms=3, max_forgiven=0)
    first = tree({"a": {}, "b": {}}, limits=limits, execute_root=True)
    atoms = {n: replace(a, max_attempts=1) for n, a in first.atoms.items()}
    waiting, known = [replace(first, atoms=atoms)], set()
    while waiting:
        plan = waiting.pop()
        decision = decide(plan)
        if decision.stop is not None:
            continue
        (action,) = decision.actions
        assert isinstance(action, (Work, Probe))
        role = Role.WORKER if isinstance(action, Work) else Role.PROBE
        begun = dwindled(plan, SessionStarted(atom=action.atom, role=role))
        for event in ends(begun, action.atom):
            try:
                after = dwindled(begun, event)
            except IllegalEvent:
                continue
            key = (*after.atoms.values(), after.refused_edits, after.spent.created, measure(after))
            if key not in known:
                known.add(key)
                waiting.append(after)
    assert len(known) > 100


def ends(plan: Plan, atom: AtomId) -> Iterator[Event]:
    nonce = plan.control.revision
    yield AttemptFailed(atom=atom, nonce=nonce, reason="refused", refused=True)
    for made in (LEAVES, edit({"a": {}})):
        change = replace(made, rewritten=tuple(n.id for n in made.nodes))
        yield AttemptFailed(atom=atom, nonce=nonce, reason="red", edit=change)
        yield Replanned(atom=atom, nonce=nonce, edit=change)
        yield AtomResolved(atom=atom, nonce=nonce, summary="green", edit=change)


def dwindled(plan: Plan, event: Event) -> Plan:
    """Applied, with what `apply` asserts of the measure; and gauge and bound fall with it."""
    after = apply(plan, event)
    assert gauge(after) < gauge(plan)
    assert session_bound(after) <= session_bound(plan) - isinstance(event, SessionStarted)
    return after
