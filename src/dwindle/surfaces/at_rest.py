"""Changing a plan that nobody runs: its redirects are recorded and its branch follows.

All redirects of one change are tried before the first of them is noted, and they become durable
together: a change is made as a whole or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dwindle import wiring
from dwindle.adapters.disk import DirectoryLock, DurableFile, RealDisk
from dwindle.adapters.formats import graph_plan
from dwindle.adapters.workspaces.repository import Repository, find
from dwindle.adapters.workspaces.workspace import GitWorkspace
from dwindle.kernel.events import Redirected, RunStarted
from dwindle.kernel.model import Plan
from dwindle.kernel.transitions import apply
from dwindle.runner.ledger import Ledger
from dwindle.runner.redirecting import preview, redirect
from dwindle.surfaces.cli.problem_list import Unsound
from dwindle.surfaces.host.tenancy import left_by
from dwindle.surfaces.plan_place import JOURNALS, PLAN_FILE
from dwindle.surfaces.refusal import Refused
from dwindle.surfaces.running import SystemClock, Wish, pinned, run_id_of
from dwindle.surfaces.taken_up import ledger_of

MEANWHILE = "the plan has gone on since it was shown"
"""An edit may carry the whole graph: on another plan it would undo what nobody meant to undo."""


async def redirect_at_rest(start: Path, events: Sequence[Redirected], shown: Plan) -> Plan:
    """Change the plan that was shown to the person; Refused if it is not that one any more.

    Raises IllegalEvent, Locked, and what `Ledger.recover` raises; then nothing was changed.
    """
    repository = await find(start)
    root = repository.checkout
    file = DurableFile(RealDisk(), root / PLAN_FILE)
    with DirectoryLock(file.path.parent):
        file.sweep()
        data = file.read()
        loaded = wiring.load_graph(data)
        if loaded.plan is None:
            raise Unsound(PLAN_FILE, loaded.problems)
        run_id = run_id_of(loaded.plan, Wish())
        writer = graph_plan.decode(data).writer()
        ledger = ledger_of(root / JOURNALS, file, writer, loaded.plan, run_id)
        try:
            if ledger.plan != shown:
                raise Refused(MEANWHILE, where=PLAN_FILE, hint="look at it, and say it again")
            return await recorded(repository, ledger, run_id, events)
        finally:
            ledger.close()


async def recorded(
    repository: Repository, ledger: Ledger, run_id: str, events: Sequence[Redirected]
) -> Plan:
    """For the holder of the lock: the plan after these redirects, durable."""
    clock = SystemClock()
    aligned = ledger.plan.control.aligned or await pinned(repository, ledger.plan)
    begun = RunStarted(run_id=run_id, aligned=aligned, at=clock.now())
    is_new = ledger.plan.control.run_id is None  # the journal is found by it
    plan = apply(ledger.plan, begun) if is_new else ledger.plan
    for event in events:
        plan = preview(plan, event)
    if is_new:
        ledger.note(begun)
    workspace = await GitWorkspace.open(
        repository.checkout, run=run_id, aligned=aligned.commit, pins=aligned.pins
    )

    async def quiet() -> None:
        """Nothing runs."""

    def note(event: Redirected) -> Plan:
        return ledger.note(replace(event, at=clock.now()))

    try:
        if flying := {s.number: a for a, s in ledger.plan.sessions.items()}:
            # Nobody runs them any more, or they are too late; a host's agents may not know it yet.
            await workspace.recover(flying, reuse=left_by(repository.checkout) is None)
        await redirect(ledger.plan, events, workspace, quiet, note)
        ledger.commit()
    finally:
        workspace.close()
    return ledger.plan
