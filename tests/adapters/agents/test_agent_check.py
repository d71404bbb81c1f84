"""`dwindle.testing.check_agent`: ours pass it, and whoever does not keep to it hears why."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.adapters.agents import test_claude_programs, test_codex, test_conformance

from dwindle.adapters.sandbox import ProcessGroup
from dwindle.ports.agent import Agent
from dwindle.testing import check_agent
from dwindle.testing.agent_check import NotConforming
from dwindle.testing.agents import CONTRACTS, Stage

pytestmark = pytest.mark.slow

OURS: dict[str, Stage] = {
    "command": test_conformance.command_stage,
    "scripted": test_conformance.scripted_stage,
    "claude": test_claude_programs.stage,
    "codex": test_codex.stage,
}


@pytest.mark.parametrize("name", OURS)
def test_every_agent_of_ours_passes(name: str, tmp_path: Path) -> None:
    check_agent(OURS[name], tmp_path, ProcessGroup())


def test_a_folder_and_a_containment_need_not_be_given() -> None:
    check_agent(OURS["command"])


def test_all_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(NotConforming) as found:
        check_agent(test_conformance.gullible_stage, tmp_path)
    assert [one.contract for one in found.value.broken] == CONTRACTS
    said = str(found.value).splitlines()
    assert said[0] == f"0 of {len(CONTRACTS)} contracts hold; broken are:"
    assert "  8 no report is no success" in said


def test_an_agent_that_raises_is_told_so(tmp_path: Path) -> None:
    def stage(line: str, folder: Path) -> Agent:
        made = test_conformance.command_stage(line, folder)
        return replace(made, argv=()) if "sleep 60" in line else made  # type: ignore[type-var]

    with pytest.raises(NotConforming) as found:
        check_agent(stage, tmp_path)
    (broken,) = found.value.broken
    assert "TypeError" in broken.how
    assert broken.contract.says.startswith("what was still running at its timeout")
