"""The contracts of an agent, numbered, for authors of agents to run against their own.

There are two suites. `CONTRACTS` tests an implementation of the `Agent` port: a *stage* makes an
agent whose program does what a shell line says, and each contract plays one scene on it. `PROGRAMS`
tests a program that speaks the `command` contract, in whatever language it is written:

    python -m dwindle.testing.agents -- PROGRAM ARGUMENT ...

`Answering` is an agent without a program, for tests of the loop.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from dwindle.kernel.events import NO_USAGE, Usage
from dwindle.kernel.model import ROOT, AtomId, Check, CheckType, Role
from dwindle.ports.agent import Agent, Place
from dwindle.ports.process import Command, Containment, Ended
from dwindle.ports.work import (
    PLANNER,
    NoReport,
    Occasion,
    Order,
    PlannerQuestions,
    PlanningOrder,
    Purpose,
    Report,
    Result,
    Trouble,
    WorkerReport,
    WorkOrder,
)
from dwindle.testing.bare_process import BareProcess

Stage = Callable[[str, Path], Agent]
"""An agent whose program does what the shell line says; the folder is for what it needs."""

ORDER: Final = WorkOrder(
    role=Role.WORKER,
    purpose=Purpose.WORK,
    run="01CONFORMANCE",
    atom=AtomId("A1"),
    description="Write the word hello into hello.txt.",
    goal="See whether agents keep to the contract.",
    attempt=1,
    nonce=7,
    timeout_seconds=60.0,
)
PLAN: Final = PlanningOrder(
    purpose=Occasion.ALIGN,
    words="See whether planners keep to the contract.",
    why="It is not known yet.",
    timeout_seconds=60.0,
)
DONE: Final[dict[str, Any]] = {"success": True, "summary": "done", "artifacts": ["hello.txt"]}
DONE_REPORT: Final = WorkerReport(success=True, summary="done", artifacts=("hello.txt",))
TO_FILE: Final = f"printf '%s' '{json.dumps(DONE)}' > \"$DWINDLE_REPORT\""
SILENT: Final = "cat > /dev/null"


class Answering:
    """An agent without a program of its own: a function says what each session reports."""

    name = "answering"

    def __init__(
        self,
        answer: Callable[[WorkOrder], Report],
        usage: Usage = NO_USAGE,
        plan: Callable[[PlanningOrder], Report] | None = None,
    ) -> None:
        self.answer = answer
        self.usage = usage
        self.plan = plan
        self.orders: list[WorkOrder] = []
        """All that it was given, in order."""
        self.planned: list[PlanningOrder] = []
        """What it was given as a planner."""

    def session(self, order: Order, place: Place) -> AnsweringSession:
        if isinstance(order, PlanningOrder):
            self.planned.append(order)
        else:
            self.orders.append(order)
        return AnsweringSession(by=self, order=order, place=place)

    def report(self, order: Order) -> Report:
        if not isinstance(order, PlanningOrder):
            return self.answer(order)
        if self.plan is None:
            return NoReport(trouble=Trouble.UNAVAILABLE, reason="it does not plan")
        return self.plan(order)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweringSession:
    """One session of an `Answering` agent."""

    by: Answering
    order: Order
    place: Place

    @property
    def command(self) -> Command:
        seconds = self.order.timeout_seconds
        return Command(argv=("true",), cwd=self.place.workspace, timeout_seconds=seconds)

    def watch(self, line: bytes) -> str | None:
        del line
        return None

    def conclude(self, ended: Ended) -> Result:
        del ended
        return Result(report=self.by.report(self.order), usage=self.by.usage)


# --- a scene -------------------------------------------------------------------------------------


def public_order(order: Order) -> bytes:
    """No more than the fields that are promised to every program."""
    found: dict[str, Any] = {"role": order.role, "run": order.run, "atom": order.atom}
    if isinstance(order, PlanningOrder):
        found |= {"description": order.words, "attempt": order.session}
    else:
        found |= {"description": order.description, "attempt": order.attempt}
    found |= {"nonce": order.nonce, "bindings": {}, "checks": [], "failures": []}
    if isinstance(order, PlanningOrder):
        found |= {"purpose": order.purpose, "may_ask": order.may_ask}
    return json.dumps(found, ensure_ascii=False).encode()


def set_up(folder: Path, order: Order = ORDER, prompt: str = "Write it.\n") -> Place:
    place = Place(workspace=folder / "workspace", outbox=folder / "outbox")
    place.workspace.mkdir(parents=True)
    place.outbox.mkdir()
    place.order.write_bytes(public_order(order))
    place.prompt.write_text(prompt, "utf-8")
    return place


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentScene:
    stage: Stage
    folder: Path
    containment: Containment

    async def play(
        self,
        line: str,
        *,
        order: Order = ORDER,
        prompt: str = "Write it.\n",
        name: str = "session",
    ) -> tuple[Result, Place]:
        folder = self.folder / name
        place = set_up(folder, order, prompt)
        agent = self.stage(line, folder)
        session = agent.session(order, place)
        ended = await self.containment.run(session.command, session.watch)
        return session.conclude(ended), place

    async def report(self, line: str, *, order: Order = ORDER) -> Report:
        result, _ = await self.play(line, order=order)
        return result.report


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    number: int
    says: str
    check: Callable[[AgentScene], Awaitable[None]]

    def __str__(self) -> str:
        return f"{self.number} {self.says}"


CONTRACTS: list[Contract] = []


def contract(says: str) -> Callable[[Callable[[AgentScene], Awaitable[None]]], None]:
    def added(check: Callable[[AgentScene], Awaitable[None]]) -> None:
        CONTRACTS.append(Contract(number=len(CONTRACTS) + 1, says=says, check=check))

    return added


def same(found: object, wanted: object) -> None:
    assert found == wanted, f"{_short(found)} instead of {_short(wanted)}"


def refused(report: Report, trouble: Trouble) -> str:
    """The reason, if it was refused as it should have been."""
    rightly = isinstance(report, NoReport) and report.trouble is trouble
    assert rightly, f"{_short(report)} instead of trouble: {trouble}"
    assert isinstance(report, NoReport)
    assert report.reason.strip(), "no reason is given"
    return report.reason


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 500 else f"{text[:500]}..."


# --- the contracts -------------------------------------------------------------------------------


@contract("the program runs in the workspace")
async def _runs(scene: AgentScene) -> None:
    result, place = await scene.play(f"pwd -P > here.txt; {TO_FILE}")
    same((place.workspace / "here.txt").read_text("utf-8"), f"{place.workspace.resolve()}\n")
    same(result, Result(report=DONE_REPORT, usage=NO_USAGE))


@contract("DWINDLE_ORDER leads to the order")
async def _order(scene: AgentScene) -> None:
    _, place = await scene.play('cp "$DWINDLE_ORDER" seen.json')
    same((place.workspace / "seen.json").read_bytes(), public_order(ORDER))


@contract("the prompt arrives on standard input, to the last byte")
async def _prompt(scene: AgentScene) -> None:
    prompt = "Größe: 日本語 🦎\n" * 20_000
    _, place = await scene.play("cat > seen.txt", prompt=prompt)
    same((place.workspace / "seen.txt").read_text("utf-8"), prompt)


@contract("a program need not read its prompt")
async def _unread(scene: AgentScene) -> None:
    result, _ = await scene.play(TO_FILE, prompt="x" * 1_000_000)
    same(result.report, DONE_REPORT)


@contract("without a file, the last JSON object on standard output is the report")
async def _stdout(scene: AgentScene) -> None:
    earlier = json.dumps({**DONE, "summary": "an earlier one"})
    said = f"echo '{earlier}'; echo 'done: {json.dumps(DONE)} (see above)'; echo bye"
    same(await scene.report(said), DONE_REPORT)


@contract("the file wins over standard output")
async def _file_wins(scene: AgentScene) -> None:
    printed = json.dumps({**DONE, "summary": "printed"})
    same(await scene.report(f"{TO_FILE}; echo '{printed}'"), DONE_REPORT)


@contract("a wrong file is not made good by standard output")
async def _wrong_file(scene: AgentScene) -> None:
    report = await scene.report(f"echo '{{' > \"$DWINDLE_REPORT\"; echo '{json.dumps(DONE)}'")
    refused(report, Trouble.MALFORMED)


@contract("no report is no success")
async def _nothing(scene: AgentScene) -> None:
    refused(await scene.report(SILENT), Trouble.NO_REPORT)


@contract("a report that is not understood is malformed, and the reason says why")
async def _malformed(scene: AgentScene) -> None:
    report = await scene.report('echo \'{"success": "yes"}\'')
    assert "success" in refused(report, Trouble.MALFORMED)


@contract("a report of more than 1 MiB is refused")
async def _huge(scene: AgentScene) -> None:
    line = '(printf \'{"success": true, "summary": "\'; head -c 2000000 /dev/zero | tr \'\\0\' x;'
    report = await scene.report(f'{line} printf \'"}}\') > "$DWINDLE_REPORT"')
    refused(report, Trouble.MALFORMED)


@contract("a link or a pipe in place of the report is not followed")
async def _links(scene: AgentScene) -> None:
    (scene.folder / "secret.json").write_text(json.dumps(DONE), "utf-8")
    line = f"ln -s '{scene.folder}/secret.json' \"$DWINDLE_REPORT\""
    result, _ = await scene.play(line, name="link")
    refused(result.report, Trouble.MALFORMED)
    result, _ = await scene.play('mkfifo "$DWINDLE_REPORT"', name="pipe")
    refused(result.report, Trouble.MALFORMED)


@contract("however much is printed, the report at its end is found")
async def _flood(scene: AgentScene) -> None:
    line = f"head -c 50000000 /dev/zero | tr '\\0' '{{'; echo; echo '{json.dumps(DONE)}'"
    same(await scene.report(line), DONE_REPORT)


@contract("an exit code other than 0 is a failure, whatever was reported")
async def _exit(scene: AgentScene) -> None:
    report = await scene.report(f"{TO_FILE}; echo 'out of ideas' >&2; exit 3")
    reason = refused(report, Trouble.FAILED)
    assert "3" in reason, f"the exit code is not in: {reason}"
    assert "out of ideas" in reason, f"what it said is not in: {reason}"


@contract("what was still running at its timeout has failed, whatever was reported")
async def _timeout(scene: AgentScene) -> None:
    impatient = replace(ORDER, timeout_seconds=1.0)
    report = await scene.report(f"{TO_FILE}; sleep 60", order=impatient)
    refused(report, Trouble.TIMED_OUT)


@contract("what could not be started is unavailable")
async def _missing(scene: AgentScene) -> None:
    place = set_up(scene.folder / "session")
    agent = scene.stage(SILENT, scene.folder)
    result = agent.session(ORDER, place).conclude(Ended(error="no such program"))
    refused(result.report, Trouble.UNAVAILABLE)


@contract("names with blanks and characters of any script are as good as others")
async def _unicode(scene: AgentScene) -> None:
    wide = {"success": True, "summary": "Größe 日本語 🦎", "artifacts": ["ein Ort/名前.txt"]}
    line = f"printf '%s' '{json.dumps(wide, ensure_ascii=False)}' > \"$DWINDLE_REPORT\""
    result, _ = await scene.play(line, name="ein Ort mit 名前")
    artifacts = ("ein Ort/名前.txt",)
    same(result.report, WorkerReport(success=True, summary="Größe 日本語 🦎", artifacts=artifacts))


@contract("sessions at the same time share nothing")
async def _together(scene: AgentScene) -> None:
    async def session(number: int) -> Report:
        mine = json.dumps({**DONE, "summary": f"number {number}"})
        line = f"test ! -e mine && touch mine && sleep 0.2 && echo '{mine}' > \"$DWINDLE_REPORT\""
        result, _ = await scene.play(line, name=f"session {number}")
        return result.report

    found = await asyncio.gather(*(session(number) for number in range(5)))
    same(found, [replace(DONE_REPORT, summary=f"number {n}") for n in range(5)])


@contract("only a worker may write into the workspace; everybody into the outbox")
async def _writable(scene: AgentScene) -> None:
    place = set_up(scene.folder / "session")
    agent = scene.stage(SILENT, scene.folder)
    orders: list[Order] = [*(replace(ORDER, role=role) for role in Role), PLAN]
    for order in orders:
        writable = agent.session(order, place).command.writable
        assert place.outbox in writable
        same((place.workspace in writable), (order.role == Role.WORKER))


@contract("the time a session has is that of its order")
async def _time(scene: AgentScene) -> None:
    place = set_up(scene.folder / "session")
    agent = scene.stage(SILENT, scene.folder)
    impatient = replace(ORDER, timeout_seconds=77.0)
    same(agent.session(impatient, place).command.timeout_seconds, 77.0)


@contract("a planner may ask, and is asked for nothing that a worker reports")
async def _planner(scene: AgentScene) -> None:
    asking = json.dumps({"questions": ["Which one?"]})
    line = f"printf '%s' '{asking}' > \"$DWINDLE_REPORT\""
    result, _ = await scene.play(line, order=PLAN, name="asks")
    same(result.report, PlannerQuestions(questions=("Which one?",)))
    result, _ = await scene.play(TO_FILE, order=PLAN, name="works")
    refused(result.report, Trouble.MALFORMED)


# --- programs in any language --------------------------------------------------------------------
#
# Each contract gives the program a small real order and looks at what it left. A program may fail
# its task, and say so; it may not leave without a valid report. The real adapter starts the
# program; this layer lies below the adapters, so it finds the adapter by name.

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
class ProgramUnderTest:
    agent: Agent
    folder: Path
    seconds: float

    async def session(self, role: str, name: str) -> tuple[Report, Place]:
        order = _order_for(role, self.seconds)
        prompt = f"{PROMPTS[role]}\nReport JSON to the file in DWINDLE_REPORT: {SHAPES[role]}\n"
        place = set_up(self.folder / name, order, prompt)
        (place.workspace / "README.md").write_text(README, "utf-8")
        session = self.agent.session(order, place)
        ended = await BareProcess().run(session.command, session.watch)
        return session.conclude(ended).report, place


def _order_for(role: str, seconds: float) -> Order:
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


async def worker(program: ProgramUnderTest) -> str | None:
    report, _ = await program.session(Role.WORKER, "worker")
    return _refusal(report)


async def _reader(program: ProgramUnderTest, role: str) -> str | None:
    report, place = await program.session(role, role)
    names = sorted(path.name for path in place.workspace.iterdir())
    if names != ["README.md"] or (place.workspace / "README.md").read_text("utf-8") != README:
        return f"the workspace was changed: {', '.join(names)}"
    return _refusal(report)


async def probe(program: ProgramUnderTest) -> str | None:
    return await _reader(program, Role.PROBE)


async def verifier(program: ProgramUnderTest) -> str | None:
    return await _reader(program, Role.VERIFIER)


async def planner(program: ProgramUnderTest) -> str | None:
    return await _reader(program, PLANNER)


async def odd_names(program: ProgramUnderTest) -> str | None:
    report, _ = await program.session(Role.WORKER, "a place with blanks, ü and 名")
    return _refusal(report)


async def together(program: ProgramUnderTest) -> str | None:
    sessions = [program.session(Role.WORKER, f"together {number}") for number in (1, 2)]
    refused = [_refusal(report) for report, _ in await asyncio.gather(*sessions)]
    return next((refusal for refusal in refused if refusal), None)


PROGRAMS: Final[tuple[tuple[str, Callable[[ProgramUnderTest], Awaitable[str | None]]], ...]] = (
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
    program = ProgramUnderTest(agent=agent, folder=folder, seconds=seconds)
    broken = 0
    for number, (says, check) in enumerate(PROGRAMS, start=1):
        wrong = await check(program)
        broken += wrong is not None
        print(f"{'ok    ' if wrong is None else 'BROKEN'} P{number} {says}", flush=True)
        if wrong is not None:
            print(f"       {wrong}", flush=True)
    print(f"{len(PROGRAMS) - broken} of {len(PROGRAMS)} contracts hold")
    return 1 if broken else 0


def main(arguments: list[str]) -> int:
    program = arguments[1:] if arguments[:1] == ["--"] else arguments
    if not program or program[0].startswith("-"):
        print("usage: python -m dwindle.testing.agents -- PROGRAM ARGUMENT ...", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="dwindle-agents-") as folder:
        seconds = float(os.environ.get("DWINDLE_AGENT_SECONDS") or 600)
        return asyncio.run(judge(tuple(program), Path(folder), seconds))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
