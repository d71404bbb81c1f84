"""One durable event on a plan of 1,000 atoms. Peer: a bare append + fdatasync of as many bytes.

Ours is everything that `Ledger.record` does: the kernel's judgement, the line in the journal, and
the plan file's share, written as often as it is in a run. The events are those of a run at work:
a session starts, its atom is resolved, the next one starts.

Both write to the same folder in short turns, so that a busy machine slows both. A round is a
thousand events, the flush at its end included; what is printed is the median of the rounds.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

from dwindle.adapters.formats.graph.plan import GraphWriter
from dwindle.adapters.store.disk import DurableFile, RealDisk
from dwindle.adapters.store.journal import JsonlJournal
from dwindle.kernel.events import AtomResolved, Event, RunStarted, SessionStarted, Usage
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
from dwindle.runner.ledger import Ledger, Store, digest

ATOMS = 1_000
ROUNDS = 5
TURNS = 20
EVENTS_PER_TURN = 50
LIMIT = 3
AT = "2030-01-01T00:00:00Z"


def big_plan() -> Plan:
    """A plan in which every atom but the first ten depends on one before it."""
    ids = [AtomId(f"A{number}") for number in range(1, ATOMS + 1)]
    return Plan(
        objective=Objective(
            goal="Measure",
            base_case=BaseCase(check=Check(type=CheckType.COMMAND, value="make test")),
            background_intent="To know",
            deliverables="A number",
            definition_of_done="It is printed",
        ),
        limits=Limits(max_iterations=2 * ATOMS, max_atoms=2 * ATOMS),
        spent=Spent(created=ATOMS),
        control=Control(),
        atoms={
            atom: Atom(
                id=atom,
                description=f"Do the part of the work that is called {atom}",
                depends_on=(ids[at - 10],) if at >= 10 else (),
            )
            for at, atom in enumerate(ids)
        },
    )


def events(plan: Plan) -> Iterator[Event]:
    """What happens in a run in which everything works at once."""
    yield RunStarted(at=AT, run_id="01BENCH")
    for number, atom in enumerate(plan.atoms, 1):
        yield SessionStarted(at=AT, elapsed=0.25, atom=atom, role=Role.WORKER)
        yield AtomResolved(
            at=AT,
            elapsed=30.5,
            atom=atom,
            nonce=2 * number,
            usage=Usage(tokens=12_345, usd=0.25),
            summary="It was done, and this is the short result that stands for it from now on.",
            artifacts=(f"src/part_{number}.py", f"tests/test_part_{number}.py"),
        )


def seconds(action: Callable[[], None]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def one_round(folder: Path) -> tuple[float, float]:
    """Seconds per event, bare and ours."""
    disk, plan = RealDisk(), big_plan()
    file, writer = DurableFile(disk, folder / "plan.md"), GraphWriter()
    file.replace(content := writer.encode(plan))
    journal = JsonlJournal.create(
        disk, folder / "journal", "01BENCH", after=0, versions=(digest(content),)
    )
    ledger = Ledger(plan, Store(journal=journal, file=file, writer=writer))
    story = events(plan)
    ledger.record(next(story))
    lines = folder / "journal" / "01BENCH.jsonl"
    peer = os.open(folder / "peer", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    bare = ours = 0.0
    for _ in range(TURNS):
        batch = [next(story) for _ in range(EVENTS_PER_TURN)]
        before = lines.stat().st_size

        def record(batch: list[Event] = batch) -> None:
            for event in batch:
                ledger.record(event)

        ours += seconds(record)
        line = bytes((lines.stat().st_size - before) // EVENTS_PER_TURN)

        def append(line: bytes = line) -> None:
            for _ in range(EVENTS_PER_TURN):
                os.write(peer, line)
                os.fdatasync(peer)

        bare += seconds(append)
    os.close(peer)
    ours += seconds(ledger.close)
    return bare / (TURNS * EVENTS_PER_TURN), ours / (TURNS * EVENTS_PER_TURN)


def main(folder: Path | None = None) -> None:
    rounds = []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory(dir=folder) as place:
            rounds.append(one_round(Path(place)))
    ratio = median(ours / bare for bare, ours in rounds)
    bare, ours = (median(column) for column in zip(*rounds, strict=True))
    print(
        f"one_durable_event_at_{ATOMS}_atoms {ours * 1e6:.0f} us ratio={ratio:.2f}"
        f" limit={LIMIT} bare={bare * 1e6:.0f}us"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
