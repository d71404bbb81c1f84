"""Whole runs for the benchmarks: a plan, the real loop around it, and what came of it.

Everything that a run of `dwindle run` has is here and real: the plan file, the journal, the ledger,
the watch over the file, the session logs and outboxes, the loop in graph mode. Only the workspace,
the agent and the containment are chosen by the benchmark. Not a benchmark itself: `run.py` passes
over files whose names begin with an underscore.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dwindle.adapters.checks.mechanical import MechanicalChecks
from dwindle.adapters.formats.graph import plan as graph_plan
from dwindle.adapters.formats.graph.plan import GraphWriter
from dwindle.adapters.store.disk import DurableFile, RealDisk
from dwindle.adapters.store.journal import JsonlJournal
from dwindle.app.open_run.shared import SystemClock
from dwindle.kernel.events import Event, RunStarted
from dwindle.kernel.model import (
    Aligned,
    Atom,
    AtomId,
    BaseCase,
    Check,
    CheckType,
    Control,
    Dispatch,
    Limits,
    Objective,
    Plan,
    Role,
    RunStatus,
    Spent,
)
from dwindle.ports.agent import Agent
from dwindle.ports.checks import CheckRunner
from dwindle.ports.process import Containment
from dwindle.ports.workspace import Workspace
from dwindle.runner.file_watch import FileWatch
from dwindle.runner.gate.certificate import Contained
from dwindle.runner.gate.evidence import Rules
from dwindle.runner.gate.gate import Gate
from dwindle.runner.ledger import Ledger, Store, digest
from dwindle.runner.loop import Loop
from dwindle.runner.modes.graph import GraphMode
from dwindle.runner.session import AgentRunner, Policy

RUN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
WIDTH = 3
TRUE = Check(type=CheckType.COMMAND, value="true")
REPORT_LINE = """printf '{"success":true,"summary":"done"}' > "$DWINDLE_REPORT\""""
"""The agent: the smallest report that counts, written by a shell."""

ATOM = """sed -n 's/^ "atom": "\\(.*\\)",/\\1/p' "$DWINDLE_ORDER\""""
"""Prints the atom that an agent is to work on."""
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dwindle-bench"


@contextmanager
def scratch(folder: Path | None = None) -> Iterator[Path]:
    """A folder to work in, on a real disk, removed afterwards.

    Not below /tmp unless asked for: where thousands of files were removed lately, ext4 takes twenty
    times as long to make a new one, and then that is all that is measured.
    """
    place = folder or CACHE
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place) as made:
        yield Path(made).resolve()


def line(name: str, value: float, unit: str, ratio: float, limit: float | None = None) -> None:
    """Print a measurement as `run.py` reads it."""
    bound = "" if limit is None else f" limit={limit:g}"
    print(f"{name} {value:.4g} {unit} ratio={ratio:.3g}{bound}", flush=True)


def remark(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


# --- in this process -----------------------------------------------------------------------------


def plan_of(
    atoms: int,
    *,
    width: int = WIDTH,
    needs: Callable[[int], tuple[int, ...]] = lambda _: (),
    description: Callable[[int], str] = lambda n: f"Do part {n:04} of the work",
) -> Plan:
    """Atoms A1, A2, ... with the check `true` each; `needs` says what a number depends on."""
    return Plan(
        objective=Objective(
            goal="Measure",
            base_case=BaseCase(check=TRUE),
            background_intent="To know",
            deliverables="A number",
            definition_of_done="It is printed",
        ),
        limits=Limits(
            max_iterations=2 * atoms,
            max_atoms=2 * atoms,
            max_parallel_agents=width,
            dispatch=Dispatch.REFILL,
        ),
        spent=Spent(created=atoms),
        control=Control(),
        atoms={
            AtomId(f"A{n}"): Atom(
                id=AtomId(f"A{n}"),
                description=description(n),
                depends_on=tuple(f"A{before}" for before in needs(n)),
                check=TRUE,
            )
            for n in range(1, atoms + 1)
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """What a benchmark chooses of a run."""

    workspace: Workspace
    agent: Agent
    containment: Containment
    checks: CheckRunner | None = None
    """Without one, the real ones under that containment."""
    aligned: str = "0" * 40


class Told:
    """When each event was on record; in place of the lines that a person sees."""

    def __init__(self) -> None:
        self._events: list[tuple[str, float, float]] = []

    def __call__(self, _plan: Plan, event: Event) -> None:
        self._events.append((type(event).__name__, time.perf_counter(), time.process_time()))

    def when(self, kind: str) -> list[float]:
        return [at for name, at, _ in self._events if name == kind]

    def spent(self, kind: str) -> list[float]:
        """How much of a processor our process had used by then."""
        return [cpu for name, _, cpu in self._events if name == kind]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    seconds: float
    told: Told
    plan: Plan


def _plan_and_body(content: bytes) -> tuple[Plan | None, bytes]:
    found = graph_plan.decode(content)
    return found.plan, found.body


async def ran(root: Path, plan: Plan, cast: Cast) -> Ran:
    """Run a plan to its end below `root`; a run that does not complete ends the benchmark."""
    ledger = _ledger(root, plan)
    clock = SystemClock()
    agents = AgentRunner(
        agents={Role.WORKER: cast.agent},
        sandbox=cast.containment,
        outboxes=root / ".runner/outbox",
        policy=Policy(hidden=(root / ".runner/journal",)),
    )
    gate = Gate(
        workspace=cast.workspace,
        checks=cast.checks or MechanicalChecks(cast.containment),
        rules=Rules(),
        clock=clock,
        logs=root / ".runner/iterations" / RUN,
        contained=Contained(
            strength=cast.containment.strength, mechanism=cast.containment.mechanism
        ),
    )
    path = root / "plan.md"
    aside = root / "plan-as-found.md"
    watch = FileWatch(path, ledger, _plan_and_body, aside)
    told = Told()
    mode = GraphMode(agents, gate, lambda: ledger.plan)
    loop = Loop(ledger, mode, clock, told, file=watch, meter=agents.meter)
    began = time.perf_counter()
    try:
        loop.begin(RunStarted(run_id=RUN, aligned=Aligned(commit=cast.aligned)))
        halted = await loop.run()
    finally:
        ledger.close()
    seconds = time.perf_counter() - began
    if halted.plan.control.status is not RunStatus.COMPLETED:
        raise SystemExit(f"the run did not complete: {halted.stop}")
    return Ran(seconds=seconds, told=told, plan=halted.plan)


def _ledger(root: Path, plan: Plan) -> Ledger:
    disk, writer = RealDisk(), GraphWriter()
    file = DurableFile(disk, root / "plan.md")
    file.replace(content := writer.encode(plan))
    journal = JsonlJournal.create(
        disk, root / ".runner/journal", RUN, after=0, versions=(digest(content),)
    )
    return Ledger(plan, Store(journal=journal, file=file, writer=writer))


# --- in processes of their own -------------------------------------------------------------------


class Project:
    """A repository with an aligned plan, run by the real command."""

    def __init__(self, folder: Path, draft: dict[str, Any], agent: str) -> None:
        self.folder = folder / "project"
        self.folder.mkdir()
        (self.folder / "README").write_text("a project\n")
        self._git("init", "--quiet", "--initial-branch=main")
        self._git("add", "--all")
        self._git("commit", "--quiet", "--message=first")
        runner = self.folder / ".runner"
        runner.mkdir()
        command = json.dumps(["/bin/sh", "-c", agent])
        (runner / "config.toml").write_text(f'[agents]\nbackend = "command"\ncommand = {command}\n')
        plan = folder / "draft.yaml"
        plan.write_text(json.dumps(draft))
        self.called("align", f"--from={plan}", "--yes", "--run-id", RUN, "--cannot-run-yet-ok")

    def _git(self, *words: str) -> None:
        me = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        subprocess.run(["git", *me, *words], cwd=self.folder, check=True)

    def called(self, *words: str) -> None:
        subprocess.run(
            [sys.executable, "-m", "dwindle", *words],
            cwd=self.folder,
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )

    def started(self) -> subprocess.Popen[bytes]:
        """A runner at work; the caller ends it."""
        return subprocess.Popen(
            [sys.executable, "-m", "dwindle", "run"],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )

    @property
    def journal(self) -> Path:
        return self.folder / ".runner/journal" / f"{RUN}.jsonl"

    def events(self, after: int = 0) -> Iterator[dict[str, Any]]:
        """What is on record behind the first `after` bytes; a line cut short is left out."""
        with self.journal.open("rb") as file:
            file.seek(after)
            for text in file.read().splitlines():
                try:
                    record = json.loads(text)
                except ValueError:
                    continue
                if "event" in record:
                    yield record["event"]


def draft_of(atoms: int, **limits: object) -> dict[str, Any]:
    """A plan for `align`; its base case does not hold, and the run is ended before it is asked."""
    return {
        "objective": {
            "goal": "Measure",
            "background_intent": "To know",
            "deliverables": "A number",
            "definition_of_done": "It is printed",
            "base_case": {
                "checklist": [
                    {"item": "Done", "check": {"type": "command", "value": "test -f never"}}
                ]
            },
            "constraints": {"max_parallel_agents": WIDTH, "dispatch": "refill", **limits},
        },
        "atoms": [
            {
                "id": f"A{n}",
                "description": f"Do part {n:04} of the work",
                "check": {"type": "command", "value": "true"},
            }
            for n in range(1, atoms + 1)
        ],
    }


def waited_for(what: Callable[[], bool], seconds: float = 60.0, every: float = 0.002) -> None:
    """Wait until it holds; after so many seconds the benchmark fails."""
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            raise SystemExit("waited in vain")
        time.sleep(every)
