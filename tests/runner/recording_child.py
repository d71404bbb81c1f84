"""A process that records events until it is killed or cannot go on; see test_ledger_killed.py.

It prints how many events it found, the number of each event once it is acknowledged, and in the
end why it stopped.
"""

from __future__ import annotations

import resource
import sys
from errno import errorcode
from functools import reduce
from pathlib import Path

from dwindle.adapters.store.disk import DirectoryLock, DurableFile, Locked, RealDisk
from dwindle.adapters.store.journal import JsonlJournal
from dwindle.kernel.events import Event, RunStarted, Waited
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
    Spent,
)
from dwindle.kernel.transitions import apply
from dwindle.ports.store import StoreFailed
from dwindle.runner.ledger import Ledger, Store, digest

RUN = "01RUN"
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


def event(number: int) -> Event:
    return RunStarted(run_id=RUN) if number == 1 else Waited(note=f"event {number}")


class NumberWriter:
    """Writes the number of a plan, and enough else that a save takes its time."""

    def encode(self, plan: Plan) -> bytes:
        return b"%d\n" % plan.control.revision + bytes(10_000)


def decoded(content: bytes) -> Plan:
    count = int(content.split(b"\n")[0])
    plan = reduce(apply, map(event, range(1, count + 1)), FIRST_PLAN)
    assert content == NumberWriter().encode(plan)
    return plan


def say(words: str) -> None:
    sys.stdout.write(words + "\n")
    sys.stdout.flush()


def begin_or_resume(folder: Path) -> Ledger:
    disk, writer = RealDisk(), NumberWriter()
    file = DurableFile(disk, folder / "plan")
    file.sweep()
    if not file.exists():
        file.replace(writer.encode(FIRST_PLAN))
    content = file.read()
    plan = decoded(content)
    journals = folder / "journal"
    if plan.control.run_id is None and not (journals / f"{RUN}.jsonl").exists():
        journal = JsonlJournal.create(disk, journals, RUN, after=0, versions=(digest(content),))
    else:
        journal = JsonlJournal(disk, journals, RUN)
    return Ledger.recover(plan, Store(journal=journal, file=file, writer=writer))


def main(folder: Path) -> None:
    try:
        with DirectoryLock(folder):
            ledger = begin_or_resume(folder)
            say(f"found {ledger.plan.control.revision}")
            while True:
                plan = ledger.record(event(ledger.plan.control.revision + 1))
                say(str(plan.control.revision))
    except Locked as error:
        say(f"locked by {error.holder}")
    except StoreFailed as error:
        say(f"failed {errorcode[error.errno]}")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        largest_file = int(sys.argv[2])
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))
    main(Path(sys.argv[1]))
