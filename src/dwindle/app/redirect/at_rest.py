"""Redirects of a plan that no runner holds: record them, and rebuild the run's branch.

All redirects of one change are tried before the first is noted, and they become durable together:
the change happens as a whole or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dwindle.adapters.formats.config.settings import Settings
from dwindle.adapters.git.repository import Repository, find
from dwindle.adapters.git.worktrees.workspace import GitWorkspace
from dwindle.app.host.lease import last_lease
from dwindle.app.open_run.graph import locked_plan, open_ledger, pinned
from dwindle.app.open_run.shared import SystemClock
from dwindle.app.paths import PLAN_FILE
from dwindle.app.refusal import Refused
from dwindle.app.sandbox import filters_of
from dwindle.app.settings import settings_for
from dwindle.kernel.events import Redirected, RunStarted
from dwindle.kernel.model import Plan
from dwindle.kernel.transitions import apply
from dwindle.runner.ledger import Ledger
from dwindle.runner.redirect import preview, redirect

MEANWHILE = "the plan has changed since it was shown"
"""An edit may carry the whole graph: on a newer plan it would undo what happened since."""


async def redirect_at_rest(start: Path, events: Sequence[Redirected], shown: Plan) -> Plan:
    """Change the plan that the user was shown; Refused if it has changed since.

    Raises IllegalEvent, Locked, and what `Ledger.recover` raises; then nothing was changed.
    """
    repository = await find(start)
    with locked_plan(repository.checkout), open_ledger(repository.checkout) as (ledger, run_id):
        if ledger.plan != shown:
            raise Refused(
                MEANWHILE, where=PLAN_FILE, hint="look at the plan and repeat the command"
            )
        return await record_redirects(repository, ledger, run_id, events)


async def record_redirects(
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
    settings = settings_for(repository.checkout).settings or Settings()
    workspace = await GitWorkspace.open(
        repository.checkout,
        run=run_id,
        aligned=aligned.commit,
        pins=aligned.pins,
        filters=filters_of(settings),
    )

    async def quiet() -> None:
        """No session to end."""

    def note(event: Redirected) -> Plan:
        return ledger.note(replace(event, at=clock.now()))

    try:
        if flying := {s.number: a for a, s in ledger.plan.sessions.items()}:
            # Sessions of a dead runner; a host's agents may still be at work in their trees.
            await workspace.recover(flying, reuse=last_lease(repository.checkout) is None)
        based = [await _on_its_base(workspace, aligned.commit, event) for event in events]
        await redirect(ledger.plan, based, workspace.rebuild, quiet, note)
        ledger.commit()
    finally:
        workspace.close()
    return ledger.plan


async def _on_its_base(workspace: GitWorkspace, before: str, event: Redirected) -> Redirected:
    """The branch begins at the commit that the redirect names; the event has what got lost."""
    if event.aligned is None or event.aligned.commit == before:
        return event
    lost = await workspace.rebase(event.aligned.commit)
    return replace(event, unreplayed=(*event.unreplayed, *lost))
