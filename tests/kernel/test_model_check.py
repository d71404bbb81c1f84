"""The model checker: it walks all small plans, and it shows the way to a violation."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from tests.kernel.test_planted_rules import plant
from tests.model import model_check
from tests.model.small_plans import drawn, forests, plan_from, small_plans
from tests.model.suites import SUITES
from tests.model.world import Suite

from dwindle.kernel import sessions
from dwindle.kernel.events import AttemptFailed
from dwindle.kernel.graph import with_atom
from dwindle.kernel.model import Limits, Plan

_fail = sessions.attempt_failed


def failing_is_free(plan: Plan, event: AttemptFailed) -> Plan:
    after = _fail(plan, event)
    atom = after.atoms[event.atom]
    return with_atom(after, replace(atom, attempts=atom.attempts - 1))


@pytest.mark.slow
def test_all_small_plans_keep_the_laws() -> None:
    """In a process of its own, as a person would run it (and out of sight of coverage)."""
    ran = subprocess.run(
        [sys.executable, "-m", "tests.model.model_check", "--atoms", "2"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    found = re.fullmatch(
        r"graphs (\d+)  states (\d+)  transitions (\d+)  seconds [\d.]+  violations 0\n", ran.stdout
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert found is not None, ran.stdout
    graphs, states, transitions = map(int, found.groups())
    assert graphs > 200
    assert states > 80_000
    assert transitions > states


AGAIN = [s for s in SUITES if s.name.startswith(("winds", "turns"))]


@pytest.mark.parametrize("suite", AGAIN, ids=[s.name for s in AGAIN])
def test_three_atoms_with_choices_keep_the_laws_when_they_are_tried_again(suite: Suite) -> None:
    """The smallest plans in which a wind has something to lose: a choice, and a third atom."""
    for plan in model_check.plans_of(replace(suite, only_groups=True), 3):
        assert model_check.check_plan(plan, suite).violation is None


def test_a_violation_ends_it_with_the_shortest_trace(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plant(monkeypatch, sessions.attempt_failed, failing_is_free)
    monkeypatch.setattr(model_check, "SUITES", SUITES[:1])
    assert model_check.main(["--atoms", "1", "--processes", "1", "--verbose"]) == 1
    out = capsys.readouterr().out
    assert "VIOLATION in suite 'backjumps'\n  plan A1\n  AttemptFailed does not lower" in out
    assert out.index(" 1 SessionStarted A1 worker") < out.index(" 2 AttemptFailed A1")
    assert out.endswith("violations 1\n")


def test_every_shape_is_there_once() -> None:
    """Counted by hand up to three atoms; each drawing is different."""
    assert [len(forests(n)) for n in range(1, 4)] == [1, 3, 8]
    for count in range(1, 5):
        shapes = [drawn(p) for p in small_plans(count, Limits(max_atoms=0), dependencies=2)]
        assert len(shapes) == len(dict.fromkeys(shapes))


@pytest.mark.parametrize("suite", SUITES, ids=[s.name for s in SUITES])
def test_a_drawing_can_be_read_back(suite: Suite) -> None:
    for plan in model_check.plans_of(suite, 3):
        assert drawn(plan_from(drawn(plan), suite.limits())) == drawn(plan)


def test_suites_cover_what_they_promise() -> None:
    def values(name: str) -> list[object]:
        return sorted({getattr(s, name) for s in SUITES})

    assert values("width") == [1, 2]
    assert values("attempts") == [1, 2]
    assert values("probes") == [0, 1]
    assert values("rounds") == [1, 2]
    assert values("fuel") == [0, 1, 2]
    assert values("winds") == [0, 1, 2]
    assert [False, True] == values("speculative") == values("unwritten")
    assert len(values("dispatch")) == 2
    assert 1 in values("redirects")
    happens = {h for s in SUITES for h in s.happens}
    assert {"objective", "add", "remove", "force", "retry", "limits", "override"} <= happens
    assert all(a.name != b.name for a, b in pairwise(sorted(SUITES, key=lambda s: s.name)))
