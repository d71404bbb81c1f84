"""The loop with people at its door: requests that come at an awkward moment, and in the file."""

from __future__ import annotations

import asyncio
import gc
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest
from tests.doubles.workspaces import MemoryWorkspace
from tests.runner.story import FIRST_PLAN

from dwindle.adapters.agents.command import CommandAgent
from dwindle.adapters.checks.mechanical import MechanicalChecks
from dwindle.adapters.formats.graph import plan as graph_plan
from dwindle.adapters.formats.graph.plan import GraphWriter
from dwindle.adapters.store.disk import DurableFile, RealDisk
from dwindle.adapters.store.journal import JsonlJournal
from dwindle.app.open_run.shared import SystemClock
from dwindle.kernel.actions import Stop
from dwindle.kernel.errors import IllegalEvent
from dwindle.kernel.events import (
    AddAtom,
    ChoiceFailed,
    Event,
    NewAtom,
    OverrideBinding,
    Redirected,
    RemoveAtom,
    RunStarted,
    SessionStarted,
    SetLimit,
    StopRequested,
)
from dwindle.kernel.model import (
    Aligned,
    Atom,
    AtomId,
    Binding,
    CorrectionType,
    GroupId,
    OrGroup,
    Plan,
    Role,
    Status,
    StopCode,
)
from dwindle.ports.workspace import WorkspaceFailed
from dwindle.runner.file_watch import FileWatch
from dwindle.runner.gate.certificate import Contained
from dwindle.runner.gate.evidence import Rules
from dwindle.runner.gate.gate import Gate
from dwindle.runner.inbox import Message
from dwindle.runner.ledger import Ledger, Store, digest
from dwindle.runner.loop import Halted, Loop
from dwindle.runner.modes.graph import GraphMode
from dwindle.runner.replay import replay
from dwindle.runner.session import AgentRunner
from dwindle.testing.bare_process import BareProcess

BODY = b"\n# Prompt\n"
FOREVER = ("sleep", "60")
PATIENCE = 20.0
"""Seconds that a story may wait for something."""


class Stubborn(MemoryWorkspace):
    """A branch from which nothing can be taken."""

    async def rebuild(self, without: Sequence[AtomId]) -> tuple[AtomId, ...]:
        raise WorkspaceFailed(f"{', '.join(without)} cannot be taken off")


class Rig:
    """A run with agents that sleep, in a folder."""

    def __init__(
        self,
        root: Path,
        plan: Plan = FIRST_PLAN,
        workspace_of: type[MemoryWorkspace] = Stubborn,
    ) -> None:
        self.path = root / "plan.md"
        writer = GraphWriter(BODY)
        self.path.write_bytes(writer.encode(plan))
        file = DurableFile(RealDisk(), self.path)
        versions = (digest(file.read()),)
        journal = JsonlJournal.create(
            RealDisk(), root / "journal", "01RUN", after=0, versions=versions
        )
        self.ledger = Ledger(plan, Store(journal=journal, file=file, writer=writer))
        containment = BareProcess()
        workspace = workspace_of(folder=root)
        clock = SystemClock()
        agents = AgentRunner(
            agents={Role.WORKER: CommandAgent(argv=FOREVER)},
            sandbox=containment,
            outboxes=root / "outbox",
        )
        gate = Gate(
            workspace=workspace,
            checks=MechanicalChecks(containment),
            rules=Rules(),
            clock=clock,
            logs=root / "logs",
            contained=Contained(strength=containment.strength, mechanism=containment.mechanism),
        )
        self.told: list[Event] = []
        self.started = asyncio.Event()
        watch = FileWatch(
            self.path,
            self.ledger,
            lambda content: (graph_plan.decode(content).plan, graph_plan.decode(content).body),
            root / "as-found.md",
        )
        mode = GraphMode(agents, gate, lambda: self.ledger.plan)
        self.loop = Loop(self.ledger, mode, clock, self._hear, file=watch, meter=agents.meter)
        self.loop.begin(RunStarted(run_id="01RUN", aligned=Aligned(commit="0" * 40)))

    @property
    def plan(self) -> Plan:
        return self.ledger.plan

    def _hear(self, _plan: Plan, event: Event) -> None:
        self.told.append(event)
        if isinstance(event, SessionStarted):
            self.started.set()

    def kinds(self) -> list[str]:
        return [type(event).__name__ for event in self.told]


def asked(rig: Rig, *events: Event) -> asyncio.Future[IllegalEvent | None]:
    done: asyncio.Future[IllegalEvent | None] = asyncio.get_running_loop().create_future()
    first, *rest = events
    also = tuple(event for event in rest if isinstance(event, Redirected))
    rig.loop.inbox.put_nowait(Message(event=first, also=also, may_be_refused=True, done=done))
    return done


def test_a_session_that_is_ended_before_it_began_leaves_no_trace(tmp_path: Path) -> None:
    async def story() -> list[str]:
        rig = Rig(tmp_path)
        asked(rig, StopRequested(reason="now"))  # before the first decision
        async with asyncio.timeout(PATIENCE):
            await rig.loop.run()
        return rig.kinds()

    with warnings.catch_warnings(record=True) as complaints:
        warnings.simplefilter("always")
        happened = asyncio.run(story())
        gc.collect()

    assert happened == [
        "RunStarted",
        "SessionStarted",
        "StopRequested",
        "SessionInterrupted",
        "RunEnded",
    ]
    assert [str(one.message) for one in complaints] == []


def test_a_flag_in_the_file_is_heard_before_the_file_is_written_over(tmp_path: Path) -> None:
    """The start of a session waits to be saved when a user sets the flag."""

    async def story() -> Halted:
        rig = Rig(tmp_path)
        running = asyncio.create_task(rig.loop.run())
        await asyncio.wait_for(rig.started.wait(), PATIENCE)
        text = rig.path.read_text("utf-8")
        assert "in_flight" not in text
        rig.path.write_text(text.replace("stop_requested: false", "stop_requested: true"), "utf-8")
        async with asyncio.timeout(PATIENCE):
            return await running

    halted = asyncio.run(story())
    assert halted.stop == Stop(
        code=StopCode.STOPPED_BY_USER, reason="stop_requested was set in the plan file"
    )


def test_what_was_decided_is_done_before_a_flag_in_the_file_is_heard(tmp_path: Path) -> None:
    """The flag is found on the way to another choice, which was to be taken before it was set."""
    first, second, way = AtomId("A1"), AtomId("A2"), GroupId("way")
    plan = replace(
        FIRST_PLAN,
        atoms={
            first: Atom(id=first, description="one way", or_group=way, attempts=3, max_attempts=3),
            second: Atom(id=second, description="another", or_group=way),
        },
        groups={way: OrGroup(id=way, choices=(first, second), selected=first)},
        spent=replace(FIRST_PLAN.spent, created=2),
    )

    async def story() -> list[Event]:
        rig = Rig(tmp_path, plan, MemoryWorkspace)
        text = rig.path.read_text("utf-8")
        rig.path.write_text(text.replace("stop_requested: false", "stop_requested: true"), "utf-8")
        async with asyncio.timeout(PATIENCE):
            await rig.loop.run()
        return rig.told

    happened = asyncio.run(story())
    assert [type(event).__name__ for event in happened] == [
        "RunStarted",
        "ChoiceFailed",
        "SessionStarted",
        "StopRequested",
        "SessionInterrupted",
        "RunEnded",
    ]
    assert len(list(replay(plan, enumerate(happened, 1)))) == len(happened)


class Entangled(MemoryWorkspace):
    """Without A1, the work of A3 does not replay."""

    taken_off: ClassVar[list[tuple[AtomId, ...]]] = []

    async def rebuild(self, without: Sequence[AtomId]) -> tuple[AtomId, ...]:
        self.taken_off.append(tuple(without))
        return (AtomId("A3"),) if "A1" in without else ()


def test_what_was_built_upon_what_got_lost_comes_off_the_branch_too(tmp_path: Path) -> None:
    first, second, other, upon = (AtomId(name) for name in ("A1", "A2", "A3", "A4"))
    way = GroupId("way")
    plan = replace(
        FIRST_PLAN,
        atoms={
            first: Atom(id=first, description="one way", or_group=way, attempts=3, max_attempts=3),
            second: Atom(id=second, description="another", or_group=way),
            other: Atom(id=other, description="beside it", status=Status.RESOLVED),
            upon: Atom(id=upon, description="on", status=Status.RESOLVED, depends_on=(other,)),
        },
        groups={way: OrGroup(id=way, choices=(first, second), selected=first)},
        bindings={other: Binding(summary="done"), upon: Binding(summary="done")},
        spent=replace(FIRST_PLAN.spent, created=4),
    )

    async def story() -> list[Event]:
        rig = Rig(tmp_path, plan, Entangled)
        asked(rig, StopRequested(reason="seen enough"))
        async with asyncio.timeout(PATIENCE):
            await rig.loop.run()
        return rig.told

    failed = [event for event in asyncio.run(story()) if isinstance(event, ChoiceFailed)]
    assert [(event.choice, event.unreplayed) for event in failed] == [(first, (other,))]
    assert Entangled.taken_off == [(first,), (upon,)]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_change_of_several_redirects_is_refused_as_a_whole(
    tmp_path: Path, order: tuple[int, int]
) -> None:
    """Whichever of them cannot be had; and no session at work is disturbed."""
    wanted = (
        Redirected(
            type=CorrectionType.CONSTRAINT_CHANGE,
            edits=(SetLimit(name="max_iterations", value=40),),
            description="more room",
        ),
        Redirected(
            type=CorrectionType.DAG_ADJUSTMENT,
            edits=(RemoveAtom(atom=AtomId("A9")),),
            description="less work",
        ),
    )

    async def story() -> tuple[str, Plan, list[str]]:
        rig = Rig(tmp_path)
        running = asyncio.create_task(rig.loop.run())
        await asyncio.wait_for(rig.started.wait(), PATIENCE)
        refusal = await asked(rig, *(wanted[i] for i in order))
        plan, happened = rig.plan, rig.kinds()
        asked(rig, StopRequested(reason="enough"))
        async with asyncio.timeout(PATIENCE):
            await running
        return str(refusal), plan, happened

    refusal, plan, happened = asyncio.run(story())
    assert refusal == "Redirected: there is no atom A9"
    assert (plan.limits.max_iterations, plan.spent.redirects) == (
        FIRST_PLAN.limits.max_iterations,
        0,
    )
    assert happened == ["RunStarted", "SessionStarted"]


def test_a_change_of_several_redirects_is_taken_as_a_whole(tmp_path: Path) -> None:
    wanted = (
        Redirected(
            type=CorrectionType.CONSTRAINT_CHANGE,
            edits=(SetLimit(name="max_iterations", value=40),),
            description="more room",
        ),
        Redirected(
            type=CorrectionType.DAG_ADJUSTMENT,
            edits=(AddAtom(new=NewAtom(description="do more")),),
            description="more work",
        ),
    )

    async def story() -> tuple[IllegalEvent | None, list[str], Plan]:
        rig = Rig(tmp_path)
        running = asyncio.create_task(rig.loop.run())
        await asyncio.wait_for(rig.started.wait(), PATIENCE)
        refusal = await asked(rig, *wanted)
        happened = rig.kinds()
        asked(rig, StopRequested(reason="enough"))
        async with asyncio.timeout(PATIENCE):
            await running
        return refusal, happened, rig.plan

    refusal, happened, plan = asyncio.run(story())
    assert refusal is None
    assert happened[:4] == ["RunStarted", "SessionStarted", "Redirected", "Redirected"]
    assert (plan.limits.max_iterations, plan.spent.redirects, len(plan.atoms)) == (40, 2, 2)


def test_git_fails_while_a_redirect_is_made(tmp_path: Path) -> None:
    """What ran is ended by then; the run ends, says why, and can be taken up again."""
    ground, built, at_work = AtomId("A1"), AtomId("A2"), AtomId("A3")
    plan = replace(
        FIRST_PLAN,
        atoms={
            ground: Atom(id=ground, description="first", status=Status.RESOLVED),
            built: Atom(
                id=built, description="second", status=Status.RESOLVED, depends_on=(ground,)
            ),
            at_work: Atom(id=at_work, description="third"),
        },
        bindings={ground: Binding(summary="one"), built: Binding(summary="two")},
        spent=replace(FIRST_PLAN.spent, created=3),
    )
    wanted = Redirected(
        type=CorrectionType.BINDINGS_OVERRIDE,
        edits=(OverrideBinding(atom=ground, summary="something else"),),
        description="it came to something else",
    )

    async def story() -> tuple[str, Halted, list[str]]:
        rig = Rig(tmp_path, plan)
        running = asyncio.create_task(rig.loop.run())
        await asyncio.wait_for(rig.started.wait(), PATIENCE)
        refusal = await asked(rig, wanted)
        async with asyncio.timeout(PATIENCE):
            return str(refusal), await running, rig.kinds()

    refusal, halted, happened = asyncio.run(story())
    assert refusal == "Redirected: A2 cannot be taken off"
    assert halted.stop == Stop(code=StopCode.IO_ERROR, reason="A2 cannot be taken off")
    assert happened[2:] == ["StopRequested", "SessionInterrupted", "RunEnded"]
    assert (halted.plan.atoms[built].status, halted.plan.spent.redirects) == (Status.RESOLVED, 0)
