"""Thousands of whole runs on the real runner and kernel; every law is checked after every event."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.doubles.memory_git import MemoryGit
from tests.simulation.run import CHUNK, Found, many, simulated

from dwindle.app.open_run import graph as open_graph
from dwindle.kernel import effects, graph, transitions
from dwindle.kernel.base_case import Verdict
from dwindle.kernel.events import AtomResolved, Event, SessionStarted
from dwindle.kernel.model import AtomId, BaseCase, Plan, Status
from dwindle.ports.work import WorkOrder
from dwindle.runner.gate import verification
from dwindle.runner.ledger import Ledger
from dwindle.runner.modes.graph import GraphMode

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
RUNS = 2_000
ONCE_BROKEN = (10_014, 10_072, 13_070, 13_822, 17_872, 19_077, 25_061, 26_839)
"""A flag set before a start, one after the end, checkouts left behind, a flag amid a decision,
work on the branch that was built upon what had to go, a choice with dependencies of its own."""


@pytest.mark.parametrize("first", range(0, RUNS, CHUNK))
def test_no_law_is_broken(first: int) -> None:
    figures = many(range(first, first + CHUNK))
    assert figures.violations == []
    assert figures.runs == CHUNK


def test_what_many_runs_have_found_is_in_order() -> None:
    assert many(ONCE_BROKEN).violations == []


def test_the_runs_are_not_all_alike() -> None:
    """They complete, give up, are killed, stopped, redirected; and reports come too late."""
    figures = many(range(250))
    assert {"completed", "atom_exhausted", "verification_exhausted"} <= set(figures.ends)
    wanted = {"disk", "flag", "git", "kill", "late", "pause", "power cut", "redirect", "stop"}
    assert wanted == set(figures.faults)
    assert min(figures.faults.values()) > 5
    assert figures.fenced > 20
    assert figures.sessions > 1000


def test_a_seed_is_a_run_to_the_last_byte() -> None:
    """In this process and in others, whatever order their sets are in."""
    seeds = range(3000, 3030)
    told = [simulated(seed) for seed in seeds]
    assert [simulated(seed) for seed in seeds] == told
    line = (
        "from tests.simulation.run import simulated\n"
        f"print([simulated(seed).digest for seed in range({seeds.start}, {seeds.stop})])"
    )
    for chance in ("1", "2"):
        said = subprocess.run(
            [sys.executable, "-c", line],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": chance},
            check=True,
            capture_output=True,
            text=True,
        )
        assert said.stdout.strip() == str([story.digest for story in told])
    assert len({story.digest for story in told}) == len(told)


# --- bugs that are planted, and must be found ----------------------------------------------------

Plant = Callable[[pytest.MonkeyPatch], None]
is_fenced, commit = transitions.is_fenced, Ledger.commit


def believes_everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports of sessions that are over count."""

    def never(plan: Plan, event: Event) -> bool:
        session = plan.sessions.get(getattr(event, "atom", AtomId("")))
        return session is None and is_fenced(plan, event)

    monkeypatch.setattr(transitions, "is_fenced", never)


def charges_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A start costs no attempt."""
    started = effects.EFFECTS[SessionStarted]

    def free(plan: Plan, event: Any) -> Plan:
        after = started(plan, event)
        if event.atom not in after.atoms:
            return after
        atom = replace(after.atoms[event.atom], attempts=plan.atoms[event.atom].attempts)
        return graph.evolve(after, atoms={**after.atoms, event.atom: atom})

    monkeypatch.setitem(effects.EFFECTS, SessionStarted, free)


def believes_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a verification found does not matter."""

    def fine(base_case: BaseCase, commit: str, found: tuple[Any, ...]) -> verification.Round:
        del base_case
        return verification.Round(commit=commit, verdict=Verdict.PASSED, findings=found)

    monkeypatch.setattr(verification, "round_of", fine)


def keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a failed session made is thrown away."""

    async def release(self: GraphMode, order: WorkOrder, lease: Any, *, integrated: bool) -> None:
        del order, integrated
        self._workspace.trees.pop(lease.path)  # type: ignore[attr-defined]

    monkeypatch.setattr(GraphMode, "_put_away", release)


def acknowledges_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was noted is acted upon before it is on disk."""

    def late(self: Ledger) -> None:
        if len(self._noted) > 3:
            commit(self)

    monkeypatch.setattr(Ledger, "commit", late)


def leaves_stray_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a crash the branch is taken as it is."""

    async def as_it_is(git: MemoryGit, ledger: Ledger) -> None:
        del git, ledger

    monkeypatch.setattr(open_graph, "put_in_step", as_it_is)


def forgets_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time that has passed is taken back."""
    charged = transitions._with_number_and_costs

    def uncharged(plan: Plan, after: Plan, event: Event) -> Plan:
        found = charged(plan, after, event)
        if isinstance(event, AtomResolved):
            return replace(found, spent=replace(found.spent, seconds=0.0))
        return found

    monkeypatch.setattr(transitions, "_with_number_and_costs", uncharged)


def dispatches_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """An atom that is being worked on is ready."""
    start = GraphMode.start

    def twice(self: GraphMode, plan: Plan, action: Any, agent: str) -> None:
        start(self, plan, action, agent)
        start(self, plan, action, agent)

    monkeypatch.setattr(GraphMode, "start", twice)


def reopens_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A resolved atom is lost now and then."""
    resolved = effects.EFFECTS[AtomResolved]

    def forgets(plan: Plan, event: Any) -> Plan:
        after = resolved(plan, event)
        done = [a for a in plan.atoms.values() if a.status is Status.RESOLVED]
        if not done:
            return after
        first = replace(done[0], status=Status.PENDING)
        return graph.evolve(after, atoms={**after.atoms, first.id: first})

    monkeypatch.setitem(effects.EFFECTS, AtomResolved, forgets)


PLANTS: Sequence[Plant] = (
    believes_everybody,
    charges_nothing,
    believes_claims,
    keeps_nothing,
    acknowledges_early,
    leaves_stray_commits,
    forgets_the_clock,
    dispatches_twice,
    reopens_nothing,
)


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)
def test_a_bug_that_is_planted_is_found(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    with pytest.raises(Found) as found:
        _ = [simulated(seed) for seed in range(RUNS)]
    monkeypatch.undo()
    assert simulated(found.value.seed).digest, "without it the same run is in order"
    again = f"see it again: .venv/bin/python -m tests.simulation.run {found.value.seed}"
    assert str(found.value).splitlines()[-1] == again
