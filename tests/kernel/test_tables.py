"""The tables that legality and payment are: what the code says is what the pages say."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.kernel.story import after, refusal, running, started

from dwindle.kernel.events import AtomResolved, ProbeEnded, Waited
from dwindle.kernel.model import AtomId, Control, Role, RunStatus
from dwindle.kernel.problems import COUNTED_LIMITS, MAY_BE_ZERO

DOCS = Path(__file__).parents[2] / "docs"


def generator() -> Any:
    spec = importlib.util.spec_from_file_location("generate_docs", DOCS / "_generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["kernel.md", "events.md"])
def test_the_pages_show_the_tables_of_the_code(name: str) -> None:
    text = (DOCS / name).read_text(encoding="utf-8")
    assert generator().regenerated(text) == text


def test_limits_that_are_counted_and_those_that_may_be_nothing() -> None:
    assert COUNTED_LIMITS == (
        "max_iterations",
        "max_parallel_agents",
        "max_stall_count",
        "max_atoms",
        "max_depth",
        "max_attempts",
        "max_probes",
        "max_verifications",
        "max_redirects",
        "max_forgiven",
        "max_backjumps",
        "max_winds",
        "max_wall_seconds",
        "max_tokens",
        "max_cost_usd",
        "session_timeout_seconds",
        "fewer_tests",
    )
    assert (
        *("max_depth", "max_probes", "max_redirects", "max_forgiven", "max_backjumps", "max_winds"),
        "fewer_tests",
    ) == MAY_BE_ZERO


@pytest.mark.parametrize("status", list(RunStatus), ids=str)
def test_time_passes_in_every_state_of_a_run(status: RunStatus) -> None:
    plan = replace(running("A1"), control=Control(status=status))
    assert after(plan, Waited(elapsed=2)).spent.seconds == 2
    assert after(plan, Waited()) == replace(plan, control=Control(status=status, revision=1))


def test_a_role_reports_what_it_was_sent_for() -> None:
    worked = after(running("A1"), started("A1"))
    looked = after(running("A1"), started("A1", Role.PROBE))
    a1 = AtomId("A1")
    assert refusal(worked, ProbeEnded(atom=a1, nonce=1)) == "ProbeEnded: A1 is with a worker"
    assert refusal(looked, AtomResolved(atom=a1, nonce=1, summary="s")) == (
        "AtomResolved: A1 is with a probe"
    )
