"""Planning sessions of a tree that fail: what they cost."""

from __future__ import annotations

from tests.kernel.test_tree_edits import ROOT, A, failed, tree

from dwindle.kernel.decide import decide
from dwindle.kernel.measure import measure
from dwindle.kernel.model import Role, StopCode


def test_planning_that_fails_is_an_attempt_beyond_the_last() -> None:
    plan = failed(failed(tree({"a": {}}), "a"), "a")
    before = measure(plan)
    plan = failed(plan, "a", Role.PROBE)
    assert (plan.atoms[A].attempts, plan.atoms[A].probes) == (3, 1)
    assert measure(plan) < before
    plan = failed(failed(plan, "a", Role.PROBE), "a", Role.PROBE)
    assert (plan.atoms[A].attempts, plan.atoms[A].probes) == (5, 3)
    stop = decide(plan).stop
    assert stop is not None
    assert stop.code is StopCode.ATOM_EXHAUSTED


def test_a_root_that_is_only_planned_counts_its_failures() -> None:
    plan = failed(tree({}), "root", Role.PROBE)
    assert (plan.atoms[ROOT].attempts, plan.atoms[ROOT].probes) == (1, 1)


def test_a_repair_that_fails_uses_an_attempt_of_the_root_where_there_is_one() -> None:
    plan = failed(tree({"a": {}}, execute_root=True), "a", refused=True)
    before = measure(plan)
    plan = failed(plan, "root", Role.PROBE, refused=True)
    assert (plan.atoms[ROOT].attempts, plan.atoms[ROOT].probes) == (1, 0)
    assert measure(plan) < before
