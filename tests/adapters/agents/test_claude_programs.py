"""Programs that call themselves claude, and keep to the contract or do not."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path

import pytest
from tests.adapters.agents.claude_lines import (
    fake_claude,
    init,
    place_in,
    result,
)

from dwindle.adapters.agents.claude.agent import ClaudeAgent
from dwindle.adapters.sandbox import ProcessGroup
from dwindle.kernel.model import Role
from dwindle.ports.agent import Agent
from dwindle.ports.work import PLANNER, NoReport, Order, Purpose, Report, Trouble
from dwindle.testing.agents import CONTRACTS, DONE, DONE_REPORT, ORDER, PLAN, AgentScene, Contract

pytestmark = pytest.mark.slow

PROBE = replace(ORDER, role=Role.PROBE, purpose=Purpose.LOOK)
VERIFIER = replace(ORDER, role=Role.VERIFIER, purpose=Purpose.JUDGE)
ORDERS: dict[str, Order] = {
    Role.WORKER: ORDER,
    Role.PROBE: PROBE,
    Role.VERIFIER: VERIFIER,
    PLANNER: PLAN,
}


SET_UP = "claude was not set up as it was asked to be: "


def stage(what: str, folder: Path) -> Agent:
    ours = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    return ClaudeAgent(program=str(fake_claude(folder, what)), sandboxed=False, ours=ours)


@pytest.mark.parametrize("contract", CONTRACTS, ids=str)
def test_it_keeps_the_contract_of_every_agent(contract: Contract, tmp_path: Path) -> None:
    scene = AgentScene(stage=stage, folder=tmp_path, containment=ProcessGroup())

    async def played() -> None:
        await contract.check(scene)

    asyncio.run(played())


def played(folder: Path, program: str, order: Order = ORDER) -> tuple[Report, float]:
    """A session with a program that is not claude at all."""
    path = fake_claude(folder, "", program=f"#!/bin/sh\n{program}\n")
    place = place_in(folder)
    ours = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    session = ClaudeAgent(program=str(path), ours=ours).session(order, place)
    ended = asyncio.run(ProcessGroup().run(session.command, session.watch))
    return session.conclude(ended).report, ended.seconds


def printed(*lines: bytes) -> str:
    """A shell that prints them."""
    told = "\n".join(line.decode() for line in lines).replace("{", "{{").replace("}", "}}")
    return f"cat <<'EOT'\n{told}\nEOT"


def test_an_untrusted_one_is_ended_at_once(tmp_path: Path) -> None:
    wrong = printed(init(permissionMode="default"))
    report, seconds = played(tmp_path, f"{wrong}\ntouch done; sleep 30")
    assert report == NoReport(
        trouble=Trouble.FAILED,
        reason=f"{SET_UP}its permission mode is default, not bypassPermissions",
    )
    assert seconds < 10


def test_a_last_line_without_an_end_counts(tmp_path: Path) -> None:
    told = result(structured_output=DONE).decode().replace("{", "{{").replace("}", "}}")
    report, _ = played(tmp_path, f"{printed(init())}\nprintf '%s' '{told}'")
    assert report == DONE_REPORT
