"""What a program must keep to if it wants to be an agent: seen from outside, in any language.

Each contract gives the program a small real order and looks at what it left. A program may fail
its task, and say so; what it may not do is to leave no valid report. The program is started by the
real adapter. This layer lies below the adapters, so it finds that one by name.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Final

from dwindle.kernel.model import ROOT, Check, CheckType, Role
from dwindle.ports.agent import Agent, Place
from dwindle.ports.work import PLANNER, NoReport, Order, Purpose, Report
from dwindle.testing.agents import ORDER, PLAN, set_up
from dwindle.testing.bare_process import BareProcess

PROMPTS: Final = {
    Role.WORKER: "Write the word hello into the file hello.txt, then report.",
    Role.PROBE: "Say whether the word hello can be written into hello.txt. Change nothing.",
    Role.VERIFIER: "Judge whether README.md says hello. Change nothing.",
    PLANNER: "A person wants a file hello.txt. Ask them one question about it. Change nothing.",
}
SHAPES: Final = {
    Role.WORKER: '{"success": true, "summary": "...", "artifacts": ["hello.txt"]}',
    Role.PROBE: '{"feasible": true, "findings": "..."}',
    Role.VERIFIER: '{"passed": true, "evidence": "...", "failures": []}',
    PLANNER: '{"questions": ["..."]}',
}
README: Final = "hello\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    agent: Agent
    folder: Path
    seconds: float

    async def session(self, role: str, name: str) -> tuple[Report, Place]:
        order = _order(role, self.seconds)
        prompt = f"{PROMPTS[role]}\nReport JSON to the file in DWINDLE_REPORT: {SHAPES[role]}\n"
        place = set_up(self.folder / name, order, prompt)
        (place.workspace / "README.md").write_text(README, "utf-8")
        session = self.agent.session(order, place)
        ended = await BareProcess().run(session.command, session.watch)
        return session.conclude(ended).report, place


def _order(role: str, seconds: float) -> Order:
    if role == PLANNER:
        return replace(PLAN, timeout_seconds=seconds)
    order = replace(ORDER, role=Role(role), timeout_seconds=seconds)
    if role == Role.PROBE:
        return replace(order, purpose=Purpose.LOOK)
    if role == Role.VERIFIER:
        claim = Check(type=CheckType.ASSERTION, value="README.md says hello")
        return replace(
            order, purpose=Purpose.JUDGE, atom=ROOT, description=claim.value or "", checks=(claim,)
        )
    return order


def _refusal(report: Report) -> str | None:
    return f"{report.trouble}: {report.reason}" if isinstance(report, NoReport) else None


async def worker(program: Program) -> str | None:
    report, _ = await program.session(Role.WORKER, "worker")
    return _refusal(report)


async def _reader(program: Program, role: str) -> str | None:
    report, place = await program.session(role, role)
    names = sorted(path.name for path in place.workspace.iterdir())
    if names != ["README.md"] or (place.workspace / "README.md").read_text("utf-8") != README:
        return f"the workspace was changed: {', '.join(names)}"
    return _refusal(report)


async def probe(program: Program) -> str | None:
    return await _reader(program, Role.PROBE)


async def verifier(program: Program) -> str | None:
    return await _reader(program, Role.VERIFIER)


async def planner(program: Program) -> str | None:
    return await _reader(program, PLANNER)


async def odd_names(program: Program) -> str | None:
    report, _ = await program.session(Role.WORKER, "a place with blanks, ü and 名")
    return _refusal(report)


async def together(program: Program) -> str | None:
    sessions = [program.session(Role.WORKER, f"together {number}") for number in (1, 2)]
    refused = [_refusal(report) for report, _ in await asyncio.gather(*sessions)]
    return next((refusal for refusal in refused if refusal), None)


PROGRAMS: Final[tuple[tuple[str, Callable[[Program], Awaitable[str | None]]], ...]] = (
    ("ends with exit code 0 and a valid report of a worker", worker),
    ("reports as a probe, and changes nothing", probe),
    ("reports as a verifier, and changes nothing", verifier),
    ("works in folders with blanks and any characters in their names", odd_names),
    ("two of it at the same time do not disturb each other", together),
    ("reports as a planner, and changes nothing", planner),
)


async def judge(argv: tuple[str, ...], folder: Path, seconds: float) -> int:
    """Play every contract, say which hold, and return how the command exits."""
    agent: Agent = import_module("dwindle.adapters.agents.command").CommandAgent(argv=argv)
    program = Program(agent=agent, folder=folder, seconds=seconds)
    broken = 0
    for number, (says, check) in enumerate(PROGRAMS, start=1):
        wrong = await check(program)
        broken += wrong is not None
        print(f"{'ok    ' if wrong is None else 'BROKEN'} P{number} {says}", flush=True)
        if wrong is not None:
            print(f"       {wrong}", flush=True)
    print(f"{len(PROGRAMS) - broken} of {len(PROGRAMS)} contracts hold")
    return 1 if broken else 0
