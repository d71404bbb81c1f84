"""Runs that only exist as a record: a plan, a journal, and the logs that a story needs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.model.small_plans import plan_from
from tests.surfaces.command import GRAPH_FILE, write

from dwindle.adapters.formats.graph.writer import GraphWriter
from dwindle.adapters.store.disk import RealDisk
from dwindle.adapters.store.journal import JsonlJournal
from dwindle.kernel.actions import BeginWind
from dwindle.kernel.decide import decide
from dwindle.kernel.events import (
    AtomResolved,
    AttemptFailed,
    Backjumped,
    ChoiceFailed,
    Event,
    Redirected,
    RunEnded,
    RunStarted,
    SessionStarted,
    SetLimit,
    Usage,
    VerificationEnded,
    WindBegan,
)
from dwindle.kernel.model import (
    ROOT,
    Aligned,
    AtomId,
    Control,
    CorrectionType,
    GroupId,
    Limits,
    Plan,
    Role,
    StopCode,
)
from dwindle.kernel.transitions import apply
from dwindle.runner.ledger import digest

RUN = "01RECORDED"
COMMIT = "c0ffee" + "0" * 34
LIMITS = Limits(max_iterations=9, max_parallel_agents=2, max_atoms=20, stated=("max_atoms",))


def plan_to_run(text: str, run: str = RUN, limits: Limits = LIMITS) -> Plan:
    """As `align` leaves it."""
    return replace(plan_from(text, limits), control=Control(run_id=run))


class Recorded:
    """A repository folder with one run in it; `add` says what happens next."""

    def __init__(self, root: Path, plan: Plan, run: str = RUN) -> None:
        self.root = root
        self.run = run
        self.plan = plan
        self._second = 0
        content = GraphWriter(b"\n# A plan\n").encode(plan)
        write(root, GRAPH_FILE, content)
        write(root, f".runner/journal/{run}.start.md", content)
        folder = root / ".runner/journal"
        versions = (digest(content),)
        self._journal = JsonlJournal.create(
            RealDisk(), folder, run, after=plan.control.revision, versions=versions
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._journal.close()

    def add(self, *events: Event) -> Self:
        for event in events:
            self._second += 1
            stamp = f"2026-11-15T10:{self._second // 60:02}:{self._second % 60:02}Z"
            stamped = replace(event, at=stamp, elapsed=1.0)
            self.plan = apply(self.plan, stamped)
            self._journal.append(stamped)
        return self

    # --- what usually happens --------------------------------------------------------------------

    def begin_event(self) -> RunStarted:
        return RunStarted(run_id=self.run, aligned=Aligned(commit=COMMIT))

    def begin(self) -> Self:
        return self.add(self.begin_event())

    def start(self, *atoms: str, role: Role = Role.WORKER) -> Self:
        return self.add(*(SessionStarted(atom=AtomId(atom), role=role) for atom in atoms))

    def resolve(self, atom: str, summary: str = "done", usage: Usage | None = None) -> Self:
        nonce = self.plan.sessions[AtomId(atom)].nonce
        used = usage or Usage()
        return self.add(AtomResolved(atom=AtomId(atom), nonce=nonce, summary=summary, usage=used))

    def fail(self, atom: str, reason: str = "no pen", usage: Usage | None = None) -> Self:
        nonce = self.plan.sessions[AtomId(atom)].nonce
        used = usage or Usage()
        return self.add(AttemptFailed(atom=AtomId(atom), nonce=nonce, reason=reason, usage=used))

    def give_up(self, group: str, choice: str, reason: str = "no way") -> Self:
        return self.add(ChoiceFailed(group=GroupId(group), choice=AtomId(choice), reason=reason))

    def jump(self, group: str, atom: str) -> Self:
        return self.add(Backjumped(group=GroupId(group), atom=AtomId(atom), reason="for its sake"))

    def wind(self) -> Self:
        action = decide(self.plan).actions[0]
        assert isinstance(action, BeginWind)
        return self.add(WindBegan(reason=action.because))

    def redirect(self, words: str = "more time") -> Self:
        edits = (SetLimit(name="max_iterations", value=12),)
        kind = CorrectionType.CONSTRAINT_CHANGE
        return self.add(Redirected(type=kind, edits=edits, description=words))

    def complete(self) -> Self:
        self.start(ROOT, role=Role.VERIFIER)
        nonce = self.plan.sessions[ROOT].nonce
        self.add(VerificationEnded(nonce=nonce, passed=True))
        return self.add(RunEnded(code=StopCode.COMPLETED, reason="every check passed"))


def story(root: Path) -> Recorded:
    """Two atoms, a choice that fails, another, a redirect, and a good end."""
    made = Recorded(root, plan_to_run("A1 G1{A2[A5]|A3} A4<-G1"))
    price = Usage(tokens=1200, usd=0.25)
    made.begin().start("A1", "A5").resolve("A1", "a pen", price)
    for _ in range(2):
        made.fail("A5", "no paper", price).start("A5")
    made.fail("A5", "no paper", price).give_up("G1", "A2")
    made.redirect().start("A3").resolve("A3", "on stone", price)
    return made.start("A4").resolve("A4", "read aloud", price).complete()


def cut_off(root: Path) -> Recorded:
    """A limit ends a run in the middle of a wind: A1 is parked again, and A4 could be tried."""
    limits = replace(LIMITS, max_attempts=1, max_probes=0, max_winds=1)
    made = Recorded(root, plan_to_run("A1 A2<-A1 A3<-A2 A4", limits=limits))
    made.begin().start("A1", "A4").fail("A1").fail("A4", "no paper")
    made.wind().start("A1").fail("A1", "no ink")
    return made.add(RunEnded(code=StopCode.ITERATION_LIMIT, reason="max_iterations 9 is reached"))


def stuck(root: Path) -> Recorded:
    """One atom is parked, a wind tries it again in vain, and two wait for it; the rest is done."""
    limits = replace(LIMITS, max_attempts=1, max_probes=0, max_winds=1)
    made = Recorded(root, plan_to_run("A1 A2<-A1 A3<-A2 A4", limits=limits))
    made.begin().start("A1", "A4").fail("A1").resolve("A4")
    return made.wind().start("A1").fail("A1", "no pen\n==========\nno paper")
