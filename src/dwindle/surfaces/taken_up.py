"""A plan taken up together with its journal, by whoever holds its lock.

A journal holds what happened after a plan was taken up for the first time, and the plan file only
what came of it all. So the file as it was at that moment is kept beside the journal: from the two,
anybody can work out again how the plan came to be what it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dwindle import wiring
from dwindle.adapters.disk import DirectoryLock, DurableFile, RealDisk, make_directory
from dwindle.adapters.formats import graph_plan
from dwindle.adapters.journals.jsonl import JsonlJournal, path_of
from dwindle.kernel.model import Plan
from dwindle.ports.store import PlanWriter
from dwindle.runner.ledger import Ledger, Store, digest
from dwindle.surfaces.cli.problem_list import Unsound
from dwindle.surfaces.plan_place import JOURNALS, PLAN_FILE
from dwindle.surfaces.refusal import Refused


def start_of(folder: Path, run_id: str) -> Path:
    """Where the plan file is kept as it was when the run began."""
    return path_of(folder, run_id).with_suffix(".start.md")


def ledger_of(
    folder: Path, file: DurableFile, writer: PlanWriter, plan: Plan, run_id: str
) -> Ledger:
    """The plan with its journal: the one it has, or a new one. Only for the holder of the lock."""
    disk = RealDisk()
    make_directory(disk, folder)
    start = DurableFile(disk, start_of(folder, run_id))
    start.sweep()
    if DurableFile(disk, path_of(folder, run_id)).exists():
        journal = JsonlJournal(disk, folder, run_id)
        return Ledger.recover(plan, Store(journal=journal, file=file, writer=writer))
    content = file.read()
    # First, so that there is no journal without it.
    start.replace(content)
    journal = JsonlJournal.create(
        disk, folder, run_id, after=plan.control.revision, versions=(digest(content),)
    )
    return Ledger(plan, Store(journal=journal, file=file, writer=writer))


@contextmanager
def taken_up(root: Path) -> Iterator[Ledger]:
    """The plan of a run that has begun, for as long as nobody else has it.

    Raises Locked if somebody has, and what `Ledger.recover` raises.
    """
    file = DurableFile(RealDisk(), root / PLAN_FILE)
    if not file.exists():
        raise Refused(
            "there is no plan yet", where=PLAN_FILE, hint="agree on one first: `dwindle align`"
        )
    with DirectoryLock(file.path.parent):
        data = file.read()
        loaded = wiring.load_graph(data)
        if loaded.plan is None:
            raise Unsound(PLAN_FILE, loaded.problems)
        run_id = loaded.plan.control.run_id
        if run_id is None or not path_of(root / JOURNALS, run_id).exists():
            raise Refused("no run has begun", where=PLAN_FILE, hint="`dwindle run` starts one")
        writer = graph_plan.decode(data).writer()
        ledger = ledger_of(root / JOURNALS, file, writer, loaded.plan, run_id)
        try:
            yield ledger
        finally:
            ledger.close()
