"""The shipped agents keep to every contract, and the suite notices an agent that does not."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from dwindle.adapters.agents.command import CommandAgent
from dwindle.adapters.agents.scripted import scripted_agent
from dwindle.ports.agent import Agent, Place
from dwindle.ports.process import Command, Ended
from dwindle.ports.work import (
    NoReport,
    Order,
    PlannerQuestions,
    Result,
    Trouble,
    WorkerReport,
    WorkOrder,
)
from dwindle.testing.agents import CONTRACTS, PLAN, AgentScene, Answering, Contract, Stage
from dwindle.testing.bare_process import BareProcess


def command_stage(line: str, folder: Path) -> Agent:
    del folder
    return CommandAgent(argv=("sh", "-c", line))


def scripted_stage(line: str, folder: Path) -> Agent:
    script = folder / "script.json"
    told = {"*": [{"do": [{"run": line}]}]}
    script.write_text(json.dumps({"worker": told, "planner": told}), "utf-8")
    return scripted_agent(script)


def play(contract: Contract, stage: Stage, folder: Path) -> None:
    scene = AgentScene(stage=stage, folder=folder, containment=BareProcess())

    async def played() -> None:
        await contract.check(scene)

    asyncio.run(played())


@pytest.mark.parametrize("contract", CONTRACTS, ids=str)
@pytest.mark.parametrize("stage", [command_stage, scripted_stage], ids=["command", "scripted"])
def test_a_shipped_agent_keeps_the_contract(
    contract: Contract, stage: Stage, tmp_path: Path
) -> None:
    play(contract, stage, tmp_path)


class Gullible(CommandAgent):
    """Believes every program: it gives no prompt, no time limit, and success to everybody."""

    def launch(self, order: Order, place: Place) -> Command:
        command = super().launch(order, place)
        elsewhere = {"DWINDLE_REPORT": str(place.outbox.parent / "other.json")}
        return replace(
            command,
            cwd=place.outbox,
            stdin=b"",
            timeout_seconds=2.0,
            environment=elsewhere,
            writable=(place.outbox.parent,),
        )

    def conclude(self, order: Order, place: Place, ended: Ended) -> Result:
        result = super().conclude(order, place, ended)
        believed = WorkerReport(success=True, summary="I am sure it is fine")
        return replace(result, report=believed)


def gullible_stage(line: str, folder: Path) -> Agent:
    del folder
    return Gullible(argv=("sh", "-c", line))


@pytest.mark.parametrize("contract", CONTRACTS, ids=str)
def test_no_contract_is_empty(contract: Contract, tmp_path: Path) -> None:
    with pytest.raises((AssertionError, FileNotFoundError)):
        play(contract, gullible_stage, tmp_path)


def conformance(*program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dwindle.testing.agents", "--", *program],
        capture_output=True,
        check=False,
        text=True,
        timeout=60,
    )


OBEDIENT = """\
import json, os
order = json.load(open(os.environ["DWINDLE_ORDER"], encoding="utf-8"))
reports = {
    "worker": {"success": True, "summary": "hello is there", "artifacts": ["hello.txt"]},
    "probe": {"feasible": True, "findings": "nothing stands in the way"},
    "verifier": {"passed": True, "evidence": "README.md, line 1", "failures": []},
    "planner": {"questions": ["Which hello?"]},
}
if order["role"] == "worker":
    open("hello.txt", "x").write("hello")
json.dump(reports[order["role"]], open(os.environ["DWINDLE_REPORT"], "w"))
"""


def test_anybody_can_try_a_program_of_theirs(tmp_path: Path) -> None:
    program = tmp_path / "agent.py"
    program.write_text(OBEDIENT, "utf-8")
    said = conformance(sys.executable, str(program))
    assert (said.stdout, said.stderr, said.returncode) == (
        (
            "ok     P1 ends with exit code 0 and a valid report of a worker\n"
            "ok     P2 reports as a probe, and changes nothing\n"
            "ok     P3 reports as a verifier, and changes nothing\n"
            "ok     P4 works in folders with blanks and any characters in their names\n"
            "ok     P5 two of it at the same time do not disturb each other\n"
            "ok     P6 reports as a planner, and changes nothing\n"
            "6 of 6 contracts hold\n"
        ),
        "",
        0,
    )


def test_a_program_that_reports_one_thing_to_everybody_is_told_so() -> None:
    line = """touch made; echo '{"success": true, "summary": "all is well"}'"""
    said = conformance("sh", "-c", line)
    assert (said.stdout.splitlines(), said.returncode) == (
        [
            "ok     P1 ends with exit code 0 and a valid report of a worker",
            "BROKEN P2 reports as a probe, and changes nothing",
            "       the workspace was changed: README.md, made",
            "BROKEN P3 reports as a verifier, and changes nothing",
            "       the workspace was changed: README.md, made",
            "ok     P4 works in folders with blanks and any characters in their names",
            "ok     P5 two of it at the same time do not disturb each other",
            "BROKEN P6 reports as a planner, and changes nothing",
            "       the workspace was changed: README.md, made",
            "3 of 6 contracts hold",
        ],
        1,
    )


def test_without_a_program_there_is_a_hint() -> None:
    said = conformance()
    assert (said.stdout, said.returncode) == ("", 2)
    assert said.stderr == "usage: python -m dwindle.testing.agents -- PROGRAM ARGUMENT ...\n"


def test_the_double_answers_and_remembers(tmp_path: Path) -> None:
    def answer(order: WorkOrder) -> WorkerReport | NoReport:
        return WorkerReport(success=True, summary=f"did {order.atom}")

    agent = Answering(answer)
    scene = AgentScene(
        stage=lambda _line, _folder: agent, folder=tmp_path, containment=BareProcess()
    )
    report = asyncio.run(scene.report("ignored"))
    assert report == WorkerReport(success=True, summary="did A1")
    assert [order.atom for order in agent.orders] == ["A1"]


def test_the_double_plans_if_it_is_told_how(tmp_path: Path) -> None:
    asked = PlannerQuestions(questions=("Which one?",))
    able = Answering(lambda _: asked, plan=lambda _: asked)
    unable = Answering(lambda _: asked)
    found = []
    for name, agent in (("able", able), ("unable", unable)):
        scene = AgentScene(
            stage=lambda _line, _folder, agent=agent: agent,  # type: ignore[misc]
            folder=tmp_path / name,
            containment=BareProcess(),
        )
        found.append(asyncio.run(scene.report("ignored", order=PLAN)))
    assert found == [asked, NoReport(trouble=Trouble.UNAVAILABLE, reason="it does not plan")]
    assert (able.orders, able.planned) == ([], [PLAN])
