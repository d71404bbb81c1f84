"""One story, and what it takes to tell it on a disk and to find it again."""

from __future__ import annotations

from functools import reduce
from pathlib import Path

from tests.doubles.disk import FakeDisk, Image

from dwindle.adapters.store.disk import DurableFile
from dwindle.adapters.store.journal import JsonlJournal
from dwindle.kernel.events import AttemptFailed, Event, RunStarted, SessionStarted, Waited
from dwindle.kernel.model import (
    Atom,
    AtomId,
    BaseCase,
    Check,
    CheckType,
    Control,
    Limits,
    Objective,
    Plan,
    Role,
    Spent,
)
from dwindle.kernel.transitions import apply
from dwindle.runner.ledger import Ledger, Store, digest

ATOM = AtomId("A1")
FIRST_PLAN = Plan(
    objective=Objective(
        goal="a goal",
        base_case=BaseCase(check=Check(type=CheckType.COMMAND, value="true")),
        background_intent="an intent",
        deliverables="something",
        definition_of_done="done",
    ),
    limits=Limits(),
    spent=Spent(created=1),
    control=Control(),
    atoms={ATOM: Atom(id=ATOM, description="do it")},
)
EVENTS: list[Event] = [
    RunStarted(run_id="01RUN"),
    Waited(note="one"),
    SessionStarted(atom=ATOM, role=Role.WORKER),
    AttemptFailed(atom=ATOM, nonce=3, reason="it did not work"),
    Waited(note="two", elapsed=2.5),
    Waited(note="three"),
]
PLANS = [reduce(apply, EVENTS[:count], FIRST_PLAN) for count in range(len(EVENTS) + 1)]
"""The plan after none of the events, after one, and so on."""

HOME = Path("/repo")
PLAN_PATH = HOME / "plan.md"
JOURNALS = HOME / ".runner/journal"


class NumberWriter:
    """Writes only the number of a plan of the story, which is enough to know it again."""

    def encode(self, plan: Plan) -> bytes:
        assert plan == PLANS[plan.control.revision]
        return f"This is the plan after {plan.control.revision} events.\n".encode()


def decoded(content: bytes) -> Plan:
    number = int(content.split()[5])
    assert content == NumberWriter().encode(PLANS[number])
    return PLANS[number]


class Clock:
    """Moves by `step` at every reading."""

    def __init__(self, step: float = 0.0) -> None:
        self.now = 1000.0
        self.step = step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def new_disk(kind: type[FakeDisk] = FakeDisk) -> FakeDisk:
    return kind({HOME: None, PLAN_PATH: NumberWriter().encode(FIRST_PLAN)})


def begin(disk: FakeDisk, clock: Clock) -> Ledger:
    file = DurableFile(disk, PLAN_PATH)
    versions = (digest(file.read()),)
    journal = JsonlJournal.create(disk, JOURNALS, "01RUN", after=0, versions=versions)
    store = Store(journal=journal, file=file, writer=NumberWriter())
    return Ledger(FIRST_PLAN, store, clock=clock)


def resume(disk: FakeDisk, clock: Clock | None = None) -> Ledger:
    """As a command does: read the file, and if it names a run, fold its journal over it."""
    file = DurableFile(disk, PLAN_PATH)
    plan = decoded(file.read())
    assert plan.control.run_id is not None
    journal = JsonlJournal(disk, JOURNALS, plan.control.run_id)
    store = Store(journal=journal, file=file, writer=NumberWriter())
    return Ledger.recover(plan, store, clock=clock or Clock())


def found_on(image: Image) -> Plan:
    """The plan that the next runner goes on from."""
    disk = FakeDisk(image)
    plan = decoded(disk.read(PLAN_PATH))
    return plan if plan.control.run_id is None else resume(disk).plan


def number_on(disk: FakeDisk) -> int:
    return decoded(disk.read(PLAN_PATH)).control.revision
